/* The index is a file in memory, which views map. The page table of a view says of each page
 * whether it is the file's or a copy. */
#include "harness/engine/data/sample_index.h"

#include "harness/base/rows.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { NOTES = 64 }; /* on a sample: as objects a page of 4 KiB */

/* As an object, with what else one has: its type, its length, its hash. */
struct note {
    uint64_t references, value, others[6];
};

/* Bits of an entry of the page table. */
#define PAGE_IS_PRESENT ((uint64_t)1 << 63)
#define PAGE_IS_SWAPPED ((uint64_t)1 << 62)
#define PAGE_IS_FILES   ((uint64_t)1 << 61)

struct index_view {
    struct sample_index *index;
    void *memory;
    struct index_view *next;
};

struct sample_index {
    enum index_form form;
    size_t bytes;
    int file;
    pthread_mutex_t mutex; /* guards what follows */
    struct index_view *views;
};

static enum status map(const struct sample_index *index, int flags, void **memory)
{
    *memory = mmap(NULL, index->bytes, PROT_READ | PROT_WRITE, flags, index->file, 0);
    if (*memory == MAP_FAILED)
        FAIL(STATUS_OUT_OF_MEMORY, "the %zu bytes of the index cannot be mapped: %s", index->bytes,
             strerror(errno));

    return STATUS_OK;
}

enum status sample_index_open(struct sample_index **opened, enum index_form form, uint32_t samples)
{
    enum status status = STATUS_OK;
    struct sample_index *index;
    size_t notes = (size_t)samples * NOTES;
    void *memory;

    *opened = NULL;
    TRY_OUT(rows_make(&index, 1));
    pthread_mutex_init(&index->mutex, NULL);
    index->form = form;
    index->bytes = notes * (form == INDEX_OBJECTS ? sizeof(struct note) : sizeof(uint64_t));
    index->file = memfd_create("index", MFD_CLOEXEC);
    if (index->file < 0 || ftruncate(index->file, (off_t)index->bytes) != 0)
        FAIL_OUT(STATUS_IO, "no index of %zu bytes can be made: %s", index->bytes, strerror(errno));
    TRY_OUT(map(index, MAP_SHARED, &memory));
    for (size_t i = 0; i < notes; i++)
        if (form == INDEX_OBJECTS)
            ((struct note *)memory)[i] = (struct note){ .references = 1, .value = i };
        else
            ((uint64_t *)memory)[i] = i;
    munmap(memory, index->bytes);
    *opened = index;
    index = NULL;

out:
    sample_index_close(index);
    return status;
}

void sample_index_close(struct sample_index *index)
{
    if (index == NULL)
        return;
    if (index->file >= 0)
        close(index->file);
    pthread_mutex_destroy(&index->mutex);
    free(index);
}

enum status index_view_open(struct index_view **opened, struct sample_index *index)
{
    enum status status = STATUS_OK;
    struct index_view *view;

    *opened = NULL;
    TRY_OUT(rows_make(&view, 1));
    view->index = index;
    TRY_OUT(map(index, MAP_PRIVATE, &view->memory));
    pthread_mutex_lock(&index->mutex);
    view->next = index->views;
    index->views = view;
    pthread_mutex_unlock(&index->mutex);
    *opened = view;
    view = NULL;

out:
    free(view);
    return status;
}

void index_view_close(struct index_view *view)
{
    struct sample_index *index;
    struct index_view **place;

    if (view == NULL)
        return;
    index = view->index;
    pthread_mutex_lock(&index->mutex);
    place = &index->views;
    while (*place != view) place = &(*place)->next;
    *place = view->next;
    pthread_mutex_unlock(&index->mutex);
    munmap(view->memory, index->bytes);
    free(view);
}

/* Volatile, so that no compiler leaves out a reference that is given back at once. */
static uint64_t look_up(volatile struct note *note)
{
    uint64_t value;

    note->references++;
    value = note->value;
    note->references--;
    return value;
}

uint64_t index_view_read(struct index_view *view, uint32_t sample)
{
    size_t first = (size_t)sample * NOTES;
    uint64_t sum = 0;

    for (size_t i = first; i < first + NOTES; i++)
        sum += view->index->form == INDEX_OBJECTS ? look_up((struct note *)view->memory + i)
                                                  : ((volatile uint64_t *)view->memory)[i];
    return sum;
}

/* -1: the kernel does not show the page table. */
static int64_t count_copies(const struct index_view *view, int page_table, size_t page_bytes)
{
    size_t pages = (view->index->bytes + page_bytes - 1) / page_bytes;
    size_t first = (size_t)(uintptr_t)view->memory / page_bytes;
    int64_t copies = 0;

    for (size_t i = 0; i < pages; i++) {
        uint64_t entry;

        if (pread(page_table, &entry, sizeof entry, (off_t)((first + i) * sizeof entry)) !=
            (ssize_t)sizeof entry)
            return -1;
        copies +=
            (entry & (PAGE_IS_PRESENT | PAGE_IS_SWAPPED)) != 0 && (entry & PAGE_IS_FILES) == 0;
    }
    return copies;
}

double sample_index_copied_bytes(struct sample_index *index)
{
    int page_table = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
    double bytes = page_table >= 0 ? 0 : NAN;

    pthread_mutex_lock(&index->mutex);
    for (struct index_view *view = index->views; view != NULL && !isnan(bytes); view = view->next) {
        int64_t copies = count_copies(view, page_table, page_bytes);

        bytes = copies >= 0 ? bytes + (double)copies * (double)page_bytes : NAN;
    }
    pthread_mutex_unlock(&index->mutex);
    if (page_table >= 0)
        close(page_table);
    return bytes;
}
