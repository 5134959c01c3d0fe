/* Splits a name into words and looks each up in lists of costs, of words that turn a cost into
 * something good, and of units of time after "per". */
#include "harness/desk/compare/file/metric_name.h"

#include "harness/base/status.h"
#include "harness/base/words/text.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

/* Each also with an s at its end. */
static const char *const costs[] = {
    "time",     "latency",   "latencies", "duration", "delay",      "wait",     "pause",
    "ns",       "us",        "ms",        "cycle",    "byte",       "memory",   "rss",
    "heap",     "alloc",     "malloc",    "launch",   "allocation", "launches", "sync",
    "copy",     "copies",    "capture",   "miss",     "misses",     "fault",    "failure",
    "error",    "overhead",  "stall",     "padding",  "late",       "reserved", "skipped",
    "syscall",  "variation", "dropped",   "retries",  "collective", "retry",    "instruction",
    "conflict", "barrier",
};

/* With one of these, a word of a cost says nothing: "memory_bandwidth", "bytes_saved",
 * "miss_rate". */
static const char *const turns[] = {
    "rate",        "throughput", "bandwidth", "speed", "speedup", "efficiency",
    "utilization", "occupancy",  "hit",       "saved", "free",    "reuse",
    "available",   "headroom",   "flight",    "score", "overlap", "ratio",
};

/* After "per", these make a rate: "instructions_per_cycle". */
static const char *const clocks[] = { "s",  "sec", "second", "min",   "minute", "hour",
                                      "ms", "us",  "ns",     "cycle", "clock" };

struct word {
    const char *text;
    size_t length;
};

static bool is_one_of(struct word word, const char *const *list, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        size_t own = strlen(list[i]);
        if (word.length >= own && strncasecmp(word.text, list[i], own) == 0 &&
            (word.length == own ||
             (word.length == own + 1 && tolower((unsigned char)word.text[own]) == 's')))
            return true;
    }
    return false;
}

/* The word that begins at `at`: letters of one case, or a large one and small ones. */
static struct word word_at(const char *at)
{
    const char *end = at + 1;

    if (isupper((unsigned char)at[0]) && isupper((unsigned char)at[1]))
        while (isupper((unsigned char)*end)) end++;
    else
        while (islower((unsigned char)*end)) end++;
    return (struct word){ at, (size_t)(end - at) };
}

enum metric_says metric_name_says(const char *metric)
{
    static const char *const per[] = { "per" };
    bool is_cost = false, is_turned = strstr(metric, "/s") != NULL, is_after_per = false;

    if (ends_in(metric, "_per_second"))
        return METRIC_IS_RATE;
    for (const char *at = metric; *at != '\0';) {
        struct word word = { at, 1 };
        if (isalpha((unsigned char)*at)) {
            word = word_at(at);
            is_cost = is_cost || is_one_of(word, costs, ARRAY_SIZE(costs));
            is_turned = is_turned || is_one_of(word, turns, ARRAY_SIZE(turns)) ||
                        (is_after_per && is_one_of(word, clocks, ARRAY_SIZE(clocks)));
            is_after_per = is_one_of(word, per, ARRAY_SIZE(per));
        }
        at += word.length;
    }
    return is_cost && !is_turned ? METRIC_IS_COST : METRIC_SAYS_NOTHING;
}
