/* Finds the odd one among many machines that should be alike.
 *
 * Machines of a kind (the same device and processor) are compared, figure by figure. How much
 * slower a machine is than the median is the logarithm of their ratio, so that rates and times are
 * treated alike. A figure is out if it is 3% slower or more, and by more than chance reaches once
 * in a hundred healthy fleets, all figures of all machines together (Bonferroni): fleet_noise.h has
 * the method. So that a machine that is a little slow in everything is seen too, the median of its
 * figures is one more figure, "all_figures". For each figure the fleet says how small a difference
 * would have shown.
 *
 * Green means measured. A figure that others have and a machine lacks, that is zero or that is
 * there twice, is named. So is one that falls into two groups, of which neither is the odd one, and
 * one that is too noisy to tell: a machine at half of the speed would not be named, or a machine is
 * 20% slower and not out. A row that fails on half of the machines or more puts none of them out. A
 * figure that was taken while others used the machine is no verdict either: the machine is to be
 * measured again.
 *
 * The GPUs of a machine have a file each; they are compared with all others, and named together. */
#pragma once

#include "harness/base/figures/quantity.h"
#include "harness/base/status.h"
#include "harness/base/system/arena.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

enum {
    FLEET_NODES_LEAST = 5, /* fewer do not tell which is odd */
    FLEET_OFF_PERCENT = 3,
    FLEET_TELLS_PERCENT =
        20, /* a kind in which no smaller difference would show has too few machines to tell */
    FLEET_HALF_PERCENT = 50 /* a figure in which no smaller difference would is too noisy */
};
#define FLEET_FALSE_ALARMS 0.01 /* of healthy fleets */

/* A figure of all machines of a kind. */
struct fleet_figure {
    uint32_t name, unit;
    int count;                /* machines that have it */
    double median, low, high; /* in `unit` */
    double noise;             /* relative; NAN: fewer than FLEET_NODES_LEAST */
    double smallest; /* so much slower (a part of the rate, or more of the time) a machine is named
                      * in four of five cases; NAN: not at all */
    int worst;       /* the machine with the slowest, of `nodes` */
    bool vague;      /* too noisy to tell */
    int vague_node; /* the slowest that is not out, and how much slower than the median, as `off` */
    double vague_off;
    int *slow;      /* [slow_count] machines of the slower of two groups */
    int slow_count; /* 0: there are no two */
    double apart;   /* how much slower that group is, as `off` */
};

/* A figure that a machine should have: others do. */
struct fleet_lack {
    int node;
    uint32_t name;
    enum { LACK_NUMBER, LACK_ZERO, LACK_TWICE } kind; /* it is zero; it is there twice */
};

struct fleet_outlier {
    int node;   /* of `nodes` */
    int figure; /* of `figures` */
    double value;
    double off;        /* how much slower it is: 0.1 takes 10% longer, or does a tenth less */
    double deviations; /* in standard deviations of the others; INFINITY: all others are equal */
    bool doubtful;     /* taken while others used the machine */
};

/* A value of a setting that not all machines of a kind share, or the status of a row that is low,
 * or fails, on some. */
struct fleet_value {
    uint32_t name, value;
    int count;       /* machines that have it */
    int *nodes;      /* [count] */
    bool fails, odd; /* of a status: the row fails there; and not on most machines of the kind */
};

struct fleet_kind {
    uint32_t name;
    int count;
    int *nodes;               /* [count], of the fleet's */
    int machines;             /* that these are of */
    struct fleet_lack *lacks; /* by machine */
    int lack_count;
    int *lacking; /* [lacking_count] machines that have lacks */
    int lacking_count;
    struct fleet_figure *figures;
    int figure_count;
    bool tells;                     /* a difference of FLEET_TELLS_PERCENT or less would show */
    struct fleet_outlier *outliers; /* the largest `off` first */
    int outlier_count;
    struct fleet_value *values; /* by setting; of a setting the commonest first */
    int value_count;
    struct fleet_value *statuses;
    int status_count;
};

struct fleet {
    struct intern *names; /* texts of all nodes */
    struct node *nodes;
    int count, machines;
    struct arena *arena;               /* of all that follows, but for numbers of texts */
    uint32_t all_figures, times, none; /* "all_figures", "x", "-" */
    struct fleet_kind *kinds;          /* the commonest first */
    int kind_count;
    int *out; /* [out_count] machines with an outlier that is not doubtful, or an odd row that fails
               */
    int out_count;
};

/* Called for a file that cannot be read, with its path; status_last() says why. */
typedef void fleet_skip(void *context, const char *path);

/* Reads `count` files with `read`, skips those that cannot be read, and compares. One machine alone
 * has only its own figures. BAD_INPUT: none could be read. OUT_OF_MEMORY. Release in every case. */
enum status fleet_make(struct fleet *fleet, node_reader *read, const char *const *paths, int count,
                       fleet_skip *skip, void *context);
void fleet_release(struct fleet *fleet);

/* The machines that `nodes` are of, in the order of the fleet. */
int fleet_machines(const struct fleet *fleet, const int *nodes, int count);

/* Whether "no machine is out" means something: all was measured, in all kinds, and tells. */
bool fleet_tells(const struct fleet *fleet);

/* Compares the machines that are in `nodes`, one or more, and puts those of one machine side by
 * side; fleet_make() does so once they are read. */
enum status fleet_compare(struct fleet *fleet);
