/* How a loader spends its time: whether it reads, prepares samples, or puts batches together, since
 * each has another remedy.
 *
 * A recorder may state it (struct trace_cost), as no trace shows workers, which are processes of
 * their own. Else the loop's own calls tell, if the trace has them: Python's functions (with_stack)
 * and operators within its loading. A time that is in two parts counts for the first of them. */
#pragma once

struct facts;

struct loading_parts {
    double reads;    /* files: from a disk, a network, or the page cache */
    double collates; /* samples into a batch */
    double prepares; /* decoding and transforms */
};

/* Shares of the loader's time, 0 if nothing tells. Calls whose names do not tell are in no part. */
struct loading_parts loading_parts_of(const struct facts *facts);
