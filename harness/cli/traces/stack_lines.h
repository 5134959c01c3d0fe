/* Lines of code for findings, from the traces with stacks that `record` writes beside the
 * others. */
#ifndef HARNESS_CLI_TRACES_STACK_LINES_H
#define HARNESS_CLI_TRACES_STACK_LINES_H

#include "harness/desk/diagnosis/diagnosis.h"

/* Their paths, which the diagnosis keeps. */
struct stack_lines {
    const char **paths; /* [count]; NULL: there is none */
    int count;
};

/* A trace with stacks that cannot be read is skipped, after `skip`. OUT_OF_MEMORY. Release in every
 * case, after the diagnosis was used. */
enum status stack_lines_take(struct stack_lines *lines, struct diagnosis *diagnosis,
                             diagnosis_skip *skip, void *context);
void stack_lines_release(struct stack_lines *lines);

#endif
