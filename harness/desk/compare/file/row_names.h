/* Finds the entries of a benchmark file that belong to one row, and names the rows.
 *
 * A row is one benchmark. Two benchmarks may have one name: then their family or their place in it
 * differs, or a repetition or an aggregate comes twice. They are rows of their own, called "NAME (1
 * of 2)" and "NAME (2 of 2)" in the order of their families: a file that has one of them, or three,
 * has no row of these names, so that nothing is compared with the wrong one. */
#pragma once

#include "harness/base/status.h"

#include <stddef.h>
#include <stdint.h>

struct row_names;

/* The facts that an entry states of its row. */
struct row_key {
    const char *name;   /* without the aggregate's */
    size_t length;      /* of it */
    double family;      /* family_index; NaN: the entry does not say. So for the other numbers */
    double instance;    /* per_family_instance_index */
    double repetition;  /* repetition_index */
    double repetitions; /* as many as the benchmark has */
    char part;          /* what of the row it is: 'r' a repetition, other letters aggregates */
};

enum status row_names_open(struct row_names **opened); /* OUT_OF_MEMORY: *opened is NULL */
void row_names_close(struct row_names *names);         /* NULL is allowed */

/* The row of an entry, from 0: a new one has the number of those before it. The entries come in the
 * order of the file. OUT_OF_MEMORY. */
enum status row_names_take(struct row_names *names, const struct row_key *key, int *row);

/* After the last entry: makes the names. BAD_INPUT when two rows are called alike even so;
 * OUT_OF_MEMORY. */
enum status row_names_finish(struct row_names *names);

/* After row_names_finish(). They stay until row_names_close(). */
const char *row_names_text(const struct row_names *names, int row);
const char *row_names_plain(const struct row_names *names, int row);     /* as the file has it */
int64_t row_names_find(const struct row_names *names, const char *text); /* -1: there is none */
