/* chokepoint try: measures fixes within somebody's own program, by switching a cause off and on
 * again while it trains.
 *
 * The program runs at least twice: once for `record`, whose findings say what may be wrong, and
 * once with scripts/recorder/chokepoint_trial.py in it, which switches what the findings name on
 * and off in windows of steps. This process writes the plan, looks at the trial's file while it
 * grows, and tells the trial which of its arms need no more pairs. Fixes that no run can switch on
 * and off are measured in short runs of the whole program, in turns, if one asks for them. */
#include "harness/base/clock.h"
#include "harness/base/facts/cpu_times.h"
#include "harness/base/random.h"
#include "harness/base/rows.h"
#include "harness/base/system/atomic_file.h"
#include "harness/base/system/files.h"
#include "harness/base/system/scratch_folder.h"
#include "harness/base/words/text.h"
#include "harness/cli/line/commands.h"
#include "harness/cli/line/flags.h"
#include "harness/cli/traces/user_program.h"
#include "harness/desk/compare/trial/trial.h"
#include "harness/desk/diagnosis/rules/rules.h"
#include "harness/text/result_traces.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define LOCK      "try.lock"
#define CANDIDATE "candidate.patch" /* a diff that is not measured yet */

enum {
    WAIT_STEPS = 10,
    LEAST_STEPS = 4, /* of a window */
    MOST_STEPS = 12,
    WHOLE_STEPS = 50, /* of a run without windows */
};

struct try_options {
    struct flags flags;
    bool all, patch;
    const char *only;
    int rounds;
    double seconds;
};

struct try_run {
    const struct try_options *options;
    const char *const *words;
    char folder[PATH_MAX];       /* absolute */
    int directory, lock, output; /* the folder; try.lock; what the program prints to */
    cJSON *earlier;              /* result.json that is there; NULL: none */
    cJSON *diagnosis;            /* NULL: nothing was recorded */
    const cJSON *findings;
    struct trial trial;
    int64_t read_ns;     /* the trial's file is of that time */
    char disturbed[128]; /* "": nothing that matters */
};

/* --- The folder --- */

static enum status path_in(char path[PATH_MAX], const struct try_run *run, const char *name)
{
    if (snprintf(path, PATH_MAX, "%s/%s", run->folder, name) >= PATH_MAX)
        FAIL(STATUS_BAD_USAGE, "--out: %.60s... is too long a path", run->folder);
    return STATUS_OK;
}

/* A member of an object, of an object of it, and so on, by names up to NULL. */
static const cJSON *member(const cJSON *object, const char *const *names)
{
    for (; *names != NULL; names++) object = cJSON_GetObjectItemCaseSensitive(object, *names);
    return object;
}
#define MEMBER(object, ...) member(object, (const char *const[]){ __VA_ARGS__, NULL })

static enum status open_own(int *file, const struct try_run *run, const char *name)
{
    *file = own_file_open(run->directory, name, O_RDWR | O_APPEND);
    if (*file < 0)
        FAIL(STATUS_IO, "cannot write %s/%s: %s; %s", run->folder, name, strerror(errno),
             atomic_file_advice(errno));
    return STATUS_OK;
}

static bool is_empty(const char *folder)
{
    DIR *stream = opendir(folder);
    int entries = 0; /* "." and ".." are two */

    while (stream != NULL && entries < 3 && readdir(stream) != NULL) entries++;
    if (stream != NULL)
        closedir(stream);
    return entries < 3;
}

/* try.lock marks a folder as one of try, whose files are replaced, and keeps another trial out
 * until this process ends. A file system without locks keeps none out. */
static enum status lock_folder(struct try_run *run)
{
    if (faccessat(run->directory, LOCK, F_OK, 0) != 0 && !is_empty(run->folder))
        FAIL(STATUS_BAD_USAGE,
             "the folder %s holds other files than a trial: name another one with --out",
             run->folder);
    TRY(open_own(&run->lock, run, LOCK));
    if (flock(run->lock, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
        FAIL(
            STATUS_BAD_USAGE,
            "another trial is under way in %s; wait for its end, or name another folder with --out",
            run->folder);
    return STATUS_OK;
}

static enum status open_folder(struct try_run *run)
{
    const char *out = run->options->flags.out;

    TRY(atomic_file_create_folder(out));
    run->directory = open(out, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (run->directory < 0 || realpath(out, run->folder) == NULL)
        FAIL(STATUS_IO, "the folder %s cannot be read: %s", out, strerror(errno));
    TRY(lock_folder(run));
    (void)result_json_read(&run->earlier, run->directory, "result.json"); /* there may be none */
    TRY(open_own(&run->output, run, "output.txt"));
    if (ftruncate(run->output, 0) != 0)
        FAIL(STATUS_IO, "%s/output.txt cannot be emptied: %s", run->folder, strerror(errno));
    return STATUS_OK;
}

static enum status write_json(const struct try_run *run, const char *name, const struct json *json,
                              const cJSON *root)
{
    enum status status = STATUS_OK;
    char path[PATH_MAX], *text = NULL;

    TRY_OUT(path_in(path, run, name));
    TRY_OUT(json_print(json, root, &text));
    TRY_OUT(atomic_file_write(path, text, strlen(text)));

out:
    free(text);
    return status;
}

/* --- What may be wrong --- */

/* Reads what another command of this program prints as JSON. */
static enum status read_printed(struct try_run *run, const char *const *words, cJSON **root)
{
    enum status status = STATUS_OK;
    int file = -1, wait_status;

    unlinkat(run->directory, "diagnosis.json", 0);
    TRY_OUT(open_own(&file, run, "diagnosis.json"));
    TRY_OUT(run_own_command(words, file, -1, &wait_status));
    if (!result_json_read(root, run->directory, "diagnosis.json"))
        *root = NULL;

out:
    if (file >= 0)
        close(file);
    return status;
}

/* Records some steps; what is wrong with the program stands in the findings then. */
static enum status record_first(struct try_run *run)
{
    enum status status = STATUS_OK;
    char traces[PATH_MAX], option[PATH_MAX + 16];
    const char *const fixed[] = { "record", "--stop", "--no-page", option, "--" };
    const char **words = NULL;
    int count = 0, wait_status;

    TRY_OUT(path_in(traces, run, "record"));
    snprintf(option, sizeof option, "--traces=%s", traces);
    while (run->words[count] != NULL) count++;
    TRY_OUT(rows_make(&words, count + (int)ARRAY_SIZE(fixed) + 1));
    memcpy(words, fixed, sizeof fixed);
    memcpy(words + ARRAY_SIZE(fixed), run->words, (size_t)count * sizeof *words);
    TRY_OUT(run_own_command(words, run->output, run->output, &wait_status));
    TRY_OUT(read_printed(run,
                         (const char *const[]){ "diagnose", "--format=json", "--", traces, NULL },
                         &run->diagnosis));
    run->findings = MEMBER(run->diagnosis, "run", "findings");
    if (run->findings == NULL)
        run->findings = MEMBER(cJSON_GetArrayItem(MEMBER(run->diagnosis, "traces"), 0), "findings");
    if (run->findings == NULL)
        FAIL_OUT(
            STATUS_BAD_INPUT,
            "the recording has no steps to judge, as %s/output.txt says; --only=NAME tries one "
            "thing without a recording",
            run->folder);

out:
    free(words);
    return status;
}

/* --- The trial --- */

/* The names of what is tried: what was asked for, of which there may be several with commas, or
 * what the findings name. */
static void add_causes(struct json *json, cJSON *plan, const struct try_run *run)
{
    cJSON *causes = json_array(json, plan, "causes");
    const struct try_options *options = run->options;
    const struct rule *rule;
    const cJSON *finding;

    for (const char *at = options->only; at != NULL && *at != '\0';) {
        char name[64];
        snprintf(name, sizeof name, "%.*s", (int)strcspn(at, ","), at);
        json_text(json, causes, NULL, name);
        at += strcspn(at, ",");
        at += *at == ',';
    }
    for (int i = 0; options->only == NULL && options->all && (rule = rule_at(i)) != NULL; i++)
        if (trial_knows(rule->id))
            json_text(json, causes, NULL, rule->id);
    cJSON_ArrayForEach(finding, (options->only == NULL && !options->all ? run->findings : NULL))
    {
        if (trial_knows(json_text_of(finding, "id")))
            json_text(json, causes, NULL, json_text_of(finding, "id"));
    }
}

/* `hold` as docs/try.md has it; NULL: a trial with windows. `gains`: a patch of these fixes. */
static enum status write_plan(const struct try_run *run, const char *hold, cJSON *gains)
{
    enum status status = STATUS_OK;
    struct json json = { .out_of_memory = false };
    char file[PATH_MAX], decided[PATH_MAX], scratch[PATH_MAX], patch[PATH_MAX];
    cJSON *plan = json_object(&json, NULL, NULL);

    TRY_OUT(path_in(file, run, "trial.json"));
    TRY_OUT(path_in(decided, run, "decided.json"));
    TRY_OUT(path_in(scratch, run, "scratch"));
    TRY_OUT(path_in(patch, run, CANDIDATE));
    JSON_ADD(&json, plan, KEY("schema", 1), KEY("file", file), KEY("decided", decided),
             KEY("scratch", scratch), KEY("hold", hold),
             KEY("seed", (int64_t)(run->options->flags.seed % (1ull << 53))),
             KEY("wait_steps", WAIT_STEPS),
             KEY("window_steps", json_pair(&json, LEAST_STEPS, MOST_STEPS)),
             KEY("pairs", run->options->rounds), KEY("first_look", TRIAL_FIRST_LOOK),
             KEY("most_steps", hold != NULL ? WAIT_STEPS + WHOLE_STEPS : 1000000000),
             KEY("most_seconds", run->options->seconds),
             KEY("patch", gains != NULL ? patch : NULL));
    if (gains != NULL)
        cJSON_AddItemToObject(plan, "causes", gains);
    else
        add_causes(&json, plan, run);
    TRY_OUT(write_json(run, "plan.json", &json, plan));
    unlinkat(run->directory, "trial.json", 0);
    unlinkat(run->directory, "decided.json", 0);
    folder_remove_all(scratch); /* no run sees what another one has saved */

out:
    cJSON_Delete(plan);
    return status;
}

static const char *disturbance(const struct try_run *run)
{
    return run->disturbed[0] != '\0' ? run->disturbed : NULL;
}

static void judge_windows(struct try_run *run)
{
    for (int i = 1; i < run->trial.windowed; i++)
        trial_judge(&run->trial.arms[i], &run->trial.arms[0], disturbance(run));
}

/* Reads the trial's file, if it is new, and says what needs no more pairs. */
static enum status look(struct try_run *run)
{
    enum status status = STATUS_OK;
    struct json json = { .out_of_memory = false };
    cJSON *decided = json_array(&json, NULL, NULL);
    char path[PATH_MAX];
    struct stat file;

    TRY_OUT(path_in(path, run, "trial.json"));
    if (stat(path, &file) != 0 || !S_ISREG(file.st_mode) ||
        run->read_ns == file.st_mtim.tv_sec * 1000000000 + file.st_mtim.tv_nsec)
        goto out;
    run->read_ns = file.st_mtim.tv_sec * 1000000000 + file.st_mtim.tv_nsec;
    trial_release(&run->trial);
    TRY_OUT(trial_read(&run->trial, path));
    judge_windows(run);
    for (int i = 1; i < run->trial.windowed; i++)
        if (trial_is_decided(&run->trial.arms[i]))
            json_integer(&json, decided, NULL, i);
    TRY_OUT(write_json(run, "decided.json", &json, decided));

out:
    cJSON_Delete(decided);
    return status;
}

/* Runs a program with the plan in it until it ends, and reads what it found. */
static enum status run_planned(struct try_run *run, const char *const *words, int *exit_code)
{
    enum status status = STATUS_OK;
    char plan[PATH_MAX];
    bool ended = false;
    int wait_status;
    pid_t pid;

    TRY(path_in(plan, run, "plan.json"));
    TRY(user_variable("CHOKEPOINT_TRIAL", plan));
    TRY(user_program_start(&pid, words, run->output, run->output));
    while (!ended) {
        TRY(user_program_wait(pid, &wait_status, 0.5, &ended));
        if (ended)
            run->read_ns = 0; /* the last file may be as old as the one before it */
        if (status == STATUS_OK && (status = look(run)) != STATUS_OK)
            kill(pid, SIGTERM);
    }
    *exit_code = user_program_exit_code(wait_status);
    return status;
}

/* Notes what other programs have done since, if that may matter. */
static void note_others(struct try_run *run, const struct cpu_times *since)
{
    struct cpu_times now;
    struct cpu_loss loss;

    cpu_times_read(&now, "");
    loss = cpu_loss_between(since, &now);
    if (cpu_loss_is_large(&loss))
        cpu_loss_print(run->disturbed, sizeof run->disturbed, &loss);
}

/* Whether there is anything to tell. A trial that broke off tells what it has. */
static enum status check_windows(const struct try_run *run, int exit_code)
{
    const struct trial *trial = &run->trial;
    const cJSON *reason = MEMBER(trial->root, "not_tried");

    reason = cJSON_GetArrayItem(reason, 0);
    if (trial->count == 1)
        FAIL(STATUS_BAD_USAGE, "%s%s%s%s%s; docs/try.md has the names of all switches and fixes",
             run->options->only != NULL ? "--only names nothing that can be tried here"
                                        : "no finding names what can be tried; --all tries all",
             reason != NULL ? ": " : "", json_text_of(reason, "name"), reason != NULL ? ": " : "",
             json_text_of(reason, "why"));
    if (trial->step_ns > 0 || (trial->windowed == 1 && trial->why[0] == '\0'))
        return STATUS_OK; /* measured, or all needs whole runs */
    if (trial->root != NULL && trial->why[0] != '\0')
        FAIL(STATUS_BAD_INPUT, "the trial failed: %s", trial->why);
    FAIL(STATUS_BAD_INPUT,
         "the program ended with exit code %d before a pair of windows was over: %s/output.txt has "
         "what it printed; a longer training has more steps",
         exit_code, run->folder);
}

static enum status try_windows(struct try_run *run)
{
    struct cpu_times before;
    int exit_code;

    TRY(write_plan(run, NULL, NULL));
    cpu_times_read(&before, "");
    TRY(run_planned(run, run->words, &exit_code));
    note_others(run, &before);
    judge_windows(run);
    return check_windows(run, exit_code);
}

/* --- Whole runs --- */

/* A run of these words in which this holds: its mean step, NaN if it had none. */
static enum status whole_run(struct try_run *run, const char *const *words, const char *hold,
                             double *step_ns, int *exit_code)
{
    struct trial windows = run->trial;
    enum status status;

    TRY(write_plan(run, hold, NULL));
    run->trial = (struct trial){ .root = NULL };
    status = run_planned(run, words, exit_code);
    *step_ns = trial_mean_step(&run->trial, WAIT_STEPS);
    trial_release(&run->trial);
    run->trial = windows;
    return status;
}

/* Why whole runs gave too few pairs; `exit_code` is that of a run which failed. */
static void explain_few(const struct try_run *run, struct trial_arm *arm, bool changed,
                        int exit_code)
{
    if (user_program_signal() != 0)
        snprintf(arm->reason, sizeof arm->reason, "interrupted after %d pairs of runs", arm->pairs);
    else if (exit_code != 0)
        snprintf(arm->reason, sizeof arm->reason,
                 "the program fails with exit code %d %s it; output.txt in %.80s has what it "
                 "printed",
                 exit_code, changed ? "with" : "without", run->options->flags.out);
    else
        snprintf(arm->reason, sizeof arm->reason,
                 "runs have no steps after the %dth, by their own end or that of --seconds",
                 WAIT_STEPS);
}

/* Pairs of runs as the program is and changed, by these words or this fix. A fair coin says which
 * comes first. A run that fails or has no steps ends them. */
static enum status try_whole(struct try_run *run, struct trial_arm *arm, const char *const *words,
                             const char *hold, struct random *random)
{
    bool changed = false, is_good = true;
    struct cpu_times before;
    double step_ns[2];
    int exit_code = 0;

    cpu_times_read(&before, "");
    for (int i = 0; i < 2 * TRIAL_FIRST_LOOK && is_good; i++) {
        changed = i % 2 == 0 ? random_below(random, 2) == 1 : !changed;
        TRY(whole_run(run, changed ? words : run->words, changed ? hold : "", &step_ns[changed],
                      &exit_code));
        is_good = user_program_signal() == 0 && exit_code == 0 && step_ns[changed] > 0;
        if (is_good && i % 2 == 1)
            TRY(trial_arm_add(arm, step_ns[0], step_ns[1]));
    }
    note_others(run, &before);
    trial_judge(arm, NULL, disturbance(run));
    if (!is_good)
        explain_few(run, arm, changed, exit_code);
    return STATUS_OK;
}

static enum status try_all_apart(struct try_run *run)
{
    struct random random = random_seed(run->options->flags.seed, 1);
    struct trial *trial = &run->trial;

    if (!run->options->all && run->options->only == NULL)
        return STATUS_OK;
    for (int i = trial->windowed; i < trial->count && user_program_signal() == 0; i++)
        TRY(try_whole(run, &trial->arms[i], run->words, trial->arms[i].name, &random));
    return trial->step_ns > 0 ? STATUS_OK : trial_measure_step(trial);
}

/* --- What comes of it --- */

static enum status conclude(struct try_run *run)
{
    const struct flags *flags = &run->options->flags;
    const struct trial_report report = { &run->trial, run->words, run->findings, disturbance(run) };
    struct json json = { .out_of_memory = false };
    struct page page = flags_page(flags);
    cJSON *root = trial_json(&json, &report);
    enum status status;

    TRY_OUT(write_json(run, "result.json", &json, root));
    if (flags->format == FORMAT_JSON) {
        TRY_OUT(json_to_stdout(&json, root));
        goto out;
    }
    trial_page(&page, &report);
    page_paragraph(&page, INK_DIM, "result in %s/result.json", flags->out);

out:
    cJSON_Delete(run->earlier);
    run->earlier = root;
    return status;
}

/* --- The diff --- */

static bool has_gained(const cJSON *arm)
{
    return cJSON_IsTrue(MEMBER(arm, "is_fix")) &&
           strcmp(json_text_of(arm, "verdict"), trial_verdict_name(TRIAL_GAIN)) == 0;
}

/* The names of the fixes that gained, of a result: of each cause the one that gained most. */
static cJSON *fixes_that_gained(const cJSON *result)
{
    struct json json = { .out_of_memory = false };
    cJSON *names = json_array(&json, NULL, NULL);
    const cJSON *arms = MEMBER(result, "chokepoint", "trial", "arms"), *arm, *other;

    cJSON_ArrayForEach(arm, arms)
    {
        bool is_best = has_gained(arm);
        cJSON_ArrayForEach(other, arms) is_best =
            is_best && !(has_gained(other) &&
                         strcmp(json_text_of(other, "cause"), json_text_of(arm, "cause")) == 0 &&
                         json_number_of(other, "effect") > json_number_of(arm, "effect"));
        if (is_best)
            json_text(&json, names, NULL, json_text_of(arm, "name"));
    }
    return names;
}

/* The program's words with the script's copy in its place. In the tree, it is a file; what has not
 * changed is a link. *script is NULL if no word is a script. */
static enum status copy_words(const struct try_run *run, const char ***words, char **script)
{
    int count = 0;

    *script = NULL;
    while (run->words[count] != NULL) count++;
    TRY(rows_make(words, count + 1));
    for (int i = 0; i < count; i++) {
        const char *slash = strrchr(run->words[i], '/');
        struct stat file;
        (*words)[i] = run->words[i];
        if (i == 0 || *script != NULL || !is_regular_file(run->words[i]))
            continue;
        TRY(text_make(script, "%s/" CANDIDATE ".tree/%s", run->folder,
                      slash != NULL ? slash + 1 : run->words[i]));
        if (lstat(*script, &file) == 0 && S_ISREG(file.st_mode)) {
            (*words)[i] = *script;
        } else {
            free(*script);
            *script = NULL;
        }
    }
    return STATUS_OK;
}

/* Measures the diff that was made: the copy of the program in which it is, against the program. */
static enum status measure_patch(struct try_run *run, struct trial_arm *arm)
{
    struct random random = random_seed(run->options->flags.seed, 2);
    enum status status = STATUS_OK;
    const char **words = NULL;
    char *script = NULL;

    TRY_OUT(copy_words(run, &words, &script));
    if (script != NULL)
        TRY_OUT(try_whole(run, arm, words, "", &random));
    else
        snprintf(arm->reason, sizeof arm->reason,
                 "no word of the command names a script, so a copy of it cannot be run");

out:
    free(script);
    free(words);
    return status;
}

/* Shows the diff if it gained, and says what it gained or why it is not shown. */
static enum status show_patch(struct try_run *run, const struct trial_arm *arm, FILE *stream)
{
    char figures[64] = "";
    bool is_shown = arm->verdict == TRIAL_GAIN;

    if (arm->factor > 0)
        snprintf(figures, sizeof figures, ", %.2fx (%.2f to %.2f) in %d pairs of runs", arm->factor,
                 arm->interval.low, arm->interval.high, arm->counted);
    if (is_shown && renameat(run->directory, CANDIDATE, run->directory, "fixes.patch") != 0)
        FAIL(STATUS_IO, "cannot write %s/fixes.patch: %s", run->folder, strerror(errno));
    if (is_shown)
        fprintf(stream, "diff in %s/fixes.patch, which git apply takes: %s%s\n",
                run->options->flags.out, trial_verdict_name(arm->verdict), figures);
    else
        fprintf(stream, "diff not shown: %s%s%s%s\n", trial_verdict_name(arm->verdict), figures,
                arm->reason[0] != '\0' ? ": " : "", arm->reason);
    return STATUS_OK;
}

/* Runs the program up to the first window, and has the fixes written into a copy of it. */
static enum status make_patch(struct try_run *run, cJSON *fixes, FILE *stream)
{
    const cJSON *entry;
    int exit_code;

    TRY(write_plan(run, NULL, fixes));
    TRY(run_planned(run, run->words, &exit_code));
    if (faccessat(run->directory, CANDIDATE, F_OK, 0) != 0)
        FAIL(STATUS_BAD_INPUT, "no diff was made: %s/output.txt has what the program printed",
             run->folder);
    cJSON_ArrayForEach(entry, MEMBER(run->trial.root, "not_tried"))
        fprintf(stream, "not in the diff: %s: %s\n", json_text_of(entry, "name"),
                json_text_of(entry, "why"));
    return STATUS_OK;
}

static enum status write_patch(struct try_run *run)
{
    FILE *stream = run->options->flags.format == FORMAT_JSON ? stderr : stdout;
    struct trial_arm arm = { .is_apart = true, .factor = NAN };
    cJSON *fixes = fixes_that_gained(run->earlier);
    enum status status = STATUS_OK;
    char tree[PATH_MAX];
    struct stat file;

    unlinkat(run->directory, "fixes.patch", 0);
    unlinkat(run->directory, CANDIDATE, 0);
    if (cJSON_GetArraySize(fixes) == 0) {
        fprintf(stream, "no diff: no fix has gained\n");
        goto out;
    }
    TRY_OUT(path_in(tree, run, CANDIDATE ".tree"));
    TRY_OUT(make_patch(run, cJSON_Duplicate(fixes, true), stream));
    if (fstatat(run->directory, CANDIDATE, &file, 0) == 0 && file.st_size == 0)
        snprintf(arm.reason, sizeof arm.reason, "it is empty");
    else
        TRY_OUT(measure_patch(run, &arm));
    TRY_OUT(show_patch(run, &arm, stream));
    unlinkat(run->directory, CANDIDATE, 0);
    folder_remove_all(tree);

out:
    trial_arm_release(&arm);
    cJSON_Delete(fixes);
    return status;
}

/* --- All --- */

/* The program of the command line, or for --patch alone that of the earlier trial. */
static enum status take_words(struct try_run *run, const char ***words)
{
    const struct flags *flags = &run->options->flags;
    const cJSON *earlier = MEMBER(run->earlier, "chokepoint", "trial", "command"), *word;
    int count = 0;

    TRY(rows_make(words, flags->argument_count + cJSON_GetArraySize(earlier) + 1));
    for (; count < flags->argument_count; count++) (*words)[count] = flags->arguments[count];
    cJSON_ArrayForEach(word, (count == 0 && run->options->patch ? earlier : NULL))
    {
        if (cJSON_IsString(word))
            (*words)[count++] = word->valuestring;
    }
    run->words = *words;
    return user_program_check(run->words, "try -- python train.py");
}

static enum status measure(struct try_run *run)
{
    const struct try_options *options = run->options;

    fprintf(stderr,
            "The program runs %swith a trial in it, which changes what it computes: what it saves "
            "then goes to %s/scratch, what it prints to %s/output.txt.\n",
            options->only != NULL ? "" : "twice, the second time ", options->flags.out,
            options->flags.out);
    if (options->only == NULL)
        TRY(record_first(run));
    if (user_program_signal() != 0)
        FAIL(STATUS_INTERRUPTED, "interrupted before the trial began");
    TRY(try_windows(run));
    TRY(try_all_apart(run));
    return conclude(run);
}

static enum status run_try(void *context, int *exit_code)
{
    const struct try_options *options = context;
    struct try_run run = { .options = options, .directory = -1, .lock = -1, .output = -1 };
    const char **words = NULL;
    enum status status = STATUS_OK;

    TRY_OUT(open_folder(&run));
    TRY_OUT(take_words(&run, &words));
    TRY_OUT(user_program_enter());
    if (options->flags.argument_count > 0)
        TRY_OUT(measure(&run));
    if (options->patch && user_program_signal() == 0)
        TRY_OUT(write_patch(&run));

out:
    if (user_program_signal() != 0)
        *exit_code = 128 + user_program_signal();
    for (int i = 0; i < 3; i++) {
        int file = (const int[]){ run.output, run.lock, run.directory }[i];
        if (file >= 0)
            close(file);
    }
    trial_release(&run.trial);
    cJSON_Delete(run.diagnosis);
    cJSON_Delete(run.earlier);
    free(words);
    return status;
}

static void prepare_try(void *context)
{
    struct try_options *options = context;

    options->rounds = TRIAL_PAIRS;
    options->seconds = 60;
    options->flags.out = "chokepoint-try";
    options->flags.seed = (uint64_t)clock_real_ns();
}

#define OPTION(name, value, text, group, take, member, ...)                                        \
    {                                                                                              \
        name, value, text, group, take, .offset = offsetof(struct try_options, member),            \
                                        __VA_ARGS__                                                \
    }

static const struct option_row options[] = {
    OPTION("all", NULL, "try all switches and fixes, not only what the findings name", 1,
           value_boolean, all, 0),
    OPTION("only", "NAME[,NAME...]",
           "try these switches and fixes, or those for this finding, without a recording", 1,
           value_text, only, 0),
    OPTION("rounds", "N", "pairs of windows for each switch and fix, at most: 20", 2, value_count,
           rounds, .least = TRIAL_FIRST_LOOK, .most = 1000),
    OPTION("seconds", "N", "most time of the windows: 60", 2, value_seconds, seconds,
           .most = 1000000),
    FLAG("seed", "N", "of what is drawn at random; if not given, the clock's", 2, value_unsigned,
         seed),
    OPTION(
        "patch", NULL,
        "write the fixes that gained as a diff, which is measured first; without a program, those "
        "of the trial before",
        3, value_boolean, patch, 0),
    FLAG("out", "DIR", "folder for the result; chokepoint-try if not given", 3, value_text, out),
    FLAG_FORMAT("console|json|markdown"),
    FLAG_COLOR,
    FLAG_VERBOSE,
    OPTIONS_END,
};

const struct command command_try = {
    .name = "try",
    .text = "measure what a fix gains in your own PyTorch program",
    .arguments = "-- PROGRAM [ARGUMENT...]",
    .help =
        "Runs the program as it is, with its causes of lost time switched off and on again in "
        "windows of steps, and says with an interval what each costs and what its fix gains. A "
        "recording comes first, whose findings say what to try. A trial changes what the program "
        "computes: what it saves meanwhile goes to a folder of its own, and it ends when enough is "
        "known.\v"
        "Examples:\n"
        "  chokepoint try -- python train.py\n"
        "  chokepoint try --only=data_loading -- python train.py\n"
        "  chokepoint try --patch\n"
        "  chokepoint compare chokepoint-try --new after/chokepoint-try\n"
        "\n"
        "A gain is told if the whole interval is beyond 5% and beyond what windows without any "
        "switch differ by; else it is undecided, or no gain. Fixes that no run can switch on and "
        "off are measured in 12 short runs, with --only or --all. docs/try.md says more.\n"
        "\n"
        "The exit code is 0 if a trial was made, 128 + n if signal n ended it.",
    .options = options,
    .context_size = sizeof(struct try_options),
    .prepare = prepare_try,
    .run = run_try,
};
