/* Facts of the lab that pages of the desk mention: the scenarios that show a finding, and the
 * healthy values of settings. The program that has a lab hands both over; without it pages name no
 * scenario, and a setting that a file does not state is taken for equal. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct catalogue {
    /* Scenario `number` of those that show the finding, the best one first; NULL: there are no
     * more. */
    const char *(*scenario)(const char *finding, int number);
    /* The healthy value of a setting, whose name has `length` bytes; NULL: there is no such
     * setting. */
    const char *(*healthy)(const char *setting, size_t length);
};

/* Before other threads start. `catalogue` stays in use; NULL: none, as at the start. */
void catalogue_use(const struct catalogue *catalogue);

bool catalogue_known(void);
const char *catalogue_scenario(const char *finding, int number);   /* NULL: none */
const char *catalogue_healthy(const char *setting, size_t length); /* NULL: not known */
