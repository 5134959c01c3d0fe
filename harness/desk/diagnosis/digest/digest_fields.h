/* The members of a digest's line, each of a struct that is written from or read into (fields.h). */
#ifndef HARNESS_DESK_DIAGNOSIS_DIGEST_DIGEST_FIELDS_H
#define HARNESS_DESK_DIAGNOSIS_DIGEST_DIGEST_FIELDS_H

#include "harness/desk/diagnosis/digest/digest.h"
#include "harness/desk/diagnosis/digest/fields.h"

/* `step_range`: the name of the ranges that count as steps; NULL: none. */
void trace_head_fields(struct fields *fields, struct trace_file *trace, const char **step_range);
void summary_fields(struct fields *fields, struct summary *summary);
void held_fields(struct fields *fields, struct held *held);
void record_fields(struct fields *fields, struct rank_record *record);

#endif
