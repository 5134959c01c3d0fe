/* The flags that commands which train share, as the structs of the lab that they ask for: the
 * device that is opened, and the protocol by which scenarios are measured. Commands add their own
 * options to these. */
#include "harness/cli/job/job_flags.h"

#include "harness/base/words/notice.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

uint64_t flags_seed(const struct flags *flags)
{
    return flags->has_seed ? flags->seed : protocol_default(false).seed;
}

enum status flags_open_device(struct device **device, const struct flags *flags)
{
    /* spin_ns -1 is the default of the device: so long an idle worker spins before it sleeps. */
    const struct device_options options = { .memory_bytes = flags->device_memory, .spin_ns = -1 };

    TRY(device_open(device, flags->device, &options));
    if (strcmp(flags->device, "auto") == 0 && device_fallback()[0] != '\0')
        notice_once("this runs on the CPU, though there is a GPU: %s", device_fallback());

    return STATUS_OK;
}

enum status flags_resolve_device(struct flags *flags, char name[FLAGS_DEVICE_NAME],
                                 struct device_properties *properties, struct device_health *health)
{
    enum status status = STATUS_OK;
    struct device *device = NULL;

    TRY_OUT(flags_open_device(&device, flags));
    *properties = *device_properties(device);
    *health = device_health(device);
    device_name_print(name, FLAGS_DEVICE_NAME, properties);
    flags->device = name;

out:
    device_close(device);
    return status;
}

enum status flags_check_ranks(const struct flags *flags, const struct scenario *scenario)
{
    const struct protocol protocol = flags_protocol(flags);

    if (flags->ranks > 0 && protocol_ranks(&protocol, scenario) == 1)
        FAIL(STATUS_BAD_USAGE,
             "--ranks=%d: %s trains on one rank; leave out --ranks, or name scenarios of the group "
             "ranks",
             flags->ranks, scenario->name);

    return STATUS_OK;
}

struct protocol flags_protocol(const struct flags *flags)
{
    struct protocol protocol = protocol_default(flags->quick);

    protocol.device = flags->device;
    protocol.device_memory = flags->device_memory;
    protocol.data = flags->data[0] != '\0' ? flags->data : NULL;
    protocol.aa = flags->aa;
    protocol.seed = flags_seed(flags);
    protocol.ranks = flags->ranks;
    /* Who states the number of pairs gets just these: none is added, and all windows are as
     * long. */
    if (flags->repetitions > 0) {
        protocol.repetitions = flags->repetitions;
        protocol.extra = 0;
        protocol.shortest_seconds = 0;
    }
    return protocol;
}

void flags_knob_name(char name[FLAGS_KNOB_NAME], const char *knob)
{
    snprintf(name, FLAGS_KNOB_NAME, "%s", knob);
    for (char *letter = name; *letter != '\0'; letter++)
        if (*letter == '_')
            *letter = '-';
}

/* One folder has many names, and results are compared by what they name. */
enum status flags_take_data(void *member, const struct option_row *row, const char *value)
{
    char *data = member;

    if (value[0] == '\0')
        FAIL(STATUS_BAD_USAGE, "--%s is empty: name the folder of the images", row->name);
    if (realpath(value, data) == NULL) /* whoever reads it says what is wrong with it */
        snprintf(data, PATH_MAX, "%s", value);

    return STATUS_OK;
}

enum status flags_take_seed(void *member, const struct option_row *row, const char *value)
{
    struct flags *flags = member;

    flags->has_seed = true;
    return value_unsigned(&flags->seed, row, value);
}
