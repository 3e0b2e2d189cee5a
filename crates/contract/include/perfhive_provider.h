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

/* A date and time, UTC in a data block. */
typedef struct _SYSTEMTIME {
    /* Year. */
    WORD wYear;
    /* Month, 1 to 12. */
    WORD wMonth;
    /* Day of the week, 0 is Sunday. */
    WORD wDayOfWeek;
    /* Day of the month. */
    WORD wDay;
    /* Hour. */
    WORD wHour;
    /* Minute. */
    WORD wMinute;
    /* Second. */
    WORD wSecond;
    /* Milliseconds. */
    WORD wMilliseconds;
} SYSTEMTIME, *PSYSTEMTIME;
PERFHIVE_ASSERT(sizeof(SYSTEMTIME) == 16, SYSTEMTIME_size);
PERFHIVE_ASSERT(offsetof(SYSTEMTIME, wYear) == 0, SYSTEMTIME_wYear);
PERFHIVE_ASSERT(offsetof(SYSTEMTIME, wMonth) == 2, SYSTEMTIME_wMonth);
PERFHIVE_ASSERT(offsetof(SYSTEMTIME, wDayOfWeek) == 4, SYSTEMTIME_wDayOfWeek);
PERFHIVE_ASSERT(offsetof(SYSTEMTIME, wDay) == 6, SYSTEMTIME_wDay);
PERFHIVE_ASSERT(offsetof(SYSTEMTIME, wHour) == 8, SYSTEMTIME_wHour);
PERFHIVE_ASSERT(offsetof(SYSTEMTIME, wMinute) == 10, SYSTEMTIME_wMinute);
PERFHIVE_ASSERT(offsetof(SYSTEMTIME, wSecond) == 12, SYSTEMTIME_wSecond);
PERFHIVE_ASSERT(offsetof(SYSTEMTIME, wMilliseconds) == 14, SYSTEMTIME_wMilliseconds);

/* The header of a data block. */
typedef struct _PERF_DATA_BLOCK {
    /* P, E, R, F. */
    WCHAR Signature[4];
    /* 1: integers are little endian. 0: big endian. */
    DWORD LittleEndian;
    /* Version of the structures, 1. */
    DWORD Version;
    /* Revision of the structures, 1. */
    DWORD Revision;
    /* Length of the block in bytes; in a block of Samba, without the header. */
    DWORD TotalByteLength;
    /* Length of the header and of the system name behind it; the first object begins here. */
    DWORD HeaderLength;
    /* Number of objects. */
    DWORD NumObjectTypes;
    /* Title index of the object that a tool should show first; -1 if none. */
    LONG DefaultObject;
    /* When the block was made, UTC. */
    SYSTEMTIME SystemTime;
    BYTE Padding52[4];
    /* The performance counter, in ticks of PerfFreq. */
    LARGE_INTEGER PerfTime;
    /* Ticks a second of PerfTime. */
    LARGE_INTEGER PerfFreq;
    /* When the block was made, in units of 100 ns since the start of 1601, UTC. */
    LARGE_INTEGER PerfTime100nSec;
    /* Length in bytes of the system's name. */
    DWORD SystemNameLength;
    /* Where the system's name begins, from the start of the block. */
    DWORD SystemNameOffset;
} PERF_DATA_BLOCK, *PPERF_DATA_BLOCK;
PERFHIVE_ASSERT(sizeof(PERF_DATA_BLOCK) == 88, PERF_DATA_BLOCK_size);
PERFHIVE_ASSERT(offsetof(PERF_DATA_BLOCK, Signature) == 0, PERF_DATA_BLOCK_Signature);
PERFHIVE_ASSERT(offsetof(PERF_DATA_BLOCK, LittleEndian) == 8, PERF_DATA_BLOCK_LittleEndian);
PERFHIVE_ASSERT(offsetof(PERF_DATA_BLOCK, Version) == 12, PERF_DATA_BLOCK_Version);
PERFHIVE_ASSERT(offsetof(PERF_DATA_BLOCK, Revision) == 16, PERF_DATA_BLOCK_Revision);
PERFHIVE_ASSERT(offsetof(PERF_DATA_BLOCK, TotalByteLength) == 20, PERF_DATA_BLOCK_TotalByteLength);
PERFHIVE_ASSERT(offsetof(PERF_DATA_BLOCK, HeaderLength) == 24, PERF_DATA_BLOCK_HeaderLength);
PERFHIVE_ASSERT(offsetof(PERF_DATA_BLOCK, NumObjectTypes) == 28, PERF_DATA_BLOCK_NumObjectTypes);
PERFHIVE_ASSERT(offsetof(PERF_DATA_BLOCK, DefaultObject) == 32, PERF_DATA_BLOCK_DefaultObject);
PERFHIVE_ASSERT(offsetof(PERF_DATA_BLOCK, SystemTime) == 36, PERF_DATA_BLOCK_SystemTime);
PERFHIVE_ASSERT(offsetof(PERF_DATA_BLOCK, PerfTime) == 56, PERF_DATA_BLOCK_PerfTime);
PERFHIVE_ASSERT(offsetof(PERF_DATA_BLOCK, PerfFreq) == 64, PERF_DATA_BLOCK_PerfFreq);
PERFHIVE_ASSERT(offsetof(PERF_DATA_BLOCK, PerfTime100nSec) == 72, PERF_DATA_BLOCK_PerfTime100nSec);
PERFHIVE_ASSERT(offsetof(PERF_DATA_BLOCK, SystemNameLength) == 80, PERF_DATA_BLOCK_SystemNameLength);
PERFHIVE_ASSERT(offsetof(PERF_DATA_BLOCK, SystemNameOffset) == 84, PERF_DATA_BLOCK_SystemNameOffset);

/* The header of an object. */
typedef struct _PERF_OBJECT_TYPE {
    /* Length of the object with everything in it. */
    DWORD TotalByteLength;
    /* Length of header and counter definitions: instances or the counter block begin here. */
    DWORD DefinitionLength;
    /* Length of this header; the first counter definition begins here. */
    DWORD HeaderLength;
    /* Title index of the object's name. */
    DWORD ObjectNameTitleIndex;
    /* Unused. */
    DWORD ObjectNameTitle;
    /* Title index of the object's help text. */
    DWORD ObjectHelpTitleIndex;
    /* Unused. */
    DWORD ObjectHelpTitle;
    /* Level of detail: 100 novice to 400 wizard. */
    DWORD DetailLevel;
    /* Number of counter definitions. */
    DWORD NumCounters;
    /* Index (from 0) of the counter that a tool should show first; -1 if none. */
    LONG DefaultCounter;
    /* Number of instances, PERF_NO_INSTANCES for an object that never has any, or -2 or -3 for a bare definition. */
    LONG NumInstances;
    /* Code page of the instance names, 0 is UTF-16. */
    DWORD CodePage;
    /* The object's own clock. */
    LARGE_INTEGER PerfTime;
    /* Ticks a second of the object's clock. */
    LARGE_INTEGER PerfFreq;
} PERF_OBJECT_TYPE, *PPERF_OBJECT_TYPE;
PERFHIVE_ASSERT(sizeof(PERF_OBJECT_TYPE) == 64, PERF_OBJECT_TYPE_size);
PERFHIVE_ASSERT(offsetof(PERF_OBJECT_TYPE, TotalByteLength) == 0, PERF_OBJECT_TYPE_TotalByteLength);
PERFHIVE_ASSERT(offsetof(PERF_OBJECT_TYPE, DefinitionLength) == 4, PERF_OBJECT_TYPE_DefinitionLength);
PERFHIVE_ASSERT(offsetof(PERF_OBJECT_TYPE, HeaderLength) == 8, PERF_OBJECT_TYPE_HeaderLength);
PERFHIVE_ASSERT(offsetof(PERF_OBJECT_TYPE, ObjectNameTitleIndex) == 12, PERF_OBJECT_TYPE_ObjectNameTitleIndex);
PERFHIVE_ASSERT(offsetof(PERF_OBJECT_TYPE, ObjectNameTitle) == 16, PERF_OBJECT_TYPE_ObjectNameTitle);
PERFHIVE_ASSERT(offsetof(PERF_OBJECT_TYPE, ObjectHelpTitleIndex) == 20, PERF_OBJECT_TYPE_ObjectHelpTitleIndex);
PERFHIVE_ASSERT(offsetof(PERF_OBJECT_TYPE, ObjectHelpTitle) == 24, PERF_OBJECT_TYPE_ObjectHelpTitle);
PERFHIVE_ASSERT(offsetof(PERF_OBJECT_TYPE, DetailLevel) == 28, PERF_OBJECT_TYPE_DetailLevel);
PERFHIVE_ASSERT(offsetof(PERF_OBJECT_TYPE, NumCounters) == 32, PERF_OBJECT_TYPE_NumCounters);
PERFHIVE_ASSERT(offsetof(PERF_OBJECT_TYPE, DefaultCounter) == 36, PERF_OBJECT_TYPE_DefaultCounter);
PERFHIVE_ASSERT(offsetof(PERF_OBJECT_TYPE, NumInstances) == 40, PERF_OBJECT_TYPE_NumInstances);
PERFHIVE_ASSERT(offsetof(PERF_OBJECT_TYPE, CodePage) == 44, PERF_OBJECT_TYPE_CodePage);
PERFHIVE_ASSERT(offsetof(PERF_OBJECT_TYPE, PerfTime) == 48, PERF_OBJECT_TYPE_PerfTime);
PERFHIVE_ASSERT(offsetof(PERF_OBJECT_TYPE, PerfFreq) == 56, PERF_OBJECT_TYPE_PerfFreq);

/* The definition of a counter. */
typedef struct _PERF_COUNTER_DEFINITION {
    /* Length of this definition. */
    DWORD ByteLength;
    /* Title index of the counter's name. */
    DWORD CounterNameTitleIndex;
    /* Unused. */
    DWORD CounterNameTitle;
    /* Title index of the counter's help text. */
    DWORD CounterHelpTitleIndex;
    /* Unused. */
    DWORD CounterHelpTitle;
    /* Power of ten by which a chart should scale the value. */
    LONG DefaultScale;
    /* Level of detail: 100 novice to 400 wizard. */
    DWORD DetailLevel;
    /* The counter type. */
    DWORD CounterType;
    /* Size in bytes of the counter's data. */
    DWORD CounterSize;
    /* Where the data begins, from the start of the counter block. */
    DWORD CounterOffset;
} PERF_COUNTER_DEFINITION, *PPERF_COUNTER_DEFINITION;
PERFHIVE_ASSERT(sizeof(PERF_COUNTER_DEFINITION) == 40, PERF_COUNTER_DEFINITION_size);
PERFHIVE_ASSERT(offsetof(PERF_COUNTER_DEFINITION, ByteLength) == 0, PERF_COUNTER_DEFINITION_ByteLength);
PERFHIVE_ASSERT(offsetof(PERF_COUNTER_DEFINITION, CounterNameTitleIndex) == 4, PERF_COUNTER_DEFINITION_CounterNameTitleIndex);
PERFHIVE_ASSERT(offsetof(PERF_COUNTER_DEFINITION, CounterNameTitle) == 8, PERF_COUNTER_DEFINITION_CounterNameTitle);
PERFHIVE_ASSERT(offsetof(PERF_COUNTER_DEFINITION, CounterHelpTitleIndex) == 12, PERF_COUNTER_DEFINITION_CounterHelpTitleIndex);
PERFHIVE_ASSERT(offsetof(PERF_COUNTER_DEFINITION, CounterHelpTitle) == 16, PERF_COUNTER_DEFINITION_CounterHelpTitle);
PERFHIVE_ASSERT(offsetof(PERF_COUNTER_DEFINITION, DefaultScale) == 20, PERF_COUNTER_DEFINITION_DefaultScale);
PERFHIVE_ASSERT(offsetof(PERF_COUNTER_DEFINITION, DetailLevel) == 24, PERF_COUNTER_DEFINITION_DetailLevel);
PERFHIVE_ASSERT(offsetof(PERF_COUNTER_DEFINITION, CounterType) == 28, PERF_COUNTER_DEFINITION_CounterType);
PERFHIVE_ASSERT(offsetof(PERF_COUNTER_DEFINITION, CounterSize) == 32, PERF_COUNTER_DEFINITION_CounterSize);
PERFHIVE_ASSERT(offsetof(PERF_COUNTER_DEFINITION, CounterOffset) == 36, PERF_COUNTER_DEFINITION_CounterOffset);

/* The definition of an instance. */
typedef struct _PERF_INSTANCE_DEFINITION {
    /* Length of this definition with the name; the counter block follows. */
    DWORD ByteLength;
    /* Title index of the object in which the parent is, 0 if none. */
    DWORD ParentObjectTitleIndex;
    /* Index (from 0) of the parent among the instances of that object. */
    DWORD ParentObjectInstance;
    /* A number that identifies the instance, or PERF_NO_UNIQUE_ID. */
    LONG UniqueID;
    /* Where the name begins, from the start of this definition. */
    DWORD NameOffset;
    /* Length in bytes of the name with its terminator. */
    DWORD NameLength;
} PERF_INSTANCE_DEFINITION, *PPERF_INSTANCE_DEFINITION;
PERFHIVE_ASSERT(sizeof(PERF_INSTANCE_DEFINITION) == 24, PERF_INSTANCE_DEFINITION_size);
PERFHIVE_ASSERT(offsetof(PERF_INSTANCE_DEFINITION, ByteLength) == 0, PERF_INSTANCE_DEFINITION_ByteLength);
PERFHIVE_ASSERT(offsetof(PERF_INSTANCE_DEFINITION, ParentObjectTitleIndex) == 4, PERF_INSTANCE_DEFINITION_ParentObjectTitleIndex);
PERFHIVE_ASSERT(offsetof(PERF_INSTANCE_DEFINITION, ParentObjectInstance) == 8, PERF_INSTANCE_DEFINITION_ParentObjectInstance);
PERFHIVE_ASSERT(offsetof(PERF_INSTANCE_DEFINITION, UniqueID) == 12, PERF_INSTANCE_DEFINITION_UniqueID);
PERFHIVE_ASSERT(offsetof(PERF_INSTANCE_DEFINITION, NameOffset) == 16, PERF_INSTANCE_DEFINITION_NameOffset);
PERFHIVE_ASSERT(offsetof(PERF_INSTANCE_DEFINITION, NameLength) == 20, PERF_INSTANCE_DEFINITION_NameLength);

/* The head of the raw counter data of an instance or object. */
typedef struct _PERF_COUNTER_BLOCK {
    /* Length of the block with this field. */
    DWORD ByteLength;
} PERF_COUNTER_BLOCK, *PPERF_COUNTER_BLOCK;
PERFHIVE_ASSERT(sizeof(PERF_COUNTER_BLOCK) == 4, PERF_COUNTER_BLOCK_size);
PERFHIVE_ASSERT(offsetof(PERF_COUNTER_BLOCK, ByteLength) == 0, PERF_COUNTER_BLOCK_ByteLength);

/* ---- Counter types: facets, joined by | ---- */

/* Mask of the size facet. */
#define PERF_SIZE_MASK 0x00000300u
/* 32-bit data. */
#define PERF_SIZE_DWORD 0x00000000u
/* 64-bit data. */
#define PERF_SIZE_LARGE 0x00000100u
/* No data. */
#define PERF_SIZE_ZERO 0x00000200u
/* Data whose length the definition states. */
#define PERF_SIZE_VARIABLE_LEN 0x00000300u
/* Mask of the kind facet. */
#define PERF_TYPE_MASK 0x00000C00u
/* A number shown as it is. */
#define PERF_TYPE_NUMBER 0x00000000u
/* A number to be calculated with. */
#define PERF_TYPE_COUNTER 0x00000400u
/* Text. */
#define PERF_TYPE_TEXT 0x00000800u
/* A field without a value. */
#define PERF_TYPE_ZERO 0x00000C00u
/* Mask of the subtype; three bits, for the precision types use the third. */
#define PERF_SUBTYPE_MASK 0x00070000u
/* A number shown in hexadecimal. */
#define PERF_NUMBER_HEX 0x00000000u
/* A number shown in decimal. */
#define PERF_NUMBER_DECIMAL 0x00010000u
/* A number shown divided by 1000. */
#define PERF_NUMBER_DEC_1000 0x00020000u
/* The counter's value itself. */
#define PERF_COUNTER_VALUE 0x00000000u
/* The change between two samples, divided by the time between them. */
#define PERF_COUNTER_RATE 0x00010000u
/* The value, or its change between two samples, divided by a base. */
#define PERF_COUNTER_FRACTION 0x00020000u
/* The base of the counter before it. */
#define PERF_COUNTER_BASE 0x00030000u
/* A start time, subtracted from now. */
#define PERF_COUNTER_ELAPSED 0x00040000u
/* The average length of a queue between two samples. */
#define PERF_COUNTER_QUEUELEN 0x00050000u
/* A histogram; no formula is documented. */
#define PERF_COUNTER_HISTOGRAM 0x00060000u
/* The change between two samples, divided by the change of a private clock, the base that follows. */
#define PERF_COUNTER_PRECISION 0x00070000u
/* Text in UTF-16. */
#define PERF_TEXT_UNICODE 0x00000000u
/* Text in the code page of the object. */
#define PERF_TEXT_ASCII 0x00010000u
/* Mask of the timer facet. */
#define PERF_TIMER_MASK 0x00300000u
/* The system's performance counter. */
#define PERF_TIMER_TICK 0x00000000u
/* The system's time in 100 ns units. */
#define PERF_TIMER_100NS 0x00100000u
/* The object's own clock. */
#define PERF_OBJECT_TIMER 0x00200000u
/* Two samples are subtracted. */
#define PERF_DELTA_COUNTER 0x00400000u
/* The bases of two samples are subtracted. */
#define PERF_DELTA_BASE 0x00800000u
/* The value is the whole less what is counted. */
#define PERF_INVERSE_COUNTER 0x01000000u
/* The value is a sum over several items. */
#define PERF_MULTI_COUNTER 0x02000000u
/* Mask of the display facet. */
#define PERF_DISPLAY_MASK 0x70000000u
/* Shown without a suffix. */
#define PERF_DISPLAY_NO_SUFFIX 0x00000000u
/* Shown with /sec. */
#define PERF_DISPLAY_PER_SEC 0x10000000u
/* Shown with %. */
#define PERF_DISPLAY_PERCENT 0x20000000u
/* Shown with sec. */
#define PERF_DISPLAY_SECONDS 0x30000000u
/* Not shown. */
#define PERF_DISPLAY_NOSHOW 0x40000000u

/* ---- Counter types by their names ---- */

/* a number, shown in hexadecimal. Shown as N. */
#define PERF_COUNTER_RAWCOUNT_HEX 0x00000000u
/* a 64-bit number, shown in hexadecimal. Shown as N. */
#define PERF_COUNTER_LARGE_RAWCOUNT_HEX 0x00000100u
/* text. */
#define PERF_COUNTER_TEXT 0x00000B00u
/* a number. Shown as N. */
#define PERF_COUNTER_RAWCOUNT 0x00010000u
/* a 64-bit number. Shown as N. */
#define PERF_COUNTER_LARGE_RAWCOUNT 0x00010100u
/* a value that is already cooked, a double (from text logs). Shown as N. */
#define PERF_DOUBLE_RAW 0x00012000u
/* the change between two samples. Shown as N1 - N0. */
#define PERF_COUNTER_DELTA 0x00400400u
/* the change of a 64-bit number between two samples. Shown as N1 - N0. */
#define PERF_COUNTER_LARGE_DELTA 0x00400500u
/* the average number of operations in a second. Shown as (N1 - N0) / ((D1 - D0) / F). */
#define PERF_SAMPLE_COUNTER 0x00410400u
/* the average length of a queue. Shown as (N1 - N0) / (D1 - D0). */
#define PERF_COUNTER_QUEUELEN_TYPE 0x00450400u
/* the average length of a queue, 64-bit. Shown as (N1 - N0) / (D1 - D0). */
#define PERF_COUNTER_LARGE_QUEUELEN_TYPE 0x00450500u
/* the average length of a queue, by 100 ns time. Shown as (N1 - N0) / (D1 - D0). */
#define PERF_COUNTER_100NS_QUEUELEN_TYPE 0x00550500u
/* the average length of a queue, by the object's clock. Shown as (N1 - N0) / (D1 - D0). */
#define PERF_COUNTER_OBJ_TIME_QUEUELEN_TYPE 0x00650500u
/* a rate of counts per second. Shown as (N1 - N0) / ((D1 - D0) / F). */
#define PERF_COUNTER_COUNTER 0x10410400u
/* a rate of counts per second, 64-bit. Shown as (N1 - N0) / ((D1 - D0) / F). */
#define PERF_COUNTER_BULK_COUNT 0x10410500u
/* a part of a base. Shown as 100 * N / B. */
#define PERF_RAW_FRACTION 0x20020400u
/* a part of a base, 64-bit. Shown as 100 * N / B. */
#define PERF_LARGE_RAW_FRACTION 0x20020500u
/* the share of time in which something was active. Shown as 100 * (N1 - N0) / (D1 - D0). */
#define PERF_COUNTER_TIMER 0x20410500u
/* a share of time, by a private clock in system ticks. Shown as 100 * (N1 - N0) / (B1 - B0). */
#define PERF_PRECISION_SYSTEM_TIMER 0x20470500u
/* a share of time, in 100 ns units. Shown as 100 * (N1 - N0) / (D1 - D0). */
#define PERF_100NSEC_TIMER 0x20510500u
/* a share of time, by a private clock in 100 ns units. Shown as 100 * (N1 - N0) / (B1 - B0). */
#define PERF_PRECISION_100NS_TIMER 0x20570500u
/* a share of time, by the object's clock. Shown as 100 * (N1 - N0) / (D1 - D0). */
#define PERF_OBJ_TIME_TIMER 0x20610500u
/* a share of time, by a private clock in object ticks. Shown as 100 * (N1 - N0) / (B1 - B0). */
#define PERF_PRECISION_OBJECT_TIMER 0x20670500u
/* hits among the operations between two samples. Shown as 100 * (N1 - N0) / (B1 - B0). */
#define PERF_SAMPLE_FRACTION 0x20C20400u
/* the share of time in which something was not idle. Shown as 100 * (1 - (N1 - N0) / (D1 - D0)). */
#define PERF_COUNTER_TIMER_INV 0x21410500u
/* the share of time not idle, in 100 ns units. Shown as 100 * (1 - (N1 - N0) / (D1 - D0)). */
#define PERF_100NSEC_TIMER_INV 0x21510500u
/* a share of the time of several items. Shown as 100 * ((N1 - N0) / ((D1 - D0) / F)) / B1. */
#define PERF_COUNTER_MULTI_TIMER 0x22410500u
/* a share of the time of several items, in 100 ns units. Shown as 100 * ((N1 - N0) / (D1 - D0)) / B1. */
#define PERF_100NSEC_MULTI_TIMER 0x22510500u
/* the share of several items' time not idle. Shown as 100 * (B1 - (N1 - N0) / ((D1 - D0) / F)) / B1. */
#define PERF_COUNTER_MULTI_TIMER_INV 0x23410500u
/* the share of several items' time not idle, in 100 ns units. Shown as 100 * (B1 - (N1 - N0) / (D1 - D0)) / B1. */
#define PERF_100NSEC_MULTI_TIMER_INV 0x23510500u
/* the average time of an operation. Shown as ((N1 - N0) / F) / (B1 - B0). */
#define PERF_AVERAGE_TIMER 0x30020400u
/* the time since a start. Shown as (D - N) / F. */
#define PERF_ELAPSED_TIME 0x30240500u
/* a label without a value. */
#define PERF_COUNTER_NODATA 0x40000200u
/* the average amount of an operation. Shown as (N1 - N0) / (B1 - B0). */
#define PERF_AVERAGE_BULK 0x40020500u
/* the base of the counter before it. */
#define PERF_SAMPLE_BASE 0x40030401u
/* the base of the counter before it. */
#define PERF_AVERAGE_BASE 0x40030402u
/* the base of the counter before it. */
#define PERF_RAW_BASE 0x40030403u
/* a private clock, the base of the counter before it. */
#define PERF_PRECISION_TIMESTAMP 0x40030500u
/* the base of the counter before it, 64-bit. */
#define PERF_LARGE_RAW_BASE 0x40030503u
/* the number of items of the counter before it. */
#define PERF_COUNTER_MULTI_BASE 0x42030500u
/* reserved for histograms; no formula is documented. */
#define PERF_COUNTER_HISTOGRAM_TYPE 0x80000000u

#endif /* _WIN32 */

/* ---- The three functions ---- */

/*
 * Open prepares the provider. `linkage` is the linkage string of the registration
 * (strings separated by NUL, two NULs at the end), or NULL. Each reader calls Open
 * once, so that it may be called several times. Returns ERROR_SUCCESS or an error.
 */
typedef DWORD(APIENTRY *PERFHIVE_OPEN)(LPWSTR linkage);

/*
 * Collect writes the requested objects. Several threads may call it at once. `value` is one of
 *
 *     u"Global"        every object that is not costly
 *     u"Costly"        every object whose collection is expensive
 *     u"Foreign NAME"  the objects of the machine NAME, for providers that
 *                      reach other machines, behind a PERF_DATA_BLOCK
 *     u"230 5000"      objects by the indexes of their names
 *
 * On entry `*data` points to a buffer of `*bytes` bytes. On success move
 * `*data` behind the last byte written, set `*bytes` to the number of bytes
 * written (a multiple of 4, better of 8) and `*object_types` to the number of
 * objects, and return ERROR_SUCCESS.
 *
 * In all other cases leave `*data` unchanged, set both counts to 0 and return
 *
 *     ERROR_MORE_DATA  if the buffer is too small; the next call has a larger one
 *     ERROR_SUCCESS    if the provider has none of the requested objects, or on
 *                      failure; write the reason to the system's log, not at
 *                      every call
 *
 * A provider whose collection takes long answers only requests by index and
 * "Costly". The reader tests every answer and discards one that fails a test.
 */
typedef DWORD(APIENTRY *PERFHIVE_COLLECT)(LPWSTR value, LPVOID *data, LPDWORD bytes,
                                          LPDWORD object_types);

/* Close is the counterpart of one Open. Returns ERROR_SUCCESS. */
typedef DWORD(APIENTRY *PERFHIVE_CLOSE)(void);

/* ---- Beyond Windows ---- */

/*
 * What perfhive's loader passes to a library. (On Windows a provider reads its
 * indexes from the registry and reports to the event log.)
 *
 * Registration chooses the indexes of your names: the first one is
 * `first_counter`, and that of the first help text `first_help`; the others
 * follow by the offsets of your .ini file. To learn them, export a function of
 * the type PERFHIVE_HOST_FUNCTION under the name of your Collect function with
 * `Host` behind it: `CollectGauges` goes with `CollectGaugesHost`. It is called
 * once, before the first Open; the structure stays until the library is
 * unloaded.
 */
typedef struct _PERFHIVE_HOST {
    /* Size of this structure in bytes; it may grow at its end. */
    uint32_t size;
    /* First Counter of the registration. */
    uint32_t first_counter;
    /* First Help of the registration. */
    uint32_t first_help;
    /* Zero. */
    uint32_t reserved;
    /* The first argument of `report`. */
    void *context;
    /*
     * Takes a message for the administrator, in UTF-8: why Open or Collect
     * failed. May be called from any thread. A Collect that gives no data and
     * reports a message counts as failed.
     */
    void(APIENTRY *report)(void *context, const char *text, size_t length);
} PERFHIVE_HOST;

typedef void(APIENTRY *PERFHIVE_HOST_FUNCTION)(const PERFHIVE_HOST *host);

#endif /* PERFHIVE_PROVIDER_H */
