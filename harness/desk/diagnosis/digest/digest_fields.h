/* The members of a digest's line, each of a struct that is written from or read into (members.h).
 */
#ifndef HARNESS_DESK_DIAGNOSIS_DIGEST_DIGEST_FIELDS_H
#define HARNESS_DESK_DIAGNOSIS_DIGEST_DIGEST_FIELDS_H

#include "harness/desk/diagnosis/digest/digest.h"
#include "harness/text/members.h"

struct trace_head {
    struct trace_file *trace;
    const char *step_range; /* the name of the ranges that count as steps; NULL: none */
};

member_list trace_head_fields, /* struct trace_head */
    summary_fields,            /* struct summary */
    facts_fields,              /* struct facts, its numbers */
    findings_fields,           /* struct findings, without headline and health */
    record_fields;             /* struct rank_record */

#endif
