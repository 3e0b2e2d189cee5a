/* Two of these meet: Collect of each comes back with its object when both are at
 * work at the same time. The linkage says which object, and the name by which the sockets
 * of both begin. Each has another object, which is costly, and meets there too. */
#include "perfhive_provider.h"
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#define COSTLY 4u

static char linkage[400];
static unsigned object;

PERFHIVE_EXPORT DWORD OpenMeets(LPWSTR given)
{
    for (size_t i = 0; given != NULL && given[i] != 0 && i + 1 < sizeof linkage; i++)
        linkage[i] = (char)given[i];
    return sscanf(linkage, "%u", &object) == 1 ? ERROR_SUCCESS : ERROR_FILE_NOT_FOUND;
}

/* An address without a file. */
static socklen_t address(struct sockaddr_un *to, unsigned name)
{
    memset(to, 0, sizeof *to);
    to->sun_family = AF_UNIX;
    int length = snprintf(to->sun_path + 1, sizeof to->sun_path - 1, "%s-%u",
                          strrchr(linkage, '/') + 1, name);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + length);
}

/* Sends the other one a byte, and waits for one from it. */
static int meet(unsigned name)
{
    struct sockaddr_un own, other;
    struct timeval limit = {2, 0};
    char byte = 0;
    int fd = socket(AF_UNIX, SOCK_DGRAM, 0);
    socklen_t length = address(&own, name);
    int met = bind(fd, (struct sockaddr *)&own, length) == 0 &&
              setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit) == 0;
    length = address(&other, name ^ 2);
    for (int i = 0; met && sendto(fd, &byte, 1, 0, (struct sockaddr *)&other, length) != 1; i++) {
        met = i < 2000;
        usleep(1000);
    }
    met = met && recv(fd, &byte, 1, 0) == 1;
    close(fd);
    return met;
}

PERFHIVE_EXPORT DWORD CollectMeets(LPWSTR value, LPVOID *data, LPDWORD bytes, LPDWORD types)
{
    struct {
        PERF_OBJECT_TYPE head;
        DWORD block[2];
    } answer = {0};

    DWORD room = *bytes;
    *bytes = *types = 0;
    if (value[0] == 'F')
        return ERROR_SUCCESS;
    if (room < sizeof answer)
        return ERROR_MORE_DATA;
    unsigned asked = 0;
    for (; *value >= '0' && *value <= '9'; value++)
        asked = 10 * asked + (*value - '0');
    unsigned name = asked == object + COSTLY || value[0] == 'C' ? object + COSTLY : object;
    if (asked != 0) {
        usleep(1000);
        if (!meet(name))
            return ERROR_FILE_NOT_FOUND;
    }
    answer.head.TotalByteLength = sizeof answer;
    answer.head.DefinitionLength = answer.head.HeaderLength = sizeof answer.head;
    answer.head.ObjectNameTitleIndex = name;
    answer.head.ObjectHelpTitleIndex = name + 1;
    answer.head.DetailLevel = 100;
    answer.head.DefaultCounter = -1;
    answer.head.NumInstances = PERF_NO_INSTANCES;
    answer.block[0] = sizeof answer.block;
    memcpy(*data, &answer, sizeof answer);
    *data = (char *)*data + sizeof answer;
    *bytes = sizeof answer;
    *types = 1;
    return ERROR_SUCCESS;
}

PERFHIVE_EXPORT DWORD CloseMeets(void)
{
    return ERROR_SUCCESS;
}
