/* From trace files to findings: several files that are the ranks of one run are judged together. */
#ifndef HARNESS_DIAGNOSIS_DIAGNOSIS_H
#define HARNESS_DIAGNOSIS_DIAGNOSIS_H

#include "harness/base/status.h"
#include "harness/diagnosis/finding.h"

#include <stdbool.h>

struct summary;
struct trace_file;

struct diagnosis {
    int count;
    const char *const *paths;   /* [count], the caller's */
    struct trace_file **traces; /* [count] */
    struct summary *summaries;  /* [count] */
    struct findings *findings;  /* [count] */
    bool is_run;                /* more than one file, each another rank of as many ranks */
};

/* Reads and judges `count` files, at least one. IO, BAD_INPUT: a file cannot be read; the sentence says
 * which. OUT_OF_MEMORY. `paths` must live longer. Release in every case. */
enum status diagnosis_make(struct diagnosis *diagnosis, const char *const *paths, int count);
void diagnosis_release(struct diagnosis *diagnosis);

#endif
