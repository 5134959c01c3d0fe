/* The output of `kernel`: a page, or JSON. */
#ifndef HARNESS_CLI_KERNEL_KERNEL_OUTPUT_H
#define HARNESS_CLI_KERNEL_KERNEL_OUTPUT_H

#include "harness/lab/kernel_run/kernel_findings.h"
#include "harness/text/page.h"

struct kernel_output {
    const char *file;        /* that the command was given */
    const char *source_path; /* of the lines; NULL: not found */
    const char *source;      /* its text */
    struct kernel_facts facts;
    bool is_from_ptxas; /* the registers are */
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

#endif
