/* Straight runs, and where the lanes of a branch meet again: at its immediate post-dominator, the
 * first instruction that every way from the branch to the end goes through. Sets of post-dominators
 * are refined until none changes, as textbooks of compilers have it. */
#include "harness/base/rows.h"
#include "harness/simt/code/code.h"

#include <stdlib.h>

/* Blocks of instructions that always run together. A set of blocks is a row of `words` words; the
 * end is the block after the last. */
struct flow_graph {
    const struct simt_kernel *kernel;
    bool *leads;
    int32_t *block_of; /* [instructions + 1] */
    int32_t *last;     /* of a block: its last instruction */
    int32_t count;
    size_t words;
    uint64_t *after; /* [blocks][words]: the blocks that every way to the end goes through */
};

/* With a predicate, an end or a trap is only for some lanes. */
static bool falls_through(const struct instruction *row)
{
    return row->predicate >= 0 || row->kind == PLAIN || row->kind == BARRIER;
}

static enum status find_blocks(struct flow_graph *graph)
{
    const struct simt_kernel *kernel = graph->kernel;

    TRY(rows_make(&graph->leads, kernel->count + 1));
    TRY(rows_make(&graph->block_of, kernel->count + 1));
    TRY(rows_make(&graph->last, kernel->count + 1));
    graph->leads[0] = true;
    for (int64_t i = 0; i < kernel->count; i++) {
        if (kernel->code[i].target >= 0)
            graph->leads[kernel->code[i].target] = true;
        if (kernel->code[i].kind != PLAIN)
            graph->leads[i + 1] = true;
    }
    graph->leads[kernel->count] = true;
    graph->count = -1;
    for (int64_t i = 0; i <= kernel->count; i++) {
        graph->count += graph->leads[i];
        graph->block_of[i] = graph->count;
        graph->last[graph->count] = (int32_t)i;
    }
    return STATUS_OK;
}

static bool has(const uint64_t *set, int32_t block)
{
    return set[block / 64] >> block % 64 & 1;
}

/* after[block] = itself and what all its successors have in common. Whether it changed. */
static bool refine(struct flow_graph *graph, int32_t block)
{
    const struct instruction *row = &graph->kernel->code[graph->last[block]];
    uint64_t *own = graph->after + (size_t)block * graph->words;
    int32_t next[2], count = 0;
    bool changed = false;

    if (row->target >= 0)
        next[count++] = graph->block_of[row->target];
    if (falls_through(row))
        next[count++] = block + 1;
    if (row->kind == END || row->kind == TRAP)
        next[count++] = graph->count;
    for (size_t w = 0; w < graph->words; w++) {
        uint64_t common = UINT64_MAX;
        for (int32_t n = 0; n < count; n++)
            common &= graph->after[(size_t)next[n] * graph->words + w];
        if ((size_t)block / 64 == w)
            common |= UINT64_C(1) << block % 64;
        changed |= own[w] != common;
        own[w] = common;
    }
    return changed;
}

static enum status find_after(struct flow_graph *graph)
{
    int64_t steps = 0;
    bool changed = true;

    if (graph->count > SIMT_MOST_RUNS)
        FAIL(STATUS_BAD_INPUT, "%s has more than %d straight runs of instructions",
             graph->kernel->name, SIMT_MOST_RUNS);
    graph->words = (size_t)graph->count / 64 + 1;
    TRY(rows_make(&graph->after, (int64_t)(graph->count + 1) * (int64_t)graph->words));
    for (size_t i = 0; i < (size_t)graph->count * graph->words; i++) graph->after[i] = UINT64_MAX;
    graph->after[(size_t)graph->count * graph->words + (size_t)graph->count / 64] =
        UINT64_C(1) << graph->count % 64;
    /* Sets begin full and only lose blocks, so this ends; the bound is for texts made to take long.
     * It goes from the last block to the first, since a set follows from those after it. */
    while (changed) {
        changed = false;
        for (int32_t block = graph->count - 1; block >= 0; block--) changed |= refine(graph, block);
        steps += (int64_t)graph->count * (int64_t)graph->words;
        if (steps > SIMT_MOST_STEPS)
            FAIL(STATUS_BAD_INPUT, "the branches of %s are too tangled", graph->kernel->name);
    }
    return STATUS_OK;
}

static int size_of(const struct flow_graph *graph, int32_t block)
{
    int size = 0;

    for (size_t w = 0; w < graph->words; w++)
        size += __builtin_popcountll(graph->after[(size_t)block * graph->words + w]);
    return size;
}

/* The nearest of the blocks that come after is the one with most others after it. */
static int32_t meeting(const struct flow_graph *graph, int32_t block)
{
    int32_t nearest = graph->count;
    int most = 0;

    for (int32_t other = 0; other <= graph->count; other++)
        if (other != block && has(graph->after + (size_t)block * graph->words, other) &&
            size_of(graph, other) > most) {
            most = size_of(graph, other);
            nearest = other;
        }
    return nearest;
}

/* From the end, since a row joins the run that begins after it. A row that a branch leads to begins
 * a run, and a row with a predicate is in none. */
static void find_straight(struct flow_graph *graph, struct simt_kernel *kernel)
{
    for (int64_t i = kernel->count - 1; i >= 0; i--) {
        struct instruction *row = &kernel->code[i];
        bool joins = i + 1 < kernel->count && !graph->leads[i + 1];
        if (row->kind != PLAIN || row->predicate >= 0)
            continue;
        row->straight = 1 + (joins ? row[1].straight : 0);
        row->counted = !row->helper + (joins ? row[1].counted : 0);
    }
}

enum status flow_find(struct simt_kernel *kernel)
{
    enum status status = STATUS_OK;
    struct flow_graph graph = { .kernel = kernel };

    if (kernel->count == 0 || falls_through(&kernel->code[kernel->count - 1]))
        FAIL(STATUS_BAD_INPUT, "%s does not end in ret", kernel->name);
    TRY_OUT(find_blocks(&graph));
    TRY_OUT(find_after(&graph));
    for (int64_t i = 0; i < kernel->count; i++)
        if (kernel->code[i].kind == BRANCH) {
            int32_t block = meeting(&graph, graph.block_of[i]);
            kernel->code[i].meet = block == 0 ? 0 : graph.last[block - 1] + 1;
        }
    find_straight(&graph, kernel);
    TRY_OUT(rows_make(&kernel->steps, kernel->count));
    TRY_OUT(rows_make(&kernel->accesses, kernel->slots));
    if (kernel->barriers)
        TRY_OUT(rows_make(&kernel->barrier_counts, kernel->count));

out:
    free(graph.leads);
    free(graph.block_of);
    free(graph.last);
    free(graph.after);
    return status;
}
