/* How well the steps of a variant use their device: shares, which say how far from its best they
 * are.
 *
 * - busy_share: the part of a step in which the device works, whatever at: the union of kernels,
 *   copies and memsets in the recorded trace, over its steps (timeline.h). A tracer makes the host
 *   slower, so it is a little less than without.
 *
 * - mfu: model FLOPs utilisation (Chowdhery et al., "PaLM", 2022, appendix B): the flops of forward
 *   and backward that the model asks for, each once, per second of the whole step, over the peak.
 *   Recomputation does not count, and padding does. The peak is not the vendor's: it is what the
 *   fastest square product of the variant's precision reaches here (benches/gemm.c). A step cannot
 *   be faster than that: an mfu above 1 says that the device was slower when the peak was measured.
 *   Then every mfu by the same peak is wrong, and none is stated.
 *
 * - bandwidth_share: the bytes that forward and backward must read and write (op_bytes_per_step),
 *   per second of the two, over those of a copy within the device, which are read and written too
 *   (benches/bw_copy.c). Above 1 where tensors stay in a cache.
 *
 * A child measures both ceilings on the idle device (measured_roofs.h). */
#pragma once

#include "harness/lab/experiment/result.h"
#include "harness/text/json.h"

/* NaN: not measured, such as busy_share without a trace. */
struct utilisation {
    double busy_share, mfu, bandwidth_share;
    double over_peak; /* above 1: of the peak, so that mfu is doubtful and NaN; else 0 */
    struct ceilings ceilings;
};

/* From the metrics of one window, or of several. */
struct utilisation utilisation_make(const double metric[METRIC_COUNT],
                                    const struct ceilings *ceilings, double busy_share);

/* The utilisation of a scenario's variant: medians over its repetitions. */
struct utilisation utilisation_of(const struct scenario_result *result, enum variant variant);

/* Why there is no mfu: "it computed at 1.48 times the peak, ...", a part of a sentence. False: no
 * doubt. */
enum { UTILISATION_DOUBT = 128 };
bool utilisation_doubt(char text[UTILISATION_DOUBT], const struct utilisation *utilisation);

/* "a step took 33.8 us before the fix by the loop's own timer: 146 times the peak, faster than the
 * hardware", a part of a sentence about the first variant that reported more FLOP/s than the peak.
 * False: none did. */
enum { UTILISATION_TOO_FAST = 128 };
bool utilisation_too_fast(char text[UTILISATION_TOO_FAST], const struct scenario_result *result);

/* {"busy_share", "mfu", "mfu_doubt", "peak_flops_per_second", "bandwidth_share",
 * "copy_bytes_per_second"} for a KEY(); null for what is not known, and without mfu_doubt where
 * there is none. */
cJSON *utilisation_json(struct json *json, const struct utilisation *utilisation);

/* "device busy 43% -> 97%, MFU 12% -> 31%", without what was measured on neither side, and "MFU
 * doubtful" if one is. False: nothing was measured. */
enum { UTILISATION_LINE = 80 };
bool utilisation_line(char text[UTILISATION_LINE], const struct scenario_result *result);
