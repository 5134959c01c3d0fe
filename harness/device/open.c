/* Opening and closing a device: from the name that --device gives to an open driver. */
#include "harness/device/ledger.h"
#include "harness/device/plugin.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static const struct status_bridge bridge = { status_raise };

static enum status open_driver(struct device **device, const char *name, int index,
                               const struct device_options *options)
{
    enum status status = STATUS_OK;
    struct driver_host host = { .bridge = &bridge, .options = *options };
    const struct device_driver *driver;

    TRY(plugin_load(&driver, name));
    TRY(driver->open(device, index, &host));

out:
    return status;
}

/* "cuda:N" */
static bool parse_index(const char *name, int *index)
{
    const char *digits = name + strlen("cuda:");
    char *end;

    if (strncmp(name, "cuda:", strlen("cuda:")) != 0 || !isdigit((unsigned char)*digits) ||
        strlen(digits) > 4)
        return false;
    *index = (int)strtol(digits, &end, 10);
    return *end == '\0';
}

static enum status open_named(struct device **device, const char *name,
                              const struct device_options *options)
{
    enum status status = STATUS_OK;
    int index = 0;

    if (strcmp(name, "auto") == 0) {
        if (open_driver(device, "cuda", 0, options) != STATUS_OK)
            TRY(open_driver(device, "cpu", 0, options));
    } else if (strcmp(name, "cpu") == 0) {
        TRY(open_driver(device, "cpu", 0, options));
    } else if (strcmp(name, "cuda") == 0 || parse_index(name, &index)) {
        TRY(open_driver(device, "cuda", index, options));
    } else
        FAIL(STATUS_BAD_USAGE, "there is no device \"%s\"; give auto, cpu, cuda or cuda:N", name);

out:
    return status;
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
        FAIL(STATUS_BAD_USAGE, "device_open: no %s given", name == NULL ? "name" : "result");
    if (ledger == NULL)
        FAIL(STATUS_OUT_OF_MEMORY, "no host memory for a device's counters");
    TRY(faults_parse(&ledger->faults, getenv("CHOKEPOINT_FAIL")));
    if (options != NULL && options->memory_bytes < 0)
        FAIL(STATUS_BAD_USAGE,
             "a device memory of %lld bytes; give more than 0, or 0 for the default",
             (long long)options->memory_bytes);
    TRY(open_named(&device, name, options != NULL ? options : &defaults));
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
