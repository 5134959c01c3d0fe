/* Results of `doctor --format=json` or `bench` on one machine, as far as machines can be compared.
 *
 * A figure is a row with a speed: its unit is a rate (B/s, FLOP/s, Hz), of which more is better, or
 * a time (ns), of which less is. Each way between two GPUs has two: of large copies and of small
 * ones. A figure that was not measured is one too, so that it can be missed. A setting is a text
 * that machines of a fleet should share: the value of a row without a number, and facts of the
 * context such as the kernel. Everything else (free memory, load, temperatures) changes by the
 * minute: of it only the status is compared.
 *
 * For `bench`, a figure is the median of a row's repetitions: its time, and its bytes and flops per
 * second where it has them. So a row has up to three figures of its name, one per unit. */
#pragma once

#include "harness/base/figures/quantity.h"
#include "harness/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct intern;

struct node_figure {
    uint32_t name, unit; /* texts are numbers in the names of all nodes */
    double value;        /* NAN: the file has the row and no number */
    double noise;        /* relative, as the file states it; 0: it does not */
};

/* Texts that a machine states. */
enum node_fact_kind {
    NODE_SETTINGS,
    NODE_STATUSES, /* of rows that are low or fail: "low" or "fail" */
    NODE_FACT_KINDS
};

struct node_fact {
    uint32_t name, value;
};

struct node_facts {
    struct node_fact *items;
    int count;
};

struct node {
    char *path;
    char label[128]; /* the host's name, with the number of the GPU if that is not 0 or the host has
                        several */
    char host[96];
    int machine, number; /* nodes of one machine are neighbours in a fleet, by the order of files */
    int siblings;        /* nodes of this machine, this one among them */
    int device;          /* its number; -1: not known */
    uint32_t kind;       /* the device and the processor: nodes of a kind are compared */
    uint32_t fit;        /* "yes", "with care", "no" */
    uint32_t date;
    bool disturbed; /* others used its cores or its host took some: its figures may be low for that
                       reason */

    struct node_figure *figures;
    int figure_count;
    struct node_facts facts[NODE_FACT_KINDS];
};

/* Reads a file of doctor, or of bench. IO: it cannot be read; BAD_INPUT: it is none; OUT_OF_MEMORY.
 * Release in every case. */
typedef enum status node_reader(struct node *node, struct intern *names, const char *path);
node_reader node_read, node_read_bench;

/* The same, of doctor's JSON itself; `path` stands for its file. */
enum status node_read_text(struct node *node, struct intern *names, const char *path,
                           const char *text);
void node_release(struct node *node);

bool figure_is_speed(const char *unit); /* a row with that unit is a figure */
bool figure_is_measured(double value);  /* nothing has a speed of zero, or takes no time */
bool figure_is_time(const char *unit);  /* less is better; "x" too, a time beside others */

struct quantity_text figure_text(double value, const char *unit); /* "102 GFLOP/s", "306 ns" */

/* Two machines are alike by this text: "CPU device (AMD EPYC, 2 cores); AMD EPYC". */
void node_kind(char *text, size_t size, const char *device_name, const char *cpu_model);
