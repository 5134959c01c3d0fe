#include "scenarios/training/data/sample_cache.h"

#include "harness/base/figures/quantity.h"
#include "harness/base/rows.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct sample_cache {
    size_t sample_bytes;
    unsigned char *inputs; /* [samples] of sample_bytes */
    int32_t *labels, *lengths;
    bool *is_replaced;
};

enum status sample_load_usable(struct sample_reader *reader, const struct dataset *dataset,
                               uint32_t index, void *input, int32_t *label, int32_t *length,
                               bool *is_replaced)
{
    enum status status = STATUS_OK;
    uint32_t count = dataset_count(dataset, SPLIT_TRAIN);
    struct status_error first = { 0 };

    for (uint32_t tried = 0; tried < count; tried++) {
        status = sample_load(reader, SPLIT_TRAIN, (index + tried) % count, input, label, length);
        *is_replaced = tried > 0;
        if (status != STATUS_BAD_INPUT)
            return status;
        if (tried == 0)
            first = *status_last();
    }
    FAIL_OUT(STATUS_BAD_INPUT,
             "none of the %u training samples can be loaded; the first tried: %.400s", count,
             first.text);

out:
    return status;
}

static enum status allocate(struct sample_cache *cache, size_t count)
{
    double bytes = (double)count * (double)cache->sample_bytes;
    double machine_bytes = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);

    /* malloc would grant more than there is, and the kernel would end the process later. */
    if (bytes > machine_bytes)
        FAIL(STATUS_OUT_OF_MEMORY,
             "the %zu decoded samples take %s, more than this machine's "
             "%s; use input=decoded or smaller images",
             count, quantity_bytes(bytes).text, quantity_bytes(machine_bytes).text);
    cache->inputs = malloc(count * cache->sample_bytes);
    cache->labels = malloc(count * sizeof *cache->labels);
    cache->lengths = malloc(count * sizeof *cache->lengths);
    cache->is_replaced = malloc(count * sizeof *cache->is_replaced);
    if (cache->inputs == NULL || cache->labels == NULL || cache->lengths == NULL ||
        cache->is_replaced == NULL)
        FAIL(STATUS_OUT_OF_MEMORY,
             "no memory for the %s that %zu decoded samples take; use "
             "input=decoded or smaller images",
             quantity_bytes(bytes).text, count);

    return STATUS_OK;
}

enum status sample_cache_open(struct sample_cache **cache, const struct dataset *dataset)
{
    enum status status = STATUS_OK;
    uint32_t count = dataset_count(dataset, SPLIT_TRAIN);
    struct sample_reader *reader = NULL;
    struct sample_cache *made;

    TRY_OUT(rows_make(&made, 1));
    made->sample_bytes = dataset_sample_bytes(dataset);
    TRY_OUT(allocate(made, count));
    TRY_OUT(sample_reader_open(&reader, dataset));
    for (uint32_t i = 0; i < count; i++)
        TRY_OUT(sample_load_usable(reader, dataset, i, made->inputs + i * made->sample_bytes,
                                   &made->labels[i], &made->lengths[i], &made->is_replaced[i]));

out:
    sample_reader_close(reader);
    if (status != STATUS_OK) {
        sample_cache_close(made);
        made = NULL;
    }
    *cache = made;
    return status;
}

void sample_cache_close(struct sample_cache *cache)
{
    if (cache == NULL)
        return;
    free(cache->inputs);
    free(cache->labels);
    free(cache->lengths);
    free(cache->is_replaced);
    free(cache);
}

void sample_cache_get(const struct sample_cache *cache, uint32_t index, void *input, int32_t *label,
                      int32_t *length, bool *is_replaced)
{
    memcpy(input, cache->inputs + index * cache->sample_bytes, cache->sample_bytes);
    *label = cache->labels[index];
    *length = cache->lengths[index];
    *is_replaced = cache->is_replaced[index];
}
