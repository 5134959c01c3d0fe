/* Lessons on a page, as `explain` prints them and as `quiz` ends. */
#pragma once

#include "harness/desk/compare/file/benchmark_file.h"
#include "harness/lab/kernel/lesson_run.h"
#include "harness/text/page.h"
#include "scenarios/scenario.h"

/* The whole lesson of a scenario, with what `measured`, the result of an earlier run, has of it:
 * "step_time: 1.57x faster (1.52 to 1.61)". All zero: there is no such result. */
void lesson_scenario(const struct page *page, const struct scenario *scenario,
                     const struct benchmark_file *measured);

/* The same of a pair of kernels, with the counts of that run. */
void kernel_lesson_print(const struct page *page, const struct kernel_lesson *lesson,
                         const struct benchmark_file *measured);

/* The launch and all counts of a variant in a table, without its name; 0 is before. */
void kernel_counts_print(const struct page *page, const struct kernel_lesson *lesson, int variant,
                         const struct lesson_counts *counts);

/* --- The parts of a lesson --- */

/* "name: title", and an empty line. */
void lesson_title(const struct page *page, const char *name, const char *title);

/* The link to the lesson of that title, in a list of contents. */
void lesson_contents(const struct page *page, const char *name, const char *title);

/* The heading of a list. */
void lesson_part(const struct page *page, const char *heading);

/* "  Symptom  the device is idle ..." */
void lesson_point(const struct page *page, const char *word, const char *text);

/* Lines of code as they are, below a comment with the word: "# before". */
void lesson_lines_print(const struct page *page, const char *language, const char *comment,
                        const char *word, const char *lines);

/* A command that can be pasted, and one below a heading. */
void lesson_command(const struct page *page, const char *command, const char *name);
void lesson_invocation(const struct page *page, const char *heading, const char *command,
                       const char *scenario);

/* How `try` measures what this finding is about in one's own program, if it can. */
void lesson_own_program(const struct page *page, const char *finding);
