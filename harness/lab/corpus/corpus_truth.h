/* truth.json: what is wrong in each trace of a corpus, and what its fix gained, as measured.
 * docs/league.md has the members.
 *
 * The file is sealed: `seal` is the SHA-256 of its text with 64 zeros in place of the seal, and
 * each trace has its own. A label or a trace that was changed by mistake is noticed. Against a
 * change that is sealed anew, the seal has to be kept elsewhere.
 *
 * From the beginning there is a whole, valid file at every moment. */
#ifndef HARNESS_LAB_CORPUS_CORPUS_TRUTH_H
#define HARNESS_LAB_CORPUS_CORPUS_TRUTH_H

#include "harness/lab/corpus/corpus_measure.h"

struct corpus_truth;

enum { CORPUS_SCHEMA = 1 };

/* Counts of the items so far. */
struct corpus_counts {
    int items, traces, kinds[CORPUS_KINDS];
    int not_measurable; /* with a trace, but a cause whose fix has no measurable effect here */
};

/* Makes the folder where it is missing, and writes a truth without items, or with those of an
 * earlier call that did not come to its end (corpus_begun.h); corpus_truth_counts() says how many.
 * IO: it cannot be written, another program writes a corpus there, or there is one already. Close
 * it in any case. */
enum status corpus_truth_open(struct corpus_truth **truth, const char *folder, uint64_t seed,
                              const struct corpus_item *drawn, int count,
                              const struct protocol *protocol,
                              const struct device_properties *device,
                              const struct device_health *health);

/* Removes the file if nothing was added. NULL is allowed. */
void corpus_truth_close(struct corpus_truth *truth);

/* Adds an item, with its trace's SHA-256, and writes the file anew. */
enum status corpus_truth_add(struct corpus_truth *truth, const struct corpus_item *item,
                             const struct corpus_measured *measured);

/* A descriptor that locks the folder, for children. */
int corpus_truth_lock(const struct corpus_truth *truth);

struct corpus_counts corpus_truth_counts(const struct corpus_truth *truth);
const char *corpus_truth_path(const struct corpus_truth *truth); /* "corpus/truth.json" */

/* The sealed text; malloc'd. */
enum status corpus_truth_text(const struct corpus_truth *truth, char **text);

#endif
