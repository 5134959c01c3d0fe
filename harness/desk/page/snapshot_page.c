/* A snapshot has a page of its own, or stands at the end of that of a trace, among whose findings
 * its own are then. */
#include "harness/desk/page/snapshot_page.h"

#include "harness/base/figures/quantity.h"
#include "harness/base/status.h"
#include "harness/desk/analysis/summary.h"
#include "harness/desk/diagnosis/rules/rules.h"

#include <stdio.h>
#include <string.h>

enum { BAR = 30, SITES = 12, CURVE_ROWS = 24 };

/* A row for each equal piece of the history, with the most that was live in it: a peak is never
 * left out. */
static void print_curve(const struct page *page, const struct snapshot_device *device)
{
    static const struct column columns[] = { { "events", 12, 0 },
                                             { "most live", 10, 0 },
                                             { "", -BAR, 0 } };
    int64_t rows = device->point_count < CURVE_ROWS ? device->point_count : CURVE_ROWS;

    if (rows == 0)
        return;
    page_heading(page, "Live memory over the history");
    page_table(page, columns, ARRAY_SIZE(columns));
    for (int64_t i = 0; i < rows; i++) {
        int64_t most = 0, to = (i + 1) * device->point_count / rows;
        char bar[BAR_SIZE];
        for (int64_t j = i * device->point_count / rows; j < to; j++)
            most = device->points[j].live > most ? device->points[j].live : most;
        page_bar(bar, device->live_peak > 0 ? (double)most / (double)device->live_peak : 0, BAR);
        PAGE_LINE(page, columns,
                  cell("to %lld", (long long)(to * device->event_count / device->point_count)).text,
                  quantity_bytes((double)most).text, bar);
    }
}

/* The first row is of memory from before the history, whose lines nobody recorded. */
static void print_sites(const struct page *page, const struct snapshot *snapshot,
                        const struct snapshot_device *device, int rows)
{
    static const struct column columns[] = {
        { "live", 10, 0 }, { "share", 7, 0 }, { "allocs", 9, 0 }, { "line", PAGE_CUT, 0 }
    };

    if (device->event_count == 0)
        return;
    page_heading(page, "Live at the peak, by the line that asked for it");
    page_table(page, columns, ARRAY_SIZE(columns));
    for (int64_t i = -1; i < device->site_count && i < (rows > 0 ? rows : SITES); i++) {
        const struct snapshot_site *site = i >= 0 ? &device->sites[i] : NULL;
        int64_t bytes = site != NULL ? site->at_peak : device->before;
        double percent =
            device->live_peak > 0 ? 100 * (double)bytes / (double)device->live_peak : 0;
        if (bytes != 0)
            PAGE_LINE(page, columns, quantity_bytes((double)bytes).text,
                      cell("%.1f%%", percent).text,
                      site != NULL ? quantity_count(site->count).text : "",
                      site != NULL ? intern_text(snapshot->names, site->name)
                                   : "from before the history");
    }
}

/* The use of reserved memory, and how much of it is free. */
static void print_reserved(const struct page *page, const struct snapshot_device *device)
{
    page_heading(page, "Reserved at the end");
    page_paragraph(page, INK_PLAIN,
                   "%lld segments reserve %s: %s are live, %s are lost to rounding, %s are free in "
                   "pieces (the largest %s), %s in segments that hold nothing.",
                   (long long)device->segment_count, quantity_bytes((double)device->reserved).text,
                   quantity_bytes((double)device->live_end).text,
                   quantity_bytes((double)device->rounding).text,
                   quantity_bytes((double)device->free_pieces).text,
                   quantity_bytes((double)device->largest_piece).text,
                   quantity_bytes((double)device->free_whole).text);
    if (device->pool_reserved > 0)
        page_paragraph(page, INK_DIM, "%s of it are in pools of CUDA graphs.",
                       quantity_bytes((double)device->pool_reserved).text);
}

static void print_history(const struct page *page, const struct snapshot_device *device)
{
    char lasts[48] = "";

    if (device->event_count == 0) {
        page_paragraph(page, INK_DOUBTFUL,
                       "It has no history: call torch.cuda.memory._record_memory_history() first.");
        return;
    }
    if (device->end_us > device->start_us)
        snprintf(lasts, sizeof lasts, " in %s",
                 quantity_time(1e3 * ((double)device->end_us - (double)device->start_us)).text);
    page_paragraph(page, INK_PLAIN,
                   "%lld events%s: %s are live at the start, %s at the peak, %s at the end; %lld "
                   "allocations, %lld segments taken from the driver and %lld given back.",
                   (long long)device->event_count, lasts,
                   quantity_bytes((double)device->live_start).text,
                   quantity_bytes((double)device->live_peak).text,
                   quantity_bytes((double)device->live_end).text, (long long)device->alloc_count,
                   (long long)device->segment_alloc_count, (long long)device->segment_free_count);
}

static void print_findings(const struct page *page, const struct snapshot_device *device)
{
    page_heading(page, "Findings");
    if (device->finding_count == 0)
        page_paragraph(page, INK_DIM, "None.");
    for (int i = 0; i < device->finding_count; i++) {
        const struct snapshot_finding *finding = &device->findings[i];
        page_item(page, i + 1, finding->id, rule_find(finding->id)->title, INK_BAD,
                  finding->is_critical ? "critical" : "major");
        page_detail(page, "%s", finding->evidence);
        page_detail(page, "Do: %s", finding->advice);
    }
}

void snapshot_page(const struct page *page, const struct snapshot_file *file, int rows,
                   bool is_joined)
{
    const struct snapshot *snapshot = &file->snapshot;

    page_title(page, file->path);
    page_paragraph(page, INK_DIM, "a snapshot of PyTorch's memory, %s; %d device%s with memory",
                   quantity_bytes((double)snapshot->bytes).text, snapshot->device_count,
                   snapshot->device_count == 1 ? "" : "s");
    for (int i = 0; i < snapshot->device_count; i++) {
        const struct snapshot_device *device = &snapshot->devices[i];
        char heading[40];
        snprintf(heading, sizeof heading, "Device %lld", (long long)device->device);
        page_heading(page, heading);
        print_history(page, device);
        if (!is_joined)
            print_findings(page, device);
        print_sites(page, snapshot, device, rows);
        print_curve(page, device);
        print_reserved(page, device);
    }
}

/* --- Beside a trace --- */

/* As the rule for traces has it. */
#define PIECES_MAJOR 0.25

/* Without a device whose memory is known, no share of it is large. */
static enum severity severity_of(const struct snapshot_device *device,
                                 const struct snapshot_finding *finding, const struct facts *facts)
{
    int64_t memory = facts->device != NULL ? facts->device->memory_bytes : 0;

    if (finding->is_critical)
        return SEVERITY_CRITICAL;
    if (strcmp(finding->id, "memory_growth") == 0)
        return SEVERITY_MAJOR;
    if (strcmp(finding->id, "fragmentation") == 0 && memory > 0 &&
        (double)device->free_pieces >= PIECES_MAJOR * (double)memory)
        return SEVERITY_MAJOR;
    return SEVERITY_MINOR;
}

static struct finding joined(const struct snapshot_device *device,
                             const struct snapshot_finding *finding, const struct facts *facts)
{
    struct finding made = rule_finding(rule_find(finding->id));

    made.advice = finding->advice;
    made.severity = severity_of(device, finding, facts);
    made.of_whole = facts_of_whole(facts);
    snprintf(made.evidence, sizeof made.evidence, "%s", finding->evidence);
    return made;
}

enum status snapshot_join(struct diagnosis *diagnosis, const struct snapshot_file *file)
{
    const struct snapshot *snapshot = &file->snapshot;
    struct finding others[SNAPSHOT_FINDINGS];
    int64_t count = 0;

    diagnosis->joined = file;
    for (int i = 0; i < snapshot->device_count; i++)
        for (int j = 0; j < snapshot->devices[i].finding_count; j++) {
            const struct snapshot_device *device = &snapshot->devices[i];
            struct finding made = joined(device, &device->findings[j], &diagnosis->facts[0]);
            int64_t at = 0;
            /* If several devices have the same finding, the worst counts. */
            while (at < count && others[at].id != made.id) at++;
            if (at == count)
                others[count++] = made;
            else if (made.severity > others[at].severity)
                others[at] = made;
        }
    return diagnosis_join(diagnosis, 0, others, count);
}
