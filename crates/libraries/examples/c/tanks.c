/*
 * A provider in C that reaches other machines: the object "Tank" of each, and
 * "Tank Link", whose Status tells whether the data is current.
 *
 *     cc -shared -fPIC -I../../../contract/include -o tanks.so tanks.c
 *     perfhive register tanks.ini --library ./tanks.so \
 *         --linkage MARS=192.168.7.1:7000 --linkage VENUS=192.168.7.2:7000
 *
 * A machine gets a line "LEVEL" over TCP and answers with a line of one to three
 * numbers: the level, a performance counter, and the ticks per second of it.
 *
 * By the contract a connection is made inside of Collect, because Open does not know
 * a machine's name. It is kept, and tested by each request. After a loss one attempt
 * is made to connect again; if that fails, the last valid data is given with a
 * Status of 0. Where a machine does not tell its clocks, the local ones are used.
 */
#define _GNU_SOURCE
#include "perfhive_provider.h"
#include "tanks.h"

#include <arpa/inet.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define MACHINES 16
#define NAME 32
/* The longest wait for a machine, because readers wait as long. */
#define PATIENCE_MS 500
/* 1601-01-01 to 1970-01-01, in 100 ns. */
#define EPOCH 116444736000000000ll

typedef struct {
    char name[NAME];
    struct sockaddr_in address;
    int connection; /* -1 for none */
    int has_data;
    /* The last answer. */
    DWORD level;
    PERF_DATA_BLOCK clocks;
} MACHINE;

typedef struct {
    PERF_OBJECT_TYPE Object;
    PERF_COUNTER_DEFINITION Counter;
    PERF_COUNTER_BLOCK Head;
    DWORD Value;
} SINGLE;
PERFHIVE_ASSERT(sizeof(SINGLE) % 8 == 0, SINGLE_length);

static DWORD first_counter = 50000;
static DWORD first_help = 50001;
static const PERFHIVE_HOST *host;

/* Several threads may collect at once; they share the connections. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static MACHINE machines[MACHINES];
static int known, opened;

PERFHIVE_EXPORT void APIENTRY CollectTanksHost(const PERFHIVE_HOST *given)
{
    host = given;
    if (host->first_counter != 0) {
        first_counter = host->first_counter;
        first_help = host->first_help;
    }
}

static void report(const char *name, const char *what)
{
    char text[200];
    int length = snprintf(text, sizeof text, "%s %s", name, what);
    if (host != NULL && length > 0)
        host->report(host->context, text, (size_t)length);
}

/* Takes an entry NAME=ADDRESS:PORT. */
static void add_machine(const char *entry)
{
    MACHINE *machine = &machines[known];
    char address[INET_ADDRSTRLEN];
    unsigned port;
    if (known == MACHINES)
        return;
    memset(machine, 0, sizeof *machine);
    machine->connection = -1;
    machine->address.sin_family = AF_INET;
    if (sscanf(entry, "%31[^=]=%15[^:]:%u", machine->name, address, &port) != 3 ||
        inet_pton(AF_INET, address, &machine->address.sin_addr) != 1 || port > 65535) {
        report(entry, "is not a machine; write NAME=ADDRESS:PORT");
        return;
    }
    machine->address.sin_port = htons((uint16_t)port);
    known++;
}

PERFHIVE_EXPORT DWORD APIENTRY OpenTanks(LPWSTR linkage)
{
    char entry[100];
    size_t length;
    pthread_mutex_lock(&lock);
    /* Each reader calls it, with the same machines. */
    if (opened++ == 0)
        while (linkage != NULL && *linkage != 0) {
            for (length = 0; linkage[length] != 0; length++)
                if (length + 1 < sizeof entry)
                    entry[length] = (char)linkage[length];
            entry[length < sizeof entry ? length : sizeof entry - 1] = 0;
            add_machine(entry);
            linkage += length + 1;
        }
    pthread_mutex_unlock(&lock);
    return ERROR_SUCCESS;
}

static void disconnect(MACHINE *machine)
{
    if (machine->connection >= 0)
        close(machine->connection);
    machine->connection = -1;
}

PERFHIVE_EXPORT DWORD APIENTRY CloseTanks(void)
{
    pthread_mutex_lock(&lock);
    if (--opened == 0)
        while (known > 0)
            disconnect(&machines[--known]);
    pthread_mutex_unlock(&lock);
    return ERROR_SUCCESS;
}

static int connect_to(MACHINE *machine)
{
    struct timeval patience = {PATIENCE_MS / 1000, PATIENCE_MS % 1000 * 1000};
    int connection = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connection < 0)
        return 0;
    /* For connecting, sending and receiving. */
    setsockopt(connection, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    if (connect(connection, (struct sockaddr *)&machine->address, sizeof machine->address) != 0) {
        close(connection);
        return 0;
    }
    machine->connection = connection;
    return 1;
}

/* The time and clocks of this machine. */
static void local_clocks(PERF_DATA_BLOCK *block)
{
    struct timespec now, ticks;
    struct tm utc;
    clock_gettime(CLOCK_REALTIME, &now);
    clock_gettime(CLOCK_MONOTONIC, &ticks);
    gmtime_r(&now.tv_sec, &utc);
    block->PerfTime.QuadPart = ticks.tv_sec * 1000000000ll + ticks.tv_nsec;
    block->PerfFreq.QuadPart = 1000000000;
    block->PerfTime100nSec.QuadPart = EPOCH + now.tv_sec * 10000000ll + now.tv_nsec / 100;
    block->SystemTime.wYear = (WORD)(utc.tm_year + 1900);
    block->SystemTime.wMonth = (WORD)(utc.tm_mon + 1);
    block->SystemTime.wDayOfWeek = (WORD)utc.tm_wday;
    block->SystemTime.wDay = (WORD)utc.tm_mday;
    block->SystemTime.wHour = (WORD)utc.tm_hour;
    block->SystemTime.wMinute = (WORD)utc.tm_min;
    block->SystemTime.wSecond = (WORD)utc.tm_sec;
    block->SystemTime.wMilliseconds = (WORD)(now.tv_nsec / 1000000);
}

/* Asks a connected machine. */
static int ask(MACHINE *machine)
{
    char line[100];
    size_t length = 0;
    unsigned level;
    long long counter, frequency;
    if (send(machine->connection, "LEVEL\n", 6, MSG_NOSIGNAL) != 6)
        return 0;
    do {
        ssize_t more =
            recv(machine->connection, line + length, sizeof line - 1 - length, 0);
        if (more <= 0)
            return 0;
        length += (size_t)more;
        line[length] = 0;
    } while (strchr(line, '\n') == NULL && length + 1 < sizeof line);
    int told = sscanf(line, "%u %lld %lld", &level, &counter, &frequency);
    if (told < 1)
        return 0;
    machine->level = level;
    machine->has_data = 1;
    local_clocks(&machine->clocks);
    if (told == 3 && frequency > 0) {
        machine->clocks.PerfTime.QuadPart = counter;
        machine->clocks.PerfFreq.QuadPart = frequency;
    }
    return 1;
}

/* Whether the machine's data is current. */
static int reach(MACHINE *machine)
{
    int had = machine->connection >= 0;
    if (had && ask(machine))
        return 1;
    disconnect(machine);
    /* Perhaps only the connection was lost. */
    if (connect_to(machine) && ask(machine))
        return 1;
    disconnect(machine);
    if (had)
        report(machine->name, "is lost: its last data is given");
    return 0;
}

static void write_single(BYTE **to, DWORD name, DWORD counter, DWORD value)
{
    SINGLE object = {0};
    object.Object.TotalByteLength = sizeof object;
    object.Object.DefinitionLength = offsetof(SINGLE, Head);
    object.Object.HeaderLength = sizeof object.Object;
    object.Object.ObjectNameTitleIndex = first_counter + name;
    object.Object.ObjectHelpTitleIndex = first_help + name;
    object.Object.DetailLevel = PERF_DETAIL_NOVICE;
    object.Object.NumCounters = 1;
    object.Object.NumInstances = PERF_NO_INSTANCES;
    object.Counter.ByteLength = sizeof object.Counter;
    object.Counter.CounterNameTitleIndex = first_counter + counter;
    object.Counter.CounterHelpTitleIndex = first_help + counter;
    object.Counter.DetailLevel = PERF_DETAIL_NOVICE;
    object.Counter.CounterType = PERF_COUNTER_RAWCOUNT;
    object.Counter.CounterSize = sizeof(DWORD);
    object.Counter.CounterOffset = offsetof(SINGLE, Value) - offsetof(SINGLE, Head);
    object.Head.ByteLength = sizeof object - offsetof(SINGLE, Head);
    object.Value = value;
    memcpy(*to, &object, sizeof object);
    *to += sizeof object;
}

/* The machine of a value string "Foreign NAME"; \\ may precede the name. */
static MACHINE *find(const WCHAR *value)
{
    static const char WORD_FOREIGN[] = "Foreign ";
    for (int i = 0; WORD_FOREIGN[i] != 0; i++)
        if (*value++ != (WCHAR)WORD_FOREIGN[i])
            return NULL;
    while (*value == '\\')
        value++;
    for (int place = 0; place < known; place++) {
        const char *name = machines[place].name;
        int i = 0;
        while (name[i] != 0 && value[i] == (WCHAR)name[i])
            i++;
        if (name[i] == 0 && value[i] == 0)
            return &machines[place];
    }
    return NULL;
}

PERFHIVE_EXPORT DWORD APIENTRY CollectTanks(LPWSTR value, LPVOID *data, LPDWORD bytes,
                                            LPDWORD object_types)
{
    WCHAR name[NAME] = {0};
    DWORD room = *bytes, length = 0, head = sizeof(PERF_DATA_BLOCK) + sizeof name;
    *bytes = 0;
    *object_types = 0;

    pthread_mutex_lock(&lock);
    MACHINE *machine = find(value);
    if (machine == NULL || room < head + 2 * sizeof(SINGLE)) {
        pthread_mutex_unlock(&lock);
        return machine == NULL ? ERROR_SUCCESS : ERROR_MORE_DATA;
    }
    DWORD valid = (DWORD)reach(machine);
    DWORD objects = machine->has_data ? 2 : 1;
    if (!machine->has_data)
        local_clocks(&machine->clocks);

    PERF_DATA_BLOCK block = machine->clocks;
    memcpy(block.Signature, u"PERF", sizeof block.Signature);
    block.LittleEndian = 1;
    block.Version = 1;
    block.Revision = 1;
    block.TotalByteLength = head + objects * (DWORD)sizeof(SINGLE);
    block.HeaderLength = head;
    block.NumObjectTypes = objects;
    block.DefaultObject = -1;
    block.SystemNameOffset = sizeof block;
    while (machine->name[length] != 0) {
        name[length] = (WCHAR)machine->name[length];
        length++;
    }
    block.SystemNameLength = (length + 1) * (DWORD)sizeof(WCHAR);

    BYTE *to = *data;
    memcpy(to, &block, sizeof block);
    memcpy(to + sizeof block, name, sizeof name);
    to += head;
    write_single(&to, LINK, VALID, valid);
    if (machine->has_data)
        write_single(&to, TANK, LEVEL, machine->level);
    pthread_mutex_unlock(&lock);

    *data = to;
    *bytes = block.TotalByteLength;
    *object_types = objects;
    return ERROR_SUCCESS;
}
