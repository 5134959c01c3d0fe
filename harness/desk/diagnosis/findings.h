/* Finds what is wrong with a training run, from its trace alone.
 *
 * Every finding is a row of a table of rules (rules.h): a condition on the summary, with the time
 * that it costs and the evidence in numbers. A rule never sees what was configured. If the trace
 * lacks what a rule needs, that rule says nothing. */
#pragma once

#include "harness/desk/diagnosis/rules/finding.h"

struct facts;

/* They lie in the memory of the trace that the facts are of. */
struct findings findings_of(const struct facts *facts);

/* The same without what follows from all of them together: headline, health, and doubts about a
 * trace that is not sound. A digest holds these, of the trace alone. */
struct findings findings_judged(const struct facts *facts);

/* The findings of a digest: `alone`, and if the facts are of several ranks, what rules that look at
 * ranks find beside the others. */
struct findings findings_of_digest(const struct findings *alone, const struct facts *facts);

/* Joins findings of another file of the same run, by rules each at most once, which cost no time
 * that the trace shows. One that both have is one: what they say of memory counts, but for its
 * time. Headline and health are set anew. */
void findings_join(struct findings *findings, const struct finding *others, int64_t count,
                   const struct facts *facts);

/* The order of findings: what ends a run, then what gains more than predictions err, then what sets
 * the pace, then what gains less; in each by lost time. Information that does not say what limits
 * the run comes last. */
bool finding_comes_before(const struct finding *a, const struct finding *b,
                          const struct facts *facts);

/* The finding that says what limits the run, for headline_of(): the first one; NULL: it says
 * nothing of that. */
const struct finding *findings_limit(const struct findings *findings);
