/* A place in the program that was traced. */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum call_place_kind {
    PLACE_UNKNOWN,
    PLACE_LINE,       /* of Python */
    PLACE_ANNOTATION, /* the trace has no Python calls: record_function(), or a phase */
    PLACE_OPERATOR    /* likewise: an operator outside of annotations, or right in one */
};

struct call_place {
    enum call_place_kind kind;
    char file[160];    /* "": not a line */
    int64_t line;      /* the first of the function where the trace has no better; 0: not a line */
    int64_t last_line; /* the time lies between the two lines, or they are one */
    char function[96]; /* or the annotation, or the operator */
    char call[64];     /* that is made there: ".item()"; "": none, or several */
    double share;      /* of the time that was asked about */
    double iterated;   /* the share of that time which what the loop iterates over takes, at
                          whatever place */
};

enum { CALL_PLACE_TEXT = 384 };

/* "train.py:41 in log_loss, .item()"; of a long path the end, from a folder on. */
void call_place_text(char *text, size_t size, const struct call_place *place);

const char *call_place_kind_name(enum call_place_kind kind); /* "line" */
