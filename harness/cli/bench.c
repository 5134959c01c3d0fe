/* chokepoint bench: what a device can do, one capability at a time, with Google Benchmark's flags. */
#include "benches/benches.h"
#include "benches/roofs.h"
#include "harness/base/number.h"
#include "harness/cli/bench_output.h"
#include "harness/cli/commands.h"
#include "harness/cli/flags.h"
#include "harness/cli/options.h"
#include "harness/report/progress.h"

#include <errno.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Some of many short repetitions pass while nothing disturbs the machine, which on shared cores changes
 * its speed every 10 to 100 ms. A set-up takes 30 ms in the mean of all rows: about as long as five. */
#define REPETITION_SECONDS 0.005
#define ROW_SECONDS        1
enum { REPETITIONS_OF_VISIT = 5 };

enum {
    FLAG_FILTER = FLAG_OWN,
    FLAG_MIN_TIME,
    FLAG_REPETITIONS_OF,
    FLAG_INTERLEAVING,
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
    struct bench_output_options output_options;
    regex_t pattern;
    bool has_pattern, inverted; /* "-REGEX": what it does not find */
    bool list, verbose, interleaved;

    struct device *device;
    struct roofs roofs;
    struct bench_output output;
    struct progress progress;
    struct bench_row *rows; /* chosen */
    int name_width, count, failed;
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
        FAIL(STATUS_BAD_USAGE, "--benchmark_filter=%.100s is not a regular expression: %s", value,
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

static enum status take_format(enum format *format, const char *value)
{
    enum status status = STATUS_OK;

    if (strcmp(value, "console") != 0 && strcmp(value, "json") != 0)
        FAIL(STATUS_BAD_USAGE, "--benchmark_format=%s: give console or json", value);
    *format = strcmp(value, "json") == 0 ? FORMAT_JSON : FORMAT_CONSOLE;

out:
    return status;
}

/* Google Benchmark's users write it beside --benchmark_out. */
static enum status take_out_format(const char *value)
{
    enum status status = STATUS_OK;

    if (strcmp(value, "json") != 0)
        FAIL(STATUS_BAD_USAGE, "--benchmark_out_format=%s: the file is always json", value);

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
    case FLAG_INTERLEAVING:
        return take_boolean(&command->interleaved, "benchmark_enable_random_interleaving", value);
    case FLAG_FORMAT_OF:
        return take_format(&command->output_options.format, value);
    case FLAG_OUT:
        command->output_options.file = value;
        return STATUS_OK;
    case FLAG_OUT_FORMAT:
        return take_out_format(value);
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

static void choose(struct bench_command *command, const struct bench_row *row)
{
    int width = (int)strlen(row->result.name);

    if (!is_chosen(command, row->result.name))
        return;
    command->name_width = width > command->name_width ? width : command->name_width;
    command->rows[command->count++] = *row;
}

/* In the order of the list: `family` and `instance` count those of the list, so that a filter leaves them
 * as they are. */
static enum status choose_rows(struct bench_command *command)
{
    enum status status = STATUS_OK;
    const struct device_properties *properties = device_properties(command->device);
    size_t most = (size_t)bench_count * BENCH_ARGUMENTS;

    command->rows = calloc(most, sizeof *command->rows);
    if (command->rows == NULL)
        FAIL(STATUS_OUT_OF_MEMORY, "no memory left for %zu rows", most);
    for (int family = 0; family < bench_count; family++) {
        const struct bench *bench = benches[family];
        struct bench_row row = { .bench = bench, .family = family };
        int count;
        const int64_t *arguments = bench_arguments(bench, properties, &count);
        if (bench->lack != NULL)
            row.lack = bench->lack(bench, properties);
        for (; row.instance < count; row.instance++) {
            row.argument = arguments[row.instance];
            bench_name(row.result.name, sizeof row.result.name, bench, row.argument);
            choose(command, &row);
        }
    }

out:
    return status;
}

static void list_row(struct bench_command *command, const struct bench_row *row)
{
    struct bench_output *output = &command->output;

    if (command->output_options.format == FORMAT_JSON)
        json_text(&output->json, json_object(&output->json, output->benchmarks, NULL), "name",
                  row->result.name);
    else if (command->verbose)
        printf("%-*s  %s\n", command->name_width, row->result.name, row->bench->text);
    else
        printf("%s\n", row->result.name);
}

/* The device's limits that rows are held against, before any row is measured. */
static void measure_roofs(struct bench_command *command)
{
    for (int i = 0; i < command->count; i++)
        if (command->rows[i].lack == NULL)
            roofs_measure(&command->roofs, command->rows[i].bench, command->device);
}

static void apply_roofs(struct bench_command *command)
{
    for (int i = 0; i < command->count; i++)
        roofs_apply(&command->roofs, command->rows[i].bench, &command->rows[i].result);
}

/* The file holds what is known after each round. */
static enum status show_progress(void *context, double share, bool round_ended)
{
    struct bench_command *command = context;

    progress_show(&command->progress, share, "%d rows, %.0f%% done", command->count, 100 * share);
    if (!round_ended)
        return STATUS_OK;
    apply_roofs(command);
    return bench_output_update(&command->output, command->rows, command->count);
}

static enum status measure(struct bench_command *command)
{
    enum status status = STATUS_OK;
    struct bench_output_options *options = &command->output_options;
    struct bench_settings *settings = &command->settings;

    options->color = command->flags.color;
    options->all_repetitions = settings->repetitions > 0;
    if (command->interleaved)
        settings->visit = settings->repetitions > 0 ? 1 : REPETITIONS_OF_VISIT;
    measure_roofs(command);
    TRY(bench_output_open(&command->output, options, command->name_width, command->device,
                          &command->roofs));
    command->progress = progress_start(1);
    status = bench_rounds(command->rows, command->count, command->device, settings, show_progress,
                          command);
    progress_clear(&command->progress);
    TRY(status);
    for (int i = 0; i < command->count; i++)
        command->failed += command->rows[i].status != STATUS_OK;
    TRY(bench_output_rows(&command->output, command->rows, command->count));
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
    for (int i = 0; i < command->count; i++) list_row(command, &command->rows[i]);
    TRY(bench_output_end(output));

out:
    return status;
}

static enum status run_bench(int argc, char **argv, int *exit_code)
{
    static const struct argp_option rows[] = {
        FLAGS_DEVICE("what to measure"),
        { "seed", FLAG_SEED, "N", 0, "seed of the data", 1 },
        { "benchmark_filter", FLAG_FILTER, "REGEX", 0,
          "only rows whose name matches (POSIX extended); -REGEX: the others", 2 },
        { "benchmark_list_tests", FLAG_LIST, "BOOL", OPTION_ARG_OPTIONAL,
          "list the rows and measure nothing; with --verbose, say what they are", 2 },
        { "benchmark_min_time", FLAG_MIN_TIME, "SECONDS|Nx", 0,
          "of a repetition, 0.005 if not given; 100x: 100 iterations", 2 },
        { "benchmark_repetitions", FLAG_REPETITIONS_OF, "N", 0,
          "if not given, 30 to 60 (6 to 30 row after row), until the noise is low enough", 2 },
        { "benchmark_enable_random_interleaving", FLAG_INTERLEAVING, "BOOL", OPTION_ARG_OPTIONAL,
          "spread each row's repetitions over the whole run, if not given; false: row after row, "
          "with one set-up each",
          2 },
        { "noise", FLAG_NOISE, "PERCENT", 0,
          "the noise that is low enough: half the interval of the median; 1% if not given", 2 },
        { "max-time", FLAG_MAX_TIME, "SECONDS", 0,
          "of a row at most, while its noise is too high; 1 if not given", 2 },
        { "benchmark_format", FLAG_FORMAT_OF, "FORMAT", 0, "console or json", 3 },
        { "benchmark_out", FLAG_OUT, "FILE", 0, "write the results to FILE too", 3 },
        { "benchmark_out_format", FLAG_OUT_FORMAT, "json", OPTION_HIDDEN, NULL, 3 },
        FLAGS_OUTPUT,
        FLAGS_VERBOSE,
        OPTIONS_END,
    };
    enum status status = STATUS_OK;
    struct bench_command command = { .flags = flags_default(),
                                     .settings = bench_settings_default(),
                                     .interleaved = true };
    const struct options options = {
        .command = "bench",
        .arguments = "",
        .text = "Measures what the device can do, one capability at a time: launches, waits, "
                "allocations, copies, memory, products, kernels and the data loader. Each row "
                "checks its result before it is timed. The JSON is Google Benchmark's; chokepoint "
                "compare reads it.\v"
                "Examples:\n"
                "  chokepoint bench\n"
                "  chokepoint bench --benchmark_filter='^lat_' --benchmark_out=new.json\n"
                "  chokepoint bench --benchmark_list_tests\n"
                "\n" EXIT_CODES("every row was measured", "a row failed"),
        .rows = rows,
        .option = take,
        .context = &command,
    };
    bool helped;

    command.settings.min_seconds = REPETITION_SECONDS;
    command.settings.max_seconds = ROW_SECONDS;
    TRY(options_parse(&options, argc, argv, &helped));
    if (helped)
        goto out;
    if (command.flags.seed_given)
        command.settings.seed = command.flags.seed;
    TRY(device_open(&command.device, command.flags.device,
                    &(const struct device_options){ .memory_bytes = command.flags.device_memory,
                                                    .spin_ns = -1 }));
    TRY(choose_rows(&command));
    if (command.count == 0)
        FAIL(STATUS_BAD_USAGE, "the filter matches no row; --benchmark_list_tests lists them");
    TRY(command.list ? list(&command) : measure(&command));
    *exit_code = command.failed > 0 ? 1 : 0;

out:
    bench_output_close(&command.output);
    device_close(command.device);
    free(command.rows);
    if (command.has_pattern)
        regfree(&command.pattern);
    return status;
}

const struct command command_bench = { "bench", "what the device can do, one capability at a time",
                                       run_bench };
