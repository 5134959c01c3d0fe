/* The parts of reading a snapshot: who asked for memory, its history, and what is found. */
#pragma once

#include "harness/desk/snapshot/pickle.h"
#include "harness/desk/snapshot/snapshot.h"

/* Larger pieces of memory, or more of them, are no device's; their sums fit in 64 bits. */
#define SNAPSHOT_SIZE_MOST (INT64_C(1) << 38)
enum { SNAPSHOT_COUNT_MOST = 1 << 24 };

/* PyTorch's names of members, and of what they say. */
#define SNAPSHOT_MEMBERS(X)                                                                        \
    X(SEGMENTS, "segments")                                                                        \
    X(DEVICE_TRACES, "device_traces")                                                              \
    X(ALLOCATOR_SETTINGS, "allocator_settings")                                                    \
    X(EXPANDABLE_SEGMENTS, "expandable_segments")                                                  \
    X(EXTERNAL_ANNOTATIONS, "external_annotations")                                                \
    X(STAGE, "stage")                                                                              \
    X(NAME, "name")                                                                                \
    X(DEVICE, "device")                                                                            \
    X(TIME_US, "time_us")                                                                          \
    X(ADDRESS, "address")                                                                          \
    X(TOTAL_SIZE, "total_size")                                                                    \
    X(SEGMENT_POOL_ID, "segment_pool_id")                                                          \
    X(BLOCKS, "blocks")                                                                            \
    X(SIZE, "size")                                                                                \
    X(REQUESTED_SIZE, "requested_size")                                                            \
    X(STATE, "state")                                                                              \
    X(HISTORY, "history")                                                                          \
    X(REAL_SIZE, "real_size")                                                                      \
    X(ACTION, "action")                                                                            \
    X(ADDR, "addr")                                                                                \
    X(DEVICE_FREE, "device_free")                                                                  \
    X(FRAMES, "frames")                                                                            \
    X(FILENAME, "filename")                                                                        \
    X(LINE, "line")
#define SNAPSHOT_WORDS(X)                                                                          \
    X(ALLOC, "alloc")                                                                              \
    X(FREE_COMPLETED, "free_completed")                                                            \
    X(SEGMENT_ALLOC, "segment_alloc")                                                              \
    X(SEGMENT_FREE, "segment_free")                                                                \
    X(SEGMENT_MAP, "segment_map")                                                                  \
    X(SEGMENT_UNMAP, "segment_unmap")                                                              \
    X(OOM, "oom")                                                                                  \
    X(INACTIVE, "inactive")                                                                        \
    X(START, "START")

enum snapshot_word {
#define SNAPSHOT_WORD(name, text) WORD_##name,
    SNAPSHOT_MEMBERS(SNAPSHOT_WORD) WORD_MEMBERS,
    WORD_LAST_MEMBER = WORD_MEMBERS - 1,
    SNAPSHOT_WORDS(SNAPSHOT_WORD) WORD_COUNT
#undef SNAPSHOT_WORD
};

/* A list of frames. Number 0 stands for none. */
struct snapshot_stack {
    uint32_t frames; /* in the pickle */
    uint32_t site;   /* the name of the site that it is of */
};

/* A snapshot that is being read. */
struct snapshot_reading {
    struct snapshot *snapshot;
    struct pickle pickle;
    int64_t blocks_left, events_left; /* that the file has room for: a list may be in many places */
    struct snapshot_stack *stacks;
    int64_t stack_count, stack_room;
};

enum memory_action { ALLOC, FREE, SEGMENT_ALLOC, SEGMENT_FREE, MAP, UNMAP, OOM, OTHER };

/* An event of the history. */
struct memory_event {
    int64_t address, size, time_us;
    uint32_t stack;
    uint8_t action; /* enum memory_action */
};

struct memory_history {
    struct snapshot_reading *reading;
    struct snapshot_device *device;
    struct memory_event *events;
    int64_t count;
    int64_t *marks; /* numbers of events, ascending */
    int64_t mark_count, mark_room;
    int64_t *at_peak; /* bytes, by stack */
};

/* The number of a list of frames. */
enum status snapshot_stack_number(struct snapshot_reading *reading, uint32_t frames,
                                  uint32_t *number);

enum { SNAPSHOT_LABEL = 300 };

/* A frame as the name of a call; true: it is one of Python. */
bool snapshot_frame_label(const struct snapshot_reading *reading, uint32_t frame,
                          char label[SNAPSHOT_LABEL]);

/* A size in bytes that a dictionary states; 0: none that can be. */
int64_t snapshot_size(const struct pickle *pickle, uint32_t dict, enum snapshot_word name);

/* The bytes that a block was asked for. */
int64_t snapshot_requested(const struct pickle *pickle, uint32_t block);

bool snapshot_is_of(const struct pickle *pickle, uint32_t segment, int64_t device);

/* Replays the events of a device, whose list is `trace`; segments must be known. */
enum status snapshot_history(struct snapshot_reading *reading, struct snapshot_device *device,
                             uint32_t trace);

/* Follows blocks through the history: who holds what at its peak and marks, and along the curve. */
enum status snapshot_holders(struct memory_history *history);

/* The calls on the way to what is live at the peak. */
enum status snapshot_flame(const struct memory_history *history);

void snapshot_judge(const struct snapshot *snapshot, struct snapshot_device *device);
