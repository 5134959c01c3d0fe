/* The work behind a row of a result of `run`: the settings that its variant trained with,
 * resolved, whose images, and how much device memory it was given. A scenario that needs host and
 * device work in balance chooses the size of its files anew in every run, so two rows of one name
 * may have done different work, and then their times do not compare. */
#pragma once

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct workload {
    const char *settings; /* "model=balanced data=images ..."; NULL: the file does not say */
    const char *folder;   /* of the user's images; NULL: the generated ones */
    double memory;        /* of the device, in bytes; 0: its default; NaN: the file does not say */
};

/* The scenario of that name in a result file, the A/A comparison if `aa` and the file has both;
 * NULL: the file has none, or is none of `run`. `length` is that of `name`. */
const cJSON *workload_scenario(const cJSON *root, const char *name, size_t length, bool aa);

/* The work of the row "item_sync/before", or "item_sync/aa:1". It borrows from the file. */
struct workload workload_of_row(const cJSON *root, const char *row);

/* Whether two rows did different work, and `text` then says in what: "jpeg_pixels 32 and 96". A
 * knob that only one of two files knows has its healthy value in the other: a version without the
 * knob behaved so. Without a catalogue (catalogue.h), which has the healthy values, it is taken for
 * equal. Rows whose files do not say are taken for equal. */
bool workload_differs(const struct workload *first, const struct workload *second, char *text,
                      size_t size);

/* A number that differs where workload_differs() says so, and where one of the two does not say its
 * memory; 0 where the file does not say what was done. A knob at its healthy value counts as if it
 * were not stated. Without a catalogue it counts, so a program without a lab has numbers of its
 * own. */
uint64_t workload_fingerprint(const struct workload *work);
