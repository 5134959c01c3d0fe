/* The kind of program that was traced, as far as its rows tell: the one place that knows. Rules
 * take from it which words fit, so that no page speaks of what its program does not have. */
#pragma once

#include "harness/desk/analysis/summary.h"

#include <stdbool.h>

struct traced_program {
    bool trains;     /* a backward pass, or an optimizer; false: nobody knows */
    bool serves;     /* an engine that answers requests: vLLM, SGLang. It does not train. */
    bool is_pytorch; /* operators of PyTorch; false: our own traces, or the host's are missing */
    bool is_plain;   /* by Nsight Systems, and nothing is named as PyTorch names it */
    bool is_rocm;    /* AMD's runtime, or device */
};

struct traced_program traced_program_of(const struct summary *summary);

bool device_is_amd(const struct event_device *device);

/* How to look at a trace whose rows are not read (unread_device), by what wrote it. */
const char *traced_program_viewer(const char *unread_device);
