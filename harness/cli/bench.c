/* chokepoint bench: what a device can do, one capability at a time, with Google Benchmark's flags. */
#include "benches/benches.h"
#include "harness/bench/bench_rows.h"
#include "harness/bench/timing.h"
#include "harness/cli/commands.h"
#include "harness/cli/flags.h"
#include "harness/cli/number.h"
#include "harness/cli/options.h"
#include "harness/report/atomic_file.h"
#include "harness/report/device_context.h"
#include "harness/report/machine.h"

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
    FLAG_FORMAT_OF,
    FLAG_OUT,
    FLAG_OUT_FORMAT,
    FLAG_LIST,
    FLAG_MAX_TIME,
    FLAG_NOISE
};

struct bench_command {
    struct flags flags;
    struct bench_settings settings;
    regex_t pattern;
    bool has_pattern, inverted; /* "-REGEX": what it does not find */
    bool aggregates_only, list;
    const char *out; /* NULL: none */

    struct device *device;
    struct console console;
    struct json json;
    cJSON *root, *benchmarks, *failures; /* the two belong to root */
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

static enum status take_out_format(const char *value)
{
    enum status status = STATUS_OK;

    if (strcmp(value, "json") != 0)
        FAIL(STATUS_BAD_USAGE, "--benchmark_out_format=%s: give json, the one that there is",
             value);

out:
    return status;
}

static enum status take_format(struct flags *flags, const char *value)
{
    enum status status = STATUS_OK;

    if (strcmp(value, "console") != 0 && strcmp(value, "json") != 0)
        FAIL(STATUS_BAD_USAGE, "--benchmark_format=%s: give console or json", value);
    flags->format = strcmp(value, "json") == 0 ? FORMAT_JSON : FORMAT_CONSOLE;

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
    case FLAG_FORMAT_OF:
        return take_format(&command->flags, value);
    case FLAG_OUT:
        command->out = value;
        return STATUS_OK;
    case FLAG_OUT_FORMAT:
        return take_out_format(value);
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
        for (int i = 0; i < BENCH_ARGUMENTS && (i == 0 || bench->arguments[i] != 0); i++) {
            char name[96];
            bench_name(name, sizeof name, bench, bench->arguments[i]);
            if (is_chosen(command, name))
                TRY(row(command, bench, bench->arguments[i], family, i, name));
        }
    }

out:
    return status;
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
    (void)argument, (void)family, (void)instance;
    if (command->flags.format == FORMAT_JSON)
        json_text(&command->json, json_object(&command->json, command->benchmarks, NULL), "name",
                  name);
    else
        printf("%-*s  %s\n", command->name_width, name, bench->text);
    return STATUS_OK;
}

static enum status save(struct bench_command *command)
{
    enum status status = STATUS_OK;
    char *text = NULL;

    if (command->out == NULL)
        goto out;
    TRY(json_print(&command->json, command->root, &text));
    TRY(atomic_file_write(command->out, text, strlen(text)));

out:
    free(text);
    return status;
}

/* A bench that fails leaves no row, since a row of time 0 would spoil the file for other tools. */
static void note_failure(struct bench_command *command, const char *name)
{
    cJSON *failure = json_object(&command->json, command->failures, NULL);

    json_text(&command->json, failure, "name", name);
    json_text(&command->json, failure, "error", status_last()->text);
    command->failed++;
    if (command->flags.format == FORMAT_CONSOLE)
        bench_print_failure(&command->console, command->name_width, name, status_last()->text);
}

static enum status measure_row(struct bench_command *command, const struct bench *bench,
                               int64_t argument, int family, int instance, const char *name)
{
    enum status status = STATUS_OK;
    struct bench_result result;

    if (bench_measure(&result, bench, argument, command->device, &command->settings) == STATUS_OK) {
        bench_rows_add(&command->json, command->benchmarks, &result, family, instance,
                       command->aggregates_only);
        if (command->flags.format == FORMAT_CONSOLE)
            bench_print_row(&command->console, command->name_width, &result);
    } else {
        note_failure(command, name);
    }
    TRY(save(command));

out:
    return status;
}

static enum status print_json(const struct bench_command *command)
{
    enum status status = STATUS_OK;
    char *text = NULL;

    TRY(json_print(&command->json, command->root, &text));
    fputs(text, stdout);

out:
    free(text);
    return status;
}

static enum status measure(struct bench_command *command)
{
    enum status status = STATUS_OK;
    struct device_health health;
    struct machine machine;
    cJSON *context, *ours;

    TRY(device_open(&command->device, command->flags.device,
                    &(const struct device_options){ .memory_bytes = command->flags.device_memory,
                                                    .spin_ns = -1 }));
    machine_read(&machine, "");
    context = json_object(&command->json, command->root, "context");
    machine_context(&machine, &command->json, context);
    health = device_health(command->device);
    device_context(&command->json, context, device_properties(command->device), &health);
    command->benchmarks = json_array(&command->json, command->root, "benchmarks");
    ours = json_object(&command->json, command->root, "chokepoint");
    command->failures = json_array(&command->json, ours, "failures");
    TRY(save(command)); /* before anything is measured: it may not be possible */
    if (command->flags.format == FORMAT_CONSOLE) {
        printf("%s\n\n", device_properties(command->device)->name);
        bench_print_heading(&command->console, command->name_width);
    }
    TRY(each_row(command, measure_row));
    if (command->flags.format == FORMAT_JSON)
        TRY(print_json(command));

out:
    return status;
}

static enum status list(struct bench_command *command)
{
    enum status status = STATUS_OK;

    command->benchmarks = json_array(&command->json, command->root, "benchmarks");
    TRY(each_row(command, list_row));
    if (command->flags.format == FORMAT_JSON)
        TRY(print_json(command));

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
          "name the rows and measure nothing", 2 },
        { "benchmark_min_time", FLAG_MIN_TIME, "SECONDS|Nx", 0,
          "of a repetition, 0.05 if not given; 100x: so many iterations", 2 },
        { "benchmark_repetitions", FLAG_REPETITIONS_OF, "N", 0,
          "if not given, 6 to 30 until the noise is low enough", 2 },
        { "noise", FLAG_NOISE, "PERCENT", 0,
          "low enough: half the interval of the median, 1% if not given", 2 },
        { "max-time", FLAG_MAX_TIME, "SECONDS", 0,
          "of a row's repetitions where noise decides, 1.5 if not given", 2 },
        { "benchmark_report_aggregates_only", FLAG_AGGREGATES, "BOOL", OPTION_ARG_OPTIONAL,
          "leave the repetitions out of the JSON", 3 },
        { "benchmark_format", FLAG_FORMAT_OF, "FORMAT", 0, "console or json", 3 },
        { "benchmark_out", FLAG_OUT, "FILE", 0, "write the results to FILE too, as JSON", 3 },
        { "benchmark_out_format", FLAG_OUT_FORMAT, "json", 0, "the one that there is", 3 },
        FLAGS_OUTPUT,
        FLAGS_VERBOSE,
        OPTIONS_END,
    };
    enum status status = STATUS_OK;
    struct bench_command command = { .flags = flags_default(),
                                     .settings = bench_settings_default() };
    const struct options options = {
        .command = "bench",
        .arguments = "",
        .text = "Measures what the device can do, one capability at a time: launches, waits, "
                "allocations, copies, memory and matrix products. Each checks its result before it "
                "is timed. The JSON is Google Benchmark's; chokepoint compare reads it.\v"
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
    command.console = console_open(stdout, command.flags.color);
    command.root = json_object(&command.json, NULL, NULL);
    TRY(each_row(&command, count_row));
    if (command.rows == 0)
        FAIL(STATUS_BAD_USAGE, "the filter finds no row; --benchmark_list_tests names them");
    TRY(command.list ? list(&command) : measure(&command));
    *exit_code = command.failed > 0 ? 1 : 0;

out:
    device_close(command.device);
    cJSON_Delete(command.root);
    if (command.has_pattern)
        regfree(&command.pattern);
    return status;
}

const struct command command_bench = { "bench", "what the device can do, one capability at a time",
                                       run_bench };
