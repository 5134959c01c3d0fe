/* Doctor's checks of the device itself: its speed, its results, its records and its links.
 *
 * Its speed is compared with that which a device of its kind should have. The benches measure. The
 * expectations come from other facts: for the CPU device from what the host does without it
 * (host_limits_measure()), for a GPU from its clocks, widths and link. The fastest repetition
 * counts, since a machine that is disturbed is not a slow one. Each row states the least that is
 * ok; below half of it the row fails. A figure that is low while others used the cores is measured
 * once more, and is low at worst: it says nothing about the machine. */
#pragma once

#include "harness/base/facts/cpu_times.h"
#include "harness/checks/checks.h"
#include "harness/device/device.h"
#include "harness/device/peer.h"
#include "harness/lab/doctor/host/host.h"
#include "harness/text/json.h"
#include "harness/text/page.h"

enum performance_unit { UNIT_BYTES_PER_SECOND, UNIT_FLOPS, UNIT_NANOSECONDS, UNIT_HERTZ };

/* One row: `measured` against `bound`, the least of a rate, or the most of a time, that is ok. A
 * bound that is NAN is not known: n/a. A value that is not above 0 fails. One that is too low fails
 * only if `loss`, what others took meanwhile, does not matter (disturbance_matters()). */
void performance_judge(struct checks *checks, const char *name, enum performance_unit unit,
                       double measured, double bound, const char *advice,
                       const struct cpu_loss *loss, double noise);

/* Measures once more, and takes the better, if the value does not reach `bound` and others used the
 * cores meanwhile: *loss is what they took. */
typedef enum status performance_measure(void *context, double *value, struct cpu_loss *loss);
enum status performance_undisturbed(performance_measure *measure, void *context, bool is_time,
                                    double bound, double *value, struct cpu_loss *loss);

/* Copies, memory, matrix products, launches and waits. `mhz` is what the host's cores promise; 0:
 * not known. A bench that cannot run is a row that fails with its error. About ten seconds. */
void performance_check(struct checks *checks, struct device *device,
                       const struct device_health *health, const struct host_limits *limits,
                       int mhz);

/* The size that host_limits_measure() should copy, to compare with the copy benches. */
enum { PERFORMANCE_COPY_BYTES = 64 << 20 };

/* The least of a capability's rate, or the most of its time, that is ok: "gemm_bf16". NAN: not
 * known. */
double performance_bound(const char *name, const struct device_properties *device,
                         const struct device_health *health, const struct host_limits *host);

/* Whether the table of rows names a bench that does not exist: for the test. NULL: all are
 * there. */
const char *performance_unknown_bench(void);

/* Whether the device computes correctly: each bench compares its results with a reference before it
 * times anything, and here that is all it does. A row each for matrix products, kernels, copies and
 * calls. */
void numerics_check(struct checks *checks, struct device *device);

/* Whether the device's activity can be recorded: the rights, and on a GPU a CUPTI that fits. Opens
 * the device called `name` once more, with a sink, launches some kernels and counts their records.
 * It must be the last check, because the recording library may stay loaded. */
void recording_check(struct checks *checks, const char *name);

/* The ways between devices: how each pair is connected, and how fast copies between them are. */

/* One way of a pair. */
struct device_way {
    int from, to;
    struct device_link link;
    double bytes_per_second; /* of large copies, the fastest of a few; NAN: not measured */
    double copy_ns;    /* of a copy of a few bytes and the wait for it, the fastest; NAN likewise */
    char failure[200]; /* why nothing was measured, or what is wrong with the data; "": nothing */
};

struct device_links {
    struct device_way *ways; /* [count] every device to every other, in their order */
    int count, devices;
};

/* Measures from each device to each other: those that are not open are opened in turn, with a
 * context of this process each. A failure in one is that way's. OUT_OF_MEMORY. Release in every
 * case. */
enum status device_links_measure(struct device_links *links, struct device *device);
void device_links_release(struct device_links *links);

/* Rows of a group of their own; one row that is n/a where there is one device. A way is slow if it
 * has less than 80% of the median of its kind of link, or its short copies take twice as long. */
void device_links_check(struct checks *checks, const struct device_links *links);

/* A table per figure, from the device of a row to that of a column, for up to ten devices. Nothing
 * for one. */
void device_links_page(const struct page *page, const struct device_links *links);

/* Adds "between": [{"from", "to", "link", "direct", "numa_distance", "bytes_per_second", "copy_ns",
 * "failure"}], unknown numbers null. */
void device_links_json(struct json *json, cJSON *root, const struct device_links *links);
