/* A foreign file is recognised by its first bytes or by members that only that tool writes. Two of
 * them are converted into Google Benchmark's form; for the others a sentence says what to do. */
#include "harness/desk/compare/file/other_tools.h"

#include "harness/text/json.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* --- By the first bytes --- */

const char *other_tools_by_bytes(const char *bytes, size_t size)
{
    static const struct {
        const char *bytes;
        size_t size;
        const char *what;
    } kinds[] = {
        { "PK\3\4", 4, "a zip archive: unpack it first" },
        { "\x28\xb5\x2f\xfd", 4, "compressed by zstd: unpack it first, zstd -d" },
        { "\x1f\x8b", 2,
          "compressed by gzip: unpack it (gunzip); traces go to --explain as they are" },
        { "\xfd"
          "7zXZ",
          5, "compressed by xz: unpack it first, unxz" },
        { "BZh", 3, "compressed by bzip2: unpack it first, bunzip2" },
        { "\xff\xfe", 2,
          "UTF-16, as PowerShell's > writes: write the file with --benchmark_out=FILE" },
        { "\xfe\xff", 2, "UTF-16: write the file with --benchmark_out=FILE" },
        { "\x7f"
          "ELF",
          4, "a program: bench --rounds-of runs it" },
        { "<", 1, "HTML or XML, perhaps the page of a failed download" },
        { "name,", 5, "CSV: write JSON, --benchmark_out_format=json" },
        { "%PDF", 4, "a PDF" },
    };

    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (size >= kinds[i].size && memcmp(bytes, kinds[i].bytes, kinds[i].size) == 0)
            return kinds[i].what;
    return NULL;
}

/* --- By the members --- */

/* nvbench has no times in its rows: they are in states, as summaries. */
static bool is_nvbench(const cJSON *root)
{
    const cJSON *first = cJSON_GetArrayItem(json_member(root, "benchmarks"), 0);

    return cJSON_IsArray(json_member(first, "states")) ||
           (json_member(root, "devices") != NULL && json_member(first, "axes") != NULL);
}

const char *other_tools_by_members(const cJSON *root)
{
    const cJSON *first = cJSON_IsArray(root) ? cJSON_GetArrayItem(root, 0) : NULL;

    if (is_nvbench(root))
        return "nvbench's JSON, which is not read here: print its times with a script into rows "
               "like "
               "{\"name\": \"x\", \"real_time\": 1.5, \"time_unit\": \"us\"} (docs/baseline.md)";
    if (cJSON_IsArray(json_member(first, "benchmarks")))
        return "several results in one array, as jq --slurp makes: each run is a file of its own, "
               "jq '.[0]'";
    if (json_member(root, "traceEvents") != NULL)
        return "a trace: give two to compare --explain, or one to diagnose";
    if (json_member(root, "ALL STATS") != NULL)
        return "memtier_benchmark's JSON, which is not read here: print its rates with a script "
               "into "
               "rows like {\"name\": \"x\", \"real_time\": 1.5, \"time_unit\": \"us\"}";
    if (cJSON_IsString(json_member(root, "row")) && cJSON_IsString(json_member(root, "metric")))
        return "a history: give it to chokepoint history";
    return NULL;
}

/* --- Conversion --- */

/* Numbers are json_number(), which benchmark_file.c reads, and not json_integer(), which is text.
 *
 * An entry for a repetition: `index` of `count`, of benchmark number `family`. */
static cJSON *add_entry(struct json *json, cJSON *entries, const char *name, int family, int index,
                        int count)
{
    return JSON_ROW(json, entries, KEY("name", name), KEY("family_index", (double)family),
                    KEY("run_name", name), KEY("run_type", "iteration"),
                    KEY("repetitions", (double)count), KEY("repetition_index", (double)index));
}

static void add_aggregate(struct json *json, cJSON *entries, const char *name, int family,
                          const char *aggregate, double seconds, double rounds)
{
    JSON_ROW(json, entries, KEY("name", name), KEY("family_index", (double)family),
             KEY("run_name", name), KEY("run_type", "aggregate"), KEY("aggregate_name", aggregate),
             KEY("iterations", rounds), KEY("real_time", seconds), KEY("time_unit", "s"));
}

/* Seconds that a tool states, one by one where it does; else their aggregates. */
static void add_times(struct json *json, cJSON *entries, const char *name, int family,
                      const cJSON *times, const cJSON *stated, const cJSON *exit_codes)
{
    static const char *const aggregates[] = { "mean", "median", "stddev" };
    int count = cJSON_GetArraySize(times), index = 0;
    const cJSON *time, *code = exit_codes != NULL ? exit_codes->child : NULL;

    for (size_t i = 0; count == 0 && i < sizeof aggregates / sizeof *aggregates; i++)
        if (isfinite(json_number_of(stated, aggregates[i])))
            add_aggregate(json, entries, name, family, aggregates[i],
                          json_number_of(stated, aggregates[i]), json_number_of(stated, "rounds"));
    cJSON_ArrayForEach(time, times)
    {
        cJSON *entry = add_entry(json, entries, name, family, index++, count);
        char message[48];
        json_number(json, entry, "real_time", cJSON_IsNumber(time) ? time->valuedouble : NAN);
        json_text(json, entry, "time_unit", "s");
        if (code != NULL && !(cJSON_IsNumber(code) && code->valuedouble == 0)) {
            snprintf(message, sizeof message, "a signal ended it"); /* null: there is no code */
            if (cJSON_IsNumber(code))
                snprintf(message, sizeof message, "exit code %.0f", code->valuedouble);
            JSON_ADD(json, entry, KEY("error_occurred", (bool)true), KEY("error_message", message));
        }
        code = code != NULL ? code->next : NULL;
    }
}

/* hyperfine names no machine and no date. */
static bool convert_hyperfine(struct json *json, const cJSON *root, cJSON *context, cJSON *entries)
{
    const cJSON *results = json_member(root, "results"), *result;
    int family = 0;

    (void)context;
    if (!cJSON_IsString(json_member(results != NULL ? results->child : NULL, "command")))
        return false;
    cJSON_ArrayForEach(result, results)
        add_times(json, entries, json_text_of(result, "command"), family++,
                  json_member(result, "times"), result, json_member(result, "exit_codes"));
    return true;
}

/* "2026-01-05T10:00:00.123456+00:00", or without a zone, which is UTC then. */
static void add_date(struct json *json, cJSON *context, const char *text)
{
    size_t seconds = strlen("2026-01-05T10:00:00");
    char date[64];
    const char *zone;

    if (strlen(text) < seconds)
        return;
    zone = text + seconds + strspn(text + seconds, ".0123456789");
    snprintf(date, sizeof date, "%.*s%.30s", (int)seconds, text, zone[0] != '\0' ? zone : "+00:00");
    json_text(json, context, "date", date);
}

static void add_machine(struct json *json, cJSON *context, const cJSON *machine)
{
    const cJSON *cpu = json_member(machine, "cpu");
    double clock = json_number_of(cpu, "hz_advertised"), cpus = json_number_of(cpu, "count");

    if (cJSON_IsArray(json_member(cpu, "hz_advertised")))
        clock = cJSON_IsNumber(json_member(cpu, "hz_advertised")->child)
                    ? json_member(cpu, "hz_advertised")->child->valuedouble
                    : NAN;
    if (json_text_of(machine, "node")[0] != '\0')
        json_text(json, context, "host_name", json_text_of(machine, "node"));
    if (cpus >= 1 && cpus < 1e6)
        json_number(json, context, "num_cpus", cpus);
    if (json_text_of(cpu, "brand_raw")[0] != '\0')
        json_text(json, context, "cpu_model", json_text_of(cpu, "brand_raw"));
    if (clock > 0)
        json_number(json, context, "mhz_per_cpu", round(clock / 1e6));
}

static bool convert_pytest(struct json *json, const cJSON *root, cJSON *context, cJSON *entries)
{
    const cJSON *benchmarks = json_member(root, "benchmarks"), *benchmark;
    int family = 0;

    if (!cJSON_IsObject(json_member(benchmarks != NULL ? benchmarks->child : NULL, "stats")))
        return false;
    add_date(json, context, json_text_of(root, "datetime"));
    add_machine(json, context, json_member(root, "machine_info"));
    if (json_text_of(json_member(root, "commit_info"), "id")[0] != '\0')
        json_text(json, context, "commit", json_text_of(json_member(root, "commit_info"), "id"));
    cJSON_ArrayForEach(benchmark, benchmarks)
    {
        const cJSON *stats = json_member(benchmark, "stats");
        const char *name = json_text_of(benchmark, "fullname");
        add_times(json, entries, name[0] != '\0' ? name : json_text_of(benchmark, "name"), family++,
                  json_member(stats, "data"), stats, NULL);
    }
    return true;
}

enum status other_tools_convert(cJSON **root)
{
    enum status status = STATUS_OK;
    struct json json = { false };
    cJSON *made = json_object(&json, NULL, NULL), *context = json_object(&json, made, "context"),
          *entries = json_array(&json, made, "benchmarks");
    bool is_read = convert_hyperfine(&json, *root, context, entries) ||
                   convert_pytest(&json, *root, context, entries);

    if (json.out_of_memory)
        FAIL_OUT(STATUS_OUT_OF_MEMORY, "no memory left for a file of benchmarks");
    if (is_read) {
        cJSON *former = *root;
        *root = made;
        made = former;
    }

out:
    cJSON_Delete(made);
    return status;
}
