/* Whether a trace can be believed: what is wrong in it, what was mended, and how far its figures
 * can be trusted.
 *
 * Recorders, converters and merging scripts write traces that cannot be: work that overlaps within
 * a stream, times of zero, work before its launch, every event twice, steps of two cycles with a
 * hole between. Each check looks for one kind of damage and mends it in the rows of the trace,
 * before anything else looks at them. Damage that cannot be mended lowers the trust, and with it
 * the confidence of findings. */
#pragma once

#include "harness/base/system/arena.h"
#include "harness/desk/analysis/timeline/timeline.h"
#include "harness/desk/trace/trace_file.h"

enum sound_check {
    SOUND_WHOLE,      /* the recorder and the file lost nothing */
    SOUND_TIMES,      /* no event is far from the others */
    SOUND_DURATIONS,  /* device work takes time */
    SOUND_DUPLICATES, /* no event is there twice */
    SOUND_STREAMS,    /* work on a stream comes one after the other */
    SOUND_CLOCK,  /* work follows its launch, and a wait ends after the work that it waits for */
    SOUND_CYCLES, /* no hole between the marked steps */
    SOUND_ANNOTATIONS, /* no annotation runs over a step's mark */
    SOUND_BEGINNING,   /* nothing was recorded before the first marked step */
    SOUND_PROCESSES,   /* one process */
    SOUND_DEVICES,     /* one device */
    SOUND_RECORDER,    /* the recorder took no time of the program's, and complained of nothing */
    SOUND_CHECK_COUNT
};

/* How far the figures can be trusted. */
enum trust {
    TRUST_WHOLE,
    TRUST_LESS,   /* no finding is more than possible */
    TRUST_LITTLE, /* and the trace may not be worth reading on */
};

struct sound_row {
    int64_t count; /* of the events, steps or devices that it found; 0: nothing is wrong */
    enum trust trust;
    int64_t doubt_ns; /* idle time that the check puts in doubt; 0: it tells no share */
    char found[256];  /* a sentence without its end */
    char mended[96];  /* a clause: "each ends where the next begins"; "": nothing was mended */
};

struct soundness {
    struct sound_row rows[SOUND_CHECK_COUNT];
    enum trust trust; /* the least of the rows */
};

/* The trust in what is said of so much idle time. A clock that is wrong by microseconds leaves a
 * second of it as it is; and what the device does by itself (0), any. */
enum trust soundness_trust(const struct soundness *soundness, double idle_ns);

/* Mends the trace, whose rows may be fewer and have other times afterwards, and returns its
 * timeline. */
struct timeline sound_timeline_of(struct arena *arena, struct trace_file *trace,
                                  struct soundness *soundness);

/* "streams", "whole", "less" */
const char *sound_check_name(enum sound_check check);
const char *trust_name(enum trust trust);

/* Several processes in one file: scripts merge the traces of a job's ranks. */

/* The processes of a trace that mark steps: if they are several, each is a rank. */
struct processes {
    int64_t *ids;                     /* ascending */
    int64_t count;                    /* 0 if they are fewer than two, and then all is NULL */
    int32_t *event_part, *frame_part; /* the number of its process in `ids` */
};

struct processes processes_of(struct arena *arena, const struct trace_file *trace);
