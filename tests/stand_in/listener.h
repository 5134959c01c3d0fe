/* Calls from the stand-in for CUDA to a tool, as from a driver to CUPTI:
 * tests/stand_in/cupti/cupti.c listens. The numbers of kinds are CUPTI's. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    STAND_IN_FIRST_STREAM = 13
}; /* the id that CUPTI gives to the first stream that is created */

/* A host call, or the driver's call in it, which has the same correlation. */
struct stand_in_call {
    const char *name;
    bool driver;
    uint32_t correlation, thread;
    int64_t start_ns, end_ns;
};

enum stand_in_kind { STAND_IN_NOTHING, STAND_IN_KERNEL, STAND_IN_COPY, STAND_IN_MEMSET };

struct stand_in_work {
    enum stand_in_kind kind;
    const char *name; /* of a kernel, mangled */
    uint32_t correlation, stream;
    uint32_t graph, node; /* 0: of none */
    int64_t start_ns, end_ns;
    size_t bytes;
    uint8_t copy_kind, source, destination; /* CUPTI_ACTIVITY_MEMCPY_KIND_, _MEMORY_KIND_ */
    bool asynchronous;
    unsigned grid, block;
};

struct stand_in_memory {
    bool allocated, ordered;
    uint8_t kind;
    const void *address;
    size_t bytes;
    uint32_t correlation;
    int64_t at_ns;
};

struct stand_in_listener {
    void (*call)(const struct stand_in_call *call);
    void (*work)(const struct stand_in_work *work);
    void (*wait)(int type, uint32_t stream, const struct stand_in_call *call);
    void (*memory)(const struct stand_in_memory *memory);
};

/* The stand-in's, exported as STAND_IN_LISTEN; NULL: nobody listens any more. */
typedef void stand_in_listen_fn(const struct stand_in_listener *listener);
#define STAND_IN_LISTEN "stand_in_listen"

/* Within the stand-in for CUPTI: the number of `name` in CHOKEPOINT_FAKE_CUPTI. */
long stand_in_told(const char *name, long otherwise);
