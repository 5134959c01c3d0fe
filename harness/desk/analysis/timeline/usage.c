/* Work comes in order of its start. So of a set of work only its end matters: from the start of the
 * next work to that end the set has no gap. Nothing but that end is kept for each kind, for both
 * kinds of kernels (`kernel`), and for copies and memsets (`memory`). */
#include "harness/desk/analysis/timeline/usage.h"

#include "harness/desk/analysis/timeline/intervals.h"

const char *work_kind_name(enum work_kind kind)
{
    static const char *const names[] = { "computation", "copy", "memset", "communication" };

    return (unsigned)kind < WORK_KIND_COUNT ? names[kind] : "unknown";
}

const char *idle_cause_name(enum idle_cause cause)
{
    static const char *const names[] = { "host_wait", "device_wait", "other" };

    return (unsigned)cause < IDLE_CAUSE_COUNT ? names[cause] : "unknown";
}

/* The time that the work adds to a set, whose end moves with it. */
static struct interval extend(int64_t *end_ns, const struct trace_event *event)
{
    struct interval added = { interval_later(event->start_ns, *end_ns), event->end_ns };

    *end_ns = interval_later(*end_ns, event->end_ns);
    added.end_ns = interval_later(added.start_ns, added.end_ns);
    return added;
}

static int64_t length(struct interval interval)
{
    return interval.end_ns - interval.start_ns;
}

/* How much of the added time another set covers as well. */
static int64_t shared(struct interval added, int64_t end_ns)
{
    return interval_later(0, interval_earlier(added.end_ns, end_ns) - added.start_ns);
}

static enum idle_cause cause_of(const struct work *work, int64_t idle_since_ns)
{
    if (work->call == NULL)
        return IDLE_OTHER;
    if (work->call->start_ns > idle_since_ns)
        return IDLE_HOST_WAIT;
    return work->event->start_ns - idle_since_ns < IDLE_DEVICE_WAIT_NS ? IDLE_DEVICE_WAIT
                                                                       : IDLE_OTHER;
}

static void begin_or_wait(struct measuring *measuring, const struct work *work)
{
    struct usage *usage = measuring->usage;
    int64_t start = work->event->start_ns;

    if (usage->work_count++ == 0) {
        usage->start_ns = usage->end_ns = start;
        measuring->kernel_end_ns = measuring->memory_end_ns = start;
        for (int kind = 0; kind < WORK_KIND_COUNT; kind++) measuring->kinds_end_ns[kind] = start;
    } else if (start > usage->end_ns) {
        usage->idle_cause_ns[cause_of(work, usage->end_ns)] += start - usage->end_ns;
        usage->idle_ns += start - usage->end_ns;
    }
    usage->end_ns = interval_later(usage->end_ns, work->event->end_ns);
}

/* Time that two sets share counts when the later of both adds it. */
void usage_add(struct measuring *measuring, const struct work *work)
{
    struct usage *usage = measuring->usage;
    int64_t *ends = measuring->kinds_end_ns;
    struct interval added;

    begin_or_wait(measuring, work);
    added = extend(&ends[work->kind], work->event);
    usage->kind_ns[work->kind] += length(added);
    switch (work->kind) {
    case WORK_COMPUTATION:
        usage->communication_overlap_ns += shared(added, ends[WORK_COMMUNICATION]);
        break;
    case WORK_COMMUNICATION:
        usage->communication_overlap_ns += shared(added, ends[WORK_COMPUTATION]);
        break;
    case WORK_COPY:
        usage->copy_exposed_ns += length(added) - shared(added, measuring->kernel_end_ns);
        break;
    default:
        break;
    }
    if (work->kind == WORK_COMPUTATION || work->kind == WORK_COMMUNICATION) {
        added = extend(&measuring->kernel_end_ns, work->event);
        usage->kernel_ns += length(added);
        usage->copy_exposed_ns -= shared(added, ends[WORK_COPY]);
        usage->memory_exposed_ns -= shared(added, measuring->memory_end_ns);
    } else {
        added = extend(&measuring->memory_end_ns, work->event);
        usage->memory_ns += length(added);
        usage->memory_exposed_ns += length(added) - shared(added, measuring->kernel_end_ns);
    }
}

void usage_finish(struct usage *usage)
{
    usage->span_ns = usage->end_ns - usage->start_ns;
    usage->busy_ns = usage->span_ns - usage->idle_ns;
    usage->communication_exposed_ns =
        usage->kind_ns[WORK_COMMUNICATION] - usage->communication_overlap_ns;
}
