/* chokepoint compare: result files of one version against those of another, row by row. */
#include "harness/cli/commands.h"
#include "harness/cli/flags.h"
#include "harness/cli/options.h"
#include "harness/compare/comparison_output.h"

#include <errno.h>
#include <math.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    FLAG_NEW = FLAG_OWN,
    FLAG_THRESHOLD,
    FLAG_NOISE,
    FLAG_FILTER,
    FLAG_METRIC,
    FLAG_BETTER,
    FLAG_FORCE
};

struct compare {
    struct flags flags;
    struct compare_rule rule;
    const char **paths[SIDES]; /* room for every argument */
    int counts[SIDES];
    bool new_begun, force;
    regex_t pattern;
    bool has_pattern;
    struct compare_files sides[SIDES];
};

/* "5%" or "5": percent. */
static enum status take_percent(double *share, const char *option, const char *text)
{
    enum status status = STATUS_OK;
    char *end;

    errno = 0;
    *share = strtod(text, &end) / 100;
    if (errno != 0 || end == text || (*end != '\0' && strcmp(end, "%") != 0) ||
        !(*share >= 0 && *share <= 10))
        FAIL(STATUS_BAD_USAGE, "--%s=%s: give percent from 0%% to 1000%%, as in 3%%", option, text);

out:
    return status;
}

static enum status take_filter(struct compare *compare, const char *value)
{
    enum status status = STATUS_OK;
    char text[160];
    int error;

    if (value[0] == '\0')
        FAIL(STATUS_BAD_USAGE, "--filter is empty: give a regular expression, as in --filter=gemm");
    if (compare->has_pattern)
        regfree(&compare->pattern);
    error = regcomp(&compare->pattern, value, REG_EXTENDED | REG_NOSUB);
    compare->has_pattern = error == 0;
    if (error != 0) {
        regerror(error, &compare->pattern, text, sizeof text);
        FAIL(STATUS_BAD_USAGE, "--filter=%.100s is not a regular expression: %s", value, text);
    }

out:
    return status;
}

static enum status take_better(enum better *better, const char *value)
{
    enum status status = STATUS_OK;

    if (strcmp(value, "smaller") == 0)
        *better = BETTER_SMALLER;
    else if (strcmp(value, "larger") == 0)
        *better = BETTER_LARGER;
    else
        FAIL(STATUS_BAD_USAGE, "--better=%s: give smaller or larger", value);

out:
    return status;
}

static enum status take(void *context, int key, const char *value)
{
    struct compare *compare = context;

    switch (key) {
    case FLAG_NEW:
        compare->new_begun = true;
        return STATUS_OK;
    case FLAG_THRESHOLD:
        return take_percent(&compare->rule.threshold, "threshold", value);
    case FLAG_NOISE:
        return take_percent(&compare->rule.noise, "noise", value);
    case FLAG_FILTER:
        return take_filter(compare, value);
    case FLAG_METRIC:
        compare->rule.metric = value;
        return STATUS_OK;
    case FLAG_BETTER:
        return take_better(&compare->rule.better, value);
    case FLAG_FORCE:
        compare->force = true;
        return STATUS_OK;
    default:
        return flags_take(&compare->flags, key, value);
    }
}

static enum status take_path(void *context, const char *path)
{
    struct compare *compare = context;
    enum compare_side side = compare->new_begun ? SIDE_NEW : SIDE_BASE;

    compare->paths[side][compare->counts[side]++] = path;
    return STATUS_OK;
}

/* Without --new the two files are BASE and NEW. */
static enum status split_sides(struct compare *compare)
{
    enum status status = STATUS_OK;

    if (!compare->new_begun && compare->counts[SIDE_BASE] == 2) {
        compare->paths[SIDE_NEW][0] = compare->paths[SIDE_BASE][1];
        compare->counts[SIDE_BASE] = compare->counts[SIDE_NEW] = 1;
    }
    if (!compare->new_begun && compare->counts[SIDE_BASE] > 2)
        FAIL(STATUS_BAD_USAGE, "%d files were given: put --new before the first of the new ones",
             compare->counts[SIDE_BASE]);
    if (compare->counts[SIDE_BASE] == 0 || compare->counts[SIDE_NEW] == 0)
        FAIL(STATUS_BAD_USAGE,
             "the files to compare are missing: chokepoint compare BASE NEW, or BASE... --new "
             "NEW...");

out:
    return status;
}

/* A file counted twice looks like two runs that agree perfectly. */
static enum status refuse_twice(const struct compare *compare)
{
    enum status status = STATUS_OK;

    for (int side = 0; side < SIDES; side++)
        for (int i = 0; i < compare->counts[side]; i++)
            for (int j = 0; j < i; j++)
                if (strcmp(compare->paths[side][i], compare->paths[side][j]) == 0)
                    FAIL(STATUS_BAD_USAGE,
                         "%s is given twice on one side: it would count as two runs",
                         compare->paths[side][i]);

out:
    return status;
}

static enum status read_sides(struct compare *compare)
{
    enum status status = STATUS_OK;

    for (int side = 0; side < SIDES; side++) {
        compare->sides[side].files =
            calloc((size_t)compare->counts[side], sizeof *compare->sides[side].files);
        if (compare->sides[side].files == NULL)
            FAIL(STATUS_OUT_OF_MEMORY, "no memory left for %d files", compare->counts[side]);
        for (int i = 0; i < compare->counts[side]; i++) {
            TRY(benchmark_file_read(&compare->sides[side].files[i], compare->paths[side][i],
                                    compare->rule.metric));
            compare->sides[side].count++;
        }
    }

out:
    return status;
}

static bool is_wanted(void *context, const char *name)
{
    const struct compare *compare = context;

    return !compare->has_pattern || regexec(&compare->pattern, name, 0, NULL, 0) == 0;
}

static enum status print(const struct compare *compare, const struct comparison *comparison)
{
    enum status status = STATUS_OK;
    struct page page = flags_page(&compare->flags);
    char *text = NULL, doubts[1024];

    compare_doubts(compare->sides, doubts, sizeof doubts);
    if (compare->flags.format == FORMAT_JSON) {
        TRY(comparison_json(comparison, compare->sides, doubts, &text));
        fputs(text, stdout);
    } else {
        comparison_page(&page, comparison, doubts);
    }

out:
    free(text);
    return status;
}

static void release(struct compare *compare)
{
    for (int side = 0; side < SIDES; side++) {
        for (int i = 0; i < compare->sides[side].count; i++)
            benchmark_file_release(&compare->sides[side].files[i]);
        free(compare->sides[side].files);
        free(compare->paths[side]);
    }
    if (compare->has_pattern)
        regfree(&compare->pattern);
}

static enum status run_compare(int argc, char **argv, int *exit_code)
{
    static const struct argp_option rows[] = {
        { "new", FLAG_NEW, NULL, 0, "the files after it are the new side", 1 },
        { "threshold", FLAG_THRESHOLD, "PERCENT", 0,
          "changes up to this do not matter; 5% if not given", 2 },
        { "noise", FLAG_NOISE, "PERCENT", 0,
          "relative standard deviation between runs, at least; for one file per side", 2 },
        { "filter", FLAG_FILTER, "REGEX", 0, "only rows whose name matches (POSIX extended)", 2 },
        { "metric", FLAG_METRIC, "NAME", 0,
          "real_time, cpu_time, or a counter of the rows: peak_memory, bytes_per_second", 2 },
        { "better", FLAG_BETTER, "smaller|larger", 0,
          "which is better; smaller if not given, larger for ..._per_second", 2 },
        { "force", FLAG_FORCE, NULL, 0, "compare files of different devices or clocks too", 2 },
        { "format", FLAG_FORMAT, "FORMAT", 0, "console, json or markdown", 3 },
        FLAGS_OUTPUT,
        FLAGS_VERBOSE,
        OPTIONS_END,
    };
    enum status status = STATUS_OK;
    struct compare compare = {
        .flags = flags_default(),
        .rule = { .metric = BENCHMARK_TIME, .threshold = 0.05, .noise = NAN },
    };
    const struct options options = {
        .command = "compare",
        .arguments = "BASE NEW\nBASE... --new NEW...",
        .text = "Says for each benchmark whether NEW is faster or slower than BASE, the same, or "
                "whether the noise is too large to tell (undecided). Files are those of Google "
                "Benchmark or chokepoint; in a folder, result.json is read. Give several files per "
                "side, measured in turns: only they show how much runs differ. With one file per "
                "side, the noise between its repetitions stands in. A run counts with its best "
                "repetition, or with its median where only that has moved.\v"
                "Examples:\n"
                "  chokepoint compare old.json new.json\n"
                "  chokepoint compare old/*.json --new new/*.json --format=markdown\n"
                "  chokepoint compare old.json new.json --noise=3% --threshold=10%\n"
                "  chokepoint compare old.json new.json --metric=bytes_per_second\n"
                "\n" EXIT_CODES("nothing is slower", "something is slower"),
        .rows = rows,
        .option = take,
        .argument = take_path,
        .in_order = true,
        .context = &compare,
    };
    struct comparison comparison = { .count = 0 };
    bool helped;

    for (int side = 0; side < SIDES; side++) {
        compare.paths[side] = calloc((size_t)argc + 1, sizeof *compare.paths[side]);
        if (compare.paths[side] == NULL)
            FAIL(STATUS_OUT_OF_MEMORY, "no memory left for %d files", argc);
    }
    TRY(options_parse(&options, argc, argv, &helped));
    if (helped)
        goto out;
    TRY(split_sides(&compare));
    TRY(refuse_twice(&compare));
    TRY(read_sides(&compare));
    if (!compare.force)
        TRY(compare_check(compare.sides));
    TRY(comparison_make(&comparison, compare.sides, &compare.rule, is_wanted, &compare));
    TRY(print(&compare, &comparison));
    *exit_code = comparison.counts[COMPARE_SLOWER] > 0 ? 1 : 0;

out:
    comparison_release(&comparison);
    release(&compare);
    return status;
}

const struct command command_compare = { "compare",
                                         "compare result files, as a gate for regressions",
                                         run_compare };
