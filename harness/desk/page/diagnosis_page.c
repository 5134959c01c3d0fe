/* The page of a trace, from what it is to the answer in short: where the time of a step went, what
 * is wrong, and the tables. For terminals and Markdown alike (harness/text/page.h). */
#include "harness/desk/page/diagnosis_page.h"

#include "harness/base/figures/quantity.h"
#include "harness/desk/analysis/summary.h"
#include "harness/desk/analysis/tables/spans.h"
#include "harness/desk/page/snapshot_page.h"
#include "harness/desk/page/tables/diagnosis_tables.h"
#include "harness/text/catalogue.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

static const struct column shares[] = {
    { "", -30, 0 }, { "time", 8, 0 }, { "share", 6, 0 }, { "", PAGE_CUT, 0 }
};
enum { BAR_START = 49 };

/* A row of a whole that is made of parts; none for a part that is nothing. */
static void print_share(const struct page *page, const char *name, double ns, double whole_ns)
{
    int full = page->console.width - BAR_START;
    char bar[BAR_SIZE] = "";

    if (!(ns > 0))
        return;
    if (full > 0)
        page_bar(bar, ns / whole_ns, full);
    PAGE_LINE(page, shares, name, quantity_time(ns).text, cell("%.1f%%", 100 * ns / whole_ns).text,
              bar);
}

/* --- Input --- */

/* The origin of the trace: the device, how much was recorded, and by whom. */
static void print_origin(const struct page *page, const struct summary *summary,
                         const struct facts *facts)
{
    const struct trace_file *trace = summary->trace;
    const struct event_device *device = timeline_device(&summary->timeline);
    const char *name = summary->timeline.host_alone                ? "CPU only"
                       : device != NULL && device->name[0] != '\0' ? device->name
                       : facts_are_foreign(facts)                  ? trace->unread_device
                                                                   : "a device without a name";
    char devices[48] = "", rank[64] = "";

    if (summary->timeline.device_count > 1)
        snprintf(devices, sizeof devices, ", the busiest of %lld devices",
                 (long long)summary->timeline.device_count);
    if (trace->rank >= 0 && trace->world_size > 1)
        snprintf(rank, sizeof rank, "; rank %lld of %lld", (long long)trace->rank,
                 (long long)trace->world_size);
    page_paragraph(page, INK_DIM, "%s%s; %lld events%s %s of %s%s", name, devices,
                   (long long)(trace->digest != NULL ? trace->digest_events : trace->event_count),
                   facts_are_foreign(facts) ? " read from" : " in",
                   quantity_bytes((double)trace->text_bytes).text,
                   trace->recorder != NULL ? trace->recorder : "text", rank);
}

/* Reasons to doubt the figures below. */
static void print_soundness(const struct page *page, const struct soundness *soundness)
{
    static const char *const texts[] = {
        [TRUST_WHOLE] = "",
        [TRUST_LESS] = " The findings are only possible.",
        [TRUST_LITTLE] = " The findings may be wrong.",
    };
    bool any = false;

    for (int i = 0; i < SOUND_CHECK_COUNT; i++) {
        const struct sound_row *row = &soundness->rows[i];
        char found[sizeof row->found];
        if (row->count == 0)
            continue;
        if (!any)
            page_heading(page, "Is the trace sound?");
        any = true;
        snprintf(found, sizeof found, "%s", row->found);
        found[0] = (char)toupper((unsigned char)found[0]);
        page_paragraph(page, row->trust == TRUST_WHOLE ? INK_DIM : INK_DOUBTFUL, "%s%s%s.%s", found,
                       row->mended[0] != '\0' ? "; " : "", row->mended, texts[row->trust]);
    }
}

/* --- Where the time went --- */

/* The cost of tracing is printed only where it exceeds the spread of the windows: less cannot be
 * told. */
static void print_untraced(const struct page *page, const struct trace_file *trace)
{
    double overhead = trace_file_overhead(trace);
    char cost[48] = "";

    if (!(trace->cost.step_ns > 0))
        return;
    if (overhead > trace->cost.spread)
        snprintf(cost, sizeof cost, "; tracing cost %.1f%%", 100 * overhead);
    page_paragraph(page, INK_DIM,
                   "Without a tracer a step took %s%s. The times above are of traced steps, costs "
                   "and gains of "
                   "findings are of the step without a tracer.",
                   quantity_time(trace->cost.step_ns).text, cost);
}

static void print_counters(const struct page *page, const struct trace_file *trace)
{
    char counters[COUNTERS_TEXT];

    if (!hardware_counters_known(&trace->counters))
        return;
    counters_print(counters, &trace->counters);
    page_paragraph(page, INK_DIM, "Without a tracer, by the GPU's own counters: %s.", counters);
}

/* A busy neighbour makes every time longer, so the reader is told before the findings. */
static void print_others(const struct page *page, const struct trace_file *trace)
{
    int cores = trace->device_count > 0 ? trace->devices[0].host_cores : 0;
    char of_cores[24] = " cores";

    if (trace->cost.core_wait_share > TRACE_CORE_WAIT_MOST) {
        page_paragraph(page, INK_DOUBTFUL,
                       "The loop's thread had no core for %.0f%% of a step, and all threads of the "
                       "process had one for %.0f%% of the time that they wanted: times and gains "
                       "may be those of a crowded machine.",
                       100 * trace->cost.core_wait_share, 100 * trace->cost.got_core_share);
        return;
    }
    if (!trace_file_is_disturbed(trace))
        return;
    if (cores > 0)
        snprintf(of_cores, sizeof of_cores, " of %d core%s", cores, cores == 1 ? "" : "s");
    page_paragraph(page, INK_DOUBTFUL,
                   "Other programs used %.2f%s meanwhile, so times and gains may be theirs: "
                   "record again on a quieter machine.",
                   trace->cost.other_cores, of_cores);
}

/* Steps may overlap, or leave time between them, so the findings divide the whole by their
 * number. */
static void print_other_mean(const struct page *page, const struct facts *facts, double mean_ns)
{
    struct quantity_text mean = quantity_time(mean_ns), other = quantity_time(facts->step_ns);

    if (!facts_are_foreign(facts) && strcmp(mean.text, other.text) != 0)
        page_paragraph(page, INK_DIM,
                       "From the start of the first step to the end of the last there are %s per "
                       "step: the findings use that.",
                       other.text);
}

static void print_step(const struct page *page, const struct summary *summary,
                       const struct facts *facts)
{
    static const char *const names[STEP_PART_COUNT] = {
        [STEP_KERNEL] = "kernels",        [STEP_COPY] = "copies",
        [STEP_MEMSET] = "memsets",        [STEP_COMMUNICATION] = "communication",
        [STEP_RUNTIME] = "runtime calls", [STEP_DATA_LOADING] = "data loading",
        [STEP_HOST] = "other host work",  [STEP_OTHER] = "nothing recorded",
    };
    const struct steps *steps = &summary->steps;
    struct quantity_text mean = quantity_time(steps->mean_ns);
    const char *mark;
    int64_t prefills = 0, engine = facts_engine_marks(facts, &mark);
    char heading[160];

    if (steps->count == 0 && facts_are_foreign(facts))
        return;
    if (steps->count == 0) {
        page_heading(page, "Step");
        if (engine > 0)
            page_paragraph(page, INK_DIM,
                           "The trace has %lld step%s of the engine (%.60s), too few for means.",
                           (long long)engine, engine == 1 ? "" : "s", mark);
        else
            page_paragraph(page, INK_DIM, "The trace marks no steps%s.",
                           facts->program.serves              ? ""
                           : summary->trace->recorder != NULL ? " (NVTX ranges such as \"step 12\")"
                                                              : " (ProfilerStep#N)");
        return;
    }
    if (steps->count == 1)
        snprintf(heading, sizeof heading, "Step: %s, the only one", mean.text);
    else
        snprintf(heading, sizeof heading, "Step: %s, mean of %lld (%s to %s)", mean.text,
                 (long long)steps->count, quantity_time((double)steps->min_ns).text,
                 quantity_time((double)steps->max_ns).text);
    page_heading(page, heading);
    page_table(page, shares, ARRAY_SIZE(shares));
    for (int part = 0; part < STEP_PART_COUNT; part++)
        print_share(page, names[part], steps->mean_part_ns[part], steps->mean_ns);
    if (summary->trace->step_range != 0)
        page_paragraph(page, INK_DIM, "The ranges \"%.60s\" count as steps.",
                       trace_file_name(summary->trace, summary->trace->step_range));
    if (facts_steps_of_engine(facts, &prefills))
        page_paragraph(page, INK_DIM,
                       "The engine's steps count: %lld with prompts (prefill), %lld that decode.",
                       (long long)prefills, (long long)(steps->count - prefills));
    print_other_mean(page, facts, steps->mean_ns);
    print_untraced(page, summary->trace);
    print_counters(page, summary->trace);
    print_others(page, summary->trace);
}

/* Communication counts where no computation runs, copies and memsets where no kernel does: so the
 * parts sum to the span. */
static void print_usage(const struct page *page, const struct summary *summary,
                        const struct facts *facts)
{
    static const char *const causes[IDLE_CAUSE_COUNT] = {
        [IDLE_HOST_WAIT] = "idle: the host had not launched",
        [IDLE_DEVICE_WAIT] = "idle: between queued work",
        [IDLE_OTHER] = "idle: other",
    };
    const struct timeline *timeline = &summary->timeline;
    const struct usage *usage = &timeline->all;
    double span_ns = (double)usage->span_ns;
    char heading[160];

    if (usage->work_count == 0) {
        page_heading(page, "Device");
        page_paragraph(page, INK_DOUBTFUL,
                       facts_are_foreign(facts) ? "None of the device's rows is read."
                                                : "The trace holds no device work.");
        return;
    }
    snprintf(heading, sizeof heading, "Device: busy %.1f%% of %s, from its first work to its last",
             span_ns > 0 ? 100 * (double)usage->busy_ns / span_ns : 0, quantity_time(span_ns).text);
    page_heading(page, heading);
    page_table(page, shares, ARRAY_SIZE(shares));
    print_share(page, "computation", (double)usage->kind_ns[WORK_COMPUTATION], span_ns);
    print_share(page, "communication, exposed", (double)usage->communication_exposed_ns, span_ns);
    print_share(page, "copies and memsets, exposed", (double)usage->memory_exposed_ns, span_ns);
    for (int cause = 0; cause < IDLE_CAUSE_COUNT; cause++)
        print_share(page, causes[cause], (double)usage->idle_cause_ns[cause], span_ns);
    for (int64_t i = 0; timeline->device_count > 1 && i < timeline->device_count; i++) {
        char name[48];
        snprintf(name, sizeof name, "device %lld, busy", (long long)timeline->devices[i].device);
        print_share(page, name, (double)timeline->devices[i].usage.busy_ns, span_ns);
    }
}

/* Whether the host is ahead of the device. */
static void print_launches(const struct page *page, const struct launches *launches)
{
    if (launches->count == 0)
        return;
    page_paragraph(
        page, INK_DIM,
        "%lld launch%s: work starts %s after its launch on average (at most %s); the longest queue "
        "on a stream: %lld.",
        (long long)launches->count, launches->count == 1 ? "" : "es",
        quantity_time((double)launches->delay_ns / (double)launches->count).text,
        quantity_time((double)launches->delay_max_ns).text, (long long)launches->queue_max);
}

/* --- Findings --- */

void diagnosis_cost(char *text, size_t size, const struct finding *finding,
                    const struct diagnosis_whole *whole)
{
    bool costs = finding->lost_ns_per_step > 0, gains = finding->predicted_gain > 1;
    char gain[QUANTITY_SIZE], cost[64] = "", share[96] = "", gained[48] = "";
    int64_t once_in = finding->once_in_steps;

    if (costs && finding->mean_step_ns > 0)
        snprintf(share, sizeof share, ", %.0f%% of the mean of all steps, %s",
                 100 * finding->lost_ns_per_step / finding->mean_step_ns,
                 quantity_time(finding->mean_step_ns).text);
    else if (costs && whole->ns > 0 && once_in > 0)
        snprintf(share, sizeof share, ", %.0f%% of the %lld step%s that were recorded",
                 100 * finding->lost_ns_per_step / whole->ns, (long long)once_in,
                 once_in == 1 ? "" : "s");
    else if (costs && whole->ns > 0)
        snprintf(share, sizeof share, ", %.0f%% of %s", 100 * finding->lost_ns_per_step / whole->ns,
                 whole->text);
    quantity_factor(gain, finding->predicted_gain);
    if (costs)
        snprintf(
            cost, sizeof cost, "%s %s%s%s",
            finding->confidence == CONFIDENCE_LOW ? "May cost" : "Costs",
            finding->gain_is_most ? "at most " : "",
            quantity_time(finding->lost_ns_per_step * (once_in > 0 ? (double)once_in : 1)).text,
            once_in > 0         ? " once"
            : finding->of_whole ? ""
                                : " per step");
    if (gains)
        snprintf(gained, sizeof gained, "predicted gain %s%s%s%s; ",
                 finding->once_fixed != NULL ? "then " : "", finding_gain_bound(finding), gain,
                 once_in > 0 ? ", of these alone" : "");
    snprintf(text, size, "%s%s%s%s%s confidence%s.", cost, share, costs ? "; " : "", gained,
             confidence_name(finding->confidence), finding_why_minor(finding));
    text[0] = (char)toupper((unsigned char)text[0]);
}

struct diagnosis_whole diagnosis_whole(const struct facts *facts)
{
    struct diagnosis_whole whole = { .ns = facts_whole_ns(facts) };
    struct quantity_text time = quantity_time(whole.ns);

    if (facts->summary->trace->cost.step_ns > 0)
        snprintf(whole.text, sizeof whole.text, "the %s step without a tracer", time.text);
    else if (facts_of_whole(facts))
        snprintf(whole.text, sizeof whole.text, "the trace's %s", time.text);
    else
        snprintf(whole.text, sizeof whole.text, "the %s step", time.text);
    return whole;
}

void diagnosis_headline(const struct page *page, const struct headline *headline)
{
    page_heading(page, "Bottleneck");
    page_paragraph(page, INK_BOLD, "%s: %s", bottleneck_name(headline->bottleneck), headline->text);
}

/* The first of those that show the finding. */
static void print_scenario(const struct page *page, const char *finding)
{
    const char *scenario = catalogue_scenario(finding, 0);

    if (scenario != NULL)
        page_command(page, "Try it in miniature:", "explain %s", scenario);
}

static void print_place(const struct page *page, const char *name, const struct call_place *place)
{
    char text[CALL_PLACE_TEXT];

    if (place->kind == PLACE_UNKNOWN)
        return;
    call_place_text(text, sizeof text, place);
    page_detail(page, "%s: %s (%.0f%% of this time)", name, text, 100 * place->share);
}

void diagnosis_finding(const struct page *page, int number, const struct finding *finding,
                       const char *ranks, const struct diagnosis_whole *whole)
{
    static const enum ink inks[] = { [SEVERITY_INFORMATION] = INK_DIM,
                                     [SEVERITY_MINOR] = INK_DOUBTFUL,
                                     [SEVERITY_MAJOR] = INK_BAD,
                                     [SEVERITY_CRITICAL] = INK_BAD };
    char cost[288];

    page_item(page, number, finding->id, finding->title, inks[finding->severity],
              severity_name(finding->severity));
    if (ranks[0] != '\0')
        page_detail(page, "%s", ranks);
    page_detail(page, "%s", finding->evidence);
    diagnosis_cost(cost, sizeof cost, finding, whole);
    page_detail(page, "%s", cost);
    print_place(page, "Where", &finding->where);
    print_place(page, "In the library", &finding->library);
    if (finding->advice != NULL && finding->advice[0] != '\0')
        page_detail(page, "Do: %s", finding->advice);
    print_scenario(page, finding->id);
}

/* The best pair is named if it is not these two. */
static void print_next(const struct page *page, const struct next_fix *next)
{
    char gain[QUANTITY_SIZE] = "nothing", pair_gain[QUANTITY_SIZE], pair[128] = "";
    bool gains = next->gain > 1.005;

    if (gains)
        quantity_factor(gain, next->gain);
    quantity_factor(pair_gain, next->pair_gain);
    if (next->pair[0] != next->first || next->pair[1] != next->second)
        snprintf(pair, sizeof pair, ". The best pair is %s and %s: %s together", next->pair[0],
                 next->pair[1], pair_gain);
    else if (gains)
        snprintf(pair, sizeof pair, ", %s together", pair_gain);
    page_detail(page, "Once this is fixed, %s gains %s%s.", next->second, gain, pair);
}

static void print_findings(const struct page *page, const struct facts *facts,
                           const struct findings *findings)
{
    struct diagnosis_whole whole = diagnosis_whole(facts);

    page_heading(page, "Findings");
    if (findings->healthy[0] != '\0')
        page_paragraph(page, INK_GOOD, "Healthy: %s", findings->healthy);
    else if (findings->count == 0)
        page_paragraph(page, INK_DIM, "None.");
    for (int64_t i = 0; i < findings->count; i++) {
        diagnosis_finding(page, (int)i + 1, &findings->items[i], "", &whole);
        if (findings->items[i].id == findings->next.first)
            print_next(page, &findings->next);
    }
}

/* --- Checklist and answer --- */

void diagnosis_checklist(const struct page *page, const struct checklist *checklist)
{
    static const enum ink inks[] = {
        [ANSWER_YES] = INK_GOOD, [ANSWER_UNKNOWN] = INK_DOUBTFUL, [ANSWER_NO] = INK_BAD
    };

    page_heading(page, "Checklist");
    for (int i = 0; i < CHECKLIST_COUNT; i++) {
        const struct checklist_row *row = &checklist->rows[i];
        const struct finding *finding = row->finding;
        page_item(page, i + 1, checklist_questions[i].id, checklist_questions[i].text,
                  inks[row->answer], answer_name(row->answer));
        page_detail(page, "%s", row->figures);
        if (finding == NULL)
            continue;
        page_detail(page, "Finding: %s: %s", finding->id, finding->title);
        print_scenario(page, finding->id);
    }
}

void diagnosis_answer(const struct page *page, const struct findings *findings,
                      const struct diagnosis_whole *whole)
{
    const struct finding *first = findings_first(findings);
    char cost[288];

    if (first == NULL) {
        page_summary(page, "In short: %s",
                     findings->healthy[0] != '\0' ? findings->healthy : findings->headline.text);
        return;
    }
    diagnosis_cost(cost, sizeof cost, first, whole);
    if (findings->headline.is_information)
        page_summary(page, "In short: %s First to fix: %s. %s", findings->headline.text,
                     first->title, cost);
    else
        page_summary(page, "In short: %s. %s", first->title, cost);
    if (catalogue_scenario(first->id, 0) != NULL)
        page_command(page, "", "explain %s", first->id);
}

/* --- The page --- */

static void print_head(const struct page *page, const struct diagnosis *diagnosis, int which,
                       const struct diagnosis_view *view)
{
    if (!view->unnamed)
        page_title(page, diagnosis->paths[which]);
    if (diagnosis->programs != NULL && diagnosis->programs[which].wall_s > 0 && !view->unnamed)
        program_page(page, &diagnosis->programs[which]);
    if (diagnosis->lines_from[which] != NULL)
        page_paragraph(
            page, INK_DIM,
            "Lines of code are those of %s, with stacks. Such steps take longer: only lines and "
            "their shares are read from them.",
            diagnosis->lines_from[which]);
    print_origin(page, &diagnosis->summaries[which], &diagnosis->facts[which]);
    print_soundness(page, &diagnosis->summaries[which].soundness);
    if (!view->unnamed)
        diagnosis_headline(page, &diagnosis->findings[which].headline);
}

static void print_answer(const struct page *page, const struct diagnosis *diagnosis, int which)
{
    struct diagnosis_whole whole = diagnosis_whole(&diagnosis->facts[which]);

    diagnosis_answer(page, &diagnosis->findings[which], &whole);
}

static enum status print_whole(const struct page *page, const struct diagnosis *diagnosis,
                               int which, const struct diagnosis_view *view)
{
    const struct summary *summary = &diagnosis->summaries[which];
    const struct facts *facts = &diagnosis->facts[which];
    bool is_digest = diagnosis->traces[which]->digest != NULL;

    print_head(page, diagnosis, which, view);
    if (view->checklist) {
        struct checklist checklist = checklist_of_diagnosis(diagnosis, which);
        diagnosis_checklist(page, &checklist);
        print_answer(page, diagnosis, which);
        return STATUS_OK;
    }
    print_step(page, summary, facts);
    print_usage(page, summary, facts);
    print_launches(page, &summary->launches);
    if (view->timeline > 0)
        TRY(timeline_text(page, summary, view->timeline));
    if (!view->unnamed)
        print_findings(page, facts, &diagnosis->findings[which]);
    if (diagnosis->what_if.asked && !view->unnamed)
        what_if_page(page, diagnosis, which);
    if (!is_digest)
        longest_gaps_print(page, summary);
    if (view->thresholds)
        diagnosis_thresholds(page, &diagnosis->findings[which]);
    if (is_digest) {
        page_heading(page, "Digest");
        page_paragraph(page, INK_DIM,
                       "A digest has no tables of gaps, kernels, operators and memory, nor a "
                       "timeline or replays: the trace has.");
    } else {
        diagnosis_tables(page, summary, &diagnosis->tables);
    }
    if (diagnosis->joined != NULL && !view->unnamed)
        snapshot_page(page, diagnosis->joined, diagnosis->tables.rows, true);
    if (!view->unnamed)
        print_answer(page, diagnosis, which);

    return STATUS_OK;
}

void diagnosis_brief(const struct page *page, const struct diagnosis *diagnosis)
{
    print_soundness(page, &diagnosis->summaries[0].soundness);
    diagnosis_headline(page, &diagnosis->findings[0].headline);
    print_findings(page, &diagnosis->facts[0], &diagnosis->findings[0]);
}

/* The ranks of a run come first in the list of traces and share a page; each other trace has one.
 */
enum status diagnosis_page(const struct page *page, const struct diagnosis *diagnosis,
                           const struct diagnosis_view *view)
{
    if (view->only >= 0)
        return print_whole(page, diagnosis, view->only, view);
    if (diagnosis->run_count > 0)
        TRY(diagnosis_ranks(page, diagnosis, view));
    for (int i = diagnosis->run_count; i < diagnosis->count; i++) {
        if (i > 0)
            fputc('\n', page->console.stream);
        TRY(print_whole(page, diagnosis, i, view));
    }

    return STATUS_OK;
}
