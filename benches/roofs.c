#include "benches/roofs.h"

#include <math.h>

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

/* The rate per second of the bench's largest row, by its fastest repetition. */
static double measure(const struct bench *bench, struct device *device,
                      int64_t (*amount)(const struct bench_result *))
{
    struct bench_settings settings = bench_settings_default();
    struct bench_result result;
    int count;
    const int64_t *arguments = bench_arguments(bench, device_properties(device), &count);

    if (bench_measure(&result, bench, arguments[count - 1], device, &settings) != STATUS_OK)
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

void roofs_measure(struct roofs *roofs, const struct bench *bench, struct device *device)
{
    double *peak = &roofs->flops_per_second[peak_of(bench)];

    if (bench->roof != ROOF_NONE && roofs->bytes_per_second == 0)
        roofs->bytes_per_second = measure(&bench_bw_copy_d2d, device, bytes_of);
    if (bench->roof == ROOF_PRODUCTS && *peak == 0)
        *peak = measure(peaks[peak_of(bench)].bench, device, flops_of);
}

void roofs_apply(const struct roofs *roofs, const struct bench *bench, struct bench_result *result)
{
    double peak = roofs->flops_per_second[peak_of(bench)];

    result->roof_ns = 0;
    if (bench->roof != ROOF_NONE && roofs->bytes_per_second > 0)
        result->roof_ns = (double)result->bytes * 1e9 / roofs->bytes_per_second;
    if (bench->roof == ROOF_PRODUCTS && peak > 0)
        result->roof_ns = fmax(result->roof_ns, (double)result->flops * 1e9 / peak);
}
