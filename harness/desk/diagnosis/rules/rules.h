/* The rules behind findings: a row for each has all that is said of it, and what all of them look
 * at.
 *
 * A rule is a condition on a summary. It says what its finding costs in time of the traced step,
 * gives the evidence, and may set what else it knows; the engine (findings.c) turns the cost into
 * severity, untraced time and predicted gain, and orders. */
#pragma once

#include "harness/base/figures/quantity.h"
#include "harness/desk/analysis/summary.h"
#include "harness/desk/diagnosis/facts/traced_program.h"
#include "harness/desk/diagnosis/rules/finding.h"

#include <stdbool.h>
#include <stddef.h>

/* A smaller share of a step is not a finding: torch_tb_profiler's bound for the share of data
 * loading (data.py). */
#define RULE_SHARE_LEAST 0.05

/* The same for exposed communication: torch_tb_profiler's bound for that. */
#define RULE_COMMUNICATION_LEAST 0.1

/* A finding is major, and critical, from these shares of a step on: a device that is busy for less
 * than half of the time is TensorBoard's bound. Below the first it is minor, and so is a gain of
 * less than 1.18x. Half of the gains in results/ that were predicted and then measured are off by
 * more than a tenth (test_docs), so a minor gain may as well be none. */
#define RULE_SHARE_MAJOR    0.15
#define RULE_SHARE_CRITICAL 0.5

/* A cause that takes this share of two steps explains them, however little else is in them. */
#define RULE_SHARE_FILLS 0.8

/* A device that is busy for a smaller share of a step waits for its host, and is not called
 * healthy. One that is busy for a larger share sets the pace (facts_pace()). */
#define RULE_BUSY_GOOD 0.7

/* Fewer kernels and copies in a trace show no pattern, whether or not steps are marked around
 * them. */
enum { RULE_WORK_LEAST = 10 };

/* A kernel that takes longer has enough work: starting and ending it, a few us, no longer count. */
#define RULE_SHORT_KERNEL_NS 1e5

enum { FACTS_FIXED_MOST = 9 };

enum { FACTS_KNOWN_MOST = 64 };

/* The times of replays: rules, and what judges their findings, ask for the same ones. */
struct known_times {
    struct known_time {
        const struct rule *rules[2 * FACTS_FIXED_MOST]; /* in order; NULL behind the last */
        double iteration_ns;
    } items[FACTS_KNOWN_MOST];
    int count;
};

/* The subject of all rules: a summary, and its figures per step of the trace as it is, in ns. */
struct facts {
    const struct summary *summary;
    const struct summary *ranks; /* of the same run, this one among them */
    int64_t rank_count;
    const struct ranks_together *together; /* NULL: whoever asks gathers it */
    const struct event_device *device;     /* timeline_device(); NULL: without work, too */
    bool has_steps;
    double steps; /* in the window; 1 where the trace marks none, or what its optimizer calls say */
    double window_ns;
    double step_ns, busy_ns;
    double launches;               /* that caused work */
    bool lacks_work;               /* of more than a tenth of the launches: idle time may be none */
    struct traced_program program; /* which words fit */
    double passes;                 /* forward passes per step; 1 where none is marked */
    double median_step_ns;
    /* Rules whose changes are assumed to be made, and what an iteration of the loop takes with them
     * (replay.h). */
    const struct rule *fixed[FACTS_FIXED_MOST];
    int fixed_count;
    struct known_times *known; /* without such changes; NULL: none are kept */
    double iteration_ns;
    bool replay_holds; /* unchanged, it gives back the trace */
};

/* Gathered to find the place in the program that a cost comes from (finding_place.h). */
enum finding_site {
    SITE_UNDECIDED, /* in no row */
    SITE_NONE,      /* the cost is of no line; the row says why */
    SITE_LOADING,   /* idle time while the host does this, and so on */
    SITE_LOGGING,
    SITE_SAVING,
    SITE_LAUNCHING,
    SITE_WORKING,
    SITE_WAITS,     /* for the device, with the idle time after them */
    SITE_OPERATORS, /* what each costs beside its work */
    SITE_COMPUTING, /* operators of a host that computes itself, all of their time */
    SITE_ALLOCATIONS,
    SITE_COPIES, /* between host and device */
    SITE_PAGEABLE_COPIES,
    SITE_DEVICE_COPIES, /* from the device to itself */
    SITE_FIRST_USES,
    SITE_CAPTURES,
    SITE_OUTSIDE, /* what the loop's thread does before the first work, and after the last */
    SITE_COUNT
};

struct rule {
    const char *id;
    const char *title;   /* begins a sentence */
    const char *also;    /* the field's words for it: names_have() */
    const char *symptom; /* seen in the trace */
    const char *meaning; /* why that costs something */
    const char *advice;  /* how to save it */
    /* The same to who is not known to train, to who serves requests, and without PyTorch's words;
     * NULL: no other. */
    const char *inferring, *serving, *plain;
    const char *cost;      /* how it is computed and bounded, or that it is no time */
    const char *threshold; /* and its source */
    bool costs_no_time; /* or nobody knows how much; else its share of a step sets the severity */

    enum bottleneck bottleneck; /* of the run; NONE: the finding says nothing of it */

    /* Returns false if there is nothing to say. Otherwise sets the evidence and, if time is lost,
     * how much (finding_costs()). All other members are preset as for a finding that costs time.
     * NULL: no trace shows the finding, which is made elsewhere and joined (diagnosis_join()). */
    bool (*judge)(struct finding *finding, const struct facts *facts);

    enum finding_site site;
    bool shortens_work; /* its advice makes the device's work shorter, not only the idle time */
    bool asks_ranks;    /* it looks at other ranks of the run */

    /* The change of its advice, as a replay makes it, whose gain is the predicted gain: what it
     * alters in the trace's graph, with the facts as its context, or else the device time per step
     * that it takes from all computation. Both NULL: nothing that a replay knows, and the gain is
     * the lost time. */
    replay_alter *alter;
    double (*saved_computing_ns)(const struct facts *facts);
};

int rule_count(void);
const struct rule *rule_at(int number);       /* from 0 on; NULL: there are fewer */
const struct rule *rule_find(const char *id); /* NULL: none has it */

/* A finding before it is judged: the rule's words, minor, sure, and without figures of time. */
struct finding rule_finding(const struct rule *rule);

/* Whether a replay can make the change of its advice. */
bool rule_is_replayed(const struct rule *rule);

/* Tables of rules; each ends with a row of zeros. Findings of equal weight keep this order. */
extern const struct rule rules_of_memory[], rules_of_launches[], rules_of_loading[],
    rules_of_host[], rules_of_copies[], rules_of_device[], rules_of_operators[], rules_of_ranks[],
    rules_of_trace[], rules_of_program[];

struct facts facts_of(const struct summary *ranks, int64_t count, int64_t which);

/* Sets the lost time, which is what a fix brings back, and with it severity and gain
 * (finding_grade()). It is cut to the step, with low confidence. False: below RULE_SHARE_LEAST. */
bool finding_costs(struct finding *finding, const struct facts *facts, double lost_ns);

/* The same with another least share. */
bool finding_costs_from(struct finding *finding, const struct facts *facts, double lost_ns,
                        double least);

/* The same for rules whose change a replay can make (rule_is_replayed()), if the symptom takes
 * `touched_ns` of the step: the lost time is what a replay with that change gains, the finding's
 * share of it and down to its least step. If that is below RULE_SHARE_LEAST, the finding informs.
 * Without a replay the lost time is `touched_ns`. */
bool finding_replays(struct finding *finding, const struct facts *facts, double touched_ns);

/* The time of an iteration with the changes of `count` rules, at most FACTS_FIXED_MOST, after those
 * that are assumed to be made; and the device's work in it, which is not merged yet. `busy` may be
 * NULL. */
double facts_iteration_ns(const struct facts *facts, const struct rule *const *rules, int count,
                          struct intervals *busy);

/* The time that a step gains by a rule's change, or by several together; less than 0: it gets
 * longer. */
double facts_saved_ns(const struct facts *facts, const struct rule *rule);
double facts_saved_together_ns(const struct facts *facts, const struct rule *const *rules,
                               int count);

/* Assumes that a rule's change is made, and the step is as much shorter. Nothing happens if
 * FACTS_FIXED_MOST are. */
void facts_fix(struct facts *facts, const struct rule *rule);

/* Notes the figure that a rule compares with bounds other than those of finding_costs(), for the
 * table of thresholds (finding.h). */
void finding_judges(struct finding *finding, const char *what, double value, double good,
                    double bad);

/* Adds to the evidence. */
void finding_says(struct finding *finding, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Makes it a finding that only informs: it costs nothing and gains nothing. */
void finding_informs(struct finding *finding);

/* The same for one that costs nothing because its advice gains nothing. It says what limits the run
 * if that is what sets the pace all the same. */
void finding_gains_nothing(struct finding *finding, const struct facts *facts);

/* Cost, gain and severity of a finding whose advice takes `lost_ns` from a step of `whole_ns`. This
 * is the one place that sets them, so they agree. */
void finding_grade(struct finding *finding, double whole_ns, double lost_ns);

/* Whether the device shares the host's cores, as the CPU device does, so that its kernels may take
 * the core of any call; or is a GPU, which leaves them to the host. Neither: there is no device. */
bool facts_on_host_cores(const struct facts *facts);
bool facts_on_gpu(const struct facts *facts);

/* The time that a finding's cost is a share of: the step without a tracer if the trace states it,
 * else step_ns. */
double facts_whole_ns(const struct facts *facts);

/* How long a step that takes `traced_ns` in the trace with the changes of `count` rules would take
 * without a tracer: as much shorter as the recorded one. A tracer makes calls of the host longer,
 * not a GPU's kernels, so these take what the changes leave them. */
double facts_untraced_ns(const struct facts *facts, double traced_ns,
                         const struct rule *const *rules, int count);

/* The part of a step in which the device works; 0: the trace took no time. */
double facts_busy_share(const struct facts *facts);

/* How much a step gets shorter per time that the device saves: by all of it if the host waits for
 * the device, by less if the host sets the pace (idle.h). Without steps the busy share. */
double facts_device_share(const struct facts *facts);

/* The busy share; if the host computes itself, the part of a step in which its loop is in
 * operators. */
double facts_computing_share(const struct facts *facts);

/* The bottleneck that fills a step, if the device, or a host that is alone, is busy for
 * RULE_BUSY_GOOD of it: the device's computation, what it sends or copies meanwhile and hides
 * behind nothing, or the host. Whichever takes longest; half of a step that is sent or copied so is
 * enough. NONE: the device waits. */
enum bottleneck facts_pace(const struct facts *facts);

/* True if a device waits for its host, which is busy with more than that: what saves device time
 * may then save nothing, because the host takes as long all the same. */
bool facts_host_sets_pace(const struct facts *facts);

/* True if the trace has so little work that shares of it mean nothing: a handful of kernels (or
 * operators, where the host computes) of all ranks, which do not fill the device either. */
bool facts_are_few(const struct facts *facts);

/* The whole that times are a share of: "a 2.09 ms step", "as traced" if another time is known, or
 * "the trace's 80.1 ms" if nothing marks steps; and what counts refer to: "per step", "in total".
 */
struct step_text {
    char text[48];
};
struct step_text step_text(const struct facts *facts);
const char *facts_per(const struct facts *facts);

/* True if the trace is of a device that is not read, or of another profiler: nothing can be said of
 * it. */
bool facts_are_foreign(const struct facts *facts);

bool facts_of_whole(const struct facts *facts); /* nothing marks steps */

/* Idle time per step while the profiler itself holds up the host. */
double facts_profiler_ns(const struct facts *facts);

/* How long the first work waited for what began before the recording (timeline_cut_ns()); 0: it did
 * not. */
double facts_cut_ns(const struct facts *facts);

/* The steps are those of an engine that serves requests; *prefills, if it is not NULL: so many of
 * them have prompts in them, and the others decode alone. */
bool facts_steps_of_engine(const struct facts *facts, int64_t *prefills);

/* How many steps of such an engine the trace has, however few, and the name of the first of them;
 * "": none. */
int64_t facts_engine_marks(const struct facts *facts, const char **name);

/* The steps are repetitions of work without a mark, which may be layers of one step: nothing is
 * said of what goes on from step to step. */
bool facts_steps_are_guessed(const struct facts *facts);
