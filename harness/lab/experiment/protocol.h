/* The protocol: the order for an experiment, before against after.
 *
 * The parent starts `chokepoint exec SCENARIO` as a process of its own for each scenario, so that a
 * crash, a leak or a hang costs that scenario only. The child measures pairs of repetitions and writes
 * a record for each to an inherited descriptor (records.h). The parent keeps what arrives, computes the
 * effects and gives the verdict (verdict.h). Both sides read the same protocol: it travels on the
 * child's command line (parent/arguments.h). */
#ifndef HARNESS_LAB_EXPERIMENT_PROTOCOL_H
#define HARNESS_LAB_EXPERIMENT_PROTOCOL_H

#include "benches/roofs.h"
#include "scenarios/scenario.h"

struct protocol {
    const char *device;     /* as device_open takes it; borrowed */
    int64_t device_memory;  /* bytes; 0: the device's default */
    const char *data;       /* folder of the user's images; NULL: the generated set; borrowed */
    int jpeg_pixels;        /* side of the images' files; 0: as the scenario's balance needs them */
    int repetitions;        /* pairs that count; one more is run first and thrown away. Fewer than 6
                              give no interval: then only what is exact can be reproduced */
    int extra;              /* most pairs that are added, EXTRA_PAIRS at a time, while undecided */
    double window_seconds;  /* length of a timed window, on average over both variants */
    double timeout_seconds; /* for a child as a whole */
    int ranks;              /* of scenarios that train on several; 0: as many as they say */
    uint64_t seed;          /* of the order of the repetitions, the weights and the sample order */
    bool quick;             /* only recorded: the numbers above already follow from it */
    bool unnamed;           /* traces name neither the scenario's variant nor the settings */
    bool aa;                /* A/A: the settings before on both sides; then `traces` must be NULL */
    const char *traces;     /* an existing folder for the traces; NULL: trace nothing; borrowed */
    struct ceilings
        ceilings[VARIANT_COUNT]; /* that the variants' steps are held against; traces state them */
    int lock; /* a descriptor that locks that folder, which stays locked until the last
                               child is gone too; 0: none */
};

enum { EXTRA_PAIRS = 3 };

/* 9 pairs of 0.2 s windows, or 6 of 0.1 s if quick, and up to 15 in both cases while undecided. On CUDA
 * windows last at least 0.3 s. Device "auto", seed 1. */
struct protocol protocol_default(bool quick);

/* Processes that train the scenario together. */
int protocol_ranks(const struct protocol *protocol, const struct scenario *scenario);

/* The settings of a variant as the protocol asks for them, resolved on `device`: its seed; in A/A those of
 * before; and its images, brought to the size that generated ones would have. A scenario that trains on
 * sequences takes no images. REFUSED or UNSUPPORTED where the device cannot show the scenario. */
enum status protocol_config(const struct protocol *protocol, const struct scenario *scenario,
                            enum variant variant, const struct device_properties *device,
                            struct training_config *config);

#endif
