#include "harness/lab/experiment/rank_trace.h"

#include "harness/base/words/text.h"

#include <stdio.h>
#include <string.h>

/* `rank`: its number, or what stands for any. */
static enum status put_rank(char *name, size_t size, const char *given, const char *rank, int ranks)
{
    const char *ending = ends_in(given, ".json.gz") ? ".json.gz" : ".json";
    size_t stem = strlen(given) - strlen(ending);
    int length = ranks > 1 ? snprintf(name, size, "%.*s.rank%s%s", (int)stem, given, rank, ending)
                           : snprintf(name, size, "%s", given);

    if (length < 0 || (size_t)length >= size)
        FAIL(STATUS_BAD_USAGE, "the path %.60s... is too long; choose a shorter one", given);

    return STATUS_OK;
}

enum status rank_trace_name(char *name, size_t size, const char *given, int rank, int ranks)
{
    char number[16];

    snprintf(number, sizeof number, "%d", rank);
    return put_rank(name, size, given, number, ranks);
}

enum status rank_trace_pattern(char *name, size_t size, const char *given, int ranks)
{
    return put_rank(name, size, given, "*", ranks);
}
