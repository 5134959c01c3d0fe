/* Joins intervals that are written as two events: "B" where they begin, "E" where they end.
 *
 * On a thread such intervals nest, so an end belongs to the last beginning before it that has no
 * end yet (Chrome's trace event format, "duration events"). The format wants a thread's halves in
 * the order of time; here they may come in any order, and only those of one moment count in the
 * order of the file. */
#pragma once

#include "harness/base/status.h"

#include <stdbool.h>
#include <stdint.h>

struct event_half {
    int64_t process, thread;
    int64_t at_ns;
    int64_t offset; /* in the file */
    bool is_end;
    int64_t owner; /* of the caller: what begins here */

    /* Found by event_pairs_match(). */
    bool paired;
    int64_t end_ns; /* of a beginning that is paired */
    int64_t below;  /* the beginning around this one, while they are matched; -1: none */
};

/* Start with zeros. */
struct event_pairs {
    struct event_half *halves;
    int64_t count, room;
};

void event_pairs_release(struct event_pairs *pairs);

/* OUT_OF_MEMORY. */
enum status event_pairs_add(struct event_pairs *pairs, struct event_half half);

/* Sorts the halves and says of each whether it has its other half. */
void event_pairs_match(struct event_pairs *pairs);
