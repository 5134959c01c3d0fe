/* The ways between devices: how each pair is connected, and how fast copies between them are. */
#pragma once

#include "harness/checks/checks.h"
#include "harness/device/peer.h"
#include "harness/text/json.h"
#include "harness/text/page.h"

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
