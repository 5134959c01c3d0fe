/* Work is sorted by start, so a kernel is used first at the work with which its name is first seen.
 * Calls and spans are found by their names. */
#include "harness/desk/analysis/timeline/first_uses.h"

#include "harness/base/bisect.h"
#include "harness/desk/analysis/names/event_names.h"

/* How calls and spans of one name count. */
enum first { FIRST_NOTHING, FIRST_LOAD, FIRST_COMPILATION, FIRST_PROFILER };

struct search {
    struct first_uses *uses;
    const struct timeline *timeline;
    bool *seen;         /* by name: a kernel of that name was launched */
    enum first *firsts; /* by name */
};

static int64_t duration_ns(const struct trace_event *event)
{
    return event->end_ns - event->start_ns;
}

/* The index of a call in the timeline's host events, which are sorted by thread and start. */
static int64_t place_of(const struct timeline *timeline, const struct trace_event *call)
{
    int64_t low = 0, high = timeline->host_count;

    BISECT(low, high, i, !trace_event_begins_by(call, timeline->host[i]));
    while (low < timeline->host_count && timeline->host[low] != call) low++;
    return low;
}

/* Loading, logging and saving have work of their own, and other rules. */
static bool looks_for_kernels(const struct timeline *timeline, const struct trace_event *operator)
{
    const char *name = trace_file_name(timeline->trace, operator->name);

    return !name_is_data_loading(name) && !name_is_logging(name) && !name_is_saving(name);
}

/* The innermost operator around the call, if nothing was launched in it before. */
static int64_t begin_of(const struct timeline *timeline, const struct trace_event *call)
{
    for (int64_t i = place_of(timeline, call); i-- > 0;) {
        const struct trace_event *event = timeline->host[i];
        if (event->track != call->track)
            break;
        if (trace_event_is_call(event) &&
            name_is_launch(trace_file_name(timeline->trace, event->name)))
            break;
        if (event->kind == EVENT_KIND_OPERATOR && event->end_ns >= call->end_ns)
            return looks_for_kernels(timeline, event) ? event->start_ns : call->start_ns;
    }
    return call->start_ns;
}

/* Adds a time, and remembers what took the longest. */
static void add_first_use(struct first_uses *uses, int64_t start_ns,
                          const struct trace_event *event, const struct trace_event *kernel)
{
    intervals_add(&uses->times, start_ns, event->end_ns);
    if (uses->longest == NULL || duration_ns(event) > duration_ns(uses->longest)) {
        uses->longest = event;
        uses->kernel = kernel;
    }
}

static void find_launches(struct search *search)
{
    const struct timeline *timeline = search->timeline;

    for (int64_t i = 0; i < timeline->work_count; i++) {
        const struct work *work = &timeline->work[i];
        if (work->event->kind != EVENT_KIND_KERNEL || search->seen[work->event->name])
            continue;
        search->seen[work->event->name] = true;
        if (work->call == NULL || duration_ns(work->call) < FIRST_USE_LONG_NS)
            continue;
        add_first_use(search->uses, begin_of(timeline, work->call), work->call, work->event);
        search->uses->launches++;
    }
}

/* Compilations nest, and the outermost comes first. */
static void find_by_name(struct search *search)
{
    const struct timeline *timeline = search->timeline;
    const struct trace_event *outer = NULL;

    for (int64_t i = 0; i < timeline->host_count; i++) {
        const struct trace_event *event = timeline->host[i];
        enum first first = search->firsts[event->name];
        if (first == FIRST_LOAD && trace_event_is_call(event)) {
            add_first_use(search->uses, begin_of(timeline, event), event, NULL);
            search->uses->loads++;
        }
        if (first != FIRST_COMPILATION || trace_event_is_call(event) ||
            (outer != NULL && outer->track == event->track && event->end_ns <= outer->end_ns))
            continue;
        outer = event;
        intervals_add(&search->uses->again, event->start_ns, event->end_ns);
        search->uses->compilations++;
    }
}

/* A warm-up compiles in the first steps, for each shape that it meets. */
static void take_compilations(struct search *search, const struct steps *steps)
{
    struct first_uses *uses = search->uses;
    const struct timeline *timeline = search->timeline;
    bool anew;

    intervals_merge(&uses->again);
    uses->compiling_steps = steps_that_have(&uses->again, steps, &anew);
    if (uses->compiling_steps >= COMPILING_STEPS_LEAST &&
        (anew || 2 * uses->compiling_steps > steps->count))
        return;
    uses->again.count = uses->compiling_steps = 0;
    for (int64_t i = 0; i < timeline->host_count && uses->compilations > 0; i++)
        if (search->firsts[timeline->host[i]->name] == FIRST_COMPILATION &&
            !trace_event_is_call(timeline->host[i]))
            add_first_use(uses, timeline->host[i]->start_ns, timeline->host[i], NULL);
}

static void find_captures(struct first_uses *uses, const struct captures *captures)
{
    if (captures->again)
        return;
    for (int64_t i = 0; i < captures->taken.count; i++)
        intervals_add(&uses->times, captures->taken.items[i].start_ns,
                      captures->taken.items[i].end_ns);
    uses->captures = captures->count;
    uses->instantiated = captures->instantiated;
}

/* Its rows are of no thread of the program. */
static void find_profiler(struct search *search)
{
    const struct trace_file *trace = search->timeline->trace;
    struct intervals *times = &search->uses->profiler;

    for (int64_t i = 0; i < trace->event_count; i++)
        if (trace->events[i].kind == EVENT_KIND_OVERHEAD &&
            search->firsts[trace->events[i].name] == FIRST_PROFILER)
            intervals_add(times, trace->events[i].start_ns, trace->events[i].end_ns);
    intervals_merge(times);
    search->uses->idle_profiler = timeline_idle_within(times->arena, search->timeline, times);
}

struct first_uses first_uses_of(struct arena *arena, const struct timeline *timeline,
                                const struct captures *captures, const struct steps *steps)
{
    uint32_t names = trace_file_name_count(timeline->trace);
    SCRATCH_ARENA(scratch, arena);
    struct first_uses uses = { .times.arena = arena,
                               .again.arena = arena,
                               .profiler.arena = arena };
    struct search search = { &uses, timeline, ARENA_NEW(scratch, bool, names),
                             ARENA_NEW(scratch, enum first, names) };

    for (uint32_t i = 0; i < names; i++) {
        const char *name = trace_file_name(timeline->trace, i);
        search.firsts[i] = name_loads_module(name)     ? FIRST_LOAD
                           : name_compiles(name)       ? FIRST_COMPILATION
                           : name_is_of_profiler(name) ? FIRST_PROFILER
                                                       : FIRST_NOTHING;
    }
    find_launches(&search);
    find_by_name(&search);
    take_compilations(&search, steps);
    find_captures(&uses, captures);
    find_profiler(&search);
    intervals_merge(&uses.times);
    uses.idle = timeline_idle_within(arena, timeline, &uses.times);
    uses.idle_again = timeline_idle_within(arena, timeline, &uses.again);
    return uses;
}
