/* Finds the rack that a node is in, as the user says it: from a file of lines, sorted for a binary
 * search, or from a part of each node's name, which a regular expression picks. */
#include "harness/fleet/job/job.h"

#include "harness/base/rows.h"
#include "harness/base/sort.h"
#include "harness/base/system/files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FILE_MOST = 8 << 20 };

#define SPACES " \t\r,"

/* --- The file --- */

static enum status read_text(struct job_racks *racks, const char *path)
{
    enum status status = STATUS_OK;
    int file = regular_file_open(AT_FDCWD, path);
    size_t bytes = 0;
    ssize_t got = 1;

    if (file < 0)
        FAIL(STATUS_IO, "--racks=%s cannot be read: %s", path,
             errno == ENOTSUP ? "it is no regular file" : strerror(errno));
    /* All zero, so a zero byte ends the text that is read. */
    TRY_OUT(rows_make(&racks->text, FILE_MOST + 1));
    while (got > 0 && bytes < FILE_MOST) {
        got = read(file, racks->text + bytes, FILE_MOST - bytes);
        if (got < 0)
            FAIL_OUT(STATUS_IO, "--racks=%s cannot be read: %s", path, strerror(errno));
        bytes += (size_t)got;
    }
    if (bytes == FILE_MOST)
        FAIL_OUT(STATUS_BAD_INPUT, "--racks=%s is larger than %d MB", path, FILE_MOST >> 20);

out:
    close(file);
    return status;
}

COMPARATOR(by_node, struct rack_row, strcmp(a->node, b->node))

static enum status take_node(struct job_racks *racks, char *line)
{
    char *rest, *node, *rack;

    line[strcspn(line, "#")] = '\0';
    node = strtok_r(line, SPACES, &rest);
    if (node == NULL)
        return STATUS_OK;
    rack = strtok_r(NULL, SPACES, &rest);
    if (rack == NULL || strtok_r(NULL, SPACES, &rest) != NULL)
        FAIL(STATUS_BAD_INPUT, "each line has a node and its rack, as in: node17 rack3");
    TRY(rows_grow(&racks->rows, racks->count + 1, &racks->room));
    /* Node and rack point into the text, which lives as long as the rows. */
    racks->rows[racks->count++] = (struct rack_row){ node, rack };

    return STATUS_OK;
}

static enum status take_file(struct job_racks *racks, const char *path)
{
    char *line, *rest;
    int number = 0;

    TRY(read_text(racks, path));
    rest = racks->text;
    while ((line = strsep(&rest, "\n")) != NULL) {
        number++;
        if (take_node(racks, line) == STATUS_OK)
            continue;
        status_context("--racks=%s, line %d", path, number);
        return status_last()->status;
    }
    if (racks->count > 0)
        qsort(racks->rows, (size_t)racks->count, sizeof *racks->rows, by_node);
    return STATUS_OK;
}

/* --- The pattern --- */

static enum status take_pattern(struct job_racks *racks, const char *from, size_t length)
{
    enum status status = STATUS_OK;
    char *pattern = strndup(from + 1, length - 2), why[120];
    int error;

    if (pattern == NULL)
        FAIL(STATUS_OUT_OF_MEMORY, "no memory for a pattern");
    error = regcomp(&racks->pattern, pattern, REG_EXTENDED);
    racks->by_pattern = error == 0;
    if (error != 0) {
        regerror(error, &racks->pattern, why, sizeof why);
        FAIL_OUT(STATUS_BAD_USAGE, "--racks=%s is no pattern: %s", from, why);
    }

out:
    free(pattern);
    return status;
}

enum status job_racks_open(struct job_racks *racks, const char *from)
{
    size_t length = strlen(from);

    *racks = (struct job_racks){ .text = NULL };
    if (length > 2 && from[0] == '/' && from[length - 1] == '/')
        return take_pattern(racks, from, length);
    return take_file(racks, from);
}

void job_racks_close(struct job_racks *racks)
{
    if (racks->by_pattern)
        regfree(&racks->pattern);
    free(racks->rows);
    free(racks->text);
    *racks = (struct job_racks){ .text = NULL };
}

/* --- The racks of a job --- */

/* NULL: the node has none. */
static const char *rack_of(struct arena *arena, const struct job_racks *racks, const char *node)
{
    const struct rack_row wanted = { node, NULL }, *row;
    regmatch_t matches[2];
    size_t length;
    char *name;
    int which;

    if (!racks->by_pattern) {
        row = racks->count > 0 ? bsearch(&wanted, racks->rows, (size_t)racks->count,
                                         sizeof *racks->rows, by_node)
                               : NULL;
        return row != NULL ? row->rack : NULL;
    }
    if (regexec(&racks->pattern, node, 2, matches, 0) != 0)
        return NULL;
    /* The first pair of parentheses, if there is one. */
    which = matches[1].rm_so >= 0 ? 1 : 0;
    length = (size_t)(matches[which].rm_eo - matches[which].rm_so);
    name = arena_alloc(arena, (int64_t)length + 1, 1);
    memcpy(name, node + matches[which].rm_so, length);
    return name;
}

struct named_node {
    const char *rack;
    struct job_node *node;
};

COMPARATOR(by_rack, struct named_node, strcmp(a->rack, b->rack))

void job_racks_set(struct job *job, const struct job_racks *racks)
{
    struct named_node *named = ARENA_NEW(job->arena, struct named_node, job->node_count);
    int64_t count = 0;

    job->racks = ARENA_NEW(job->arena, const char *, job->node_count);
    for (int64_t i = 0; i < job->node_count; i++) {
        const char *rack = rack_of(job->arena, racks, job->nodes[i].name);
        if (rack != NULL)
            named[count++] = (struct named_node){ rack, &job->nodes[i] };
    }
    if (count > 0)
        qsort(named, (size_t)count, sizeof *named, by_rack);
    for (int64_t i = 0; i < count; i++) {
        if (i == 0 || strcmp(named[i].rack, named[i - 1].rack) != 0)
            job->racks[job->rack_count++] = named[i].rack;
        named[i].node->rack = (int32_t)job->rack_count - 1;
    }
    for (int64_t i = 0; i < job->rank_count; i++)
        job->ranks[i].rack = job->nodes[job->ranks[i].node].rack;
}
