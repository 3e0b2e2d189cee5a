/* Two of these meet: Collect of each comes back with its object when both are at
 * work at the same time. The linkage says which object, and the folder in which
 * each leaves a file. Each has another object, which is costly, and meets there too. */
#include "perfhive_provider.h"
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
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

PERFHIVE_EXPORT DWORD CollectMeets(LPWSTR value, LPVOID *data, LPDWORD bytes, LPDWORD types)
{
    char path[500];
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
        snprintf(path, sizeof path, "%s/met-%u", strchr(linkage, ' ') + 1, name);
        close(open(path, O_CREAT | O_WRONLY, 0600));
        snprintf(path, sizeof path, "%s/met-%u", strchr(linkage, ' ') + 1, name ^ 2);
        usleep(1000);
        for (int i = 0; access(path, F_OK) != 0; i++) {
            if (i == 2000)
                return ERROR_FILE_NOT_FOUND;
            usleep(1000);
        }
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
