/* The number of a rank stands before the name's ending, so that the files of one run sort together
 * and all of them end as traces do. */
#include "harness/lab/experiment/rank_trace.h"

#include "harness/base/words/text.h"

#include <stdio.h>
#include <string.h>

enum status rank_trace_name(char *name, size_t size, const char *given, int rank, int ranks)
{
    const char *ending = ends_in(given, ".json.gz") ? ".json.gz" : ".json";
    int stem = (int)(strlen(given) - strlen(ending)), length;
    char number[16] = "*";

    if (rank != RANK_TRACE_ALL)
        snprintf(number, sizeof number, "%d", rank);
    length = ranks > 1 ? snprintf(name, size, "%.*s.rank%s%s", stem, given, number, ending)
                       : snprintf(name, size, "%s", given);
    if (length < 0 || (size_t)length >= size)
        FAIL(STATUS_BAD_USAGE, "the path %.60s... is too long; choose a shorter one", given);

    return STATUS_OK;
}

void rank_trace_given(char given[NAME_MAX + 1], const char *name)
{
    const char *found = strstr(name, ".rank");
    const char *end = found != NULL ? found + strlen(".rank") : name;

    end += found != NULL ? strspn(end, "0123456789") : 0;
    if (found == NULL || strncmp(end, ".json.gz", strlen(".json.gz")) != 0)
        snprintf(given, NAME_MAX + 1, "%s", name);
    else
        snprintf(given, NAME_MAX + 1, "%.*s%s", (int)(found - name), name, end);
}
