/* A number's text lies beside the word that it becomes, so words need no memory of their own. */
#include "harness/lab/experiment/parent/arguments.h"

#include "harness/lab/experiment/parent/process.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static void add_word(struct arguments *arguments, const char *word)
{
    arguments->list[arguments->count++] = word;
}

static void add_option(struct arguments *arguments, const char *option, const char *value)
{
    add_word(arguments, option);
    add_word(arguments, value);
}

/* 0 is left out: the child takes its default. */
static void add_number(struct arguments *arguments, const char *option, double value)
{
    char *text = arguments->texts[arguments->count];

    if (value > 0) {
        snprintf(text, sizeof arguments->texts[0], "%.9g", value);
        add_option(arguments, option, text);
    }
}

static void add_integer(struct arguments *arguments, const char *option, uint64_t value)
{
    char *text = arguments->texts[arguments->count];

    snprintf(text, sizeof arguments->texts[0], "%" PRIu64, value);
    add_option(arguments, option, text);
}

static void begin(struct arguments *arguments, const struct scenario *scenario)
{
    memset(arguments, 0, sizeof *arguments);
    add_option(arguments, "exec", scenario->name);
    if (scenario->is_own) {
        own_scenario_print(arguments->own, scenario);
        add_option(arguments, "--own", arguments->own);
    }
}

/* The fields that are set, then two that every child gets: the seed, of which 0 is a value like any
 * other, and the descriptor for the records. */
static void add_protocol(struct arguments *arguments, const struct protocol *protocol)
{
#define ADD_TEXT(name, option)                                                                     \
    if (protocol->name != NULL)                                                                    \
        add_option(arguments, option, protocol->name);
#define ADD_INTEGER(type, name, option)                                                            \
    if (protocol->name > 0)                                                                        \
        add_integer(arguments, option, (uint64_t)protocol->name);
#define ADD_NUMBER(name, option) add_number(arguments, option, protocol->name);
#define ADD_FLAG(name, option)                                                                     \
    if (protocol->name)                                                                            \
        add_word(arguments, option);
    PROTOCOL_FIELDS(ADD_TEXT, ADD_INTEGER, ADD_NUMBER, ADD_FLAG)
#undef ADD_TEXT
#undef ADD_INTEGER
#undef ADD_NUMBER
#undef ADD_FLAG
    add_integer(arguments, "--seed", protocol->seed);
    add_integer(arguments, "--record-fd", PROCESS_RECORD_FD);
}

void arguments_exec(struct arguments *arguments, const struct scenario *scenario,
                    const struct protocol *protocol)
{
    begin(arguments, scenario);
    add_protocol(arguments, protocol);
}

void arguments_trace(struct arguments *arguments, const struct scenario *scenario,
                     const struct protocol *protocol, enum variant variant, const char *path,
                     double step_time_us)
{
    begin(arguments, scenario);
    add_option(arguments, "--variant", variant_name(variant));
    add_option(arguments, "--trace", path);
    add_number(arguments, "--step-time", step_time_us / 1e6);
    add_number(arguments, "--peak-flops", protocol->ceilings[variant].flops_per_second);
    add_number(arguments, "--copy-bandwidth", protocol->ceilings[variant].bytes_per_second);
    add_protocol(arguments, protocol);
}
