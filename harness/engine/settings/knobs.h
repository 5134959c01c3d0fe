/* The knobs: every setting of the training step as text, in one table.
 *
 * Scenarios, `train`'s flags, result files and `explain` all use this table, so a setting has one
 * name, one set of values and one place where it is read. */
#pragma once

#include "harness/device/device.h"
#include "harness/engine/settings/config.h"

enum knob_kind {
    KNOB_CHOICE,  /* an enum: its values in order are `values` */
    KNOB_YES_NO,  /* a bool: `values` are false's word and true's */
    KNOB_COUNT,   /* an int within the range */
    KNOB_WORKERS, /* an int: threads, or -N for N per core */
    KNOB_RANK,    /* an int: a rank, counted from 1, so that 0 is none */
    KNOB_REAL,    /* a double within the range */
    KNOB_BYTES,   /* an int64_t, with a suffix: KiB, MiB, GiB; or `role` */
    KNOB_SEED,    /* a uint64_t */
};

/* One row of the table. */
struct knob {
    const char *name;    /* "loss_every"; as a flag: --loss-every */
    const char *values;  /* "eager|graph|blocking|auto", "1..1024" ... */
    const char *healthy; /* the default */
    const char *text;    /* for help: one line */
    enum knob_kind kind;
    size_t offset;      /* in struct training_config */
    double least, most; /* numbers: the range */
    const char *zero;   /* numbers: the only spelling of 0, which the range excludes; NULL: none */
    const char *one;    /* counts: the same of 1 */
    const char *acts;   /* other settings without which its value changes nothing, all of
                           which must hold: "input=cached|decoded workers!=0" (one of these values;
                           none of them); NULL: it always acts */
    bool changes_no_result; /* a saved run may go on with another value: all bits stay the same */
};
const struct knob *knobs_list(int *count);

/* The healthy value of every knob; knobs_resolve() replaces `auto`. */
void knobs_defaults(struct training_config *config);

/* Sets one knob; a name may have '-' for '_'. BAD_USAGE names a knob that is near, or the values
 * that the knob takes; `config` is then unchanged. */
enum status knob_set(struct training_config *config, const char *name, const char *value);

/* The values that the knob takes, in words: "eager, graph or auto"; "" where there is no such
 * knob. */
void knob_advice(const char *name, char *text, size_t size);

/* Sets several, all or none: "model=balanced input=decoded workers=0". */
enum status knobs_apply(struct training_config *config, const char *settings);

/* Fills in the values that depend on the device and the model's role (sizes, launch mode, workers,
 * precision), passes the seed and the sizes on to the modules that use them, and refuses impossible
 * combinations with the reason (REFUSED). The values depend on no knobs but model, data, tokens,
 * patch, width and ranks, so that a scenario's knob never moves another; only memory_budget=role
 * depends on all of the model's sizes and on precision. A resolved configuration resolves to
 * itself; after changing one of those knobs, start again from an unresolved one. */
enum status knobs_resolve(struct training_config *config, const struct device_properties *device);

/* The value of a knob as knob_set takes it. `text` has room for `size` bytes; BAD_USAGE where that
 * is too little, here and below. */
enum status knob_get(const struct training_config *config, const char *name, char *text,
                     size_t size);

/* Names the knobs that decide the results and differ: "batch=8 instead of 4, seed=2 instead of 1";
 * "" where none do. Differences that do not fit are left out. */
void knobs_differences(const struct training_config *saved, const struct training_config *now,
                       char *text, size_t size);

/* All knobs as "name=value name=value ...", in the table's order. KNOBS_TEXT bytes are enough. */
enum { KNOBS_TEXT = 2048 };
enum status knobs_print(const struct training_config *config, char *text, size_t size);

enum { KNOB_WHY = 160 };

/* Whether another value of the knob could change anything with these settings, which
 * knobs_resolve() has filled in. If not, `why` says so: "workers acts only with
 * --input=cached|decoded (here input=resident)"; else it is "". A name that is no knob acts. */
bool knob_acts(const struct training_config *resolved, const char *name, char why[KNOB_WHY]);

/* The next knob, from `*at` on in the table, that has another value in `config` than its default
 * and does not act in `resolved`, which is the same settings resolved. False: there is none. Begin
 * with 0; `*at` is then behind it. */
bool knobs_next_idle(const struct training_config *config, const struct training_config *resolved,
                     int *at, char why[KNOB_WHY]);
