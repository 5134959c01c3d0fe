/* The folder of a run: at every moment its result file and the traces in it belong together, one
 * run at a time writes to it, and nothing of a user's is removed. */
#include "harness/base/system/atomic_file.h"
#include "harness/lab/result/result_file.h"
#include "tests/fixtures/cmocka_prelude.h"
#include "tests/lab/result/result_fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[64];

static int make_folder(void **state)
{
    strcpy(folder, "/tmp/chokepoint-test-XXXXXX");
    return mkdtemp(folder) != NULL ? 0 : -1;
}

static int remove_one(const char *path, const struct stat *facts, int kind, struct FTW *where)
{
    (void)facts;
    (void)kind;
    (void)where;
    return remove(path);
}

static int remove_folder(void **state)
{
    return nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static const char *below(const char *name)
{
    static char path[200];

    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static bool is_there(const char *name)
{
    return access(below(name), F_OK) == 0;
}

static void put(const char *name, const char *text)
{
    FILE *file = fopen(below(name), "w");

    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void make(const char *name)
{
    assert_int_equal(mkdir(below(name), 0777), 0);
}

static bool traces_of_all[256];

static struct result_file *begin(bool traced)
{
    struct result_file *file = NULL;

    memset(traces_of_all, true, sizeof traces_of_all);
    assert_ok(result_file_open(&file, folder, traced ? traces_of_all : NULL, &fixture_device,
                               &fixture_health));
    return file;
}

/* Refused, with a sentence that says `why`. */
static void refused(const char *why)
{
    struct result_file *file = NULL;

    assert_int_equal(
        result_file_open(&file, folder, traces_of_all, &fixture_device, &fixture_health),
        STATUS_IO);
    if (strstr(status_last()->text, why) == NULL)
        fail_msg("\"%s\" is not in: %s", why, status_last()->text);
    assert_null(file);
}

/* Writes the traces of item_sync as a run does, on two ranks if `ranks` is, and adds the scenario
 * that names the first's. */
static void add_of(struct result_file *file, bool ranks)
{
    const struct result_folder *where = result_file_folder(file);
    struct scenario_result result;
    char traces[128], name[200];

    fixture_reproduced(&result, 6);
    snprintf(traces, sizeof traces, "%s/%s", where->path, where->traces);
    result.protocol.traces = traces;
    for (int v = 0; v < VARIANT_COUNT && where->traces[0] != '\0'; v++) {
        snprintf(result.tracing[v].file, sizeof result.tracing[v].file, "item_sync.%s%s.json.gz",
                 variant_name((enum variant)v), ranks ? ".rank0" : "");
        snprintf(name, sizeof name, "%s/%s", where->traces, result.tracing[v].file);
        put(name, "a trace");
        snprintf(name, sizeof name, "%s/item_sync.%s.rank1.json.gz", where->traces,
                 variant_name((enum variant)v));
        if (ranks)
            put(name, "a trace");
    }
    assert_ok(result_file_add(file, &result));
    fixture_release(&result);
}

static void add(struct result_file *file)
{
    add_of(file, false);
}

static void a_whole_run(bool traced)
{
    struct result_file *file = begin(traced);

    add(file);
    result_file_close(file);
}

static void assert_names(const char *traces)
{
    struct result_traces found = result_traces_in(folder);

    assert_int_equal(found.count, traces[0] != '\0');
    assert_string_equal(found.names[0], traces);
}

TEST(older_results_stay_until_a_scenario_is_complete)
{
    struct result_file *file;

    a_whole_run(true);
    assert_names("traces");
    file = begin(true);
    assert_int_equal(strlen(result_file_folder(file)->date), 25);
    assert_string_equal(result_file_folder(file)->traces, "traces-2");
    assert_names("traces");
    assert_true(is_there("traces/item_sync.before.json.gz"));
    add(file);
    assert_string_equal(result_file_folder(file)->date, "");
    assert_names("traces-2");
    assert_true(is_there("traces-2/item_sync.after.json.gz"));
    result_file_close(file);
    assert_false(is_there("traces"));
    assert_false(is_there("run.lock"));

    a_whole_run(true);
    assert_names("traces");
    assert_false(is_there("traces-2"));
    a_whole_run(false);
    assert_names("");
    assert_false(is_there("traces"));
}

TEST(a_run_without_a_complete_scenario_leaves_no_trace_of_itself)
{
    struct result_file *file;

    a_whole_run(true);
    file = begin(true);
    put("traces-2/item_sync.before.json.gz", "a trace");
    put("traces-2/item_sync.after.json.gz.a1B2c3" ATOMIC_FILE_END, "half a tr");
    result_file_close(file);
    assert_false(is_there("traces-2"));
    assert_false(is_there("run.lock"));
    assert_names("traces");
    assert_true(is_there("traces/item_sync.before.json.gz"));
}

TEST(traces_that_the_file_does_not_name_are_removed_at_the_end)
{
    struct result_file *file = begin(true);

    add(file);
    put("traces/precision.before.json.gz", "of a scenario that was interrupted");
    result_file_close(file);
    assert_true(is_there("traces/item_sync.before.json.gz"));
    assert_false(is_there("traces/precision.before.json.gz"));
}

/* Begins a run in a process that is killed; `complete`: after its scenario was added. */
static void a_killed_run(bool complete)
{
    int ended;
    pid_t child = fork();

    assert_true(child >= 0);
    if (child == 0) {
        struct result_file *file = begin(true);
        put("traces-2/precision.before.json.gz.a1B2c3" ATOMIC_FILE_END, "half a tr");
        if (complete)
            add(file);
        raise(SIGKILL);
    }
    assert_int_equal(waitpid(child, &ended, 0), child);
    assert_true(WIFSIGNALED(ended));
}

TEST(traces_of_all_ranks_stay_and_go_with_that_of_the_first)
{
    struct result_file *file = begin(true);

    add_of(file, true);
    put("traces/item_sync.after.rank12.json.gz.abcdef.chokepoint", "of a killed rank");
    put("traces/launch_overhead.after.rank1.json.gz", "of a scenario that failed");
    result_file_close(file);
    assert_true(is_there("traces/item_sync.before.rank0.json.gz"));
    assert_true(is_there("traces/item_sync.after.rank1.json.gz"));
    assert_false(is_there("traces/item_sync.after.rank12.json.gz.abcdef.chokepoint"));
    assert_false(is_there("traces/launch_overhead.after.rank1.json.gz"));
    a_whole_run(true);
    assert_false(is_there("traces"));
    assert_true(is_there("traces-2/item_sync.before.json.gz"));
}

TEST(the_next_run_removes_what_a_killed_one_left)
{
    a_whole_run(true);
    a_killed_run(false);
    assert_names("traces");
    assert_true(is_there("run.lock") && is_there("traces-2"));
    result_file_close(begin(false));
    assert_true(is_there("traces/item_sync.before.json.gz"));
    assert_false(is_there("run.lock") || is_there("traces-2"));

    a_killed_run(true);
    assert_names("traces-2");
    result_file_close(begin(false));
    assert_true(is_there("traces-2/item_sync.before.json.gz"));
    assert_false(is_there("traces-2/precision.before.json.gz.a1B2c3" ATOMIC_FILE_END));
    assert_false(is_there("run.lock"));
}

/* Between the rename of result.json and the removal of the older traces. */
TEST(a_run_killed_while_it_replaced_is_tidied_up)
{
    a_whole_run(true);
    a_whole_run(true);
    assert_names("traces-2");
    make("traces");
    put("traces/item_sync.before.json.gz", "older");
    put("run.lock", "traces-2\ntraces\n");
    result_file_close(begin(false));
    assert_names("traces-2");
    assert_true(is_there("traces-2/item_sync.before.json.gz"));
    assert_false(is_there("traces"));
}

TEST(a_list_that_names_others_removes_nothing)
{
    make("mine");
    make("traces-x");
    put("mine/item_sync.before.json.gz", "mine");
    put("traces-x/item_sync.before.json.gz", "mine");
    put("run.lock", "mine\ntraces-x\n../elsewhere\n.\n\ntraces/../mine\n");
    result_file_close(begin(false));
    assert_true(is_there("mine/item_sync.before.json.gz"));
    assert_true(is_there("traces-x/item_sync.before.json.gz"));
}

TEST(files_of_the_user_stay)
{
    make("traces");
    put("traces/item_sync.before.json.gz", "not of a result: it stays");
    a_whole_run(true);
    assert_names("traces-2");
    put("traces-2/notes.txt", "mine");
    put("traces-2/mine.before.json.gz", "mine");
    a_whole_run(true);
    assert_names("traces-3");
    assert_true(is_there("traces/item_sync.before.json.gz"));
    assert_true(is_there("traces-2/notes.txt"));
    assert_true(is_there("traces-2/mine.before.json.gz"));
    assert_false(is_there("traces-2/item_sync.before.json.gz"));
}

/* --- Nothing that was measured is lost --- */

/* result.json, with one word put in place of another throughout. */
static void edit(const char *word, const char *by)
{
    char command[400];

    snprintf(command, sizeof command, "sed -i 's/%s/%s/g' %s", word, by, below("result.json"));
    assert_int_equal(system(command), 0);
}

/* How often result.json has the text. */
static int count_of(const char *text)
{
    FILE *file = fopen(below("result.json"), "r");
    char *all = NULL;
    size_t room = 0;
    int count = 0;

    assert_non_null(file);
    assert_true(getdelim(&all, &room, '\0', file) > 0);
    fclose(file);
    for (const char *at = all; (at = strstr(at, text)) != NULL; at++) count++;
    free(all);
    return count;
}

/* A run of `precision`, which has been item_sync. */
static void a_run_of_another_scenario(void)
{
    a_whole_run(true);
    edit("item_sync", "precision");
    assert_int_equal(rename(below("traces/item_sync.before.json.gz"), "/tmp/chokepoint-moved"), 0);
    assert_int_equal(rename("/tmp/chokepoint-moved", below("traces/precision.before.json.gz")), 0);
    assert_int_equal(rename(below("traces/item_sync.after.json.gz"), "/tmp/chokepoint-moved"), 0);
    assert_int_equal(rename("/tmp/chokepoint-moved", below("traces/precision.after.json.gz")), 0);
}

TEST(other_scenarios_stay_with_their_traces)
{
    struct result_file *file;
    int rows;

    a_run_of_another_scenario();
    rows = count_of("precision/before");
    assert_true(rows > 0);
    for (int i = 0; i < 3; i++) {
        a_whole_run(true);
        assert_int_equal(count_of("item_sync/before"), rows);
        assert_int_equal(count_of("precision/before"), rows);
        assert_true(is_there("traces/precision.before.json.gz"));
        assert_int_equal(result_traces_in(folder).count, 2);
    }
    /* Only what this run will write needs another folder. */
    memset(traces_of_all, false, sizeof traces_of_all);
    assert_ok(result_file_open(&file, folder, traces_of_all, &fixture_device, &fixture_health));
    assert_string_equal(result_file_folder(file)->traces, "traces");
    result_file_close(file);
    assert_true(is_there("traces/precision.before.json.gz"));
}

TEST(a_scenario_without_a_row_replaces_none_that_has_some)
{
    struct result_file *file;
    struct scenario_result result;
    int rows;

    a_run_of_another_scenario();
    rows = count_of("precision/before");
    edit("precision", "item_sync");
    file = begin(false);
    fixture_reproduced(&result, 6);
    result.verdict = VERDICT_SKIPPED;
    assert_ok(result_file_add(file, &result));
    fixture_release(&result);
    result_file_close(file);
    assert_int_equal(count_of("item_sync/before"), rows);
    assert_int_equal(count_of("\"skipped\""), 0);
}

TEST(results_of_another_machine_are_set_aside)
{
    char aside[80], name[200];
    struct result_file *file;

    a_whole_run(true);
    edit("\"host_name\":[^,]*", "\"host_name\": \"elsewhere\"");
    snprintf(aside, sizeof aside, "%s.1", folder);
    snprintf(name, sizeof name, "%s/traces/item_sync.before.json.gz", aside);
    /* A run that measures nothing puts them back. */
    file = begin(true);
    assert_string_equal(result_file_folder(file)->aside, aside);
    assert_int_equal(access(name, F_OK), 0);
    assert_false(is_there("result.json"));
    result_file_close(file);
    assert_int_equal(access(aside, F_OK), -1);
    assert_true(is_there("traces/item_sync.before.json.gz"));
    a_whole_run(true);
    assert_int_equal(access(name, F_OK), 0);
    assert_int_equal(count_of("elsewhere"), 0);
    assert_true(is_there("traces/item_sync.before.json.gz"));
    assert_int_equal(nftw(aside, remove_one, 8, FTW_DEPTH | FTW_PHYS), 0);
}

TEST(a_result_file_of_another_program_is_not_replaced)
{
    static const char *const others[] = { "{\"context\": {}, \"benchmarks\": []}", "{}", "",
                                          "text" };

    for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
        put("result.json", others[i]);
        refused("is not a result of chokepoint run");
        assert_false(is_there("run.lock"));
    }
}

/* A second run in the same process, since a lock belongs to the opened file. */
TEST(a_second_run_is_refused_until_the_first_has_ended)
{
    struct result_file *first = begin(true);

    for (int i = 0; i < 2; i++) refused("another run is under way");
    add(first);
    assert_names("traces");
    result_file_close(first);
    a_whole_run(true);
    assert_names("traces-2");
}

/* A child that is still there after its parent was killed has the lock open, and the parent could
 * not remove the file. */
TEST(the_folder_is_locked_while_a_child_has_the_lock)
{
    struct result_file *first = begin(true);
    int kept = dup(result_file_folder(first)->lock);
    char lock[200], aside[200];

    snprintf(lock, sizeof lock, "%s", below("run.lock"));
    snprintf(aside, sizeof aside, "%s", below("aside"));
    assert_int_equal(rename(lock, aside), 0);
    result_file_close(first);
    assert_int_equal(rename(aside, lock), 0);
    refused("another run is under way");
    close(kept);
    result_file_close(begin(true));
}

TESTS_EACH(make_folder, remove_folder)
