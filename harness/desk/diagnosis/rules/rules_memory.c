/* Findings of memory: what ends a run, and what wastes memory or time on allocating it. */
#include "harness/desk/diagnosis/rules/host_facts.h"

#include "harness/desk/analysis/names/event_names.h"
#include "harness/desk/analysis/timeline/intervals.h"

#include <math.h>
#include <string.h>

/* The bytes that may be allocated on a device; 0: unknown. */
static int64_t budget_of(const struct facts *facts, const struct memory_device *memory)
{
    const struct event_device *device = trace_file_device(facts->summary->trace, memory->device);

    if (device == NULL)
        return 0;
    return device->memory_budget_bytes > 0 ? device->memory_budget_bytes : device->memory_bytes;
}

/* The device with the highest peak whose totals are the allocator's own. */
static const struct memory_device *fullest(const struct facts *facts)
{
    const struct memory_curve *memory = &facts->summary->memory;
    const struct memory_device *most = NULL;

    for (int64_t i = 0; i < memory->device_count; i++)
        if (memory->devices[i].stated && (most == NULL || memory->devices[i].peak > most->peak))
            most = &memory->devices[i];
    return most;
}

/* --- Activations --- */

/* The part of the peak that is freed within a step: the category "activations" or, without
 * categories, what comes and goes. */
static int64_t activations_at_peak(const struct facts *facts, const struct memory_device *device,
                                   bool *by_category)
{
    const struct memory_curve *memory = &facts->summary->memory;
    int64_t least = device->peak;

    *by_category = device->category_count > 0;
    for (int64_t i = 0; i < device->category_count; i++) {
        const struct memory_category *category = &device->categories[i];
        if (strcmp(trace_file_name(facts->summary->trace, category->name), "activations") == 0)
            return category->at_peak;
    }
    if (*by_category)
        return 0;
    for (int64_t i = 0; i < device->point_count; i++) {
        int64_t allocated = memory->points[device->first_point + i].allocated;
        least = allocated < least ? allocated : least;
    }
    return device->peak - least;
}

static bool judge_activation_memory(struct finding *finding, const struct facts *facts)
{
    const struct memory_device *device = fullest(facts);
    int64_t budget = device != NULL ? budget_of(facts, device) : 0, activations;
    double share = budget > 0 ? (double)device->peak / (double)budget : 0;
    bool by_category;

    if (budget > 0)
        finding_judges(finding, "peak share of memory", share, 0.9, 0.98);
    if (!(share >= 0.9))
        return false;
    activations = activations_at_peak(facts, device, &by_category);
    if (!((double)(device->peak - activations) < 0.9 * (double)budget))
        return false;
    finding->severity = share >= 0.98 ? SEVERITY_CRITICAL : SEVERITY_MAJOR;
    finding->confidence = by_category ? CONFIDENCE_HIGH : CONFIDENCE_MEDIUM;
    finding_says(finding, "the peak is %s, %.0f%% of the %s available; %s of it %s",
                 quantity_bytes((double)device->peak).text, 100 * share,
                 quantity_bytes((double)budget).text, quantity_bytes((double)activations).text,
                 by_category ? "are activations" : "come and go within the trace");
    return true;
}

/* --- Headroom --- */

/* The share of kernel time in kernels that are short on average. */
static double short_share(const struct facts *facts)
{
    const struct kernels *kernels = &facts->summary->kernels;
    double all = 0, short_ns = 0;

    for (int64_t i = 0; i < kernels->count; i++) {
        const struct kernel_row *row = &kernels->rows[i];
        double total_ns = (double)row->total_ns;
        if (row->kind != WORK_COMPUTATION)
            continue;
        all += total_ns;
        if (total_ns < RULE_SHORT_KERNEL_NS * (double)row->count)
            short_ns += total_ns;
    }
    return all > 0 ? short_ns / all : 0;
}

static double loading_share(const struct facts *facts)
{
    return (double)idle_host_ns(&facts->summary->idle.all, HOST_LOADING) / facts->window_ns;
}

/* A larger batch helps where kernels are too short to fill the device. It does not where they are
 * long, or where the loader sets the pace; and a device in the host's memory shares it with
 * everything else. */
static bool judge_memory_headroom(struct finding *finding, const struct facts *facts)
{
    const struct memory_device *device = fullest(facts);
    int64_t budget = device != NULL ? budget_of(facts, device) : 0, held;
    double brief = short_share(facts);

    if (budget <= 0 || !facts_on_gpu(facts) || facts_are_few(facts))
        return false;
    held = device->reserved_peak > device->peak ? device->reserved_peak : device->peak;
    if (!((double)held < 0.5 * (double)budget) || !(brief >= 0.5) || !(loading_share(facts) < 0.1))
        return false;
    finding_says(
        finding,
        "at its peak the allocator holds %s, %.3g%% of the %s available; %.0f%% of kernel time "
        "is in kernels shorter than 100 us, which a larger batch would fill",
        quantity_bytes((double)held).text, 100 * (double)held / (double)budget,
        quantity_bytes((double)budget).text, 100 * brief);
    finding_informs(finding);
    return true;
}

/* --- Growth --- */

struct growth {
    int64_t steps, rises;
    int64_t first, last; /* bytes at the ends of steps; the first step is left out */
};

static struct growth growth_of(const struct facts *facts, const struct memory_device *device)
{
    const struct summary *summary = facts->summary;
    const struct memory_point *points = summary->memory.points + device->first_point;
    struct growth growth = { 0, 0, 0, 0 };
    int64_t at = 0;

    for (int64_t step = 0; step < summary->steps.count; step++) {
        int64_t end_ns = summary->steps.items[step].event->end_ns;
        while (at < device->point_count && points[at].event->start_ns <= end_ns) at++;
        if (step == 0 || at == 0)
            continue;
        if (growth.steps++ == 0)
            growth.first = points[at - 1].allocated;
        else
            growth.rises += points[at - 1].allocated > growth.last;
        growth.last = points[at - 1].allocated;
    }
    return growth;
}

/* Each step may keep a number, for a curve of the loss. Growth matters if it doubles the peak
 * within so many steps. */
static const double GROWTH_STEPS = 1e5;

static bool judge_memory_growth(struct finding *finding, const struct facts *facts)
{
    const struct memory_device *device = fullest(facts);
    struct growth growth;
    int64_t budget;
    double per_step, left;

    if (device == NULL || facts_steps_are_guessed(facts)) /* layers of one pass look like steps */
        return false;
    growth = growth_of(facts, device);
    if (growth.steps < 5 || growth.rises < (growth.steps - 1) * 4 / 5 ||
        growth.last <= growth.first)
        return false;
    per_step = (double)(growth.last - growth.first) / (double)(growth.steps - 1);
    if (per_step * GROWTH_STEPS < (double)device->peak)
        return false;
    budget = budget_of(facts, device);
    left = (double)(budget - device->peak) / per_step;
    finding->severity = budget > 0 && left <= 1000 ? SEVERITY_CRITICAL : SEVERITY_MAJOR;
    finding_says(
        finding,
        "allocated memory at the end of a step grows by %s per step, in %lld of %lld steps",
        quantity_bytes(per_step).text, (long long)growth.rises, (long long)(growth.steps - 1));
    if (budget > 0) {
        finding_says(finding, "; the %s available are used up after %.0f more steps",
                     quantity_bytes((double)budget).text, fmax(0, left));
    }
    return true;
}

/* --- Allocating --- */

static bool judge_fragmentation(struct finding *finding, const struct facts *facts)
{
    const struct memory_device *device = fullest(facts);
    int64_t budget = device != NULL ? budget_of(facts, device) : 0;
    double ratio, unused;

    if (budget == 0 || device->reserved_at_peak < 0 || device->peak <= 0)
        return false;
    ratio = (double)device->reserved_at_peak / (double)device->peak;
    unused = (double)(device->reserved_at_peak - device->peak);
    finding_judges(finding, "unused share of memory", unused / (double)budget, 0.1, 0.25);
    if (!(ratio >= 1.2) || !(unused >= 0.1 * (double)budget))
        return false;
    finding->severity = unused >= 0.25 * (double)budget ? SEVERITY_MAJOR : SEVERITY_MINOR;
    finding_says(finding,
                 "the allocator reserves %s for %s in use, %.2f times as much; %.0f%% of the "
                 "device's memory is reserved but unused",
                 quantity_bytes((double)device->reserved_at_peak).text,
                 quantity_bytes((double)device->peak).text, ratio, 100 * unused / (double)budget);
    return true;
}

/* Calls of the window that allocate or release. */
struct allocations {
    int64_t count, releases;
    int64_t ns, longest_ns[3];
    int64_t pinned_ns; /* in calls about the host's memory: cudaHostAlloc, hipHostFree */
    int64_t steps;     /* with two or more */
    const struct trace_event
        *elsewhere; /* the longest of another thread than the loop's; or NULL */
};

static void take_allocation(struct allocations *all, const struct trace_event *event,
                            const char *name)
{
    int64_t ns = event->end_ns - event->start_ns;

    all->count++;
    all->releases += name_is_release(name);
    all->ns = intervals_sum_ns(all->ns, ns);
    if (strstr(name, "Host") != NULL)
        all->pinned_ns = intervals_sum_ns(all->pinned_ns, ns);
    for (size_t i = 0; i < ARRAY_SIZE(all->longest_ns); i++)
        if (ns > all->longest_ns[i]) {
            int64_t shorter = all->longest_ns[i];
            all->longest_ns[i] = ns;
            ns = shorter;
        }
}

/* The host's events are sorted by thread, so a step in which several threads allocate comes up
 * several times. A step counts with its second call: one may be a library's first use. */
static struct allocations allocations(const struct facts *facts)
{
    const struct summary *summary = facts->summary;
    SCRATCH_ARENA(scratch, summary->arena);
    int64_t *calls = ARENA_NEW(scratch, int64_t, summary->steps.count);
    struct host_names names = host_names_open(scratch, summary->trace);
    struct allocations all = { 0 };

    for (int64_t i = 0; i < summary->timeline.host_count; i++) {
        const struct trace_event *event = summary->timeline.host[i];
        int64_t step;
        if (!trace_event_is_call(event) || event->start_ns < summary->idle.start_ns ||
            event->start_ns >= summary->idle.end_ns ||
            !host_name_of(&names, event->name)->is_allocation)
            continue;
        if (event->track != summary->host.loop &&
            (all.elsewhere == NULL ||
             event->end_ns - event->start_ns > all.elsewhere->end_ns - all.elsewhere->start_ns))
            all.elsewhere = event;
        take_allocation(&all, event, trace_file_name(summary->trace, event->name));
        step = steps_find(&summary->steps, event->start_ns);
        if (step >= 0)
            all.steps += ++calls[step] == 2;
    }
    return all;
}

/* Launches wait while another thread allocates: one in two steps, on average, or more. */
static bool holds_launches(const struct facts *facts)
{
    int64_t held = facts->summary->host.held.count;

    return facts->has_steps && held > 1 && 2 * (double)held >= facts->steps;
}

/* A caching allocator fills its cache in the first steps, and libraries allocate at their first
 * use. Churn goes on: half of the steps have two calls or, if none are marked, memory is released
 * again and again. */
static bool goes_on(const struct facts *facts, const struct allocations *all)
{
    if (holds_launches(facts))
        return true;
    if (facts->has_steps)
        return 2 * all->steps >= facts->summary->steps.count;
    return (double)all->count >= 2 * facts->steps && all->releases >= 3;
}

/* The idle time in these calls, or in launches between them, which take longer as well. */
static double lost_to_allocations(const struct facts *facts, int64_t ns)
{
    const struct idle_time *time = &facts->summary->idle.all;
    int64_t idle = idle_host_ns(time, HOST_ALLOCATING) + time->free_ns[HOST_LAUNCHING] +
                   time->free_ns[HOST_OPERATOR] + time->free_ns[HOST_OUTSIDE] +
                   time->free_ns[HOST_WORKING];

    return (double)interval_earlier(ns, idle) / facts->steps;
}

static void keep_memory(const void *context, const struct trace_graph *graph, int64_t at,
                        struct graph_node *node)
{
    (void)context;
    (void)graph;
    (void)at;
    graph_node_drop(node, HOST_ALLOCATING);
}

/* How often per step the host waits for an event of a single convolution: so cuDNN and MIOpen time
 * their algorithms, each in memory of its own, when they look for the fastest for a shape. */
static double algorithm_trials(const struct facts *facts)
{
    static const char *const convolutions[] = { "aten::cudnn_convolution",
                                                "aten::miopen_convolution" };
    const struct timeline *timeline = &facts->summary->timeline;
    bool convolves = false;
    int64_t count = 0;

    for (int64_t i = 0; i < timeline->host_count; i++) {
        const char *name = trace_file_name(timeline->trace, timeline->host[i]->name);
        if (timeline->host[i]->kind == EVENT_KIND_OPERATOR)
            convolves = name_has_one(name, convolutions, ARRAY_SIZE(convolutions));
        else if (convolves && strstr(name, "EventSynchronize") != NULL)
            count++;
    }
    return (double)count / facts->steps;
}

#define RELEASES                                                                                   \
    "PyTorch keeps memory for later already, so releases in the loop mean retries as memory runs " \
    "out (torch.cuda.memory_stats()[\"num_alloc_retries\"]), empty_cache(), or shapes that vary: " \
    "use less memory, drop those calls, or set "
#define SEGMENTS "=expandable_segments:True (newer name: PYTORCH_ALLOC_CONF)"

static bool judge_allocation_churn(struct finding *finding, const struct facts *facts)
{
    enum { TRIALS_LEAST = 4 }; /* a program may time a convolution or two */
    struct allocations all = allocations(facts);
    double trials = algorithm_trials(facts), per;
    int64_t ns =
        all.ns - (all.longest_ns[0] - all.longest_ns[2]) -
        (all.longest_ns[1] - all.longest_ns[2]); /* the two longest calls may be accidents */

    if (!goes_on(facts, &all))
        return false;
    if (facts_of_whole(facts) || facts_steps_are_guessed(facts))
        finding->title = "Device memory is allocated again and again";
    if (all.releases > 0 && facts->program.is_pytorch)
        finding->advice = facts->program.is_rocm ? RELEASES "PYTORCH_HIP_ALLOC_CONF" SEGMENTS
                                                 : RELEASES "PYTORCH_CUDA_ALLOC_CONF" SEGMENTS;
    if (2 * all.pinned_ns > all.ns) {
        finding->title = "Pinned memory is allocated in the loop";
        finding->advice = "have the loader pin batches (DataLoader(pin_memory=True)), or keep "
                          "pinned memory and copy into it";
    }
    per = (double)all.count / facts->steps;
    finding_says(finding, "%.4g call%s %s allocate%s or release%s memory, in %s of %s", per,
                 per == 1 ? "" : "s", facts_per(facts), per == 1 ? "s" : "", per == 1 ? "s" : "",
                 quantity_time((double)ns / facts->steps).text, step_text(facts).text);
    if (trials >= TRIALS_LEAST) {
        finding->advice = "give convolutions few shapes (pad, or drop the last small batch), or "
                          "set torch.backends.cudnn.benchmark = False";
        finding_says(finding,
                     "; %.4g times %s the host waits for a single convolution, as %s does when "
                     "it tries its algorithms for a new shape, whose kernels cost time as well",
                     trials, facts_per(facts), facts->program.is_rocm ? "MIOpen" : "cuDNN");
    }
    if (holds_launches(facts)) {
        finding->title = "Launches wait while another thread allocates memory";
        finding->advice =
            "keep that thread from allocating in the loop: pinned buffers that are "
            "used again (a fixed batch shape, workers that live on), or made before it";
        if (all.elsewhere != NULL)
            finding_says(finding, "; %lld launches of the loop wait for %.60s of another thread",
                         (long long)facts->summary->host.held.count,
                         trace_file_name(facts->summary->trace, all.elsewhere->name));
    }
    /* On a host's cores the launches between these calls take longer as well: 14 us each in
     * allocation_churn, and 7 us after the fix. */
    finding->gain_is_least = facts_on_host_cores(facts) || trials >= TRIALS_LEAST;
    return finding_replays(finding, facts, lost_to_allocations(facts, ns));
}

const struct rule rules_of_memory[] = {
    {
        .id = "memory_growth",
        .title = "Memory grows with every step: a leak",
        .also = "memory leak, retain_graph, memory snapshot",
        .symptom = "allocated memory at the end of a step is higher than a step before, in four "
                   "of five steps",
        .meaning = "something keeps the tensors of past steps alive, and the run ends when memory "
                   "does",
        .advice = "find what is kept alive: a loss with its graph, a list of outputs; detach it, "
                  "or keep numbers",
        .cost = "no time; critical if memory lasts for at most 1000 more steps, else major",
        .costs_no_time = true,
        .threshold = "in a steady state a step ends with as much memory as it began with",
        .bottleneck = BOTTLENECK_ALLOCATION,
        .judge = judge_memory_growth,
        .site = SITE_NONE, /* what a step allocates shows, but not what keeps it */
    },
    {
        .id = "activation_memory",
        .title = "Activations fill the device's memory",
        .also = "gradient checkpointing, activation checkpointing, out of memory",
        .symptom = "the peak takes 90% of the memory available, and would not without what comes "
                   "and goes within a step",
        .meaning =
            "the device is full of what forward keeps for backward, so no larger batch or model "
            "fits",
        .advice = "recompute them in backward (torch.utils.checkpoint), use a 16-bit type, or "
                  "lower the batch",
        .cost = "no time; critical from 98% of the memory on, else major",
        .costs_no_time = true,
        .threshold = "torch_tb_profiler: peak over 90% of the device's memory",
        .bottleneck = BOTTLENECK_ALLOCATION,
        .judge = judge_activation_memory,
        .site = SITE_NONE, /* all layers keep activations */
    },
    {
        .id = "allocation_churn",
        .title = "Every step allocates device memory again",
        .also = "caching allocator, cudaMalloc, empty_cache",
        .symptom = "cudaMalloc, cudaFree or their like, two or more per step",
        .meaning = "memory goes back to the driver and is taken from it again; a release waits "
                   "for the device",
        .advice = "use a caching or stream-ordered allocator; allocate before the loop",
        .cost = "what a replay gains without these calls and the waits in them",
        .threshold = "cudaFree waits for the device (CUDA runtime's documentation)",
        .bottleneck = BOTTLENECK_ALLOCATION,
        .judge = judge_allocation_churn,
        .site = SITE_ALLOCATIONS,
        .alter = keep_memory,
    },
    {
        .id = "fragmentation",
        .title = "The allocator reserves much more than is in use",
        .also = "memory fragmentation, PYTORCH_ALLOC_CONF, expandable_segments, "
                "reserved memory",
        .symptom = "at the peak the allocator reserves 1.2 times what is in use, or more",
        .meaning = "free blocks have sizes that nobody asks for, so memory is used up early",
        .advice = "use few allocation sizes, round them, or use expandable segments",
        .cost = "no time; a tenth of the device's memory must be reserved but unused, and from a "
                "quarter on it is major",
        .costs_no_time = true,
        .threshold = "reserved over allocated: 1.2, and a tenth of the device",
        .bottleneck = BOTTLENECK_NONE,
        .judge = judge_fragmentation,
        .site = SITE_NONE, /* no block alone is to blame */
    },
    {
        .id = "memory_headroom",
        .title = "A larger batch fits into the device's memory",
        .also = "unused memory, maximum batch size, auto_find_batch_size",
        .symptom = "the allocator holds less than half of the memory, and half of the kernel time "
                   "is in kernels shorter than 100 us",
        .meaning = "a larger batch fits, and would give these kernels more work",
        .advice = "raise the batch, and the learning rate with it, until kernels are long enough "
                  "or memory is used; with checkpointing, keep more activations",
        .inferring = "raise the batch until kernels are long enough or memory is used",
        .serving = "serve more requests at once, until kernels are long enough or memory is used",
        .cost = "none: it is for information",
        .costs_no_time = true,
        .threshold = "peak below 50% of the device's memory: a larger batch fits",
        .bottleneck = BOTTLENECK_NONE,
        .judge = judge_memory_headroom,
        .site = SITE_NONE, /* the batch is a setting */
    },
    { .id = NULL },
};
