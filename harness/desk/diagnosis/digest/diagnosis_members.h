/* The members of a diagnosis that its JSON and digests have in common, each list of a struct that
 * is written from or read into (members.h). */
#pragma once

#include "harness/desk/analysis/host/call_place.h"
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
