/* A profiler within the loop, as torch.profiler is one with with_stack=True: a row for each pass of
 * an operator, with the time and the call stack. Nobody reads the rows: what they cost is what is
 * of interest. */
#pragma once

#include "harness/engine/model/ops/op.h"

struct stack_profiler;

/* OUT_OF_MEMORY. */
enum status stack_profiler_open(struct stack_profiler **profiler);

/* NULL is allowed. */
void stack_profiler_close(struct stack_profiler *profiler);

/* Hears of each pass that is queued; it lives as long as the profiler. NULL: nobody profiles. */
const struct pass_listener *stack_profiler_listener(const struct stack_profiler *profiler);

/* Rows so far, and the frames of the newest one; 0: there is none. */
int64_t stack_profiler_rows(const struct stack_profiler *profiler);
int stack_profiler_depth(const struct stack_profiler *profiler);
