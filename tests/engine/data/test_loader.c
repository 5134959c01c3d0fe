/* The loader: order, bounds, damaged samples, threads and their errors. */
#include "harness/engine/data/loader.h"

#include "harness/base/clock.h"
#include "harness/base/hash.h"
#include "tests/engine/data/image_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { SAMPLES = 1024, TOKENS = 32, STARVED_BATCHES = 4 };

static const struct dataset_config sequences = {
    .kind = DATA_SEQUENCES, .tokens = TOKENS, .vocabulary = 64, .seed = 3
};
static const struct dataset_config images = { .image_size = 8, .jpeg_pixels = 16 };

/* Memory that counts, and knows whose thread it was. */
struct counted {
    pthread_t owner;
    int allocated, live, by_others;
    int fail_at; /* this allocation, counted from 1, fails; 0: none */
};

static enum status counted_alloc(void *context, size_t bytes, void **memory)
{
    struct counted *counted = context;

    counted->by_others += !pthread_equal(pthread_self(), counted->owner);
    if (++counted->allocated == counted->fail_at)
        FAIL(STATUS_OUT_OF_MEMORY, "allocation %d fails", counted->allocated);
    counted->live++;
    *memory = malloc(bytes);

    return STATUS_OK;
}

static void counted_free(void *context, void *memory)
{
    struct counted *counted = context;

    counted->by_others += !pthread_equal(pthread_self(), counted->owner);
    counted->live--;
    free(memory);
}

/* A data set, memory and a loader, opened and closed together. */
struct bench {
    struct dataset *dataset;
    struct counted counted;
    struct loader *loader;
    struct batch_layout layout;
};

static enum status bench_try(struct bench *bench, const struct dataset_config *data,
                             const struct loader_config *config, int samples, int batches_max,
                             int fail_at)
{
    struct batch_memory memory = { counted_alloc, counted_free, &bench->counted };

    *bench = (struct bench){ .counted = { .owner = pthread_self(), .fail_at = fail_at } };
    assert_ok(dataset_open(&bench->dataset, data));
    bench->layout = batch_layout(bench->dataset, &config->batching, samples);
    return loader_open(&bench->loader, bench->dataset, config, samples, batches_max, &memory);
}

static void bench_open(struct bench *bench, const struct dataset_config *data,
                       const struct loader_config *config, int samples, int spare)
{
    if (bench_try(bench, data, config, samples, config->workers * config->prefetch + spare, 0) !=
        STATUS_OK)
        fail_msg("%s", status_last()->text);
}

static void bench_close(struct bench *bench)
{
    loader_close(bench->loader);
    dataset_close(bench->dataset);
    assert_int_equal(bench->counted.live, 0);
    assert_int_equal(bench->counted.by_others, 0);
}

static const struct batch *next(struct bench *bench)
{
    const struct batch *batch;

    assert_ok(loader_next(bench->loader, &batch));
    return batch;
}

/* Hashes of the next `count` batches, whole. */
static void take_hashes(struct bench *bench, uint64_t *hashes, int count)
{
    for (int i = 0; i < count; i++) {
        const struct batch *batch = next(bench);

        assert_int_equal(batch->index, i);
        hashes[i] = hash_add(HASH_EMPTY, batch->memory, bench->layout.bytes);
        loader_return(bench->loader, batch);
    }
}

TEST(layouts_are_aligned_and_do_not_overlap)
{
    struct dataset *dataset;

    assert_ok(dataset_open(&dataset, &sequences));
    for (int samples = 1; samples < 200; samples += 7) {
        struct batch_layout layout = batch_layout(dataset, &(struct batching_config){ 0 }, samples);
        size_t count = (size_t)samples;

        assert_int_equal(layout.samples, samples);
        assert_int_equal(layout.sample_bytes, TOKENS * 4);
        assert_int_equal(layout.labels_offset % 256 + layout.lengths_offset % 256, 0);
        assert_true(layout.labels_offset >= count * layout.sample_bytes);
        assert_true(layout.lengths_offset >= layout.labels_offset + 4 * count);
        assert_true(layout.bytes >= layout.lengths_offset + 4 * count);
    }
    dataset_close(dataset);
}

/* --- Padding --- */

enum { UPDATE = 48, MICRO = 6 };

static int padded_by_hand(const int32_t *lengths, int samples, int multiple)
{
    int longest = 0;

    for (int i = 0; i < samples; i++) longest = lengths[i] > longest ? lengths[i] : longest;
    longest = (longest + multiple - 1) / multiple * multiple;
    return longest < TOKENS ? longest : TOKENS;
}

/* Whether `ids`, with its padding, is sample `index` of a batch that is padded to TOKENS; -1:
 * any. */
static bool is_among(const struct batch *batch, int index, const int32_t *ids, int padded)
{
    for (int i = 0; i < UPDATE; i++) {
        const char *sample = (const char *)batch->memory + i * TOKENS * 4;
        if ((index < 0 || index == i) && memcmp(sample, ids, (size_t)padded * 4) == 0)
            return true;
    }
    return false;
}

/* As many samples as were asked for, or as many as the budget of tokens has room for. */
static void check_part(const struct batch_layout *layout, const struct batch_part *part,
                       const int32_t *lengths)
{
    const int32_t *own = lengths + part->first;
    int multiple = layout->pad_to_multiple_of, more = part->samples + 1;

    assert_int_equal(part->tokens, padded_by_hand(own, part->samples, multiple));
    if (layout->max_tokens == 0) {
        assert_int_equal(part->samples, MICRO);
        return;
    }
    assert_in_range(part->samples * part->tokens, 1, layout->max_tokens);
    if (part->first + part->samples < UPDATE)
        assert_true(more * padded_by_hand(own, more, multiple) > layout->max_tokens);
}

/* The batch has the samples of `plain`, each micro-batch at its own length. */
static void check_padding(const struct batch_layout *layout, const struct batch *batch,
                          const struct batch *plain, bool grouped)
{
    const int32_t *lengths = batch_lengths(layout, batch->memory);
    struct batch_part part = { 0 };

    assert_int_equal(batch_tokens(layout, lengths),
                     batch_tokens(layout, batch_lengths(layout, plain->memory)));
    for (int s = 0; s < UPDATE; s++) {
        const int32_t *ids;
        int padded;

        if (s == part.first + part.samples) {
            part = batch_part(layout, lengths, s);
            check_part(layout, &part, lengths);
        }
        padded = part.tokens;
        ids = (const int32_t *)batch->memory + part.first * TOKENS + (s - part.first) * padded;
        assert_true(!grouped || s == 0 || lengths[s] >= lengths[s - 1]);
        assert_true(is_among(plain, grouped ? -1 : s, ids, padded));
        for (int i = 0; i < padded; i++) assert_int_equal(ids[i] == 0, i == 0 || i >= lengths[s]);
    }
}

TEST(samples_are_padded_to_the_longest_of_their_micro_batch)
{
    static const struct {
        struct batching_config batching;
        int workers;
        enum input input;
    } cases[] = {
        { { PADDING_LONGEST, 1, true, 0, UPDATE / MICRO, false }, 0, INPUT_DECODED },
        { { PADDING_LONGEST, 4, true, 0, UPDATE / MICRO, false }, 2, INPUT_DECODED },
        { { PADDING_LONGEST, 64, true, 0, UPDATE / MICRO, false }, 0, INPUT_DECODED },
        { { PADDING_LONGEST, 4, true, 0, UPDATE / MICRO, false }, 0, INPUT_CACHED },
        { { PADDING_LONGEST, 1, false, 0, UPDATE / MICRO, false }, 0, INPUT_DECODED },
        { { PADDING_LONGEST, 8, false, 0, UPDATE / MICRO, false }, 2, INPUT_DECODED },
        { { PADDING_LONGEST, 8, true, MICRO * TOKENS, UPDATE / MICRO, false }, 2, INPUT_DECODED },
        { { PADDING_LONGEST, 1, false, 7 * TOKENS, UPDATE / MICRO, false }, 0, INPUT_CACHED },
    };

    for (size_t c = 0; c < ARRAY_SIZE(cases); c++) {
        struct loader_config config = { .prefetch = 2,
                                        .workers = cases[c].workers,
                                        .input = cases[c].input,
                                        .persistent_workers = true,
                                        .seed = 5 };
        struct bench plain, bench;

        bench_open(&plain, &sequences, &config, UPDATE, 1);
        config.batching = cases[c].batching;
        bench_open(&bench, &sequences, &config, UPDATE, 1);
        for (int b = 0; b < SAMPLES / UPDATE; b++) {
            const struct batch *expected = next(&plain), *batch = next(&bench);

            check_padding(&bench.layout, batch, expected, config.batching.group_by_length);
            loader_return(plain.loader, expected);
            loader_return(bench.loader, batch);
        }
        bench_close(&plain);
        bench_close(&bench);
    }
}

/* By hand: 3 * 24, and not 4 * 40; 2 * 40, and not 3 * 64; 2 * 64 fit just in. */
TEST(a_budget_of_tokens_divides_a_batch)
{
    static const int32_t lengths[] = { 16, 17, 24, 33, 40, 64, 64, 9 };
    static const struct batch_part expected[] = {
        { 0, 3, 24 }, { 3, 2, 40 }, { 5, 2, 64 }, { 7, 1, 16 }
    };
    const struct batch_layout layout = { .samples = ARRAY_SIZE(lengths),
                                         .sample_bytes = 64 * 4,
                                         .micro_samples = 2,
                                         .tokens = 64,
                                         .pad_to_multiple_of = 8,
                                         .max_tokens = 128 };

    for (size_t i = 0; i < ARRAY_SIZE(expected); i++) {
        struct batch_part part = batch_part(&layout, lengths, expected[i].first);

        assert_memory_equal(&part, &expected[i], sizeof part);
    }
    assert_int_equal(batch_input_offset(&layout, &expected[1], 4), 3 * 64 * 4 + 40 * 4);
}

/* --- Order, bounds and threads --- */

WITH_FOLDER(batches_do_not_depend_on_workers_prefetch_or_input)
{
    static const struct loader_config others[] = {
        { .workers = 1, .prefetch = 1, .persistent_workers = true, .seed = 5 },
        { .workers = 2, .prefetch = 2, .persistent_workers = true, .seed = 5 },
        { .workers = 5, .prefetch = 3, .persistent_workers = true, .seed = 5 },
        { .workers = 0, .prefetch = 4, .persistent_workers = false, .seed = 5 },
        { .workers = 3, .prefetch = 1, .persistent_workers = false, .seed = 5 },
        { .workers = 0, .prefetch = 1, .input = INPUT_CACHED, .seed = 5 },
        { .workers = 2,
          .prefetch = 2,
          .input = INPUT_CACHED,
          .persistent_workers = true,
          .seed = 5 },
        { .workers = 1, .prefetch = 2, .input = INPUT_RESIDENT, .seed = 5 },
        { .workers = 3, .prefetch = 2, .input = INPUT_DECODED, .collate = COLLATE_LOOP, .seed = 5 },
    };
    const struct loader_config serial = { .prefetch = 1, .input = INPUT_DECODED, .seed = 5 };
    enum { BATCHES = 35 }; /* of 64, 16 per epoch: two epochs and a bit */

    for (int kind = 0; kind < 2; kind++) {
        const struct dataset_config *data = kind == 0 ? &images : &sequences;
        uint64_t expected[BATCHES], actual[BATCHES];
        struct bench bench;

        bench_open(&bench, data, &serial, 64, 1);
        take_hashes(&bench, expected, BATCHES);
        bench_close(&bench);
        for (int i = 1; i < BATCHES; i++) assert_true(expected[i] != expected[i - 1]);
        for (size_t c = 0; c < ARRAY_SIZE(others); c++) {
            struct loader_config config = others[c];

            if (c < 5)
                config.input = INPUT_DECODED;
            bench_open(&bench, data, &config, 64, 1);
            take_hashes(&bench, actual, BATCHES);
            bench_close(&bench);
            assert_memory_equal(actual, expected, sizeof expected);
        }
    }
}

/* The batch's samples, by what the data set gives for each index. */
static void count_samples(struct bench *bench, const struct batch *batch, int *seen)
{
    const unsigned char *memory = batch->memory;
    struct sample_reader *reader;

    assert_ok(sample_reader_open(&reader, bench->dataset));
    for (int s = 0; s < bench->layout.samples; s++) {
        const void *input = memory + (size_t)s * bench->layout.sample_bytes;
        int32_t ids[TOKENS], label, length, its_label, its_length;
        uint32_t i = 0;

        memcpy(&its_label, memory + bench->layout.labels_offset + 4 * (size_t)s, 4);
        memcpy(&its_length, memory + bench->layout.lengths_offset + 4 * (size_t)s, 4);
        do {
            assert_true(i < SAMPLES);
            sample_load(reader, SPLIT_TRAIN, i++, ids, &label, &length);
        } while (label != its_label || length != its_length || memcmp(ids, input, sizeof ids) != 0);
        seen[i - 1]++;
    }
    sample_reader_close(reader);
}

TEST(an_epoch_shows_every_sample_once_and_drops_the_incomplete_batch)
{
    const struct loader_config config = { .workers = 2, .prefetch = 2, .persistent_workers = true };
    static const int samples[] = { 64, 100 };

    for (size_t i = 0; i < ARRAY_SIZE(samples); i++) {
        struct bench bench;
        int per_epoch = SAMPLES / samples[i];

        bench_open(&bench, &sequences, &config, samples[i], 1);
        assert_int_equal(loader_batches_per_epoch(bench.loader), per_epoch);
        for (int epoch = 0; epoch < 2; epoch++) {
            int seen[SAMPLES] = { 0 }, total = 0;

            for (int b = 0; b < per_epoch; b++) {
                const struct batch *batch = next(&bench);

                count_samples(&bench, batch, seen);
                loader_return(bench.loader, batch);
            }
            for (int s = 0; s < SAMPLES; s++) {
                assert_in_range(seen[s], 0, 1);
                total += seen[s];
            }
            assert_int_equal(total, per_epoch * samples[i]);
        }
        bench_close(&bench);
    }
}

TEST(epochs_and_seeds_have_orders_of_their_own)
{
    struct loader_config config = { .prefetch = 1, .seed = 1 };
    uint64_t first[32], second[32];
    struct bench bench;

    bench_open(&bench, &sequences, &config, 64, 1);
    take_hashes(&bench, first, 32);
    bench_close(&bench);
    config.seed = 2;
    bench_open(&bench, &sequences, &config, 64, 1);
    take_hashes(&bench, second, 32);
    bench_close(&bench);
    for (int i = 0; i < 16; i++) {
        assert_true(first[i] != first[16 + i]);
        assert_true(first[i] != second[i]);
    }
}

TEST(batches_are_bounded_and_allocated_by_the_caller_as_needed)
{
    const struct loader_config config = { .workers = 2, .prefetch = 2, .persistent_workers = true };
    enum { AHEAD = 4, MAX = 7 };
    const struct batch *held[MAX], *batch;
    struct bench bench;

    bench_open(&bench, &sequences, &config, 8, MAX - AHEAD);
    assert_int_equal(bench.counted.allocated, AHEAD);
    for (int i = 0; i < 100; i++) loader_return(bench.loader, next(&bench));
    assert_int_equal(bench.counted.allocated, AHEAD); /* Whoever returns at once needs no more. */

    for (int i = 0; i < MAX; i++) {
        held[i] = next(&bench);
        assert_int_equal(held[i]->index, 100 + i);
        assert_true(bench.counted.allocated <= MAX);
    }
    for (int again = 0; again < 2; again++) {
        assert_int_equal(loader_next(bench.loader, &batch), STATUS_INTERNAL);
        assert_null(batch);
        assert_non_null(strstr(status_last()->text, "all 7 batches are handed out"));
    }
    loader_return(bench.loader, held[3]); /* not the oldest: any may come back first */
    held[3] = next(&bench);
    assert_int_equal(held[3]->index, 100 + MAX);
    for (int i = 0; i < MAX; i++) loader_return(bench.loader, held[i]);
    assert_int_equal(next(&bench)->index, 101 + MAX);
    assert_int_equal(bench.counted.allocated, MAX);
    bench_close(&bench);
}

TEST(a_caller_that_keeps_all_but_one_batch_still_gets_the_rest)
{
    static const int workers[] = { 0, 1, 3 };

    for (size_t w = 0; w < ARRAY_SIZE(workers); w++) {
        const struct loader_config config = { .workers = workers[w],
                                              .prefetch = 2,
                                              .persistent_workers = w % 2 == 0 };
        struct bench bench;

        bench_open(&bench, &sequences, &config, 128, 3); /* 8 per epoch */
        for (int i = 0; i < 2 * workers[w] + 2; i++) next(&bench);
        for (int i = 0; i < 30; i++) loader_return(bench.loader, next(&bench));
        bench_close(&bench);
    }
}

/* Every batch is read again just before it is given back: a worker that wrote to it would show. */
TEST(batches_stay_as_they_are_while_the_caller_has_them)
{
    const struct loader_config config = { .workers = 3, .prefetch = 1, .persistent_workers = true };
    enum { HELD = 3 };
    const struct batch *held[HELD] = { NULL };
    uint64_t hashes[HELD] = { 0 };
    struct bench bench;

    bench_open(&bench, &sequences, &config, 16, HELD);
    for (int i = 0; i < 300; i++) {
        int place = i % HELD;

        if (held[place] != NULL) {
            assert_true(hash_add(HASH_EMPTY, held[place]->memory, bench.layout.bytes) ==
                        hashes[place]);
            loader_return(bench.loader, held[place]);
        }
        held[place] = next(&bench);
        assert_int_equal(held[place]->index, i);
        hashes[place] = hash_add(HASH_EMPTY, held[place]->memory, bench.layout.bytes);
    }
    bench_close(&bench);
}

TEST(threads_live_for_an_epoch_or_for_all)
{
    for (int persistent = 0; persistent < 2; persistent++) {
        const struct loader_config config = { .workers = 3,
                                              .prefetch = 2,
                                              .persistent_workers = persistent != 0 };
        struct bench bench;

        bench_open(&bench, &sequences, &config, 256, 1); /* 4 per epoch */
        for (int i = 0; i < 20; i++) loader_return(bench.loader, next(&bench));
        assert_int_equal(loader_statistics(bench.loader).threads_started, persistent ? 3 : 15);
        bench_close(&bench);
    }
}

WITH_FOLDER(statistics_count_what_was_handed_out)
{
    struct loader_config config = { .prefetch = 2, .input = INPUT_DECODED };
    struct loader_statistics statistics;
    struct bench bench;

    bench_open(&bench, &images, &config, 32, 2);
    for (int i = 0; i < 10; i++) loader_return(bench.loader, next(&bench));
    statistics = loader_statistics(bench.loader);
    assert_int_equal(statistics.batches, 10);
    assert_int_equal(statistics.samples, 320);
    assert_int_equal(statistics.damaged, 0);
    assert_int_equal(statistics.threads_started, 0);
    assert_true(statistics.load_ns > 0);
    assert_true(statistics.wait_ns >= statistics.load_ns); /* The caller loads. */
    assert_int_equal(statistics.late, 10);
    bench_close(&bench);

    config.workers = 2;
    bench_open(&bench, &images, &config, 32, 2);
    for (int i = 0; i < 10; i++) loader_return(bench.loader, next(&bench));
    statistics = loader_statistics(bench.loader);
    assert_int_equal(statistics.batches, 10);
    assert_int_equal(statistics.threads_started, 2);
    assert_true(statistics.load_ns > 0);
    bench_close(&bench);
}

TEST(a_caller_that_collates_is_late_with_every_batch)
{
    const struct loader_config config = {
        .workers = 2, .prefetch = 2, .input = INPUT_DECODED, .collate = COLLATE_LOOP
    };
    struct loader_statistics statistics;
    struct bench bench;

    bench_open(&bench, &images, &config, 32, 2);
    for (int i = 0; i < 40; i++) loader_return(bench.loader, next(&bench));
    statistics = loader_statistics(bench.loader);
    assert_int_equal(statistics.batches, 40);
    assert_int_equal(statistics.late, 40);
    assert_int_equal(statistics.damaged, 0);
    bench_close(&bench);
}

/* Batches 0 and 4 are the first ones of an epoch. */
TEST(waits_for_the_first_batch_of_an_epoch_are_counted_apart)
{
    const struct loader_config config = { .prefetch = 1, .input = INPUT_DECODED };
    int64_t last_ns = 0;
    struct bench bench;

    bench_open(&bench, &images, &config, 256, 1);
    for (int i = 0; i < 8; i++) {
        int64_t wait_ns;

        loader_return(bench.loader, next(&bench));
        wait_ns = loader_statistics(bench.loader).epoch_wait_ns;
        assert_int_equal(wait_ns > last_ns, i % 4 == 0);
        last_ns = wait_ns;
    }
    assert_true(loader_statistics(bench.loader).wait_ns > last_ns);
    bench_close(&bench);
}

TEST(paused_workers_load_nothing_until_a_batch_is_wanted)
{
    const struct loader_config config = { .workers = 2, .prefetch = 4, .persistent_workers = true };
    struct bench bench;
    uint64_t plain[24];

    bench_open(&bench, &images, &config, 32, 2);
    take_hashes(&bench, plain, 24);
    bench_close(&bench);
    bench_open(&bench, &images, &config, 32, 2);
    for (int i = 0; i < 24; i++) {
        const struct batch *batch = next(&bench);
        int64_t load_ns;

        assert_true(hash_add(HASH_EMPTY, batch->memory, bench.layout.bytes) == plain[i]);
        loader_return(bench.loader, batch); /* room that the workers would fill */
        if (i % 4 != 3)
            continue;
        loader_pause(bench.loader);
        load_ns = loader_statistics(bench.loader).load_ns;
        usleep(2000);
        loader_pause(bench.loader); /* once more changes nothing */
        assert_int_equal(loader_statistics(bench.loader).load_ns, load_ns);
    }
    bench_close(&bench);
}

WITH_FOLDER(closing_does_not_wait_for_the_caller)
{
    const struct loader_config config = {
        .workers = 4, .prefetch = 4, .persistent_workers = true, .input = INPUT_DECODED
    };

    for (int taken = 0; taken < 12; taken++) {
        struct bench bench;

        bench_open(&bench, &images, &config, 512, 1);
        for (int i = 0; i < taken / 4; i++) next(&bench);
        bench_close(&bench);
    }
    loader_close(NULL);
}

/* Reads a mask from /proc/self/task/ID/status; 0 when the thread has another name. */
static unsigned long long blocked_signals(const char *task, const char *name)
{
    char path[64], line[256];
    unsigned long long blocked = 0;
    bool is_named = false;
    FILE *file;

    snprintf(path, sizeof path, "/proc/self/task/%.20s/status", task);
    file = fopen(path, "r");
    if (file == NULL)
        return 0;
    while (fgets(line, sizeof line, file) != NULL) {
        is_named |= strncmp(line, "Name:", 5) == 0 && strstr(line, name) != NULL;
        sscanf(line, "SigBlk: %llx", &blocked);
    }
    fclose(file);
    return is_named ? blocked : 0;
}

TEST(signals_are_not_delivered_to_workers)
{
    const struct loader_config config = { .workers = 3, .prefetch = 1, .persistent_workers = true };
    struct bench bench;
    int workers = 0;
    sigset_t mine;
    DIR *tasks;

    bench_open(&bench, &sequences, &config, 8, 1);
    tasks = opendir("/proc/self/task");
    assert_non_null(tasks);
    for (struct dirent *task = readdir(tasks); task != NULL; task = readdir(tasks)) {
        unsigned long long blocked = blocked_signals(task->d_name, "\tloader\n");

        workers += (blocked >> (SIGINT - 1) & 1) && (blocked >> (SIGTERM - 1) & 1);
    }
    closedir(tasks);
    assert_int_equal(workers, 3);
    pthread_sigmask(SIG_SETMASK, NULL, &mine);
    assert_false(sigismember(&mine, SIGINT)); /* The caller's mask is as it was. */
    bench_close(&bench);
}

/* The scheduling class of the thread with this name; -1: there is none. */
static int class_of(const char *name)
{
    DIR *tasks = opendir("/proc/self/task");
    int class = -1;

    assert_non_null(tasks);
    for (struct dirent *task = readdir(tasks); task != NULL; task = readdir(tasks)) {
        char path[64], line[64] = "";
        FILE *file;

        snprintf(path, sizeof path, "/proc/self/task/%.20s/comm", task->d_name);
        file = fopen(path, "r");
        if (file == NULL)
            continue;
        if (fgets(line, sizeof line, file) != NULL && strcmp(line, name) == 0)
            class = sched_getscheduler(atoi(task->d_name));
        fclose(file);
    }
    closedir(tasks);
    return class;
}

TEST(a_worker_gives_way_where_the_device_needs_the_cores)
{
    struct loader_config config = { .workers = 1, .prefetch = 1, .persistent_workers = true };

    for (int gives_way = 0; gives_way < 2; gives_way++) {
        struct bench bench;

        config.gives_way = gives_way;
        bench_open(&bench, &sequences, &config, 8, 1);
        loader_return(bench.loader, next(&bench)); /* So it has begun. */
        assert_int_equal(class_of("loader\n"), gives_way ? SCHED_IDLE : SCHED_OTHER);
        assert_int_equal(sched_getscheduler(0), SCHED_OTHER);
        bench_close(&bench);
    }
}

/* The clocks again, as a thread that starves sees them, in place of those of harness/base/clock.c.
 * While `on`, each read of a worker's clock is that much later than the one before it. */
static struct {
    bool on;
    pthread_t caller;
    int64_t wall_ns, cpu_ns; /* from one read to the next */
} modelled;
static _Thread_local int64_t wall_reads, cpu_reads;

static int64_t read_clock(clockid_t clock)
{
    struct timespec now;

    clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static bool is_modelled(void)
{
    return modelled.on && !pthread_equal(pthread_self(), modelled.caller);
}

int64_t clock_ns(void)
{
    return is_modelled() ? ++wall_reads * modelled.wall_ns : read_clock(CLOCK_MONOTONIC);
}

int64_t clock_thread_cpu_ns(void)
{
    return is_modelled() ? ++cpu_reads * modelled.cpu_ns : read_clock(CLOCK_THREAD_CPUTIME_ID);
}

int64_t clock_process_cpu_ns(void)
{
    return read_clock(CLOCK_PROCESS_CPUTIME_ID);
}

int64_t clock_real_ns(void)
{
    return read_clock(CLOCK_REALTIME);
}

/* A worker reads its clocks before a batch and after it. */
TEST(a_worker_that_starves_no_longer_gives_way)
{
    static const struct {
        int64_t wall_ns, cpu_ns;
        int class;
    } cases[] = {
        { 51000000, 5000000, SCHED_OTHER },
        { 51000000, 5200000, SCHED_IDLE }, /* a tenth of the time is enough */
        { 49000000, 100000, SCHED_IDLE },  /* any batch may wait that long */
    };
    struct loader_config config = { .workers = 1, .prefetch = 1, .persistent_workers = true };
    uint64_t expected[STARVED_BATCHES];
    struct bench bench;

    bench_open(&bench, &sequences, &config, 16, 1);
    take_hashes(&bench, expected, STARVED_BATCHES);
    bench_close(&bench);
    config.gives_way = true;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        modelled.caller = pthread_self();
        modelled.wall_ns = cases[i].wall_ns;
        modelled.cpu_ns = cases[i].cpu_ns;
        modelled.on = true;
        bench_open(&bench, &sequences, &config, 16, 1);
        for (int b = 0; b < STARVED_BATCHES; b++) {
            const struct batch *batch = next(&bench);
            assert_int_equal(batch->index, b); /* The order goes on as if nothing was. */
            assert_true(hash_add(HASH_EMPTY, batch->memory, bench.layout.bytes) == expected[b]);
            loader_return(bench.loader, batch);
        }
        assert_int_equal(class_of("loader\n"), cases[i].class);
        bench_close(&bench);
        modelled.on = false;
    }
}

TEST(impossible_settings_are_refused)
{
    static const struct {
        struct loader_config config;
        int samples, batches_max;
        enum status status;
        const char *part;
    } cases[] = {
        { { .workers = -1, .prefetch = 1 }, 8, 3, STATUS_BAD_USAGE, "-1 workers" },
        { { .workers = 1, .prefetch = 0 }, 8, 3, STATUS_BAD_USAGE, "prefetch of 0" },
        { { .prefetch = 1 }, 0, 3, STATUS_BAD_USAGE, "batch of 0 samples" },
        { { .prefetch = 1 }, SAMPLES + 1, 3, STATUS_BAD_USAGE, "from 1024 training samples" },
        { { .workers = 2, .prefetch = 2 }, 8, 4, STATUS_INTERNAL, "4 batches are too few" },
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct bench bench;

        assert_int_equal(bench_try(&bench, &sequences, &cases[i].config, cases[i].samples,
                                   cases[i].batches_max, 0),
                         cases[i].status);
        assert_null(bench.loader);
        assert_non_null(strstr(status_last()->text, cases[i].part));
        bench_close(&bench);
    }
}

TEST(a_failing_allocation_comes_back_and_leaks_nothing)
{
    const struct loader_config config = { .workers = 2, .prefetch = 2, .persistent_workers = true };

    for (int fail_at = 1; fail_at <= 7; fail_at++) {
        struct bench bench;
        enum status status = bench_try(&bench, &sequences, &config, 8, 7, fail_at);
        const struct batch *batch;

        for (int i = 0; status == STATUS_OK && i < 7; i++)
            status = loader_next(bench.loader, &batch);
        assert_int_equal(status, STATUS_OUT_OF_MEMORY);
        bench_close(&bench);
    }
}

/* --- Damaged files --- */

/* own/a and own/b with `files` each, of which the ones in `damaged` (digits) of a are no JPEG. */
static struct dataset_config make_folder(const struct test_folder *folder, int files,
                                         const char *damaged)
{
    struct dataset_config config = { .image_size = 4 };
    char name[32];

    snprintf(config.folder, sizeof config.folder, "%s/own", folder->path);
    assert_int_equal(mkdir(config.folder, 0777), 0);
    for (int i = 0; i < 2 * files; i++) {
        snprintf(name, sizeof name, "own/%c/%d.jpg", i < files ? 'a' : 'b', i % files);
        if (i < files && strchr(damaged, '0' + i) != NULL)
            test_file(folder, name, "no image", 8);
        else
            test_jpeg(folder, name, (uint8_t)(10 * i));
    }
    return config;
}

/* The values of the samples of one epoch, sorted; the folder's images have one value each. */
static void take_values(struct bench *bench, int *values)
{
    for (int64_t b = 0; b < loader_batches_per_epoch(bench->loader); b++) {
        const struct batch *batch = next(bench);
        const unsigned char *memory = batch->memory;

        for (int s = 0; s < bench->layout.samples; s++)
            values[(memory[(size_t)s * bench->layout.sample_bytes] + 5) / 10]++;
        loader_return(bench->loader, batch);
    }
}

WITH_FOLDER(damaged_samples_are_replaced_by_the_next_and_counted)
{
    /* Held out: 8 of each class. Training: a0-a7 (values 0-7), b0-b7 (values 9-16). */
    struct dataset_config data = make_folder(*state, 9, "167");
    static const int expected[18] = { 1, 0, 2, 1, 1, 1, 0, 0, 0, 3, 1, 1, 1, 1, 1, 1, 1, 0 };
    static const struct loader_config configs[] = {
        { .workers = 0, .prefetch = 1, .input = INPUT_DECODED },
        { .workers = 2, .prefetch = 2, .input = INPUT_DECODED, .persistent_workers = true },
        { .workers = 2, .prefetch = 1, .input = INPUT_DECODED },
        { .workers = 0, .prefetch = 1, .input = INPUT_CACHED },
        { .workers = 3, .prefetch = 1, .input = INPUT_CACHED },
    };

    for (size_t c = 0; c < ARRAY_SIZE(configs); c++) {
        struct bench bench;
        int values[26] = { 0 };

        bench_open(&bench, &data, &configs[c], 4, 1);
        take_values(&bench, values);
        for (int v = 0; v < 18; v++) assert_int_equal(values[v], expected[v]);
        assert_int_equal(dataset_damage(bench.dataset).files, 3);
        assert_non_null(strstr(dataset_damage(bench.dataset).first, "own/a/1.jpg"));
        if (!configs[c].persistent_workers || configs[c].workers == 0)
            assert_int_equal(loader_statistics(bench.loader).damaged, 3);
        else /* The next epoch may be under way. */
            assert_in_range(loader_statistics(bench.loader).damaged, 3, 6);
        bench_close(&bench);
    }
}

WITH_FOLDER(files_that_vanish_are_replaced_too)
{
    const struct loader_config config = { .workers = 2, .prefetch = 1, .input = INPUT_DECODED };
    struct dataset_config data = make_folder(*state, 3, "");
    struct bench bench;
    int values[26] = { 0 };

    bench_open(&bench, &data, &config, 1, 1);
    take_values(&bench, values);
    assert_int_equal(unlink(test_folder_path(*state, "own/a/0.jpg")), 0);
    memset(values, 0, sizeof values);
    take_values(&bench, values);
    assert_int_equal(values[0], 0);
    assert_int_equal(values[1], 2);
    assert_int_equal(loader_statistics(bench.loader).damaged, 1);
    bench_close(&bench);
}

WITH_FOLDER(a_cache_needs_no_files_any_more)
{
    const struct loader_config config = { .prefetch = 1, .input = INPUT_CACHED };
    struct dataset_config data = make_folder(*state, 3, "");
    struct bench bench;
    int values[26] = { 0 };

    bench_open(&bench, &data, &config, 1, 1);
    assert_int_equal(unlink(test_folder_path(*state, "own/a/0.jpg")), 0);
    take_values(&bench, values);
    assert_int_equal(values[0], 1);
    assert_int_equal(loader_statistics(bench.loader).damaged, 0);
    bench_close(&bench);
}

static int damaged_in_an_epoch(const struct dataset_config *data,
                               const struct loader_config *config)
{
    struct bench bench;
    int values[26] = { 0 }, damaged;

    bench_open(&bench, data, config, 1, 1);
    take_values(&bench, values);
    damaged = (int)loader_statistics(bench.loader).damaged;
    bench_close(&bench);
    return damaged;
}

/* A file that is no image any more and has its old size is not looked at again, unless other data
 * were open since. */
WITH_FOLDER(what_was_decoded_stays_for_the_next_who_opens_the_same_files)
{
    static const struct loader_config configs[] = {
        { .prefetch = 1, .input = INPUT_CACHED },
        { .prefetch = 1, .input = INPUT_DECODED, .remembers = true },
        { .prefetch = 2, .input = INPUT_DECODED, .remembers = true, .workers = 2 },
    };
    const struct loader_config decodes = { .prefetch = 1, .input = INPUT_DECODED };
    const struct dataset_config data = make_folder(*state, 3, "");
    const struct dataset_config other = { .kind = DATA_SEQUENCES, .tokens = 8, .vocabulary = 64 };
    unsigned char jpeg[4096];

    for (size_t c = 0; c < ARRAY_SIZE(configs); c++) {
        const char *path = test_jpeg(*state, "own/a/0.jpg", 0);
        FILE *file = fopen(path, "rb");
        size_t size = fread(jpeg, 1, sizeof jpeg, file);
        fclose(file);
        assert_int_equal(damaged_in_an_epoch(&data, &configs[c]), 0);
        memset(jpeg, 0, size);
        test_file(*state, "own/a/0.jpg", jpeg, size);
        assert_int_equal(damaged_in_an_epoch(&data, &configs[c]), 0);
        assert_int_equal(damaged_in_an_epoch(&data, &decodes), 1);
        test_file(*state, "own/a/0.jpg", jpeg, size - 1);
        assert_int_equal(damaged_in_an_epoch(&data, &configs[c]), 1);
        assert_int_equal(damaged_in_an_epoch(&data, &configs[c]), 1);
        test_jpeg(*state, "own/a/0.jpg", 0);
        assert_int_equal(damaged_in_an_epoch(&data, &configs[c]), 0);
        assert_int_equal(damaged_in_an_epoch(&other, &configs[0]), 0);
        test_file(*state, "own/a/0.jpg", jpeg, size);
        assert_int_equal(damaged_in_an_epoch(&data, &configs[c]), 1);
    }
}

WITH_FOLDER(when_nothing_can_be_decoded_that_is_an_error_with_names)
{
    static const int workers[] = { 0, 1, 3 };
    struct dataset_config data = make_folder(*state, 1, "0");

    test_file(*state, "own/b/0.jpg", "nor here", 8);
    for (size_t w = 0; w < ARRAY_SIZE(workers); w++) {
        struct loader_config config = { .workers = workers[w], .prefetch = 1 };
        struct bench bench;
        const struct batch *batch;

        config.input = INPUT_DECODED;
        bench_open(&bench, &data, &config, 2, 1);
        for (int again = 0; again < 2; again++) {
            assert_int_equal(loader_next(bench.loader, &batch), STATUS_BAD_INPUT);
            assert_null(batch);
            assert_non_null(strstr(status_last()->text, "none of the 2 training samples"));
            assert_non_null(strstr(status_last()->text, "/0.jpg cannot be decoded"));
            assert_string_equal(status_last()->context, "loading training samples");
        }
        bench_close(&bench);
        config.input = INPUT_CACHED;
        assert_int_equal(bench_try(&bench, &data, &config, 2, 9, 0), STATUS_BAD_INPUT);
        bench_close(&bench);
    }
}

WITH_FOLDER(running_out_of_file_descriptors_is_an_error_not_damage)
{
    static const int workers[] = { 0, 2 };
    struct dataset_config data = make_folder(*state, 3, "");

    for (size_t w = 0; w < ARRAY_SIZE(workers); w++) {
        struct loader_config config = { .workers = 0, .prefetch = 1, .input = INPUT_DECODED };
        struct rlimit before, none;
        struct bench bench;
        const struct batch *batch;
        enum status status;

        config.workers = workers[w];
        assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
        none = (struct rlimit){ 0, before.rlim_max };
        bench_open(&bench, &data, &config, 4, 1); /* one batch an epoch */
        loader_return(bench.loader, next(&bench));
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
        status = loader_next(bench.loader, &batch);
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
        assert_int_equal(status, STATUS_IO);
        assert_non_null(strstr(status_last()->text, "Too many open files"));
        bench_close(&bench);
    }
}
