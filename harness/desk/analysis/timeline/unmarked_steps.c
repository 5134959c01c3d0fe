/* Steps that nothing marks, by work or by annotations that repeat.
 *
 * Work that a step launches once, its anchor, cuts the trace into pieces, which are steps if most
 * of them have the same work. Names of work are counted, and tried from the rarest on, up to
 * CANDIDATES_MOST of them: each try is one pass over the work. */
#include "harness/desk/analysis/timeline/unmarked_steps.h"

#include "harness/base/bisect.h"
#include "harness/base/hash.h"
#include "harness/base/sort.h"
#include "harness/desk/analysis/names/event_names.h"
#include "harness/desk/analysis/timeline/phases.h"

#include <string.h>

enum { CANDIDATES_MOST = 16 };

struct launched {
    const struct trace_event *call;
    uint32_t name; /* of the work */
    int64_t start_ns;
    bool crosses; /* a copy between host and device */
};

struct candidate {
    uint32_t name;
    int64_t count;
};

/* By name: a trace has far fewer names than events. */
struct named {
    bool waits, crosses, optimizes;
};

struct search {
    const struct timeline *timeline;
    struct arena *scratch;
    const struct named *named;
    struct launched *work; /* in the order of launches */
    int64_t count;
    int64_t *waits_ns; /* when waits begin, in the loop's order */
    int64_t wait_count;
    int64_t *by_name; /* counts, zeros between uses */
    int64_t *anchors; /* places of the candidate's work */
    int64_t anchor_count;
};

COMPARATOR(by_launch, struct launched, ASCENDING(call->start_ns) ?: ASCENDING(start_ns))

COMPARATOR(by_count, struct candidate, ASCENDING(count) ?: ASCENDING(name))

static const struct named *names_of(struct arena *scratch, const struct trace_file *trace)
{
    uint32_t count = trace_file_name_count(trace);
    struct named *named = ARENA_NEW(scratch, struct named, count);

    for (uint32_t i = 0; i < count; i++) {
        const char *name = trace_file_name(trace, i);
        named[i] = (struct named){
            .waits = name_is_wait(name),
            .crosses = strstr(name, "HtoD") != NULL || strstr(name, "DtoH") != NULL,
            .optimizes = strncmp(name, "Optimizer.step#", 15) == 0,
        };
    }
    return named;
}

static void collect_work(struct search *search)
{
    const struct timeline *timeline = search->timeline;

    for (int64_t i = 0; i < timeline->work_count; i++) {
        const struct work *work = &timeline->work[i];
        const struct trace_event *event = work->event;
        if (work->call != NULL)
            search->work[search->count++] =
                (struct launched){ work->call, event->name, event->start_ns,
                                   work->kind == WORK_COPY && search->named[event->name].crosses };
    }
    sort_items(search->work, search->count, sizeof *search->work, by_launch);
    for (int64_t i = 0; i < timeline->host_count; i++)
        if (search->named[timeline->host[i]->name].waits && trace_event_is_call(timeline->host[i]))
            search->waits_ns[search->wait_count++] = timeline->host[i]->start_ns;
    sort_int64(search->waits_ns, search->wait_count);
}

/* --- A try --- */

/* Pieces are measured in work, since a step may take any time. */
static int64_t length_of(const struct search *search, int64_t piece)
{
    return search->anchors[piece + 1] - search->anchors[piece];
}

/* The piece of median length, to which the others are compared. */
static int64_t typical_piece(const struct search *search)
{
    int64_t pieces = search->anchor_count - 1, best = 0;
    int64_t *lengths = ARENA_NEW(search->scratch, int64_t, pieces);

    for (int64_t i = 0; i < pieces; i++) lengths[i] = length_of(search, i);
    sort_int64(lengths, pieces);
    while (length_of(search, best) != lengths[pieces / 2]) best++;
    return best;
}

static void count_names(struct search *search, int64_t piece, int64_t by)
{
    for (int64_t i = search->anchors[piece]; i < search->anchors[piece + 1]; i++)
        search->by_name[search->work[i].name] += by;
}

/* How much of a piece's work the counted names have; what it takes from them it gives back. */
static int64_t common_with(struct search *search, int64_t piece)
{
    int64_t common = 0;

    for (int64_t i = search->anchors[piece]; i < search->anchors[piece + 1]; i++)
        common += search->by_name[search->work[i].name]-- > 0;
    count_names(search, piece, 1);
    return common;
}

/* Whether host and device meet in a piece, by a wait or by a copy, as they do in a step of
 * training. Kernels that repeat within a step do so without. */
static bool meets(const struct search *search, int64_t piece)
{
    int64_t start_ns = search->work[search->anchors[piece]].call->start_ns;
    int64_t end_ns = search->work[search->anchors[piece + 1]].call->start_ns;
    int64_t low = 0, high = search->wait_count;

    for (int64_t i = search->anchors[piece]; i < search->anchors[piece + 1]; i++)
        if (search->work[i].crosses)
            return true;
    BISECT(low, high, i, search->waits_ns[i] < start_ns);
    return low < search->wait_count && search->waits_ns[low] < end_ns;
}

/* Whether the pieces that are alike are most of the work, and of the time. */
static bool fills(const struct search *search, int64_t alike)
{
    int64_t last = search->anchors[search->anchor_count - 1];
    double ns = (double)(search->work[last].call->start_ns -
                         search->work[search->anchors[0]].call->start_ns);

    return (double)alike >= WORK_SHARE * (double)search->count &&
           ns >= WORK_SHARE * (double)search->timeline->all.span_ns;
}

/* Whether the work by that name is an anchor; its places are left in `anchors`. */
static bool repeats(struct search *search, uint32_t name)
{
    int64_t pieces, typical, same = 0, met = 0, alike = 0;

    search->anchor_count = 0;
    for (int64_t i = 0; i < search->count; i++)
        if (search->work[i].name == name)
            search->anchors[search->anchor_count++] = i;
    pieces = search->anchor_count - 1;
    typical = typical_piece(search);
    count_names(search, typical, 1);
    for (int64_t i = 0; i < pieces; i++) {
        double both = (double)(length_of(search, i) + length_of(search, typical));
        if (2 * (double)common_with(search, i) < WORK_ALIKE * both)
            continue;
        same++;
        met += meets(search, i);
        alike += length_of(search, i);
    }
    count_names(search, typical, -1);
    return (double)same >= WORK_PIECES * (double)pieces &&
           (double)met >= WORK_PIECES * (double)same && fills(search, alike);
}

/* --- All candidates --- */

/* False: none of them is one. */
static bool find_anchor(struct search *search, uint32_t *name)
{
    uint32_t names = trace_file_name_count(search->timeline->trace);
    struct candidate *candidates = ARENA_NEW(search->scratch, struct candidate, names);
    int64_t count = 0;

    for (int64_t i = 0; i < search->count; i++) search->by_name[search->work[i].name]++;
    for (uint32_t i = 0; i < names; i++) {
        if (search->by_name[i] > WORK_REPEATS_LEAST)
            candidates[count++] = (struct candidate){ i, search->by_name[i] };
        search->by_name[i] = 0;
    }
    sort_items(candidates, count, sizeof *candidates, by_count);
    for (int64_t i = 0; i < count && i < CANDIDATES_MOST; i++)
        if (repeats(search, candidates[i].name)) {
            *name = candidates[i].name;
            return true;
        }
    return false;
}

/* Calls of an optimizer mark steps better than work does. */
static bool has_optimizer(const struct search *search)
{
    for (int64_t i = 0; i < search->timeline->host_count; i++)
        if (search->named[search->timeline->host[i]->name].optimizes)
            return true;
    return false;
}

/* A step is an event of its own, on the thread that launches its anchor. */
static struct steps steps_between(struct arena *arena, const struct search *search, uint32_t name)
{
    int64_t count = search->anchor_count - 1;
    struct trace_event *events = ARENA_NEW(arena, struct trace_event, count);
    const struct trace_event **regions =
        ARENA_NEW(search->scratch, const struct trace_event *, count);
    struct steps steps;

    for (int64_t i = 0; i < count; i++) {
        const struct trace_event *call = search->work[search->anchors[i]].call;
        events[i] = (struct trace_event){
            .kind = EVENT_KIND_ANNOTATION,
            .detail = NO_DETAIL,
            .name = name,
            .track = call->track,
            .start_ns = call->start_ns,
            .end_ns = search->work[search->anchors[i + 1]].call->start_ns,
        };
        regions[i] = &events[i];
    }
    steps = steps_of_regions(arena, search->timeline, regions, count);
    steps.region = NULL;
    steps.anchor = trace_file_name(search->timeline->trace, name);
    return steps;
}

struct steps repeated_work_of(struct arena *arena, const struct timeline *timeline)
{
    SCRATCH_ARENA(scratch, arena);
    struct search search = {
        .timeline = timeline,
        .scratch = scratch,
        .named = names_of(scratch, timeline->trace),
        .work = ARENA_NEW(scratch, struct launched, timeline->work_count),
        .waits_ns = ARENA_NEW(scratch, int64_t, timeline->host_count),
        .by_name = ARENA_NEW(scratch, int64_t, trace_file_name_count(timeline->trace)),
        .anchors = ARENA_NEW(scratch, int64_t, timeline->work_count),
    };
    struct steps steps = steps_of_regions(arena, timeline, NULL, 0);
    uint32_t name;

    if (timeline->work_count > WORK_REPEATS_LEAST && !has_optimizer(&search)) {
        collect_work(&search);
        if (find_anchor(&search, &name))
            steps = steps_between(arena, &search, name);
    }
    return steps;
}

/* --- Regions that repeat --- */

/* Annotations are sorted by thread, name and start, so that those of a kind are neighbours. */

struct annotation {
    const struct trace_event *event;
    uint64_t name; /* a hash, without digits */
};

struct annotations {
    struct annotation *items;
    int64_t count;
};

/* "iteration 1" and "iteration 2" are of one kind, and so are an engine's prefill and decode. */
static uint64_t hash_of(const char *name)
{
    uint64_t hash = HASH_EMPTY;

    if (name_is_engine_step(name))
        return hash_add(hash, name, sizeof "step" - 1);
    for (; *name != '\0'; name++)
        if (*name < '0' || *name > '9')
            hash = hash_add(hash, name, 1);
    return hash;
}

/* Whether the name itself says what is done: then it is a part of a step, not a step. DLProf and
 * PyProf mark single operators by texts that are dicts of Python. */
static bool has_meaning(const char *name)
{
    enum phase phase;

    return phase_of_name(name, &phase) || name_is_data_loading(name) || name_is_logging(name) ||
           name_is_saving(name) || name_compiles(name) || name_is_communication(name) ||
           name_is_host_communication(name) || name[0] == '{' ||
           strncmp(name, "Optimizer.", 10) == 0;
}

COMPARATOR(by_thread_and_name, struct annotation,
           ASCENDING(event->track) ?: ASCENDING(name) ?: ASCENDING(event->start_ns))

static struct annotations collect_regions(struct arena *scratch, const struct timeline *timeline)
{
    struct annotations regions = { .items = ARENA_NEW(scratch, struct annotation,
                                                      timeline->host_count) };

    for (int64_t i = 0; i < timeline->host_count; i++) {
        const struct trace_event *event = timeline->host[i];
        const char *name = trace_file_name(timeline->trace, event->name);
        if (event->kind == EVENT_KIND_ANNOTATION && !has_meaning(name))
            regions.items[regions.count++] = (struct annotation){ event, hash_of(name) };
    }
    sort_items(regions.items, regions.count, sizeof *regions.items, by_thread_and_name);
    return regions;
}

/* The time that regions of a kind take, from number `first` to before `end`; 0: one is within
 * another. */
static int64_t covered_ns(const struct annotations *regions, int64_t first, int64_t end)
{
    int64_t ns = 0;

    for (int64_t i = first; i < end; i++) {
        const struct trace_event *event = regions->items[i].event;
        if (i > first && event->start_ns < regions->items[i - 1].event->end_ns)
            return 0;
        ns += event->end_ns - event->start_ns;
    }
    return ns;
}

/* From the first event of the host or of a device to the last. */
static int64_t recorded_ns(const struct timeline *timeline)
{
    int64_t start_ns = timeline->all.work_count > 0 ? timeline->all.start_ns : INT64_MAX;
    int64_t end_ns = timeline->all.work_count > 0 ? timeline->all.end_ns : INT64_MIN;

    for (int64_t i = 0; i < timeline->host_count; i++) {
        start_ns = interval_earlier(start_ns, timeline->host[i]->start_ns);
        end_ns = interval_later(end_ns, timeline->host[i]->end_ns);
    }
    return start_ns < end_ns ? end_ns - start_ns : 0;
}

struct steps repeated_regions_of(struct arena *arena, const struct timeline *timeline)
{
    SCRATCH_ARENA(scratch, arena);
    struct annotations regions = collect_regions(scratch, timeline);
    const struct trace_event **events =
        ARENA_NEW(scratch, const struct trace_event *, regions.count);
    double least_ns = REGIONS_SHARE * (double)recorded_ns(timeline);
    int64_t best = 0, best_count = 0, best_ns = 0, end;
    bool is_known, best_is_known = false;

    for (int64_t first = 0; first < regions.count; first = end) {
        int64_t ns;
        for (end = first + 1; end < regions.count &&
                              regions.items[end].name == regions.items[first].name &&
                              regions.items[end].event->track == regions.items[first].event->track;)
            end++;
        ns = end - first >= REGIONS_LEAST ? covered_ns(&regions, first, end) : 0;
        is_known =
            name_is_engine_step(trace_file_name(timeline->trace, regions.items[first].event->name));
        if (is_known >= best_is_known && (ns > best_ns || is_known > best_is_known) && ns > 0 &&
            (is_known || (double)ns >= least_ns)) {
            best = first;
            best_is_known = is_known;
            best_count = end - first;
            best_ns = ns;
        }
    }
    for (int64_t i = 0; i < best_count; i++) events[i] = regions.items[best + i].event;
    return steps_of_regions(arena, timeline, events, best_count);
}
