/* Opening and closing a device: from the name that --device gives to an open driver.
 *
 * The program has no device of its own: each kind is a plugin, which is loaded when its name is
 * asked for (plugin.h). */
#include "harness/device/faults.h"
#include "harness/device/many_ranks.h"
#include "harness/device/plugin.h"
#include "harness/device/types/device_wait.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct status_bridge bridge = { status_raise, status_last };

/* The kinds of devices, in the order in which "auto" tries them. */
static const struct kind {
    const char *name;
    bool is_gpu; /* of which there may be several: "cuda:1" */
} kinds[] = { { "cuda", true }, { "cpu", false } };

/* The first rank of a machine has the GPU that was asked for, and those after it have the next
 * ones. */
static enum status open_kind(struct device **device, const struct kind *kind, int index,
                             const struct device_options *options)
{
    struct driver_host host = { .bridge = &bridge,
                                .ranks = ranks_driver(),
                                .place = *ranks_place(),
                                .options = *options,
                                .wait_begin = device_wait_begin,
                                .wait_end = device_wait_end };
    const struct device_driver *driver;

    TRY(plugin_load(&driver, kind->name));
    return driver->open(device, kind->is_gpu ? index + host.place.local_rank : index, &host);
}

/* "cpu", "cuda" or "cuda:1"; NULL for any other name. */
static const struct kind *parse_name(const char *name, int *index)
{
    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
        size_t length = strlen(kinds[i].name);
        char *end;
        if (strncmp(name, kinds[i].name, length) != 0)
            continue;
        *index = 0;
        name += length;
        if (*name == '\0')
            return &kinds[i];
        /* At most four digits, so that the number fits an int. */
        if (!kinds[i].is_gpu || *name != ':' || !isdigit((unsigned char)name[1]) ||
            strlen(name) > 5)
            return NULL;
        *index = (int)strtol(name + 1, &end, 10);
        return *end == '\0' ? &kinds[i] : NULL;
    }
    return NULL;
}

void device_name_print(char *name, size_t size, const struct device_properties *properties)
{
    snprintf(name, size, properties->is_gpu ? "%s:%d" : "%s", properties->kind, properties->index);
}

bool device_name_wants_gpu(const char *name)
{
    int index;
    const struct kind *kind = parse_name(name, &index);

    return kind != NULL && kind->is_gpu;
}

/* Files that the driver makes: they are there even if CUDA does not work. */
bool device_gpu_in_sight(const char *root)
{
    static const char *const signs[] = { "/dev/nvidiactl", "/dev/nvidia0",
                                         "/proc/driver/nvidia/version" };
    char path[PATH_MAX];

    for (size_t i = 0; i < ARRAY_SIZE(signs); i++) {
        snprintf(path, sizeof path, "%s%s", root, signs[i]);
        if (access(path, F_OK) == 0)
            return true;
    }
    return false;
}

static char fallback[sizeof status_last()->text];

const char *device_fallback(void)
{
    return fallback;
}

/* "auto" takes the first kind that opens. If a GPU is in sight and does not open,
 * device_fallback() says why. */
static enum status open_named(struct device **device, const char *name,
                              const struct device_options *options)
{
    int index = 0;
    const struct kind *kind = parse_name(name, &index);

    if (strcmp(name, "auto") == 0) {
        enum status status = STATUS_NO_DEVICE;
        fallback[0] = '\0';
        for (size_t i = 0; i < ARRAY_SIZE(kinds) && status != STATUS_OK; i++) {
            status = open_kind(device, &kinds[i], 0, options);
            if (status != STATUS_OK && kinds[i].is_gpu && device_gpu_in_sight(""))
                snprintf(fallback, sizeof fallback, "%s", status_last()->text);
        }
        TRY(status);
    } else if (kind != NULL) {
        TRY(open_kind(device, kind, index, options));
    } else {
        FAIL(STATUS_BAD_USAGE, "there is no device \"%s\"; give auto, cpu, cuda or cuda:N", name);
    }

    return STATUS_OK;
}

enum status device_open(struct device **result, const char *name,
                        const struct device_options *options)
{
    static const struct device_options defaults = { .spin_ns = -1 };
    enum status status = STATUS_OK;
    struct device_ledger *ledger = calloc(1, sizeof *ledger);
    struct device *device = NULL;

    if (result != NULL)
        *result = NULL;
    if (result == NULL || name == NULL)
        FAIL_OUT(STATUS_BAD_USAGE, "device_open: no %s given", name == NULL ? "name" : "result");
    if (ledger == NULL)
        FAIL_OUT(STATUS_OUT_OF_MEMORY, "no host memory for a device's counters");
    TRY_OUT(faults_parse(&ledger->faults, getenv("CHOKEPOINT_FAIL")));
    if (options != NULL && options->memory_bytes < 0)
        FAIL_OUT(STATUS_BAD_USAGE,
                 "a device memory of %lld bytes; give more than 0, or 0 for the default",
                 (long long)options->memory_bytes);
    TRY_OUT(open_named(&device, name, options != NULL ? options : &defaults));
    device->ledger = ledger;
    *result = device;

out:
    if (status != STATUS_OK)
        free(ledger);
    return status;
}

void device_close(struct device *device)
{
    struct device_ledger *ledger;

    if (device == NULL)
        return;
    ledger = device->ledger;
    device->driver->close(device);
    free(ledger);
}
