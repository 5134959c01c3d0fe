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
        layout.max_tokens = batching->max_tokens;
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

static int padded_length(const struct batch_layout *layout, int longest)
{
    int multiple = layout->pad_to_multiple_of;
    int padded = (longest + multiple - 1) / multiple * multiple;

    return padded < layout->tokens ? padded : layout->tokens;
}

/* Whether a part has no room for one more sample, with which all are padded to `tokens`. */
static bool is_full(const struct batch_layout *layout, const struct batch_part *part, int tokens)
{
    if (layout->max_tokens == 0)
        return part->samples == layout->micro_samples;
    return part->samples > 0 && (int64_t)(part->samples + 1) * tokens > layout->max_tokens;
}

struct batch_part batch_part(const struct batch_layout *layout, const int32_t *lengths, int first)
{
    struct batch_part part = { .first = first };
    int longest = 0;

    if (layout->tokens == 0)
        part.samples = layout->samples - first;
    for (int i = first + part.samples; i < layout->samples; i++) {
        int tokens;

        longest = lengths[i] > longest ? lengths[i] : longest;
        tokens = padded_length(layout, longest);
        if (is_full(layout, &part, tokens))
            break;
        part.samples++;
        part.tokens = tokens;
    }
    return part;
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

size_t batch_input_offset(const struct batch_layout *layout, const struct batch_part *part,
                          int index)
{
    size_t bytes = part->tokens > 0 ? (size_t)part->tokens * sizeof(int32_t) : layout->sample_bytes;

    return (size_t)part->first * layout->sample_bytes + (size_t)(index - part->first) * bytes;
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
