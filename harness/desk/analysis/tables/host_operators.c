/* The time that the host itself spends on operators, in one sweep per thread over its operators, by
 * start, with a stack of those that are open. Sums are of medians by name, so that a few slow calls
 * do not count as what an operator usually takes. */
#include "harness/desk/analysis/tables/host_operators.h"

#include "harness/base/sort.h"
#include "harness/desk/analysis/names/event_names.h"
#include "harness/desk/analysis/tables/spans.h"
#include "harness/desk/analysis/timeline/intervals.h"
#include "harness/desk/analysis/timeline/phases.h"

#include <stdlib.h>
#include <string.h>

/* The time of one operator without those that it calls. */
struct self_time {
    uint32_t name;
    bool is_double;
    int64_t ns;
};

struct open_operator {
    int64_t end_ns, row;
};

struct operator_sweep {
    const struct timeline *timeline;
    struct host_operators *operators;
    struct self_time *rows; /* [operators->count] */
    struct open_operator stack[SPANS_DEPTH];
    int depth;
    uint32_t track;
    int64_t loading_until_ns;          /* the end of the loader's fetch that is open */
    int64_t own_values_until_ns;       /* the end of loading, or of the optimizer */
    const struct trace_event *product; /* the last batched one; NULL: another came after it */
    bool softmax;                      /* one came after it */
};

/* Scores are a product for each head and sample, so a product of two matrices is that of a layer,
 * and a softmax behind it chooses a class or an expert. */
static void look_for_attention(struct operator_sweep *sweep, const struct trace_event *event)
{
    static const char *const batched[] = { "aten::bmm", "aten::baddbmm" };
    static const char *const others[] = { "aten::mm", "aten::addmm", "aten::convolution" };
    static const char *const softmaxes[] = { "aten::_softmax", "aten::_softmax_backward_data" };
    const char *name = trace_file_name(sweep->timeline->trace, event->name);

    if (name_is_one(name, batched, ARRAY_SIZE(batched))) {
        if (sweep->softmax && event->start_ns > sweep->product->end_ns) {
            sweep->operators->attention_count++;
            sweep->operators->attention_ns += event->start_ns - sweep->product->end_ns;
        }
        sweep->product = event;
        sweep->softmax = false;
    } else if (name_is_one(name, others, ARRAY_SIZE(others))) {
        sweep->product = NULL;
        sweep->softmax = false;
    } else if (sweep->product != NULL && name_is_one(name, softmaxes, ARRAY_SIZE(softmaxes))) {
        sweep->softmax = true;
    }
}

/* Loading and the optimizer read values of their own, which are no fault of the loop. */
static void take_annotation(struct operator_sweep *sweep, const struct trace_event *event)
{
    enum phase phase;

    if (!phase_of_name(trace_file_name(sweep->timeline->trace, event->name), &phase) ||
        (phase != PHASE_DATA && phase != PHASE_OPTIMIZER))
        return;
    sweep->own_values_until_ns = interval_later(sweep->own_values_until_ns, event->end_ns);
    if (phase == PHASE_DATA)
        sweep->loading_until_ns = interval_later(sweep->loading_until_ns, event->end_ns);
}

static void take_operator(struct operator_sweep *sweep, const struct trace_event *event)
{
    int64_t ns = event->end_ns - event->start_ns, row = sweep->operators->count++;

    while (sweep->depth > 0 && sweep->stack[sweep->depth - 1].end_ns <= event->start_ns)
        sweep->depth--;
    sweep->rows[row] = (struct self_time){
        event->name,
        event->detail != NO_DETAIL && sweep->timeline->trace->operators[event->detail].is_double, ns
    };
    if (sweep->depth > 0)
        sweep->rows[sweep->stack[sweep->depth - 1].row].ns -= ns;
    if (sweep->depth < SPANS_DEPTH)
        sweep->stack[sweep->depth++] = (struct open_operator){ event->end_ns, row };
    look_for_attention(sweep, event);
    if (event->start_ns >= sweep->own_values_until_ns &&
        strcmp(trace_file_name(sweep->timeline->trace, event->name), "aten::item") == 0) {
        sweep->operators->value_count++;
        sweep->operators->value_ns += ns;
    }
}

COMPARATOR(by_name_and_time, struct self_time, ASCENDING(name) ?: ASCENDING(ns))

/* Those of PyTorch that compute an element from elements at the same place. */
static bool is_elementwise(const char *name)
{
    static const char *const names[] = {
        "aten::add",           "aten::sub",
        "aten::mul",           "aten::div",
        "aten::pow",           "aten::neg",
        "aten::exp",           "aten::tanh",
        "aten::tanh_backward", "aten::erf",
        "aten::relu",          "aten::sigmoid",
        "aten::silu",          "aten::sigmoid_backward",
    };

    return name_is_one(name, names, ARRAY_SIZE(names));
}

/* The median of an even number is the upper of the two: no figure hangs on the difference. */
static void sum_medians(struct host_operators *operators, struct self_time *rows,
                        const struct trace_file *trace)
{
    for (int64_t i = 0; i < operators->count; i++) {
        operators->double_count += rows[i].is_double;
        operators->double_ns += rows[i].is_double ? rows[i].ns : 0;
    }
    qsort(rows, (size_t)operators->count, sizeof *rows, by_name_and_time);
    for (int64_t i = 0, end; i < operators->count; i = end) {
        double median;
        for (end = i + 1; end < operators->count && rows[end].name == rows[i].name; end++) continue;
        median = (double)rows[i + (end - i) / 2].ns;
        if (!(median > 0))
            continue;
        operators->typical_ns += (double)(end - i) * median;
        if (median > OPERATOR_OWN_NS && is_elementwise(trace_file_name(trace, rows[i].name))) {
            operators->elementwise_count += end - i;
            operators->elementwise_ns += (double)(end - i) * median;
        }
        operators->own_ns +=
            (double)(end - i) * (median < OPERATOR_OWN_NS ? median : OPERATOR_OWN_NS);
    }
}

struct host_operators host_operators_of(struct arena *arena, const struct timeline *timeline,
                                        int64_t start_ns, int64_t end_ns)
{
    SCRATCH_ARENA(scratch, arena);
    struct host_operators operators = { .count = 0 };
    struct operator_sweep sweep = { .timeline = timeline,
                                    .operators = &operators,
                                    .loading_until_ns = INT64_MIN,
                                    .own_values_until_ns = INT64_MIN,
                                    .rows = ARENA_NEW(scratch, struct self_time,
                                                      timeline->host_count) };

    for (int64_t i = 0; i < timeline->host_count; i++) {
        const struct trace_event *event = timeline->host[i];
        if (event->track != sweep.track) { /* another thread: nothing is open or remembered */
            sweep.track = event->track;
            sweep.depth = 0;
            sweep.loading_until_ns = sweep.own_values_until_ns = INT64_MIN;
            sweep.product = NULL;
            sweep.softmax = false;
        }
        if (event->kind == EVENT_KIND_ANNOTATION)
            take_annotation(&sweep, event);
        else if (event->kind == EVENT_KIND_OPERATOR && event->start_ns >= start_ns &&
                 event->start_ns < end_ns && event->start_ns >= sweep.loading_until_ns)
            take_operator(&sweep, event);
    }
    sum_medians(&operators, sweep.rows, timeline->trace);
    return operators;
}
