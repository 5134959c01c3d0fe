#include "harness/base/words/ends_in.h"
#include "harness/desk/analysis/names/frame_name.h"
#include "harness/desk/snapshot/snapshot_parts.h"

#include <stdio.h>
#include <string.h>

enum { FRAMES_MOST = 1000, NAME_MOST = 300 };

static const char UNKNOWN[] = "not recorded (context=None)";

/* Copies a text member, cut; "" if it is none. */
static void copy_text(char *text, size_t size, const struct pickle *pickle, int64_t node)
{
    const struct pickle_node *one = node >= 0 ? &pickle->nodes[node] : NULL;
    size_t length = one != NULL && one->type == PICKLE_TEXT ? one->count : 0;

    if (length >= size)
        length = size - 1;
    memcpy(text, length > 0 ? pickle->bytes + one->at : "", length);
    text[length] = '\0';
}

/* The file with the folder that it is in. */
static const char *short_path(const char *path)
{
    const char *slash = strrchr(path, '/'), *at = slash;

    while (at != NULL && at > path && at[-1] != '/') at--;
    return slash == NULL ? path : at;
}

/* How good a frame is as the name of a site: the program's own line, any line of Python, a function of C++. */
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

static void describe(char text[NAME_MOST], const char *file, int64_t line, const char *function)
{
    if (file[0] != '\0' && file[0] != '?')
        snprintf(text, NAME_MOST, "%.180s:%lld %.80s", short_path(file), (long long)line, function);
    else
        snprintf(text, NAME_MOST, "C++: %.200s", function);
}

enum status snapshot_site_name(struct snapshot_reading *reading, int64_t frames, uint32_t *name)
{
    const struct pickle *pickle = &reading->pickle;
    int64_t count = pickle_length(pickle, frames);
    char text[NAME_MOST], file[512], function[200];
    int best = 0;

    if (frames >= 0 && reading->site_of[frames] > 0) {
        *name = reading->site_of[frames] - 1;
        return STATUS_OK;
    }
    snprintf(text, sizeof text, "%s", UNKNOWN);
    for (int64_t i = 0; i < count && i < FRAMES_MOST && best < 3; i++) {
        int64_t frame = pickle_item(pickle, frames, i);
        int rank;
        copy_text(file, sizeof file, pickle, pickle_member(pickle, frame, "filename"));
        copy_text(function, sizeof function, pickle, pickle_member(pickle, frame, "name"));
        rank = rank_of(file, function);
        if (rank <= best)
            continue;
        best = rank;
        describe(text, file, pickle_integer(pickle, pickle_member(pickle, frame, "line"), 0),
                 function);
    }
    TRY(intern_add(reading->snapshot->names, text, strlen(text), name));
    if (frames >= 0)
        reading->site_of[frames] = *name + 1;

    return STATUS_OK;
}
