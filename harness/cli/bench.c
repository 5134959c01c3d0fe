/* chokepoint bench: what a device can do, one capability at a time, with Google Benchmark's flags. */
#include "benches/benches.h"
#include "benches/roofs.h"
#include "harness/cli/bench_output.h"
#include "harness/cli/commands.h"
#include "harness/cli/flags.h"
#include "harness/cli/number.h"
#include "harness/cli/options.h"

#include <errno.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    FLAG_FILTER = FLAG_OWN,
    FLAG_MIN_TIME,
    FLAG_REPETITIONS_OF,
    FLAG_AGGREGATES,
    FLAG_AGGREGATES_SHOWN,
    FLAG_FORMAT_OF,
    FLAG_OUT,
    FLAG_OUT_FORMAT,
    FLAG_LIST,
    FLAG_CONTEXT,
    FLAG_TABULAR,
    FLAG_TIME_UNIT,
    FLAG_MAX_TIME,
    FLAG_NOISE
};

struct bench_command {
    struct flags flags;
    struct bench_settings settings;
    struct bench_output_options output_options;
    regex_t pattern;
    bool has_pattern, inverted; /* "-REGEX": what it does not find */
    bool aggregates_only, aggregates_shown, list, verbose;
    char *context; /* of --benchmark_context, cut at its commas */

    struct device *device;
    struct roofs roofs;
    struct bench_output output;
    int name_width, rows, failed;
};

static enum status take_boolean(bool *chosen, const char *option, const char *value)
{
    enum status status = STATUS_OK;

    if (value == NULL || strcmp(value, "true") == 0 || strcmp(value, "1") == 0)
        *chosen = true;
    else if (strcmp(value, "false") == 0 || strcmp(value, "0") == 0)
        *chosen = false;
    else
        FAIL(STATUS_BAD_USAGE, "--%s=%s: give true or false", option, value);

out:
    return status;
}

static enum status take_filter(struct bench_command *command, const char *value)
{
    enum status status = STATUS_OK;
    char text[160];
    int error;

    command->inverted = value[0] == '-';
    value += command->inverted;
    if (strcmp(value, "all") == 0)
        value = ".";
    if (value[0] == '\0')
        FAIL(STATUS_BAD_USAGE, "--benchmark_filter is empty: give a regular expression, as in "
                               "--benchmark_filter=gemm");
    if (command->has_pattern)
        regfree(&command->pattern);
    error = regcomp(&command->pattern, value, REG_EXTENDED | REG_NOSUB);
    command->has_pattern = error == 0;
    if (error != 0) {
        regerror(error, &command->pattern, text, sizeof text);
        FAIL(STATUS_BAD_USAGE, "--benchmark_filter=%.100s is no regular expression: %s", value,
             text);
    }

out:
    return status;
}

/* "0.5", "0.5s", or iterations: "100x". */
static enum status take_min_time(struct bench_settings *settings, const char *value)
{
    enum status status = STATUS_OK;
    size_t length = strlen(value);
    char number[32] = "";

    if (length > 0 && length < sizeof number)
        memcpy(number, value,
               length - (value[length - 1] == 's' || value[length - 1] == 'x' ? 1 : 0));
    if (length > 0 && value[length - 1] == 'x') {
        TRY(number_integer(&settings->iterations, "benchmark_min_time", number, 1, 1000000000));
        goto out;
    }
    settings->iterations = 0;
    TRY(number_seconds(&settings->min_seconds, "benchmark_min_time", number, 600));

out:
    return status;
}

static enum status take_noise(double *noise, const char *value)
{
    enum status status = STATUS_OK;
    char *end;

    errno = 0;
    *noise = strtod(value, &end) / 100;
    if (errno != 0 || end == value || (*end != '\0' && strcmp(end, "%") != 0) ||
        !(*noise > 0 && *noise <= 1))
        FAIL(STATUS_BAD_USAGE, "--noise=%s: give percent above 0%% to 100%%, as in 1%%", value);

out:
    return status;
}

static enum status take_format(enum format *format, const char *option, const char *value)
{
    enum status status = STATUS_OK;

    if (strcmp(value, "console") != 0 && strcmp(value, "json") != 0)
        FAIL(STATUS_BAD_USAGE, "--%s=%s: give console or json", option, value);
    *format = strcmp(value, "json") == 0 ? FORMAT_JSON : FORMAT_CONSOLE;

out:
    return status;
}

static enum status take_time_unit(const struct time_unit **unit, const char *value)
{
    enum status status = STATUS_OK;

    for (int i = 0; i < TIME_UNITS; i++)
        if (strcmp(value, time_units[i].name) == 0) {
            *unit = &time_units[i];
            goto out;
        }
    FAIL(STATUS_BAD_USAGE, "--benchmark_time_unit=%s: give ns, us, ms or s", value);

out:
    return status;
}

/* "key=value,key=value": values hold no commas, as with Google Benchmark. Given again, the last counts. */
static enum status take_context(struct bench_command *command, const char *value)
{
    enum status status = STATUS_OK;
    char *rest, *pair;
    int count = 0;

    memset(command->output_options.context, 0, sizeof command->output_options.context);
    free(command->context);
    command->context = rest = strdup(value);
    if (rest == NULL)
        FAIL(STATUS_OUT_OF_MEMORY, "no memory left for --benchmark_context");
    while ((pair = strsep(&rest, ",")) != NULL) {
        if (strchr(pair, '=') == NULL || pair[0] == '=' || strchr(pair, '=') - pair >= 64)
            FAIL(STATUS_BAD_USAGE, "--benchmark_context=%s: '%s' is no key=value", value, pair);
        if (count == BENCH_CONTEXT_MAX)
            FAIL(STATUS_BAD_USAGE, "--benchmark_context: give at most %d of them",
                 BENCH_CONTEXT_MAX);
        command->output_options.context[count++] = pair;
    }

out:
    return status;
}

static enum status take_repetitions(struct bench_settings *settings, const char *value)
{
    enum status status = STATUS_OK;
    int64_t number;

    TRY(number_integer(&number, "benchmark_repetitions", value, 1, BENCH_REPETITIONS_MAX));
    settings->repetitions = (int)number;

out:
    return status;
}

static enum status take(void *context, int key, const char *value)
{
    struct bench_command *command = context;

    switch (key) {
    case FLAG_FILTER:
        return take_filter(command, value);
    case FLAG_MIN_TIME:
        return take_min_time(&command->settings, value);
    case FLAG_REPETITIONS_OF:
        return take_repetitions(&command->settings, value);
    case FLAG_AGGREGATES:
        return take_boolean(&command->aggregates_only, "benchmark_report_aggregates_only", value);
    case FLAG_AGGREGATES_SHOWN:
        return take_boolean(&command->aggregates_shown, "benchmark_display_aggregates_only", value);
    case FLAG_FORMAT_OF:
        return take_format(&command->output_options.format, "benchmark_format", value);
    case FLAG_OUT:
        command->output_options.file = value;
        return STATUS_OK;
    case FLAG_OUT_FORMAT:
        return take_format(&command->output_options.file_format, "benchmark_out_format", value);
    case FLAG_CONTEXT:
        return take_context(command, value);
    case FLAG_TABULAR:
        return take_boolean(&command->output_options.tabular, "benchmark_counters_tabular", value);
    case FLAG_TIME_UNIT:
        return take_time_unit(&command->output_options.unit, value);
    case FLAG_VERBOSE:
        command->verbose = true;
        return flags_take(&command->flags, key, value);
    case FLAG_LIST:
        return take_boolean(&command->list, "benchmark_list_tests", value);
    case FLAG_MAX_TIME:
        return number_seconds(&command->settings.max_seconds, "max-time", value, 3600);
    case FLAG_NOISE:
        return take_noise(&command->settings.noise, value);
    default:
        return flags_take(&command->flags, key, value);
    }
}

static bool is_chosen(const struct bench_command *command, const char *name)
{
    return !command->has_pattern ||
           (regexec(&command->pattern, name, 0, NULL, 0) == 0) != command->inverted;
}

/* Calls `row` for each chosen row in the order of the list: `family` and `instance` count those of the
 * list, so that a filter leaves them as they are. */
typedef enum status row_fn(struct bench_command *command, const struct bench *bench,
                           int64_t argument, int family, int instance, const char *name);

static enum status each_row(struct bench_command *command, row_fn *row)
{
    enum status status = STATUS_OK;

    for (int family = 0; family < bench_count; family++) {
        const struct bench *bench = benches[family];
        int count;
        const int64_t *arguments =
            bench_arguments(bench, device_properties(command->device), &count);
        for (int i = 0; i < count; i++) {
            char name[96];
            bench_name(name, sizeof name, bench, arguments[i]);
            if (is_chosen(command, name))
                TRY(row(command, bench, arguments[i], family, i, name));
        }
    }

out:
    return status;
}

static const char *lack_of(const struct bench_command *command, const struct bench *bench)
{
    return bench->lack != NULL ? bench->lack(bench, device_properties(command->device)) : NULL;
}

static enum status count_row(struct bench_command *command, const struct bench *bench,
                             int64_t argument, int family, int instance, const char *name)
{
    int width = (int)strlen(name);

    (void)bench, (void)argument, (void)family, (void)instance;
    command->name_width = width > command->name_width ? width : command->name_width;
    command->rows++;
    return STATUS_OK;
}

static enum status list_row(struct bench_command *command, const struct bench *bench,
                            int64_t argument, int family, int instance, const char *name)
{
    struct bench_output *output = &command->output;

    (void)argument, (void)family, (void)instance;
    if (command->output_options.format == FORMAT_JSON)
        json_text(&output->json, json_object(&output->json, output->benchmarks, NULL), "name",
                  name);
    else if (command->verbose)
        printf("%-*s  %s\n", command->name_width, name, bench->text);
    else
        printf("%s\n", name);
    return STATUS_OK;
}

/* The device's limits that this row is held against, before any row is measured. */
static enum status measure_roofs(struct bench_command *command, const struct bench *bench,
                                 int64_t argument, int family, int instance, const char *name)
{
    (void)argument, (void)family, (void)instance, (void)name;
    if (lack_of(command, bench) == NULL)
        roofs_measure(&command->roofs, bench, command->device);
    return STATUS_OK;
}

static enum status measure_row(struct bench_command *command, const struct bench *bench,
                               int64_t argument, int family, int instance, const char *name)
{
    struct bench_result result;

    if (lack_of(command, bench) != NULL)
        return bench_output_skip(&command->output, name, lack_of(command, bench));
    if (bench_measure(&result, bench, argument, command->device, &command->settings) != STATUS_OK) {
        command->failed++;
        return bench_output_failure(&command->output, name, status_last()->text);
    }
    roofs_apply(&command->roofs, bench, &result);
    return bench_output_row(&command->output, &result, family, instance);
}

static enum status measure(struct bench_command *command)
{
    enum status status = STATUS_OK;
    struct bench_output_options *options = &command->output_options;

    options->color = command->flags.color;
    options->aggregates_only = command->aggregates_only;
    if (command->aggregates_only || command->aggregates_shown)
        options->lines = LINES_AGGREGATES;
    else if (command->settings.repetitions > 0)
        options->lines = LINES_ALL;
    TRY(each_row(command, measure_roofs));
    TRY(bench_output_open(&command->output, options, command->name_width, command->device,
                          &command->roofs));
    TRY(each_row(command, measure_row));
    TRY(bench_output_end(&command->output));

out:
    return status;
}

static enum status list(struct bench_command *command)
{
    enum status status = STATUS_OK;
    struct bench_output *output = &command->output;

    output->options = command->output_options;
    output->root = json_object(&output->json, NULL, NULL);
    output->benchmarks = json_array(&output->json, output->root, "benchmarks");
    TRY(each_row(command, list_row));
    TRY(bench_output_end(output));

out:
    return status;
}

static enum status run_bench(int argc, char **argv, int *exit_code)
{
    static const struct argp_option rows[] = {
        { "device", FLAG_DEVICE, "auto|cpu|cuda[:N]", 0,
          "what to measure; auto: a GPU where one answers, else the CPU device", 1 },
        { "device-memory", FLAG_DEVICE_MEMORY, "BYTES", 0,
          "memory that the device has, or may use: 512MiB, 2G", 1 },
        { "seed", FLAG_SEED, "N", 0, "of the data", 1 },
        { "benchmark_filter", FLAG_FILTER, "REGEX", 0,
          "only rows whose name it finds (POSIX extended); -REGEX: the others", 2 },
        { "benchmark_list_tests", FLAG_LIST, "BOOL", OPTION_ARG_OPTIONAL,
          "name the rows and measure nothing; with --verbose, say what they are", 2 },
        { "benchmark_min_time", FLAG_MIN_TIME, "SECONDS|Nx", 0,
          "of a repetition, 0.03 if not given; 100x: so many iterations", 2 },
        { "benchmark_repetitions", FLAG_REPETITIONS_OF, "N", 0,
          "if not given, 6 to 30 until the noise is low enough", 2 },
        { "noise", FLAG_NOISE, "PERCENT", 0,
          "low enough: half the interval of the median, 1% if not given", 2 },
        { "max-time", FLAG_MAX_TIME, "SECONDS", 0,
          "of a row's repetitions where noise decides, 0.5 if not given", 2 },
        { "benchmark_report_aggregates_only", FLAG_AGGREGATES, "BOOL", OPTION_ARG_OPTIONAL,
          "leave the repetitions out, everywhere", 3 },
        { "benchmark_display_aggregates_only", FLAG_AGGREGATES_SHOWN, "BOOL", OPTION_ARG_OPTIONAL,
          "leave the repetitions out on the console", 3 },
        { "benchmark_counters_tabular", FLAG_TABULAR, "BOOL", OPTION_ARG_OPTIONAL,
          "counters in columns of their own", 3 },
        { "benchmark_time_unit", FLAG_TIME_UNIT, "UNIT", 0,
          "ns, us, ms or s; if not given, ns in JSON and what fits on the console", 3 },
        { "benchmark_format", FLAG_FORMAT_OF, "FORMAT", 0, "console or json", 3 },
        { "benchmark_out", FLAG_OUT, "FILE", 0, "write the results to FILE too", 3 },
        { "benchmark_out_format", FLAG_OUT_FORMAT, "FORMAT", 0, "json if not given, or console",
          3 },
        { "benchmark_context", FLAG_CONTEXT, "KEY=VALUE,...", 0,
          "add to the context of the results", 3 },
        FLAGS_OUTPUT,
        FLAGS_VERBOSE,
        OPTIONS_END,
    };
    enum status status = STATUS_OK;
    struct bench_command command = { .flags = flags_default(),
                                     .settings = bench_settings_default(),
                                     .output_options = { .file_format = FORMAT_JSON } };
    const struct options options = {
        .command = "bench",
        .arguments = "",
        .text = "Measures what the device can do, one capability at a time: launches, waits, "
                "allocations, copies, memory, products, kernels and the data loader. Each checks "
                "its result before it is timed. The JSON is Google Benchmark's; chokepoint "
                "compare reads it.\v"
                "Exit codes: 0 all was measured, 1 something failed, 2 bad usage, 3 no such "
                "device.\n"
                "\n"
                "Examples:\n"
                "  chokepoint bench\n"
                "  chokepoint bench --benchmark_filter='^lat_' --benchmark_out=new.json\n"
                "  chokepoint bench --benchmark_list_tests",
        .rows = rows,
        .option = take,
        .context = &command,
    };
    bool helped;

    TRY(options_parse(&options, argc, argv, &helped));
    if (helped)
        goto out;
    if (command.flags.seed_given)
        command.settings.seed = command.flags.seed;
    TRY(device_open(&command.device, command.flags.device,
                    &(const struct device_options){ .memory_bytes = command.flags.device_memory,
                                                    .spin_ns = -1 }));
    TRY(each_row(&command, count_row));
    if (command.rows == 0)
        FAIL(STATUS_BAD_USAGE, "the filter finds no row; --benchmark_list_tests names them");
    TRY(command.list ? list(&command) : measure(&command));
    *exit_code = command.failed > 0 ? 1 : 0;

out:
    bench_output_close(&command.output);
    device_close(command.device);
    free(command.context);
    if (command.has_pattern)
        regfree(&command.pattern);
    return status;
}

const struct command command_bench = { "bench", "what the device can do, one capability at a time",
                                       run_bench };
