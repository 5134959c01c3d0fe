/* Generated token sequences of varying length whose class can be learnt.
 *
 * Token 0 is the class token and comes first. Half of the others, by chance, are any id. The other
 * half follow Zipf's law, as words do: an octave of ranks is drawn evenly, then a rank within it,
 * so that rank r comes up about 1 / r as often as rank 1. The class decides which id has which
 * rank: the ranking is shifted by an eighth of the vocabulary from class to class. No single token
 * gives the class away; some tokens together do.
 *
 * Lengths are even between a quarter of the longest and the longest. Everything is integer
 * arithmetic on a generator seeded by the sample's number: the same everywhere, in any order, by
 * any thread. */
#pragma once

#include "harness/engine/data/dataset.h"

enum {
    SEQUENCE_CLASSES = 8,
    SEQUENCES_TRAIN = 1024,
    SEQUENCES_HELD_OUT = 128,
    SEQUENCE_TOKENS_MIN = 2,
    SEQUENCE_VOCABULARY_MIN = 2 * SEQUENCE_CLASSES
};

/* The length of sample `index` of `split`, which nothing has to be drawn for. */
int32_t sequence_length(const struct dataset_config *config, enum split split, uint32_t index);

/* Draws sample `index` of `split` into ids[tokens]: `length` ids, then zeros. */
void sequence_draw(const struct dataset_config *config, enum split split, uint32_t index,
                   int32_t *ids, int32_t *label, int32_t *length);
