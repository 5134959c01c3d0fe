/* The stacks of a snapshot: each gets the name of a site, and those of memory that is live at the
 * peak become a tree of calls, in which stacks that begin with the same calls share them. */
#include "harness/base/rows.h"
#include "harness/base/sort.h"
#include "harness/base/words/text.h"
#include "harness/desk/analysis/names/event_names.h"
#include "harness/desk/analysis/names/frame_name.h"
#include "harness/desk/snapshot/snapshot_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- Sites --- */

/* A stack is named after the best of its frames. */
enum { FRAMES_MOST = 1000 };

static const char UNKNOWN[] = "not recorded (context=None)";

/* The file with the folder that it is in, on Windows too. */
static const char *short_path(const char *path)
{
    const char *at = path + strlen(path);

    for (int slashes = 0; at > path; at--)
        if ((at[-1] == '/' || at[-1] == '\\') && ++slashes == 2)
            break;
    return at;
}

/* How good a frame is as the name of a site; those of Python as enum frame_owner. */
enum site_rank { RANK_NONE, RANK_ALLOCATOR, RANK_FUNCTION, RANK_PYTHON, RANK_LIBRARY, RANK_OWN };

/* The innermost functions of C++ are those that record the stack, and those that allocate. */
static enum site_rank rank_of_function(const char *function)
{
    static const char *const recording[] = { "torch::unwind", "CapturedTraceback",
                                             "gather_with_cpp" };
    static const char *const allocating[] = { "c10::", "std::", "at::detail::", "torch::cuda" };

    if (function[0] == '\0' || name_has_one(function, recording, ARRAY_SIZE(recording)))
        return RANK_NONE;
    for (size_t i = 0; i < ARRAY_SIZE(allocating); i++)
        if (name_begins(function, allocating[i]))
            return RANK_ALLOCATOR;
    return RANK_FUNCTION;
}

static enum site_rank rank_of(const char *file, const char *function)
{
    struct frame_name name = { .file = file,
                               .file_length = strlen(file),
                               .function = function,
                               .function_length = strlen(function) };

    if (!ends_in(file, ".py"))
        return rank_of_function(function);
    return (enum site_rank)(RANK_PYTHON + frame_name_owner(&name, NULL));
}

static void put_label(char label[SNAPSHOT_LABEL], const char *file, int64_t line,
                      const char *function)
{
    char place[200];

    frame_name_line(place, sizeof place, file, line);
    snprintf(label, SNAPSHOT_LABEL, "%s %.80s", place, function);
}

/* Describes a frame whose rank is above `least`. Returns its rank. */
static enum site_rank take_frame(const struct snapshot_reading *reading, uint32_t frame,
                                 enum site_rank least, char label[SNAPSHOT_LABEL])
{
    const struct pickle *pickle = &reading->pickle;
    const char *file = pickle_text(pickle, pickle_member(pickle, frame, WORD_FILENAME));
    const char *function = pickle_text(pickle, pickle_member(pickle, frame, WORD_NAME));
    enum site_rank rank = rank_of(file, function);

    if (rank > least && file[0] != '\0' && file[0] != '?')
        put_label(label, short_path(file),
                  pickle_integer(pickle, pickle_member(pickle, frame, WORD_LINE), 0), function);
    else if (rank > least)
        snprintf(label, SNAPSHOT_LABEL, "C++: %.200s", function);
    return rank;
}

bool snapshot_frame_label(const struct snapshot_reading *reading, uint32_t frame,
                          char label[SNAPSHOT_LABEL])
{
    return take_frame(reading, frame, RANK_FUNCTION, label) > RANK_FUNCTION;
}

/* The name of the line that frames come from: the innermost that is the program's own. */
static enum status name_site(struct snapshot_reading *reading, uint32_t frames, uint32_t *name)
{
    const struct pickle *pickle = &reading->pickle;
    int64_t count = pickle_length(pickle, frames);
    char text[SNAPSHOT_LABEL];
    enum site_rank best = RANK_NONE;

    snprintf(text, sizeof text, "%s", UNKNOWN);
    for (int64_t i = 0; i < count && i < FRAMES_MOST && best < RANK_OWN; i++) {
        enum site_rank rank = take_frame(reading, pickle_item(pickle, frames, i), best, text);
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

/* --- The tree of calls --- */

/* Calls of less than 1/SEEN of the peak are not seen in a picture; stacks of less than 1/COUNTED do
 * not add up to one. */
enum { SEEN = 1000, COUNTED = 20000, CALLS_DEEP = 48 };

/* A call of the tree; number 0 is the root. */
struct tree_call {
    uint32_t name;
    int64_t bytes;
    int64_t child, next; /* 0: none */
};

struct tree {
    const struct memory_history *history;
    struct tree_call *calls;
    int64_t count, room;
};

/* The child of that name, a new one if need be. They are COUNTED at most. */
static enum status find_child(struct tree *tree, int64_t parent, uint32_t name, int64_t *found)
{
    for (int64_t i = tree->calls[parent].child; i != 0; i = tree->calls[i].next)
        if (tree->calls[i].name == name) {
            *found = i;
            return STATUS_OK;
        }
    TRY(rows_grow(&tree->calls, tree->count + 1, &tree->room));
    *found = tree->count++;
    tree->calls[*found] = (struct tree_call){ .name = name, .next = tree->calls[parent].child };
    tree->calls[parent].child = *found;

    return STATUS_OK;
}

static enum status descend(struct tree *tree, const char *label, uint32_t name, int64_t bytes,
                           int64_t *at)
{
    if (label != NULL)
        TRY(intern_add(tree->history->reading->snapshot->names, label, strlen(label), &name));
    TRY(find_child(tree, *at, name, at));
    tree->calls[*at].bytes += bytes;

    return STATUS_OK;
}

/* The lines of Python, the outermost first; a stack without any is its site. */
static enum status add_stack(struct tree *tree, const struct snapshot_stack *stack, int64_t bytes)
{
    const struct snapshot_reading *reading = tree->history->reading;
    int64_t at = 0, count = pickle_length(&reading->pickle, stack->frames);
    char label[SNAPSHOT_LABEL];
    int deep = 0;

    for (int64_t i = count - 1; i >= 0 && deep < CALLS_DEEP; i--) {
        uint32_t frame = pickle_item(&reading->pickle, stack->frames, i);
        if (!snapshot_frame_label(reading, frame, label))
            continue;
        TRY(descend(tree, label, 0, bytes, &at));
        deep++;
    }
    return deep > 0 ? STATUS_OK : descend(tree, NULL, stack->site, bytes, &at);
}

COMPARATOR(by_bytes, struct snapshot_call, DESCENDING(bytes) ?: ASCENDING(name))

/* The children of a call, the largest first; their `start` is that of the call in the tree, for
 * now. */
static enum status sorted_children(const struct tree *tree, int64_t parent,
                                   struct snapshot_call **children, int64_t *count)
{
    int64_t room = 0;

    *children = NULL;
    *count = 0;
    for (int64_t i = tree->calls[parent].child; i != 0; i = tree->calls[i].next) {
        TRY(rows_grow(children, *count + 1, &room));
        (*children)[(*count)++] = (struct snapshot_call){ .name = tree->calls[i].name,
                                                          .start = i,
                                                          .bytes = tree->calls[i].bytes };
    }
    sort_items(*children, *count, sizeof **children, by_bytes);
    return STATUS_OK;
}

/* Writes the calls below one, each before those that it makes. At most CALLS_DEEP deep. */
static enum status write_calls(const struct tree *tree, int64_t parent, int depth, int64_t start,
                               int64_t *room)
{
    enum status status = STATUS_OK;
    struct snapshot_device *device = tree->history->device;
    struct snapshot_call *children;
    int64_t count;

    TRY_OUT(sorted_children(tree, parent, &children, &count));
    for (int64_t i = 0; i < count; i++) {
        struct snapshot_call call = children[i];
        int64_t at = call.start;
        call.start = start;
        call.depth = depth;
        start += call.bytes;
        if (call.bytes < device->live_peak / SEEN)
            continue;
        TRY_OUT(rows_grow(&device->calls, device->call_count + 1, room));
        device->calls[device->call_count++] = call;
        TRY_OUT(write_calls(tree, at, depth + 1, call.start, room));
    }

out:
    free(children);
    return status;
}

enum status snapshot_flame(const struct memory_history *history)
{
    enum status status = STATUS_OK;
    const struct snapshot_reading *reading = history->reading;
    struct tree tree = { .history = history };
    int64_t room = 0;

    TRY_OUT(rows_grow(&tree.calls, 1, &tree.room));
    tree.calls[tree.count++] = (struct tree_call){ .bytes = 0 };
    for (int64_t i = 0; i < reading->stack_count; i++)
        if (history->at_peak[i] > 0 && history->at_peak[i] >= history->device->live_peak / COUNTED)
            TRY_OUT(add_stack(&tree, &reading->stacks[i], history->at_peak[i]));
    TRY_OUT(write_calls(&tree, 0, 0, 0, &room));

out:
    free(tree.calls);
    return status;
}
