/* By what the trace states of the device, or else by its compute capability (CUDA) or name (AMD).
 */
#include "harness/desk/diagnosis/facts/matrix_types.h"

#include "harness/base/status.h"
#include "harness/desk/trace/trace_file.h"

#include <string.h>

enum {
    GFX906_UNITS_MOST = 64
}; /* compute units of MI50, MI60 and Radeon VII; MI100 to MI250 have 104 to 120 */

static bool is_amd(const struct event_device *device)
{
    static const char *const names[] = { "AMD", "Radeon", "Instinct" };

    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        if (strstr(device->name, names[i]) != NULL)
            return true;
    return false;
}

static struct matrix_types types_of_amd(const struct event_device *device)
{
    bool has_units = device->compute_major == 9 &&
                     (device->compute_minor >= 4 || device->multiprocessors > GFX906_UNITS_MOST);

    return (struct matrix_types){ .fp16 = has_units,
                                  .bf16 = has_units,
                                  .tf32 = has_units && device->compute_minor == 4 };
}

struct matrix_types matrix_types_of(const struct event_device *device)
{
    int major = device != NULL ? device->compute_major : 0;

    if (device == NULL)
        return (struct matrix_types){ .fp16 = false };
    if (device->bf16_matrix_units >= 0 || device->tf32 >= 0)
        return (struct matrix_types){ .fp16 = device->fp16_matrix_units == 1,
                                      .bf16 = device->bf16_matrix_units == 1,
                                      .tf32 = device->tf32 == 1 };
    if (is_amd(device))
        return types_of_amd(device);
    if (strstr(device->name, "GTX 16") != NULL)
        major = 0;
    return (struct matrix_types){ .fp16 = major >= 7, .bf16 = major >= 8, .tf32 = major >= 8 };
}

double matrix_types_rate(const struct event_device *device)
{
    static const struct {
        int major, minor; /* from this compute capability on */
        double rate;
    } since[] = {
        { 12, 0, 4 }, { 10, 0, 28 }, { 9, 0, 15 }, { 8, 6, 4 }, { 8, 0, 16 }, { 7, 0, 8 }
    };

    if (device == NULL || is_amd(device))
        return device == NULL ? 2 : 4;
    for (size_t i = 0; i < ARRAY_SIZE(since); i++)
        if (device->compute_major > since[i].major ||
            (device->compute_major == since[i].major && device->compute_minor >= since[i].minor))
            return strstr(device->name, "GeForce") != NULL ? since[i].rate / 2 : since[i].rate;
    return 2;
}

/* By what there is: a bit for each type. */
static const struct {
    const char *text, *advice;
} rows[8] = {
    [0] = { "", NULL },
    [1] = { "fp16", "compute in fp16 (autocast; in training with fp32 master weights and "
                    "GradScaler); bf16 and tf32 are not for this device" },
    [2] = { "bf16", "compute in bf16 (autocast; in training with fp32 master weights)" },
    [3] = { "bf16 and fp16", "compute in bf16 (autocast; in training with fp32 master weights)" },
    [4] = { "tf32", "allow tf32 (torch.set_float32_matmul_precision(\"high\"))" },
    [5] = { "fp16 and tf32", "compute in fp16 (autocast; in training with fp32 master weights and "
                             "GradScaler), or allow tf32, at half of that rate" },
    [6] = { "bf16 and tf32", "compute in bf16 (autocast; in training with fp32 master weights), or "
                             "allow tf32, at half of that rate" },
    [7] = { "bf16, fp16 and tf32", "compute in bf16 (autocast; in training with fp32 master "
                                   "weights), or allow tf32, at half of that rate "
                                   "(torch.set_float32_matmul_precision(\"high\"))" },
};

static int row_of(struct matrix_types types)
{
    return types.fp16 | types.bf16 << 1 | types.tf32 << 2;
}

const char *matrix_types_advice(struct matrix_types types)
{
    return rows[row_of(types)].advice;
}

const char *matrix_types_text(struct matrix_types types)
{
    return rows[row_of(types)].text;
}
