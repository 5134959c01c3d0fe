/* Pages, tables and JSON of kernels and of lessons (docs/kernels.md and
 * docs/results.md have the members). */
#pragma once

#include "harness/base/figures/quantity.h"
#include "harness/lab/kernel/kernel_counts.h"
#include "harness/lab/kernel/lesson_run.h"
#include "harness/text/json.h"
#include "harness/text/page.h"

/* The faults of a kernel that its counts show: a table of rules, a row for each, named as the
 * lessons that teach them. No rule knows a time: a finding says what is wasted, and where. */
struct kernel_rule;

struct kernel_finding {
    const struct kernel_rule *rule;
    double share;     /* of what the rule looks at, that is wasted: 0 .. 1; the order of findings */
    const char *file; /* of the line that wastes most; NULL: the kernel as a whole */
    int line;
    char text[256]; /* "line 14 touches 32 sectors where 4 would do" */
};

struct kernel_rule {
    const char *id;     /* of the lesson */
    const char *title;  /* what it is */
    const char *advice; /* what to change */
    /* Whether it is so; fills all of *finding but the rule. */
    bool (*finds)(const struct kernel_facts *facts, struct kernel_finding *finding);
};

enum { KERNEL_FINDINGS_MOST = 16 };

/* The rules that hold, the largest share first; returns how many. None for a kernel that did not
 * run to its end. */
int kernel_findings(const struct kernel_facts *facts,
                    struct kernel_finding findings[KERNEL_FINDINGS_MOST]);

/* --- One kernel --- */

struct kernel_output {
    const char *file;        /* that the command was given */
    const char *source_path; /* of the lines; NULL: not found */
    const char *source;      /* its text */
    struct kernel_facts facts;
    const struct kernel_finding *findings;
    int finding_count;
    int64_t elements; /* of each array, that are shown at most */
};

/* The kinds of accesses that a kernel has: name, space of struct simt_counts, access, what is
 * touched */
#define KERNEL_ACCESSES(X)                                                                         \
    X("global loads", global, SIMT_LOADS, "sectors")                                               \
    X("global stores", global, SIMT_STORES, "sectors")                                             \
    X("global atomics", global, SIMT_ATOMICS, "sectors")                                           \
    X("shared loads", shared, SIMT_LOADS, "passes")                                                \
    X("shared stores", shared, SIMT_STORES, "passes")                                              \
    X("shared atomics", shared, SIMT_ATOMICS, "passes")                                            \
    X("local loads", local, SIMT_LOADS, "sectors")                                                 \
    X("local stores", local, SIMT_STORES, "sectors")

void kernel_page(const struct page *page, const struct kernel_output *output);

/* For free(). OUT_OF_MEMORY. */
enum status kernel_json(char **text, const struct kernel_output *output);

/* --- Lessons --- */

/* The output of `run`: a block for each result, and their number by verdict; nothing if there are
 * none. */
void lesson_table(const struct page *page, const struct lesson_result *results, int count);

/* "2048" or "5.00 MiB": whole numbers below a million are written out. */
struct quantity_text lesson_count_text(double value, const char *unit);

/* Adds a lesson to the list of `list`. */
void lesson_json(struct json *json, cJSON *array, const struct kernel_lesson *lesson,
                 const char *group);

/* Adds a result to the array `kernels` of a result file; and its rows in Google Benchmark's format,
 * "NAME/counts:before" and so on, unless it failed. The counts are counters. The format wants
 * times: they are the host's, to execute the PTX, and each row says so. */
void lesson_result_json(struct json *json, cJSON *kernels, const struct lesson_result *result);
void lesson_rows_json(struct json *json, cJSON *benchmarks, const struct lesson_result *result,
                      int family);
