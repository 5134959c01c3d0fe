/* A mutex per shard: who reads one holds up only those who need it. */
#include "harness/engine/data/shards.h"

#include "harness/base/rows.h"
#include "harness/base/system/files.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct shard {
    pthread_mutex_t mutex; /* guards what follows */
    unsigned char *bytes;  /* NULL: it has to be read */
    uint32_t left;         /* samples to be used until it is forgotten */
};

struct shards {
    int file;
    bool drops_cache;
    uint32_t count, added;
    size_t *offsets; /* [count + 1], of samples in the file */
    struct shard *items;
};

static uint32_t shard_count(const struct shards *shards)
{
    return (shards->count + SHARD_SAMPLES - 1) / SHARD_SAMPLES;
}

enum status shards_open(struct shards **opened, const char *folder, uint32_t count,
                        bool drops_cache)
{
    enum status status = STATUS_OK;
    struct shards *shards;
    char path[PATH_MAX];

    *opened = NULL;
    TRY_OUT(rows_make(&shards, 1));
    shards->file = -1;
    shards->drops_cache = drops_cache;
    shards->count = count;
    TRY_OUT(rows_make(&shards->offsets, (int64_t)count + 1));
    TRY_OUT(rows_make(&shards->items, shard_count(shards)));
    for (uint32_t i = 0; i < shard_count(shards); i++)
        pthread_mutex_init(&shards->items[i].mutex, NULL);
    snprintf(path, sizeof path, "%s/.shards-XXXXXX", folder);
    shards->file = mkostemp(path, O_CLOEXEC);
    if (shards->file < 0)
        FAIL_OUT(
            STATUS_IO,
            "no shards can be made in %.300s: %s; set CHOKEPOINT_CACHE to a folder that can be "
            "written to, or storage=files",
            folder, strerror(errno));
    unlink(path);
    *opened = shards;
    shards = NULL;

out:
    shards_close(shards);
    return status;
}

void shards_close(struct shards *shards)
{
    if (shards == NULL)
        return;
    for (uint32_t i = 0; shards->items != NULL && i < shard_count(shards); i++) {
        pthread_mutex_destroy(&shards->items[i].mutex);
        free(shards->items[i].bytes);
    }
    if (shards->file >= 0)
        close(shards->file);
    free(shards->items);
    free(shards->offsets);
    free(shards);
}

enum status shards_add(struct shards *shards, const void *bytes, size_t size)
{
    size_t *offset = &shards->offsets[shards->added++];

    offset[1] = offset[0] + size;
    if (!write_all(shards->file, bytes, size))
        FAIL(STATUS_IO, "shards cannot be written: %s; make room, or set storage=files",
             strerror(errno));

    return STATUS_OK;
}

enum status shards_finish(struct shards *shards)
{
    if (fsync(shards->file) != 0)
        FAIL(STATUS_IO, "shards cannot be written: %s; make room, or set storage=files",
             strerror(errno));

    return STATUS_OK;
}

size_t shards_size(const struct shards *shards, uint32_t index)
{
    return shards->offsets[index + 1] - shards->offsets[index];
}

/* With the shard's mutex held. */
static enum status read_shard(struct shards *shards, uint32_t number)
{
    struct shard *shard = &shards->items[number];
    uint32_t first = number * SHARD_SAMPLES, end = first + SHARD_SAMPLES;
    size_t from, size, done = 0;

    end = end < shards->count ? end : shards->count;
    from = shards->offsets[first];
    size = shards->offsets[end] - from;
    if (shards->drops_cache)
        posix_fadvise(shards->file, (off_t)from, (off_t)size, POSIX_FADV_DONTNEED);
    TRY(rows_make(&shard->bytes, (int64_t)size + 1));
    while (done < size) {
        ssize_t count = pread(shards->file, shard->bytes + done, size - done, (off_t)(from + done));
        if (count < 0 && errno == EINTR)
            continue;
        if (count <= 0) {
            int error = count < 0 ? errno : EIO;
            free(shard->bytes);
            shard->bytes = NULL;
            FAIL(STATUS_IO, "a shard cannot be read: %s", strerror(error));
        }
        done += (size_t)count;
    }
    shard->left = end - first;

    return STATUS_OK;
}

enum status shards_take(struct shards *shards, uint32_t index, void *bytes, bool *reads)
{
    enum status status = STATUS_OK;
    struct shard *shard = &shards->items[index / SHARD_SAMPLES];
    size_t first = shards->offsets[index / SHARD_SAMPLES * SHARD_SAMPLES];

    pthread_mutex_lock(&shard->mutex);
    *reads = shard->bytes == NULL;
    if (*reads)
        TRY_OUT(read_shard(shards, index / SHARD_SAMPLES));
    memcpy(bytes, shard->bytes + (shards->offsets[index] - first), shards_size(shards, index));
    if (--shard->left == 0) {
        free(shard->bytes);
        shard->bytes = NULL;
    }

out:
    pthread_mutex_unlock(&shard->mutex);
    return status;
}
