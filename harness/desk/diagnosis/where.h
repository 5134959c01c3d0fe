/* Says which place in the program a finding's cost comes from, where the trace tells. */
#ifndef HARNESS_DESK_DIAGNOSIS_WHERE_H
#define HARNESS_DESK_DIAGNOSIS_WHERE_H

#include "harness/desk/diagnosis/rules.h"

/* Sets finding->where. A finding whose cost is of no line stays without. OUT_OF_MEMORY. */
enum status where_find(struct finding *finding, const struct facts *facts);

/* The place of one gap's time on the host. OUT_OF_MEMORY. */
enum status where_of_gap(struct call_place *place, const struct summary *summary,
                         const struct idle_gap *gap);

#endif
