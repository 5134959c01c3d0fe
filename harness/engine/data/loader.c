/* Slots and two counters under one mutex.
 *
 * Every batch has a slot. Threads claim batches in order, and the thread that claims one copies the
 * indices of its samples into the slot. So the loader keeps a single permutation, that of the
 * claimed epoch, and the order cannot depend on which thread loads when. A slot goes
 *
 * FREE -> LOADING (claimed) -> READY or FAILED -> TAKEN (the caller's) -> FREE
 *
 * `claimed` counts the batches claimed, `taken` those handed out. Workers claim while claimed -
 * taken < workers * prefetch and a slot is free. The batch that the caller waits for is therefore
 * the lowest one claimed or the next to be claimed, so waiting cannot deadlock: if no batch is
 * claimed and no slot is free, the caller holds all of them, which is an error. Only the caller's
 * thread allocates.
 *
 * A failure stays in its slot. It is raised when its batch is due, every time the caller asks.
 *
 * Threads end at the end of an epoch unless they persist, and are started anew when the next batch
 * is asked for, as PyTorch's DataLoader does without persistent_workers. */
#include "harness/engine/data/loader.h"

#include "harness/base/clock.h"
#include "harness/base/random.h"
#include "harness/base/rows.h"
#include "harness/base/system/thread.h"
#include "harness/engine/data/sample_cache.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define ORDER_STREAM ((uint64_t)0x10ade4 << 32) /* apart from the seed's other purposes */

/* A worker starves when a batch takes it longer than this, and this many times its processor time:
 * then it waits for a core that other programs use, or for a file. */
#define STARVED_NS    50000000
#define STARVED_TIMES 10

enum slot_state { SLOT_FREE, SLOT_LOADING, SLOT_READY, SLOT_FAILED, SLOT_TAKEN };

struct slot {
    struct batch batch; /* first: a batch is turned back into its slot by its address */
    enum slot_state state;
    uint32_t *samples; /* which ones, [layout.samples] */
    int64_t rested_ns; /* in pauses, while it was loaded */
    struct status_error error;
};

struct loader {
    const struct dataset *dataset;
    struct loader_config config;
    struct batch_layout layout;
    struct batch_memory memory;
    struct sample_cache *cache;   /* INPUT_CACHED: of all samples; or what is remembered; or NULL */
    struct sample_reader *reader; /* the caller's, with 0 workers */
    int64_t batches_per_epoch;

    pthread_t *threads;
    int thread_count;           /* of those to be joined */
    struct status_error broken; /* why threads could not be started; OK otherwise */
    atomic_bool is_stopping;
    atomic_bool is_paused; /* until the caller wants a batch; set with the mutex held */

    pthread_mutex_t mutex; /* guards what follows */
    pthread_cond_t claimable, loaded;
    struct slot *slots;
    int slot_count, slots_max;
    int64_t claimed, taken;
    int active;        /* threads that are loading, and not paused */
    int64_t claim_end; /* claims stop here: threads end, and are started anew for the next batch */
    int64_t epoch;     /* whose order `order` is; -1 at first */
    uint32_t *order, order_count;
    struct loader_statistics statistics;
};

/* --- Batches --- */

/* Copies sample `index` from the cache, or loads it. */
static enum status put_sample(struct loader *loader, struct sample_reader *reader, uint32_t index,
                              void *input, int32_t *label, int32_t *length, bool *is_replaced)
{
    struct sample_cache *cache = loader->cache;

    if (cache != NULL && sample_cache_get(cache, index, input, label, length, is_replaced))
        return STATUS_OK;
    TRY(sample_load_usable(reader, loader->dataset, index, input, label, length, is_replaced));
    if (cache != NULL)
        sample_cache_put(cache, index, input, *label, *length, *is_replaced);

    return STATUS_OK;
}

/* Between two samples, by a thread that is loading: waits for the end of a pause. INTERRUPTED: the
 * loader is being closed. Relaxed: a pause or an end that is seen one sample late changes nothing
 * but the time; what follows takes the mutex. */
static enum status go_on(struct loader *loader, struct slot *slot)
{
    if (atomic_load_explicit(&loader->is_paused, memory_order_relaxed)) {
        pthread_mutex_lock(&loader->mutex);
        int64_t begin = clock_ns();
        loader->active--;
        pthread_cond_signal(&loader->loaded);
        while (atomic_load(&loader->is_paused) && !atomic_load(&loader->is_stopping))
            pthread_cond_wait(&loader->claimable, &loader->mutex);
        loader->active++;
        slot->rested_ns += clock_ns() - begin;
        pthread_mutex_unlock(&loader->mutex);
    }
    if (atomic_load_explicit(&loader->is_stopping, memory_order_relaxed))
        FAIL(STATUS_INTERRUPTED, "the loader was closed");

    return STATUS_OK;
}

/* Loads the samples of a claimed slot, by any thread, without the mutex. *reader is opened when it
 * is needed, so that a failure of that has a batch to be reported with. */
static enum status load_batch(struct loader *loader, struct slot *slot,
                              struct sample_reader **reader, int64_t *damaged)
{
    const struct batch_layout *layout = &loader->layout;
    unsigned char *memory = slot->batch.memory;
    int32_t *labels = (int32_t *)(void *)(memory + layout->labels_offset);
    int32_t *lengths = (int32_t *)(void *)(memory + layout->lengths_offset);
    struct batch_part part = { 0 };

    *damaged = 0;
    if (*reader == NULL && loader->config.input != INPUT_CACHED)
        TRY(sample_reader_open(reader, loader->dataset));
    batch_arrange(layout, &loader->config.batching, loader->dataset, slot->samples, lengths);
    /* A sample is loaded with all its padding. Where that is cut off, the next one lies over it, so
     * the order matters. */
    for (int i = 0; i < layout->samples; i++) {
        unsigned char *input;
        bool is_replaced;

        if (i == part.first + part.samples)
            part = batch_part(layout, lengths, i);
        input = memory + batch_input_offset(layout, &part, i);
        TRY(go_on(loader, slot));
        TRY(put_sample(loader, *reader, slot->samples[i], input, &labels[i], &lengths[i],
                       &is_replaced));
        batch_widen(layout, input);
        *damaged += is_replaced;
    }

    return STATUS_OK;
}

/* The worker's part where the caller puts batches together. A file that cannot be read is the
 * caller's to report or to replace. */
static enum status read_files(struct loader *loader, struct slot *slot,
                              struct sample_reader **reader)
{
    if (*reader == NULL)
        TRY(sample_reader_open(reader, loader->dataset));
    for (int i = 0; i < loader->layout.samples; i++) {
        enum status status;

        TRY(go_on(loader, slot));
        status = sample_read(*reader, SPLIT_TRAIN, slot->samples[i]);
        if (status != STATUS_BAD_INPUT)
            TRY(status);
    }

    return STATUS_OK;
}

/* The order depends only on the seed and the number of the epoch. */
static void shuffle_order(struct loader *loader, int64_t epoch)
{
    struct random random = random_seed(loader->config.seed, ORDER_STREAM + (uint64_t)epoch);

    if (loader->epoch == epoch)
        return;
    for (uint32_t i = 0; i < loader->order_count; i++) loader->order[i] = i;
    random_shuffle(&random, loader->order, loader->order_count);
    loader->epoch = epoch;
}

static size_t parts_of(const struct loader_config *config)
{
    return config->parts > 0 ? (size_t)config->parts : 1;
}

/* Gives the next batch in order to a free slot. With the mutex held. */
static void claim_next(struct loader *loader, struct slot *slot)
{
    int64_t place = loader->claimed % loader->batches_per_epoch;
    size_t samples = (size_t)loader->layout.samples;

    shuffle_order(loader, loader->claimed / loader->batches_per_epoch);
    memcpy(slot->samples,
           loader->order +
               ((size_t)place * parts_of(&loader->config) + (size_t)loader->config.part) * samples,
           samples * sizeof *slot->samples);
    slot->batch.index = loader->claimed++;
    slot->state = SLOT_LOADING;
}

static bool is_starved(const struct loader *loader, int64_t wall_ns, int64_t cpu_ns)
{
    return loader->config.gives_way && loader->config.workers > 0 && wall_ns > STARVED_NS &&
           wall_ns > STARVED_TIMES * cpu_ns;
}

static bool caller_collates(const struct loader *loader)
{
    return loader->config.collate == COLLATE_LOOP && loader->config.workers > 0 &&
           loader->cache == NULL;
}

/* Loads a claimed slot, or reads its files. With the mutex held, but not while loading. */
static void load_claimed(struct loader *loader, struct slot *slot, struct sample_reader **reader,
                         bool reads_only)
{
    int64_t begin_ns = clock_ns(), begin_cpu_ns = clock_thread_cpu_ns(), wall_ns, damaged = 0;
    struct sample_reading before =
        *reader != NULL ? sample_reader_reading(*reader) : (struct sample_reading){ 0 };
    enum status status;

    slot->rested_ns = 0;
    loader->active++;
    pthread_mutex_unlock(&loader->mutex);
    status =
        reads_only ? read_files(loader, slot, reader) : load_batch(loader, slot, reader, &damaged);
    if (status != STATUS_OK)
        slot->error = *status_last();
    pthread_mutex_lock(&loader->mutex);
    loader->active--;
    slot->state = status == STATUS_OK ? SLOT_READY : SLOT_FAILED;
    loader->statistics.damaged += damaged;
    wall_ns = clock_ns() - begin_ns - slot->rested_ns;
    loader->statistics.load_ns += wall_ns;
    if (*reader != NULL) {
        loader->statistics.read_ns += sample_reader_reading(*reader).ns - before.ns;
        loader->statistics.reads += sample_reader_reading(*reader).count - before.count;
    }
    if (is_starved(loader, wall_ns, clock_thread_cpu_ns() - begin_cpu_ns)) {
        /* Linux does not let a thread leave the idle class without a privilege. So starving workers
         * finish the batches they have claimed and exit, and new ones replace them. */
        loader->config.gives_way = false;
        loader->claim_end = loader->claimed;
        pthread_cond_broadcast(&loader->claimable);
    }
}

/* Slots are few, so a walk over them is cheap beside loading a batch. */
static struct slot *find_free(struct loader *loader)
{
    for (int i = 0; i < loader->slot_count; i++)
        if (loader->slots[i].state == SLOT_FREE)
            return &loader->slots[i];
    return NULL;
}

/* The slot of the batch that is to be handed out next, whatever its state. */
static struct slot *find_next(struct loader *loader)
{
    for (int i = 0; i < loader->slot_count; i++)
        if (loader->slots[i].state != SLOT_FREE && loader->slots[i].state != SLOT_TAKEN &&
            loader->slots[i].batch.index == loader->taken)
            return &loader->slots[i];
    return NULL;
}

/* --- Workers --- */

static int64_t batches_ahead(const struct loader *loader)
{
    return (int64_t)loader->config.workers * loader->config.prefetch;
}

static bool is_done(const struct loader *loader)
{
    return atomic_load(&loader->is_stopping) || loader->claimed == loader->claim_end;
}

/* Decoding can wait a moment; the thread that queues the step, and a device that shares the host's
 * cores, cannot. A lower priority alone does not help: a running thread keeps its core for a slice
 * of milliseconds when another wakes up, unless it is of the idle class (sched(7)). Linux also
 * treats a core that only idle-class threads use as free. */
static void give_way(void)
{
    const struct sched_param idle = { .sched_priority = 0 };

    if (pthread_setschedparam(pthread_self(), SCHED_IDLE, &idle) != 0)
        return; /* the worker keeps its priority: slower, but correct */
}

/* The claim at which threads started now will end: the end of the next batch's epoch, or never. */
static int64_t next_claim_end(const struct loader *loader)
{
    int64_t epochs = loader->claimed / loader->batches_per_epoch;

    return loader->config.persistent_workers ? INT64_MAX : (epochs + 1) * loader->batches_per_epoch;
}

/* A worker loads batch after batch until the loader closes or no more are to be claimed. */
static void *work(void *argument)
{
    struct loader *loader = argument;
    struct sample_reader *reader = NULL;
    bool gives_way;

    pthread_mutex_lock(&loader->mutex);
    gives_way = loader->config.gives_way;
    pthread_mutex_unlock(&loader->mutex);
    if (gives_way)
        give_way();
    pthread_mutex_lock(&loader->mutex);
    while (!is_done(loader)) {
        struct slot *slot = find_free(loader);

        if (atomic_load(&loader->is_paused) || slot == NULL ||
            loader->claimed - loader->taken >= batches_ahead(loader)) {
            pthread_cond_wait(&loader->claimable, &loader->mutex);
            continue;
        }
        claim_next(loader, slot);
        if (is_done(loader)) /* Threads that wait must see that no batch is left, and nothing else
                                wakes them. */
            pthread_cond_broadcast(&loader->claimable);
        load_claimed(loader, slot, &reader, caller_collates(loader));
        pthread_cond_signal(&loader->loaded);
    }
    pthread_mutex_unlock(&loader->mutex);
    sample_reader_close(reader);
    return NULL;
}

static enum status start_threads(struct loader *loader)
{
    for (int i = 0; i < loader->config.workers; i++) {
        int error = thread_start(&loader->threads[i], "loader", work, loader);

        if (error != 0)
            FAIL(STATUS_REFUSED, "loader thread %d of %d cannot be started: %s; use fewer workers",
                 i + 1, loader->config.workers, strerror(error));
        loader->thread_count++;
        loader->statistics.threads_started++;
    }

    return STATUS_OK;
}

static void join_threads(struct loader *loader)
{
    for (int i = 0; i < loader->thread_count; i++) pthread_join(loader->threads[i], NULL);
    loader->thread_count = 0;
}

/* --- The caller's side --- */

/* The slot is filled in before it counts: workers look at counted slots only. */
static enum status add_slot(struct loader *loader)
{
    enum status status = STATUS_OK;
    struct slot *slot = &loader->slots[loader->slot_count];

    TRY_OUT(rows_make(&slot->samples, loader->layout.samples));
    TRY_OUT(
        loader->memory.alloc(loader->memory.context, loader->layout.bytes, &slot->batch.memory));
    memset(slot->batch.memory, 0, loader->layout.bytes); /* Gaps are copied to the device too. */
    pthread_mutex_lock(&loader->mutex);
    loader->slot_count++;
    pthread_mutex_unlock(&loader->mutex);

out:
    if (status != STATUS_OK) {
        free(slot->samples);
        slot->samples = NULL;
    }
    return status;
}

/* Allocates slots while the caller holds so many that the workers would have too few to load
 * ahead. */
static enum status top_up(struct loader *loader)
{
    int64_t wanted = batches_ahead(loader) > 0 ? batches_ahead(loader) : 1;

    for (;;) {
        int64_t usable = 0;

        pthread_mutex_lock(&loader->mutex);
        for (int i = 0; i < loader->slot_count; i++) usable += loader->slots[i].state != SLOT_TAKEN;
        pthread_mutex_unlock(&loader->mutex);
        if (usable >= wanted || loader->slot_count == loader->slots_max)
            return STATUS_OK;
        TRY(add_slot(loader));
        pthread_cond_signal(&loader->claimable);
    }

    return STATUS_OK;
}

/* The caller must be able to hold a batch while the workers fill all that they may load ahead. */
static enum status check_batches(const struct dataset *dataset, const struct loader_config *config,
                                 int samples, int batches_max)
{
    uint32_t count = dataset_count(dataset, SPLIT_TRAIN);

    if (config->workers < 0 || config->prefetch < 1)
        FAIL(STATUS_BAD_USAGE,
             "%d workers with a prefetch of %d batches are impossible; workers are "
             "0 or more, prefetch is 1 or more",
             config->workers, config->prefetch);
    if (samples < 1 || (size_t)samples * parts_of(config) > count)
        FAIL(STATUS_BAD_USAGE,
             "a batch of %d samples cannot be made from %u training samples; choose "
             "1 to %u",
             samples * (int)parts_of(config), count, count);
    if (batches_max <= (int64_t)config->workers * config->prefetch)
        FAIL(STATUS_INTERNAL, "%d batches are too few for %d workers with a prefetch of %d",
             batches_max, config->workers, config->prefetch);

    return STATUS_OK;
}

enum status loader_open(struct loader **loader, const struct dataset *dataset,
                        const struct loader_config *config, int samples, int batches_max,
                        const struct batch_memory *memory)
{
    enum status status = STATUS_OK;
    struct loader *made = NULL;

    TRY_OUT(check_batches(dataset, config, samples, batches_max));
    TRY_OUT(rows_make(&made, 1));
    pthread_mutex_init(&made->mutex, NULL);
    pthread_cond_init(&made->claimable, NULL);
    pthread_cond_init(&made->loaded, NULL);
    made->dataset = dataset;
    made->config = *config;
    made->layout = batch_layout(dataset, &config->batching, samples);
    made->memory = *memory;
    made->slots_max = batches_max;
    made->order_count = dataset_count(dataset, SPLIT_TRAIN);
    made->batches_per_epoch = (int64_t)(made->order_count / ((size_t)samples * parts_of(config)));
    made->claimed = made->taken = config->first_batch;
    made->claim_end = next_claim_end(made);
    made->epoch = -1;
    TRY_OUT(rows_make(&made->slots, batches_max));
    TRY_OUT(rows_make(&made->order, made->order_count));
    TRY_OUT(rows_make(&made->threads, config->workers));
    if (config->input == INPUT_CACHED || config->remembers)
        TRY_OUT(sample_cache_open(&made->cache, dataset));
    if (config->input == INPUT_CACHED)
        TRY_OUT(sample_cache_fill(made->cache, dataset));
    TRY_OUT(top_up(made));
    TRY_OUT(start_threads(made));

out:
    if (status != STATUS_OK) {
        loader_close(made);
        made = NULL;
    }
    *loader = made;
    return status;
}

void loader_close(struct loader *loader)
{
    if (loader == NULL)
        return;
    pthread_mutex_lock(&loader->mutex);
    atomic_store(&loader->is_stopping, true);
    pthread_cond_broadcast(&loader->claimable);
    pthread_mutex_unlock(&loader->mutex);
    join_threads(loader);
    for (int i = 0; i < loader->slot_count; i++) {
        loader->memory.free(loader->memory.context, loader->slots[i].batch.memory);
        free(loader->slots[i].samples);
    }
    free(loader->slots);
    free(loader->order);
    free(loader->threads);
    sample_cache_close(loader->cache);
    sample_reader_close(loader->reader);
    pthread_cond_destroy(&loader->claimable);
    pthread_cond_destroy(&loader->loaded);
    pthread_mutex_destroy(&loader->mutex);
    free(loader);
}

/* True when the workers have nothing left to claim: the epoch is over, or one of them starved. */
static bool threads_have_ended(struct loader *loader)
{
    bool ended;

    pthread_mutex_lock(&loader->mutex);
    ended = loader->config.workers > 0 && loader->taken == loader->claim_end;
    pthread_mutex_unlock(&loader->mutex);
    return ended;
}

bool loader_is_at_border(const struct loader *loader)
{
    return loader->taken > 0 && loader->taken % loader->batches_per_epoch == 0;
}

void loader_end_epoch(struct loader *loader)
{
    int64_t begin = clock_ns(), waited_ns;

    if (threads_have_ended(loader))
        join_threads(loader);
    pthread_mutex_lock(&loader->mutex);
    waited_ns = clock_ns() - begin;
    loader->statistics.wait_ns += waited_ns;
    loader->statistics.epoch_wait_ns += waited_ns;
    pthread_mutex_unlock(&loader->mutex);
}

/* Waits until the last thread has ended and starts new ones. */
static enum status restart_threads(struct loader *loader)
{
    enum status status;

    join_threads(loader);
    loader->claim_end = next_claim_end(loader);
    status = start_threads(loader);
    if (status != STATUS_OK)
        loader->broken = *status_last(); /* There may be no thread left to wait for. */
    return status;
}

/* Waits until the next batch is loaded, or loads it where there are no workers. With the mutex
 * held. NULL when the caller holds every slot. */
static struct slot *wait_for_next(struct loader *loader)
{
    for (;;) {
        struct slot *slot = find_next(loader);

        if (slot != NULL && slot->state != SLOT_LOADING)
            return slot;
        if (slot == NULL && find_free(loader) == NULL)
            return NULL;
        if (loader->config.workers > 0) {
            pthread_cond_wait(&loader->loaded, &loader->mutex);
            continue;
        }
        slot = find_free(loader);
        claim_next(loader, slot);
        load_claimed(loader, slot, &loader->reader, false);
    }
}

enum status loader_next(struct loader *loader, const struct batch **batch)
{
    enum status status = STATUS_OK;
    struct slot *slot;
    int64_t begin, waited_ns;
    bool is_late;

    *batch = NULL;
    if (loader->broken.status != STATUS_OK)
        TRY_OUT(status_raise(&loader->broken));
    TRY_OUT(top_up(loader));
    begin = clock_ns();
    if (threads_have_ended(loader))
        TRY_OUT(restart_threads(loader));
    pthread_mutex_lock(&loader->mutex);
    if (atomic_load(&loader->is_paused)) {
        atomic_store(&loader->is_paused, false);
        pthread_cond_broadcast(&loader->claimable);
    }
    slot = find_next(loader);
    /* Asked before the waiting: whether the loop has to wait at all. */
    is_late = slot == NULL || slot->state == SLOT_LOADING;
    slot = wait_for_next(loader);
    /* The worker has read the files, so they are in the page cache; the decoding is the loop's. */
    if (slot != NULL && slot->state == SLOT_READY && caller_collates(loader)) {
        load_claimed(loader, slot, &loader->reader, false);
        is_late = true;
    }
    waited_ns = clock_ns() - begin;
    loader->statistics.wait_ns += waited_ns;
    if (loader->taken % loader->batches_per_epoch == 0)
        loader->statistics.epoch_wait_ns += waited_ns;
    if (slot != NULL && slot->state == SLOT_READY) {
        slot->state = SLOT_TAKEN;
        loader->taken++;
        loader->statistics.batches++;
        loader->statistics.late += is_late;
        loader->statistics.samples += loader->layout.samples;
        pthread_cond_signal(&loader->claimable);
    }
    pthread_mutex_unlock(&loader->mutex);
    if (slot == NULL)
        FAIL_OUT(STATUS_INTERNAL,
                 "all %d batches are handed out; return one before taking the next",
                 loader->slots_max);
    if (slot->state == SLOT_FAILED)
        TRY_OUT(status_raise(&slot->error));
    *batch = &slot->batch;

out:
    if (status != STATUS_OK)
        status_context("loading training samples");
    return status;
}

void loader_return(struct loader *loader, const struct batch *batch)
{
    struct slot *slot = loader->slots;

    while (&slot->batch != batch) slot++;
    pthread_mutex_lock(&loader->mutex);
    slot->state = SLOT_FREE;
    pthread_cond_signal(&loader->claimable);
    pthread_mutex_unlock(&loader->mutex);
}

/* Returns when every thread waits, in go_on() or for a claim: none uses a core any more. */
void loader_pause(struct loader *loader)
{
    pthread_mutex_lock(&loader->mutex);
    atomic_store(&loader->is_paused, true);
    while (loader->active > 0) pthread_cond_wait(&loader->loaded, &loader->mutex);
    pthread_mutex_unlock(&loader->mutex);
}

int64_t loader_batches_per_epoch(const struct loader *loader)
{
    return loader->batches_per_epoch;
}

struct loader_statistics loader_statistics(struct loader *loader)
{
    struct loader_statistics statistics;

    pthread_mutex_lock(&loader->mutex);
    statistics = loader->statistics;
    for (int i = 0; i < loader->slot_count; i++)
        statistics.ready += loader->slots[i].state == SLOT_READY;
    pthread_mutex_unlock(&loader->mutex);
    return statistics;
}
