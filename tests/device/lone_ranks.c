/* In place of MPI: a job of one rank. Work that a device does with others then runs on one GPU,
 * without MPI. */
#include "harness/device/ranks_driver.h"

static enum status join(struct ranks_place *place, const struct status_bridge *bridge)
{
    (void)bridge;
    *place = (struct ranks_place){ .count = 1, .local_count = 1 };
    return STATUS_OK;
}

static void leave(void)
{
}

static void abort_all(int exit_code)
{
    (void)exit_code;
}

/* The sum, the part and the whole of one rank are what it has. */
static enum status run(enum ranks_channel channel, const struct collective *collective)
{
    (void)channel;
    (void)collective;
    return STATUS_OK;
}

static enum status gather(enum ranks_channel channel, void *memory, size_t bytes)
{
    (void)channel;
    (void)memory;
    (void)bytes;
    return STATUS_OK;
}

static const struct ranks_driver driver = {
    .build_id = CHOKEPOINT_BUILD_ID,
    .library = "nobody else",
    .join = join,
    .leave = leave,
    .abort = abort_all,
    .run = run,
    .gather = gather,
};

__attribute__((visibility("default"))) ranks_driver_fn chokepoint_ranks_driver;

const struct ranks_driver *chokepoint_ranks_driver(void)
{
    return &driver;
}
