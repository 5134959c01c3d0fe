/* The smallest change that a gate of N files per side would see, from files of one version: how
 * much their runs vary tells it before the gate is set up. */
#pragma once

#include "harness/desk/compare/comparison.h"
#include "harness/text/page.h"

/* Prints it for the rows for which `wanted` says yes (NULL: all), as half of them and nine of ten
 * of them have it. BAD_USAGE: fewer than two files, or no row is in all of them with values above
 * 0; BAD_INPUT: the files are of several machines; OUT_OF_MEMORY. */
enum status plan_print(const struct page *page, const struct compare_files *files,
                       const struct compare_rule *rule, compare_wanted *wanted, void *context);
