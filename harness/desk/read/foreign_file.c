#include "harness/desk/read/foreign_file.h"

#include "harness/base/words/ends_in.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#define TORCH "diagnose reads the JSON that torch.profiler's export_chrome_trace() writes"

/* By the first bytes, by a word of JSON, or by the end of the name. */
static const struct foreign {
    const char *begin;
    const char *word;
    const char *ending;
    const char *text;
} foreigners[] = {
    { .ending = ".ncu-rep",
      .text = "a report of Nsight Compute, which has single kernels; " TORCH },
    { .begin = "PK\003\004",
      .text = "a zip archive: unpack it, and give the traces that are in it" },
    { .begin = "\200\002", .text = "a pickle, such as a snapshot of PyTorch's memory; " TORCH },
    { .begin = "\200\003", .text = "a pickle, such as a snapshot of PyTorch's memory; " TORCH },
    { .begin = "\200\004", .text = "a pickle, such as a snapshot of PyTorch's memory; " TORCH },
    { .begin = "\200\005", .text = "a pickle, such as a snapshot of PyTorch's memory; " TORCH },
    { .word = "\"nodes\"", .text = "an execution trace of PyTorch, which has no times; " TORCH },
    { .word = "\"benchmarks\"", .text = "a result of benchmarks: compare reads it" },
};

static bool has_word(const char *bytes, size_t count, const char *word)
{
    return memmem(bytes, count, word, strlen(word)) != NULL;
}

/* "aten::mm;forward 12": what export_stacks() writes. */
static bool is_stacks(const char *bytes, size_t count)
{
    const char *end = memchr(bytes, '\n', count);
    size_t length = end != NULL ? (size_t)(end - bytes) : 0;

    return length > 0 && bytes[0] != '{' && bytes[0] != '[' && memchr(bytes, ';', length) != NULL &&
           isdigit((unsigned char)bytes[length - 1]);
}

const char *foreign_file(const char *bytes, size_t count, const char *path)
{
    for (size_t i = 0; i < sizeof foreigners / sizeof *foreigners; i++) {
        const struct foreign *one = &foreigners[i];
        if (one->begin != NULL && count >= strlen(one->begin) &&
            memcmp(bytes, one->begin, strlen(one->begin)) == 0)
            return one->text;
        if (one->word != NULL && count > 0 && bytes[0] == '{' && has_word(bytes, count, one->word))
            return one->text;
        if (one->ending != NULL && ends_in(path, one->ending))
            return one->text;
    }
    return is_stacks(bytes, count) ? "stacks as export_stacks() writes them; " TORCH : NULL;
}
