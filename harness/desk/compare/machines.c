/* Each member of the context that tells machines apart is a row of a table; the clock is judged by
 * itself, since it may have been read at a bad moment. */
#include "harness/desk/compare/machines.h"

#include "harness/base/rows.h"
#include "harness/base/words/text.h"
#include "harness/text/json.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { VALUE = 200, SENTENCE = 640, ITERATIONS_MANY = 10 };

/* A member of the context as text; "" when there is none. */
typedef void member_text(const struct benchmark_file *file, const char *key, char text[VALUE]);

static void plain_text(const struct benchmark_file *file, const char *key, char text[VALUE])
{
    benchmark_file_context(file, key, text, VALUE);
}

/* "L1d 32 KiB, L3 256 MiB": each cache once, in the order of the file. */
static void caches_text(const struct benchmark_file *file, const char *key, char text[VALUE])
{
    const cJSON *caches = cJSON_GetObjectItemCaseSensitive(file->context, key), *cache;

    text[0] = '\0';
    cJSON_ArrayForEach(cache, caches)
    {
        const char *type = json_text_of(cache, "type");
        double level = json_number_of(cache, "level"), bytes = json_number_of(cache, "size");
        const char *unit = bytes >= 1 << 20 ? "MiB" : "KiB";
        char one[64];
        if (!(bytes > 0) || !(level >= 1 && level <= 9))
            continue;
        snprintf(one, sizeof one, "L%.0f%s %.6g %s", level,
                 strcmp(type, "Data") == 0          ? "d"
                 : strcmp(type, "Instruction") == 0 ? "i"
                                                    : "",
                 bytes / (bytes >= 1 << 20 ? 1 << 20 : 1 << 10), unit);
        if (strstr(text, one) == NULL)
            text_join(text, VALUE, ", ", "%s", one);
    }
}

static void processors_text(const struct benchmark_file *file, const char *key, char text[VALUE])
{
    char count[32];

    benchmark_file_context(file, key, count, sizeof count);
    snprintf(text, VALUE, "%s%s", count, count[0] != '\0' ? " CPUs" : "");
}

static void switch_text(const struct benchmark_file *file, const char *key, char text[VALUE])
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(file->context, key);

    snprintf(text, VALUE, "%s", cJSON_IsTrue(item) ? "on" : cJSON_IsFalse(item) ? "off" : "");
}

/* Members of the context in which files must agree, where both have them; the others are reasons to
 * doubt. */
static const struct member {
    const char *key, *what;
    member_text *text;
    bool must;
} members[] = {
    { "device", "device", plain_text, true },
    { "device_name", "device", plain_text, true },
    { "device_isa", "device's instruction set", plain_text, true },
    { "real_time_clock", "clock", plain_text, true },
    { "cpu_time_clock", "clock of cpu_time", plain_text, true },
    { "num_cpus", "number of processors", processors_text, true },
    { "cpu_model", "processor", plain_text, true },
    { "caches", "machine (its caches)", caches_text, true },
    { "host_name", "host", plain_text, false },
    { "cpu_scaling_enabled", "scaling of the clock", switch_text, false },
    { "library_build_type", "build type", plain_text, false },
    { "device_driver", "driver", plain_text, false },
    { "environment", "environment", plain_text, false },
};

const struct benchmark_file *compare_file_at(const struct compare_files *sides, int index)
{
    return index < sides[SIDE_BASE].count ? &sides[SIDE_BASE].files[index]
                                          : &sides[SIDE_NEW].files[index - sides[SIDE_BASE].count];
}

/* The first file that disagrees with an earlier one in `member`; false: none does. */
static bool disagree(const struct compare_files *sides, const struct member *member,
                     char text[SENTENCE])
{
    const struct benchmark_file *known = NULL;
    char first[VALUE] = "", other[VALUE];

    for (int i = 0; i < sides[SIDE_BASE].count + sides[SIDE_NEW].count; i++) {
        const struct benchmark_file *file = compare_file_at(sides, i);
        member->text(file, member->key, other);
        if (other[0] == '\0')
            continue;
        if (known != NULL && strcmp(first, other) != 0) {
            snprintf(text, SENTENCE, "another %s: %.100s has \"%.80s\", %.100s has \"%.80s\"",
                     member->what, known->path, first, file->path, other);
            return true;
        }
        known = file;
        memcpy(first, other, sizeof first);
    }
    return false;
}

/* --- The processor's clock --- */

static double clock_of(const struct benchmark_file *file)
{
    double mhz = json_number_of(file->context, "mhz_per_cpu");

    return mhz > 0 ? mhz : NAN;
}

static bool is_other_clock(const struct benchmark_file *one, const struct benchmark_file *other)
{
    return fabs(log(clock_of(one) / clock_of(other))) > CLOCK_TOLERANCE;
}

static bool is_same_host(const struct benchmark_file *one, const struct benchmark_file *other)
{
    char names[2][VALUE];

    plain_text(one, "host_name", names[0]);
    plain_text(other, "host_name", names[1]);
    return names[0][0] != '\0' && strcmp(names[0], names[1]) == 0;
}

/* Whether one side's runs on one host had several clocks. */
static bool is_clock_unsteady(const struct compare_files *sides)
{
    for (int side = 0; side < SIDES; side++)
        for (int i = 0; i < sides[side].count; i++)
            for (int j = 0; j < i; j++) {
                const struct benchmark_file *one = &sides[side].files[i],
                                            *other = &sides[side].files[j];
                if (is_same_host(one, other) && is_other_clock(one, other))
                    return true;
            }
    return false;
}

/* Two files whose clocks differ; *must: they may not be compared. */
static bool clocks_disagree(const struct compare_files *sides, char text[SENTENCE], bool *must)
{
    int count = sides[SIDE_BASE].count + sides[SIDE_NEW].count;
    bool is_steady = !is_clock_unsteady(sides),
         is_several = sides[SIDE_BASE].count > 1 && sides[SIDE_NEW].count > 1, found = false;

    *must = false;
    for (int i = 0; i < count && !*must; i++)
        for (int j = 0; j < i && !*must; j++) {
            const struct benchmark_file *one = compare_file_at(sides, j),
                                        *other = compare_file_at(sides, i);
            if (!is_other_clock(one, other))
                continue;
            *must = is_steady && (is_several || !is_same_host(one, other));
            if (!found || *must)
                snprintf(text, SENTENCE,
                         "another machine (its clock): %.100s has %.0f MHz, %.100s has %.0f MHz",
                         one->path, clock_of(one), other->path, clock_of(other));
            found = true;
        }
    return found;
}

/* --- What a file says of its runs --- */

/* A file that began while others used more than half of the processors. */
static bool is_loaded(const struct compare_files *sides, char text[SENTENCE])
{
    for (int i = 0; i < sides[SIDE_BASE].count + sides[SIDE_NEW].count; i++) {
        const struct benchmark_file *file = compare_file_at(sides, i);
        const cJSON *load = cJSON_GetObjectItemCaseSensitive(file->context, "load_avg");
        double cpus = json_number_of(file->context, "num_cpus");
        load = cJSON_IsArray(load) ? load->child : NULL;
        if (!cJSON_IsNumber(load) || !(cpus > 0 && load->valuedouble > fmax(cpus / 2, 1.5)))
            continue;
        snprintf(text, SENTENCE, "%.100s was begun at a load of %.1f on %.0f CPUs", file->path,
                 load->valuedouble, cpus);
        return true;
    }
    return false;
}

/* Two files of one side that have the same content: they count as two runs that agree. */
static bool is_copied(const struct compare_files *sides, char text[SENTENCE])
{
    for (int side = 0; side < SIDES; side++)
        for (int i = 0; i < sides[side].count; i++)
            for (int j = 0; j < i; j++) {
                const struct benchmark_file *one = &sides[side].files[j],
                                            *other = &sides[side].files[i];
                if (!cJSON_Compare(one->root, other->root, true))
                    continue;
                snprintf(text, SENTENCE,
                         "%.100s and %.100s are the same: copies are no runs of their own",
                         one->path, other->path);
                return true;
            }
    return false;
}

/* A row whose files have other labels, or of which one did a single iteration and others many, as a
 * dry run does. */
static bool is_row_unlike(const struct compare_files *sides, char text[SENTENCE])
{
    const struct benchmark_file *first = compare_file_at(sides, 0);

    for (int i = 1; i < sides[SIDE_BASE].count + sides[SIDE_NEW].count; i++) {
        const struct benchmark_file *file = compare_file_at(sides, i);
        for (int j = 0; j < file->count; j++) {
            const struct benchmark_row *row = &file->rows[j],
                                       *other = benchmark_file_row(first, row->name);
            double most = other != NULL ? fmax(row->iterations, other->iterations) : 0;
            if (other != NULL && strcmp(row->label, other->label) != 0) {
                snprintf(text, SENTENCE, "another label: %.100s has \"%.80s\" and \"%.80s\"",
                         row->name, other->label, row->label);
                return true;
            }
            if (most >= ITERATIONS_MANY && fmin(row->iterations, other->iterations) == 1) {
                snprintf(text, SENTENCE,
                         "%.100s ran for 1 iteration in %.100s, and for %.0f in another", row->name,
                         (row->iterations == 1 ? file : first)->path, most);
                return true;
            }
        }
    }
    return false;
}

/* --- All members --- */

enum status compare_check(const struct compare_files *sides)
{
    char text[SENTENCE];
    bool must = false;

    for (size_t i = 0; i < ARRAY_SIZE(members); i++)
        if (members[i].must && disagree(sides, &members[i], text))
            FAIL(STATUS_BAD_INPUT, "%s; use --force to compare them anyway", text);
    if (clocks_disagree(sides, text, &must) && must)
        FAIL(STATUS_BAD_INPUT, "%s; use --force to compare them anyway", text);

    return STATUS_OK;
}

void compare_doubts(const struct compare_files *sides, char *text, size_t size)
{
    char doubt[SENTENCE];
    bool must;

    text[0] = '\0';
    for (size_t i = 0; i < ARRAY_SIZE(members); i++)
        if (disagree(sides, &members[i], doubt))
            text_join(text, size, "; ", "%s", doubt);
    if (clocks_disagree(sides, doubt, &must))
        text_join(text, size, "; ", "%s", doubt);
    if (is_loaded(sides, doubt))
        text_join(text, size, "; ", "%s", doubt);
    if (is_copied(sides, doubt))
        text_join(text, size, "; ", "%s", doubt);
    if (is_row_unlike(sides, doubt))
        text_join(text, size, "; ", "%s", doubt);
}

void compare_machine(const struct benchmark_file *file, char *text, size_t size)
{
    char value[VALUE];
    double mhz = clock_of(file);

    text[0] = '\0';
    for (size_t i = 0; i < ARRAY_SIZE(members); i++) {
        members[i].text(file, members[i].key, value);
        if (members[i].must && value[0] != '\0')
            text_join(text, size, ", ", "%s", value);
    }
    if (!isnan(mhz))
        text_join(text, size, ", ", "%.1f GHz", mhz / 1000);
}
