/* The time of long steps beyond usual ones is one sum: collections of garbage and compilations have
 * findings of their own for their parts of it, and the rest is that of the line that was seen most.
 */
#include "harness/desk/diagnosis/program_times.h"

#include "harness/base/figures/quantity.h"
#include "harness/base/figures/statistics.h"
#include "harness/desk/diagnosis/rules/rules.h"
#include "harness/text/json.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { STEPS_LEAST = 16, LONG_LEAST = 2, COMPILING_LEAST = 3, PIECES_LEAST = 8 };

/* Memory: the fewest looks behind the warm-up, the growth from the first of them to the last, the
 * part of all pairs of looks in which the later one is larger, and how many times as many steps as
 * so far are soon. */
enum { LOOKS_LEAST = 8 };
#define GROWN_LEAST  0.1
#define RISING_LEAST 0.8
#define SOON         10

/* --- Reading --- */

static void read_line(struct program_line *line, const cJSON *json)
{
    snprintf(line->kind, sizeof line->kind, "%s", json_text_of(json, "kind"));
    line->s = json_number_of(json, "s");
    line->where = (struct call_place){ .kind = PLACE_LINE };
    line->where.line = line->where.last_line = (int64_t)fmax(0, json_number_of(json, "line"));
    snprintf(line->where.file, sizeof line->where.file, "%s", json_text_of(json, "file"));
    snprintf(line->where.function, sizeof line->where.function, "%s",
             json_text_of(json, "function"));
    if (json_text_of(json, "call")[0] != '\0' && json_text_of(json, "call")[0] != '<')
        snprintf(line->where.call, sizeof line->where.call, "%.60s()", json_text_of(json, "call"));
}

static void read_memory(struct program_times *times, const cJSON *json)
{
    const cJSON *steps = cJSON_GetObjectItemCaseSensitive(json, "memory_steps");
    const cJSON *bytes = cJSON_GetObjectItemCaseSensitive(json, "memory_bytes");
    int count = cJSON_GetArraySize(steps);

    if (cJSON_GetArraySize(bytes) != count)
        return;
    times->available_bytes = fmax(0, json_number_of(json, "available_bytes"));
    for (int i = 0; i < count && i < PROGRAM_LOOKS; i++) {
        times->memory_steps[i] = json_number_at(steps, i);
        times->memory_bytes[i] = json_number_at(bytes, i);
        times->memory_count++;
    }
}

bool program_times_read(struct program_times *times, const cJSON *json)
{
    const cJSON *pieces = cJSON_GetObjectItemCaseSensitive(json, "pieces_s"), *line;
    const struct {
        const char *name;
        double *value;
    } members[] = {
#define MEMBER(name) { #name, &times->name }
        MEMBER(wall_s),      MEMBER(before_s),    MEMBER(recording_s),      MEMBER(after_s),
        MEMBER(steps),       MEMBER(steps_s),     MEMBER(usual_s),          MEMBER(long_steps),
        MEMBER(long_s),      MEMBER(longest_s),   MEMBER(long_collected_s), MEMBER(compiling_steps),
        MEMBER(compiling_s), MEMBER(core_wait_s), MEMBER(long_compiled_s),  MEMBER(long_compiles),
#undef MEMBER
    };
    const size_t added = ARRAY_SIZE(members) - 2; /* those from there on are not in older ones */

    *times = (struct program_times){ .wall_s = 0 };
    for (size_t i = 0; i < ARRAY_SIZE(members); i++) {
        *members[i].value = json_number_of(json, members[i].name);
        if (i >= added && isnan(*members[i].value))
            *members[i].value = 0;
        if (!(*members[i].value >= 0))
            return false;
    }
    for (int i = 0; i < cJSON_GetArraySize(pieces) && i < PROGRAM_PIECES; i++)
        times->pieces_s[times->piece_count++] = json_number_at(pieces, i);
    read_memory(times, json);
    cJSON_ArrayForEach(line, cJSON_GetObjectItemCaseSensitive(json, "lines"))
    {
        if (times->line_count < PROGRAM_LINES)
            read_line(&times->lines[times->line_count++], line);
    }
    return times->wall_s > 0;
}

const struct program_line *program_times_line(const struct program_times *times, const char *kind)
{
    for (int i = 0; i < times->line_count; i++)
        if (strcmp(times->lines[i].kind, kind) == 0)
            return &times->lines[i];
    return NULL;
}

/* --- Findings --- */

/* A finding of the whole run: what all steps lost, on average. False: it is too little. The device
 * may be many launches behind the host, which then waits for it now and then: steps take as long as
 * the device's work all the same. */
static bool costs_program(struct finding *finding, const char *id,
                          const struct program_times *times, double lost_s)
{
    double waited = times->core_wait_s / times->steps_s;

    *finding = rule_finding(rule_find(id));
    finding->confidence = waited > 1     ? CONFIDENCE_LOW /* caches are cold again and again */
                          : waited > 0.1 ? CONFIDENCE_MEDIUM
                                         : CONFIDENCE_HIGH;
    finding->mean_step_ns = 1e9 * times->steps_s / times->steps;
    lost_s = fmin(lost_s, times->steps_s - times->busy_s * times->steps);
    finding_judges(finding, "lost share of all steps", lost_s / times->steps_s, RULE_SHARE_LEAST,
                   RULE_SHARE_MAJOR);
    finding_grade(finding, finding->mean_step_ns, 1e9 * lost_s / times->steps);
    return finding->judged.value >= RULE_SHARE_LEAST;
}

/* The recorder writes the first few lines of each kind. One that was seen for a smaller part of the
 * time than `least` says nothing. */
static void place_at(struct finding *finding, const struct program_times *times, const char *kind,
                     double least)
{
    const struct program_line *line = program_times_line(times, kind);
    double all_s = strcmp(kind, "long") == 0 ? times->long_s : times->steps_s - times->long_s;

    if (line == NULL || !(all_s > 0) || !(line->s >= least * all_s))
        return;
    finding->where = line->where;
    finding->where.share = fmin(1, line->s / all_s); /* looks are not at the ends of steps */
}

/* Steps that wait for cores are long at lines that take long in usual ones as well. */
static bool is_unusual(const struct program_times *times, const struct call_place *where)
{
    for (int i = 0; i < times->line_count; i++)
        if (strcmp(times->lines[i].kind, "steps") == 0 &&
            times->lines[i].where.line == where->line &&
            strcmp(times->lines[i].where.file, where->file) == 0)
            return false;
    return true;
}

static bool judge_recompilation(struct finding *finding, const struct program_times *times)
{
    double others = times->steps - times->compiling_steps;
    double other_s = others > 0 ? fmax(0, times->steps_s - times->compiling_s) / others : 0;

    if (times->compiling_steps < COMPILING_LEAST ||
        !costs_program(finding, "recompilation", times,
                       times->compiling_s - other_s * times->compiling_steps))
        return false;
    if (others < COMPILING_LEAST)
        finding->predicted_gain = NAN; /* a step without is not known */
    finding_says(finding,
                 "torch.compile compiled in %.0f of %.0f steps after the first ones, which took %s "
                 "together",
                 times->compiling_steps, times->steps,
                 quantity_time(1e9 * times->compiling_s).text);
    if (others > 0)
        finding_says(finding, "; others take %s each", quantity_time(1e9 * other_s).text);
    place_at(finding, times,
             times->usual_s > 0.5 * times->steps_s / times->steps ? "steps" : "long", 0.1);
    return true;
}

static void say_long_steps(struct finding *finding, const struct program_times *times)
{
    finding_says(finding,
                 "%.0f of %.0f steps take three times as long as the usual %s or more, up to %s; "
                 "what exceeds that is %s of the %s of all steps",
                 times->long_steps, times->steps, quantity_time(1e9 * times->usual_s).text,
                 quantity_time(1e9 * times->longest_s).text,
                 quantity_time(1e9 * times->long_s).text, quantity_time(1e9 * times->steps_s).text);
}

static bool judge_garbage(struct finding *finding, const struct program_times *times)
{
    if (times->long_steps < LONG_LEAST ||
        !costs_program(finding, "garbage_collection", times, times->long_collected_s))
        return false;
    say_long_steps(finding, times);
    finding_says(finding, ", and Python's collections take %s of it",
                 quantity_time(1e9 * times->long_collected_s).text);
    return true;
}

static bool judge_rare_work(struct finding *finding, const struct program_times *times)
{
    double known_s = times->long_collected_s + times->long_compiled_s;

    if (times->long_steps - times->long_compiles < LONG_LEAST || /* one stall is no cause */
        !costs_program(finding, "rare_work", times, times->long_s - known_s))
        return false;
    say_long_steps(finding, times);
    if (known_s > 0)
        finding_says(finding, ", %s of it garbage and compilations",
                     quantity_time(1e9 * known_s).text);
    finding->predicted_gain = NAN; /* nobody does without all of it */
    place_at(finding, times, "long", 0.1);
    if (finding->confidence == CONFIDENCE_LOW && finding->where.share >= 0.5 &&
        is_unusual(times, &finding->where))
        finding->confidence = CONFIDENCE_MEDIUM;
    return true;
}

/* The first piece warms up. */
static bool judge_growth(struct finding *finding, const struct program_times *times)
{
    const double *pieces = times->pieces_s + 1;
    int count = times->piece_count - 1;
    double early, late;

    if (count < PIECES_LEAST || !stats_grows(pieces, count, &early, &late) ||
        !costs_program(finding, "growing_steps", times,
                       times->steps_s - times->long_s - early * times->steps))
        return false;
    finding_says(finding,
                 "a usual step takes %s in the first quarter of the run and %s in the last",
                 quantity_time(1e9 * early).text, quantity_time(1e9 * late).text);
    place_at(finding, times, "steps", 0.5);
    return true;
}

/* The first quarter warms up: caches fill, and workers start. A line through the rest tells the
 * slope. */
static bool judge_memory(struct finding *finding, const struct program_times *times)
{
    int first = times->memory_count / 4, count = times->memory_count - first, rising = 0, pairs = 0;
    const double *steps = times->memory_steps + first, *bytes = times->memory_bytes + first;
    double grown, per_step, left, explained;

    if (count < LOOKS_LEAST || !(steps[count - 1] > steps[0]))
        return false;
    for (int i = 0; i < count; i++)
        for (int j = i + 1; j < count; j++, pairs++) rising += bytes[j] > bytes[i];
    grown = bytes[count - 1] - bytes[0];
    per_step = stats_slope(steps, bytes, count, &explained);
    if (rising < RISING_LEAST * pairs || !(grown >= GROWN_LEAST * bytes[0]) || !(per_step > 0))
        return false;
    left = times->available_bytes / per_step;
    *finding = rule_finding(rule_find("host_memory_growth"));
    finding->confidence = CONFIDENCE_MEDIUM;
    if (left <= SOON * times->steps)
        finding->severity = SEVERITY_MAJOR;
    finding_judges(finding, "growth of memory", grown / bytes[0], GROWN_LEAST, 1);
    finding_says(finding,
                 "the program and its workers take %s of the host's memory after %.0f steps and %s "
                 "after %.0f, %s more with each step",
                 quantity_bytes(bytes[0]).text, steps[0], quantity_bytes(bytes[count - 1]).text,
                 steps[count - 1], quantity_bytes(per_step).text);
    if (times->available_bytes > 0)
        finding_says(finding, "; the %s that are left last for %.0f steps",
                     quantity_bytes(times->available_bytes).text, left);
    return true;
}

int program_times_judge(struct finding findings[PROGRAM_FINDINGS],
                        const struct program_times *times)
{
    int count = 0;

    if (!(times->steps >= STEPS_LEAST) || !(times->steps_s > 0))
        return 0;
    count += judge_recompilation(&findings[count], times);
    count += judge_garbage(&findings[count], times);
    count += judge_rare_work(&findings[count], times);
    count += judge_growth(&findings[count], times);
    count += judge_memory(&findings[count], times);
    return count;
}
