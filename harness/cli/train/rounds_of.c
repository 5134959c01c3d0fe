/* Both programs get one command line, made from the options of this one. Each run writes to one
 * path, "unfinished", and what it wrote gets its name once it is known to be whole, so that results
 * in the folder can be counted on after an interrupt. `compare` then reads the files as if a user
 * had named them. A program that refuses the command's name is one of Google Benchmark: it is
 * started again without. */
#include "harness/cli/train/rounds_of.h"

#include "harness/base/rows.h"
#include "harness/base/system/atomic_file.h"
#include "harness/base/words/text.h"
#include "harness/bench/interrupt.h"
#include "harness/cli/line/commands.h"
#include "harness/desk/compare/file/benchmark_file.h"
#include "harness/desk/compare/row_sides.h"
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

/* An even number, so that each side goes first as often; three per side are the least that compare
 * asks for. */
enum { ROUNDS = 4 };

/* Options of these groups say what is measured, and how; those of later groups where it is
 * shown. */
enum { LAST_MEASURED_GROUP = 2 };

static const char *const side_names[SIDES] = { "old", "new" };

/* Texts of a command line, which own their memory. exec takes an array that ends with NULL, which
 * is there from the first word on. */
struct words {
    char **texts; /* [count], then NULL */
    int count;
    int64_t room;
};

struct rounds {
    const struct rounds_of_command *command;
    const struct flags *flags;
    const char *programs[SIDES];
    bool nameless[SIDES]; /* the program does not know the command's name */
    char *shell;          /* the user's command; NULL: the programs are started */
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

/* The user's command as the shell takes it, with OLD or NEW and the file as its arguments 1 and 2:
 * they are words there whatever is in them. *text is malloc'd. */
static enum status shell_of(char **text, const char *command)
{
    static const struct {
        const char *name, *value;
    } places[] = { { "{program}", "\"$1\"" }, { "{out}", "\"$2\"" } };
    enum status status = STATUS_OK;
    size_t room = 2 * strlen(command) + 1, length = 0;

    for (size_t i = 0; i < ARRAY_SIZE(places); i++)
        if (strstr(command, places[i].name) == NULL)
            FAIL_OUT(STATUS_BAD_USAGE,
                     "--command has no %s: give it as in --command='{program} "
                     "--benchmark_out={out}'",
                     places[i].name);
    TRY_OUT(rows_make(text, (int64_t)room));
    while (*command != '\0') {
        size_t place = 0;
        while (place < ARRAY_SIZE(places) &&
               strncmp(command, places[place].name, strlen(places[place].name)) != 0)
            place++;
        if (place < ARRAY_SIZE(places)) {
            length += (size_t)snprintf(*text + length, room - length, "%s", places[place].value);
            command += strlen(places[place].name);
        } else {
            (*text)[length++] = *command++;
        }
    }

out:
    return status;
}

/* The words that the program of a side is called with; the same on both sides, or two that differ
 * in nothing but the program's name. */
static enum status measuring_words(struct words *words, const struct rounds *rounds,
                                   enum compare_side side)
{
    const struct rounds_of_command *command = rounds->command;
    const struct flags *flags = rounds->flags;

    if (rounds->shell != NULL) {
        TRY(words_add(words, "-c"));
        TRY(words_add(words, "%s", rounds->shell));
        TRY(words_add(words, "sh"));
        TRY(words_add(words, "%s", rounds->programs[side]));
        TRY(words_add(words, "%s", rounds->unfinished));
        return STATUS_OK;
    }
    if (!rounds->nameless[side])
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

/* A user's command may begin with cd, so its file has a whole path. */
static enum status name_unfinished(struct rounds *rounds)
{
    enum status status = STATUS_OK;
    char *whole = NULL;

    if (rounds->shell != NULL && (whole = realpath(rounds->flags->out, NULL)) == NULL)
        FAIL_OUT(STATUS_IO, "--out=%.100s: %s", rounds->flags->out, strerror(errno));
    TRY_OUT(text_make(&rounds->unfinished, "%s/unfinished%s",
                      whole != NULL ? whole : rounds->flags->out, rounds->command->suffix));

out:
    free(whole);
    return status;
}

static enum status prepare_rounds(struct rounds *rounds, const char *command)
{
    const struct flags *flags = rounds->flags;

    if (flags->argument_count < SIDES)
        FAIL(STATUS_BAD_USAGE,
             "--rounds-of compares two programs: chokepoint %s --rounds-of OLD "
             "NEW",
             rounds->command->name);
    if (command != NULL)
        TRY(shell_of(&rounds->shell, command));
    /* It names the folder of the devices, and each program has its own. */
    if (command == NULL && getenv("CHOKEPOINT_PLUGINS") != NULL)
        FAIL(STATUS_BAD_USAGE, "CHOKEPOINT_PLUGINS is set, so both programs would load the same "
                               "devices: unset it");
    for (int side = 0; side < SIDES; side++) {
        rounds->programs[side] = flags->arguments[side];
        if (command == NULL) {
            struct stat info;

            if (stat(rounds->programs[side], &info) != 0)
                FAIL(STATUS_BAD_USAGE, "%s cannot be started: %s", rounds->programs[side],
                     strerror(errno));
            if (S_ISDIR(info.st_mode))
                FAIL(STATUS_BAD_USAGE,
                     "%s is a folder: name the program in it, as in build/chokepoint",
                     rounds->programs[side]);
            if (access(rounds->programs[side], X_OK) != 0)
                FAIL(STATUS_BAD_USAGE, "%s cannot be started: %s", rounds->programs[side],
                     strerror(errno));
        }
    }
    TRY(open_folder(flags->out));
    return name_unfinished(rounds);
}

/* --- One run --- */

/* 1 says that a row, or a scenario, is not as it should be, and 3 that it could not be told: the
 * results say which. */
static enum status judge_end(const char *path, const struct process_report *report)
{
    char end[80];

    process_describe(report, end, sizeof end);
    if (report->end == PROCESS_INTERRUPTED)
        FAIL(STATUS_INTERRUPTED, "stopped by %s", interrupt_name());
    if (report->end == PROCESS_EXITED && report->code == GATE_UNTOLD && access(path, F_OK) == 0)
        return STATUS_OK;
    if (report->end != PROCESS_EXITED || report->code > GATE_FAILED)
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
                 report->last_words[0] != '\0'
                     ? ": "
                     : "; is it a chokepoint, or a program of Google Benchmark?",
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

/* Runs the program once, to its end. */
static enum status run_side(const struct rounds *rounds, enum compare_side side,
                            struct process_report *report)
{
    enum status status = STATUS_OK;
    struct words words = { .count = 0 };

    TRY_OUT(measuring_words(&words, rounds, side));
    TRY_OUT(process_run(
        &(struct process){ .program = rounds->shell != NULL ? "/bin/sh" : rounds->programs[side],
                           .arguments = (const char *const *)words.texts,
                           .stop = interrupt_flag(),
                           .line = ignore_line },
        report));

out:
    words_close(&words);
    return status;
}

/* Programs of Google Benchmark end so when they are given a word that is no option of theirs. */
static bool refuses_name(const struct rounds *rounds, const struct process_report *report)
{
    const char *at = strstr(report->last_words, "unrecognized command-line flag: ");

    return at != NULL && report->end == PROCESS_EXITED && report->code != 0 &&
           strstr(at, rounds->command->name) != NULL;
}

static enum status measure_once(struct rounds *rounds, enum compare_side side)
{
    enum status status = STATUS_OK;
    struct words result = { .count = 0 };
    struct process_report report;
    int round = rounds->whole[side] + 1;

    TRY_OUT(add_result(&result, rounds, side, round));
    TRY_OUT(run_side(rounds, side, &report));
    if (rounds->shell == NULL && !rounds->nameless[side] && refuses_name(rounds, &report)) {
        rounds->nameless[side] = true;
        TRY_OUT(run_side(rounds, side, &report));
    }
    TRY_OUT(judge_end(rounds->unfinished, &report));
    TRY_OUT(check_results(rounds->unfinished, &report));
    if (rename(rounds->unfinished, result.texts[0]) != 0)
        ATOMIC_FILE_FAIL(result.texts[0], errno);
    rounds->whole[side]++;

out:
    if (status != STATUS_OK)
        status_context("%s (%.80s), round %d of %d", side_names[side], rounds->programs[side],
                       round, rounds->rounds);
    words_close(&result);
    return status;
}

static enum status measure_all(struct rounds *rounds)
{
    enum status status = STATUS_OK;

    rounds->progress = progress_start(SIDES * rounds->rounds);
    for (int run = 0; run < SIDES * rounds->rounds; run++) {
        int round = run / SIDES;
        /* The side that goes first changes from round to round, so that neither always runs on the
         * warmer machine. */
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

/* In this process: the command has the words that a user would type. */
static enum status compare_sides(const struct rounds *rounds, double threshold, int *exit_code)
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

    TRY_OUT(prepare_rounds(&rounds, rounds_of->command));
    interrupt_catch();
    outcome = measure_all(&rounds);
    error = *status_last();
    if (outcome == STATUS_OK || (outcome == STATUS_INTERRUPTED && rounds.whole[SIDE_BASE] > 0 &&
                                 rounds.whole[SIDE_NEW] > 0))
        TRY_OUT(compare_sides(&rounds, rounds_of->threshold, exit_code));
    if (outcome != STATUS_OK) {
        *exit_code = 0; /* the status has its own */
        status = status_raise(&error);
    }

out:
    free(rounds.unfinished);
    free(rounds.shell);
    return status;
}

enum status rounds_of_refuse_options(const struct rounds_of *rounds_of)
{
    if (rounds_of->rounds > 0 || rounds_of->threshold > 0 || rounds_of->command != NULL)
        FAIL(STATUS_BAD_USAGE, "--rounds, --threshold and --command belong to --rounds-of OLD NEW");

    return STATUS_OK;
}
