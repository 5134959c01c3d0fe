/* A comparison, for people and for programs. */
#pragma once

#include "harness/base/figures/quantity.h"
#include "harness/desk/compare/comparison.h"
#include "harness/text/page.h"

/* A value of a metric with its unit: "1.42 ms", "21.5 MiB", "40.9 GB/s", "12.5". "-" for NaN. */
struct cell comparison_value(const char *metric, double value);

/* A relative change: "+5.1%", "3.2x", "from 0". "-" for NaN. */
struct cell comparison_percent(double change);

/* Remarks beside the rows, and which of them a page shows. */
struct comparison_remarks {
    char doubts[2048]; /* of compare_doubts() */
    struct compare_gate gate;
    enum gate_end end; /* and why: of comparison_end() */
    char why[320];
    bool only_changed; /* leave out rows that are the same or undecided, unless the gate fails by
                          them */
    bool all_rows;     /* in Markdown, even beyond COMPARISON_COMMENT bytes */
};

/* A comment on GitHub takes 65,536 characters. Markdown leaves out rows beyond so many bytes, those
 * first that matter least, and says how many. */
enum { COMPARISON_COMMENT = 64000 };

/* The totals, and the rows that decide, stand where they are seen first: at the end in a terminal,
 * at the top in Markdown. OUT_OF_MEMORY. */
enum status comparison_page(const struct page *page, const struct comparison *comparison,
                            const struct comparison_remarks *remarks);

/* docs/compare.md documents the members. *text is malloc'd. */
enum status comparison_json(const struct comparison *comparison, const struct compare_files *sides,
                            const struct comparison_remarks *remarks, char **text);

/* The smallest change that a gate of N files per side would see, from files of one version: how
 * much their runs vary tells it before the gate is set up. */

/* Prints it for the rows for which `wanted` says yes (NULL: all), as half of them and nine of ten
 * of them have it. BAD_USAGE: fewer than two files, or no row is in all of them with values above
 * 0; BAD_INPUT: the files are of several machines; OUT_OF_MEMORY. */
enum status plan_print(const struct page *page, const struct compare_files *files,
                       const struct compare_rule *rule, compare_wanted *wanted, void *context);
