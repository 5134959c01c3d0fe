/* The members of a digest's line. Those that the JSON of diagnose has, too, are in
 * diagnosis_members.h. */
#pragma once

#include "harness/desk/diagnosis/digest/digest.h"
#include "harness/text/members.h"

struct trace_head {
    struct trace_file *trace;
    const char *step_range; /* the name of the ranges that count as steps; NULL: none */
};

member_list trace_head_members, /* struct trace_head */
    summary_members,            /* struct summary */
    facts_members,              /* struct facts, its numbers */
    findings_members,           /* struct findings, without headline and health */
    record_members;             /* struct rank_record */
