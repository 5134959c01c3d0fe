/* From trace files to findings: several files that are the ranks of one run are judged together. */
#pragma once

#include "harness/base/status.h"
#include "harness/desk/analysis/summary.h"
#include "harness/desk/analysis/tables/spans.h"
#include "harness/desk/diagnosis/facts/ranks.h"
#include "harness/desk/diagnosis/rules/finding.h"
#include "harness/desk/diagnosis/what_if.h"

#include <stdbool.h>

/* The findings of a run of several ranks: each once, with how many ranks have it and what it costs
 * them. */
struct facts;

/* The ranks that have a finding. */
struct finding_spread {
    int64_t which;            /* that of the finding: the rank that it costs most */
    int64_t count;            /* of the ranks that have it */
    double least_ns, most_ns; /* lost per step, of these; NAN: it costs no time */
    bool differs;             /* not all ranks have it, or not all with the same evidence */
};

struct run_findings {
    struct findings findings; /* each of the rank that it costs most, ordered by the mean cost */
    struct finding_spread *spreads; /* [findings.count] */
};

/* From the findings and facts of `count` ranks, at least one. The headline is that of the rank
 * whose finding limits the run. */
struct run_findings run_findings_of(struct arena *arena, const struct findings *ranks,
                                    const struct facts *facts, int64_t count);

struct arena;
struct facts;
struct program_times;
struct snapshot_file;
struct summary;
struct trace_file;

/* The rows of its tables. Zeros: as many rows as is usual, by the time on the device. */
struct table_choice {
    enum span_order order; /* of operators, annotations and calls */
    int rows;              /* of each table, at most; 0: as is usual; INT_MAX: all */
};

struct diagnosis {
    struct arena *arena; /* of these arrays, and of what is known of the run */
    int count;
    const char **paths;         /* [count] of those that were read; the texts are the caller's */
    struct trace_file **traces; /* [count] */
    struct arena **arenas;      /* [count]: each trace owns its memory */
    struct summary *summaries;  /* [count] */
    struct facts *facts;        /* [count], those that the findings were made of (rules.h) */
    struct findings *findings;  /* [count] */
    bool is_for_digests;        /* each trace is judged alone */
    int run_count; /* the first of them are the ranks of one run, two or more; 0: all stand alone */
    const char *
        *lines_from; /* [count], the trace that lines of code come from; NULL: the same one */
    const struct snapshot_file *snapshots; /* [snapshot_count], of memory, the caller's */
    int snapshot_count;
    /* the one whose findings are among those of the only trace */
    const struct snapshot_file *joined;
    /* [count], the caller's, of the programs whose findings are joined; no wall time: none is
     * known. NULL: of no trace */
    const struct program_times *programs;
    struct table_choice tables;    /* the caller's, zeros at first */
    struct what_if_choice what_if; /* the caller sets it, too */

    /* Set for a run only. */
    struct ranks_together *together;
    int *by_rank; /* [run_count], places of the ranks in these arrays, in the order of their numbers
                   */
    struct run_findings run;
};

/* Called for a file that cannot be read, or for which there is no memory; status_last() says
 * why. */
typedef void diagnosis_skip(void *context);

/* Reads and judges `count` files, at least one. IO, BAD_INPUT, OUT_OF_MEMORY: a file cannot be
 * read or judged; the sentence says which. With `skip` that file is left out instead, and nothing
 * may be left. `paths` must live longer. Release in every case. */
enum status diagnosis_make(struct diagnosis *diagnosis, const char *const *paths, int count,
                           diagnosis_skip *skip, void *context);

/* The same, but traces are judged without regard to each other, and findings are those that digests
 * hold (findings_judged()). */
enum status diagnosis_make_for_digests(struct diagnosis *diagnosis, const char *const *paths,
                                       int count, diagnosis_skip *skip, void *context);

/* Places of findings, as lines of code, from another trace of the same program, which was recorded
 * with stacks: `paths` [count] has one for each trace, NULL for none, and must live longer. One
 * that cannot be read is skipped, after `skip`. OUT_OF_MEMORY. */
enum status diagnosis_take_lines(struct diagnosis *diagnosis, const char *const *paths,
                                 diagnosis_skip *skip, void *context);

/* findings_join() for trace number `which`. OUT_OF_MEMORY. */
enum status diagnosis_join(struct diagnosis *diagnosis, int which, const struct finding *others,
                           int64_t count);

/* The part of the steps of trace number `which` in which its device worked: the union of kernels,
 * copies and memsets (timeline.h). NaN: the trace took no time. */
double diagnosis_busy_share(const struct diagnosis *diagnosis, int which);

/* The trace of a rank of the run, or of one that states it alone; -1: none. */
int diagnosis_rank(const struct diagnosis *diagnosis, int64_t rank);

/* The traces of the run by rank: the one of the least rank above `rank`; -1: there is none. */
int diagnosis_next_rank(const struct diagnosis *diagnosis, int64_t rank);

void diagnosis_release(struct diagnosis *diagnosis);
