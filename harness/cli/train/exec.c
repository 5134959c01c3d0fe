/* chokepoint exec: measures one scenario in this very process and writes its records as JSON lines.
 *
 * `run` starts it as a child. By hand it is for profilers: the process does nothing but train. The
 * measurement is lab/experiment/child; this file turns options into its protocol. Options that only
 * `run` knows the values of, such as the ceilings, have theirs from an earlier child. */
#include "harness/cli/job/choose.h"
#include "harness/cli/job/job_flags.h"
#include "harness/cli/job/written_trace.h"
#include "harness/cli/line/commands.h"
#include "harness/device/many_ranks.h"
#include "harness/lab/experiment/child/timing.h"
#include "harness/lab/experiment/child/trace_run.h"
#include "harness/lab/experiment/own_scenario.h"
#include "harness/lab/experiment/rank_trace.h"

#include <fcntl.h>
#include <limits.h>
#include <unistd.h>

struct exec {
    struct flags flags;
    double window_seconds, shortest_seconds; /* 0: not given */
    int extra;                               /* < 0: not given */
    enum variant variant;
    const char *trace;   /* NULL: measure */
    int jpeg_pixels;     /* 0: not given */
    double step_seconds; /* 0: not given */
    struct ceilings ceilings;
    int record_fd;
    const char *own; /* text of a scenario that is in no list; NULL: none */
};

/* A descriptor that is not open would be noticed only when the first record is written. */
static enum status take_descriptor(void *member, const struct option_row *row, const char *value)
{
    TRY(value_count(member, row, value));
    if (fcntl(*(int *)member, F_GETFD) < 0)
        FAIL(STATUS_BAD_USAGE, "--%s=%s: this process has no such open descriptor", row->name,
             value);

    return STATUS_OK;
}

static struct protocol exec_protocol(const struct exec *exec)
{
    struct protocol protocol = flags_protocol(&exec->flags);

    protocol.jpeg_pixels = exec->jpeg_pixels;
    if (exec->window_seconds > 0) {
        protocol.window_seconds = exec->window_seconds;
        protocol.shortest_seconds = exec->shortest_seconds;
    }
    if (exec->extra >= 0)
        protocol.extra = exec->extra;
    for (int v = 0; v < VARIANT_COUNT; v++) protocol.ceilings[v] = exec->ceilings;
    return protocol;
}

static enum status trace_scenario(const struct exec *exec, const struct scenario *scenario,
                                  const struct protocol *protocol)
{
    struct tracing_order order = { .variant = exec->variant,
                                   .path = exec->trace,
                                   .step_time_us = exec->step_seconds * 1e6 };
    char traces[PATH_MAX];
    bool written;

    if (exec->variant == VARIANT_COUNT)
        FAIL(STATUS_BAD_USAGE,
             "--trace records one variant: give --variant=before or --variant=after");
    if (exec->flags.aa)
        FAIL(STATUS_BAD_USAGE,
             "--aa compares two sides, but --trace records one variant: leave one of them out");
    TRY(written_trace_try(exec->trace));
    TRY(tracing_child(scenario, protocol, &order, exec->record_fd, &written));
    TRY(rank_trace_name(traces, sizeof traces, exec->trace, RANK_TRACE_ALL, ranks_count()));
    if (written && exec->record_fd == STDOUT_FILENO)
        written_trace_print(stderr, traces);

    return STATUS_OK;
}

static void prepare_exec(void *context)
{
    struct exec *exec = context;

    exec->extra = -1;
    exec->variant = VARIANT_COUNT;
    exec->record_fd = STDOUT_FILENO;
}

static enum status run_exec(void *context, int *exit_code)
{
    struct exec *exec = context;
    const struct scenario *scenario;
    const struct protocol protocol = exec_protocol(exec);
    struct own_scenario own;

    (void)exit_code;
    /* The ladder measures scenarios of its own making, which no list has. */
    if (exec->own != NULL && exec->flags.argument_count == 1) {
        TRY(own_scenario_parse(&own, exec->flags.arguments[0], exec->own));
        scenario = &own.scenario;
    } else {
        TRY(choose_only(&scenario, &exec->flags, "exec"));
    }
    TRY(flags_check_ranks(&exec->flags, scenario));
    TRY(rank_job_enter(protocol_ranks(&protocol, scenario), exec->record_fd));
    if (ranks_rank() > 0) /* The records come from the first rank. */
        exec->record_fd = -1;
    return exec->trace != NULL ? trace_scenario(exec, scenario, &protocol)
                               : timing_child(scenario, &protocol, exec->variant, exec->record_fd);
}

#define AT(member) .offset = offsetof(struct exec, member)
static const struct option_row options[] = {
    FLAG_DEVICE("where to train"),
    FLAG_DEVICE_MEMORY,
    FLAG_DATA,
    FLAG_SEED,
    FLAG_RANKS,
    FLAG_PAIRS,
    FLAG_QUICK,
    FLAG_AA,
    { "window", "SECONDS", "approximate length of one timed window", 2, value_seconds,
      AT(window_seconds), .most = 600 },
    { "shortest", "SECONDS",
      "with --window: length of one where what is promised is kept by far; else all are as long", 2,
      value_seconds, AT(shortest_seconds), .most = 600 },
    { "extra", "N", "most pairs to add while the verdict is undecided; 0 with --repetitions", 2,
      value_count, AT(extra), .most = 1000 },
    { "variant", "before|after", "run only this one; both if not given", 2, value_choice,
      AT(variant) },
    { "trace", "FILE",
      "instead of measuring, write a trace of the variant: FILE.json.gz, or FILE.json; of many "
      "ranks FILE.rank0.json.gz and so on",
      2, written_trace_take, AT(trace) },
    { "jpeg-pixels", "N", "the size of the images, if known; else it is chosen", 2, value_count,
      AT(jpeg_pixels), .least = 16, .most = 1024 },
    { "step-time", "SECONDS",
      "with --trace: the untraced time of a step, if known; else it is measured", 2, value_seconds,
      AT(step_seconds), .most = 600 },
    { "peak-flops", "RATE", "with --trace: FLOP/s of the device, if known, for the trace to state",
      2, value_rate, AT(ceilings.flops_per_second) },
    { "copy-bandwidth", "RATE", "with --trace: likewise its B/s, read and written", 2, value_rate,
      AT(ceilings.bytes_per_second) },
    { "record-fd", "N", "write the records to this open descriptor; standard output if not given",
      3, take_descriptor, AT(record_fd), .most = 1 << 20 },
    { "own", "TEXT", NULL, 3, value_text, AT(own) },
    FLAG_VERBOSE,
    OPTIONS_END,
};

const struct command command_exec = {
    .name = "exec",
    .text = "one scenario in this process, as JSON lines; for profilers",
    .arguments = "SCENARIO",
    .help = "Measures one scenario in this process and writes one JSON record per line. run "
            "starts this command for each scenario.\v"
            "Examples:\n"
            "  chokepoint exec item_sync --quick\n"
            "  chokepoint exec item_sync --variant=before --trace=before.json.gz\n"
            "  mpirun -n 2 chokepoint exec exposed_allreduce    as a job of your own\n"
            "  nsys profile --capture-range=cudaProfilerApi chokepoint exec item_sync "
            "--variant=before\n"
            "  ncu --profile-from-start=off chokepoint exec item_sync --variant=before --quick\n"
            "\n"
            "nsys and ncu then see the timed steps alone, as NVTX ranges: before or after, step, "
            "and its phases.",
    .options = options,
    .context_size = sizeof(struct exec),
    .prepare = prepare_exec,
    .run = run_exec,
};
