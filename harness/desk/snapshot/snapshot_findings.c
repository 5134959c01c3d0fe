/* The findings of a snapshot alone. Each is a function that looks at a device's totals and writes
 * its evidence. Ids are those of the rules for traces (rules.h), which have the titles. */
#include "harness/base/figures/quantity.h"
#include "harness/desk/snapshot/snapshot_parts.h"

#include <stdio.h>
#include <string.h>

/* Shares: of reserved memory that lies free in pieces, reserved over live at the peak, and of the
 * peak that grew. */
#define PIECES_LEAST   0.1
#define RESERVED_LEAST 1.2
#define GROWN_LEAST    0.01
/* UNUSED_BYTES: a few segments that are not full keep nobody from a larger batch. */
enum { GROWN_BYTES = 1 << 20, UNUSED_BYTES = 100 << 20 };

static struct snapshot_finding *add_finding(struct snapshot_device *device, const char *id,
                                            const char *advice)
{
    struct snapshot_finding *finding = &device->findings[device->finding_count++];

    *finding = (struct snapshot_finding){ .id = id, .advice = advice };
    return finding;
}

/* Who holds most more at the last mark than at the first. */
static const struct snapshot_site *grower(const struct snapshot_device *device)
{
    const struct snapshot_site *most = NULL;

    for (int64_t i = 0; i < device->site_count; i++) {
        const struct snapshot_site *site = &device->sites[i];
        if (most == NULL || site->last - site->first > most->last - most->first)
            most = site;
    }
    return most;
}

/* Memory that grows in four of five steps, by an amount that will matter. Between less than four
 * marks anything may grow. */
static void judge_growth(const struct snapshot *snapshot, struct snapshot_device *device)
{
    struct snapshot_finding *finding;
    const struct snapshot_site *site = grower(device);
    int64_t pairs = device->mark_count - 1;

    if (pairs < 3 || device->grown < GROWN_BYTES || 5 * device->grows < 4 * pairs ||
        (double)device->grown < GROWN_LEAST * (double)device->live_peak)
        return;
    finding = add_finding(
        device, "memory_growth",
        "find what is kept alive at that line: a loss with its graph, a list of outputs; "
        "detach it, or keep numbers");
    finding->is_critical = device->oom_count > 0;
    snprintf(finding->evidence, sizeof finding->evidence,
             "live memory grows by %s over %lld %s, %s each%s%.120s",
             quantity_bytes((double)device->grown).text, (long long)pairs,
             device->has_steps ? "steps" : "times that a fifth of the peak or more came back",
             quantity_bytes((double)device->grown / (double)pairs).text,
             site != NULL && site->last > site->first ? "; most of it comes from " : "",
             site != NULL && site->last > site->first ? intern_text(snapshot->names, site->name)
                                                      : "");
}

/* Memory that is free at the end may have been needed at the peak, so both moments are judged.
 * Pools of graphs keep their memory by design, so they do not. */
static void judge_fragmentation(const struct snapshot *snapshot, struct snapshot_device *device)
{
    double reserved = (double)(device->reserved - device->pool_reserved);
    struct snapshot_finding *finding;

    if (device->event_count == 0 || (double)device->free_pieces < PIECES_LEAST * reserved ||
        (double)device->reserved_at_peak < RESERVED_LEAST * (double)device->live_peak ||
        device->reserved_at_peak - device->live_peak < UNUSED_BYTES || device->free_pieces == 0)
        return;
    finding =
        add_finding(device, "fragmentation",
                    snapshot->expandable
                        ? "use few sizes, or round them (PYTORCH_CUDA_ALLOC_CONF="
                          "roundup_power2_divisions:8), and release large buffers before others"
                        : "set PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True (newer name: "
                          "PYTORCH_ALLOC_CONF); or round sizes "
                          "(roundup_power2_divisions:8)");
    finding->is_critical = device->oom_count > 0;
    snprintf(
        finding->evidence, sizeof finding->evidence,
        "at the peak %s are reserved for %s that are live; at the end %s lie free in pieces of "
        "segments that are in use, the largest of %s",
        quantity_bytes((double)device->reserved_at_peak).text,
        quantity_bytes((double)device->live_peak).text,
        quantity_bytes((double)device->free_pieces).text,
        quantity_bytes((double)device->largest_piece).text);
}

/* One round of taking memory from the driver and giving it back may be a warm-up; two are a
 * habit. */
static void judge_churn(struct snapshot_device *device)
{
    bool repeats = device->has_steps
                       ? device->churn_per_step >= 2
                       : device->segment_free_count >= 2 && device->segment_alloc_count >= 2;
    struct snapshot_finding *finding;

    if (!repeats)
        return;
    finding = add_finding(
        device, "allocation_churn",
        device->segment_free_count > 0
            ? "do not call torch.cuda.empty_cache() in the loop; if memory is short, that "
              "is what calls it: lower the peak"
            : "allocate what steps need once, before the loop, in the largest size");
    snprintf(finding->evidence, sizeof finding->evidence,
             "the allocator took %lld segment%s from the driver and gave %lld back (cudaMalloc, "
             "cudaFree), each of which waits for the device",
             (long long)device->segment_alloc_count, device->segment_alloc_count == 1 ? "" : "s",
             (long long)device->segment_free_count);
}

/* The first failure is shown: later ones may follow from how the program deals with it. */
static void judge_oom(struct snapshot_device *device)
{
    const struct snapshot_oom *oom = &device->ooms[0];
    struct snapshot_finding *finding;

    if (device->oom_count == 0)
        return;
    finding = add_finding(
        device, "activation_memory",
        "lower the peak: a smaller batch, torch.utils.checkpoint, a 16-bit type, or states "
        "of the optimizer that are sharded; the table shows who holds it");
    finding->is_critical = true;
    snprintf(finding->evidence, sizeof finding->evidence,
             "memory ran out %lld time%s: %s were asked for, and the device had %s free; %s were "
             "live and %s reserved",
             (long long)device->oom_count, device->oom_count == 1 ? "" : "s",
             quantity_bytes((double)oom->asked).text, quantity_bytes((double)oom->device_free).text,
             quantity_bytes((double)oom->live).text, quantity_bytes((double)oom->reserved).text);
}

void snapshot_judge(const struct snapshot *snapshot, struct snapshot_device *device)
{
    judge_growth(snapshot, device);
    judge_fragmentation(snapshot, device);
    judge_churn(device);
    judge_oom(device);
}
