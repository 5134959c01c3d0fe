/* A part of a trace (excerpt.h) drawn in characters: steps, phases, threads, streams, and why the
 * device was idle.
 *
 * A character stands for an equal part of the time and shows what took most of it: a capital letter
 * or "#" where that is half of it or more, a small letter or "+" where it is less. Only letters
 * that are in the drawing are explained below it. */
#pragma once

#include "harness/desk/analysis/summary.h"
#include "harness/text/page.h"

/* As a part of a page, with a heading. At most `steps` steps, at least one. OUT_OF_MEMORY. */
enum status timeline_text(const struct page *page, const struct summary *summary, int steps);
