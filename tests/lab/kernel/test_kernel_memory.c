/* Memory that cannot be had while a kernel is read, run, judged and written: one allocation after
 * the other fails. Each ends as lack of memory, with a sentence, and nothing is left behind. The
 * linker puts these functions before those of the C library. */
#include "harness/lab/kernel/kernel_output.h"
#include "scenarios/gpu_kernels/kernel_lessons.h"
#include "tests/fixtures/cmocka_prelude.h"

#include <errno.h>

static long left; /* allocations up to the one that fails; below 1: none does */

/* Blocks that were had from here; others, such as cJSON's, may be freed here as well. */
enum { LIVE_MOST = 4096 };
static const void *live[LIVE_MOST];
static int live_count;

static bool fails(void)
{
    errno = ENOMEM;
    return left-- == 1;
}

static void end_block(const void *block)
{
    for (int i = 0; i < live_count; i++)
        if (live[i] == block) {
            live[i] = live[--live_count];
            return;
        }
}

static void *begin_block(void *block)
{
    assert_in_range(live_count, 0, LIVE_MOST - 1);
    live[live_count++] = block;
    return block;
}

#define EACH_CALL(X)                                                                               \
    X(malloc, (size_t bytes), (bytes), NULL)                                                       \
    X(calloc, (size_t count, size_t size), (count, size), NULL)                                    \
    X(realloc, (void *block, size_t bytes), (block, bytes), block)                                 \
    X(aligned_alloc, (size_t alignment, size_t bytes), (alignment, bytes), NULL)                   \
    X(strdup, (const char *text), (text), NULL)                                                    \
    X(strndup, (const char *text, size_t most), (text, most), NULL)
#define WRAP(name, parameters, arguments, was)                                                     \
    void *__real_##name parameters;                                                                \
    void *__wrap_##name parameters;                                                                \
    void *__wrap_##name parameters                                                                 \
    {                                                                                              \
        if (fails())                                                                               \
            return NULL;                                                                           \
        end_block(was);                                                                            \
        return begin_block(__real_##name arguments);                                               \
    }
EACH_CALL(WRAP)

int __real_posix_memalign(void **block, size_t alignment, size_t bytes);
int __wrap_posix_memalign(void **block, size_t alignment, size_t bytes);
int __wrap_posix_memalign(void **block, size_t alignment, size_t bytes)
{
    if (fails() || __real_posix_memalign(block, alignment, bytes) != 0)
        return ENOMEM;
    begin_block(*block);
    return 0;
}

void __real_free(void *block);
void __wrap_free(void *block);
void __wrap_free(void *block)
{
    end_block(block);
    __real_free(block);
}

/* As `kernel` does it. */
static enum status run_kernel(const char *name, char **text)
{
    enum status status = STATUS_OK;
    struct kernel_finding findings[KERNEL_FINDINGS_MOST];
    struct kernel_output output = { .file = name, .findings = findings, .elements = 8 };
    struct kernel_outcome outcome = { .simt = NULL };
    struct lesson_kernel kernel;
    const struct kernel_lesson *lesson;
    int variant;

    *text = NULL;
    assert_true(lesson_kernel_find(&lesson, &variant, name));
    TRY(lesson_kernel_make(&kernel, lesson, variant, ARCH_90));
    kernel.run.blocks[0] = 1;
    TRY_OUT(kernel_run(&kernel.run, &outcome));
    output.facts =
        kernel_facts_of(&kernel.run, &outcome, ARCH_90, lesson_needs(kernel.kernel, ARCH_90));
    output.finding_count = kernel_findings(&output.facts, findings);
    output.source = lesson_source(lesson);
    output.source_path = "lesson.cu";
    TRY_OUT(kernel_json(text, &output));

out:
    kernel_outcome_release(&outcome);
    return status;
}

static void lack_of_memory_is_said(const char *name)
{
    int live_before = live_count;
    long tried = 0;
    enum status status = STATUS_OUT_OF_MEMORY;
    char *text;

    for (; status != STATUS_OK; tried++) {
        left = tried + 1;
        status = run_kernel(name, &text);
        if (left > 0) /* all of them were had */
            assert_int_equal(status, STATUS_OK);
        else if (status != STATUS_OK)
            assert_int_equal(status, STATUS_OUT_OF_MEMORY);
        if (status != STATUS_OK && status_last()->text[0] == '\0')
            fail_msg("%s: allocation %ld fails without a sentence", name, tried + 1);
        left = 0;
        free(text);
        if (live_count != live_before)
            fail_msg("%s: allocation %ld fails, and %d blocks are left", name, tried + 1,
                     live_count - live_before);
    }
    assert_in_range(tried, 30, 100000);
}

TEST(lack_of_memory_is_said_of_a_kernel)
{
    lack_of_memory_is_said("bank_conflicts_before");     /* shared memory, barriers */
    lack_of_memory_is_said("divergent_branches_before"); /* lanes that part */
    lack_of_memory_is_said("contended_atomics_before");
    lack_of_memory_is_said("register_spills_before"); /* local memory */
}
