/* Records: the messages of a child to its parent, one JSON object per line.
 *
 *   {"type":"scenario", ...}    before windows: the device, the settings, the balance
 *   {"type":"progress"}         it gets on, on the way to the next of the others
 *   {"type":"window", ...}      windows have another length from here on
 *   {"type":"repetition", ...}  one window of one variant
 *   {"type":"tracing", ...}     the trace of one variant is written, and what tracing cost
 *   {"type":"skipped", "text"}  last: the device cannot show the bottleneck
 *   {"type":"error", "text"}    last: what failed
 *   {"type":"end"}              last: all repetitions were sent
 *
 * The members are those of result files (result_members.h). Counts and fp32 losses come back as
 * they were, times of single steps with 12 digits, and other numbers with 15 at least. A metric
 * that is not finite is left out, other such numbers are null; both are read as NaN. The reader
 * trusts nothing: a crashed child may have left half a line or anything else on the descriptor. */
#pragma once

#include "harness/lab/experiment/result.h"
#include "harness/text/members.h"

enum record_type {
    RECORD_SCENARIO,
    RECORD_PROGRESS,
    RECORD_WINDOW,
    RECORD_REPETITION,
    RECORD_TRACING,
    RECORD_SKIPPED,
    RECORD_ERROR,
    RECORD_END,
    RECORD_TYPE_COUNT
};

struct record {
    enum record_type type;

    /* SCENARIO */
    struct device_properties device;
    char settings[VARIANT_COUNT][KNOBS_TEXT];
    bool fp32[VARIANT_COUNT]; /* whether the variant computes in fp32 */
    struct balance_result balance;
    double window_seconds; /* WINDOW too */

    /* REPETITION; a parsed record owns step_ns (malloc) */
    enum variant variant;
    int index; /* of the pair */
    struct repetition repetition;

    /* TRACING, without file and reason */
    struct tracing tracing;

    /* SKIPPED, ERROR */
    char text[1024];
};

/* The record as a line without a newline, to be freed; NULL when memory is out. */
char *record_print(const struct record *record);

/* Writes the record as one whole line; nothing if `descriptor` is negative. IO, OUT_OF_MEMORY. */
enum status record_write(int descriptor, const struct record *record);

/* Reads a line. False if it is not a whole record of a known type; then there is nothing to
 * release. */
bool record_parse(struct record *record, const char *line);
void record_release(struct record *record);

/* The members of a result's structs, once for the records of a child and for result
 * files, whose names they are. Each list goes through one struct. */
member_list device_members;   /* struct device_properties, without its traits */
member_list settings_members; /* char[VARIANT_COUNT][1024] */
member_list balance_members;  /* struct balance_result */
member_list tracing_members;  /* struct tracing, without file, ranks and reason */

/* struct repetition, without its damaged samples. Reading allocates step_ns, also where it finds a
 * fault after it. */
member_list repetition_members;
