/* The timing child: compares before with after.
 *
 * First the size of the images is chosen so that host and device work are in balance. Then comes a
 * pair of repetitions that does not count, and then pairs that before and after open in shuffled
 * order. Each repetition sets up, warms up, times a window, keeps the first losses and tears down
 * (window.h); it becomes a record. */
#pragma once

#include "harness/lab/experiment/protocol.h"
#include "scenarios/scenario.h"

/* Measures one variant, or both if `only` is VARIANT_COUNT, and writes one JSON record per line to
 * `descriptor`; none if that is negative. A failure is written as the last record and returned. A
 * scenario that the device cannot show is not a failure. Ignores SIGPIPE from then on. */
enum status timing_child(const struct scenario *scenario, const struct protocol *protocol,
                         enum variant only, int descriptor);
