/* Sequences of ids, which stand for text. A sample is drawn from a generator of its own, seeded by
 * its number: first its length, then its ids. So any sample can be drawn by any thread in any
 * order, and its length is known without its ids. */
#include "harness/engine/data/sequences.h"

#include "harness/base/random.h"

#include <string.h>

#define SEQUENCE_STREAM ((uint64_t)0x5e9 << 32) /* apart from the seed's other purposes */

/* A rank, from 0. Ranks above the last whole octave come only as noise. */
static uint32_t draw_rank(struct random *random, uint32_t ranks)
{
    uint32_t first, octaves = 0;

    if (random_below(random, 2) == 0)
        return random_below(random, ranks);
    while ((2u << octaves) - 1 <= ranks) octaves++; /* rank r is in octave floor(log2(r + 1)) */
    first = 1u << random_below(random, octaves);
    return first - 1 + random_below(random, first);
}

static uint32_t sequence_number(enum split split, uint32_t index)
{
    return split == SPLIT_TRAIN ? index : SEQUENCES_TRAIN + index;
}

static struct random sequence_random(const struct dataset_config *config, uint32_t number)
{
    return random_seed(config->seed, SEQUENCE_STREAM + number);
}

/* A sample's first random number. */
static uint32_t draw_length(const struct dataset_config *config, struct random *random)
{
    uint32_t longest = (uint32_t)config->tokens;
    uint32_t shortest = longest / 4 < SEQUENCE_TOKENS_MIN ? SEQUENCE_TOKENS_MIN : longest / 4;

    return shortest + random_below(random, longest - shortest + 1);
}

int32_t sequence_length(const struct dataset_config *config, enum split split, uint32_t index)
{
    struct random random = sequence_random(config, sequence_number(split, index));

    return (int32_t)draw_length(config, &random);
}

void sequence_draw(const struct dataset_config *config, enum split split, uint32_t index,
                   int32_t *ids, int32_t *label, int32_t *length)
{
    uint32_t number = sequence_number(split, index);
    uint32_t ranks = (uint32_t)config->vocabulary - 1, longest = (uint32_t)config->tokens;
    struct random random = sequence_random(config, number);
    uint32_t class = number % SEQUENCE_CLASSES, drawn = draw_length(config, &random);

    memset(ids, 0, longest * sizeof *ids);
    for (uint32_t i = 1; i < drawn; i++) {
        uint64_t shift = (uint64_t)ranks * class / SEQUENCE_CLASSES;
        ids[i] = 1 + (int32_t)((draw_rank(&random, ranks) + shift) % ranks);
    }
    *label = (int32_t) class;
    *length = (int32_t)drawn;
}
