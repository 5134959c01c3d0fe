/* One sentence: the finding that limits the run with its share of the step, or who sets the pace,
 * or how idle the device is for no known cause, or why the trace cannot tell. */
#include "harness/desk/diagnosis/rules/finding.h"

#include "harness/base/status.h"
#include "harness/desk/diagnosis/rules/rules.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

const char *bottleneck_name(enum bottleneck bottleneck)
{
    static const char *const names[] = {
#define BOTTLENECK_NAME(id, name) [BOTTLENECK_##id] = name,
        BOTTLENECKS(BOTTLENECK_NAME)
#undef BOTTLENECK_NAME
    };

    return (unsigned)bottleneck < ARRAY_SIZE(names) ? names[bottleneck] : "unknown";
}

bool bottleneck_computes(enum bottleneck bottleneck)
{
    return bottleneck == BOTTLENECK_DEVICE || bottleneck == BOTTLENECK_HOST;
}

static const char *whole(const struct facts *facts)
{
    return facts_of_whole(facts) ? "the trace" : "the step";
}

/* The one that computes. */
static const char *who(const struct facts *facts)
{
    return facts->summary->timeline.host_alone ? "host" : "device";
}

/* A title within a sentence: "The device waits" begins small there, "GPU" and "fp32" stay as they
 * are. */
static void put_title(char *text, size_t size, const char *title)
{
    snprintf(text, size, "%s", title);
    if (isupper((unsigned char)text[0]) && islower((unsigned char)text[1]))
        text[0] = (char)tolower((unsigned char)text[0]);
}

static void say_finding(struct headline *headline, const struct finding *finding,
                        const struct facts *facts, double cost)
{
    double computing = facts_computing_share(facts);
    bool busy = bottleneck_computes(finding->bottleneck) && computing >= RULE_BUSY_GOOD;
    char title[96], costs[48] = "";

    put_title(title, sizeof title, finding->title);
    if (cost > 0)
        snprintf(costs, sizeof costs, ": %s%.0f%% of %s", finding->gain_is_most ? "at most " : "",
                 100 * cost,
                 finding->mean_step_ns > 0    ? "all steps"
                 : finding->once_in_steps > 0 ? "the recorded steps, once"
                                              : whole(facts));
    if (busy)
        snprintf(headline->text, sizeof headline->text,
                 "The %s sets the pace, busy for %.0f%% of %s; %s%s%s.", who(facts),
                 100 * computing, whole(facts),
                 finding->confidence == CONFIDENCE_LOW ? "possible: " : "", title, costs);
    else
        snprintf(headline->text, sizeof headline->text, "%s%s%s.",
                 finding->confidence == CONFIDENCE_LOW ? "Possible: " : "",
                 finding->confidence == CONFIDENCE_LOW ? title : finding->title, costs);
    headline->bottleneck = finding->bottleneck;
    headline->share = busy ? computing : cost;
}

/* No rule has found a cause. */
static void say_state(struct headline *headline, const struct facts *facts)
{
    double idle = 100 * (1 - facts_computing_share(facts));

    if (facts->summary->operators.count > 0)
        snprintf(headline->text, sizeof headline->text,
                 "The host is in no operator for %.0f%% of %s, and no known cause explains it.",
                 idle, whole(facts));
    else if (facts->summary->timeline.work_count == 0)
        snprintf(headline->text, sizeof headline->text,
                 "The trace does not show what limits the run.");
    else
        snprintf(headline->text, sizeof headline->text,
                 "The device is idle for %.0f%% of %s, and no known cause explains it.", idle,
                 whole(facts));
}

/* The part of a step that a kind of work fills alone, which nothing hides. */
static double exposed_share(enum bottleneck kind, const struct facts *facts)
{
    const struct usage *usage = &facts->summary->usage;
    int64_t ns =
        kind == BOTTLENECK_COPIES ? usage->copy_exposed_ns : usage->communication_exposed_ns;

    return (double)ns / facts->window_ns;
}

static void say_pace(struct headline *headline, const struct finding *limit,
                     const struct facts *facts)
{
    bool computes = bottleneck_computes(limit->bottleneck);

    headline->bottleneck = limit->bottleneck;
    headline->share =
        computes ? facts_computing_share(facts) : exposed_share(limit->bottleneck, facts);
    if (computes)
        snprintf(headline->text, sizeof headline->text,
                 "The %s sets the pace: it is busy for %.0f%% of %s.", who(facts),
                 100 * headline->share, whole(facts));
    else
        snprintf(headline->text, sizeof headline->text,
                 "%s: %.0f%% of %s, with too little else to hide behind.", limit->title,
                 100 * headline->share, whole(facts));
}

struct headline headline_of(const struct finding *limit, const struct facts *facts)
{
    struct headline headline = { .bottleneck = BOTTLENECK_UNCLEAR, .share = NAN };
    double whole_ns =
        limit != NULL && limit->mean_step_ns > 0 ? limit->mean_step_ns : facts_whole_ns(facts);

    if (limit == NULL) {
        say_state(&headline, facts);
        return headline;
    }
    headline.is_information = limit->severity == SEVERITY_INFORMATION;
    if (!headline.is_information)
        say_finding(&headline, limit, facts,
                    whole_ns > 0 ? limit->lost_ns_per_step / whole_ns : NAN);
    else if (limit->bottleneck != BOTTLENECK_UNCLEAR && limit->bottleneck != BOTTLENECK_UNSUPPORTED)
        say_pace(&headline, limit, facts);
    else { /* The trace itself is what matters: it is too short, or of a device that is not read. */
        headline.bottleneck = limit->bottleneck;
        snprintf(headline.text, sizeof headline.text, "%s: %.*s.", limit->title,
                 (int)strcspn(limit->evidence, ";"), limit->evidence);
    }
    return headline;
}
