#include "harness/cli/traces/stack_lines.h"

#include "harness/base/rows.h"
#include "harness/base/words/text.h"
#include "harness/cli/traces/record_folder.h"

#include <limits.h>
#include <stdlib.h>

enum status stack_lines_take(struct stack_lines *lines, struct diagnosis *diagnosis,
                             diagnosis_skip *skip, void *context)
{
    char path[PATH_MAX];

    TRY(rows_make(&lines->paths, diagnosis->count));
    lines->count = diagnosis->count;
    for (int i = 0; i < diagnosis->count; i++)
        if (record_folder_stacks(path, diagnosis->paths[i]))
            TRY(text_make((char **)&lines->paths[i], "%s", path));
    return diagnosis_take_lines(diagnosis, lines->paths, skip, context);
}

void stack_lines_release(struct stack_lines *lines)
{
    for (int i = 0; lines->paths != NULL && i < lines->count; i++) free((char *)lines->paths[i]);
    free(lines->paths);
    *lines = (struct stack_lines){ .count = 0 };
}
