/* The child is `bench --ceilings`: its memory is gone with it, and a driver that crashes takes only
 * it along. */
#include "harness/lab/experiment/parent/measured_roofs.h"

#include "harness/base/facts/control_groups.h"
#include "harness/base/facts/cpu_times.h"
#include "harness/base/system/side_program.h"
#include "harness/base/words/notice.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* A try takes a second, and many times that on a machine with many other programs. */
static const double SECONDS_MOST = 60;

static enum status take_figures(struct roofs *roofs, int peak, const struct side_program *child)
{
    enum status status = STATUS_OK;
    cJSON *root = cJSON_Parse(child->text);
    double copies =
        cJSON_GetNumberValue(cJSON_GetObjectItemCaseSensitive(root, "bytes_per_second"));
    double products =
        cJSON_GetNumberValue(cJSON_GetObjectItemCaseSensitive(root, "flops_per_second"));

    if (!(copies > 0) || !(products > 0))
        FAIL_OUT(STATUS_CHILD, "it printed no figures");
    roofs->bytes_per_second = fmax(roofs->bytes_per_second, copies);
    roofs->flops_per_second[peak] = fmax(roofs->flops_per_second[peak], products);

out:
    cJSON_Delete(root);
    return status;
}

static enum status measure_once(struct roofs *roofs, int peak,
                                const struct device_properties *device,
                                const volatile sig_atomic_t *stop)
{
    enum status status = STATUS_OK;
    int64_t left = control_groups_memory("");
    const struct side_program_options limits = {
        .seconds = SECONDS_MOST,
        .memory_bytes = !device->is_gpu && left > 0 ? left : 0, /* GPUs' drivers map far more */
    };
    struct side_program child = { .text = NULL };
    char name[16], device_flag[64], type_flag[32], why[160];
    const char *const arguments[] = { "chokepoint", "bench", device_flag, type_flag, NULL };

    device_name_print(name, sizeof name, device);
    snprintf(device_flag, sizeof device_flag, "--device=%s", name);
    snprintf(type_flag, sizeof type_flag, "--ceilings=%s", roof_peak_name(peak));
    /* This very program, even if its file was replaced since it was started. */
    TRY_OUT(side_program_start(&child, "/proc/self/exe", arguments, &limits));
    side_programs_wait(&child, 1, stop);
    if (stop != NULL && *stop != 0)
        FAIL_OUT(STATUS_INTERRUPTED, "interrupted while the device's limits were measured");
    if (!side_program_exited(&child, 0)) {
        side_program_ending(why, sizeof why, &child);
        /* Only the first line of what it said goes into the sentence. */
        child.said[strcspn(child.said, "\n")] = '\0';
        FAIL_OUT(child.timed_out ? STATUS_TIMEOUT : STATUS_CHILD, "%s; %.300s", why,
                 child.said[0] != '\0' ? child.said : "it said nothing");
    }
    TRY_OUT(take_figures(roofs, peak, &child));

out:
    side_program_release(&child);
    return status;
}

enum status measured_roofs(struct roofs *roofs, int peak, const struct device_properties *device,
                           int tries, const volatile sig_atomic_t *stop)
{
    for (int i = 0; i < tries; i++) {
        struct cpu_times before, after;
        struct cpu_loss loss;
        cpu_times_read(&before, "");
        TRY(measure_once(roofs, peak, device, stop));
        cpu_times_read(&after, "");
        loss = cpu_loss_between(&before, &after);
        if (!cpu_loss_is_large(&loss))
            break;
    }

    return STATUS_OK;
}

void measured_roofs_if_possible(struct roofs *roofs, int peak,
                                const struct device_properties *device, int tries,
                                const volatile sig_atomic_t *stop)
{
    if (measured_roofs(roofs, peak, device, tries, stop) == STATUS_OK)
        return;
    roofs->flops_per_second[peak] = -1;
    if (stop == NULL || *stop == 0)
        notice_once("no utilisation is stated, because how fast the device multiplies and copies "
                    "could not be measured: %s",
                    status_last()->text);
}
