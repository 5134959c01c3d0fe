/* Writes a set of images with all cores. Threads take the images in order from one counter, and the
 * first failure ends all of them. Each thread has a worker of its own (a decoder, a painter), which
 * the set opens and closes. */
#include "harness/engine/data/images/image_set.h"

#include "harness/base/system/files.h"
#include "harness/base/system/machine.h"
#include "harness/base/system/thread.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

enum { THREADS_MOST = 64 };

struct writing {
    const struct image_set *set;
    const char *folder;
    atomic_uint next; /* the first image that no thread has taken */
    pthread_mutex_t mutex;
    struct status_error error; /* the first; guarded by the mutex */
};

/* The work of one thread. */
static void *write_share(void *argument)
{
    struct writing *writing = argument;
    const struct image_set *set = writing->set;
    void *worker = NULL;
    enum status status = set->open(set->context, &worker);

    while (status == STATUS_OK) {
        uint32_t number = atomic_fetch_add(&writing->next, 1);

        if (number >= set->count)
            break;
        status = set->write(worker, number, writing->folder);
    }
    if (status != STATUS_OK) {
        pthread_mutex_lock(&writing->mutex);
        if (writing->error.status == STATUS_OK)
            writing->error = *status_last();
        pthread_mutex_unlock(&writing->mutex);
        atomic_store(&writing->next, set->count); /* Nothing is left for the others. */
    }
    set->close(worker);
    return NULL;
}

enum status image_set_write(const struct image_set *set, const char *folder)
{
    struct writing writing = { .set = set, .folder = folder, .mutex = PTHREAD_MUTEX_INITIALIZER };
    pthread_t threads[THREADS_MOST];
    int wanted = machine_cores() - 1, count = 0;

    if (wanted > THREADS_MOST)
        wanted = THREADS_MOST;
    /* Where no more can be started, those that run do all the work, with this thread. */
    while (count < wanted && thread_start(&threads[count], "images", write_share, &writing) == 0)
        count++;
    write_share(&writing);
    for (int i = 0; i < count; i++) pthread_join(threads[i], NULL);
    pthread_mutex_destroy(&writing.mutex);
    return writing.error.status == STATUS_OK ? STATUS_OK : status_raise(&writing.error);
}

enum status image_set_write_file(const char *path, const void *bytes, size_t count)
{
    enum status status = STATUS_OK;
    int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);

    if (file < 0 || !write_all(file, bytes, count))
        FAIL_OUT(STATUS_IO,
                 "%.300s cannot be written: %s; make room, or set CHOKEPOINT_CACHE to a folder "
                 "on another disk",
                 path, strerror(errno));

out:
    if (file >= 0)
        close(file);
    return status;
}
