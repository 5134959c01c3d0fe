/* Where the wall time of a recorded program went, as the recorder of `record` timed it from start
 * to end (scripts/recorder/chokepoint_program.py): a trace has only a few steps of it. Costs that
 * are rare and large, or that grow, are findings beside those of the trace. */
#pragma once

#include "harness/desk/diagnosis/rules/finding.h"

#include <cjson/cJSON.h>

enum { PROGRAM_LINES = 16, PROGRAM_PIECES = 32, PROGRAM_LOOKS = 64, PROGRAM_FINDINGS = 5 };

/* A line that the thread which trains was seen in. */
struct program_line {
    char kind[8]; /* "before", "steps", "long" (what exceeds usual steps), "after" */
    double s;
    struct call_place where;
};

/* Seconds. A step is long if it takes three times as long as most do. */
struct program_times {
    double wall_s, before_s, recording_s, after_s; /* before the first step; recorded steps */
    double steps, steps_s, usual_s;                /* but for recorded ones */
    double long_steps, long_s, longest_s;          /* long_s: what exceeds usual steps */
    double long_collected_s, long_compiled_s; /* of that, garbage and torch.compile; no overlap */
    double busy_s; /* of the device in a recorded step, which the caller sets; 0: unknown */
    double compiling_steps, compiling_s, long_compiles; /* the last: steps, of the long ones */
    double core_wait_s; /* in steps, of the thread that trains; no part of the steps above */
    double pieces_s[PROGRAM_PIECES]; /* a usual step in each piece of the run */
    int piece_count;
    /* Memory of the host that the program and its workers take after so many steps, and what the
     * machine has left at the end; not in older recordings. */
    double memory_steps[PROGRAM_LOOKS], memory_bytes[PROGRAM_LOOKS], available_bytes;
    int memory_count;
    struct program_line lines[PROGRAM_LINES]; /* of each kind, the one with the most time first */
    int line_count;
};

/* `json` as the recorder wrote it. False: it has no such times. */
bool program_times_read(struct program_times *times, const cJSON *json);

/* The first line of a kind; NULL: none was seen. */
const struct program_line *program_times_line(const struct program_times *times, const char *kind);

/* The findings, and how many. */
int program_times_judge(struct finding findings[PROGRAM_FINDINGS],
                        const struct program_times *times);
