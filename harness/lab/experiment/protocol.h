/* The protocol: the order for an experiment, before against after.
 *
 * The parent starts `chokepoint exec SCENARIO` as a process of its own for each scenario, so that a
 * crash, a leak or a hang costs that scenario only. The child measures pairs of repetitions and
 * writes a record for each to an inherited descriptor (records.h). The parent keeps what arrives,
 * computes the effects and gives the verdict (verdict.h). Both sides read the same protocol: it
 * travels on the child's command line (parent/arguments.h). */
#pragma once

#include "benches/roofs.h"
#include "scenarios/scenario.h"

/* The fields that travel, with the options of `exec` that carry them unless they are 0, NULL or
 * false. The first list is of those that result files record. Texts are borrowed.
 *
 * Beside the `repetitions`, which are pairs, one more is run first and thrown away. Fewer than 6
 * give no interval: then only what is exact can be reproduced. At most `extra` pairs are added,
 * EXTRA_PAIRS at a time, while undecided. */
#define PROTOCOL_RECORDED(TEXT, INTEGER, NUMBER, FLAG)                                             \
    TEXT(device, "--device")                           /* as device_open takes it */               \
    INTEGER(int64_t, device_memory, "--device-memory") /* bytes; 0: the device's default */        \
    TEXT(data, "--data") /* folder of the user's images; NULL: the generated set */                \
    INTEGER(int, repetitions, "--repetitions")                                                     \
    NUMBER(window_seconds,                                                                         \
           "--window")     /* of a timed window at most, on average over both variants */          \
    FLAG(quick, "--quick") /* the numbers already follow from it */

#define PROTOCOL_FIELDS(TEXT, INTEGER, NUMBER, FLAG)                                               \
    PROTOCOL_RECORDED(TEXT, INTEGER, NUMBER, FLAG)                                                 \
    INTEGER(int, extra, "--extra")                                                                 \
    NUMBER(shortest_seconds,                                                                       \
           "--shortest")           /* of a window; 0: none is shortened (child/resolution.h) */    \
    INTEGER(int, ranks, "--ranks") /* that train together; 0: as many as the scenario says */      \
    INTEGER(int, jpeg_pixels, "--jpeg-pixels") /* of the images' side; 0: as the balance needs */  \
    FLAG(aa, "--aa") /* the settings before on both sides; then `traces` must be NULL */

struct protocol {
#define TEXT_MEMBER(name, option)          const char *name;
#define INTEGER_MEMBER(type, name, option) type name;
#define NUMBER_MEMBER(name, option)        double name;
#define FLAG_MEMBER(name, option)          bool name;
    PROTOCOL_FIELDS(TEXT_MEMBER, INTEGER_MEMBER, NUMBER_MEMBER, FLAG_MEMBER)
#undef TEXT_MEMBER
#undef INTEGER_MEMBER
#undef NUMBER_MEMBER
#undef FLAG_MEMBER
    uint64_t seed;          /* of the order of the repetitions, the weights and the sample order */
    double timeout_seconds; /* until a child's next record, however many come; once so much is over
                             * in all, no pairs are added */
    double most_seconds;    /* for a child as a whole; 0: no limit */
    const char *traces;     /* an existing folder for the traces; NULL: trace nothing; borrowed */
    int lock; /* a descriptor that locks that folder, which stays locked until the last child is
               * gone too; 0: none */
    /* The limits that the variants' steps are compared with; traces state them. */
    struct ceilings ceilings[VARIANT_COUNT];
};

enum { EXTRA_PAIRS = 3 };

/* 6 pairs, the fewest that give an interval, and up to 15 while undecided: a first look at 9 takes
 * so much of the 5% that later ones tell less (test_resolution: what is 1.3 times beyond its bound
 * on a busy machine is seen in 98% of runs, not 99%). Windows are of 0.2 s, or 0.1 s if quick, and
 * down to a quarter where that tells enough (child/resolution.h). On CUDA they last at least 0.3 s.
 * Device "auto", seed 1. */
struct protocol protocol_default(bool quick);

/* Processes that train the scenario together. */
int protocol_ranks(const struct protocol *protocol, const struct scenario *scenario);

/* The settings of a variant as the protocol asks for them, resolved on `device`: its seed; in A/A
 * those of before; and its images, brought to the size that generated ones would have. A scenario
 * that trains on sequences takes no images. REFUSED or UNSUPPORTED where the device cannot show the
 * scenario. */
enum status protocol_config(const struct protocol *protocol, const struct scenario *scenario,
                            enum variant variant, const struct device_properties *device,
                            struct training_config *config);
