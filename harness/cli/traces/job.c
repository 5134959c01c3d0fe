/* chokepoint job: the digests of thousands of ranks, and who holds the others up. */
#include "harness/cli/line/commands.h"
#include "harness/cli/line/flags.h"
#include "harness/cli/traces/trace_paths.h"
#include "harness/desk/job/job_output.h"
#include "harness/desk/job/job_read.h"

#include <stdio.h>
#include <stdlib.h>

static void skip(void *context)
{
    int *skipped = context;

    status_context("%s", command_job.name);
    command_print_error();
    (*skipped)++;
}

struct judging {
    struct job_ranks ranks;
    struct job job;
    struct job_causes causes;
    struct job_stranger *strangers;
    int64_t stranger_count;
};

static void judge(struct arena *arena, void *context)
{
    struct judging *judging = context;

    job_join(&judging->job, arena, judging->ranks.ranks, judging->ranks.worlds,
             judging->ranks.count, &judging->strangers, &judging->stranger_count);
    judging->causes = job_causes_of(arena, &judging->job);
}

static enum status print(const struct flags *flags, const struct judging *judging)
{
    enum status status = STATUS_OK;
    const struct job_view view = { &judging->job, &judging->causes, judging->strangers,
                                   judging->stranger_count };
    struct page page = flags_page(flags);
    struct json json = { false };
    cJSON *root = NULL;
    char *text = NULL;

    if (flags->format == FORMAT_JSON) {
        root = json_object(&json, NULL, NULL);
        job_json(&json, root, &view);
        TRY_OUT(json_print(&json, root, &text));
        fputs(text, stdout);
    } else {
        job_page(&page, &view);
    }

out:
    cJSON_Delete(root);
    free(text);
    return status;
}

static enum status run_job(void *context, int *exit_code)
{
    enum status status = STATUS_OK;
    const struct flags *flags = context;
    struct trace_paths paths = { .count = 0 };
    struct judging judging = { .ranks.arena = arena_open() };
    int skipped = 0;

    (void)exit_code;
    if (flags->argument_count == 0)
        FAIL_OUT(STATUS_BAD_USAGE, "give the digests of a job's ranks, or folders of them");
    TRY_OUT(trace_paths_make(&paths, flags->arguments, flags->argument_count, skip, &skipped));
    for (int i = 0; i < paths.count; i++)
        if (job_read(&judging.ranks, paths.items[i]) != STATUS_OK)
            skip(&skipped);
    if (judging.ranks.count == 0)
        FAIL_OUT(STATUS_BAD_INPUT, "there is no digest that can be read");
    TRY_OUT(arena_run(judging.ranks.arena, judge, &judging));
    if (judging.job.rank_count == 0)
        FAIL_OUT(STATUS_BAD_INPUT, "no digest has a rank with steps; the first: %s: %s",
                 judging.strangers[0].file, judging.strangers[0].why);
    TRY_OUT(print(flags, &judging));
    if (skipped + judging.stranger_count > 0)
        FAIL_OUT(STATUS_BAD_INPUT, "%lld digests or files were left out",
                 (long long)(skipped + judging.stranger_count));

out:
    arena_close(judging.ranks.arena);
    trace_paths_release(&paths);
    return status;
}

static const struct option_row options[] = {
    FLAG_FORMAT("console|json|markdown"),
    FLAG_COLOR,
    FLAG_VERBOSE,
    OPTIONS_END,
};

const struct command command_job = {
    .name = "job",
    .text = "who holds a job of many ranks up, from their digests",
    .arguments = "DIGEST...",
    .help = "Lays the digests of a job's ranks beside each other, thousands of them, and names "
            "what only all of them show: a late rank or node, a node that gets later, a slow "
            "group of ranks, uneven tokens; and what each costs. Clocks of nodes may differ. A "
            "digest that is broken or of another job is named and left out.\v"
            "Examples:\n"
            "  chokepoint job digests/\n"
            "  chokepoint job digests/ --format=json\n"
            "\n"
            "Exit codes: 0 whatever is found; 2 bad usage, or a digest was left out: the others "
            "are judged all the same.",
    .options = options,
    .context_size = sizeof(struct flags),
    .run = run_job,
};
