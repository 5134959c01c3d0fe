/* The members of a diagnosis that its JSON and digests have in common, each list of a struct that
 * is written from or read into (members.h). */
#pragma once

#include "harness/desk/analysis/host/call_place.h"
#include "harness/desk/diagnosis/digest/digest.h"
#include "harness/text/members.h"

member_list origin_members, /* struct trace_file: what it says of itself, and what was not read */
    soundness_members,      /* struct soundness */
    usage_members,          /* struct usage, in part */
    step_parts_members,     /* struct steps: the means of its parts */
    phases_members,         /* struct phases: a member "phases" */
    finding_members,        /* struct finding, in part */
    threshold_members,      /* struct threshold, without its source */
    next_fix_members;       /* struct next_fix */

/* A place as member `name`; null if it is unknown. */
void place_member(struct members *members, const char *name, const struct call_place *place);

/* The members of a digest's line. Those that the JSON of diagnose has, too, are in
 * diagnosis_members.h. */
struct trace_head {
    struct trace_file *trace;
    const char *step_range; /* the name of the ranges that count as steps; NULL: none */
};

member_list trace_head_members, /* struct trace_head */
    summary_members,            /* struct summary */
    facts_members,              /* struct facts, its numbers */
    findings_members,           /* struct findings, without headline and health */
    record_members;             /* struct rank_record */
