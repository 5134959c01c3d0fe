/* What the traces of a scenario show, judged by the rules of harness/analysis, which see nothing but the
 * trace; and whether that is what the scenario is about. The verdict does not depend on it: it is given
 * by what was timed. */
#ifndef HARNESS_EXPERIMENT_PARENT_DIAGNOSES_H
#define HARNESS_EXPERIMENT_PARENT_DIAGNOSES_H

#include "harness/experiment/result.h"

/* Fills result->diagnoses from the traces that are there. A trace that cannot be read is no failure: the
 * diagnosis says why there is none. */
void diagnoses_make(struct scenario_result *result);

/* Both variants were diagnosed. What is below may be asked only then. */
bool diagnoses_complete(const struct scenario_result *result);

/* The scenario names a finding that can be made on its device; where it names none, no finding is right
 * or wrong before. */
bool diagnoses_expected(const struct scenario_result *result);

/* The first finding before is one that the scenario accepts on its device. */
bool diagnoses_accepted_first(const struct scenario_result *result);

/* Nothing major or critical is found after but what the scenario tolerates on its device. */
bool diagnoses_tolerated_after(const struct scenario_result *result);

/* The foremost finding before that the scenario accepts on its device: the one whose advice is its fix,
 * so that its predicted gain and the measured one are of the same thing. NULL: none was made. */
const struct finding *diagnoses_accepted(const struct scenario_result *result);

#endif
