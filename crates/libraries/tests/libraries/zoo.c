/*
 * Providers that do what they must not; which one, the linkage string says. They
 * do it when they are asked by index, or with a ! before it at every request.
 */
#define _GNU_SOURCE
#include "perfhive_provider.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

/* Without a registration; otherwise the first of its indexes. */
#define OBJECT 50000u

typedef struct {
    PERF_COUNTER_BLOCK Head;
    DWORD Value;
} VALUES;

typedef struct {
    PERF_OBJECT_TYPE Object;
    PERF_COUNTER_DEFINITION Counter;
} DEFINITION;

typedef struct {
    PERF_INSTANCE_DEFINITION Instance;
    WCHAR Name[4];
    VALUES Values;
} ROW;

static char kind[256];
static atomic_int opened, inside;
static atomic_uint calls;
static const PERFHIVE_HOST *host;

PERFHIVE_EXPORT void CollectZooHost(const PERFHIVE_HOST *given)
{
    host = given;
}

static DWORD object(void)
{
    int told = host != NULL && host->first_counter != 0;
    return told && strcmp(kind, "ignores its indexes") != 0 ? host->first_counter : OBJECT;
}

static _Thread_local int by_index;

static int is(const char *word)
{
    return kind[0] == '!' ? strcmp(kind + 1, word) == 0 : by_index && strcmp(kind, word) == 0;
}

static int begins(const WCHAR *value, const char *word)
{
    while (*word != 0)
        if (*value++ != (WCHAR)*word++)
            return 0;
    return 1;
}

PERFHIVE_EXPORT DWORD OpenZoo(LPWSTR linkage)
{
    for (size_t i = 0; linkage != NULL && linkage[i] != 0 && i + 1 < sizeof kind; i++)
        kind[i] = (char)linkage[i];
    by_index = 1;
    int before = atomic_fetch_add(&opened, 1);
    if (is("refuses to open") || (is("opens once") && before > 0))
        return ERROR_FILE_NOT_FOUND;
    if (is("tells in Open") && host != NULL)
        host->report(host->context, "the pump is new", 15);
    /* The signal is the calling thread's: Open is called by the one that has it. */
    if (is("never returns and has no parent-death signal"))
        prctl(PR_SET_PDEATHSIG, 0);
    if (is("crashes in Open"))
        *(volatile int *)16 = 1;
    if (is("never comes back from Open"))
        for (;;)
            pause();
    return ERROR_SUCCESS;
}

PERFHIVE_EXPORT DWORD CloseZoo(void)
{
    by_index = 1;
    if (is("never comes back from Close"))
        for (;;)
            pause();
    int before = atomic_fetch_sub(&opened, 1);
    if (is("crashes in the last Close") && before == 1)
        *(volatile int *)16 = 1;
    if (is("exits in the last Close") && before == 1)
        _exit(0);
    if (is("never comes back from the last Close") && before == 1)
        for (;;)
            pause();
    if (is("ends with the first Close"))
        atomic_store(&opened, 0);
    return ERROR_SUCCESS;
}

/* A sound object of some rows; answers its length. */
static DWORD write_object(BYTE *to, DWORD name, DWORD rows)
{
    DEFINITION head = {0};
    head.Object.TotalByteLength = (DWORD)(sizeof head + rows * sizeof(ROW));
    head.Object.DefinitionLength = sizeof head;
    head.Object.HeaderLength = sizeof head.Object;
    head.Object.ObjectNameTitleIndex = name;
    head.Object.ObjectHelpTitleIndex = name + 1;
    head.Object.DetailLevel = PERF_DETAIL_NOVICE;
    head.Object.NumCounters = 1;
    head.Object.NumInstances = (LONG)rows;
    head.Counter.ByteLength = sizeof head.Counter;
    head.Counter.CounterNameTitleIndex = name + 2;
    head.Counter.CounterHelpTitleIndex = name + 3;
    head.Counter.DetailLevel = PERF_DETAIL_NOVICE;
    head.Counter.CounterType = PERF_COUNTER_RAWCOUNT;
    head.Counter.CounterSize = sizeof(DWORD);
    head.Counter.CounterOffset = offsetof(VALUES, Value);
    memcpy(to, &head, sizeof head);
    for (DWORD row = 0; row < rows; row++) {
        ROW instance = {0};
        instance.Instance.ByteLength = offsetof(ROW, Values);
        instance.Instance.UniqueID = PERF_NO_UNIQUE_ID;
        instance.Instance.NameOffset = sizeof instance.Instance;
        instance.Instance.NameLength = 8;
        instance.Name[0] = (WCHAR)('a' + row % 26);
        instance.Name[1] = (WCHAR)(row < 26 ? 0 : 'a' + row / 26 % 26);
        instance.Name[2] = (WCHAR)(row < 676 ? 0 : 'a' + row / 676);
        instance.Values.Head.ByteLength = sizeof instance.Values;
        instance.Values.Value = row;
        memcpy(to + sizeof head + row * sizeof instance, &instance, sizeof instance);
    }
    return head.Object.TotalByteLength;
}

static void put(BYTE *at, DWORD value)
{
    memcpy(at, &value, sizeof value);
}

static void tell(const char *text)
{
    host->report(host->context, text, strlen(text));
}

static void *run(void *argument)
{
    return argument;
}

static pid_t by_vfork(void)
{
    pid_t child = vfork();
    if (child == 0)
        _exit(0);
    return child;
}

/* Tries every way there is, and says how many processes and threads came of it. */
static void start_processes(void)
{
    char text[100];
    char *const arguments[] = {"true", NULL};
    int processes = 0, threads = 0;
    pid_t child;
    for (int way = 0; way < 5; way++) {
        child = -1;
        switch (way) {
        case 0:
            child = fork();
            break;
        case 1:
            child = by_vfork();
            break;
        case 2:
            child = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
            break;
        case 3: {
            uint64_t clone3[11] = {[4] = SIGCHLD};
            child = (pid_t)syscall(SYS_clone3, clone3, sizeof clone3);
            break;
        }
        case 4:
            if (posix_spawn(&child, "/bin/true", NULL, NULL, arguments, environ) != 0)
                child = -1;
            break;
        }
        if (child == 0)
            _exit(0);
        if (child > 0) {
            processes++;
            waitpid(child, NULL, 0);
        }
    }
    pthread_t thread;
    if (pthread_create(&thread, NULL, run, NULL) == 0) {
        threads++;
        pthread_join(thread, NULL);
    }
    snprintf(text, sizeof text, "%d processes, %d threads", processes, threads);
    tell(text);
}

/* Two that stay, each in a session of its own: a child, and one without a parent. */
static void leave_processes(void)
{
    for (int orphan = 0; orphan < 2; orphan++) {
        pid_t child = fork();
        if (child == 0) {
            setsid();
            signal(SIGTERM, SIG_IGN);
            signal(SIGHUP, SIG_IGN);
            if (orphan && fork() != 0)
                _exit(0);
            for (;;)
                pause();
        }
        if (orphan)
            waitpid(child, NULL, 0);
    }
}

static void *sleeps(void *argument)
{
    pause();
    return argument;
}

/* Whether a call was let through, whatever it returned then. */
static int passed(long result)
{
    return result == 0 || (errno != EPERM && errno != ENOSYS);
}

/* Tries what a hostile library would, in and beside the folder behind the kind, and says what came
   of it. */
static void attack(const char *folder)
{
    char text[300], path[300], from[300];
    const char *const files[] = {"secret", "public"};
    int read_files = 0, written = 0, threads = 0;
    for (int i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, files[i]);
        int fd = open(path, O_RDONLY);
        read_files += fd >= 0 ? 1 << i : 0;
        close(fd);
        fd = open(path, O_WRONLY);
        written += fd >= 0;
        close(fd);
    }
    snprintf(path, sizeof path, "%s/new", folder);
    written += open(path, O_CREAT | O_WRONLY, 0600) >= 0;
    written += open("/dev/shm/perfhive-zoo", O_CREAT | O_WRONLY, 0600) >= 0;
    written += symlink("/etc/passwd", path) == 0;
    written += mkdir(path, 0700) == 0;
    snprintf(from, sizeof from, "%s/public", folder);
    written += rename(from, path) == 0;
    written += chmod(from, 0777) == 0;
    written += truncate(from, 0) == 0;
    /* A file of its own, which permissions do not protect: the calls themselves are refused. */
    int own = memfd_create("zoo", 0), flags = 0;
    written += passed(futimens(own, NULL));
    written += passed(fremovexattr(own, "user.none"));
    written += passed(ioctl(own, 0x40086602 /* FS_IOC_SETFLAGS */, &flags));
    written += passed(syscall(463 /* setxattrat */, own, "", 0x1000, "user.none", NULL, 0ul));
    written += passed(syscall(466 /* removexattrat */, own, "", 0x1000, "user.none"));
    written += passed(syscall(425 /* io_uring_setup */, 0, NULL));
    int null = open("/dev/null", O_RDWR);
    snprintf(path, sizeof path, "/proc/%d/mem", getppid());
    int memory = open(path, O_RDONLY);
    int namespaces = unshare(CLONE_NEWUSER) == 0;
    int raised = setuid(0) == 0 && getuid() == 0 && open("/etc/shadow", O_RDONLY) >= 0;
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 32 << 10);
    for (pthread_t thread; threads < 3000; threads++)
        if (pthread_create(&thread, &small, sleeps, NULL) != 0)
            break;
    snprintf(text, sizeof text, "reads %d, writes %d, null %d, memory %d, namespaces %d, raised %d, "
             "threads %s", read_files, written, null >= 0, memory >= 0, namespaces, raised,
             threads < 600 ? "limited" : "unlimited");
    tell(text);
}

/* Says what this process has, and what its thread is. */
static void tell_where(void)
{
    char text[400], folder[100];
    struct rlimit memory, core, most;
    int files = 0, variables = 0;
    DIR *open_files = opendir("/proc/self/fd");
    while (open_files != NULL && readdir(open_files) != NULL)
        files++;
    closedir(open_files);
    while (environ[variables] != NULL)
        variables++;
    getrlimit(RLIMIT_AS, &memory);
    getrlimit(RLIMIT_CORE, &core);
    getrlimit(RLIMIT_NOFILE, &most);
    /* Signal 0 asks whether one may be sent. */
    pid_t reader = getppid();
    int others = (kill(reader, 0) == 0) + (kill(-1, 0) == 0) +
                 (syscall(SYS_tgkill, reader, reader, 0) == 0);
    /* The owner of a descriptor gets signals. */
    int owned = memfd_create("zoo", 0), owner = reader;
    others += (fcntl(owned, F_SETOWN, reader) == 0) + (ioctl(owned, 0x8901, &owner) == 0);
    close(owned);
    int itself = (kill(getpid(), 0) == 0) + (kill(0, 0) == 0) + (raise(SIGURG) == 0);
    /* An impossible process, and nothing written: both are harmless, and refused all the
       same. */
    int reached = (ptrace(PTRACE_ATTACH, INT_MAX, NULL, NULL) == 0 || errno != EPERM) +
                  (syscall(SYS_process_vm_writev, reader, NULL, 0ul, NULL, 0ul, 0ul) == 0);
    snprintf(text, sizeof text, "files %d of %lu, variables %d, folder %s, privileges %d, memory %lu, "
             "core %lu, signals %d and %d, reached %d, nice %d", files - 3,
             (unsigned long)most.rlim_max, variables,
             getcwd(folder, sizeof folder), prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0),
             (unsigned long)memory.rlim_cur, (unsigned long)core.rlim_cur, others, itself,
             reached, getpriority(PRIO_PROCESS, (id_t)gettid()));
    host->report(host->context, text, strlen(text));
}

PERFHIVE_EXPORT DWORD CollectZoo(LPWSTR value, LPVOID *data, LPDWORD bytes, LPDWORD object_types)
{
    BYTE *start = *data;
    DWORD room = *bytes;
    unsigned call = atomic_fetch_add(&calls, 1);
    int costly = begins(value, "Costly");
    char own[16];
    snprintf(own, sizeof own, "%u", object());
    by_index = 0;
    for (const WCHAR *at = value; *at != 0; at++)
        by_index |= begins(at, own) && (at == value || at[-1] == ' ');
    int foreign = begins(value, "Foreign");

    *bytes = 0;
    *object_types = 0;
    if (strcmp(kind, "tells where it is") == 0 && (costly || by_index)) {
        tell_where();
        return ERROR_SUCCESS;
    }
    if (is("is costly") ? (!costly && !by_index) : costly)
        return ERROR_SUCCESS;
    int any_machine = is("reaches any machine") || is("reaches without a block");
    if (foreign && !is("reaches another machine") && !any_machine)
        return ERROR_SUCCESS;
    if (!foreign && !costly && !by_index && !begins(value, "Global") && !is("answers everything"))
        return ERROR_SUCCESS;
    if (foreign && (value[7] == 0 || !(any_machine || begins(value, "Foreign MARS"))))
        return ERROR_SUCCESS;

    if (is("crashes"))
        *(volatile int *)16 = 1;
    if (is("crashes the second time") && call == 3)
        abort();
    if (is("exits"))
        exit(7);
    if (is("exits with success"))
        _exit(0);
    if (is("never returns") || is("never returns and has no parent-death signal"))
        for (;;)
            ;
    if (is("sleeps past its deadline"))
        sleep(3600);
    if (is("sleeps now and then") && call == 3)
        sleep(2);
    if (is("takes its time") || is("takes its time and has nothing"))
        usleep(1500000);
    if (is("leaves processes") || is("leaves processes and crashes"))
        leave_processes();
    if (is("leaves processes and crashes"))
        abort();
    if (is("allocates without end"))
        for (;;) {
            char *more = malloc(1 << 20);
            memset(more, 1, 1 << 20);
        }
    if (is("closes everything") || is("closes everything and stays"))
        for (int fd = 0; fd < 1000; fd++)
            close(fd);
    if (is("closes everything and stays"))
        sleep(3600);
    if (is("answers an error"))
        return 1234;
    if (is("says why") && host != NULL) {
        host->report(host->context, "the pump is dry", 15);
        return ERROR_SUCCESS;
    }
    if (is("never has enough"))
        return ERROR_MORE_DATA;
    if (is("wants more and moves")) {
        *data = start + 8;
        *bytes = 8;
        return ERROR_MORE_DATA;
    }
    if (is("has nothing") || is("takes its time and has nothing") ||
        (is("ends with the first Close") && opened < 1))
        return ERROR_SUCCESS;

    DWORD rows = is("is large") ? 20000 : is("has one") ? 1 : is("has a thousand") ? 1000 : 2;
    DWORD length = (DWORD)(sizeof(DEFINITION) + rows * sizeof(ROW));
    if (length > room && !is("does not look at its room"))
        return ERROR_MORE_DATA;
    if (foreign && !is("reaches without a block")) {
        PERF_DATA_BLOCK block = {0};
        const char *signature = "PERF";
        for (int i = 0; i < 4; i++)
            block.Signature[i] = (WCHAR)signature[i];
        block.LittleEndian = 1;
        block.Version = 1;
        block.Revision = 1;
        block.HeaderLength = sizeof block + 16;
        block.NumObjectTypes = 1;
        block.DefaultObject = -1;
        block.PerfFreq.QuadPart = 1000;
        block.SystemNameOffset = sizeof block;
        block.SystemNameLength = 10;
        length = write_object(start + block.HeaderLength, object() + 100, rows);
        block.TotalByteLength = block.HeaderLength + length;
        memset(start + sizeof block, 0, 16);
        for (int i = 0; i < 4; i++)
            put(start + sizeof block + 2 * i, (DWORD)"MARS"[i]);
        memcpy(start, &block, sizeof block);
        *data = start + block.TotalByteLength;
        *bytes = block.TotalByteLength;
        *object_types = 1;
        return ERROR_SUCCESS;
    }
    if (!is("moves and writes nothing"))
        write_object(start, object(), rows);
    if (is("gives more than its own") && 3 * length <= room) {
        /* Before and behind it: an object without an owner, and one of another provider. */
        write_object(start, 238, rows);
        write_object(start + length, object(), rows);
        write_object(start + 2 * length, 52000, rows);
        *data = start + 3 * length;
        *bytes = 3 * length;
        *object_types = 3;
        return ERROR_SUCCESS;
    }
    *data = start + length;
    *bytes = length;
    *object_types = 1;

    ROW *first = (ROW *)(start + sizeof(DEFINITION));
    if (is("wrong byte count"))
        *bytes = length - 8;
    if (is("moves and counts no bytes"))
        *bytes = 0;
    if (is("counts bytes and does not move"))
        *data = start;
    if (is("wrong object count"))
        *object_types = 3;
    if (is("wrong object length"))
        put(start, length + 8);
    if (is("object without length"))
        put(start, 0);
    if (is("odd length")) {
        *data = start + length - 2;
        *bytes = length - 2;
    }
    if (is("wrong instance length"))
        put((BYTE *)&first->Instance, 28);
    if (is("zero-length instances"))
        put((BYTE *)&first->Instance, 0);
    if (is("one instance too few"))
        put(start + offsetof(PERF_OBJECT_TYPE, NumInstances), 1);
    if (is("a million instances"))
        put(start + offsetof(PERF_OBJECT_TYPE, NumInstances), 1000000);
    if (is("garbage"))
        for (DWORD i = 0; i < length; i++)
            start[i] = (BYTE)(i * 167 + 13);
    if (is("overrun by 1 byte"))
        start[room] ^= 1;
    if (is("overrun by 1 page"))
        memset(start + room, 0x55, 4096);
    if (is("underrun by 1 byte"))
        start[-1] ^= 1;
    if (is("underrun by 1 page"))
        memset(start - 4096, 0x55, 4096);
    if (is("points past its buffer"))
        *data = start + room + 8;
    if (is("points far past its buffer"))
        *data = start + room + 100000;
    if (is("points before its buffer"))
        *data = start - 8;
    if (is("takes another object"))
        write_object(start, 238, rows);
    if (is("takes its neighbour's object"))
        write_object(start, 52000, rows);
    if (is("changes its counters") && call % 2 == 1)
        put(start + offsetof(DEFINITION, Counter.CounterType), PERF_COUNTER_COUNTER);
    if (is("changes its objects") && call % 2 == 1)
        write_object(start, object() + 10 * (call % 8), rows);
    if (is("differs from call to call"))
        put((BYTE *)&first->Values + 4, call);
    if (is("writes later, too")) {
        /* Another process goes on writing: fork shares the mapping. */
        if (fork() == 0)
            for (int i = 0; i < 20000000; i++)
                ((volatile BYTE *)start)[i % (int)length] = (BYTE)i;
    }
    if (is("shrinks the memory"))
        for (int fd = 3; fd < 20; fd++)
            if (ftruncate(fd, 4096) == 0)
                break;
    if (is("is for one thread")) {
        int others = atomic_fetch_add(&inside, 1);
        usleep(200);
        atomic_fetch_sub(&inside, 1);
        if (others > 0)
            put((BYTE *)&first->Instance, 0);
    }
    if (is("crashes in several threads")) {
        int others = atomic_fetch_add(&inside, 1);
        usleep(200);
        if (others > 0)
            abort();
        atomic_fetch_sub(&inside, 1);
    }
    if (is("grows the memory"))
        for (int fd = 3; fd < 20; fd++) {
            static char page[1 << 20];
            off_t at = 0;
            while (at < 1ll << 30 && pwrite(fd, page, sizeof page, (64ll << 20) + at) > 0)
                at += sizeof page;
            if (at >= 1ll << 30 || ftruncate(fd, 1ll << 30) == 0)
                tell("the memory grew");
        }
    if (is("writes a large file")) {
        /* Without a mapping, so that it counts nowhere else. */
        int fd = memfd_create("large", 0);
        tell(pwrite(fd, "x", 1, 200ll << 20) == 1 ? "written" : "not written");
        close(fd);
    }
    if (is("starts processes"))
        start_processes();
    if (is("falls")) {
        put(start + offsetof(DEFINITION, Counter.CounterType), PERF_COUNTER_COUNTER);
        put((BYTE *)&first->Values + 4, 1000 - call);
    }
    if (strncmp(kind, "!attacks ", 9) == 0)
        attack(kind + 9);
    unsigned at, word;
    if (sscanf(kind, "!puts %u %x", &at, &word) == 2)
        put(start + at, word);
    return ERROR_SUCCESS;
}
