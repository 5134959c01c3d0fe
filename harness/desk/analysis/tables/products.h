/* Matrix products: what one costs apart from its work.
 *
 * A product takes a fixed time, to start, to fill the device and to end, and one that grows with
 * its work (Hockney, "Parallel Computers", 1981: the line with the parameters r_infinity and
 * n_1/2). Both can be told apart if a trace has products of unequal work: operators state their
 * floating-point operations
 * ("flops": ours do, but the files of PyTorch 2.15 do not, with_flops=True or not), and launch the
 * products. */
#pragma once

#include "harness/desk/analysis/timeline/timeline.h"

/* The fixed time of a product, computed from two kinds: the one that takes the least time, and the
 * one that computes the most. A kind is all products of equal work, if there are at least
 * `count_least` of them. NAN: the trace states no work of its products, or their work hardly
 * differs. */
double products_fixed_ns(struct arena *arena, const struct timeline *timeline, double count_least);
