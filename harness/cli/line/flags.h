/* The flags that commands share: one meaning, one spelling, one help text. */
#pragma once

#include "harness/cli/line/options.h"
#include "harness/cli/line/values.h"
#include "harness/text/page.h"

#include <limits.h>
#include <stdint.h>
#include <stdio.h>

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

static inline struct flags flags_default(void)
{
    return (struct flags){ .device = "auto", .out = "chokepoint-result" };
}

/* Standard output as a page: Markdown if that is the format. */
static inline struct page flags_page(const struct flags *flags)
{
    return flags->format == FORMAT_MARKDOWN ? page_markdown(stdout)
                                            : page_console(stdout, flags->color);
}

/* Rows for a command's table of options; job_flags.h has those of commands that measure. */
#define FLAG(name, value, text, group, take, member)                                               \
    {                                                                                              \
        name, value, text, group, take, .offset = offsetof(struct flags, member)                   \
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
