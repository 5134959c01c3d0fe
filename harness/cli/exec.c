/* chokepoint exec: measures one scenario in this very process and writes its records as JSON lines.
 *
 * `run` starts it as a child. By hand it is for profilers: the process does nothing but train. */
#include "harness/base/number.h"
#include "harness/cli/choose.h"
#include "harness/cli/commands.h"
#include "harness/cli/flags.h"
#include "harness/cli/options.h"
#include "harness/experiment/child/timing.h"
#include "harness/experiment/child/tracing.h"

#include <fcntl.h>
#include <unistd.h>

enum {
    FLAG_WINDOW = FLAG_OWN,
    FLAG_VARIANT,
    FLAG_TRACE,
    FLAG_JPEG_PIXELS,
    FLAG_STEP_TIME,
    FLAG_EXTRA,
    FLAG_RECORD_FD
};

struct exec {
    struct flags flags;
    double window_seconds; /* 0: not given */
    int extra;             /* < 0: not given */
    enum variant variant;
    const char *trace;   /* NULL: measure */
    int jpeg_pixels;     /* 0: not given */
    double step_time_us; /* 0: not given */
    int record_fd;
    const struct scenario *scenario;
};

static enum status take_variant(enum variant *variant, const char *value)
{
    enum status status = STATUS_OK;

    *variant = variant_find(value);
    if (*variant == VARIANT_COUNT)
        FAIL(STATUS_BAD_USAGE, "--variant=%s: give before or after", value);

out:
    return status;
}

static enum status take_number(int *to, const char *option, const char *value, int least, int most)
{
    enum status status = STATUS_OK;
    int64_t number;

    TRY(number_integer(&number, option, value, least, most));
    *to = (int)number;

out:
    return status;
}

static enum status take_descriptor(int *descriptor, const char *value)
{
    enum status status = STATUS_OK;

    TRY(take_number(descriptor, "record-fd", value, 0, 1 << 20));
    if (fcntl(*descriptor, F_GETFD) < 0)
        FAIL(STATUS_BAD_USAGE, "--record-fd=%s: this process has no such open descriptor", value);

out:
    return status;
}

static enum status take_step_time(double *step_time_us, const char *value)
{
    enum status status = STATUS_OK;
    double seconds;

    TRY(number_seconds(&seconds, "step-time", value, 600));
    *step_time_us = seconds * 1e6;

out:
    return status;
}

static enum status take(void *context, int key, const char *value)
{
    struct exec *exec = context;

    switch (key) {
    case FLAG_WINDOW:
        return number_seconds(&exec->window_seconds, "window", value, 600);
    case FLAG_VARIANT:
        return take_variant(&exec->variant, value);
    case FLAG_TRACE:
        exec->trace = value;
        return STATUS_OK;
    case FLAG_JPEG_PIXELS:
        return take_number(&exec->jpeg_pixels, "jpeg-pixels", value, 32, 512);
    case FLAG_STEP_TIME:
        return take_step_time(&exec->step_time_us, value);
    case FLAG_EXTRA:
        return take_number(&exec->extra, "extra", value, 0, 1000);
    case FLAG_RECORD_FD:
        return take_descriptor(&exec->record_fd, value);
    default:
        return flags_take(&exec->flags, key, value);
    }
}

static enum status take_scenario(void *context, const char *name)
{
    enum status status = STATUS_OK;
    struct exec *exec = context;

    if (exec->scenario != NULL)
        FAIL(STATUS_BAD_USAGE, "unexpected \"%.60s\": exec takes one scenario", name);
    TRY(choose_scenario(&exec->scenario, name));

out:
    return status;
}

static enum status trace_scenario(const struct exec *exec)
{
    enum status status = STATUS_OK;
    struct tracing_order order = { .variant = exec->variant,
                                   .path = exec->trace,
                                   .jpeg_pixels = exec->jpeg_pixels,
                                   .step_time_us = exec->step_time_us };
    struct protocol protocol = flags_protocol(&exec->flags);

    if (exec->variant == VARIANT_COUNT)
        FAIL(STATUS_BAD_USAGE,
             "--trace records one variant: give --variant=before or --variant=after");
    if (exec->flags.aa)
        FAIL(STATUS_BAD_USAGE,
             "--aa compares two sides, but --trace records one variant: leave one of them out");
    TRY(tracing_child(exec->scenario, &protocol, &order, exec->record_fd));

out:
    return status;
}

static enum status run_exec(int argc, char **argv, int *exit_code)
{
    static const struct argp_option rows[] = {
        FLAGS_DEVICE("where to train"),
        FLAGS_DATA,
        FLAGS_PROTOCOL,
        { "window", FLAG_WINDOW, "SECONDS", 0, "approximate length of one timed window", 2 },
        { "extra", FLAG_EXTRA, "N", 0,
          "most pairs to add while the verdict is undecided; 0 with --repetitions", 2 },
        { "variant", FLAG_VARIANT, "before|after", 0, "run only this one; both if not given", 2 },
        { "trace", FLAG_TRACE, "FILE", 0,
          "instead of measuring, write a trace of the variant for Perfetto: FILE.json.gz", 2 },
        { "jpeg-pixels", FLAG_JPEG_PIXELS, "N", 0,
          "with --trace: the size of the images, if known; else it is measured", 2 },
        { "step-time", FLAG_STEP_TIME, "SECONDS", 0,
          "with --trace: the untraced time of a step, if known; else it is measured", 2 },
        { "record-fd", FLAG_RECORD_FD, "N", 0,
          "write the records to this open descriptor; standard output if not given", 3 },
        FLAGS_VERBOSE,
        OPTIONS_END,
    };
    enum status status = STATUS_OK;
    struct exec exec = {
        .flags = flags_default(), .extra = -1, .variant = VARIANT_COUNT, .record_fd = STDOUT_FILENO
    };
    const struct options options = {
        .command = "exec",
        .arguments = "SCENARIO",
        .text = "Measures one scenario in this process and writes one JSON record per line. run "
                "starts this command for each scenario.\v"
                "Examples:\n"
                "  chokepoint exec item_sync --quick\n"
                "  chokepoint exec item_sync --variant=before --trace=before.json.gz\n"
                "  nsys profile chokepoint exec item_sync --variant=before --repetitions=1",
        .rows = rows,
        .option = take,
        .argument = take_scenario,
        .context = &exec,
    };
    struct protocol protocol;
    bool helped;

    (void)exit_code;
    TRY(options_parse(&options, argc, argv, &helped));
    if (helped)
        goto out;
    if (exec.scenario == NULL)
        FAIL(STATUS_BAD_USAGE, "name a scenario; chokepoint list shows them");
    if (exec.trace != NULL) {
        TRY(trace_scenario(&exec));
        goto out;
    }
    protocol = flags_protocol(&exec.flags);
    if (exec.window_seconds > 0)
        protocol.window_seconds = exec.window_seconds;
    if (exec.extra >= 0)
        protocol.extra = exec.extra;
    TRY(timing_child(exec.scenario, &protocol, exec.variant, exec.record_fd));

out:
    return status;
}

const struct command command_exec = { "exec",
                                      "one scenario in this process, as JSON lines; for profilers",
                                      run_exec };
