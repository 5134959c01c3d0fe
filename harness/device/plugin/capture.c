/* The rules of a capture, which are the same for all devices. The captures of a thread are a list
 * in the thread, so a call that is unsafe during any of them finds them all without a lock; a
 * stream's own capture is in its slot. A call that is refused makes the capture invalid, which its
 * end reports. */
#include "harness/device/plugin/capture.h"

#include <stddef.h>

static _Thread_local struct capture *captures;

enum status capture_may_begin(capture_slot *slot, uint32_t stream)
{
    if (atomic_load(slot) != NULL)
        FAIL(STATUS_CAPTURE, "stream %u is being captured already; end that capture first", stream);

    return STATUS_OK;
}

void capture_begin(struct capture *capture, capture_slot *slot)
{
    capture->slot = slot;
    capture->thread = pthread_self();
    capture->next = captures;
    captures = capture;
    /* Last: another thread that finds it in the slot finds it whole. */
    atomic_store(slot, capture);
}

enum status capture_may_end(capture_slot *slot, uint32_t stream)
{
    const struct capture *capture = atomic_load(slot);

    if (capture == NULL)
        FAIL(STATUS_CAPTURE, "stream %u is not being captured; begin a capture first", stream);
    if (!pthread_equal(capture->thread, pthread_self()))
        FAIL(STATUS_CAPTURE, "stream %u is being captured by another thread, which must end it",
             stream);

    return STATUS_OK;
}

void capture_end(struct capture *capture)
{
    for (struct capture **link = &captures; *link != NULL; link = &(*link)->next)
        if (*link == capture) {
            *link = capture->next;
            break;
        }
    atomic_store(capture->slot, NULL);
}

enum status capture_check(struct capture *capture, uint32_t stream)
{
    if (atomic_load(&capture->invalid))
        FAIL(STATUS_CAPTURE,
             "the capture of stream %u failed: one of the calls during it was not allowed in a "
             "capture",
             stream);

    return STATUS_OK;
}

bool capture_is_open(void)
{
    return captures != NULL;
}

enum status capture_forbids(capture_slot *slot, const char *call)
{
    struct capture *capture = atomic_load(slot);

    if (capture != NULL) {
        atomic_store(&capture->invalid, true);
        FAIL(STATUS_CAPTURE,
             "%s is not possible while it is captured into a graph; do it before or after the "
             "capture",
             call);
    }

    return STATUS_OK;
}

/* The call would be unsafe during each of the thread's captures, so all of them become invalid. */
enum status capture_forbids_thread(const char *call)
{
    for (struct capture *capture = captures; capture != NULL; capture = capture->next)
        atomic_store(&capture->invalid, true);
    if (captures != NULL)
        FAIL(STATUS_CAPTURE,
             "%s is not possible while this thread captures a graph; do it before or after the "
             "capture",
             call);

    return STATUS_OK;
}

enum status capture_allows(capture_slot *slot, uint32_t stream)
{
    struct capture *capture = atomic_load(slot);

    if (capture != NULL && !pthread_equal(capture->thread, pthread_self())) {
        atomic_store(&capture->invalid, true);
        FAIL(STATUS_CAPTURE, "stream %u is being captured by another thread", stream);
    }

    return STATUS_OK;
}
