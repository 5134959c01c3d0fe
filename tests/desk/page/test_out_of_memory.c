/* Memory that cannot be had, one allocation after the other: of the reader, of the analysis and the
 * findings, and of what is printed. Each is one sentence, nothing leaks, and the other trace is
 * judged all the same. The linker puts these functions before those of the C library and of
 * arena.c. */
#include "harness/base/system/arena.h"
#include "harness/desk/page/diagnosis_page.h"
#include "harness/desk/page/json/diagnosis_json.h"
#include "harness/desk/page/snapshot_page.h"
#include "tests/fixtures/cmocka_prelude.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>

static atomic_long left;         /* allocations up to the one that fails; below 1: none does */
static atomic_bool failed;       /* it has */
static _Thread_local bool sorts; /* which goes without memory if there is none (test_sort) */

/* Blocks of malloc(), as far as they are from here, and open arenas. */
enum { LIVE_MOST = 1 << 14 };
static const void *live[LIVE_MOST];
static int live_count;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *block, size_t bytes);
char *__real_strdup(const char *text);
char *__real_strndup(const char *text, size_t most);
void __real_free(void *block);
struct arena *__real_arena_open(void);
struct arena *__real_arena_scratch(struct arena *arena);
void __real_arena_close(struct arena *arena);
void *__real_arena_alloc(struct arena *arena, int64_t count, size_t size);
void *__real_arena_grow(struct arena *arena, void *items, int64_t *room, size_t size);

void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *block, size_t bytes);
char *__wrap_strdup(const char *text);
char *__wrap_strndup(const char *text, size_t most);
void __wrap_free(void *block);
struct arena *__wrap_arena_open(void);
struct arena *__wrap_arena_scratch(struct arena *arena);
void __wrap_arena_close(struct arena *arena);
void *__wrap_arena_alloc(struct arena *arena, int64_t count, size_t size);
void *__wrap_arena_grow(struct arena *arena, void *items, int64_t *room, size_t size);

typedef int order(const void *left, const void *right);
void __real_sort_items(void *items, int64_t count, size_t size, order *compare);
void __real_sort_int64(int64_t *values, int64_t count);
void __wrap_sort_items(void *items, int64_t count, size_t size, order *compare);
void __wrap_sort_int64(int64_t *values, int64_t count);

static bool fails(void)
{
    if (sorts || atomic_fetch_sub(&left, 1) != 1)
        return false;
    atomic_store(&failed, true);
    errno = ENOMEM;
    return true;
}

/* Puts `now` in the place of `was`, if there is one. */
static void note(const void *was, const void *now)
{
    size_t first = (uintptr_t)(was != NULL ? was : now) / 16;

    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < LIVE_MOST; i++) {
        const void **place = &live[(first + i) % LIVE_MOST];
        if (*place != was)
            continue;
        *place = now;
        live_count += (now != NULL) - (was != NULL);
        break;
    }
    pthread_mutex_unlock(&lock);
}

static void *begun(void *block)
{
    if (block != NULL)
        note(NULL, block);
    return block;
}

static void ended(const void *block)
{
    if (block != NULL)
        note(block, NULL);
}

/* --- malloc() --- */

void *__wrap_malloc(size_t bytes)
{
    return fails() ? NULL : begun(__real_malloc(bytes));
}

void *__wrap_calloc(size_t count, size_t size)
{
    return fails() ? NULL : begun(__real_calloc(count, size));
}

void *__wrap_realloc(void *block, size_t bytes)
{
    if (fails())
        return NULL;
    ended(block);
    return begun(__real_realloc(block, bytes));
}

char *__wrap_strdup(const char *text)
{
    return fails() ? NULL : begun(__real_strdup(text));
}

char *__wrap_strndup(const char *text, size_t most)
{
    return fails() ? NULL : begun(__real_strndup(text, most));
}

void __wrap_free(void *block)
{
    ended(block);
    __real_free(block);
}

/* --- Arenas --- */

/* As arena.c does where the system has no memory. */
static void lack(struct arena *arena)
{
    if (fails())
        __real_arena_alloc(arena, INT64_MAX, 1);
}

struct arena *__wrap_arena_open(void)
{
    return fails() ? NULL : begun(__real_arena_open());
}

struct arena *__wrap_arena_scratch(struct arena *arena)
{
    lack(arena);
    return __real_arena_scratch(arena);
}

void __wrap_arena_close(struct arena *arena)
{
    ended(arena);
    __real_arena_close(arena);
}

void *__wrap_arena_alloc(struct arena *arena, int64_t count, size_t size)
{
    lack(arena);
    return __real_arena_alloc(arena, count, size);
}

void *__wrap_arena_grow(struct arena *arena, void *items, int64_t *room, size_t size)
{
    lack(arena);
    return __real_arena_grow(arena, items, room, size);
}

void __wrap_sort_items(void *items, int64_t count, size_t size, order *compare)
{
    sorts = true;
    __real_sort_items(items, count, size, compare);
    sorts = false;
}

void __wrap_sort_int64(int64_t *values, int64_t count)
{
    sorts = true;
    __real_sort_int64(values, count);
    sorts = false;
}

/* --- Tests --- */

/* Traces of steps, of PyTorch's operators, calls and memory, and of messages between ranks. */
static const char *const traces[] = { SEEDS "/step.json",   SEEDS "/passes.json",
                                      SEEDS "/stacks.json", SEEDS "/messages.json",
                                      SEEDS "/python.json", SEEDS "/memory.json" };

static void fail_at(long number)
{
    atomic_store(&failed, false);
    atomic_store(&left, number);
}

struct skips {
    int count;
    struct status_error error;
};

static void take_skip(void *context)
{
    struct skips *skips = context;

    skips->count++;
    skips->error = *status_last();
}

static void check_sentence(const struct status_error *error)
{
    assert_int_equal(error->status, STATUS_OUT_OF_MEMORY);
    assert_non_null(strstr(error->text, "no memory"));
}

/* False: there are fewer allocations than that. */
static bool fail_once(const char *trace, long number)
{
    const char *const paths[] = { trace, trace };
    struct diagnosis whole, diagnosis;
    struct skips skips = { .count = 0 };
    enum status status;
    int before = live_count;
    bool any;

    assert_ok(diagnosis_make(&whole, paths, 1, NULL, NULL));
    fail_at(number);
    status = diagnosis_make(&diagnosis, paths, 2, take_skip, &skips);
    any = failed;
    fail_at(0);
    assert_int_equal(skips.count, any && status == STATUS_OK);
    if (skips.count > 0)
        check_sentence(&skips.error);
    if (status != STATUS_OK)
        check_sentence(status_last());
    else
        assert_int_equal(diagnosis.count, any ? 1 : 2);
    for (int i = 0; status == STATUS_OK && i < diagnosis.count; i++) {
        assert_int_equal(diagnosis.findings[i].count, whole.findings[0].count);
        for (int64_t j = 0; j < whole.findings[0].count; j++)
            assert_string_equal(diagnosis.findings[i].items[j].evidence,
                                whole.findings[0].items[j].evidence);
    }
    diagnosis_release(&diagnosis);
    diagnosis_release(&whole);
    assert_int_equal(live_count, before);
    return any;
}

TEST(a_lack_is_one_sentence_and_the_other_trace_is_judged)
{
    for (size_t i = 0; i < ARRAY_SIZE(traces); i++) {
        long number = 1;
        while (fail_once(traces[i], number)) number++;
        assert_true(number > 100);
    }
}

TEST(a_page_that_lacks_memory_says_so)
{
    struct diagnosis_view view = { .only = -1, .timeline = 1, .thresholds = true };
    FILE *nowhere = fopen("/dev/null", "w");
    struct page page = page_console(nowhere, COLOR_NEVER);

    for (size_t i = 0; i < ARRAY_SIZE(traces); i++) {
        struct diagnosis diagnosis;
        int before = live_count, made;
        assert_ok(diagnosis_make(&diagnosis, &traces[i], 1, NULL, NULL));
        made = live_count;
        fail_at(1);
        for (long number = 1; failed || number == 1; number++) {
            enum status status;
            fail_at(number);
            status = diagnosis_page(&page, &diagnosis, &view);
            if (status != STATUS_OK)
                check_sentence(status_last());
            assert_int_equal(live_count, made);
        }
        fail_at(0);
        diagnosis_release(&diagnosis);
        assert_int_equal(live_count, before);
    }
    fclose(nowhere);
}

TEST(json_is_whole_or_not_there)
{
    for (size_t i = 0; i < ARRAY_SIZE(traces); i++) {
        struct diagnosis diagnosis;
        int before = live_count;
        bool any = true;
        assert_ok(diagnosis_make(&diagnosis, &traces[i], 1, NULL, NULL));
        for (long number = 1; any; number++) {
            char *text = NULL;
            enum status status;
            fail_at(number);
            status = diagnosis_json(&diagnosis, -1, 1, &text);
            any = failed;
            fail_at(0);
            assert_int_equal(status, any ? STATUS_OUT_OF_MEMORY : STATUS_OK);
            assert_int_equal(text == NULL, any);
            if (any)
                check_sentence(status_last());
            free(text);
        }
        diagnosis_release(&diagnosis);
        assert_int_equal(live_count, before);
    }
}

/* Reads a snapshot and joins it to a trace, while allocation `number` of both fails; false: it was
 * not reached. */
static bool snapshot_fails_once(struct diagnosis *diagnosis, long number)
{
    struct snapshot_file file = { .path = SEEDS "_snapshots/leak.pickle" };
    int before = live_count;
    enum status status;
    bool any;

    fail_at(number);
    status = snapshot_read(&file.snapshot, file.path);
    if (status == STATUS_OK)
        status = snapshot_join(diagnosis, &file);
    any = failed;
    fail_at(0);
    assert_int_equal(status, any ? STATUS_OUT_OF_MEMORY : STATUS_OK);
    if (any)
        check_sentence(status_last());
    snapshot_release(&file.snapshot);
    assert_int_equal(live_count, before);
    return any;
}

TEST(a_snapshot_that_lacks_memory_leaves_nothing)
{
    struct diagnosis diagnosis;
    int before = live_count;
    long number = 1;

    assert_ok(diagnosis_make(&diagnosis, &traces[0], 1, NULL, NULL));
    while (snapshot_fails_once(&diagnosis, number)) number++;
    assert_true(number > 50);
    assert_non_null(findings_find(&diagnosis.findings[0], "memory_growth"));
    diagnosis_release(&diagnosis);
    assert_int_equal(live_count, before);
}
