/* Models for the micro-batches of a step. Models for shorter samples are made when their length
 * first comes up, and stay; they share the parameters of the longest one. */
#include "harness/engine/step/parts/micro_batches.h"

#include "harness/base/rows.h"

#include <stdlib.h>

struct micro_batches {
    struct training_config config;
    struct batch_layout layout;
    const struct encoder *longest;
    struct stream *stream;
    struct trace *trace;     /* NULL: nothing is recorded */
    struct encoder **copies; /* [copy_count], of the longest: for the others in flight */
    int copy_count;
    struct encoder **shorter;  /* [tokens]: by length; NULL: not made yet */
    const struct encoder **of; /* [accumulate]: those of the step */
    int64_t tokens;            /* with data, in the step */
};

/* The model at its full length for micro-batch `micro`. */
static const struct encoder *whole(const struct micro_batches *made, int micro)
{
    int copy = micro % (made->copy_count + 1);

    return copy == 0 ? made->longest : made->copies[copy - 1];
}

enum status micro_batches_open(struct micro_batches **opened, const struct training_config *config,
                               const struct batch_layout *layout, const struct encoder *longest,
                               int in_flight, struct stream *stream)
{
    enum status status = STATUS_OK;
    struct micro_batches *made;

    *opened = NULL;
    TRY_OUT(rows_make(&made, 1));
    made->config = *config;
    made->layout = *layout;
    made->longest = longest;
    made->stream = stream;
    TRY_OUT(rows_make(&made->shorter, config->model.tokens));
    TRY_OUT(rows_make(&made->of, config->launch.accumulate));
    TRY_OUT(rows_make(&made->copies, in_flight));
    for (; made->copy_count < in_flight - 1; made->copy_count++)
        TRY_OUT(encoder_open_shorter(&made->copies[made->copy_count], longest, config,
                                     config->model.tokens, stream));
    for (int i = 0; i < config->launch.accumulate; i++) made->of[i] = whole(made, i);
    *opened = made;
    made = NULL;

out:
    micro_batches_close(made);
    return status;
}

void micro_batches_close(struct micro_batches *micro_batches)
{
    if (micro_batches == NULL)
        return;
    for (int i = 0; micro_batches->shorter != NULL && i < micro_batches->config.model.tokens; i++)
        encoder_close(micro_batches->shorter[i]);
    for (int i = 0; i < micro_batches->copy_count; i++) encoder_close(micro_batches->copies[i]);
    free(micro_batches->copies);
    free(micro_batches->shorter);
    free(micro_batches->of);
    free(micro_batches);
}

enum status micro_batches_take(struct micro_batches *micro_batches, const int32_t *lengths)
{
    const struct batch_layout *layout = &micro_batches->layout;

    micro_batches->tokens = batch_tokens(layout, lengths);
    for (int i = 0; layout->tokens > 0 && i < micro_batches->config.launch.accumulate; i++) {
        int tokens = batch_padded_length(layout, lengths, i);
        struct encoder **shorter = &micro_batches->shorter[tokens];

        if (tokens == micro_batches->config.model.tokens) {
            micro_batches->of[i] = whole(micro_batches, i);
            continue;
        }
        if (*shorter == NULL) {
            TRY(encoder_open_shorter(shorter, micro_batches->longest, &micro_batches->config,
                                     tokens, micro_batches->stream));
            TRY(program_trace((*shorter)->train, micro_batches->trace));
        }
        micro_batches->of[i] = *shorter;
    }

    return STATUS_OK;
}

const struct encoder *micro_batch_encoder(const struct micro_batches *micro_batches, int micro)
{
    return micro_batches->of[micro];
}

/* Images have no padding: each token that is computed is data. */
struct token_counts micro_batches_tokens(const struct micro_batches *micro_batches)
{
    struct token_counts counts = { .tokens = micro_batches->tokens };
    int64_t computed = 0;

    for (int i = 0; i < micro_batches->config.launch.accumulate; i++)
        computed += micro_batches->of[i]->shape.rows;
    if (micro_batches->config.data.kind == DATA_IMAGES)
        counts.tokens = computed;
    counts.padded_tokens = computed - counts.tokens;
    return counts;
}

int64_t micro_batches_sum(const struct micro_batches *micro_batches,
                          int64_t (*of)(const struct program *program))
{
    int64_t sum = 0;

    for (int i = 0; i < micro_batches->config.launch.accumulate; i++)
        sum += of(micro_batches->of[i]->train);
    return sum;
}

enum status micro_batches_trace(struct micro_batches *micro_batches, struct trace *trace)
{
    micro_batches->trace = trace;
    TRY(program_trace(micro_batches->longest->train, trace));
    for (int i = 0; i < micro_batches->copy_count; i++)
        TRY(program_trace(micro_batches->copies[i]->train, trace));
    for (int i = 0; i < micro_batches->config.model.tokens; i++)
        if (micro_batches->shorter[i] != NULL)
            TRY(program_trace(micro_batches->shorter[i]->train, trace));

    return STATUS_OK;
}
