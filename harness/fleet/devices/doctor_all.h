/* doctor of every device of a machine: of each GPU (cuda:all), or of the cores of each NUMA node
 * (cpu:all). */
#pragma once

#include "harness/base/status.h"
#include "harness/text/page.h"

#include <stdbool.h>

/* "cuda:all", "cpu:all". */
bool doctor_is_of_all(const char *device);

struct doctor_request {
    const char *device; /* one of those two */
    const char *out;    /* the file for --out, "" for none */
    struct page page;
    double soak_seconds; /* 0, or how long each is soaked, all at once */
    bool prolog, strict, is_json;
};

/* Runs doctor of each device in a process of its own, one after the other, then all at once, and
 * for a prolog only all at once: a device that hangs costs its own column. Prints a table with a
 * column per device, and which is the odd one; for a prolog one line. *exit_code is doctor's, of
 * the worst device. */
enum status doctor_all(const struct doctor_request *request, int *exit_code);
