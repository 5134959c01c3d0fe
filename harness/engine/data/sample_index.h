/* The index of a data set: notes on each sample, as annotations are, which whoever loads the sample
 * looks up. It is in the host's memory once, and each worker has a view of it that is mapped
 * copy-on-write (mmap(2), MAP_PRIVATE), as a process has of all memory when it is forked.
 *
 * As objects the notes count the references to them, like CPython's, so that to look one up is to
 * write to its page, of which the worker gets a copy. As arrays they are only read. */
#pragma once

#include "harness/base/status.h"
#include "harness/engine/settings/config.h"

#include <stdint.h>

struct sample_index;

/* Makes one of `samples`, in a form other than INDEX_NONE. IO, OUT_OF_MEMORY. */
enum status sample_index_open(struct sample_index **index, enum index_form form, uint32_t samples);
void sample_index_close(struct sample_index *index); /* its views are closed; NULL is allowed */

/* A thread's own. Several threads may open and close views of one index. */
struct index_view;
enum status index_view_open(struct index_view **view, struct sample_index *index);
void index_view_close(struct index_view *view); /* NULL is allowed */

/* Looks up all notes on a sample; returns their sum, which is the same in both forms. */
uint64_t index_view_read(struct index_view *view, uint32_t sample);

/* Bytes that the open views have copies of, by the kernel's page tables (proc_pid_pagemap(5)); NaN
 * if it does not show them. */
double sample_index_copied_bytes(struct sample_index *index);
