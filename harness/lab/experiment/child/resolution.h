/* How long the windows of a scenario must be, by what they have to tell apart.
 *
 * Noise between windows falls with the root of their length. A promise that is kept by far needs no
 * more precision than tells it from its bound, and a count that is the same in all windows needs
 * none. So the repetition that does not count says how far each promise is from its bound, and the
 * length follows: twice as far away, a quarter of the time. Only that repetition decides, and it is
 * not among those that are judged, so the interval of these is as true as for any other length
 * (Stein, "A two-sample test for a linear hypothesis whose power is independent of the variance",
 * 1945). If they leave it undecided, the pairs that are added have windows of full length. */
#pragma once

#include "harness/lab/experiment/protocol.h"

/* The least distance of what is promised on `device` from its bounds, as the logarithm of a factor;
 * of A/A, the least effect. INFINITY: nothing but exact counts is promised. 0: a metric is not
 * known. */
double resolution_margin(const struct scenario *scenario, bool aa,
                         const struct device_properties *device,
                         double metric[VARIANT_COUNT][METRIC_COUNT]);

/* The length of a window for that distance, from `shortest` to `longest`; `longest` if `shortest`
 * is 0. */
double resolution_seconds(double shortest, double longest, double margin);
