/* A folder of pages that can be published: one of each result, recording, history, fleet, job and
 * file of benchmarks that is in some folders, and an index of them. docs/site.md describes it. */
#pragma once

#include "harness/base/status.h"

/* Writes the pages of all that is in `folders`, [count], to the folder `site`, which is made. It is
 * to be empty, or one that this function wrote: then its pages are replaced, and those are removed
 * of which nothing is left. Files beside them stay. Files without a page are named on standard
 * error. BAD_USAGE: `site` has other files; BAD_INPUT: a page could not be made or is not whole,
 * and all others are there; IO, OUT_OF_MEMORY. */
enum status report_site(const char *site, const char *const *folders, int count);
