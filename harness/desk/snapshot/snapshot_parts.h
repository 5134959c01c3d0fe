/* The parts of reading a snapshot: who asked for memory, its history, and what is found. */
#ifndef HARNESS_DESK_SNAPSHOT_SNAPSHOT_PARTS_H
#define HARNESS_DESK_SNAPSHOT_SNAPSHOT_PARTS_H

#include "harness/desk/snapshot/pickle.h"
#include "harness/desk/snapshot/snapshot.h"

/* Larger pieces of memory, or more of them, are no device's; their sums fit in 64 bits. */
#define SNAPSHOT_SIZE_MOST (INT64_C(1) << 38)
enum { SNAPSHOT_COUNT_MOST = 1 << 24 };

/* A snapshot that is being read. */
struct snapshot_reading {
    struct snapshot *snapshot;
    struct pickle pickle;
    int64_t blocks_left; /* that the file has room for */
    uint32_t
        *site_of; /* by the node of a list of frames: its site's name + 1; 0: not looked up yet */
};

/* The name of the line that a list of frames comes from: the innermost that is the program's own. */
enum status snapshot_site_name(struct snapshot_reading *reading, int64_t frames, uint32_t *name);

/* Replays the events of a device, whose list is `trace`; segments must be known. */
enum status snapshot_history(struct snapshot_reading *reading, struct snapshot_device *device,
                             int64_t trace);

void snapshot_judge(const struct snapshot *snapshot, struct snapshot_device *device);

#endif
