/* The traces that the arguments of a command name: files, folders of them, standard input. */
#pragma once

#include "harness/base/status.h"
#include "harness/desk/diagnosis/diagnosis.h"
#include "harness/desk/diagnosis/rules/finding.h"
#include "harness/desk/snapshot/snapshot.h"
#include "harness/text/page.h"

#include <stdbool.h>
#include <stdint.h>

struct trace_paths {
    /* [count], in the order of the arguments; those of a folder by name, numbers in it by value:
     * rank2 before rank10. */
    const char **items;
    int count;
    int64_t room;
    int skipped;          /* arguments that gave none */
    bool takes_snapshots; /* the caller's: of memory, in folders */
};

/* `paths` has zeros but for what the caller sets. A folder stands for its files that end as a trace
 * format does (reader.h), or if it has none, for those of its folders; one with a result.json, or
 * that file itself, for the traces beside it.
 * "-" is standard input. FOLDER/traces/NAME that is not there stands for the trace of that name
 * which FOLDER/result.json has, in traces-2 say. Others are taken as they are. BAD_INPUT: a folder
 * cannot be read or has no trace; with `skip`, which may be NULL, it is called for each of these
 * (status_last() has the error), and the others are taken. OUT_OF_MEMORY. Release in every case. */
enum status trace_paths_make(struct trace_paths *paths, const char *const *arguments, int count,
                             void (*skip)(void *context), void *context);
void trace_paths_release(struct trace_paths *paths);

/* --- Lines of code, from traces with stacks beside the others --- */

/* Lines of code for findings, from the traces with stacks that `record` writes beside the
 * others. */

/* Their paths, which the diagnosis keeps. */
struct stack_lines {
    const char **paths; /* [count]; NULL: there is none */
    int count;
};

/* A trace with stacks that cannot be read is skipped, after `skip`. OUT_OF_MEMORY. Release in every
 * case, after the diagnosis was used. */
enum status stack_lines_take(struct stack_lines *lines, struct diagnosis *diagnosis,
                             diagnosis_skip *skip, void *context);
void stack_lines_release(struct stack_lines *lines);

/* --- Snapshots of PyTorch's memory among these files --- */

/* Whether a file is one, by its first bytes; only a regular file can be. */
enum status snapshot_is(bool *is, const char *path);

struct snapshots {
    const char **paths;
    int path_count;
    struct snapshot_file *files; /* those that were read */
    int count;
};

/* Moves the paths of snapshots out of `paths`; release in every case. */
enum status snapshots_take(struct snapshots *snapshots, struct trace_paths *paths);
void snapshots_release(struct snapshots *snapshots);

/* Reads them. One that cannot be read is passed to `skip`, or if that is NULL ends it. */
enum status snapshots_read(struct snapshots *snapshots, void (*skip)(void *context), void *context);

/* Whether no snapshot but the joined one has a finding of that severity or above. A line names each
 * that has. */
bool snapshots_pass(const struct page *page, const struct diagnosis *diagnosis,
                    enum severity level);
