/*
 * A provider in C: one object, "Gauges", with two instances and two counters.
 *
 *     cc -shared -fPIC -I../../../contract/include -o gauges.so gauges.c
 *     perfhive check ./gauges.so
 *
 * The same source is a provider for Windows, where Open would read First
 * Counter and First Help from the registry.
 */
#include "perfhive_provider.h"
#include "gauges.h"

#include <stdatomic.h>
#include <string.h>

/* The counters' data of one instance. */
typedef struct {
    PERF_COUNTER_BLOCK Head;
    DWORD Level;
    DWORD Operations;
    DWORD Unused; /* lengths are multiples of 8 */
} VALUES;

typedef struct {
    PERF_OBJECT_TYPE Object;
    PERF_COUNTER_DEFINITION Counters[2];
} DEFINITION;

static const char *const NAMES[] = {"boiler", "pump"};
#define INSTANCES 2
/* A name in UTF-16 with its terminator, filled up to a multiple of 8 bytes. */
#define NAME_BYTES 16
#define INSTANCE_BYTES (sizeof(PERF_INSTANCE_DEFINITION) + NAME_BYTES + sizeof(VALUES))
#define TOTAL_BYTES (sizeof(DEFINITION) + INSTANCES * INSTANCE_BYTES)

/* The indexes without a registration, as in a check of the file alone. */
static DWORD first_counter = 50000;
static DWORD first_help = 50001;
/* Shared by all threads on purpose. */
static atomic_uint operations;

PERFHIVE_EXPORT void APIENTRY CollectGaugesHost(const PERFHIVE_HOST *host)
{
    if (host->first_counter != 0) {
        first_counter = host->first_counter;
        first_help = host->first_help;
    }
}

PERFHIVE_EXPORT DWORD APIENTRY OpenGauges(LPWSTR linkage)
{
    /* Each reader calls it: one-time preparations belong behind a guard. */
    (void)linkage;
    return ERROR_SUCCESS;
}

PERFHIVE_EXPORT DWORD APIENTRY CloseGauges(void)
{
    return ERROR_SUCCESS;
}

static int is_word(const WCHAR *value, const char *word)
{
    while (*word != 0 && *value == (WCHAR)*word) {
        value++;
        word++;
    }
    return *value == 0 && *word == 0;
}

/* Whether a list of decimal indexes contains an index. */
static int is_listed(const WCHAR *value, DWORD wanted)
{
    while (*value != 0) {
        uint64_t index = 0;
        int digits = 0;
        while (*value >= '0' && *value <= '9' && index <= UINT32_MAX) {
            index = index * 10 + (uint64_t)(*value - '0');
            digits = 1;
            value++;
        }
        if (digits && index == wanted && (*value == ' ' || *value == 0))
            return 1;
        if (*value != 0)
            value++;
    }
    return 0;
}

static PERF_COUNTER_DEFINITION counter(DWORD offset, DWORD type, size_t at)
{
    PERF_COUNTER_DEFINITION definition = {0};
    definition.ByteLength = sizeof definition;
    definition.CounterNameTitleIndex = first_counter + offset;
    definition.CounterHelpTitleIndex = first_help + offset;
    definition.DetailLevel = PERF_DETAIL_NOVICE;
    definition.CounterType = type;
    definition.CounterSize = sizeof(DWORD);
    definition.CounterOffset = (DWORD)at;
    return definition;
}

PERFHIVE_EXPORT DWORD APIENTRY CollectGauges(LPWSTR value, LPVOID *data, LPDWORD bytes,
                                             LPDWORD object_types)
{
    DWORD room = *bytes;
    *bytes = 0;
    *object_types = 0;
    if (!is_word(value, "Global") && !is_listed(value, first_counter + GAUGES))
        return ERROR_SUCCESS; /* no object of ours is requested */
    if (room < TOTAL_BYTES)
        return ERROR_MORE_DATA;

    BYTE *to = *data;
    DEFINITION definition = {0};
    definition.Object.TotalByteLength = TOTAL_BYTES;
    definition.Object.DefinitionLength = sizeof definition;
    definition.Object.HeaderLength = sizeof definition.Object;
    definition.Object.ObjectNameTitleIndex = first_counter + GAUGES;
    definition.Object.ObjectHelpTitleIndex = first_help + GAUGES;
    definition.Object.DetailLevel = PERF_DETAIL_NOVICE;
    definition.Object.NumCounters = 2;
    definition.Object.DefaultCounter = 0;
    definition.Object.NumInstances = INSTANCES;
    definition.Counters[0] = counter(LEVEL, PERF_COUNTER_RAWCOUNT, offsetof(VALUES, Level));
    definition.Counters[1] =
        counter(OPERATIONS, PERF_COUNTER_COUNTER, offsetof(VALUES, Operations));
    memcpy(to, &definition, sizeof definition);
    to += sizeof definition;

    DWORD done = atomic_fetch_add(&operations, 10);
    for (DWORD place = 0; place < INSTANCES; place++) {
        PERF_INSTANCE_DEFINITION instance = {0};
        WCHAR name[NAME_BYTES / sizeof(WCHAR)] = {0};
        VALUES values = {0};
        DWORD length = 0;
        while (NAMES[place][length] != 0) {
            name[length] = (WCHAR)NAMES[place][length];
            length++;
        }
        instance.ByteLength = sizeof instance + NAME_BYTES;
        instance.UniqueID = PERF_NO_UNIQUE_ID;
        instance.NameOffset = sizeof instance;
        instance.NameLength = (length + 1) * sizeof(WCHAR);
        values.Head.ByteLength = sizeof values;
        values.Level = 70 + place;
        values.Operations = done * (place + 1);
        memcpy(to, &instance, sizeof instance);
        memcpy(to + sizeof instance, name, NAME_BYTES);
        memcpy(to + sizeof instance + NAME_BYTES, &values, sizeof values);
        to += INSTANCE_BYTES;
    }
    *data = to;
    *bytes = TOTAL_BYTES;
    *object_types = 1;
    return ERROR_SUCCESS;
}
