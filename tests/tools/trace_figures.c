/* The figures of traces as JSON, one object per line, for tests that compare them with other
 * tools'.
 *
 * usage: trace_figures TRACE...       Times are microseconds with three decimals. */
#include "harness/desk/analysis/timeline/phases.h"
#include "harness/desk/analysis/timeline/steps.h"
#include "harness/desk/analysis/timeline/timeline.h"
#include "harness/desk/read/reader.h"

#include <stdio.h>

static void put_us(const char *name, int64_t ns)
{
    printf(",\"%s\":%lld.%03lld", name, (long long)(ns / 1000), (long long)(ns % 1000));
}

static void put_usage(const struct usage *usage)
{
    put_us("span", usage->span_ns);
    put_us("busy", usage->busy_ns);
    put_us("idle", usage->idle_ns);
    put_us("compute", usage->kind_ns[WORK_COMPUTATION]);
    put_us("communication", usage->kind_ns[WORK_COMMUNICATION]);
    put_us("communication_overlap", usage->communication_overlap_ns);
    put_us("memory", usage->memory_ns);
    for (int cause = 0; cause < IDLE_CAUSE_COUNT; cause++)
        put_us(idle_cause_name((enum idle_cause)cause), usage->idle_cause_ns[cause]);
}

/* The host's time in phases, over all steps. */
static void put_phases(const struct phases *phases)
{
    printf(",\"phases\":{\"steps\":%lld", (long long)phases->step_count);
    for (int phase = 0; phase < PHASE_COUNT; phase++) {
        int64_t ns = 0;
        for (int64_t i = 0; i < phases->step_count; i++) ns += phases->steps[i][phase].host_ns;
        if (phases->seen[phase])
            put_us(phase_name((enum phase)phase), ns);
    }
    printf("}");
}

static void put_trace(const struct timeline *timeline, const struct steps *steps,
                      const struct phases *phases)
{
    const struct trace_file *trace = timeline->trace;

    printf("{\"events\":%lld,\"bad\":%lld,\"partial\":%s",
           (long long)(trace->event_count + trace->other_count), (long long)trace->bad_count,
           trace->partial ? "true" : "false");
    put_usage(&timeline->all);
    printf(",\"streams\":[");
    for (int64_t i = 0; i < timeline->stream_count; i++) {
        printf("%s{\"stream\":%lld", i > 0 ? "," : "", (long long)timeline->streams[i].stream);
        put_usage(&timeline->streams[i].usage);
        printf("}");
    }
    printf("],\"steps\":[");
    for (int64_t i = 0; i < steps->count; i++) {
        printf("%s{\"number\":%lld", i > 0 ? "," : "", (long long)steps->items[i].number);
        put_us("duration", steps->items[i].duration_ns);
        printf("}");
    }
    printf("]");
    put_phases(phases);
    printf("}\n");
}

static void put(struct arena *arena, void *context)
{
    struct timeline timeline = timeline_of(arena, context);
    struct steps steps = steps_of(arena, &timeline);
    struct phases phases = phases_of(arena, &timeline, &steps);

    put_trace(&timeline, &steps, &phases);
}

static enum status run(const char *path)
{
    enum status status = STATUS_OK;
    struct trace_file *trace = NULL;
    struct arena *arena = arena_open();

    TRY_OUT(trace_file_read(&trace, path, NULL));
    TRY_OUT(arena_run(arena, put, trace));

out:
    arena_close(arena);
    trace_file_close(trace);
    return status;
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        if (run(argv[i]) != STATUS_OK) {
            fprintf(stderr, "%s\n", status_last()->text);
            return 1;
        }
    return 0;
}
