/* Findings of what the device works on. */
#include "harness/desk/diagnosis/rules/rules.h"

#include "harness/desk/analysis/names/event_names.h"
#include "harness/desk/analysis/tables/spans.h"
#include "harness/desk/diagnosis/facts/matrix_types.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* --- Kernels by name --- */

/* Parts of the names of kernels in types of 16 bits and less, or on matrix units. Kernels of
 * Composable Kernel name the type of sums as well, so they do not tell. */
static bool names_short_type(const char *name)
{
    static const char *const units[] = { "bf16",    "half", "h884",     "s884",     "1688",
                                         "16816",   "tf32", "tensorop", "hmma",     "wmma",
                                         "Float16", "fp16", "f16",      "bfloat16", "Half",
                                         "fp8",     "e4m3", "e5m2",     "e2m1",     "ck::" };

    return name_has_one(name, units, ARRAY_SIZE(units));
}

static bool names_no_short_type(const char *name)
{
    return !names_short_type(name);
}

/* True for products in fp32 without matrix units, by the names that cuBLAS, cuDNN, CUTLASS and we
 * give, and for those of Tensile and MIOpen. The names of kernels on matrix units are those of
 * torch_tb_profiler's tensor_core.py, and newer ones. */
static bool is_fp32_product(const char *name)
{
    static const char *const fp32[] = { "sgemm",  "scudnn", "f32f32", "gemm_f32", "float",
                                        "simt_s", "_SB_",   "_S_B_",  "_fp32" };

    return name_is_product(name) && name_has_one(name, fp32, ARRAY_SIZE(fp32)) &&
           !names_short_type(name);
}

/* Kernels in double precision, by the names of cuBLAS, CUTLASS, Tensile, MIOpen, PyTorch and ours.
 * A double behind another type may be a number that is passed on, as to fused Adam in fp32, so
 * there no shorter type may be named. */
static bool is_double(const char *name)
{
    static const char *const parts[] = { "<double", "(double)", "_double", "d884", "dgemm",
                                         "f64f64",  "gemm_f64", "_fp64",   "_DB_", "_D_B_" };
    const char *later = strstr(name, ", double");

    return name_has_one(name, parts, ARRAY_SIZE(parts)) ||
           (later != NULL && strchr(later, '>') != NULL && strstr(name, "float") == NULL &&
            names_no_short_type(name));
}

static bool is_double_product(const char *name)
{
    return is_double(name) && kernel_class_of(name) == CLASS_PRODUCT;
}

/* cuDNN's, and MIOpen's. */
static bool changes_layout(const char *name)
{
    static const char *const parts[] = { "nchwToNhwc", "nhwcToNchw", "batched_transpose_" };

    return name_has_one(name, parts, ARRAY_SIZE(parts));
}

static bool is_elementwise(const char *name)
{
    static const char *const parts[] = { "elementwise", "bias_add_", "residual_add_" };

    return name_has_one(name, parts, ARRAY_SIZE(parts)) || strncmp(name, "gelu_", 5) == 0;
}

static bool is_softmax(const char *name)
{
    return kernel_class_of(name) == CLASS_SOFTMAX;
}

enum { KERNEL_NAME_MOST = 100 };

/* Kernels per step. */
struct share {
    double count, ns;
};

static struct share kernels_that(const struct facts *facts, bool (*are)(const char *name))
{
    const struct kernels *kernels = &facts->summary->kernels;
    struct share share = { 0, 0 };

    for (int64_t i = 0; i < kernels->count; i++) {
        const struct kernel_row *row = &kernels->rows[i];
        if (row->kind != WORK_COMPUTATION ||
            !are(trace_file_name(facts->summary->trace, row->name)))
            continue;
        share.count += (double)row->count / facts->steps;
        share.ns += (double)row->total_ns / facts->steps;
    }
    return share;
}

/* How many characters of a kernel's name to print: without its arguments, and not more than fit a
 * sentence. */
static int name_length(const char *name)
{
    static const char nameless[] = "(anonymous namespace)";
    const char *end = name;

    while (*end != '\0' && end - name < KERNEL_NAME_MOST) {
        if (strncmp(end, nameless, sizeof nameless - 1) == 0)
            end += sizeof nameless - 1;
        else if (*end == '(')
            break;
        else
            end++;
    }
    return (int)(end - name);
}

static bool is_any(const char *name)
{
    return name != NULL;
}

/* --- Rules: saving device time shortens a step only as far as the device is busy --- */

/* Not what a replay gains, which has the host's calls as long as the tracer makes them: on a GPU
 * they may then take as long as the kernels do, and shorter kernels seem to gain nothing. */
static bool shortens_computing(struct finding *finding, const struct facts *facts)
{
    return finding_costs(finding, facts,
                         rule_find(finding->id)->saved_computing_ns(facts) *
                             facts_device_share(facts));
}

/* Only our names tell the sides. */
static bool has_sides(const char *name, int least)
{
    int m, n, k;

    return sscanf(name, "gemm_f32_%*2[nt]_%dx%dx%d", &m, &n, &k) != 3 ||
           (m >= least && n >= least && k >= least);
}

/* A product with a side shorter than the 16 rows of a tile leaves matrix units mostly empty (Intel
 * AMX's tiles; NVIDIA's mma has m16n8k16). */
static bool is_fp32_product_of_tiles(const char *name)
{
    return is_fp32_product(name) && has_sides(name, 16);
}

static bool is_large_fp32_product(const char *name)
{
    return is_fp32_product(name) && has_sides(name, 64);
}

/* A CPU's matrix units gain what large products lose there; kernels that are not products convert
 * each value, and smaller products are too short to gain. Measured on two cores of a Xeon with AMX,
 * over models of width 32 to 384: products with all sides of 64 or more were 2.4 to 3.9 times as
 * fast in bf16, smaller ones 0.7 to 2.6, and the other kernels 0.65 to 0.9 times. */
static double lost_on_cpu(const struct facts *facts)
{
    double large = kernels_that(facts, is_large_fp32_product).ns;
    double others = kernels_that(facts, is_any).ns - kernels_that(facts, name_is_product).ns;

    return 0.6 * large - 0.3 * others;
}

/* On a GPU products reach about half of what the peaks promise, and at least twice the rate: on an
 * H200 those of the heavy model became 9.5 times as fast in bf16 where the peaks differ by 15, and
 * the other kernels, which then move half the bytes, 1.8 times (results/nvidia-h200). */
static double lost_on_gpu(const struct facts *facts)
{
    double products = kernels_that(facts, is_fp32_product_of_tiles).ns;
    double others = kernels_that(facts, names_no_short_type).ns - products;

    return (1 - 1 / fmax(2, matrix_types_rate(facts->device) / 2)) * products + 0.5 * others;
}

static double saved_by_matrix_units(const struct facts *facts)
{
    return facts_on_host_cores(facts) ? lost_on_cpu(facts) : lost_on_gpu(facts);
}

static bool judge_fp32_matmul(struct finding *finding, const struct facts *facts)
{
    struct share products = kernels_that(facts, is_fp32_product_of_tiles);
    struct share all = kernels_that(facts, is_any);
    double others;
    struct matrix_types types = matrix_types_of(facts->device);

    if (matrix_types_advice(types, facts->program.trains) == NULL || !(products.ns >= 0.1 * all.ns))
        return false;
    if (!facts->program.is_plain)
        finding->advice = matrix_types_advice(types, facts->program.trains);
    finding->confidence = CONFIDENCE_MEDIUM;
    finding_says(
        finding,
        "%.0f%% of kernel time is in fp32 matrix products on %.60s, which has matrix units for "
        "%s; the device is busy for %.0f%% of %s",
        100 * products.ns / all.ns, facts->device->name, matrix_types_text(types),
        100 * facts_busy_share(facts), step_text(facts).text);
    others = (kernels_that(facts, names_no_short_type).ns - products.ns) / all.ns;
    if (!facts_on_host_cores(facts) && others >= 0.005)
        finding_says(finding,
                     "; other kernels that name no shorter type, %.0f%% of kernel time, would move "
                     "half the bytes",
                     100 * others);
    return shortens_computing(finding, facts);
}

/* Half of the bytes, and so half of the time; of products what the device's rates say, of which
 * they reach half (lost_on_gpu()). */
static double saved_by_single(const struct facts *facts)
{
    double products = kernels_that(facts, is_double_product).ns;
    double rate = fmax(2, matrix_types_single_rate(facts->device) / 2);

    return (1 - 1 / rate) * products + 0.5 * (kernels_that(facts, is_double).ns - products);
}

#define FP32                                                                                       \
    "make inputs and weights fp32 (.float(); NumPy's arrays are double unless told "               \
    "otherwise)"
#define UNLESS ", unless the numbers need it"

/* A host that computes itself moves half the bytes and computes twice as many numbers at once. */
static bool judge_double_on_host(struct finding *finding, const struct facts *facts)
{
    const struct host_operators *operators = &facts->summary->operators;
    double ns = (double)operators->double_ns / facts->steps;

    if (!(ns >= 0.1 * facts_computing_share(facts) * facts->step_ns))
        return false;
    finding->confidence = CONFIDENCE_MEDIUM;
    finding_says(finding, "operators whose inputs are double (fp64), %.4g %s, take %s of %s",
                 (double)operators->double_count / facts->steps, facts_per(facts),
                 quantity_time(ns).text, step_text(facts).text);
    return finding_costs(finding, facts, 0.5 * ns);
}

static bool judge_fp64_matmul(struct finding *finding, const struct facts *facts)
{
    struct share share = kernels_that(facts, is_double), all = kernels_that(facts, is_any);
    double rate = matrix_types_single_rate(facts->device);

    if (facts->summary->timeline.host_alone)
        return judge_double_on_host(finding, facts);
    if (!(share.ns > 0 && share.ns >= 0.1 * all.ns))
        return false;
    finding->gain_is_least = true; /* the rates of matrix units come on top */
    if (matrix_types_of(facts->device).tf32 && !facts->program.is_plain)
        finding->advice = FP32 ", and let products use tf32 "
                               "(torch.set_float32_matmul_precision(\"high\"))" UNLESS;
    finding_says(finding, "kernels in double precision (fp64), %.4g %s, take %s of %s", share.count,
                 facts_per(facts), quantity_time(share.ns).text, step_text(facts).text);
    if (rate > 2)
        finding_says(finding, "; %.60s computes fp32 at %.0f times the rate", facts->device->name,
                     rate);
    return shortens_computing(finding, facts);
}

static double saved_layouts(const struct facts *facts)
{
    return kernels_that(facts, changes_layout).ns;
}

static bool judge_layout_conversions(struct finding *finding, const struct facts *facts)
{
    struct share share = kernels_that(facts, changes_layout);

    finding_says(finding,
                 "kernels that only turn tensors from one layout into the other (NCHW, NHWC), "
                 "%.4g %s, take %s of %s",
                 share.count, facts_per(facts), quantity_time(share.ns).text,
                 step_text(facts).text);
    return share.count > 0 && shortens_computing(finding, facts);
}

/* Sums over all steps. */
struct tokens {
    double real, padded, waste;
};

/* Rows are padded to a multiple of 8 anyway, the least that matrix units take (NVIDIA, Mixed
 * Precision Training Guide), so up to 7 tokens per sample are no waste. All 0: the steps do not
 * state them. */
static struct tokens tokens_of(const struct facts *facts)
{
    const struct trace_file *trace = facts->summary->trace;
    struct tokens tokens = { 0, 0, 0 };

    for (int64_t i = 0; i < trace->step_count; i++) {
        const struct event_step *step = &trace->steps[i];
        if (step->tokens < 0 || step->padded_tokens < 0 || step->samples < 0)
            return (struct tokens){ 0, 0, 0 };
        tokens.real += (double)step->tokens;
        tokens.padded += (double)step->padded_tokens;
        tokens.waste += (double)step->padded_tokens - 7 * (double)step->samples;
    }
    return tokens;
}

static double saved_padding(const struct facts *facts)
{
    struct tokens tokens = tokens_of(facts);

    return tokens.waste > 0 ? tokens.waste / (tokens.real + tokens.padded) * facts->busy_ns : 0;
}

static bool judge_padding_waste(struct finding *finding, const struct facts *facts)
{
    struct tokens tokens = tokens_of(facts);
    double all = tokens.real + tokens.padded;

    if (!(tokens.waste > 0))
        return false;
    finding_says(finding, "%.0f%% of the computed tokens are padding: %.4g of %.4g per step",
                 100 * tokens.padded / all, tokens.padded / facts->steps, all / facts->steps);
    return shortens_computing(finding, facts);
}

/* One operation, again and again, may be all that a benchmark has. */
static bool are_different_elementwise(const struct facts *facts)
{
    const struct kernels *kernels = &facts->summary->kernels;
    int names = 0;

    for (int64_t i = 0; i < kernels->count; i++)
        names += kernels->rows[i].kind == WORK_COMPUTATION &&
                 is_elementwise(trace_file_name(facts->summary->trace, kernels->rows[i].name));
    return names > 1;
}

/* Two kernels that are fused into one read and write half as much. */
static double saved_by_fusing(const struct facts *facts)
{
    return 0.5 * kernels_that(facts, is_elementwise).ns;
}

static bool judge_unfused_ops(struct finding *finding, const struct facts *facts)
{
    const struct host_operators *operators = &facts->summary->operators;
    bool alone = facts->summary->timeline.host_alone;
    struct share share = kernels_that(facts, is_elementwise);

    if (alone) {
        share.count = (double)operators->elementwise_count / facts->steps;
        share.ns = operators->elementwise_ns / facts->steps;
    }
    if (share.count < 10)
        return false;
    /* On an H100 it was 1.07x of 1.06x that fusing gained (results/nvidia-h100). */
    finding->confidence = facts_on_gpu(facts) && are_different_elementwise(facts)
                              ? CONFIDENCE_MEDIUM
                              : CONFIDENCE_LOW;
    if (!(kernels_that(facts, name_is_product).ns > 0) && !alone && !facts->program.is_plain)
        finding->advice = "fuse them with each other (torch.compile)";
    finding_says(finding, "%.4g %s %s do one element-wise operation each; they take %s of %s",
                 share.count, alone ? "operators" : "kernels", facts_per(facts),
                 quantity_time(share.ns).text, quantity_time(facts->step_ns).text);
    return alone ? finding_costs(finding, facts, 0.5 * share.ns)
                 : shortens_computing(finding, facts);
}

#define OPTIMIZER_GOOD 0.15

static const struct span_row *optimizer_of(const struct facts *facts)
{
    const struct spans *spans = &facts->summary->spans;
    const struct span_row *optimizer = spans_find(spans, facts->summary->trace, "optimizer", false);

    return optimizer != NULL ? optimizer
                             : spans_find(spans, facts->summary->trace, "Optimizer.step#", true);
}

/* Per step, of the device or, if that is alone, of the host; without closures in its step. */
static double optimizer_ns(const struct facts *facts, const struct span_row *optimizer)
{
    const struct closures *closures = &facts->summary->phases.closures;

    return (double)(facts->summary->timeline.host_alone
                        ? optimizer->host_total_ns - closures->host_ns
                        : optimizer->device_total_ns - closures->device_ns -
                              facts->summary->messages.optimizer_ns) /
           facts->steps;
}

/* If a step has several updates, one would do. A single one may take 15% of a step. */
static double saved_of_optimizer(const struct facts *facts)
{
    const struct span_row *optimizer = optimizer_of(facts);
    double ns = optimizer != NULL ? optimizer_ns(facts, optimizer) : 0;
    double updates = optimizer != NULL ? (double)optimizer->count / facts->steps : 0;
    double above = ns - OPTIMIZER_GOOD * facts->step_ns;

    return facts->has_steps && updates > 1.5 ? fmax(above, ns * (1 - 1 / updates)) : above;
}

static bool judge_optimizer_overhead(struct finding *finding, const struct facts *facts)
{
    const struct span_row *optimizer = optimizer_of(facts);
    bool alone = facts->summary->timeline.host_alone;
    double ns, updates;

    if (optimizer == NULL)
        return false;
    ns = optimizer_ns(facts, optimizer);
    updates = (double)optimizer->count / facts->steps;
    finding_says(finding, "the optimizer takes %s of %s time in %s: %.0f%%, where 15%% is enough",
                 quantity_time(ns).text, alone ? "host" : "device", step_text(facts).text,
                 100 * ns / facts->step_ns);
    if (strstr(trace_file_name(facts->summary->trace, optimizer->name), "LBFGS") != NULL)
        finding->advice = "keep fewer past steps (history_size) and iterate less (max_iter): LBFGS "
                          "has no fused form";
    if (facts->summary->phases.closures.times.count > 0)
        finding_says(finding, "; forward and backward in its closure are not counted");
    if (facts->has_steps && updates > 1.5)
        finding_says(finding, "; it updates the weights %.3g times per step", updates);
    return alone ? finding_costs(finding, facts, saved_of_optimizer(facts))
                 : shortens_computing(finding, facts);
}

/* If the trace shows operators alone: work on the scores between two products, which is masks,
 * scales and a softmax. A fused operator does that too, in registers, which takes from the gain;
 * its products read no scores from memory, which adds to it. On two cores of a Xeon the fix
 * gained 2.31 times where this says 1.76 (results/cpu-xeon-amx-2cores, twins.json), so it is no
 * bound. */
static bool judge_naive_operators(struct finding *finding, const struct facts *facts)
{
    const struct host_operators *operators = &facts->summary->operators;
    double ns = (double)operators->attention_ns / facts->steps;

    finding_says(finding,
                 "%.4g times %s a softmax stands between two batched products (aten::bmm); what is "
                 "done with the scores, stored in memory, takes %s of %s",
                 (double)operators->attention_count / facts->steps, facts_per(facts),
                 quantity_time(ns).text, step_text(facts).text);
    return finding_costs(finding, facts, ns);
}

/* On a CPU fused attention always saves memory, but time only where the scores are larger than its
 * cache (from about a thousand tokens on), which a trace does not show. So neither lost time nor a
 * gain is stated there. */
static bool judge_naive_attention(struct finding *finding, const struct facts *facts)
{
    struct share share = kernels_that(facts, is_softmax);
    double ns = share.ns * facts_device_share(facts);

    finding->confidence = CONFIDENCE_MEDIUM;
    if (spans_find(&facts->summary->spans, facts->summary->trace,
                   "aten::_scaled_dot_product_attention_math", true) != NULL)
        finding->advice =
            "scaled_dot_product_attention took its math path: on a CPU for dropout, on a "
            "GPU for a mask, a type or a shape that its fused kernels do not take; "
            "torch.nn.attention.sdpa_kernel() with one backend says why";
    if (facts->summary->timeline.host_alone)
        return judge_naive_operators(finding, facts);
    finding_says(finding, "softmax kernels over scores stored in memory, %.4g %s, take %s of %s",
                 share.count, facts_per(facts), quantity_time(share.ns).text,
                 quantity_time(facts->step_ns).text);
    if (facts_on_host_cores(facts))
        return facts->step_ns > 0 && ns / facts->step_ns >= RULE_SHARE_LEAST;
    /* The products over the scores gain as well: on an H100 1.67 times where this says 1.08
     * (results/nvidia-h100). */
    finding->gain_is_least = true;
    return finding_costs(finding, facts, ns);
}

/* Kernels of less than 10 us, which other rules call bound by launches, are left out, and kernels
 * beside others (kernel_table.h). A kernel may have few blocks because it has little to do: what it
 * would gain is the time of its empty SMs at most. */
static bool judge_small_grid(struct finding *finding, const struct facts *facts)
{
    const struct kernels *kernels = &facts->summary->kernels;
    const char *unit = facts->program.is_rocm ? "compute unit" : "SM";
    const struct kernel_row *longest = NULL;
    const char *name;
    double count = 0, ns = 0, filled = 0;

    for (int64_t i = 0; i < kernels->count; i++) {
        const struct kernel_row *row = &kernels->rows[i];
        count += (double)row->small_count / facts->steps;
        ns += (double)row->small_ns / facts->steps;
        filled += row->small_filled_ns / facts->steps;
        if (row->small_ns > (longest != NULL ? longest->small_ns : 0))
            longest = row;
    }
    if (longest == NULL)
        return false;
    name = trace_file_name(facts->summary->trace, longest->name);
    if (facts->program.is_rocm)
        finding->title = "Kernels leave most of the device's compute units without a block";
    finding->gain_is_most = true;
    finding->confidence = CONFIDENCE_MEDIUM;
    finding_says(finding,
                 "kernels of 10 us or more with fewer blocks than half the device's %ss, %.4g %s "
                 "with %.2g per "
                 "%s on average, take %s of %s; the longest is %.*s",
                 unit, count, facts_per(facts), filled / ns, unit, quantity_time(ns).text,
                 step_text(facts).text, name_length(name), name);
    return finding_costs(finding, facts, (ns - filled) * facts_device_share(facts));
}

static bool judge_device_wait(struct finding *finding, const struct facts *facts)
{
    double stalled = (double)facts->summary->idle.all.stalled_ns / facts->steps;

    finding->confidence = CONFIDENCE_MEDIUM;
    finding_says(finding,
                 "the device is idle for %s of %s although work is queued, in gaps of 30 us "
                 "or more",
                 quantity_time(stalled).text, step_text(facts).text);
    return finding_costs(finding, facts, stalled);
}

/* NULL: as its name says. */
static const char *doing(const struct facts *facts, enum host_kind kind, int64_t ns)
{
    if (kind == HOST_OUTSIDE)
        return "outside of any event";
    if (kind == HOST_WORKING)
        return "without launching anything";
    if (kind == HOST_CAPTURING)
        return "in capturing or compiling again";
    if (kind != HOST_FIRST_USE)
        return NULL;
    return 2 * facts_profiler_ns(facts) * facts->steps > (double)ns
               ? "in what the profiler does itself"
               : "in things that it does once";
}

/* The larger of what the host did and of waits of queued work, with the advice that fits. */
static void say_why_idle(struct finding *finding, const struct facts *facts)
{
    const struct idle_time *time = &facts->summary->idle.all;
    double idle = (double)time->idle_ns;
    int64_t most_ns = 0;
    enum host_kind most = HOST_OUTSIDE;

    for (int i = 0; i < HOST_KIND_COUNT; i++)
        if (idle_host_ns(time, (enum host_kind)i) > most_ns) {
            most = (enum host_kind)i;
            most_ns = idle_host_ns(time, most);
        }
    if ((double)time->unknown_ns > 0.5 * idle) {
        finding->advice = "record the host as well: its calls and operators, in whole steps";
        finding_says(finding,
                     "for %.0f%% of its idle time the trace does not show what the host did",
                     100 * (double)time->unknown_ns / idle);
    } else if (time->queued_ns > most_ns) {
        finding->advice = "look at what holds queued work back: waits between streams, and events";
        finding_says(finding, "work was queued for %.0f%% of the idle time",
                     100 * (double)time->queued_ns / idle);
    } else {
        const char *does = doing(facts, most, most_ns);
        finding_says(finding, "the host spent %.0f%% of the idle time %s%s",
                     100 * (double)most_ns / idle, does == NULL ? "in " : "",
                     does == NULL ? host_kind_name(most) : does);
    }
}

/* For information only: other rules say what costs the time. */
static bool judge_low_utilisation(struct finding *finding, const struct facts *facts)
{
    double busy = facts_busy_share(facts);

    if (facts->summary->timeline.work_count == 0 || facts->lacks_work ||
        facts->summary->idle.all.idle_ns == 0)
        return false;
    finding_judges(finding, "busy share of a step", busy, RULE_BUSY_GOOD, 0.5);
    if (!(busy < 0.5))
        return false;
    finding_says(finding, "the device is busy for ");
    if (busy < 0.005)
        finding_says(finding, "less than 1%% of %s; ", step_text(facts).text);
    else
        finding_says(finding, "%.0f%% of %s; ", 100 * busy, step_text(facts).text);
    say_why_idle(finding, facts);
    finding_informs(finding);
    return true;
}

/* Not a copy or a memset. NULL: there is none. */
static const struct kernel_row *longest_kernel(const struct kernels *kernels)
{
    for (int64_t i = 0; i < kernels->count; i++)
        if (kernels->rows[i].kind == WORK_COMPUTATION ||
            kernels->rows[i].kind == WORK_COMMUNICATION)
            return &kernels->rows[i];
    return NULL;
}

static bool judge_device_bound(struct finding *finding, const struct facts *facts)
{
    const struct kernel_row *longest = longest_kernel(&facts->summary->kernels);
    struct share all = kernels_that(facts, is_any), products = kernels_that(facts, name_is_product);
    const char *name;
    char in_products[64] = "", counters[COUNTERS_TEXT];

    if (longest == NULL || facts_pace(facts) != BOTTLENECK_DEVICE)
        return false;
    if (products.ns > 0)
        snprintf(in_products, sizeof in_products, "%.0f%% of kernel time is in matrix products; ",
                 100 * products.ns / all.ns);
    name = trace_file_name(facts->summary->trace, longest->name);
    finding_says(finding,
                 "the device is busy for %.0f%% of %s; %sthe kernel that takes longest is %.*s, "
                 "with %.0f%% of "
                 "the busy time",
                 100 * facts_busy_share(facts), facts->has_steps ? "the step" : "the trace",
                 in_products, name_length(name), name,
                 100 * (double)longest->total_ns / facts->steps / facts->busy_ns);
    if (hardware_counters_known(&facts->summary->trace->counters)) {
        counters_print(counters, &facts->summary->trace->counters);
        finding_says(finding, "; by the GPU's counters %s", counters);
    }
    finding_informs(finding);
    return true;
}

const struct rule rules_of_device[] = {
    {
        .id = "fp32_matmul",
        .title = "fp32 matrix products leave the matrix units unused",
        .also = "mixed precision, autocast, bf16, tf32, allow_tf32, tensor cores",
        .symptom = "a tenth of the kernel time or more is in fp32 matrix products, on a device "
                   "with matrix units for shorter types",
        .meaning = "matrix units, which are at least twice as fast, are not used",
        .advice = "train in bf16, or fp16 where the device has no bf16, with fp32 master weights "
                  "(autocast), or allow tf32",
        .plain = "give the library 16-bit factors, or let it use tf32 "
                 "(CUBLAS_COMPUTE_32F_FAST_TF32), where the device has that type",
        .cost =
            "the time of products beyond what they take at half the rate of matrix units for 16 "
            "bits, and half of that of other kernels that name no shorter type; less where "
            "the host sets the pace: by the busy time over that and the idle time that every step "
            "has; on a "
            "CPU 0.6 of the time of products with all sides of 64 or more, less 0.3 of that "
            "of kernels that are no products",
        .threshold = "torch_tb_profiler: matrix units unused; a tenth of kernel time",
        .bottleneck = BOTTLENECK_DEVICE,
        .judge = judge_fp32_matmul,
        .saved_computing_ns = saved_by_matrix_units,
        .site = SITE_NONE, /* the type is chosen for the whole model */
    },
    {
        .id = "fp64_matmul",
        .title = "Computation is in double precision",
        .also = "double precision, fp64, float64, double",
        .symptom = "a tenth of the kernel time or more is in kernels whose names say double; in a "
                   "CPU-only trace, in operators whose inputs are double (record_shapes=True)",
        .meaning = "fp64 moves twice the bytes of fp32, and GPUs for games and inference compute "
                   "it at a 32nd or 64th of the rate",
        .advice = FP32 UNLESS,
        .plain = "compute in float" UNLESS,
        .cost = "half of the time of these kernels; of products what the device's rates of fp64 "
                "and fp32 say, of which half is reached",
        .threshold = "a tenth of kernel time; 5% of a step; the rates: CUDA C++ Programming "
                     "Guide, throughput of arithmetic instructions",
        .bottleneck = BOTTLENECK_DEVICE,
        .judge = judge_fp64_matmul,
        .saved_computing_ns = saved_by_single,
        .site = SITE_NONE, /* the type is chosen for the whole model */
    },
    {
        .id = "layout_conversions",
        .title = "Convolutions turn their tensors into another layout and back",
        .also = "channels_last, memory_format, NHWC, NCHW, channels_last memory format",
        .symptom = "kernels named nchwToNhwc, nhwcToNchw or batched_transpose",
        .meaning = "the fastest convolutions want channels last, and the model's tensors have them "
                   "first",
        .advice = "use channels_last for model and input (.to(memory_format=torch.channels_last))",
        .plain = "keep tensors in the layout that convolutions want: channels last (NHWC)",
        .cost = "the time of these kernels",
        .threshold = "5% of a step",
        .bottleneck = BOTTLENECK_DEVICE,
        .judge = judge_layout_conversions,
        .saved_computing_ns = saved_layouts,
        .site = SITE_NONE, /* each convolution launches some */
    },
    {
        .id = "padding_waste",
        .title = "The device computes on padding",
        .also = "dynamic padding, group_by_length, sequence packing",
        .symptom = "steps that state padded tokens, more than 7 per sample",
        .meaning = "sequences of different lengths are in one batch, and the device computes on "
                   "the rest",
        .advice = "batch sequences of similar length, up to a number of tokens per batch",
        .cost = "the padded share of the device's busy time",
        .threshold = "5% of a step",
        .bottleneck = BOTTLENECK_DEVICE,
        .judge = judge_padding_waste,
        .saved_computing_ns = saved_padding,
        .site = SITE_NONE, /* all kernels compute on padding */
    },
    {
        .id = "naive_attention",
        .title = "Attention stores its scores in memory",
        .also = "flash attention, SDPA, scaled_dot_product_attention",
        .symptom = "softmax kernels within the layers, apart from that of the loss; in a CPU-only "
                   "trace aten::_softmax between two aten::bmm",
        .meaning = "attention writes its scores, tokens by tokens, to memory and reads them again",
        .advice = "use fused attention (scaled_dot_product_attention), whose memory is linear",
        .cost = "the time of these kernels, less where the host sets the pace; none on the CPU "
                "device; in a CPU-only trace at most the time between the products",
        .threshold = "5% of a step",
        .bottleneck = BOTTLENECK_DEVICE,
        .judge = judge_naive_attention,
        .site = SITE_NONE, /* each layer launches some, and backward the others */
    },
    {
        .id = "optimizer_overhead",
        .title = "The optimizer takes a large part of the step",
        .also = "fused optimizer, fused, foreach, zero_grad, set_to_none",
        .symptom = "the optimizer takes more than 15% of a step",
        .meaning = "the update runs a few kernels per tensor, or runs after batches that are too "
                   "small",
        .advice = "update all tensors in one kernel or a few (fused=True; foreach=True has one "
                  "for each operation), or accumulate gradients",
        .cost = "what exceeds 15% of a step, and all updates but one per step",
        .threshold = "10 to 15% of a step is good",
        .bottleneck = BOTTLENECK_DEVICE,
        .judge = judge_optimizer_overhead,
        .saved_computing_ns = saved_of_optimizer,
        .site = SITE_NONE, /* the optimizer's step, as the title says */
    },
    {
        .id = "unfused_ops",
        .title = "Element-wise operations run as one kernel each",
        .also = "kernel fusion, operator fusion, pointwise operations, memory-bound, "
                "bandwidth-bound",
        .symptom = "10 or more kernels per step with one element-wise operation each; in a "
                   "CPU-only trace as many operators of more than 5 us",
        .meaning = "each of them reads and writes all of its data for very little arithmetic",
        .advice = "fuse them with each other and into the matrix products (torch.compile)",
        .plain = "fuse them with each other and into the matrix products",
        .cost = "half of their time: two kernels in one read and write half as much",
        .threshold = "5% of a step",
        .bottleneck = BOTTLENECK_DEVICE,
        .judge = judge_unfused_ops,
        .saved_computing_ns = saved_by_fusing,
        .site = SITE_NONE, /* they are all over the model */
    },
    {
        .id = "small_grid",
        .title = "Kernels leave most of the device's SMs without a block",
        .also = "grid size, SM utilization, small launch, streaming multiprocessor",
        .symptom = "kernels of 10 us or more with fewer blocks than half of the SMs",
        .meaning = "most of the device has nothing to do meanwhile",
        .advice = "give them more to do at once (a larger batch), cut them finer (split-k, "
                  "smaller tiles, a split along the sequence), or run them beside each other "
                  "(streams, a graph with branches)",
        .cost = "at most the share of these kernels' time that the empty SMs are of all",
        .threshold = "fewer blocks than half the SMs; torch_tb_profiler: blocks per SM below 1",
        .bottleneck = BOTTLENECK_DEVICE,
        .judge = judge_small_grid,
        .site = SITE_NONE, /* any layer may launch them */
    },
    {
        .id = "device_wait",
        .title = "The device is idle although work is queued",
        .also = "stream dependencies, serialised streams, cudaStreamWaitEvent",
        .symptom = "gaps of 30 us or more before work that was queued already, or work that begins "
                   "over 100 us "
                   "after its launch returned",
        .meaning = "the work waits for another stream, or another program has the device",
        .advice = "look for waits between streams, and for other programs on the device or its "
                  "cores",
        .cost = "these gaps",
        .threshold = "HolisticTraceAnalysis: other idle time, from 30 us; a launch delay over 100 "
                     "us is an outlier",
        .bottleneck = BOTTLENECK_UNCLEAR,
        .judge = judge_device_wait,
        .site = SITE_NONE, /* the host had launched the work in time */
    },
    {
        .id = "low_utilisation",
        .title = "The device is idle for most of the time",
        .also = "GPU utilization, low GPU utilization, idle GPU, GPU starvation, nvidia-smi",
        .symptom = "the device is busy for less than half of a step",
        .meaning = "the host sets the pace; other findings say with what",
        .advice = "look at what the host does while the device is idle",
        .cost = "none: it is for information",
        .costs_no_time = true,
        .threshold = "nsys analyze, gpu_time_util: 50%",
        .bottleneck = BOTTLENECK_NONE,
        .judge = judge_low_utilisation,
        .site = SITE_NONE, /* other findings say where */
    },
    {
        .id = "device_bound",
        .title = "The device is the bottleneck",
        .also = "compute-bound, GPU-bound, MFU, roofline, peak FLOP/s, compute throughput",
        .symptom = "the device is busy for 70% of a step or more, most of that with kernels",
        .meaning = "only less or faster device work makes the step shorter",
        .advice = "look at the longest kernels: their type, their size, what could be fused",
        .serving = "look at the longest kernels; steps that only decode read all weights for few "
                   "tokens: there serve more requests at once, or keep weights in a shorter type "
                   "(fp8, int4)",
        .cost = "none: it is for information",
        .costs_no_time = true,
        .threshold = "busy for 70% of a step or more; below, look at the host",
        .bottleneck = BOTTLENECK_DEVICE,
        .judge = judge_device_bound,
        .site = SITE_NONE, /* the table of kernels says where */
    },
    { .id = NULL },
};
