/* Arenas: zeros that do not overlap, arrays that grow, memory that is given back, and one place
 * that learns of its lack. */
#include "harness/base/system/arena.h"
#include "tests/fixtures/cmocka_prelude.h"

#include <stdbool.h>
#include <sys/resource.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#endif

/* They cannot follow a mapping that moves, so large arrays are copied under them. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { LARGE_ARRAYS_MOVE = false };
#else
enum { LARGE_ARRAYS_MOVE = true };
#endif

enum { MANY = 4 << 20 }; /* of int64_t: 32 MiB */

/* Bytes that the process has in memory. */
static int64_t resident(void)
{
    FILE *file = fopen("/proc/self/statm", "r");
    long long all, pages;

    assert_non_null(file);
    assert_int_equal(fscanf(file, "%lld %lld", &all, &pages), 2);
    fclose(file);
    return pages * sysconf(_SC_PAGESIZE);
}

static int64_t count_of(const unsigned char *bytes, int64_t size, unsigned char value)
{
    int64_t count = 0;

    for (int64_t i = 0; i < size; i++) count += bytes[i] == value;
    return count;
}

TEST(items_are_zeros_and_apart)
{
    static const int64_t sizes[] = { 0, 1, 3, 16, 100, 5000, 70000, 300000 };
    struct arena *arena = arena_open();
    unsigned char *items[200];

    for (size_t i = 0; i < ARRAY_SIZE(items); i++) {
        int64_t size = sizes[i % ARRAY_SIZE(sizes)];
        items[i] = arena_alloc(arena, size, 1);
        assert_int_equal((uintptr_t)items[i] % 16, 0);
        assert_int_equal(count_of(items[i], size, 0), size);
        memset(items[i], (int)i + 1, (size_t)size);
    }
    for (size_t i = 0; i < ARRAY_SIZE(items); i++)
        assert_int_equal(count_of(items[i], sizes[i % ARRAY_SIZE(sizes)], (unsigned char)(i + 1)),
                         sizes[i % ARRAY_SIZE(sizes)]);
    arena_close(arena);
}

/* Two at once, so that neither is alone at the end of a block. */
TEST(arrays_grow)
{
    struct arena *arena = arena_open();
    int64_t *first = NULL, *second = NULL, first_room = 0, second_room = 0, right = 0;

    for (int64_t i = 0; i < 300000; i++) {
        ARENA_ROOM(arena, first, i, first_room);
        ARENA_ROOM(arena, second, i, second_room);
        first[i] += i;
        second[i] -= i;
    }
    for (int64_t i = 0; i < 300000; i++) right += first[i] == i && second[i] == -i;
    for (int64_t i = 300000; i < first_room; i++) right += first[i] == 0;
    assert_int_equal(right, first_room);
    arena_close(arena);
}

TEST(a_scratch_arena_gives_its_memory_back)
{
    struct arena *arena = arena_open();
    int64_t before = resident();

    for (int i = 0; i < 20; i++) {
        struct arena *scratch = arena_scratch(arena), *inner = arena_scratch(scratch);
        memset(ARENA_NEW(scratch, int64_t, MANY / 2), 1, MANY / 2 * sizeof(int64_t));
        memset(ARENA_NEW(inner, int64_t, MANY / 2), 1, MANY / 2 * sizeof(int64_t));
        assert_true(resident() > before + (24 << 20));
        if (i % 2 == 0)
            arena_close(inner);
        arena_close(scratch); /* what is open in it, too */
        assert_true(resident() < before + (8 << 20));
    }
    arena_close(arena);
}

TEST(a_large_array_is_not_copied)
{
    struct arena *arena = arena_open();
    int64_t *items = NULL, room = 0;
    struct rusage before, after;

    getrusage(RUSAGE_SELF, &before);
    for (int64_t i = 0; i < 2 * MANY + 1; i++) {
        ARENA_ROOM(arena, items, i, room);
        items[i] = i;
    }
    getrusage(RUSAGE_SELF, &after);
    arena_close(arena);
    if (!LARGE_ARRAYS_MOVE)
        skip();
    assert_true(after.ru_maxrss - before.ru_maxrss < 3 * MANY * (int64_t)sizeof *items / 1024);
}

struct wish {
    int64_t count;
    size_t size;
    int *kept;
    bool ended;
};

static void ask_for_much(struct arena *arena, void *context)
{
    struct wish *wish = context;
    struct arena *scratch = arena_scratch(arena);

    wish->kept = ARENA_NEW(arena, int, 1);
    *wish->kept = 42;
    arena_alloc(arena_scratch(scratch), wish->count, wish->size);
    wish->ended = true;
}

static void grow_without_end(struct arena *arena, void *context)
{
    struct wish *wish = context;
    char *items = NULL;
    int64_t room = 0;

    while (room < INT64_MAX) items = arena_grow(arena, items, &room, wish->size);
    wish->ended = true;
}

TEST(lack_ends_the_work_alone)
{
    static const struct wish wishes[] = {
        { .count = INT64_MAX, .size = 1 },
        { .count = INT64_MAX / 4, .size = 24 },
        { .count = -1, .size = 8 },
        { .count = (int64_t)1 << 46, .size = 8 }, /* more than an address space has */
    };
    struct arena *arena = arena_open();
    struct wish small = { .count = 1, .size = 1 };

    for (size_t i = 0; i < ARRAY_SIZE(wishes); i++) {
        struct wish wish = wishes[i];
        char text[80];
        assert_int_equal(arena_run(arena, ask_for_much, &wish), STATUS_OUT_OF_MEMORY);
        snprintf(text, sizeof text, "no memory left for %lld items of %zu bytes",
                 (long long)wish.count, wish.size);
        assert_string_equal(status_last()->text, text);
        assert_false(wish.ended);
        assert_int_equal(*wish.kept, 42);
        if (LARGE_ARRAYS_MOVE)
            assert_int_equal(arena_run(arena, grow_without_end, &wish), STATUS_OUT_OF_MEMORY);
        assert_false(wish.ended);
    }
    assert_ok(arena_run(arena, ask_for_much, &small));
    assert_true(small.ended);
    arena_close(arena);
    assert_int_equal(arena_run(NULL, ask_for_much, &small), STATUS_OUT_OF_MEMORY);
    arena_close(NULL);
}

static void run_inside(struct arena *arena, void *context)
{
    enum status *inner = context;

    *inner = arena_run(arena, ask_for_much, &(struct wish){ .count = -1, .size = 1 });
    arena_alloc(arena, -1, 1);
    *inner = STATUS_OK;
}

/* Each failure returns to the innermost run. */
TEST(runs_nest)
{
    struct arena *arena = arena_open();
    enum status inner = STATUS_OK;

    assert_int_equal(arena_run(arena, run_inside, &inner), STATUS_OUT_OF_MEMORY);
    assert_int_equal(inner, STATUS_OUT_OF_MEMORY);
    arena_close(arena);
}

struct pair {
    struct wish here, beside;
    struct arena *own;
    int64_t *kept;
};

static void work_here(struct arena *arena, void *context)
{
    struct pair *pair = context;

    ask_for_much(arena_scratch(arena), &pair->here);
}

static void work_beside(struct arena *arena, void *context)
{
    struct pair *pair = context;

    pair->own = arena;
    pair->kept = ARENA_NEW(arena, int64_t, 1000);
    pair->kept[999] = 9;
    ask_for_much(arena_scratch(arena), &pair->beside);
}

static void run_both(struct arena *arena, void *context)
{
    arena_run_both(arena, work_here, work_beside, context);
}

static void more_beside(struct arena *arena, void *context)
{
    struct pair *pair = context;
    (void)arena;

    ask_for_much(pair->own, &pair->beside);
}

/* Lack in either ends both; what the other thread took stays, and more can be taken behind it. */
TEST(two_work_at_once)
{
    const struct wish much = { .count = INT64_MAX, .size = 1 }, little = { .count = 10, .size = 1 };

    for (int lacks = 0; lacks < 4; lacks++) {
        struct arena *arena = arena_open();
        struct pair pair = { lacks & 1 ? much : little, lacks & 2 ? much : little, NULL, NULL };
        assert_int_equal(arena_run(arena, run_both, &pair),
                         lacks > 0 ? STATUS_OUT_OF_MEMORY : STATUS_OK);
        if (lacks == 0) {
            pair.beside = much;
            assert_int_equal(arena_run(arena, more_beside, &pair), STATUS_OUT_OF_MEMORY);
            assert_int_equal(pair.kept[999], 9);
        }
        arena_close(arena);
    }
}

TEST(accesses_beyond_an_end_are_found)
{
#if defined(__SANITIZE_ADDRESS__)
    struct arena *arena = arena_open();
    int64_t room = 3;
    int *small = ARENA_NEW(arena, int, room), *large = ARENA_NEW(arena, int, 1 << 20), *grown;

    assert_false(__asan_address_is_poisoned(small + 2));
    assert_true(__asan_address_is_poisoned(small + 3));
    assert_false(__asan_address_is_poisoned(large + (1 << 20) - 1));
    assert_true(__asan_address_is_poisoned(large + (1 << 20)));
    grown = arena_grow(arena, small, &room, sizeof *small);
    assert_true(__asan_address_is_poisoned(small));
    assert_false(__asan_address_is_poisoned(grown + 5));
    assert_true(__asan_address_is_poisoned(grown + 6));
    arena_close(arena);
#else
    skip();
#endif
}
