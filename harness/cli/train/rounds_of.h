/* bench and run --rounds-of OLD NEW: measures two builds of chokepoint in turns and compares them;
 * bench also two programs of Google Benchmark, and with --command whatever writes a file of results
 * (benchmark_file.h).
 *
 * Each round starts both programs, one after the other, and every second round the other way round
 * (old new, new old, ...): a machine that drifts, or alternates by itself, hits both alike. Nothing
 * runs beside them, and nothing but the program differs: both get the same command line, letter for
 * letter, because even the length of a path moves the stack and with it a time (Mytkowicz et al.,
 * "Producing Wrong Data Without Doing Anything Obviously Wrong!", ASPLOS 2009). The verdict and the
 * exit code are those of `compare`. */
#pragma once

#include "harness/cli/job/job_flags.h"

/* Set by the options below. */
struct rounds_of {
    bool given;
    int rounds;       /* 0: not given */
    double threshold; /* relative; 0: not given */
    const char *
        command; /* for the shell, with {program} and {out} in it; NULL: OLD and NEW are programs */
};

/* How a command measures once. */
struct rounds_of_command {
    const char *name;
    const char *out;    /* its option that names what it writes */
    const char *suffix; /* of what it writes; "" is a folder with a result.json */
    const char *like; /* its option that repeats the work of an earlier result; NULL: it has none */
};

/* The programs are the first two arguments of `flags`, and each run gets the others and the options
 * of groups 1 and 2. A program that does not know the command's name, as those of Google Benchmark,
 * is started without it. With a command of the user's own, that is run by /bin/sh: {program} is OLD
 * or NEW there, whatever these are, and {out} the file that it has to write. The results are
 * flags->out/old-1 and new-1, old-2 ...; a run that did not end well leaves "unfinished" there at
 * most. *exit_code is that of `compare`, and otherwise never 1: BAD_USAGE, and BAD_INPUT, or
 * NO_DEVICE where its own exit code says so, when a program does not end well. INTERRUPTED after
 * the rounds so far were compared. */
enum status rounds_of_measure(const struct rounds_of *rounds_of,
                              const struct rounds_of_command *command, const struct flags *flags,
                              int *exit_code);

/* BAD_USAGE where an option of the rounds was given without --rounds-of. */
enum status rounds_of_refuse_options(const struct rounds_of *rounds_of);

/* Rows for the command's table of options; `member` is its struct rounds_of. */
#define ROUNDS_OF_COMMAND(type, member)                                                            \
    {                                                                                              \
        "command", "COMMAND",                                                                      \
            "measure with this command of the shell: {program} in it is OLD or NEW, any two "      \
            "words, and "                                                                          \
            "{out} the file that it writes: JSON of Google Benchmark, hyperfine or "               \
            "pytest-benchmark",                                                                    \
            4, value_text, .offset = offsetof(struct type, member.command)                         \
    }
#define ROUNDS_OF_OPTIONS(type, member)                                                            \
    { "rounds-of",                                                                                 \
      NULL,                                                                                        \
      "measure the two programs OLD and NEW in turns, with the options above, and compare them",   \
      4,                                                                                           \
      value_boolean,                                                                               \
      .offset = offsetof(struct type, member.given) },                                             \
        { "rounds",   "N",         "how often each is measured; 4 if not given",                   \
          4,          value_count, .offset = offsetof(struct type, member.rounds),                 \
          .least = 1, .most = 1000 },                                                              \
    {                                                                                              \
        "threshold", "PERCENT", "changes up to this do not matter; 5% if not given", 4,            \
            value_percent, .offset = offsetof(struct type, member.threshold), .least = 0.001,      \
                           .most = 1000                                                            \
    }
