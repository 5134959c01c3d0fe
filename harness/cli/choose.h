/* Scenarios by name, as given on the command line. */
#ifndef HARNESS_CLI_CHOOSE_H
#define HARNESS_CLI_CHOOSE_H

#include "scenarios/scenario.h"

/* BAD_USAGE names the nearest scenario. */
enum status choose_scenario(const struct scenario **scenario, const char *name);

enum { CHOICE_MAX = 64 };

/* Scenarios to run, in the order of the list, each once. */
struct choice {
    bool chosen[CHOICE_MAX];
};

/* Adds a scenario, "core" or "all". */
enum status choice_add(struct choice *choice, const char *name);
int choice_count(const struct choice *choice);

#endif
