/* One pass over the work; the names of kernels are classed once each. */
#include "harness/desk/analysis/tables/mix.h"

#include <math.h>

const double mix_usual[MIX_GROUP_COUNT] = {
    [MIX_CONTRACTIONS] = 0.61, [MIX_NORMALISATIONS] = 0.255, [MIX_ELEMENTWISE] = 0.135
};

const char mix_source[] = "Ivanov et al., \"Data Movement Is All You Need\", MLSys 2021, table 1: "
                          "forward and backward of "
                          "an encoder layer of BERT-large, in PyTorch on a V100";

const char *mix_name(int kind)
{
    static const char *const names[MIX_COUNT] = {
        [CLASS_PRODUCT] = "matrix products",
        [CLASS_ATTENTION] = "fused attention",
        [CLASS_NORM] = "norms",
        [CLASS_SOFTMAX] = "softmax",
        [CLASS_ELEMENTWISE] = "elementwise",
        [CLASS_REDUCTION] = "reductions",
        [CLASS_END] = "embedding and loss",
        [CLASS_OPTIMIZER] = "optimizer",
        [CLASS_OTHER] = "other kernels",
        [MIX_COMMUNICATION] = "communication",
        [MIX_COPIES] = "copies and memsets",
    };

    return names[kind];
}

const char *mix_group_name(enum mix_group group)
{
    static const char *const names[MIX_GROUP_COUNT] = {
        [MIX_CONTRACTIONS] = "products and attention",
        [MIX_NORMALISATIONS] = "norms and softmax",
        [MIX_ELEMENTWISE] = "elementwise and reductions",
    };

    return names[group];
}

static double group_ns(const struct mix *mix, enum mix_group group)
{
    static const enum kernel_class classes[MIX_GROUP_COUNT][2] = {
        [MIX_CONTRACTIONS] = { CLASS_PRODUCT, CLASS_ATTENTION },
        [MIX_NORMALISATIONS] = { CLASS_NORM, CLASS_SOFTMAX },
        [MIX_ELEMENTWISE] = { CLASS_ELEMENTWISE, CLASS_REDUCTION },
    };

    return (double)mix->ns[classes[group][0]] + (double)mix->ns[classes[group][1]];
}

double mix_share(const struct mix *mix, enum mix_group group)
{
    double all_ns = 0;

    for (int i = 0; i < MIX_GROUP_COUNT; i++) all_ns += group_ns(mix, (enum mix_group)i);
    return all_ns > 0 ? group_ns(mix, group) / all_ns : (double)NAN;
}

/* Kernels that the phase "optimizer" launches update the weights, whatever their names. `class` is
 * 0 until the name is classed, and then one more than that. */
static int kind_of(const struct work *work, const struct intervals *optimizer, int *class,
                   const char *name)
{
    if (work->kind == WORK_COMMUNICATION)
        return MIX_COMMUNICATION;
    if (work->kind != WORK_COMPUTATION)
        return MIX_COPIES;
    if (work->call != NULL && intervals_contain(optimizer, work->call->start_ns))
        return CLASS_OPTIMIZER;
    if (*class == 0)
        *class = 1 + (int)kernel_class_of(name);
    return *class - 1;
}

struct mix mix_of(struct arena *arena, const struct timeline *timeline, const struct phases *phases)
{
    const struct trace_file *trace = timeline->trace;
    struct arena *scratch = arena_scratch(arena);
    int *classes = ARENA_NEW(scratch, int, trace_file_name_count(trace));
    const struct intervals *optimizer = &phases->times[PHASE_OPTIMIZER];
    struct mix mix = { .all_ns = 0 };

    for (int64_t i = 0; i < timeline->work_count; i++) {
        const struct work *work = &timeline->work[i];
        uint32_t name = work->event->name;
        int64_t ns = work->event->end_ns - work->event->start_ns;
        int kind = kind_of(work, optimizer, &classes[name], trace_file_name(trace, name));
        if (!timeline_counts(timeline, work->event))
            continue;
        mix.count[kind]++;
        mix.ns[kind] = intervals_sum_ns(mix.ns[kind], ns);
        mix.all_ns = intervals_sum_ns(mix.all_ns, ns);
    }
    arena_close(scratch);
    mix.is_transformer =
        mix.ns[CLASS_PRODUCT] > 0 && mix.count[CLASS_NORM] > 0 &&
        8 * (mix.count[CLASS_SOFTMAX] + mix.count[CLASS_ATTENTION]) >= mix.count[CLASS_NORM];
    mix.trains = mix.ns[CLASS_OPTIMIZER] > 0;
    return mix;
}
