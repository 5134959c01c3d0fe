/* Checksums: exact, blind to what is behind the last word, and changed by any bit. */
#include "tests/kernels/families.h"

enum { WIDTH = 64, ROWS = 5, WORDS = WIDTH * ROWS };

static void fill_words(struct workbench *bench, uint32_t *words)
{
    for (int i = 0; i < WORDS; i++) words[i] = (uint32_t)random_bits(&bench->random);
    words[3] = 0x7fc12345; /* NaN, whose bits arithmetic would change, */
    words[4] = 0x7f812345; /* a signalling one, */
    words[5] = 0x00000001; /* and a number that fast arithmetic takes for 0 */
}

static void sum_words(struct workbench *bench, const uint32_t *words, int count, uint32_t *sums)
{
    int rows = (count + WIDTH - 1) / WIDTH;
    struct tensor *x = tensor_copy(bench, FLOAT, words, WORDS);
    struct tensor *y = tensor_output(bench, BYTE, rows * (long)sizeof *sums);

    RUN(bench, checksum, rows, .sums = y->data, .x = x->data, .count = count, .width = WIDTH);
    tensor_fetch(bench, y, sums);
}

KERNEL_TEST(checksum_adds_up_the_words_that_count)
{
    static const int counts[] = { 1, 7, 16, 63, 64, 65, 4 * WIDTH, 4 * WIDTH + 31, WORDS };

    for (size_t i = 0; i < ARRAY_SIZE(counts); i++) {
        uint32_t words[WORDS], sums[ROWS], expected[ROWS] = { 0 };

        workbench_case(bench, "checksum: count %d", counts[i]);
        fill_words(bench, words);
        for (int j = 0; j < counts[i]; j++)
            expected[j / WIDTH] += words[j] * (2 * (uint32_t)(j % WIDTH) + 1);
        sum_words(bench, words, counts[i], sums);
        for (int row = 0; row < (counts[i] + WIDTH - 1) / WIDTH; row++)
            assert_int_equal(sums[row], expected[row]);
    }
}

KERNEL_TEST(checksum_changes_with_any_bit)
{
    for (int i = 0; i < 64; i++) {
        uint32_t words[WORDS], sums[ROWS], changed[ROWS];
        int word = (int)random_below(&bench->random, WORDS), bit = i % 32;

        workbench_case(bench, "checksum: bit %d", bit);
        fill_words(bench, words);
        sum_words(bench, words, WORDS, sums);
        words[word] ^= 1u << bit;
        sum_words(bench, words, WORDS, changed);
        for (int row = 0; row < ROWS; row++)
            assert_int_equal(sums[row] == changed[row], row != word / WIDTH);
    }
}
