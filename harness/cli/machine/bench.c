/* chokepoint bench: what a device can do, one capability at a time, with Google Benchmark's flags.
 *
 * The rows are those of benches/benches.c; harness/bench measures them in rounds, so that a
 * disturbance of seconds does not fall on one row alone. All that was measured so far is kept in
 * the file all the time, so that Ctrl-C or a crash of a row costs little. With --rounds-of the
 * command measures nothing itself, but starts two programs in turn (rounds_of.h). */
#include "benches/benches.h"
#include "benches/roofs.h"
#include "harness/base/figures/number.h"
#include "harness/base/figures/statistics.h"
#include "harness/base/rows.h"
#include "harness/base/system/atomic_file.h"
#include "harness/base/system/machine.h"
#include "harness/base/words/text.h"
#include "harness/bench/clocks.h"
#include "harness/bench/counters.h"
#include "harness/bench/interrupt.h"
#include "harness/cli/job/job_flags.h"
#include "harness/cli/line/commands.h"
#include "harness/cli/line/values.h"
#include "harness/cli/machine/against.h"
#include "harness/cli/machine/bench_output.h"
#include "harness/cli/train/rounds_of.h"
#include "harness/device/many_ranks.h"
#include "harness/lab/experiment/parent/progress.h"
#include "harness/text/wrap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Some of many short repetitions pass while nothing disturbs the machine, which on shared cores
 * changes its speed every 10 to 100 ms. A set-up takes 30 ms in the mean of all rows: about as long
 * as five. */
#define REPETITION_SECONDS 0.005
#define ROW_SECONDS        1
enum { REPETITIONS_OF_VISIT = 5 };

struct bench_command {
    struct flags flags;
    struct bench_settings settings;
    struct bench_output_options output_options;
    struct against against;
    struct filter filter;
    bool inverted; /* "-REGEX": what it does not match */
    bool list, interleaved, dry_run;
    int ranks;
    struct rounds_of rounds_of;
    const char *ceilings; /* NULL, or the type of products */
    int file_format;      /* JSON is the only one */

    struct device *device;
    struct roofs roofs;
    struct bench_output output;
    struct progress progress;
    struct bench_row *rows; /* chosen */
    int name_width, count, failed, measured;
    bool worth_keeping; /* what was measured so far, in place of an older file */
};

static enum status take_filter(void *context, const struct option_row *row, const char *value)
{
    struct bench_command *command = context;

    command->inverted = value[0] == '-';
    value += command->inverted;
    return filter_take(&command->filter, row, strcmp(value, "all") == 0 ? "." : value);
}

/* "0.5", "0.5s", or iterations: "100x". */
static enum status take_min_time(void *member, const struct option_row *row, const char *value)
{
    struct bench_settings *settings = member;
    size_t length = strlen(value);
    char number[32] = "";

    if (length > 0 && length < sizeof number)
        memcpy(number, value,
               length - (value[length - 1] == 's' || value[length - 1] == 'x' ? 1 : 0));
    if (length > 0 && value[length - 1] == 'x') {
        TRY(number_integer(&settings->iterations, row->name, number, 1, 1000000000));
        return STATUS_OK;
    }
    settings->iterations = 0;
    return number_seconds(&settings->min_seconds, row->name, number, 600);
}

/* "key=value,key=value" */
static enum status take_context(void *context, const struct option_row *row, const char *value)
{
    struct bench_output_options *options = context;

    for (const char *at = value; *at != '\0'; at += strcspn(at, ","), at += *at == ',')
        if (strcspn(at, "=") == 0 || strcspn(at, "=") >= strcspn(at, ","))
            FAIL(STATUS_BAD_USAGE, "--%s=%.100s: give key=value, or several with commas", row->name,
                 value);
    if (options->context_count == (int)ARRAY_SIZE(options->contexts))
        FAIL(STATUS_BAD_USAGE, "--%s is given more than %d times: join them with commas", row->name,
             options->context_count);
    options->contexts[options->context_count++] = value;

    return STATUS_OK;
}

/* The name has the ranks, as it has the threads in Google Benchmark. */
static void choose_row(struct bench_command *command, struct bench_row *row)
{
    char *name = row->result.name;
    int width;

    bench_name(name, sizeof row->result.name, row->bench, row->argument);
    if (command->ranks > 1)
        text_append(name, sizeof row->result.name, "/ranks:%d", command->ranks);
    if (filter_matches(&command->filter, name) == command->inverted)
        return;
    width = (int)strlen(name);
    command->name_width = width > command->name_width ? width : command->name_width;
    command->rows[command->count++] = *row;
}

/* In the order of the list: `family` and `instance` count those of the list, so that a filter
 * leaves them as they are. */
static enum status choose_rows(struct bench_command *command)
{
    const struct device_properties *properties = device_properties(command->device);

    TRY(rows_make(&command->rows, bench_count * BENCH_ARGUMENTS));
    for (int family = 0; family < bench_count; family++) {
        const struct bench *bench = benches[family];
        struct bench_row row = { .bench = bench, .family = family };
        int count;
        const int64_t *arguments = bench_arguments(bench, properties, &count);
        if (command->ranks > 1 && !bench->communicates)
            continue;
        if (bench->lack != NULL)
            row.lack = bench->lack(bench, properties);
        for (; row.instance < count; row.instance++) {
            row.argument = arguments[row.instance];
            choose_row(command, &row);
        }
    }
    if (command->count == 0)
        FAIL(STATUS_BAD_USAGE, "the filter matches no row%s; --benchmark_list_tests lists them",
             command->ranks > 1 ? " of several ranks" : "");

    return STATUS_OK;
}

/* Before each writing: a row compares itself with the limits as they are known by then. */
static void apply_roofs(struct bench_command *command)
{
    for (int i = 0; i < command->count; i++)
        roofs_apply(&command->roofs, command->rows[i].bench, &command->rows[i].result);
}

/* Rows with all their repetitions. */
static int rows_done(const struct bench_command *command)
{
    int done = 0;

    for (int i = 0; i < command->count; i++)
        done += bench_is_done(&command->rows[i].result, &command->settings);
    return done;
}

/* Less than a row, and less than one visit of each, does not replace an older file. */
static bool keeps_older(const struct bench_command *command)
{
    const char *file = command->output_options.file;

    return !command->worth_keeping && file != NULL && access(file, F_OK) == 0;
}

/* The file is replaced once a row is done or each was visited, then every few seconds. */
static enum status show_progress(void *context, double share, bool round_ended)
{
    struct bench_command *command = context;

    command->worth_keeping |= round_ended || rows_done(command) > 0;
    if (interrupt_signal())
        FAIL(STATUS_INTERRUPTED, "stopped by %s; %d of %d rows have all their repetitions%s",
             interrupt_name(), rows_done(command), command->count,
             keeps_older(command) ? "; the older file stays" : "");
    if (command->worth_keeping && bench_output_is_due(&command->output)) {
        apply_roofs(command);
        TRY(bench_output_update(&command->output, command->rows, command->count));
    }
    progress_show(&command->progress, share, "%d rows, %.0f%% done", command->count, 100 * share);

    return STATUS_OK;
}

/* Its flops per second if the row is a product, else its bytes per second, and its time where it
 * moves none. */
static struct own_figure figure_of(const struct bench_row *row)
{
    const struct bench_result *result = &row->result;
    const char *name = row->bench->roof == ROOF_PRODUCTS ? "flops_per_second" : "bytes_per_second";
    double values[BENCH_REPETITIONS_MAX];

    for (int i = 0; i < BENCH_COUNTERS; i++) {
        const struct bench_counter *counter = &bench_counters[i];
        if (strcmp(counter->name, name) != 0 || !bench_counter_is_known(counter, result))
            continue;
        bench_counter_values(counter, result, values);
        return (struct own_figure){ result->name, counter->unit,
                                    stats_median(values, result->count) };
    }
    return (struct own_figure){ result->name, "ns", stats_median(result->real_ns, result->count) };
}

/* Rows without a repetition are left out. */
static enum status place_rows(struct bench_command *command)
{
    struct own_figure *figures = NULL;
    struct machine machine;
    enum status status;
    int measured = 0;

    if (command->against.where == NULL)
        return STATUS_OK;
    TRY(rows_make(&figures, command->count));
    for (int i = 0; i < command->count; i++)
        if (command->rows[i].result.count > 0)
            figures[measured++] = figure_of(&command->rows[i]);
    machine_read(&machine, "");
    status = against_place(&command->against, figures, measured, device_properties(command->device),
                           machine.cpu_model);
    free(figures);
    return status;
}

/* All that comes before the first row: the file is tried, and the device's limits are measured,
 * which rows are compared with. */
static enum status prepare_rows(struct bench_command *command)
{
    struct bench_output_options *options = &command->output_options;
    struct bench_settings *settings = &command->settings;

    options->color = command->flags.color;
    if (command->dry_run) {
        settings->iterations = settings->repetitions = 1;
        settings->warm_up_seconds = 0;
    }
    options->all_repetitions = settings->repetitions > 0;
    if (command->interleaved)
        settings->visit = settings->repetitions > 0 ? 1 : REPETITIONS_OF_VISIT;
    if (options->file != NULL && atomic_file_try(options->file, "", 0) != STATUS_OK) {
        status_context("--benchmark_out=%.100s", options->file);
        return status_last()->status;
    }
    TRY(clocks_raise(command->device));
    for (int i = 0; i < command->count; i++)
        if (command->rows[i].lack == NULL && !command->dry_run)
            roofs_measure(&command->roofs, command->rows[i].bench, command->device);
    return bench_output_open(&command->output, options, command->name_width, command->device,
                             &command->roofs);
}

/* After an interrupt, or when the file cannot be written, the rows are as far as they came. */
static enum status measure_rows(struct bench_command *command)
{
    enum status outcome;
    struct status_error error;

    TRY(prepare_rows(command));
    command->progress = progress_start(1);
    /* One rank speaks for all. */
    command->progress.shown &= ranks_rank() == 0;
    interrupt_catch();
    outcome = bench_rounds(command->rows, command->count, command->device, &command->settings,
                           show_progress, command);
    error = *status_last();
    progress_clear(&command->progress);
    for (int i = 0; i < command->count; i++) {
        command->measured += command->rows[i].result.count > 0;
        command->failed += command->rows[i].status != STATUS_OK;
    }
    if (command->measured == 0)
        TRY(outcome);
    apply_roofs(command);
    if (outcome == STATUS_INTERRUPTED && keeps_older(command))
        command->output.options.file = NULL;
    TRY(place_rows(command));
    TRY(bench_output_rows(&command->output, command->rows, command->count,
                          &command->against.standings, command->against.where));
    TRY(bench_output_end(&command->output));

    return outcome == STATUS_OK ? STATUS_OK : status_raise(&error);
}

/* The document is the same as of a measurement, with names alone. */
static enum status list_rows(struct bench_command *command)
{
    struct bench_output *output = &command->output;
    int width = command->name_width;

    output->options = command->output_options;
    output->root = json_object(&output->json, NULL, NULL);
    output->benchmarks = json_array(&output->json, output->root, "benchmarks");
    for (int i = 0; i < command->count; i++) {
        const struct bench_row *row = &command->rows[i];
        if (command->output_options.format == FORMAT_JSON) {
            json_text(&output->json, json_object(&output->json, output->benchmarks, NULL), "name",
                      row->result.name);
        } else if (command->flags.verbose) {
            printf("%-*s  ", width, row->result.name);
            wrap_print(stdout, width + 2, width + 2, wrap_room(stdout), row->bench->text);
        } else {
            printf("%s\n", row->result.name);
        }
    }
    return bench_output_end(output);
}

static void bench_prepare(void *context)
{
    struct bench_command *command = context;

    command->settings = bench_settings_default();
    command->settings.min_seconds = REPETITION_SECONDS;
    command->settings.max_seconds = ROW_SECONDS;
    command->interleaved = true;
    command->ranks = 1;
}

/* Refuses options that only the rounds take, or only a measurement. */
static enum status refuse_others(const struct bench_command *command)
{
    TRY(rounds_of_refuse_options(&command->rounds_of));
    if (command->flags.argument_count > 0)
        FAIL(STATUS_BAD_USAGE, "bench takes options only; unexpected \"%.60s\"",
             command->flags.arguments[0]);
    if (command->output_options.format == FORMAT_MARKDOWN && command->against.where == NULL)
        FAIL(STATUS_BAD_USAGE,
             "--benchmark_format=markdown belongs to --rounds-of OLD NEW and to --against");
    if (command->list && command->against.where != NULL)
        FAIL(STATUS_BAD_USAGE,
             "--against places what is measured: leave out --benchmark_list_tests");

    return STATUS_OK;
}

static void close_rows(struct bench_command *command)
{
    device_close(command->device);
    free(command->rows);
    command->device = NULL;
    command->rows = NULL;
    command->count = command->name_width = 0;
}

/* Finds what is wrong before there are ranks, so that it is said once. */
static enum status check_ranks(struct bench_command *command)
{
    enum status status = STATUS_OK;

    TRY_OUT(flags_open_device(&command->device, &command->flags));
    TRY_OUT(choose_rows(command));
    TRY_OUT(device_check_ranks(command->device, command->ranks));

out:
    close_rows(command);
    return status;
}

/* The two limits of a step, measured quickly. `run` asks a child for them, since a device may
 * hang. */
static enum status print_ceilings(struct bench_command *command)
{
    int peak = roof_peak_find(command->ceilings);
    struct ceilings ceilings;

    if (peak >= ROOF_PEAKS)
        FAIL(STATUS_BAD_USAGE, "--ceilings=%.60s: give fp32, tf32, bf16 or fp16",
             command->ceilings);
    TRY(flags_open_device(&command->device, &command->flags));
    TRY(clocks_raise(command->device));
    roofs_measure_quickly(&command->roofs, peak, command->device);
    ceilings = roofs_ceilings(&command->roofs, peak);
    if (!(ceilings.flops_per_second > 0) || !(ceilings.bytes_per_second > 0))
        return status_last()->status;
    printf("{\"flops_per_second\": %.17g, \"bytes_per_second\": %.17g}\n",
           ceilings.flops_per_second, ceilings.bytes_per_second);

    return STATUS_OK;
}

static enum status run_bench(void *context, int *exit_code)
{
    struct bench_command *command = context;

    if (command->ceilings != NULL)
        return print_ceilings(command);
    if (command->rounds_of.given) {
        static const struct rounds_of_command rounds_of_bench = { "bench", "benchmark_out", ".json",
                                                                  NULL };
        if (command->list || command->output_options.file != NULL || command->against.where != NULL)
            FAIL(STATUS_BAD_USAGE,
                 "--rounds-of measures, and writes its files to the folder --out: "
                 "leave out --benchmark_list_tests, --benchmark_out and --against");
        if (command->flags.argument_count > 2)
            FAIL(STATUS_BAD_USAGE, "--rounds-of compares two programs; unexpected \"%.60s\"",
                 command->flags.arguments[2]);
        command->flags.format = command->output_options.format;
        return rounds_of_measure(&command->rounds_of, &rounds_of_bench, &command->flags, exit_code);
    }
    TRY(refuse_others(command));
    TRY(against_read(&command->against, "bench", node_read_bench));
    if (!command->list && command->ranks > 1 && !ranks_are_started())
        TRY(check_ranks(command));
    if (!command->list)
        TRY(rank_job_enter(command->ranks, STDOUT_FILENO));
    if (ranks_rank() > 0) /* The first rank writes. */
        command->output_options.file = NULL;
    TRY(flags_open_device(&command->device, &command->flags));
    TRY(choose_rows(command));
    TRY(command->list ? list_rows(command) : measure_rows(command));
    *exit_code = command->failed > 0                      ? GATE_FAILED
                 : command->measured > 0 || command->list ? GATE_PASSED
                                                          : GATE_UNTOLD;

    return STATUS_OK;
}

static void bench_release(void *context)
{
    struct bench_command *command = context;

    bench_output_close(&command->output);
    against_release(&command->against);
    close_rows(command);
    filter_release(&command->filter);
}

#define AT(member) .offset = offsetof(struct bench_command, member)
static const struct option_row options[] = {
    FLAG_DEVICE("what to measure"),
    FLAG_DEVICE_MEMORY,
    { "seed", "N", "seed of the data", 1, value_unsigned, AT(settings.seed) },
    { "ceilings", "TYPE",
      "print only how fast the device multiplies matrices of this type (fp32, tf32, bf16, fp16) "
      "and copies, as JSON",
      3, value_text, AT(ceilings) },
    { "ranks", "N",
      "measure what N processes do together (coll_*), over MPI, each with a device of its own, and "
      "nothing else",
      1, value_count, AT(ranks), .least = 1, .most = 1024 },
    { "benchmark_filter", "REGEX",
      "only rows whose name matches (POSIX extended); -REGEX: the others", 2, take_filter,
      .offset = 0 },
    { "benchmark_list_tests", "BOOL",
      "list the rows and measure nothing; with --verbose, say what they are", 2, value_boolean,
      AT(list), .optional = true },
    { "benchmark_min_time", "SECONDS|Nx",
      "of a repetition, 0.005 if not given; 100x: 100 iterations", 2, take_min_time, AT(settings) },
    { "benchmark_min_warmup_time", "SECONDS", "run each row for so long before it is measured", 2,
      value_seconds, AT(settings.warm_up_seconds), .most = 600 },
    { "benchmark_dry_run", "BOOL", "one iteration of each row, to see that all of them run", 2,
      value_boolean, AT(dry_run), .optional = true },
    { "benchmark_repetitions", "N",
      "if not given, 30 to 60 (6 to 30 row after row), until the noise is low enough", 2,
      value_count, AT(settings.repetitions), .least = 1, .most = BENCH_REPETITIONS_MAX },
    { "benchmark_enable_random_interleaving", "BOOL",
      "spread each row's repetitions over the whole run, if not given; false: row after row, "
      "with one set-up each",
      2, value_boolean, AT(interleaved), .optional = true },
    { "noise", "PERCENT",
      "the noise that is low enough: half the interval of the median; 1% if not given", 2,
      value_percent, AT(settings.noise), .least = 0.001, .most = 100 },
    { "max-time", "SECONDS", "of a row at most, while its noise is too high; 1 if not given", 2,
      value_seconds, AT(settings.max_seconds), .most = 3600 },
    { "benchmark_format", "console|json|markdown",
      "format of what is printed; markdown: of --rounds-of and --against", 3, value_choice,
      AT(output_options.format) },
    { "benchmark_report_aggregates_only", "BOOL",
      "only mean, median, stddev and cv of a row that has several repetitions, on the console and "
      "in the file",
      3, value_boolean, AT(output_options.aggregates_only), .optional = true },
    { "benchmark_display_aggregates_only", "BOOL", "the same, but the file has them all", 3,
      value_boolean, AT(output_options.display_aggregates_only), .optional = true },
    { "benchmark_counters_tabular", "BOOL", "counters in columns, where there is room", 3,
      value_boolean, AT(output_options.tabular), .optional = true },
    { "benchmark_time_unit", BENCH_UNIT_NAMES, "of all times; files have ns if not given", 3,
      value_choice, AT(output_options.time_unit), .least = 1 },
    { "benchmark_context", "KEY=VALUE,...", "add this to the context", 3, take_context,
      AT(output_options) },
    { "benchmark_out", "FILE", "write the results to FILE too", 3, value_text,
      AT(output_options.file) },
    /* Google Benchmark's users write it beside --benchmark_out. */
    { "benchmark_out_format", "json", NULL, 3, value_choice, AT(file_format) },
    { "against", "FILE|DIR",
      "place each row among those of other machines with this device, or of earlier runs, from "
      "their files of --benchmark_out",
      3, value_text, AT(against.where) },
    FLAG_COLOR,
    FLAG_VERBOSE,
    ROUNDS_OF_OPTIONS(bench_command, rounds_of),
    ROUNDS_OF_COMMAND(bench_command, rounds_of),
    FLAG_OUT("new folder for the results of the rounds", 4),
    OPTIONS_END,
};

const struct command command_bench = {
    .name = "bench",
    .text = "what the device can do, one capability at a time",
    .arguments = "\n--rounds-of OLD NEW",
    .help = "Measures what the device can do, one capability at a time: launches, waits, "
            "allocations, copies, memory, products, kernels and the data loader. Each row "
            "checks its result before it is timed. The JSON is Google Benchmark's; chokepoint "
            "compare reads it. Ctrl-C prints and writes what was measured so far.\v"
            "Examples:\n"
            "  chokepoint bench\n"
            "  chokepoint bench --benchmark_filter='^lat_' --benchmark_out=new.json\n"
            "  chokepoint bench --benchmark_list_tests\n"
            "  chokepoint bench --against=machines/\n"
            "  chokepoint bench --ranks=2    collectives\n"
            "  chokepoint bench --rounds-of old/chokepoint new/chokepoint --out=rounds\n"
            "  chokepoint bench --rounds-of old/my_bench new/my_bench --out=rounds\n"
            "  chokepoint bench --rounds-of old new --command='sh measure.sh {program} {out}' "
            "--out=rounds\n"
            "\n" EXIT_CODES("no row failed", "a row failed; with --rounds-of, as compare",
                            "nothing was measured"),
    .options = options,
    .context_size = sizeof(struct bench_command),
    .prepare = bench_prepare,
    .run = run_bench,
    .release = bench_release,
};
