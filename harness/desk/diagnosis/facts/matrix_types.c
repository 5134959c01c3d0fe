/* By what the trace states of the device, or else by its compute capability (CUDA) or name (AMD).
 */
#include "harness/desk/diagnosis/facts/matrix_types.h"

#include "harness/base/status.h"
#include "harness/desk/diagnosis/facts/traced_program.h"
#include "harness/desk/trace/trace_file.h"

#include <string.h>

enum {
    GFX906_UNITS_MOST = 64
}; /* compute units of MI50, MI60 and Radeon VII; MI100 to MI250 have 104 to 120 */

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
    if (device_is_amd(device))
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

    if (device == NULL || device_is_amd(device))
        return device == NULL ? 2 : 4;
    for (size_t i = 0; i < ARRAY_SIZE(since); i++)
        if (device->compute_major > since[i].major ||
            (device->compute_major == since[i].major && device->compute_minor >= since[i].minor))
            return strstr(device->name, "GeForce") != NULL ? since[i].rate / 2 : since[i].rate;
    return 2;
}

double matrix_types_single_rate(const struct event_device *device)
{
    static const struct {
        int major, minor;
        double rate;
    } slow[] = { { 6, 1, 32 }, { 6, 2, 32 }, { 7, 5, 32 },  { 8, 6, 64 },
                 { 8, 7, 64 }, { 8, 9, 64 }, { 12, 0, 64 }, { 12, 1, 64 } };

    for (size_t i = 0; device != NULL && !device_is_amd(device) && i < ARRAY_SIZE(slow); i++)
        if (device->compute_major == slow[i].major && device->compute_minor == slow[i].minor)
            return slow[i].rate;
    return 2;
}

/* By what there is, a bit for each type; the advice to who does not train, and to who does. */
#define BF16        "compute in bf16 (autocast"
#define FP16        "compute in fp16 (autocast"
#define TF32        "allow tf32"
#define TF32_SETTER " (torch.set_float32_matmul_precision(\"high\"))"
#define AT_HALF     "), or " TF32 ", at half of that rate"
#define MASTER      ", with fp32 master weights"
#define SCALED      MASTER " and GradScaler"

static const struct {
    const char *text, *advice[2];
} rows[8] = {
    [0] = { "", { NULL, NULL } },
    [1] = { "fp16",
            { FP16 "); bf16 and tf32 are not for this device",
              FP16 SCALED "); bf16 and tf32 are not for this device" } },
    [2] = { "bf16", { BF16 ")", BF16 MASTER ")" } },
    [3] = { "bf16 and fp16", { BF16 ")", BF16 MASTER ")" } },
    [4] = { "tf32", { TF32 TF32_SETTER, TF32 TF32_SETTER } },
    [5] = { "fp16 and tf32", { FP16 AT_HALF, FP16 SCALED AT_HALF } },
    [6] = { "bf16 and tf32", { BF16 AT_HALF TF32_SETTER, BF16 MASTER AT_HALF TF32_SETTER } },
    [7] = { "bf16, fp16 and tf32", { BF16 AT_HALF TF32_SETTER, BF16 MASTER AT_HALF TF32_SETTER } },
};

static int row_of(struct matrix_types types)
{
    return types.fp16 | types.bf16 << 1 | types.tf32 << 2;
}

const char *matrix_types_advice(struct matrix_types types, bool trains)
{
    return rows[row_of(types)].advice[trains];
}

const char *matrix_types_text(struct matrix_types types)
{
    return rows[row_of(types)].text;
}
