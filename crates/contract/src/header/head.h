/*
 * perfhive_provider.h: performance counters from a library of your own.
 *
 * Written by perfhive from its own tables; do not edit. On Windows this is
 * windows.h and winperf.h; elsewhere the same names are declared here, so that
 * one source serves both.
 *
 * A provider is a shared library with three functions, Open, Collect and Close,
 * under names of its choice, which its registration names. The end of this file
 * says what they must do.
 *
 * What Collect writes is a sequence of objects. An object is
 *
 *     PERF_OBJECT_TYPE
 *     PERF_COUNTER_DEFINITION, NumCounters times
 *     then, with NumInstances == PERF_NO_INSTANCES, one counter block:
 *         PERF_COUNTER_BLOCK and the counters' data behind it
 *     or, NumInstances times:
 *         PERF_INSTANCE_DEFINITION, the name in UTF-16 with its terminator
 *         PERF_COUNTER_BLOCK and the counters' data behind it
 *
 * All lengths are multiples of 8, or at least of 4. All numbers are little endian.
 */
#ifndef PERFHIVE_PROVIDER_H
#define PERFHIVE_PROVIDER_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#define PERFHIVE_ASSERT(condition, name) static_assert(condition, #name)
#else
#define PERFHIVE_ASSERT(condition, name) _Static_assert(condition, #name)
#endif

#ifdef _WIN32

#include <windows.h>
#include <winperf.h>
#define PERFHIVE_EXPORT __declspec(dllexport)

#else

#define PERFHIVE_EXPORT __attribute__((visibility("default")))
#define WINAPI
#define APIENTRY

typedef uint8_t BYTE;
typedef uint16_t WORD;
typedef uint32_t DWORD;
typedef int32_t LONG;
/* One unit of UTF-16; u"text" makes such strings in C11 and C++11. */
typedef uint16_t WCHAR;
typedef WCHAR *LPWSTR;
typedef void *LPVOID;
typedef DWORD *LPDWORD;
/* 64 bits, read and written as QuadPart. */
typedef union _LARGE_INTEGER {
    int64_t QuadPart;
} LARGE_INTEGER;

/* Done. With both counts 0: nothing to give, or a failure. */
#define ERROR_SUCCESS 0u
/* From Open: a thing that is needed is missing. */
#define ERROR_FILE_NOT_FOUND 2u
/* From Open: there is no memory left. */
#define ERROR_NOT_ENOUGH_MEMORY 8u
/* From Open: a failure without a code of its own. */
#define ERROR_GEN_FAILURE 31u
/* A pointer is NULL that must not be. */
#define ERROR_INVALID_PARAMETER 87u
/* From Collect: the buffer is too small. */
#define ERROR_MORE_DATA 234u

/* NumInstances of an object that never has instances: one counter block. */
#define PERF_NO_INSTANCES (-1)
/* UniqueID of an instance that is identified by its name. */
#define PERF_NO_UNIQUE_ID (-1)
/* Detail levels: for everyone, for advanced users, experts, designers. */
#define PERF_DETAIL_NOVICE 100u
#define PERF_DETAIL_ADVANCED 200u
#define PERF_DETAIL_EXPERT 300u
#define PERF_DETAIL_WIZARD 400u

