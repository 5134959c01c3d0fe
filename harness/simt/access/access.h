/* The addresses of one access by the lanes of a warp. */
#pragma once

#include "harness/simt/code/lanes.h"

/* RANGE: the lanes that take part are neighbours, and so are their addresses, without gaps. ONE:
 * all have the same. */
enum access_shape { ACCESS_RANGE, ACCESS_ONE, ACCESS_SCATTERED };

struct access {
    uint64_t address[SIMT_LANES];
    uint64_t from, to; /* the first byte of all, and the one after the last */
    unsigned bytes;    /* of a lane */
    int first, end;    /* lanes that take part are among these */
    enum access_shape shape;
};

/* Some lane takes part. */
void access_find(struct access *access, const struct warp *warp,
                 const struct instruction *instruction);

/* The same for addresses that are there already: the shape, and the first and last byte. */
void access_shape_of(struct access *access, const struct warp *warp);

/* Checks and counts an access to the space of the instruction, whose addresses and bytes are those
 * of `access`; *base is what the host adds to them. False after a finding that ends the launch. */
bool access_at(struct warp *warp, const struct instruction *instruction, struct access *access,
               bool store, uint64_t *base);

/* Moves between registers and the host's addresses `base` bytes beyond the lanes'. */
void access_load(const struct access *access, const struct warp *warp,
                 const struct instruction *instruction, uint64_t base);
void access_store(const struct access *access, const struct warp *warp,
                  const struct instruction *instruction, uint64_t base);

/* Counts of one request, as in struct simt_accesses. */
struct access_cost {
    unsigned touched, wanted, shifted, holes;
};

/* Counts a request of global memory, or of local memory, whose addresses are those of a lane's
 * own. */
void access_count_global(const struct access *access, const struct warp *warp,
                         const struct instruction *instruction);
void access_count_local(const struct access *access, const struct warp *warp,
                        const struct instruction *instruction);

/* Counts a request that costs this. */
void access_count(const struct access *access, const struct warp *warp,
                  const struct instruction *instruction, int space, const struct access_cost *cost);

/* How many addresses the lanes have. */
unsigned access_distinct(const struct access *access, const struct warp *warp);

/* The first lane whose address is no multiple of its bytes, or that writes another value where a
 * lane before it writes; -1: none. */
int access_misaligned(const struct access *access, const struct warp *warp);
int access_twice(const struct access *access, const struct warp *warp,
                 const struct instruction *instruction);

/* Whether a store of a lane, or of all if that is -1, puts something else into memory than is
 * there. Their addresses are known to be memory. */
bool access_changes(const struct access *access, const struct warp *warp,
                    const struct instruction *instruction, int lane, uint64_t base);

/* The spaces; each returns false after a finding that ends the launch. */
bool shared_check(struct warp *warp, const struct instruction *instruction,
                  const struct access *access, bool store, bool atomic);
bool global_check(struct warp *warp, const struct instruction *instruction,
                  const struct access *access, bool store, bool atomic);
