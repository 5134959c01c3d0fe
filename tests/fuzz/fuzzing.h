/* A harness: libFuzzer, or seeds_main.c, calls LLVMFuzzerTestOneInput with any bytes, and whatever
 * they are, the promises of the headers hold. A broken one aborts. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

void promise(bool kept, const char *what);
#define PROMISE(condition) promise(condition, #condition)

/* The path of a file with these bytes: number `index`, below FUZZ_FILES, whose former
 * bytes are gone. */
enum { FUZZ_FILES = 6 };
const char *fuzz_file(int index, const void *bytes, size_t size);

/* Parts of an input that stands for several files: a line of "----" parts them. Returns how many,
 * at most `most`. */
struct part {
    const uint8_t *bytes;
    size_t size;
};
int fuzz_parts(struct part *parts, int most, const uint8_t *bytes, size_t size);

/* Where pages and JSON are printed to: nobody reads them. */
FILE *fuzz_nowhere(void);
