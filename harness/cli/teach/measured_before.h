/* The effect of a scenario that an earlier run measured, quoted by `explain`. */
#ifndef HARNESS_CLI_TEACH_MEASURED_BEFORE_H
#define HARNESS_CLI_TEACH_MEASURED_BEFORE_H

#include "harness/desk/compare/file/benchmark_file.h"
#include "harness/text/page.h"
#include "scenarios/scenario.h"

struct measured_before {
    struct benchmark_file result;
};

/* Reads the result of `run` at `path`, a file or its folder. BAD_INPUT or IO where it cannot be
 * read; nothing is printed then. */
enum status measured_before_read(struct measured_before *measured, const char *path);

/* Prints the verdict, then a line per expectation: "step_time: 1.57x faster (1.52 to 1.61)". Prints
 * nothing where the scenario was not measured. */
void measured_before_print(const struct measured_before *measured, const struct scenario *scenario,
                           const struct page *page);

void measured_before_release(struct measured_before *measured); /* all zero is allowed */

#endif
