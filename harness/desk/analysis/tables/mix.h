/* The mix of a transformer: its device work by kind, beside what is usual.
 *
 * Usual is what Ivanov, Dryden, Ben-Nun, Li and Hoefler measured ("Data Movement Is All You Need",
 * MLSys 2021, table 1): forward and backward of an encoder layer of BERT-large in PyTorch on a
 * V100, in three classes of operators. The shares of a trace that stand beside it are therefore
 * shares of its layers alone, and only of a trace that trains.
 *
 * Times are sums of durations, so work that runs beside other work counts twice. */
#pragma once

#include "harness/desk/analysis/names/event_names.h"
#include "harness/desk/analysis/timeline/phases.h"

/* Kinds of work: the classes of kernels, and after them: */
enum { MIX_COMMUNICATION = KERNEL_CLASS_COUNT, MIX_COPIES /* and memsets */, MIX_COUNT };

const char *mix_name(int kind); /* "matrix products" */

/* The classes of the source. */
enum mix_group {
    MIX_CONTRACTIONS,   /* products and fused attention */
    MIX_NORMALISATIONS, /* norms and softmax */
    MIX_ELEMENTWISE,    /* the rest of the layers: element-wise work, and reductions such as the
                           gradients of biases */
    MIX_GROUP_COUNT
};

const char *mix_group_name(enum mix_group group);
extern const double mix_usual[MIX_GROUP_COUNT]; /* shares of a layer's time */
extern const char mix_source[];

struct mix {
    int64_t count[MIX_COUNT], ns[MIX_COUNT]; /* work that counts (timeline_counts()) */
    int64_t all_ns;                          /* the sum of `ns` */
    /* It has products and norms, and softmax or fused attention at least once for every eight
     * norms: one softmax behind many norms is that of a classifier. Otherwise there is nothing to
     * compare. */
    bool is_transformer;
    bool trains; /* its optimizer shows */
};

struct mix mix_of(struct arena *arena, const struct timeline *timeline,
                  const struct phases *phases);

/* The group's share of the time of all groups. NAN: they have none. */
double mix_share(const struct mix *mix, enum mix_group group);
