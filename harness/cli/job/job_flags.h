/* The flags of commands that measure: which device, on what data, how often. */
#pragma once

#include "harness/base/status.h"
#include "harness/cli/line/flags.h"
#include "harness/device/device.h"
#include "harness/lab/experiment/protocol.h"

/* The seed that was given, or the protocol's. */
uint64_t flags_seed(const struct flags *flags);

/* The device that the flags ask for. */
enum status flags_open_device(struct device **device, const struct flags *flags);

/* Opens the device once, to learn that it is there and what it is. The flags name it by `name` from
 * then on, so that every child opens the same. */
enum { FLAGS_DEVICE_NAME = 16 };
enum status flags_resolve_device(struct flags *flags, char name[FLAGS_DEVICE_NAME],
                                 struct device_properties *properties,
                                 struct device_health *health);

/* BAD_USAGE where --ranks was given, and the scenario trains on one. */
enum status flags_check_ranks(const struct flags *flags, const struct scenario *scenario);

/* The protocol that these flags ask for; it borrows their texts. */
struct protocol flags_protocol(const struct flags *flags);

/* The flag of a knob: '-' for '_'. */
enum { FLAGS_KNOB_NAME = 40 };
void flags_knob_name(char name[FLAGS_KNOB_NAME], const char *knob);

/* Two rows have values of their own kind. */
option_take flags_take_data, flags_take_seed;
#define FLAG_DEVICE(what)                                                                          \
    FLAG("device", DEVICE_NAMES, what "; auto: a GPU if one answers, else the CPU device", 1,      \
         value_text, device)
#define FLAG_DEVICE_MEMORY                                                                         \
    FLAG("device-memory", "BYTES",                                                                 \
         "memory that the device has (cpu) or may use (cuda): 512MiB, 2G", 1, value_bytes,         \
         device_memory)
#define FLAG_DATA                                                                                  \
    FLAG("data", "DIR",                                                                            \
         "train on the JPEG files in DIR, a sub-folder per class, resized as needed", 1,           \
         flags_take_data, data)
#define FLAG_SEED                                                                                  \
    {                                                                                              \
        "seed", "N", "seed of the weights, the sample order and the order of repetitions", 1,      \
            flags_take_seed, .offset = 0                                                           \
    }
#define FLAG_REPETITIONS(text, group)                                                              \
    {                                                                                              \
        "repetitions", "N", text, group, value_count,                                              \
            .offset = offsetof(struct flags, repetitions), .least = 1, .most = 1000                \
    }
#define FLAG_PAIRS FLAG_REPETITIONS("pairs of before and after; fewer than 6 give no interval", 2)
#define FLAG_QUICK FLAG("quick", NULL, "6 pairs of shorter windows", 2, value_boolean, quick)
#define FLAG_AA                                                                                    \
    FLAG("aa", NULL,                                                                               \
         "A/A: measure before against before, to see whether this machine makes the same "         \
         "settings look different; no traces",                                                     \
         2, value_boolean, aa)
#define FLAG_RANKS                                                                                 \
    {                                                                                              \
        "ranks", "N", "processes of scenarios of the group ranks, instead of as many as they say", \
            2, value_count, .offset = offsetof(struct flags, ranks), .least = 2, .most = 1024      \
    }

/* A command as one of several ranks. */

/* For one rank: nothing. In a job that a launcher started: the process joins it, and all but the
 * first rank write nothing to standard output from then on. Else the process becomes the launcher,
 * which starts this very command again as each rank, and does not return; what the first rank
 * writes to standard output goes to `output`. NO_LIBRARY says what is missing, BAD_USAGE that the
 * job has another number of ranks. */
enum status rank_job_enter(int ranks, int output);
