/* Calls are known by their names: those of Python's files and archives, of decoders and transforms,
 * and of functions that collate. */
#include "harness/desk/diagnosis/rules/loading_parts.h"

#include "harness/base/status.h"
#include "harness/desk/analysis/names/event_names.h"
#include "harness/desk/diagnosis/rules/rules.h"

#include <math.h>
#include <string.h>

enum { READING, COLLATING, PREPARING, PART_COUNT };

enum { PARTS_MOST = 12 };

static const struct {
    const char *names[PARTS_MOST]; /* of functions, as PyTorch's profiler writes them */
} parts[PART_COUNT] = {
    [READING] = { { "built-in method read", "method 'read", "function open>", "method open",
                    "function read", "function stat>", "method recv", "npyio.py", "fromfile",
                    "lmdb", "method get of Transaction" } },
    [COLLATING] = { { "collate", "aten::stack", "aten::cat", "function stack>" } },
    [PREPARING] = { { "decode", "imread", "decompress", "transforms/", "ImageFile.py", "resize",
                      "preprocess", "augment", "convert", "loads>", "tokeniz" } },
};

static bool is_of_part(const char *name, int part)
{
    for (int i = 0; i < PARTS_MOST && parts[part].names[i] != NULL; i++)
        if (strstr(name, parts[part].names[i]) != NULL)
            return true;
    return false;
}

static bool is_of_loop(const struct facts *facts, uint32_t track)
{
    return facts->summary->host.has_loop && track == facts->summary->host.loop;
}

/* The times of each part on the loop's thread. */
static void gather_calls(struct intervals times[PART_COUNT], const struct facts *facts)
{
    const struct trace_file *trace = facts->summary->trace;
    uint32_t names = trace_file_name_count(trace);
    uint8_t *are = ARENA_NEW(times[0].arena, uint8_t, names); /* a bit for each part */

    for (uint32_t i = 0; i < names; i++)
        for (int part = 0; part < PART_COUNT; part++)
            are[i] = (uint8_t)(are[i] | is_of_part(trace_file_name(trace, i), part) << part);
    for (int part = 0; part < PART_COUNT; part++) {
        for (int64_t i = 0; i < trace->frame_count; i++)
            if (are[trace->frames[i].name] >> part & 1 &&
                is_of_loop(facts, trace->frames[i].track) && !trace->frames[i].is_stack)
                intervals_add(&times[part], trace->frames[i].start_ns, trace->frames[i].end_ns);
        for (int64_t i = 0; i < trace->event_count; i++)
            if (are[trace->events[i].name] >> part & 1 &&
                trace->events[i].kind == EVENT_KIND_OPERATOR &&
                is_of_loop(facts, trace->events[i].track))
                intervals_add(&times[part], trace->events[i].start_ns, trace->events[i].end_ns);
        intervals_merge(&times[part]);
    }
}

/* Time that is in an earlier part is in no later one. */
static void take_earlier(struct intervals times[PART_COUNT])
{
    for (int part = 1; part < PART_COUNT; part++)
        for (int earlier = 0; earlier < part; earlier++) {
            struct intervals rest = { .arena = times[part].arena };
            intervals_without(&rest, &times[part], &times[earlier]);
            times[part] = rest;
        }
}

static struct loading_parts parts_of_loop(const struct facts *facts)
{
    const struct host_activity *host = &facts->summary->host;
    SCRATCH_ARENA(scratch, facts->summary->arena);
    struct intervals times[PART_COUNT];
    double ns[PART_COUNT] = { 0 }, all = 0;

    for (int part = 0; part < PART_COUNT; part++)
        times[part] = (struct intervals){ .arena = scratch };
    gather_calls(times, facts);
    take_earlier(times);
    for (int64_t i = 0; i < host->count; i++) {
        const struct host_segment *segment = &host->items[i];
        if (segment->activity != HOST_LOADING || !is_of_loop(facts, segment->track))
            continue;
        all += (double)(segment->end_ns - segment->start_ns);
        for (int part = 0; part < PART_COUNT; part++)
            ns[part] +=
                (double)intervals_within_ns(&times[part], segment->start_ns, segment->end_ns);
    }
    return all > 0 ? (struct loading_parts){ ns[READING] / all, ns[COLLATING] / all,
                                             ns[PREPARING] / all }
                   : (struct loading_parts){ 0 };
}

struct loading_parts loading_parts_of(const struct facts *facts)
{
    const struct trace_cost *cost = &facts->summary->trace->cost;
    struct loading_parts of_loop = parts_of_loop(facts);

    if (!(cost->loader_reads_share > 0 || cost->loader_computes_share > 0))
        return of_loop;
    /* Computing is not told apart, but by the loop's own calls. */
    return (struct loading_parts){ cost->loader_reads_share, of_loop.collates,
                                   fmax(0, cost->loader_computes_share - of_loop.collates) };
}
