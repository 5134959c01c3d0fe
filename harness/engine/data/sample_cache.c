/* Decoded samples, kept from one training to the next in the same process: both variants of a
 * scenario train on the same data, and only the first has to decode it. A slot per sample is filled
 * once by compare-and-swap: readers take no lock. The list of caches that are open has a mutex,
 * which only opening and closing take. */
#include "harness/engine/data/sample_cache.h"

#include "harness/base/figures/quantity.h"
#include "harness/base/rows.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* One that was loaded. */
struct sample {
    int32_t label, length;
    bool is_replaced;
    unsigned char input[]; /* [sample_bytes] */
};

struct sample_cache {
    struct dataset_config config;
    struct dataset_identity identity;
    size_t sample_bytes;
    _Atomic(struct sample *) *samples; /* [identity.samples]; NULL: not loaded */
    atomic_bool has_damage;
    int users; /* guarded by open_caches.mutex, as what follows */
    struct sample_cache *next;
};

/* All that are open, and at most one that nobody uses. */
static struct {
    pthread_mutex_t mutex;
    struct sample_cache *first;
} open_caches = { .mutex = PTHREAD_MUTEX_INITIALIZER };

enum status sample_load_usable(struct sample_reader *reader, const struct dataset *dataset,
                               uint32_t index, void *input, int32_t *label, int32_t *length,
                               bool *is_replaced)
{
    uint32_t count = dataset_count(dataset, SPLIT_TRAIN);
    struct status_error first = { 0 };

    for (uint32_t tried = 0; tried < count; tried++) {
        enum status status =
            sample_load(reader, SPLIT_TRAIN, (index + tried) % count, input, label, length);
        *is_replaced = tried > 0;
        if (status != STATUS_BAD_INPUT)
            return status;
        if (tried == 0)
            first = *status_last();
    }
    FAIL(STATUS_BAD_INPUT, "none of the %u training samples can be loaded; the first tried: %.400s",
         count, first.text);
}

/* --- Who has it --- */

static void cache_free(struct sample_cache *cache)
{
    for (int64_t i = 0; cache->samples != NULL && i < cache->identity.samples; i++)
        free(atomic_load(&cache->samples[i]));
    free(cache->samples);
    free(cache);
}

/* Padding may differ between equal settings: then the samples are loaded once more. */
static bool is_cache_of(const struct sample_cache *cache, const struct dataset_config *config,
                        const struct dataset_identity *identity)
{
    return !atomic_load(&cache->has_damage) && cache->identity.samples == identity->samples &&
           cache->identity.files == identity->files &&
           memcmp(&cache->config, config, sizeof *config) == 0;
}

/* Frees what nobody uses. With the mutex held. */
static void drop_unused(void)
{
    struct sample_cache **at = &open_caches.first;

    while (*at != NULL) {
        struct sample_cache *cache = *at;
        if (cache->users > 0) {
            at = &cache->next;
            continue;
        }
        *at = cache->next;
        cache_free(cache);
    }
}

/* Adds an empty one. With the mutex held. */
static enum status add_cache(struct sample_cache **added, const struct dataset *dataset,
                             const struct dataset_identity *identity)
{
    enum status status = STATUS_OK;
    struct sample_cache *cache;

    drop_unused();
    TRY_OUT(rows_make(&cache, 1));
    cache->config = *dataset_config(dataset);
    cache->identity = *identity;
    cache->sample_bytes = dataset_sample_bytes(dataset);
    TRY_OUT(rows_make(&cache->samples, identity->samples));
    cache->next = open_caches.first;
    open_caches.first = cache;

out:
    if (status != STATUS_OK && cache != NULL) {
        cache_free(cache);
        cache = NULL;
    }
    *added = cache;
    return status;
}

enum status sample_cache_open(struct sample_cache **cache, const struct dataset *dataset)
{
    enum status status = STATUS_OK;
    const struct dataset_identity identity = dataset_identity(dataset);
    struct sample_cache *found;

    pthread_mutex_lock(&open_caches.mutex);
    found = open_caches.first;
    while (found != NULL && !is_cache_of(found, dataset_config(dataset), &identity))
        found = found->next;
    if (found == NULL)
        TRY_OUT(add_cache(&found, dataset, &identity));
    found->users++;

out:
    pthread_mutex_unlock(&open_caches.mutex);
    *cache = found;
    return status;
}

void sample_cache_close(struct sample_cache *cache)
{
    if (cache == NULL)
        return;
    pthread_mutex_lock(&open_caches.mutex);
    /* The last user leaves it in the list for the next training; one with a damaged sample is not
     * kept, so that whoever opens the files next finds the damage too. */
    if (cache->users > 1 || atomic_load(&cache->has_damage)) {
        cache->users--;
        drop_unused();
    } else {
        drop_unused();
        cache->users--;
    }
    pthread_mutex_unlock(&open_caches.mutex);
}

/* --- Samples --- */

void sample_cache_put(struct sample_cache *cache, uint32_t index, const void *input, int32_t label,
                      int32_t length, bool is_replaced)
{
    struct sample *sample = malloc(sizeof *sample + cache->sample_bytes), *none = NULL;

    /* Without memory the sample is decoded again the next time. */
    if (sample == NULL)
        return;
    *sample = (struct sample){ .label = label, .length = length, .is_replaced = is_replaced };
    memcpy(sample->input, input, cache->sample_bytes);
    if (is_replaced)
        atomic_store(&cache->has_damage, true);
    if (!atomic_compare_exchange_strong(&cache->samples[index], &none, sample))
        free(sample);
}

bool sample_cache_get(const struct sample_cache *cache, uint32_t index, void *input, int32_t *label,
                      int32_t *length, bool *is_replaced)
{
    const struct sample *sample =
        atomic_load_explicit(&cache->samples[index], memory_order_acquire);

    if (sample == NULL)
        return false;
    memcpy(input, sample->input, cache->sample_bytes);
    *label = sample->label;
    *length = sample->length;
    *is_replaced = sample->is_replaced;
    return true;
}

/* A sample may be there already, from whoever had the cache before. */
static enum status fill_one(struct sample_cache *cache, struct sample_reader *reader,
                            const struct dataset *dataset, uint32_t index, void *input)
{
    int32_t label, length;
    bool is_replaced;

    if (atomic_load(&cache->samples[index]) != NULL)
        return STATUS_OK;
    TRY(sample_load_usable(reader, dataset, index, input, &label, &length, &is_replaced));
    sample_cache_put(cache, index, input, label, length, is_replaced);
    if (atomic_load(&cache->samples[index]) == NULL)
        FAIL(STATUS_OUT_OF_MEMORY,
             "no memory for the %s that %" PRId64 " decoded samples take; use "
             "input=decoded or smaller images",
             quantity_bytes((double)cache->identity.samples * (double)cache->sample_bytes).text,
             cache->identity.samples);

    return STATUS_OK;
}

enum status sample_cache_fill(struct sample_cache *cache, const struct dataset *dataset)
{
    enum status status = STATUS_OK;
    struct sample_reader *reader = NULL;
    unsigned char *input = NULL;
    double bytes = (double)cache->identity.samples * (double)cache->sample_bytes;
    double machine_bytes = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);

    /* malloc would grant more than there is, and the kernel would end the process later. */
    if (bytes > machine_bytes)
        FAIL(STATUS_OUT_OF_MEMORY,
             "the %" PRId64 " decoded samples take %s, more than this machine's "
             "%s; use input=decoded or smaller images",
             cache->identity.samples, quantity_bytes(bytes).text,
             quantity_bytes(machine_bytes).text);
    TRY_OUT(rows_make(&input, (int64_t)cache->sample_bytes));
    TRY_OUT(sample_reader_open(&reader, dataset));
    for (uint32_t i = 0; i < cache->identity.samples; i++)
        TRY_OUT(fill_one(cache, reader, dataset, i, input));

out:
    sample_reader_close(reader);
    free(input);
    return status;
}
