/* Calls from a program under test to a running experiment of perfhive, for C and C++ on Linux.
 *
 *     #include "perfhive_experiment.h"
 *
 *     perfhive_call("paid");       a point
 *     perfhive_start("checkout");  a section, on one thread; sections may lie in one another
 *     perfhive_end("checkout");
 *
 * `perfhive experiment run --on 'call paid' --on 'call checkout' -- ./program` measures the program at
 * these points. Without an experiment a call costs some nanoseconds. No call waits, fails or changes
 * errno. Names are up to 96 bytes long; the rest is cut off, and a call with an empty name is none. There is nothing to link with: all files of a
 * program that include this header share one descriptor. A shared library has a descriptor and counts of its own.
 *
 * A call takes the clocks first and last; the thread's next call tells what its calls have cost, which is taken off the
 * time of sections.
 *
 * The experiment names a FIFO in the environment variable PERFHIVE_CALLS. It is used only if it belongs to
 * this user, no other user may write to it, and the program has no more rights than its caller. It is
 * opened for reading too, so that the end of the experiment raises no SIGPIPE. A program that closes its descriptors
 * has it opened anew by the next call; nothing is written to another file that has the descriptor's number by then.
 *
 * SPDX-License-Identifier: MIT OR Apache-2.0
 */
#ifndef PERFHIVE_EXPERIMENT_H
#define PERFHIVE_EXPERIMENT_H

/* In strict ISO C (-std=c99) the system's headers declare nothing of POSIX by themselves. */
#if defined(__STRICT_ANSI__) && !defined(__cplusplus) && !defined(_POSIX_C_SOURCE) \
    && !defined(_XOPEN_SOURCE) && !defined(_DEFAULT_SOURCE) && !defined(_GNU_SOURCE)
#ifdef _FEATURES_H
#error "include perfhive_experiment.h before all others, or compile with -D_POSIX_C_SOURCE=200809L or -std=gnu99"
#endif
#define _POSIX_C_SOURCE 200809L
#endif

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#ifdef __cplusplus
extern "C" {
#endif

#if !defined(__cplusplus) && !defined(_DEFAULT_SOURCE) && !defined(_GNU_SOURCE)
/* Not declared where POSIX alone is asked for. */
long syscall(long number, ...);
#endif

/* One event, as it is written. */
struct perfhive_event {
    uint16_t length;
    uint8_t version;
    uint8_t kind;
    uint32_t lost;
    uint32_t process;
    uint32_t thread;
    uint64_t time;
    uint64_t thread_time;
    /* The calls of this thread before this one, the time in them, and the address of this count. */
    uint64_t calls;
    uint64_t calls_time;
    uint64_t calls_thread_time;
    uint64_t calls_counter;
    char name[96];
};

/* The calls of a thread so far. */
struct perfhive_caller {
    /* The process in which the thread's number was read: that of a fork differs. */
    uint32_t process;
    uint32_t thread;
    uint64_t calls;
    uint64_t time;
    uint64_t thread_time;
};

/* The FIFO: 0 before the first call, -1 without an experiment, otherwise its descriptor plus 1. */
__attribute__((weak, visibility("hidden"))) int perfhive_calls_fifo;
__attribute__((weak, visibility("hidden"))) dev_t perfhive_calls_device;
__attribute__((weak, visibility("hidden"))) ino_t perfhive_calls_number;
/* The number of events that could not be written since the last one that was. */
__attribute__((weak, visibility("hidden"))) uint32_t perfhive_calls_lost;
__attribute__((weak, visibility("hidden"))) __thread struct perfhive_caller perfhive_calls_by;

static inline int perfhive_calls_right(const struct stat *file)
{
    return S_ISFIFO(file->st_mode) && file->st_uid == geteuid() && !(file->st_mode & 077);
}

/* Opens the FIFO in the place of the one before, 0 without one. */
static inline int perfhive_calls_open(int before)
{
    struct stat file;
    int fifo = -1;
    const char *path = getenv("PERFHIVE_CALLS");
    /* The environment of a program with more rights is its caller's. */
    if (path && geteuid() == getuid() && getegid() == getgid()
        && lstat(path, &file) == 0 && perfhive_calls_right(&file)) {
        fifo = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW);
        if (fifo >= 0 && (fstat(fifo, &file) != 0 || !perfhive_calls_right(&file))) {
            close(fifo);
            fifo = -1;
        }
        /* The standard streams are the program's. */
        if (fifo >= 0 && fifo < 3) {
            int number = fcntl(fifo, F_DUPFD_CLOEXEC, 3);
            close(fifo);
            fifo = number;
        }
        /* Device and number stay those of the first one. */
        if (fifo >= 0 && before != 0
            && (file.st_dev != perfhive_calls_device || file.st_ino != perfhive_calls_number)) {
            close(fifo);
            fifo = -1;
        }
    }
    if (fifo >= 0) {
        /* The same in every thread. */
        perfhive_calls_device = file.st_dev;
        perfhive_calls_number = file.st_ino;
    }
    if (!__atomic_compare_exchange_n(&perfhive_calls_fifo, &before, fifo >= 0 ? fifo + 1 : -1, 0,
                                     __ATOMIC_RELEASE, __ATOMIC_ACQUIRE)) {
        /* Another thread was faster. */
        if (fifo >= 0)
            close(fifo);
        return before;
    }
    return fifo >= 0 ? fifo + 1 : -1;
}

/* Whether a descriptor is the FIFO: a program that closes all its descriptors may have another file there. */
static inline int perfhive_calls_same(int fifo)
{
    struct stat file;
    return fstat(fifo - 1, &file) == 0 && file.st_dev == perfhive_calls_device
        && file.st_ino == perfhive_calls_number;
}

static inline uint64_t perfhive_calls_nanos(clockid_t clock)
{
    struct timespec time = {0, 0};
    clock_gettime(clock, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static inline void perfhive_calls_tell(uint8_t kind, const char *name)
{
    int fifo = __atomic_load_n(&perfhive_calls_fifo, __ATOMIC_ACQUIRE);
    if (fifo == -1)
        return;
    int before = errno;
    if (fifo == 0)
        fifo = perfhive_calls_open(0);
    if (fifo > 0) {
        /* Read before the clocks: the time of a call in a signal handler lies within that of this one from here on. */
        struct perfhive_caller by = perfhive_calls_by;
        struct perfhive_event event;
        size_t length = 0;
        /* Not strnlen, of which compilers warn where the name's own array is shorter. */
        while (length < sizeof event.name && name[length] != 0)
            length++;
        event.time = perfhive_calls_nanos(CLOCK_MONOTONIC);
        event.thread_time = perfhive_calls_nanos(CLOCK_THREAD_CPUTIME_ID);
        if (!perfhive_calls_same(fifo))
            fifo = perfhive_calls_open(fifo);
        if (fifo > 0 && perfhive_calls_same(fifo)) {
            event.process = (uint32_t)getpid();
            if (by.process != event.process) {
                by.process = event.process;
                by.thread = (uint32_t)syscall(SYS_gettid);
            }
            event.thread = by.thread;
            event.calls = by.calls;
            event.calls_time = by.time;
            event.calls_thread_time = by.thread_time;
            event.calls_counter = (uint64_t)(uintptr_t)&perfhive_calls_by;
            event.length = (uint16_t)(offsetof(struct perfhive_event, name) + length);
            event.version = 2;
            event.kind = kind;
            event.lost = __atomic_exchange_n(&perfhive_calls_lost, 0, __ATOMIC_RELAXED);
            memcpy(event.name, name, length);
            if (write(fifo - 1, &event, event.length) < 0)
                __atomic_fetch_add(&perfhive_calls_lost, event.lost + 1, __ATOMIC_RELAXED);
            by.calls++;
            by.thread_time += perfhive_calls_nanos(CLOCK_THREAD_CPUTIME_ID) - event.thread_time;
            by.time += perfhive_calls_nanos(CLOCK_MONOTONIC) - event.time;
            perfhive_calls_by = by;
        }
    }
    errno = before;
}

/* The program is at a point. */
static inline void perfhive_call(const char *name)
{
    perfhive_calls_tell(0, name);
}

/* A section starts. */
static inline void perfhive_start(const char *name)
{
    perfhive_calls_tell(1, name);
}

/* The innermost section of this name ends, which the same thread started. */
static inline void perfhive_end(const char *name)
{
    perfhive_calls_tell(2, name);
}

#ifdef __cplusplus
}
#endif

#endif
