/* The layout of a batch: where everything of it lies in its memory. Inputs come first, then labels,
 * then lengths, each aligned. If samples are padded to the longest of a micro-batch only, the
 * places of inputs depend on the lengths, so these are decided first (batch_arrange()). */
#include "harness/engine/data/batch.h"

#include <stdlib.h>
#include <string.h>

#define ALIGNMENT 256 /* of offsets in a batch */

static size_t align_offset(size_t bytes)
{
    return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

struct batch_layout batch_layout(const struct dataset *dataset,
                                 const struct batching_config *batching, int samples)
{
    struct batch_layout layout = { .samples = samples };
    size_t column = align_offset((size_t)samples * sizeof(int32_t));

    layout.sample_bytes =
        dataset_sample_bytes(dataset) * (batching->wide_pixels ? sizeof(float) : 1);
    layout.wide_pixels = batching->wide_pixels;
    layout.labels_offset = align_offset((size_t)samples * layout.sample_bytes);
    layout.lengths_offset = layout.labels_offset + column;
    layout.bytes = layout.lengths_offset + column;
    if (batching->padding == PADDING_LONGEST && dataset_has_lengths(dataset)) {
        layout.micro_samples = samples / batching->micro_batches;
        layout.tokens = (int)(layout.sample_bytes / sizeof(int32_t));
        layout.pad_to_multiple_of = batching->pad_to_multiple_of;
    }
    return layout;
}

const int32_t *batch_lengths(const struct batch_layout *layout, const void *memory)
{
    return (const void *)((const char *)memory + layout->lengths_offset);
}

int64_t batch_tokens(const struct batch_layout *layout, const int32_t *lengths)
{
    int64_t tokens = 0;

    for (int i = 0; i < layout->samples; i++) tokens += lengths[i];
    return tokens;
}

int batch_padded_length(const struct batch_layout *layout, const int32_t *lengths, int micro)
{
    int multiple = layout->pad_to_multiple_of, longest = 0;

    if (layout->tokens == 0)
        return 0;
    for (int i = 0; i < layout->micro_samples; i++) {
        int32_t length = lengths[micro * layout->micro_samples + i];
        longest = length > longest ? length : longest;
    }
    longest = (longest + multiple - 1) / multiple * multiple;
    return longest < layout->tokens ? longest : layout->tokens;
}

/* Samples of one length stay in the data set's order, so that the result never depends on qsort. */
static int by_length(const void *a, const void *b, void *context)
{
    const uint32_t *first = a, *second = b;
    int32_t difference = dataset_length(context, SPLIT_TRAIN, *first) -
                         dataset_length(context, SPLIT_TRAIN, *second);

    return difference != 0 ? difference : (*first > *second) - (*first < *second);
}

void batch_arrange(const struct batch_layout *layout, const struct batching_config *batching,
                   const struct dataset *dataset, uint32_t *samples, int32_t *lengths)
{
    if (layout->tokens > 0 && batching->group_by_length)
        qsort_r(samples, (size_t)layout->samples, sizeof *samples, by_length, (void *)dataset);
    for (int i = 0; i < layout->samples; i++)
        lengths[i] = dataset_length(dataset, SPLIT_TRAIN, samples[i]);
}

size_t batch_input_offset(const struct batch_layout *layout, const int32_t *lengths, int index)
{
    int micro, padded;

    if (layout->tokens == 0)
        return (size_t)index * layout->sample_bytes;
    micro = index / layout->micro_samples;
    padded = batch_padded_length(layout, lengths, micro);
    return (size_t)micro * (size_t)layout->micro_samples * layout->sample_bytes +
           (size_t)(index % layout->micro_samples) * (size_t)padded * sizeof(int32_t);
}

/* In place, so from the end: a float lies over bytes that are done. */
void batch_widen(const struct batch_layout *layout, void *input)
{
    const uint8_t *bytes = input;
    size_t count = layout->sample_bytes / sizeof(float);

    for (size_t i = count; layout->wide_pixels && i-- > 0;) {
        float value = bytes[i];
        memcpy((char *)input + i * sizeof value, &value, sizeof value);
    }
}
