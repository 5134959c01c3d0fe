/* PTX made of any bytes: whatever they are, reading and executing end, nothing outside the kernel's
 * own memory is touched, and what is wrong is told. Each kernel of the file runs with addresses of
 * one array for parameters of 8 bytes, and small numbers for others. */
#include "harness/simt/simt.h"
#include "tests/fuzz/fuzzing.h"

#include <stdlib.h>
#include <string.h>

enum { WORDS = 1024, GUARD = 64, KERNELS = 4, PARAMETER_MOST = 32768, INSTRUCTIONS = 20000 };
#define FILL 0xa5a5a5a5u

struct memory_of_kernels {
    _Alignas(256) uint32_t before[GUARD], words[WORDS], after[GUARD];
};
static struct memory_of_kernels memory;

static void fill_arguments(const struct simt_shape *shape, unsigned char *bytes,
                           const void *arguments[], size_t sizes[])
{
    size_t at = 0;

    for (int i = 0; i < shape->parameters; i++) {
        const void *address = memory.words;
        int32_t number = 33 + i;
        sizes[i] = (size_t)shape->parameter_size[i];
        PROMISE(sizes[i] > 0 && at + sizes[i] <= 2 * PARAMETER_MOST);
        arguments[i] = bytes + at;
        memset(bytes + at, 0, sizes[i]);
        memcpy(bytes + at, sizes[i] == sizeof address ? (const void *)&address : &number,
               sizes[i] < sizeof number     ? sizes[i]
               : sizes[i] == sizeof address ? sizeof address
                                            : sizeof number);
        at += (sizes[i] + 15) / 16 * 16;
    }
}

/* The counts fit together, after any end of the launch. */
static void check_counts(struct simt *simt, struct simt_kernel *kernel)
{
    struct simt_counts counts = simt_counts_of(simt, kernel);
    struct simt_mix mix = simt_mix_of(simt, kernel);
    struct simt_line *lines;
    struct simt_sample *samples;
    uint64_t mixed = 0, of_lines = 0;
    int count;

    PROMISE(counts.lanes <= 32 * counts.instructions && counts.alone <= counts.instructions);
    PROMISE(counts.needed <= counts.passed && counts.diverged <= counts.branches);
    for (int work = 0; work < SIMT_WORK_COUNT; work++) mixed += mix.of[work];
    PROMISE(mixed == counts.instructions);
    PROMISE(simt_counts_lines(simt, kernel, &lines, &count) == STATUS_OK);
    for (int i = 0; i < count; i++) of_lines += lines[i].counts.instructions;
    PROMISE(of_lines == counts.instructions);
    free(lines);
    PROMISE(simt_counts_samples(simt, kernel, &samples, &count) == STATUS_OK);
    free(samples);
}

static void run_kernel(struct simt *simt, struct simt_kernel *kernel)
{
    static unsigned char bytes[2 * PARAMETER_MOST];
    const struct simt_shape shape = simt_shape_of(kernel);
    const void *arguments[SIMT_PARAMETERS_MOST];
    size_t sizes[SIMT_PARAMETERS_MOST];
    struct simt_findings all = { .count = 0 };
    struct simt_finding finding = { .kind = SIMT_NONE };
    struct simt_grid grid = { .blocks = { 2, 1, 1 },
                              .threads = { 33, 1, 1 },
                              .shared_bytes = 512,
                              .most_instructions = INSTRUCTIONS,
                              .counts_fresh = true };

    fill_arguments(&shape, bytes, arguments, sizes);
    for (int go_on = 0; go_on < 2; go_on++) {
        grid.all = go_on ? &all : NULL;
        if (simt_launch(simt, kernel, &grid, arguments, sizes, shape.parameters, &finding) !=
            STATUS_OK)
            PROMISE(status_last()->text[0] != '\0' || finding.kind != SIMT_NONE);
        PROMISE(all.count <= SIMT_FINDINGS_MOST);
        check_counts(simt, kernel);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct simt *simt;
    struct simt_kernel *kernels[KERNELS];
    int count = 0;

    memset(&memory, 0xa5, sizeof memory);
    PROMISE(simt_open(&simt) == STATUS_OK);
    simt_print_to(simt, fuzz_nowhere());
    PROMISE(simt_memory_add(simt, memory.words, sizeof memory.words) == STATUS_OK);
    simt_memory_written(simt, memory.words, sizeof memory.words / 2);
    if (simt_read(simt, (const char *)bytes, size, "input.ptx") == STATUS_OK)
        simt_kernels(simt, kernels, KERNELS, &count);
    else
        PROMISE(status_last()->text[0] != '\0');
    for (int i = 0; i < count && i < KERNELS; i++) run_kernel(simt, kernels[i]);
    for (int i = 0; i < GUARD; i++) PROMISE(memory.before[i] == FILL && memory.after[i] == FILL);
    simt_close(simt);
    return 0;
}
