/* bench --against FILE|DIR, doctor --against: the figures of this machine beside those of other
 * machines with its device, or of earlier runs. */
#pragma once

#include "harness/cli/fleet/machine_files.h"
#include "harness/device/device.h"
#include "harness/fleet/machine_rank.h"

struct against {
    const char *where; /* a file of that command, or a folder of them; NULL: none, and nothing below
                          does anything */
    struct machine_files files;
    struct fleet fleet;
    struct machine_ranks standings;
};

/* Before anything is measured, so that a name that is wrong is said at once. Errors of
 * machine_files.h. */
enum status against_read(struct against *against, const char *command, node_reader *read);

/* Places the figures of this machine, whose processor is `cpu_model`. OUT_OF_MEMORY. */
enum status against_place(struct against *against, const struct own_figure *figures, int count,
                          const struct device_properties *device, const char *cpu_model);
void against_release(struct against *against);
