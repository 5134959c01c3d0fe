/* Kernels and copies by name: how often, how long, and how well they fill the device; and by kind.
 * Work that ended before the first marked step does not count. */
#pragma once

#include "harness/desk/analysis/names/event_names.h"
#include "harness/desk/analysis/timeline/phases.h"
#include "harness/desk/analysis/timeline/timeline.h"

/* A kernel of fewer blocks than half the SMs leaves the others without work. (CUDA C++ Best
 * Practices Guide, "Thread and Block Heuristics": more blocks than multiprocessors;
 * torch_tb_profiler calls a GPU underused below 1 block per SM.) A kernel of less than 10 us is
 * mostly its start and end, whatever its grid: a launch takes 2 to 10 us, and what that costs has
 * findings of its own. */
#define KERNEL_SMALL_BLOCKS_PER_SM 0.5
enum { KERNEL_SMALL_LEAST_NS = 10000 };

/* All work of one name. Means weigh each call by its duration, as torch_tb_profiler does for
 * occupancy; NAN: no call states a value. */
struct kernel_row {
    uint32_t name;
    enum work_kind kind;
    int64_t count;
    int64_t total_ns, min_ns, max_ns;
    const struct trace_event *longest; /* the first of those that take max_ns */
    double blocks_per_sm, occupancy_percent;

    /* Calls of small grids, as far as grid and SMs are known, that have the device to themselves;
     * and the part of their time for which their blocks would do if each SM had some: blocks / SMs
     * of it. */
    int64_t small_count, small_ns;
    double small_filled_ns;
    int64_t bytes;    /* of copies, memsets and messages that say how many they move */
    int64_t bytes_ns; /* the time of those; bytes / bytes_ns are GB/s */
    bool pageable;    /* a copy from or to pageable host memory, by its name */
};

struct kernels {
    struct kernel_row *rows; /* longest total first */
    int64_t count;
};

struct kernels kernels_of(struct arena *arena, const struct timeline *timeline);

/* --- The mix of a transformer --- */

/* Its device work by kind, beside what is usual.
 *
 * Usual is what Ivanov, Dryden, Ben-Nun, Li and Hoefler measured ("Data Movement Is All You Need",
 * MLSys 2021, table 1): forward and backward of an encoder layer of BERT-large in PyTorch on a
 * V100, in three classes of operators. The shares of a trace that stand beside it are therefore
 * shares of its layers alone, and only of a trace that trains.
 *
 * Times are sums of durations, so work that runs beside other work counts twice. */

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

/* Matrix products: what one costs apart from its work.
 *
 * A product takes a fixed time, to start, to fill the device and to end, and one that grows with
 * its work (Hockney, "Parallel Computers", 1981: the line with the parameters r_infinity and
 * n_1/2). Both can be told apart if a trace has products of unequal work: operators state their
 * floating-point operations
 * ("flops": ours do, but the files of PyTorch 2.15 do not, with_flops=True or not), and launch the
 * products. */

/* The fixed time of a product, computed from two kinds: the one that takes the least time, and the
 * one that computes the most. A kind is all products of equal work, if there are at least
 * `count_least` of them. NAN: the trace states no work of its products, or their work hardly
 * differs. */
double products_fixed_ns(struct arena *arena, const struct timeline *timeline, double count_least);
