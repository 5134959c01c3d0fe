/* Says which place in the program a finding's cost comes from, where the trace tells. */
#pragma once

#include "harness/desk/diagnosis/rules/rules.h"

/* Sets finding->where to the place that most of the site's time comes from; with SITE_NONE it stays
 * unknown. The arena lends memory. */
void finding_place_of(struct arena *arena, struct finding *finding, enum finding_site site,
                      const struct facts *facts);

/* The place of one gap's time on the host. */
struct call_place finding_place_of_gap(struct arena *arena, const struct summary *summary,
                                       const struct idle_gap *gap);
