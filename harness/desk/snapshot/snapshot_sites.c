/* A stack is named after the best of its frames: a line of the program's own, else one of Python,
 * else a function of C++. */
#include "harness/base/rows.h"
#include "harness/base/words/text.h"
#include "harness/desk/analysis/names/frame_name.h"
#include "harness/desk/snapshot/snapshot_parts.h"

#include <stdio.h>
#include <string.h>

enum { FRAMES_MOST = 1000 };

static const char UNKNOWN[] = "not recorded (context=None)";

/* The file with the folder that it is in. */
static const char *short_path(const char *path)
{
    const char *slash = strrchr(path, '/'), *at = slash;

    while (at != NULL && at > path && at[-1] != '/') at--;
    return slash == NULL ? path : at;
}

/* How good a frame is as the name of a site: the program's own line, any line of Python, a function
 * of C++. */
static int rank_of(const char *file, const char *function)
{
    struct frame_name name = { .file = file,
                               .file_length = strlen(file),
                               .function = function,
                               .function_length = strlen(function) };

    if (!ends_in(file, ".py"))
        return function[0] != '\0' ? 1 : 0;
    return frame_name_is_own(&name) ? 3 : 2;
}

/* Describes a frame whose rank is above `least`. Returns its rank. */
static int take_frame(const struct snapshot_reading *reading, uint32_t frame, int least,
                      char label[SNAPSHOT_LABEL])
{
    const struct pickle *pickle = &reading->pickle;
    const char *file = pickle_text(pickle, pickle_member(pickle, frame, WORD_FILENAME));
    const char *function = pickle_text(pickle, pickle_member(pickle, frame, WORD_NAME));
    int rank = rank_of(file, function);

    if (rank > least && file[0] != '\0' && file[0] != '?')
        snprintf(label, SNAPSHOT_LABEL, "%.180s:%lld %.80s", short_path(file),
                 (long long)pickle_integer(pickle, pickle_member(pickle, frame, WORD_LINE), 0),
                 function);
    else if (rank > least)
        snprintf(label, SNAPSHOT_LABEL, "C++: %.200s", function);
    return rank;
}

bool snapshot_frame_label(const struct snapshot_reading *reading, uint32_t frame,
                          char label[SNAPSHOT_LABEL])
{
    return take_frame(reading, frame, 1, label) > 1;
}

/* The name of the line that frames come from: the innermost that is the program's own. */
static enum status name_site(struct snapshot_reading *reading, uint32_t frames, uint32_t *name)
{
    const struct pickle *pickle = &reading->pickle;
    int64_t count = pickle_length(pickle, frames);
    char text[SNAPSHOT_LABEL];
    int best = 0;

    snprintf(text, sizeof text, "%s", UNKNOWN);
    for (int64_t i = 0; i < count && i < FRAMES_MOST && best < 3; i++) {
        int rank = take_frame(reading, pickle_item(pickle, frames, i), best, text);
        best = rank > best ? rank : best;
    }
    return intern_add(reading->snapshot->names, text, strlen(text), name);
}

enum status snapshot_stack_number(struct snapshot_reading *reading, uint32_t frames,
                                  uint32_t *number)
{
    uint32_t *note = pickle_note(&reading->pickle, frames);
    struct snapshot_stack stack = { .frames = frames };

    *number = note != NULL ? *note : 0;
    if (*number > 0 || (note == NULL && reading->stack_count > 0))
        return STATUS_OK;
    TRY(name_site(reading, frames, &stack.site));
    TRY(rows_grow(&reading->stacks, reading->stack_count + 1, &reading->stack_room));
    *number = (uint32_t)reading->stack_count;
    reading->stacks[reading->stack_count++] = stack;
    if (note != NULL)
        *note = *number;

    return STATUS_OK;
}
