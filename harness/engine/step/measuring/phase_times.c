/* Times the phases of a step on the device. A mark is an event and the phase that it ends; a
 * phase's time is that since the mark before. All events are created at the opening, so that timing
 * allocates nothing in a step. */
#include "harness/engine/step/measuring/phase_times.h"

#include "harness/base/rows.h"

#include <stdlib.h>

struct mark {
    struct event *event;
    enum timed_phase ended;
};

struct phase_times {
    struct mark *marks; /* [most]; those from `count` on are not used */
    int most, count;
};

enum status phase_times_open(struct phase_times **opened, struct device *device, int most)
{
    enum status status = STATUS_OK;
    struct phase_times *times;

    *opened = NULL;
    TRY_OUT(rows_make(&times, 1));
    times->most = most;
    TRY_OUT(rows_make(&times->marks, most));
    for (int i = 0; i < most; i++) TRY_OUT(event_create(device, true, &times->marks[i].event));
    *opened = times;
    times = NULL;

out:
    phase_times_close(times);
    return status;
}

void phase_times_close(struct phase_times *times)
{
    if (times == NULL)
        return;
    for (int i = 0; times->marks != NULL && i < times->most; i++)
        event_destroy(times->marks[i].event);
    free(times->marks);
    free(times);
}

void phase_times_restart(struct phase_times *times)
{
    times->count = 0;
}

struct event *phase_times_next(struct phase_times *times, enum timed_phase ended)
{
    struct mark *mark = &times->marks[times->count++];

    mark->ended = ended;
    return mark->event;
}

enum status phase_times_read(const struct phase_times *times, struct phase_ns *ns)
{
    double sums[] = { [TIMED_OPTIMIZER] = 0 };

    for (int i = 1; i < times->count; i++) {
        double elapsed_ns = 0;
        TRY(event_elapsed(times->marks[i - 1].event, times->marks[i].event, &elapsed_ns));
        sums[times->marks[i].ended] += elapsed_ns;
    }
    *ns = (struct phase_ns){ sums[TIMED_FORWARD], sums[TIMED_BACKWARD], sums[TIMED_COMMUNICATION],
                             sums[TIMED_OPTIMIZER] };

    return STATUS_OK;
}
