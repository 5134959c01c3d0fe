/* The findings of a job: a page that begins with the causes, since these are to be mended, and
 * the same facts for programs. */
#include "harness/fleet/job/job_output.h"

#include "harness/base/figures/quantity.h"
#include "harness/base/words/text.h"
#include "harness/text/page_rows.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SCHEMA = 1, NAMED_MOST = 8, LATEST = 8, KINDS_MOST = 16, TEXT_SIZE = 400 };

/* --- Words --- */

/* A sentence about who or what is the cause, and what to do. */
static const struct {
    const char *sentence, *advice;
} words[JOB_CAUSE_COUNT] = {
    [JOB_LATE_RANK] = { "Rank %s is late",
                        "look at the digest or trace of that rank (diagnose --rank), and at its "
                        "device" },
    [JOB_LATE_NODE] = { "The ranks on %s are late",
                        "compare that machine with the others (doctor, fleet), or leave it out" },
    [JOB_LATE_RACK] = { "The ranks of rack %s are late",
                        "compare what its machines share with other racks: switch, power, "
                        "cooling" },
    [JOB_DRIFTING_NODE] = { "The ranks on %s get later from step to step",
                            "look at its temperatures and clocks: doctor --soak" },
    [JOB_LATE_PLACE] = { "Rank %s of every node is late",
                         "look at what these ranks share: a slot, a socket, a process beside "
                         "them" },
    [JOB_SLOW_LINK] = { "A %s",
                        "look at the links between its members: bench, and counters of errors" },
    [JOB_IMBALANCE] = { "Tokens are uneven: a rank with more of them is late",
                        "share tokens evenly: pack sequences, or sort them by length" },
    [JOB_WANDERING] = { "Another rank is late in each step",
                        "look for what differs between ranks by chance: samples, files, other "
                        "programs" },
};

/* "Rank 479 on node059 is late" */
static void name_cause(char *text, size_t size, const struct job *job,
                       const struct job_cause *cause)
{
    /* Where the cause is of another kind, the first stands in, and is not looked at. */
    const struct job_rank *rank = &job->ranks[cause->kind == JOB_LATE_RANK ? cause->which : 0];
    const struct job_group *group = &job->groups[cause->kind == JOB_SLOW_LINK ? cause->which : 0];
    char who[TEXT_SIZE] = "";

    if (cause->kind == JOB_LATE_RANK)
        snprintf(who, sizeof who, "%lld on %s", (long long)rank->rank, job->nodes[rank->node].name);
    else if (cause->kind == JOB_LATE_NODE || cause->kind == JOB_DRIFTING_NODE)
        snprintf(who, sizeof who, "%s", job->nodes[cause->which].name);
    else if (cause->kind == JOB_LATE_RACK)
        snprintf(who, sizeof who, "%s", job->racks[cause->which]);
    else if (cause->kind == JOB_LATE_PLACE)
        snprintf(who, sizeof who, "%lld", (long long)cause->which);
    else if (cause->kind == JOB_SLOW_LINK)
        snprintf(who, sizeof who, "%s group is slow: %s, with rank %lld", group->kind,
                 group->name[0] != '\0' ? group->name : "without a name",
                 (long long)job->ranks[group->members[0]].rank);
    snprintf(text, size, words[cause->kind].sentence, who);
}

/* Ranks that there is no digest of. */
static int64_t name_missing(char *text, size_t size, const struct job *job)
{
    int64_t missing = 0, next = 0;

    text[0] = '\0';
    /* Ranks are sorted, so one walk finds the gaps. The world's size is what a file claims: a
     * million is the most that is believed. */
    for (int64_t rank = 0; rank < job->world_size && rank < 1 << 20; rank++) {
        if (next < job->rank_count && job->ranks[next].rank == rank) {
            next++;
            continue;
        }
        if (missing++ < NAMED_MOST)
            text_join(text, size, ", ", "%lld", (long long)rank);
    }
    if (missing > NAMED_MOST)
        text_append(text, size, " and %lld more", (long long)(missing - NAMED_MOST));
    return missing;
}

/* --- Groups of a kind --- */

struct group_kind {
    const struct job_group *first;
    int64_t count;
    double transfer_ns, wait_ns;
};

/* Groups of one kind and one size are a row. A job has few such kinds; those beyond the room are
 * left out. */
static int gather_kinds(const struct job *job, struct group_kind kinds[KINDS_MOST])
{
    int count = 0;

    for (int64_t i = 0; i < job->group_count; i++) {
        const struct job_group *group = &job->groups[i];
        int at = 0;
        while (at < count && (strcmp(kinds[at].first->kind, group->kind) != 0 ||
                              kinds[at].first->size != group->size))
            at++;
        if (at == KINDS_MOST)
            continue;
        if (at == count)
            kinds[count++] = (struct group_kind){ .first = group };
        kinds[at].count++;
        kinds[at].transfer_ns += group->transfer_ns;
        kinds[at].wait_ns += group->wait_ns;
    }
    for (int i = 0; i < count; i++) {
        kinds[i].transfer_ns /= (double)kinds[i].count;
        kinds[i].wait_ns /= (double)kinds[i].count;
    }
    return count;
}

static void print_kinds(const struct page *page, const struct job *job)
{
    static const struct column columns[] = {
        { "group", -10, 0 }, { "ranks", 6, 0 }, { "groups", 7, 0 },  { "transfer", 9, 0 },
        { "waits", 9, 0 },   { "bytes", 9, 0 }, { "", PAGE_CUT, 0 },
    };
    struct group_kind kinds[KINDS_MOST];
    struct page_rows *rows;
    int count = gather_kinds(job, kinds);

    page_heading(page, "Groups: means per step");
    rows = page_rows_open(columns, ARRAY_SIZE(columns));
    for (int i = 0; i < count; i++) {
        const struct job_group *first = kinds[i].first;
        PAGE_ROW(rows, NULL, first->kind, quantity_count(first->size).text,
                 quantity_count(kinds[i].count).text, quantity_time(kinds[i].transfer_ns).text,
                 quantity_time(kinds[i].wait_ns).text,
                 quantity_bytes(first->bytes > 0 ? (double)first->bytes : NAN).text,
                 first->collective);
    }
    page_rows_print(page, rows);
}

/* --- The latest ranks --- */

/* Puts the latest ranks in `latest`; returns how many. */
static int find_latest(const struct job *job, const struct job_rank *latest[LATEST])
{
    int count = 0;

    for (int64_t i = 0; i < job->rank_count; i++) {
        int at = count;
        /* The few latest stay sorted: each rank is put where it belongs among them, and the last
         * one drops out. */
        while (at > 0 && latest[at - 1]->late_ns < job->ranks[i].late_ns) at--;
        if (at == LATEST)
            continue;
        count += count < LATEST;
        for (int j = count - 1; j > at; j--) latest[j] = latest[j - 1];
        latest[at] = &job->ranks[i];
    }
    return count;
}

static void print_latest(const struct page *page, const struct job_view *view)
{
    static const struct column columns[] = {
        { "rank", 7, 0 }, { "late", 9, 0 }, { "holds up", 9, 0 }, { "node", PAGE_CUT, 0 }
    };
    const struct job_rank *latest[LATEST];
    int count = find_latest(view->job, latest);
    struct page_rows *rows;

    page_heading(page, "The latest ranks: own time beyond the others', per step");
    rows = page_rows_open(columns, ARRAY_SIZE(columns));
    for (int i = 0; i < count; i++) {
        int64_t critical = 0;
        for (int64_t step = 0; step < view->job->step_count; step++)
            critical += view->causes->critical[step].rank == latest[i] - view->job->ranks;
        PAGE_ROW(rows, NULL, quantity_count(latest[i]->rank).text,
                 quantity_time(latest[i]->late_ns).text,
                 cell("%lld of %lld", (long long)critical, (long long)view->job->step_count).text,
                 view->job->nodes[latest[i]->node].name);
    }
    page_rows_print(page, rows);
    for (int i = 0; i < JOB_WITHOUT; i++)
        if (view->causes->without[i] > 0 && view->causes->without_ns[i] > 0)
            page_paragraph(page, INK_DIM,
                           "If the latest %lld were like the others: %.4g steps/s instead of %.4g.",
                           (long long)view->causes->without[i], 1e9 / view->causes->without_ns[i],
                           1e9 / view->job->replayed_ns);
}

/* --- Clocks --- */

static void print_clocks(const struct page *page, const struct job *job)
{
    const struct job_node *far = &job->nodes[0];

    if (job->node_count < 2)
        return;
    for (int64_t i = 1; i < job->node_count; i++)
        if (fabs(job->nodes[i].offset_ns) > fabs(far->offset_ns))
            far = &job->nodes[i];
    page_paragraph(page, INK_DIM,
                   "Clocks: that of %s is farthest from the median of all nodes, by %s, and drifts "
                   "by %.1f ppm. No figure here depends on that.",
                   far->name, quantity_time(fabs(far->offset_ns)).text, 1e6 * far->drift);
}

/* --- The page --- */

static void print_causes(const struct page *page, const struct job_view *view)
{
    const struct job *job = view->job;
    char name[TEXT_SIZE];

    page_heading(page, "Findings");
    if (!view->causes->holds)
        page_paragraph(page, INK_DOUBTFUL,
                       "The collectives in these digests do not explain the step, so nothing is "
                       "named.");
    else if (view->causes->count == 0)
        page_paragraph(page, INK_GOOD,
                       "None: nothing that only some ranks show costs %.0f%% or more.",
                       100 * JOB_CAUSE_LEAST);
    for (int i = 0; i < view->causes->count; i++) {
        const struct job_cause *cause = &view->causes->items[i];
        name_cause(name, sizeof name, job, cause);
        page_item(page, i + 1, job_cause_name(cause->kind), name, INK_BAD, "");
        page_detail(page, "Costs %s per step, %.1f%% of %s.", quantity_time(cause->lost_ns).text,
                    100 * cause->lost_ns / job->replayed_ns, quantity_time(job->step_ns).text);
        page_detail(page, "Do: %s", words[cause->kind].advice);
    }
}

void job_page(const struct page *page, const struct job_view *view)
{
    const struct job *job = view->job;
    char title[96], name[TEXT_SIZE];

    snprintf(title, sizeof title, "%lld of %lld ranks on %lld node%s", (long long)job->rank_count,
             (long long)job->world_size, (long long)job->node_count,
             job->node_count == 1 ? "" : "s");
    page_title(page, title);
    char missing[TEXT_SIZE];
    int64_t count = name_missing(missing, sizeof missing, view->job);
    if (count > 0)
        page_paragraph(page, INK_DOUBTFUL, "Missing: rank%s %s.", count == 1 ? "" : "s", missing);
    for (int64_t i = 0; i < view->stranger_count && i < NAMED_MOST; i++)
        page_paragraph(page, INK_DOUBTFUL, "Left out: %s: %s.", view->strangers[i].file,
                       view->strangers[i].why);
    if (view->stranger_count > NAMED_MOST)
        page_paragraph(page, INK_DOUBTFUL, "Left out: %lld more.",
                       (long long)(view->stranger_count - NAMED_MOST));
    page_paragraph(page, INK_PLAIN, "A step takes %s, the median of ranks over %lld steps.",
                   quantity_time(job->step_ns).text, (long long)job->step_count);
    print_causes(page, view);
    print_kinds(page, job);
    if (view->causes->holds) {
        print_latest(page, view);
        print_clocks(page, job);
    }
    if (view->causes->count == 0)
        return;
    name_cause(name, sizeof name, job, &view->causes->items[0]);
    page_summary(page, "In short: %s.", name);
}

/* --- JSON --- */

static void add_causes(struct json *json, cJSON *to, const struct job_view *view)
{
    const struct job *job = view->job;
    cJSON *array = json_array(json, to, "findings");
    char text[TEXT_SIZE];

    for (int i = 0; i < view->causes->count; i++) {
        const struct job_cause *cause = &view->causes->items[i];
        bool node = cause->kind == JOB_LATE_NODE || cause->kind == JOB_DRIFTING_NODE;
        name_cause(text, sizeof text, job, cause);
        JSON_ROW(
            json, array, KEY("id", job_cause_name(cause->kind)),
            KEY("rank", cause->kind == JOB_LATE_RANK ? (double)job->ranks[cause->which].rank : NAN),
            KEY("node", node ? job->nodes[cause->which].name : NULL),
            KEY("rack", cause->kind == JOB_LATE_RACK ? job->racks[cause->which] : NULL),
            KEY("place", cause->kind == JOB_LATE_PLACE ? (double)cause->which : NAN),
            KEY("group", cause->kind == JOB_SLOW_LINK ? job->groups[cause->which].name : NULL),
            KEY("lost_ns_per_step", cause->lost_ns), KEY("late_ns", cause->late_ns),
            KEY("text", text), KEY("advice", words[cause->kind].advice));
    }
}

static void add_groups(struct json *json, cJSON *to, const struct job *job)
{
    struct group_kind kinds[KINDS_MOST];
    cJSON *array = json_array(json, to, "groups");
    int count = gather_kinds(job, kinds);

    for (int i = 0; i < count; i++)
        JSON_ROW(json, array, KEY("kind", kinds[i].first->kind), KEY("size", kinds[i].first->size),
                 KEY("count", kinds[i].count), KEY("collective", kinds[i].first->collective),
                 KEY("transfer_ns", kinds[i].transfer_ns), KEY("wait_ns", kinds[i].wait_ns));
}

static void add_steps(struct json *json, cJSON *to, const struct job_view *view)
{
    const struct job *job = view->job;
    cJSON *array = json_array(json, to, "steps");

    /* Where collectives do not explain the step, no rank is blamed for one. */
    for (int64_t i = 0; i < job->step_count && view->causes->holds; i++) {
        const struct job_critical *critical = &view->causes->critical[i];
        JSON_ROW(json, array, KEY("number", job->numbers[i]),
                 KEY("critical_rank",
                     critical->rank >= 0 ? (double)job->ranks[critical->rank].rank : NAN),
                 KEY("own_ns", critical->own_ns), KEY("beyond_others_ns", critical->beyond_ns),
                 KEY("part",
                     critical->part >= 0 ? step_part_name((enum step_part)critical->part) : NULL));
    }
}

static void add_nodes(struct json *json, cJSON *to, const struct job *job)
{
    cJSON *array = json_array(json, to, "nodes");

    for (int64_t i = 0; i < job->node_count; i++)
        JSON_ROW(json, array, KEY("node", job->nodes[i].name),
                 KEY("rack", job->nodes[i].rack >= 0 ? job->racks[job->nodes[i].rack] : NULL),
                 KEY("ranks", job->nodes[i].rank_count),
                 KEY("clock_offset_ns", job->nodes[i].offset_ns),
                 KEY("clock_drift_ppm", 1e6 * job->nodes[i].drift));
}

static void add_ranks(struct json *json, cJSON *to, const struct job *job)
{
    const struct job_rank *latest[LATEST];
    int count = find_latest(job, latest);
    cJSON *array = json_array(json, to, "latest_ranks");

    for (int i = 0; i < count; i++)
        JSON_ROW(json, array, KEY("rank", latest[i]->rank),
                 KEY("node", job->nodes[latest[i]->node].name), KEY("late_ns", latest[i]->late_ns));
}

void job_json(struct json *json, cJSON *to, const struct job_view *view)
{
    const struct job *job = view->job;
    char missing[TEXT_SIZE];
    cJSON *array;

    JSON_ADD(json, to, KEY("schema", SCHEMA), KEY("ranks", job->rank_count),
             KEY("world_size", job->world_size),
             KEY("missing", name_missing(missing, sizeof missing, job)),
             KEY("step_ns", job->step_ns), KEY("replayed_ns", job->replayed_ns),
             KEY("explained", view->causes->holds));
    array = json_array(json, to, "left_out");
    for (int64_t i = 0; i < view->stranger_count; i++)
        JSON_ROW(json, array, KEY("file", view->strangers[i].file),
                 KEY("reason", view->strangers[i].why));
    add_causes(json, to, view);
    add_groups(json, to, job);
    add_steps(json, to, view);
    add_ranks(json, to, job);
    add_nodes(json, to, job);
}
