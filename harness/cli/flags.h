/* The flags that commands share: one meaning, one spelling, one help text. */
#ifndef HARNESS_CLI_FLAGS_H
#define HARNESS_CLI_FLAGS_H

#include "harness/device/device.h"
#include "harness/experiment/protocol.h"
#include "harness/text/page.h"

enum format { FORMAT_CONSOLE, FORMAT_JSON, FORMAT_MARKDOWN };

struct flags {
    const char *device;
    int64_t device_memory; /* bytes; 0: the device's default */
    const char *data;      /* NULL: the generated set */
    uint64_t seed;
    bool seed_given;
    int repetitions; /* 0: not given */
    bool quick;
    bool aa;
    enum format format;
    enum color color;
};

struct flags flags_default(void);

/* Standard output as a page: Markdown where that is the format. */
struct page flags_page(const struct flags *flags);

/* Keys are numbers from here on; a command's own begin at FLAG_OWN. */
enum flag {
    FLAG_DEVICE = 0x100,
    FLAG_DEVICE_MEMORY,
    FLAG_DATA,
    FLAG_SEED,
    FLAG_REPETITIONS,
    FLAG_QUICK,
    FLAG_AA,
    FLAG_FORMAT,
    FLAG_COLOR,
    FLAG_VERBOSE,
    FLAG_OWN = 0x200,
};

/* Rows for a command's table of options. The last number orders them in --help. */
#define FLAGS_DEVICE(what)                                                                         \
    { "device",                                                                                    \
      FLAG_DEVICE,                                                                                 \
      DEVICE_NAMES,                                                                                \
      0,                                                                                           \
      what "; auto: a GPU if one answers, else the CPU device",                                    \
      1 },                                                                                         \
    {                                                                                              \
        "device-memory", FLAG_DEVICE_MEMORY, "BYTES", 0,                                           \
            "memory that the device has (cpu) or may use (cuda): 512MiB, 2G", 1                    \
    }
#define FLAGS_DATA                                                                                 \
    { "data",                                                                                      \
      FLAG_DATA,                                                                                   \
      "DIR",                                                                                       \
      0,                                                                                           \
      "train on the JPEG files in DIR, a sub-folder per class, instead of a generated set",        \
      1 },                                                                                         \
    {                                                                                              \
        "seed", FLAG_SEED, "N", 0,                                                                 \
            "seed of the weights, the sample order and the order of repetitions", 1                \
    }
#define FLAGS_PROTOCOL                                                                             \
    { "repetitions",                                                                               \
      FLAG_REPETITIONS,                                                                            \
      "N",                                                                                         \
      0,                                                                                           \
      "pairs of before and after; fewer than 6 give no interval",                                  \
      2 },                                                                                         \
        { "quick", FLAG_QUICK, NULL, 0, "6 pairs of shorter windows", 2 },                         \
    {                                                                                              \
        "aa", FLAG_AA, NULL, 0,                                                                    \
            "A/A: measure before against before, to see whether this machine makes the same "      \
            "settings look different; no traces",                                                  \
            2                                                                                      \
    }
#define FLAGS_OUTPUT                                                                               \
    {                                                                                              \
        "color", FLAG_COLOR, "WHEN", 0, "auto, always or never; auto respects NO_COLOR", 3         \
    }
#define FLAGS_VERBOSE                                                                              \
    {                                                                                              \
        "verbose", FLAG_VERBOSE, NULL, 0, "errors say where in the source they were noticed", 3    \
    }

/* The protocol that these flags ask for; it borrows their texts. */
struct protocol flags_protocol(const struct flags *flags);

/* Takes one shared flag. */
enum status flags_take(struct flags *flags, int key, const char *value);

#endif
