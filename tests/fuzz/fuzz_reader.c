/* A trace made of any bytes: whatever they are, reading ends, and what it gives keeps its
 * promises. */
#include "harness/desk/analysis/tables/kernel_table.h"
#include "harness/desk/analysis/tables/memory_curve.h"
#include "harness/desk/analysis/tables/spans.h"
#include "harness/desk/analysis/timeline/launches.h"
#include "harness/desk/analysis/timeline/phases.h"
#include "harness/desk/analysis/timeline/steps.h"
#include "harness/desk/diagnosis/findings.h"
#include "harness/desk/diagnosis/rules/rules.h"
#include "harness/desk/read/kineto/event_parser.h"
#include "harness/desk/read/kineto/event_splitter.h"
#include "harness/desk/read/reader.h"
#include "tests/fuzz/fuzzing.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- Pieces --- */

/* The splitter's findings, as one number. */
struct found {
    uint64_t hash;
    int64_t events, members;
    struct event_parser *parser; /* NULL: no event is taken before its end was found */
};

static void mix(struct found *found, const char *bytes, size_t length)
{
    for (size_t i = 0; i < length; i++)
        found->hash = (found->hash ^ (unsigned char)bytes[i]) * UINT64_C(0x100000001b3);
    found->hash = (found->hash ^ length) * UINT64_C(0x100000001b3);
}

static enum status on_whole_event(void *context, const char *bytes, size_t most, int64_t offset,
                                  const char **end)
{
    struct found *found = context;
    struct event_fields fields;

    (void)offset;
    *end = NULL;
    if (found->parser == NULL || event_parse(found->parser, bytes, most, &fields, end) != NULL)
        return STATUS_OK;
    PROMISE(*end > bytes && *end <= bytes + most);
    mix(found, bytes, (size_t)(*end - bytes));
    found->events++;
    return STATUS_OK;
}

static enum status on_event(void *context, const char *bytes, size_t length, int64_t offset,
                            const char *reason)
{
    struct found *found = context;

    PROMISE((bytes == NULL) == (reason != NULL));
    if (bytes != NULL) {
        PROMISE(length >= 1 && bytes[0] == '{' && offset >= 0);
        mix(found, bytes, length);
    }
    found->events++;
    return STATUS_OK;
}

static enum status on_metadata(void *context, const char *key, const char *bytes, size_t length)
{
    struct found *found = context;

    mix(found, key, strlen(key));
    mix(found, bytes, length);
    found->members++;
    return STATUS_OK;
}

static struct found split(const char *bytes, size_t size, size_t piece, struct event_parser *parser)
{
    struct found found = { .hash = 1, .parser = parser };
    struct splitter splitter;
    char *window = malloc(piece + SPLITTER_PADDING);

    PROMISE(window != NULL);
    splitter_init(&splitter,
                  (struct splitter_sink){ on_whole_event, on_event, on_metadata, &found });
    for (size_t at = 0; at < size; at += piece) {
        size_t count = size - at < piece ? size - at : piece;
        memcpy(window, bytes + at, count);
        memset(window + count, 0, SPLITTER_PADDING);
        if (splitter_feed(&splitter, window, count) != STATUS_OK)
            break;
    }
    splitter_release(&splitter);
    free(window);
    return found;
}

/* However the text is cut into pieces, and whether or not events are taken whole, the same is found
 * in it. */
static void check_pieces(const char *bytes, size_t size)
{
    const size_t pieces[] = { 1, 7, 64, size + 1 };
    struct found whole = split(bytes, size, size + 1, NULL);
    struct event_parser *parser = event_parser_open();

    PROMISE(parser != NULL);
    for (size_t i = 0; i < 2 * ARRAY_SIZE(pieces); i++) {
        struct found found = split(bytes, size, pieces[i / 2], i % 2 == 0 ? parser : NULL);
        PROMISE(found.events == whole.events && found.members == whole.members);
        PROMISE(found.hash == whole.hash);
    }
    event_parser_close(parser);
}

/* --- The trace --- */

static void check_rows(const struct trace_file *trace)
{
    const int64_t details[EVENT_KIND_COUNT] = { [EVENT_KIND_KERNEL] = trace->kernel_count,
                                                [EVENT_KIND_MEMORY] = trace->block_count,
                                                [EVENT_KIND_ANNOTATION] = trace->step_count,
                                                [EVENT_KIND_OPERATOR] = trace->operator_count };

    PROMISE(trace->partial == (trace->partial_reason[0] != '\0'));
    PROMISE((trace->bad_count > 0) == (trace->bad_reason[0] != '\0'));
    for (int64_t i = 0; i < trace->event_count; i++) {
        const struct trace_event *event = &trace->events[i];
        PROMISE((unsigned)event->kind < EVENT_KIND_COUNT);
        PROMISE(event->start_ns <= event->end_ns);
        PROMISE(event->name < trace_file_name_count(trace));
        PROMISE(event->track < trace->track_count);
        PROMISE(event->detail == NO_DETAIL || event->detail < details[event->kind]);
        PROMISE(event->kind != EVENT_KIND_KERNEL || event->detail >= 0);
        PROMISE(event->kind != EVENT_KIND_MEMORY || event->detail >= 0);
        PROMISE(event->kind != EVENT_KIND_OPERATOR || event->detail == NO_DETAIL ||
                trace->operators[event->detail].dims < trace_file_name_count(trace));
    }
}

static void check_usage(const struct usage *usage)
{
    int64_t causes = 0;

    for (int cause = 0; cause < IDLE_CAUSE_COUNT; cause++) causes += usage->idle_cause_ns[cause];
    PROMISE(causes == usage->idle_ns);
    PROMISE(usage->busy_ns >= 0 && usage->idle_ns >= 0);
    PROMISE(usage->busy_ns + usage->idle_ns == usage->span_ns);
    for (int kind = 0; kind < WORK_KIND_COUNT; kind++)
        PROMISE(usage->kind_ns[kind] >= 0 && usage->kind_ns[kind] <= usage->busy_ns);
    PROMISE(usage->communication_overlap_ns >= 0 && usage->communication_exposed_ns >= 0);
    PROMISE(usage->copy_exposed_ns >= 0 && usage->memory_exposed_ns >= 0);
}

static void check_steps(struct arena *arena, const struct timeline *timeline)
{
    struct steps steps = steps_of(arena, timeline);
    struct phases phases = phases_of(arena, timeline, &steps);

    for (int64_t i = 0; i < steps.count; i++) {
        int64_t sum = 0;
        for (int part = 0; part < STEP_PART_COUNT; part++) {
            PROMISE(steps.items[i].part_ns[part] >= 0);
            sum += steps.items[i].part_ns[part];
        }
        PROMISE(sum == steps.items[i].duration_ns);
        PROMISE(steps.items[i].busy_ns >= 0 && steps.items[i].busy_ns <= sum);
        for (int phase = 0; phase < PHASE_COUNT; phase++) {
            PROMISE(phases.steps[i][phase].host_ns >= 0 && phases.steps[i][phase].host_ns <= sum);
            PROMISE(phases.steps[i][phase].device_ns >= 0);
        }
    }
}

static void check_tables(struct arena *arena, const struct timeline *timeline)
{
    struct captures captures = captures_of(arena, timeline, &(struct steps){ 0 });
    struct launches launches = launches_of(arena, timeline, &captures);
    struct kernels kernels = kernels_of(arena, timeline);

    PROMISE(launches.work_count + launches.orphan_count == timeline->work_count);
    for (int64_t i = 0; i < kernels.count; i++)
        PROMISE(kernels.rows[i].min_ns >= 0 && kernels.rows[i].total_ns >= kernels.rows[i].max_ns);
    spans_of(arena, timeline);
    memory_curve_of(arena, timeline->trace);
}

static void check_findings(struct arena *arena, struct trace_file *trace)
{
    struct summary summary = summary_of(arena, trace);
    struct facts facts = facts_of(&summary, 1, 0);
    struct findings findings = findings_of(&facts);

    for (int64_t i = 0; i < findings.count; i++) {
        const struct finding *finding = &findings.items[i];
        PROMISE(finding->id != NULL && finding->advice != NULL && finding->evidence[0] != '\0');
        PROMISE(isnan(finding->lost_ns_per_step) ||
                (isfinite(finding->lost_ns_per_step) && finding->lost_ns_per_step >= 0));
        PROMISE(isnan(finding->predicted_gain) || finding->predicted_gain >= 1);
    }
}

static void check_trace(struct trace_file *trace)
{
    struct arena *arena = arena_open();
    struct timeline timeline;

    check_rows(trace);
    timeline = timeline_of(arena, trace);
    check_usage(&timeline.all);
    for (int64_t i = 0; i < timeline.device_count; i++) check_usage(&timeline.devices[i].usage);
    for (int64_t i = 0; i < timeline.stream_count; i++) check_usage(&timeline.streams[i].usage);
    check_steps(arena, &timeline);
    check_tables(arena, &timeline);
    check_findings(arena, trace);
    arena_close(arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct trace_file *trace = NULL;

    if (trace_file_read(&trace, fuzz_file(0, bytes, size), NULL) == STATUS_OK)
        check_trace(trace);
    else
        PROMISE(trace == NULL && status_last()->text[0] != '\0');
    trace_file_close(trace);
    if (size > 0 && bytes[0] != 0x1f)
        check_pieces((const char *)bytes, size);
    return 0;
}
