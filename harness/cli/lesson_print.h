/* A lesson at the terminal: what a scenario teaches, as `explain` prints it and as `quiz` ends. */
#ifndef HARNESS_CLI_LESSON_PRINT_H
#define HARNESS_CLI_LESSON_PRINT_H

#include "harness/cli/measured_before.h"
#include "harness/text/terminal.h"
#include "scenarios/scenario.h"

/* The whole lesson of a scenario, with the effect that was measured, if it was. */
void lesson_scenario(const struct console *console, const struct scenario *scenario,
                     const struct measured_before *measured);

/* "name: title", and an empty line. */
void lesson_title(const struct console *console, const char *name, const char *title);

/* "  Symptom  the device is idle ..." */
void lesson_point(const struct console *console, const char *word, const char *text);

/* A heading, and a command that can be pasted. */
void lesson_invocation(const struct console *console, const char *heading, const char *command,
                       const char *scenario);

#endif
