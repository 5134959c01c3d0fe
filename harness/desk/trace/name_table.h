/* Names, each stored once and known by a number. */
#ifndef HARNESS_DESK_TRACE_NAME_TABLE_H
#define HARNESS_DESK_TRACE_NAME_TABLE_H

#include "harness/base/status.h"

#include <stddef.h>
#include <stdint.h>

enum { NAME_BYTES = 4095 }; /* longer names are cut */

struct name_table;

/* Number 0 is "". OUT_OF_MEMORY. */
enum status name_table_open(struct name_table **table);
void name_table_close(struct name_table *table); /* NULL is allowed */

/* The number of that name, a new one if need be. A zero byte in it ends it. OUT_OF_MEMORY. */
enum status name_table_add(struct name_table *table, const char *bytes, size_t length,
                           uint32_t *number);

const char *name_table_text(const struct name_table *table, uint32_t number);
uint32_t name_table_count(const struct name_table *table);

#endif
