/* Matrix products: what one costs apart from its work.
 *
 * A product takes a fixed time, to start, to fill the device and to end, and one that grows with its work
 * (Hockney, "Parallel Computers", 1981: the line with the parameters r_infinity and n_1/2). Both show
 * where a trace has products of unequal work: operators state their floating-point operations ("flops",
 * ours and PyTorch's with with_flops=True), and launch the products. */
#ifndef HARNESS_ANALYSIS_PRODUCTS_H
#define HARNESS_ANALYSIS_PRODUCTS_H

#include "harness/analysis/timeline.h"

/* The fixed time of a product, from the kind that takes least time and that which computes most; a kind is
 * all products of equal work, at least `count_least` of them. NAN: the trace does not tell, because its
 * products have no stated work, or one that hardly differs. OUT_OF_MEMORY. */
enum status products_fixed_ns(double *fixed_ns, const struct timeline *timeline,
                              double count_least);

#endif
