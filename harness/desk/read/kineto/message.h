/* The message of a collective between ranks, as PyTorch's profiler has stated it since 2.3 in the
 * arguments of NCCL's kernels, which have them from the operator "record_param_comms"
 * (libkineto/src/output_json.cpp): how many elements it takes in and gives out, and of what
 * type. */
#ifndef HARNESS_DESK_READ_KINETO_MESSAGE_H
#define HARNESS_DESK_READ_KINETO_MESSAGE_H

#include "harness/desk/read/kineto/event_parser.h"

/* Its bytes: of what goes in or comes out, whichever is more, as a gather's result and what a
 * scatter starts from are the whole. -1: not stated, or of a type that is not known. */
int64_t message_bytes(const struct event_fields *fields);

#endif
