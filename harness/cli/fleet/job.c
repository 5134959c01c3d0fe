/* chokepoint job: the digests of thousands of ranks, and which rank delays the others.
 *
 * All memory of the job is in one arena. The digests are read one by one into it; then judge_job()
 * lays them beside each other in one arena_run(), so that a lack of memory anywhere ends the work
 * at one place. */
#include "harness/fleet/job/job.h"
#include "harness/cli/fleet/job_document.h"
#include "harness/cli/line/commands.h"
#include "harness/cli/line/flags.h"
#include "harness/cli/traces/html_page.h"
#include "harness/desk/files/trace_paths.h"
#include "harness/fleet/job/job_output.h"
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

/* The input of judge_job(), and what it leaves within its arena_run(). */
struct judging {
    struct trace_paths paths; /* the digests' names live as long as the job */
    int skipped;
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

/* Reads the digests that are named, and judges them. Close in every case. */
static enum status judging_open(struct judging *judging, const char *racks,
                                const char *const *arguments, int count)
{
    *judging = (struct judging){ .ranks.arena = arena_open(), .by_rack = racks != NULL };
    if (racks != NULL)
        TRY(job_racks_open(&judging->racks, racks));
    TRY(trace_paths_make(&judging->paths, arguments, count, skip, &judging->skipped));
    for (int i = 0; i < judging->paths.count; i++) {
        enum status status = job_read(&judging->ranks, judging->paths.items[i]);
        if (status == STATUS_OUT_OF_MEMORY) /* nor is there any for the next */
            return status;
        if (status != STATUS_OK)
            skip(&judging->skipped);
    }
    if (judging->ranks.count == 0)
        FAIL(STATUS_BAD_INPUT, "there is no digest that can be read");
    TRY(arena_run(judging->ranks.arena, judge_job, judging));
    if (judging->job.rank_count == 0)
        FAIL(STATUS_BAD_INPUT, "no digest has a rank with steps; the first: %s: %s",
             judging->strangers[0].file, judging->strangers[0].why);

    return STATUS_OK;
}

static void judging_close(struct judging *judging)
{
    arena_close(judging->ranks.arena);
    job_racks_close(&judging->racks);
    trace_paths_release(&judging->paths);
}

static struct job_view view_of(const struct judging *judging)
{
    return (struct job_view){ &judging->job, &judging->causes, judging->strangers,
                              judging->stranger_count };
}

/* --- Output --- */

struct mapping {
    struct json *json;
    cJSON *to;
    struct job_view view;
};

static void add_map(struct arena *arena, void *context)
{
    struct mapping *mapping = context;

    job_map_json(mapping->json, mapping->to, &mapping->view, arena);
}

static enum status add_job(struct json *json, cJSON *to, const struct judging *judging,
                           bool with_map)
{
    struct mapping mapping = { json, to, view_of(judging) };

    job_json(json, to, &mapping.view);
    return with_map ? arena_run(judging->ranks.arena, add_map, &mapping) : STATUS_OK;
}

static enum status make_document(cJSON **document, struct json *json, const struct judging *judging)
{
    char about[64];

    snprintf(about, sizeof about, "%lld ranks", (long long)judging->job.rank_count);
    *document = html_page_document(json, command_job.name, about);
    return add_job(json, json_object(json, *document, "job"), judging, true);
}

enum status job_document(cJSON **document, struct json *json, int *troubles,
                         const char *const *digests, int count)
{
    enum status status = STATUS_OK;
    struct judging judging;

    *document = NULL;
    TRY_OUT(judging_open(&judging, NULL, digests, count));
    TRY_OUT(make_document(document, json, &judging));
    *troubles = judging.skipped + (int)judging.stranger_count;

out:
    judging_close(&judging);
    return status;
}

static enum status print_job(const struct job_command *command, const struct judging *judging)
{
    enum status status = STATUS_OK;
    const struct job_view view = view_of(judging);
    const struct flags *flags = &command->flags;
    struct page page = flags_page(flags);
    struct json json = { false };
    cJSON *document = NULL;

    if (flags->out != NULL) {
        TRY_OUT(make_document(&document, &json, judging));
        TRY_OUT(html_page_write(flags->out, &json, document));
    } else if (flags->format == FORMAT_JSON) {
        document = json_object(&json, NULL, NULL);
        TRY_OUT(add_job(&json, document, judging, command->map));
        TRY_OUT(json_to_stdout(&json, document));
    } else {
        job_page(&page, &view);
    }

out:
    cJSON_Delete(document);
    return status;
}

/* --- The command --- */

static enum status run_job(void *context, int *exit_code)
{
    enum status status = STATUS_OK;
    const struct job_command *command = context;
    const struct flags *flags = &command->flags;
    struct judging judging;
    int64_t left_out;

    (void)exit_code;
    if (flags->argument_count == 0)
        FAIL(STATUS_BAD_USAGE, "give the digests of a job's ranks, or folders of them");
    if (command->map && flags->format != FORMAT_JSON)
        FAIL(STATUS_BAD_USAGE,
             "--map is a part of the JSON: give --format=json, or --out=FILE for a page");
    TRY(html_page_check(flags));
    TRY_OUT(judging_open(&judging, command->racks, flags->arguments, flags->argument_count));
    TRY_OUT(print_job(command, &judging));
    left_out = judging.skipped + judging.stranger_count;
    if (left_out > 0)
        FAIL_OUT(STATUS_BAD_INPUT, "%lld digests or files were left out", (long long)left_out);

out:
    judging_close(&judging);
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
