/* The flags that commands share: one meaning, one spelling, one help text. */
#ifndef HARNESS_CLI_LINE_FLAGS_H
#define HARNESS_CLI_LINE_FLAGS_H

#include "harness/cli/line/options.h"
#include "harness/cli/line/values.h"
#include "harness/lab/device/device.h"
#include "harness/lab/experiment/protocol.h"
#include "harness/text/page.h"

#include <limits.h>

enum format { FORMAT_CONSOLE, FORMAT_JSON, FORMAT_MARKDOWN };

/* The first member of every command's context. */
struct flags {
    const char *device;
    int64_t device_memory; /* bytes; 0: the device's default */
    char data[PATH_MAX]; /* the user's images, absolute if they are there; "": the generated set */
    uint64_t seed;
    bool has_seed;   /* it was given */
    int repetitions; /* 0: not given */
    int ranks;       /* 0: not given */
    bool quick;
    bool aa;
    bool strict;
    const char *out;
    enum format format;
    enum color color;
    bool verbose;

    const char **arguments; /* what is not an option, in order */
    int argument_count;
    struct given_option *given; /* the options, in order */
    int given_count;
};

struct flags flags_default(void);

/* Standard output as a page: Markdown where that is the format. */
struct page flags_page(const struct flags *flags);

/* The device that the flags ask for. */
enum status flags_open_device(struct device **device, const struct flags *flags);

/* BAD_USAGE where --ranks was given, and the scenario trains on one. */
enum status flags_check_ranks(const struct flags *flags, const struct scenario *scenario);

/* The protocol that these flags ask for; it borrows their texts. */
struct protocol flags_protocol(const struct flags *flags);

/* Rows for a command's table of options. Two of them have values of their own kind. */
option_take flags_take_data, flags_take_seed;
#define FLAG(name, value, text, group, take, member)                                               \
    {                                                                                              \
        name, value, text, group, take, .offset = offsetof(struct flags, member)                   \
    }
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
#define FLAG_STRICT(text, group) FLAG("strict", NULL, text, group, value_boolean, strict)
#define FLAG_OUT(what, group)                                                                      \
    FLAG("out", "DIR", what "; chokepoint-result if not given", group, value_text, out)
#define FLAG_FORMAT(words)                                                                         \
    FLAG("format", words, "format of what is printed", 3, value_choice, format)
#define FLAG_COLOR                                                                                 \
    FLAG("color", "auto|always|never", "auto respects NO_COLOR", 3, value_choice, color)
#define FLAG_VERBOSE                                                                               \
    FLAG("verbose", NULL, "errors say where in the source they were noticed", 3, value_boolean,    \
         verbose)

#endif
