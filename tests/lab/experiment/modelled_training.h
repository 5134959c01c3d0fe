/* A training run whose times are computed instead of measured, in place of the real one: for the
 * tests of the protocol that measures. Its device is one in name only. */
#pragma once

#include "harness/engine/step/training.h"

enum { MODEL_WINDOWS = 4096, MODEL_SLOW = 8, MODEL_READINGS = 256 };

/* A timed window as it happened. */
struct modelled_window {
    bool is_after; /* loss_every is not 1 */
    int run;       /* of all that were opened, from 0 */
    int64_t steps, first_step;
};

struct model {
    /* The test sets these. */
    double step_ns[2];               /* before, after */
    double slow[MODEL_SLOW];         /* factors of a run's first windows; 0: 1 */
    int64_t ready;                   /* batches when a run is opened; a step takes one */
    bool never_settles;              /* windows are 1x and 2x in turn */
    double host_ns;                  /* of a step, without decoding */
    double device_ns;                /* of a step */
    double log_pause_ns;             /* of a line */
    double decode_ns_a_pixel;        /* alone */
    double (*decode_ns)(int pixels); /* alone, instead; NULL: none */
    int disturbed_balances;          /* the first of them find five times the host work */
    int disturbed_pixels;            /* decoding alone seems to take five times as long; 0: none */
    double decode_slowdown;          /* in the loop, over alone */
    int fail_open, fail_run, fail_window; /* the n-th of that kind fails; 0: none */
    int room;          /* runs that the modelled memory holds at once; 0: any number */
    bool log_ended[2]; /* before, after: its disk is full */
    int64_t damaged;
    struct device_properties properties;
    int limits; /* what holds the modelled clocks down */

    /* The model records these. */
    struct device_options options;
    char folder[512]; /* of the images of the run opened last */
    int opened, closed, trimmed, devices_open, runs;
    double taken_ns; /* by all steps */
    struct modelled_window windows[MODEL_WINDOWS];
    int window_count;
    int windows_at_reading[MODEL_READINGS]; /* windows done when the vitals were read */
    int readings;
    int balances;
    int reads;                /* of all files of a set */
    struct training *working; /* ran last and was not paused since */
    int beside;               /* times that one ran while another was not paused */
};

extern struct model model;

/* Before takes 3 ms per step and after 2 ms, 1 ms of it on the host without decoding. */
void model_reset(void);
