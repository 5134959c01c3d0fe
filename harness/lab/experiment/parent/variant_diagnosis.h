/* The diagnosis of a scenario's traces, and whether it finds what the scenario is about.
 *
 * The rules of harness/desk/diagnosis see nothing but the trace. The verdict does not depend on
 * them: it follows from the times alone. */
#pragma once

#include "harness/lab/experiment/result.h"

#include <signal.h>

/* Fills result->diagnoses from the traces that exist. A trace that cannot be read is not a failure:
 * the diagnosis says why there is none. */
void variant_diagnosis_make(struct scenario_result *result);

/* Whether both variants were diagnosed. Ask the functions below only then. */
bool variant_diagnosis_complete(const struct scenario_result *result);

/* Whether the scenario names a finding that can be made on its device. If it names none, no finding
 * before is right or wrong. */
bool variant_diagnosis_expected(const struct scenario_result *result);

/* Whether the scenario accepts, on its device, the first finding before. */
bool variant_diagnosis_accepted_first(const struct scenario_result *result);

/* Whether the scenario leaves this finding behind on its device, fixed or not. */
bool variant_diagnosis_tolerates(const struct scenario_result *result, const char *id);

/* Whether every major or critical finding after is one that the scenario tolerates on its
 * device. */
bool variant_diagnosis_tolerated_after(const struct scenario_result *result);

/* The first finding before that the scenario accepts on its device. Its advice is the scenario's
 * fix, so its predicted gain can be compared with the measured one. NULL: there is none. */
const struct finding *variant_diagnosis_accepted(const struct scenario_result *result);

/* The traces of a scenario that was measured: one tracing child per variant. */

/* Starts `program` and fills result->tracing[variant]. The trace is stored as
 * "<protocol.traces>/<scenario>.<variant>.json.gz". A child that fails is no error here: the result
 * says why its trace is missing, and nothing else in it changes. A stop request is no error
 * either. */
enum status variant_trace_make(struct scenario_result *result, enum variant variant,
                               const char *program, const volatile sig_atomic_t *stop);
