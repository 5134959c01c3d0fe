/* Texts, each stored once and known by a small number: 0 for the first that came, 1 for the
 * next. */
#pragma once

#include "harness/base/status.h"

#include <stddef.h>
#include <stdint.h>

struct intern;

/* Longer texts are cut to `longest` bytes; SIZE_MAX: none is. OUT_OF_MEMORY: *opened is NULL. */
enum status intern_open(struct intern **opened, size_t longest);
void intern_close(struct intern *intern); /* NULL is allowed */

/* The number of that text, a new one if need be. A zero byte in it ends it. OUT_OF_MEMORY. */
enum status intern_add(struct intern *intern, const char *bytes, size_t length, uint32_t *number);

/* The number of that text; -1 if it was never added. */
int64_t intern_find(const struct intern *intern, const char *text);

/* Stays where it is until intern_close(); "" for a number that was not given. */
const char *intern_text(const struct intern *intern, uint32_t number);

uint32_t intern_count(const struct intern *intern);
