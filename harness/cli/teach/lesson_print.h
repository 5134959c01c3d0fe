/* A lesson on a page: what a scenario teaches, as `explain` prints it and as `quiz` ends. */
#ifndef HARNESS_CLI_TEACH_LESSON_PRINT_H
#define HARNESS_CLI_TEACH_LESSON_PRINT_H

#include "harness/cli/teach/measured_before.h"
#include "harness/text/page.h"
#include "scenarios/scenario.h"

/* The whole lesson of a scenario, with the effect that was measured, if it was. */
void lesson_scenario(const struct page *page, const struct scenario *scenario,
                     const struct measured_before *measured);

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

#endif
