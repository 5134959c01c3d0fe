#include "harness/cli/train/rounds_of.h"

#include "harness/base/rows.h"
#include "harness/base/system/atomic_file.h"
#include "harness/base/words/text.h"
#include "harness/cli/line/commands.h"
#include "harness/desk/compare/file/benchmark_file.h"
#include "harness/desk/compare/row_sides.h"
#include "harness/lab/bench/interrupt.h"
#include "harness/lab/experiment/parent/process.h"
#include "harness/lab/experiment/parent/progress.h"

#include <dirent.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* An even number, so that each side goes first as often; three per side are the least that compare asks for. */
enum { ROUNDS = 4 };

/* Options of these groups say what is measured, and how; those of later groups where it is shown. */
enum { LAST_MEASURED_GROUP = 2 };

static const char *const side_names[SIDES] = { "old", "new" };

/* Texts of a command line, which own their memory. */
struct words {
    char **texts; /* [count], then NULL */
    int count;
    int64_t room;
};

struct rounds {
    const struct rounds_of_command *command;
    const struct flags *flags;
    const char *programs[SIDES];
    int rounds;
    int whole[SIDES]; /* results so far */
    char *unfinished; /* where the programs write */
    struct progress progress;
};

/* --- Command lines --- */

static void words_close(struct words *words)
{
    for (int i = 0; i < words->count; i++) free(words->texts[i]);
    free(words->texts);
}

static enum status words_add(struct words *words, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static enum status words_add(struct words *words, const char *format, ...)
{
    enum status status = STATUS_OK;
    va_list arguments;

    va_start(arguments, format);
    TRY_OUT(rows_grow(&words->texts, words->count + 2, &words->room));
    TRY_OUT(text_make_list(&words->texts[words->count], format, arguments));
    words->texts[++words->count] = NULL;

out:
    va_end(arguments);
    return status;
}

/* An absolute or "./" path: one that begins with a dash would look like an option. */
static enum status add_result(struct words *words, const struct rounds *rounds, int side, int run)
{
    const char *out = rounds->flags->out;

    return words_add(words, "%s%s/%s-%d%s", out[0] == '-' ? "./" : "", out, side_names[side], run,
                     rounds->command->suffix);
}

static bool was_given(const struct flags *flags, const char *name)
{
    for (int i = 0; i < flags->given_count; i++)
        if (strcmp(flags->given[i].row->name, name) == 0)
            return true;
    return false;
}

/* The words that both programs are called with. */
static enum status measuring_words(struct words *words, const struct rounds *rounds)
{
    const struct rounds_of_command *command = rounds->command;
    const struct flags *flags = rounds->flags;

    TRY(words_add(words, "%s", command->name));
    for (int i = 0; i < flags->given_count; i++) {
        const struct given_option *given = &flags->given[i];
        if (given->row->group <= LAST_MEASURED_GROUP)
            TRY(words_add(words, "--%s%s%s", given->row->name, given->value != NULL ? "=" : "",
                          given->value != NULL ? given->value : ""));
    }
    if (command->like != NULL && rounds->whole[SIDE_BASE] > 0 && !was_given(flags, command->like))
        TRY(words_add(words, "--%s=%s/%s-1%s", command->like, flags->out, side_names[SIDE_BASE],
                      command->suffix));
    TRY(words_add(words, "--%s=%s", command->out, rounds->unfinished));
    for (int i = SIDES; i < flags->argument_count; i++)
        TRY(words_add(words, "%s", flags->arguments[i]));

    return STATUS_OK;
}

/* --- Before anything is measured --- */

static enum status check_program(const char *program)
{
    struct stat info;

    if (stat(program, &info) != 0)
        FAIL(STATUS_BAD_USAGE, "%s cannot be started: %s", program, strerror(errno));
    if (S_ISDIR(info.st_mode))
        FAIL(STATUS_BAD_USAGE, "%s is a folder: name the program in it, as in build/chokepoint",
             program);
    if (access(program, X_OK) != 0)
        FAIL(STATUS_BAD_USAGE, "%s cannot be started: %s", program, strerror(errno));

    return STATUS_OK;
}

/* Results of earlier rounds are neither lost nor counted. */
static enum status open_folder(const char *path)
{
    enum status status = STATUS_OK;
    const struct dirent *entry;
    DIR *folder = NULL;

    TRY_OUT(atomic_file_create_folder(path));
    folder = opendir(path);
    if (folder == NULL)
        FAIL_OUT(STATUS_IO, "cannot read the folder: %s", strerror(errno));
    while ((entry = readdir(folder)) != NULL)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            FAIL_OUT(STATUS_BAD_USAGE,
                     "the folder is not empty (%.60s): name a new one for the rounds",
                     entry->d_name);

out:
    if (folder != NULL)
        closedir(folder);
    if (status != STATUS_OK)
        status_context("--out=%.100s", path);
    return status;
}

static enum status prepare(struct rounds *rounds)
{
    const struct flags *flags = rounds->flags;

    if (flags->argument_count < SIDES)
        FAIL(STATUS_BAD_USAGE,
             "--rounds-of compares two programs: chokepoint %s --rounds-of OLD "
             "NEW",
             rounds->command->name);
    if (getenv("CHOKEPOINT_PLUGINS") != NULL)
        FAIL(STATUS_BAD_USAGE, "CHOKEPOINT_PLUGINS is set, so both programs would load the same "
                               "devices: unset it");
    for (int side = 0; side < SIDES; side++) {
        rounds->programs[side] = flags->arguments[side];
        TRY(check_program(rounds->programs[side]));
    }
    TRY(open_folder(flags->out));
    TRY(text_make(&rounds->unfinished, "%s/unfinished%s", flags->out, rounds->command->suffix));

    return STATUS_OK;
}

/* --- One run --- */

/* 1 says that a row, or a scenario, is not as it should be: the results say which. */
static enum status judge_end(const struct process_report *report)
{
    char end[80];

    process_describe(report, end, sizeof end);
    if (report->end == PROCESS_INTERRUPTED)
        FAIL(STATUS_INTERRUPTED, "stopped by %s", interrupt_name());
    if (report->end != PROCESS_EXITED || report->code > 1)
        FAIL(report->end == PROCESS_EXITED && report->code == status_exit_code(STATUS_NO_DEVICE)
                 ? STATUS_NO_DEVICE
                 : STATUS_BAD_INPUT,
             "%s%s%s", end, report->last_words[0] != '\0' ? ": " : "", report->last_words);

    return STATUS_OK;
}

/* Checks that the run wrote results, with at least one row. */
static enum status check_results(const char *path, const struct process_report *report)
{
    enum status status = STATUS_OK;
    struct benchmark_file file = { .path = path };

    if (access(path, F_OK) != 0)
        FAIL_OUT(STATUS_BAD_INPUT, "it wrote no results%s%s",
                 report->last_words[0] != '\0' ? ": " : "; is it a chokepoint?",
                 report->last_words);
    if (benchmark_file_read(&file, path, BENCHMARK_TIME) != STATUS_OK)
        FAIL_OUT(STATUS_BAD_INPUT, "its results cannot be read: %s", status_last()->text);
    if (file.count == 0)
        FAIL_OUT(STATUS_BAD_INPUT, "its results have no row");

out:
    benchmark_file_release(&file);
    return status;
}

/* Programs measured here have nothing to say on the descriptor for lines. */
static void ignore_line(void *context, const char *line)
{
    (void)context;
    (void)line;
}

static enum status measure_once(struct rounds *rounds, enum compare_side side)
{
    enum status status = STATUS_OK;
    struct words words = { .count = 0 }, result = { .count = 0 };
    struct process_report report;
    int round = rounds->whole[side] + 1;

    TRY_OUT(measuring_words(&words, rounds));
    TRY_OUT(add_result(&result, rounds, side, round));
    TRY_OUT(process_run(&(struct process){ .program = rounds->programs[side],
                                           .arguments = (const char *const *)words.texts,
                                           .stop = interrupt_flag(),
                                           .line = ignore_line },
                        &report));
    TRY_OUT(judge_end(&report));
    TRY_OUT(check_results(rounds->unfinished, &report));
    if (rename(rounds->unfinished, result.texts[0]) != 0)
        ATOMIC_FILE_FAIL(result.texts[0], errno);
    rounds->whole[side]++;

out:
    if (status != STATUS_OK)
        status_context("%s (%.80s), round %d of %d", side_names[side], rounds->programs[side],
                       round, rounds->rounds);
    words_close(&words);
    words_close(&result);
    return status;
}

static enum status measure(struct rounds *rounds)
{
    enum status status = STATUS_OK;

    rounds->progress = progress_start(SIDES * rounds->rounds);
    for (int run = 0; run < SIDES * rounds->rounds; run++) {
        int round = run / SIDES;
        enum compare_side side = (enum compare_side)((run + round) % SIDES);
        progress_show(&rounds->progress, (double)run / (SIDES * rounds->rounds),
                      "round %d of %d: %s", round + 1, rounds->rounds, side_names[side]);
        TRY_OUT(measure_once(rounds, side));
        progress_next(&rounds->progress);
    }

out:
    progress_clear(&rounds->progress);
    return status;
}

/* --- The verdict --- */

static enum status compare(const struct rounds *rounds, double threshold, int *exit_code)
{
    static const char *const formats[] = { "console", "json", "markdown" };
    static const char *const colors[] = { "auto", "always", "never" };
    enum status status = STATUS_OK;
    struct words words = { .count = 0 };

    TRY_OUT(words_add(&words, "%s", command_compare.name));
    TRY_OUT(words_add(&words, "--format=%s", formats[rounds->flags->format]));
    TRY_OUT(words_add(&words, "--color=%s", colors[rounds->flags->color]));
    if (threshold > 0)
        TRY_OUT(words_add(&words, "--threshold=%.17g%%", 100 * threshold));
    for (int side = 0; side < SIDES; side++) {
        if (side == SIDE_NEW)
            TRY_OUT(words_add(&words, "--new"));
        for (int run = 1; run <= rounds->whole[side]; run++)
            TRY_OUT(add_result(&words, rounds, side, run));
    }
    TRY_OUT(command_execute(&command_compare, words.count, words.texts, exit_code));

out:
    words_close(&words);
    return status;
}

enum status rounds_of_measure(const struct rounds_of *rounds_of,
                              const struct rounds_of_command *command, const struct flags *flags,
                              int *exit_code)
{
    enum status status = STATUS_OK, outcome;
    struct status_error error;
    struct rounds rounds = { .command = command,
                             .flags = flags,
                             .rounds = rounds_of->rounds > 0 ? rounds_of->rounds : ROUNDS };

    TRY_OUT(prepare(&rounds));
    interrupt_catch();
    outcome = measure(&rounds);
    error = *status_last();
    if (outcome == STATUS_OK || (outcome == STATUS_INTERRUPTED && rounds.whole[SIDE_BASE] > 0 &&
                                 rounds.whole[SIDE_NEW] > 0))
        TRY_OUT(compare(&rounds, rounds_of->threshold, exit_code));
    if (outcome != STATUS_OK) {
        *exit_code = outcome == STATUS_OUT_OF_MEMORY ? 2 : 0;
        status = status_raise(&error);
    }

out:
    free(rounds.unfinished);
    return status;
}

enum status rounds_of_refuse_options(const struct rounds_of *rounds_of)
{
    if (rounds_of->rounds > 0 || rounds_of->threshold > 0)
        FAIL(STATUS_BAD_USAGE, "--rounds and --threshold belong to --rounds-of OLD NEW");

    return STATUS_OK;
}
