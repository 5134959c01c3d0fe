/* Prints the outcome of a sweep, for people and as JSON. */
#pragma once

#include "harness/lab/search/sweep.h"
#include "harness/text/page.h"

/* A row per value, or a table with a row for each value of the first knob and a column for each of
 * the second; then what is enough. */
enum status sweep_print(const struct page *page, const struct knob_sweep *sweep);

/* Says so if others used the cores while something was measured. */
void sweep_print_loss(const struct page *page, const struct cpu_loss *loss);

/* The same as JSON on standard output, with rows for Google Benchmark's tools. */
enum status sweep_print_json(const struct knob_sweep *sweep, struct device *device);
