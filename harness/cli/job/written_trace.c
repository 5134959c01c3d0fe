/* The option --trace, and what is said of the file. The ending of the name says how the file is
 * written, so any other name is refused. */
#include "harness/cli/job/written_trace.h"

#include "harness/base/system/atomic_file.h"
#include "harness/base/words/text.h"
#include "harness/base/words/utf8.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

enum status written_trace_take(void *member, const struct option_row *row, const char *value)
{
    if (!ends_in(value, ".json") && !ends_in(value, ".json.gz"))
        FAIL(STATUS_BAD_USAGE,
             "--%s=%.200s: give a name that ends in .json.gz, or in .json for a file "
             "that is not compressed",
             row->name, value);
    *(const char **)member = value;

    return STATUS_OK;
}

enum status written_trace_try(const char *path)
{
    return atomic_file_try(path, "", 0);
}

void written_trace_print(FILE *stream, const char *path)
{
    utf8_print(stream, "wrote %s: open it at ui.perfetto.dev, or with %s diagnose %s", path,
               program_invocation_name, path);
}
