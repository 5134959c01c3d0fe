/* chokepoint job: the digests of thousands of ranks, and who holds the others up.
 *
 * All memory of the job is in one arena. The digests are read one by one into it; then judge_job()
 * lays them beside each other in one arena_run(), so that a lack of memory anywhere ends the work
 * at one place. With --out, Python takes the place of this process and runs it again for the JSON
 * (program_file.h). */
#include "harness/cli/line/commands.h"
#include "harness/cli/line/flags.h"
#include "harness/cli/traces/program_file.h"
#include "harness/cli/traces/trace_paths.h"
#include "harness/fleet/job/job_map.h"
#include "harness/fleet/job/job_output.h"
#include "harness/fleet/job/job_racks.h"
#include "harness/fleet/job/job_read.h"

#include <stdio.h>
#include <stdlib.h>

struct job_command {
    struct flags flags;
    bool map;
    const char *racks;
};

/* A file that cannot be read is named at once; the others are judged all the same. */
static void skip(void *context)
{
    int *skipped = context;

    status_context("%s", command_job.name);
    command_print_error();
    (*skipped)++;
}

/* The work of judge_job() within its arena_run(): what it gets, and what it leaves. */
struct judging {
    struct job_ranks ranks;
    struct job_racks racks;
    bool by_rack;
    struct job job;
    struct job_causes causes;
    struct job_stranger *strangers;
    int64_t stranger_count;
};

static void judge_job(struct arena *arena, void *context)
{
    struct judging *judging = context;

    job_join(&judging->job, arena, judging->ranks.ranks, judging->ranks.worlds,
             judging->ranks.count, &judging->strangers, &judging->stranger_count);
    if (judging->by_rack)
        job_racks_set(&judging->job, &judging->racks);
    judging->causes = job_causes_of(arena, &judging->job);
}

struct mapping {
    struct json json;
    cJSON *root;
    const struct job_view *view;
};

static void add_map(struct arena *arena, void *context)
{
    struct mapping *mapping = context;

    job_map_json(&mapping->json, mapping->root, mapping->view, arena);
}

static enum status print_job(const struct job_command *command, const struct judging *judging)
{
    enum status status = STATUS_OK;
    const struct job_view view = { &judging->job, &judging->causes, judging->strangers,
                                   judging->stranger_count };
    struct page page = flags_page(&command->flags);
    struct mapping mapping = { { false }, NULL, &view };

    if (command->flags.format == FORMAT_JSON) {
        mapping.root = json_object(&mapping.json, NULL, NULL);
        job_json(&mapping.json, mapping.root, &view);
        if (command->map)
            TRY_OUT(arena_run(judging->ranks.arena, add_map, &mapping));
        TRY_OUT(json_to_stdout(&mapping.json, mapping.root));
    } else {
        job_page(&page, &view);
    }

out:
    cJSON_Delete(mapping.root);
    return status;
}

static enum status run_job(void *context, int *exit_code)
{
    enum status status = STATUS_OK;
    const struct job_command *command = context;
    const struct flags *flags = &command->flags;
    struct trace_paths paths = { .count = 0 };
    struct judging judging = { .ranks.arena = arena_open() };
    int skipped = 0;

    (void)exit_code;
    if (flags->argument_count == 0)
        FAIL_OUT(STATUS_BAD_USAGE, "give the digests of a job's ranks, or folders of them");
    if (command->map && flags->format != FORMAT_JSON)
        FAIL_OUT(STATUS_BAD_USAGE,
                 "--map is a part of the JSON: give --format=json, or --out=FILE for a page");
    if (flags->out != NULL)
        TRY_OUT(web_page(command_job.name, flags, NULL));
    if (command->racks != NULL)
        TRY_OUT(job_racks_open(&judging.racks, command->racks));
    judging.by_rack = command->racks != NULL;
    TRY_OUT(trace_paths_make(&paths, flags->arguments, flags->argument_count, skip, &skipped));
    for (int i = 0; i < paths.count; i++) {
        status = job_read(&judging.ranks, paths.items[i]);
        if (status == STATUS_OUT_OF_MEMORY) /* nor is there any for the next */
            goto out;
        if (status != STATUS_OK)
            skip(&skipped);
    }
    if (judging.ranks.count == 0)
        FAIL_OUT(STATUS_BAD_INPUT, "there is no digest that can be read");
    TRY_OUT(arena_run(judging.ranks.arena, judge_job, &judging));
    if (judging.job.rank_count == 0)
        FAIL_OUT(STATUS_BAD_INPUT, "no digest has a rank with steps; the first: %s: %s",
                 judging.strangers[0].file, judging.strangers[0].why);
    TRY_OUT(print_job(command, &judging));
    if (skipped + judging.stranger_count > 0)
        FAIL_OUT(STATUS_BAD_INPUT, "%lld digests or files were left out",
                 (long long)(skipped + judging.stranger_count));

out:
    arena_close(judging.ranks.arena);
    job_racks_close(&judging.racks);
    trace_paths_release(&paths);
    return status;
}

static void job_prepare(void *context)
{
    struct job_command *command = context;

    /* Without --out there is no page: the default of the flags is a folder, which other commands
     * write to. */
    command->flags.out = NULL;
}

static const struct option_row options[] = {
    { "racks", "FILE|/PATTERN/", "racks of nodes: lines \"NODE RACK\", or a part of a node's name",
      2, value_text, .offset = offsetof(struct job_command, racks) },
    FLAG("out", "FILE", "a page of HTML, with all ranks against all steps; -o FILE does the same",
         3, value_text, out),
    { "map", NULL, "the values of that picture, as part of the JSON", 3, value_boolean,
      .offset = offsetof(struct job_command, map) },
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
            "  chokepoint job digests/ -o job.html\n"
            "  chokepoint job digests/ --racks='/^(r[0-9]+)/'\n"
            "  chokepoint job digests/ --format=json\n"
            "\n"
            "Exit codes: 0 whatever is found; 2 bad usage, or a digest was left out: the others "
            "are judged all the same.",
    .options = options,
    .context_size = sizeof(struct job_command),
    .prepare = job_prepare,
    .run = run_job,
};
