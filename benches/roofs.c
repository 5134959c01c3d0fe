/* The limits are measured once per run by benches of their own: the largest copy within the device,
 * and the fastest matrix product of a type. */
#include "benches/roofs.h"

#include <math.h>
#include <string.h>

extern const struct bench bench_bw_copy_d2d, bench_gemm_fp32, bench_gemm_tf32, bench_gemm_bf16,
    bench_gemm_fp16;

static const struct {
    const char *name;
    const struct bench *bench;
} peaks[ROOF_PEAKS] = {
    { "fp32", &bench_gemm_fp32 },
    { "tf32", &bench_gemm_tf32 },
    { "bf16", &bench_gemm_bf16 },
    { "fp16", &bench_gemm_fp16 },
};

const char *roof_peak_name(int peak)
{
    return peaks[peak].name;
}

static int peak_of(const struct bench *bench)
{
    for (int i = 0; i < ROOF_PEAKS; i++)
        if (peaks[i].bench->dtype == bench->dtype && peaks[i].bench->math == bench->math)
            return i;
    return 0;
}

int roof_peak_find(const char *name)
{
    int peak = 0;

    while (peak < ROOF_PEAKS && strcmp(peaks[peak].name, name) != 0) peak++;
    return peak;
}

/* The rate per second of a row, by its fastest repetition; negative: it cannot be measured. */
static double measure(const struct bench *bench, int64_t argument, struct device *device,
                      const struct bench_settings *settings,
                      int64_t (*amount)(const struct bench_result *))
{
    struct bench_result result;

    if (bench_measure(&result, bench, argument, device, settings) != STATUS_OK)
        return -1;
    return (double)amount(&result) * 1e9 / bench_fastest_ns(&result);
}

static int64_t bytes_of(const struct bench_result *result)
{
    return result->bytes;
}

static int64_t flops_of(const struct bench_result *result)
{
    return result->flops;
}

/* The largest copy: smaller ones stay in a cache. */
static void measure_copies(struct roofs *roofs, struct device *device,
                           const struct bench_settings *settings)
{
    const struct bench *bench = &bench_bw_copy_d2d;
    int count;
    const int64_t *arguments = bench_arguments(bench, device_properties(device), &count);

    if (roofs->bytes_per_second == 0)
        roofs->bytes_per_second = measure(bench, arguments[count - 1], device, settings, bytes_of);
}

/* The fastest size: on a CPU the largest product may leave the caches. */
static void measure_products(struct roofs *roofs, int peak, struct device *device,
                             const struct bench_settings *settings)
{
    const struct bench *bench = peaks[peak].bench;
    double *rate = &roofs->flops_per_second[peak];
    int count;
    const int64_t *arguments = bench_arguments(bench, device_properties(device), &count);

    if (*rate != 0)
        return;
    for (int i = 0; *rate >= 0 && i < count; i++) {
        double here = measure(bench, arguments[i], device, settings, flops_of);
        *rate = here < 0 ? here : fmax(*rate, here);
    }
}

void roofs_measure(struct roofs *roofs, const struct bench *bench, struct device *device)
{
    const struct bench_settings settings = bench_settings_default();

    if (bench->roof != ROOF_NONE)
        measure_copies(roofs, device, &settings);
    if (bench->roof == ROOF_PRODUCTS)
        measure_products(roofs, peak_of(bench), device, &settings);
}

void roofs_measure_quickly(struct roofs *roofs, int peak, struct device *device)
{
    const struct bench_settings settings = { .min_seconds = 0.005, .repetitions = 6, .seed = 1 };

    measure_copies(roofs, device, &settings);
    measure_products(roofs, peak, device, &settings);
}

struct ceilings roofs_ceilings(const struct roofs *roofs, int peak)
{
    return (struct ceilings){ .flops_per_second = roofs->flops_per_second[peak],
                              .bytes_per_second = roofs->bytes_per_second };
}

double ceiling_share(double rate, double ceiling)
{
    return ceiling > 0 ? rate / ceiling : NAN;
}

void roofs_apply(const struct roofs *roofs, const struct bench *bench, struct bench_result *result)
{
    double peak = roofs->flops_per_second[peak_of(bench)];
    /* A rank reads what it sends and writes what it receives: a copy counts both. */
    double bytes = (double)result->bytes * (result->bus_factor > 0 ? 2 * result->bus_factor : 1);

    result->roof_ns = 0;
    if (bench->roof != ROOF_NONE && roofs->bytes_per_second > 0)
        result->roof_ns = bytes * 1e9 / roofs->bytes_per_second;
    if (bench->roof == ROOF_PRODUCTS && peak > 0)
        result->roof_ns = fmax(result->roof_ns, (double)result->flops * 1e9 / peak);
}
