/* Settings are texts of "name=value". A knob that a text does not name has its healthy value. */
#include "harness/desk/compare/file/workload.h"

#include "harness/base/hash.h"
#include "harness/base/words/text.h"
#include "harness/text/benchmark_rows.h"
#include "harness/text/catalogue.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { NAMED_MOST = 3 }; /* knobs that a sentence names; the others are counted */

const cJSON *workload_scenario(const cJSON *root, const char *name, size_t length, bool aa)
{
    const cJSON *scenario, *other = NULL;

    cJSON_ArrayForEach(scenario, benchmark_scenarios(root))
    {
        const char *own = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(scenario, "name"));
        if (own == NULL || strlen(own) != length || strncmp(own, name, length) != 0)
            continue;
        if (cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(scenario, "aa")) == aa)
            return scenario;
        other = other != NULL ? other : scenario;
    }
    return other;
}

struct workload workload_of_row(const cJSON *root, const char *row)
{
    static const struct {
        const char *ending, *variant;
    } variants[] = {
        { "before", "before" }, { "after", "after" }, { "aa:1", "before" }, { "aa:2", "after" }
    };
    const char *slash = strrchr(row, '/');
    struct workload work = { NULL, NULL, NAN };
    const cJSON *scenario, *settings, *protocol, *memory;

    if (slash == NULL)
        return work;
    scenario = workload_scenario(root, row, (size_t)(slash - row), strncmp(slash, "/aa:", 4) == 0);
    settings = cJSON_GetObjectItemCaseSensitive(scenario, "settings");
    protocol = cJSON_GetObjectItemCaseSensitive(scenario, "protocol");
    for (size_t i = 0; i < ARRAY_SIZE(variants); i++)
        if (strcmp(slash + 1, variants[i].ending) == 0)
            work.settings = cJSON_GetStringValue(
                cJSON_GetObjectItemCaseSensitive(settings, variants[i].variant));
    work.folder = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(protocol, "data"));
    memory = cJSON_GetObjectItemCaseSensitive(protocol, "device_memory");
    if (cJSON_IsNumber(memory))
        work.memory = memory->valuedouble;
    return work;
}

/* --- Differences --- */

/* A part of a text. */
struct piece {
    const char *text;
    int length;
};

static struct piece piece_of(const char *text)
{
    return (struct piece){ text, (int)strlen(text) };
}

static bool is_same(struct piece one, struct piece other)
{
    return one.length == other.length && strncmp(one.text, other.text, (size_t)one.length) == 0;
}

/* Takes the next "name=value" off *settings; false: there is none. */
static bool next_setting(const char **settings, struct piece *name, struct piece *value)
{
    const char *text = *settings + strspn(*settings, " ");
    size_t length = strcspn(text, " "), named = strcspn(text, "= ");

    *settings = text + length;
    *name = (struct piece){ text, (int)named };
    *value = (struct piece){ text + named, (int)(length - named) };
    if (value->length > 0) {
        value->text++;
        value->length--;
    }
    return length > 0;
}

/* The value that `settings` state for a knob, or its healthy value if they do not; no text without
 * a catalogue. */
static struct piece value_in(const char *settings, struct piece wanted)
{
    struct piece name, value;
    const char *healthy;

    while (next_setting(&settings, &name, &value))
        if (is_same(name, wanted))
            return value;
    if (!catalogue_known())
        return (struct piece){ NULL, 0 };
    healthy = catalogue_healthy(wanted.text, (size_t)wanted.length);
    return piece_of(healthy != NULL ? healthy : "unknown");
}

static bool states(const char *settings, struct piece wanted)
{
    struct piece name, value;

    while (next_setting(&settings, &name, &value))
        if (is_same(name, wanted))
            return true;
    return false;
}

/* A sentence that grows by one difference at a time. */
struct differences {
    char *text;
    size_t size;
    int count;
};

static void add_difference(struct differences *all, struct piece name, struct piece first,
                           struct piece second)
{
    if (first.text == NULL || second.text == NULL || is_same(first, second))
        return;
    if (all->count++ < NAMED_MOST)
        text_join(all->text, all->size, ", ", "%.*s %.*s and %.*s", name.length, name.text,
                  first.length, first.text, second.length, second.text);
}

/* Sequences are generated whatever folder is named. */
static struct piece folder_of(const struct workload *work)
{
    struct piece data = value_in(work->settings, piece_of("data"));
    bool images = data.text != NULL && is_same(data, piece_of("images"));

    return piece_of(images && work->folder != NULL ? work->folder : "none");
}

static void print_memory(char text[32], const struct workload *work)
{
    if (work->memory > 0)
        snprintf(text, 32, "%.0f bytes", work->memory);
    else
        snprintf(text, 32, "default");
}

bool workload_differs(const struct workload *first, const struct workload *second, char *text,
                      size_t size)
{
    struct differences all = { .text = text, .size = size };
    const char *settings = first->settings;
    struct piece name, value;
    char memory[2][32];

    text[0] = '\0';
    if (first->settings == NULL || second->settings == NULL)
        return false;
    add_difference(&all, piece_of("data folder"), folder_of(first), folder_of(second));
    print_memory(memory[0], first);
    print_memory(memory[1], second);
    if (!isnan(first->memory) && !isnan(second->memory))
        add_difference(&all, piece_of("device memory"), piece_of(memory[0]), piece_of(memory[1]));
    while (next_setting(&settings, &name, &value))
        add_difference(&all, name, value, value_in(second->settings, name));
    settings = second->settings;
    while (next_setting(&settings, &name, &value))
        if (!states(first->settings, name))
            add_difference(&all, name, value_in(first->settings, name), value);
    if (all.count > NAMED_MOST)
        text_append(text, size, " and %d more", all.count - NAMED_MOST);
    return all.count > 0;
}

/* --- Fingerprints --- */

static uint64_t hash_piece(uint64_t hash, struct piece piece)
{
    return hash_add(hash_add(hash, piece.text, (size_t)piece.length), " ", 1);
}

/* A sum, since the order in which knobs are stated means nothing. */
uint64_t workload_fingerprint(const struct workload *work)
{
    const char *settings = work->settings;
    struct piece name, value;
    uint64_t sum = 0;
    char memory[32];

    if (settings == NULL)
        return 0;
    while (next_setting(&settings, &name, &value)) {
        const char *healthy = catalogue_healthy(name.text, (size_t)name.length);
        if (healthy == NULL || !is_same(piece_of(healthy), value))
            sum += hash_piece(hash_piece(HASH_EMPTY, name), value);
    }
    print_memory(memory, work);
    sum += hash_piece(hash_piece(HASH_EMPTY, piece_of("data folder")), folder_of(work));
    sum += hash_piece(hash_piece(HASH_EMPTY, piece_of("device memory")), piece_of(memory));
    sum = hash_add(HASH_EMPTY, &sum, sizeof sum);
    return sum != 0 ? sum : 1;
}
