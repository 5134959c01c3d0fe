#include "harness/lab/corpus/corpus_truth.h"

#include "harness/base/rows.h"
#include "harness/base/sha256.h"
#include "harness/base/system/atomic_file.h"
#include "harness/bench/device_context.h"
#include "harness/lab/corpus/corpus_begun.h"
#include "harness/text/json.h"
#include "harness/text/machine_context.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

enum {
    LOCK_FD = 10, /* at least: below are those that a child process is given */
    LOCK_WAIT_MS = 50,
    LOCK_TRIES = 40,
};

static const char zeros[] = "0000000000000000000000000000000000000000000000000000000000000000";

struct corpus_truth {
    const char *folder; /* borrowed */
    char path[PATH_MAX];
    int lock;
    bool is_ours; /* the file */
    struct json json;
    cJSON *root, *items; /* the latter belongs to root */
    struct corpus_counts counts;
    const struct device_properties *device; /* borrowed */
};

/* --- The file --- */

enum status corpus_truth_text(const struct corpus_truth *truth, char **text)
{
    struct sha256 hash = sha256_start();
    char seal[SHA256_TEXT], *place;

    TRY(json_print(&truth->json, truth->root, text));
    place = strstr(*text, zeros);
    if (place == NULL)
        FAIL(STATUS_INTERNAL, "%s has no place for its seal", truth->path);
    sha256_add(&hash, *text, strlen(*text));
    sha256_print(&hash, seal);
    memcpy(place, seal, sizeof seal - 1);

    return STATUS_OK;
}

static enum status save(struct corpus_truth *truth)
{
    enum status status = STATUS_OK;
    char *text = NULL;

    TRY_OUT(corpus_truth_text(truth, &text));
    TRY_OUT(atomic_file_write(truth->path, text, strlen(text)));
    truth->is_ours = true;

out:
    free(text);
    return status;
}

/* Two programs that write a corpus into one folder would mix their traces. */
static enum status lock(struct corpus_truth *truth)
{
    enum status status = STATUS_OK;
    int low = open(truth->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool locked;

    truth->lock = low >= 0 ? fcntl(low, F_DUPFD_CLOEXEC, LOCK_FD) : -1;
    if (truth->lock < 0)
        FAIL_OUT(STATUS_IO, "cannot open the folder %.300s: %s", truth->folder, strerror(errno));
    /* The child of a call that was killed keeps the lock until it is gone too. */
    for (int i = 0; !(locked = flock(truth->lock, LOCK_EX | LOCK_NB) == 0) &&
                    errno == EWOULDBLOCK && i < LOCK_TRIES;
         i++)
        poll(NULL, 0, LOCK_WAIT_MS);
    if (!locked && errno == EWOULDBLOCK)
        FAIL_OUT(STATUS_IO,
                 "another program writes a corpus to %.300s; wait for its end, or choose "
                 "another folder",
                 truth->folder);

out:
    if (low >= 0)
        close(low);
    return status;
}

/* Those of the list that hold on this device. */
static void add_findings_of(struct corpus_truth *truth, cJSON *array,
                            const struct accepted_finding *list)
{
    for (int i = 0; i < SCENARIO_FINDINGS && list[i].id != NULL; i++)
        if (where_holds(list[i].where, truth->device))
            json_text(&truth->json, array, NULL, list[i].id);
}

static void add_identity(struct corpus_truth *truth, cJSON *to, const struct scenario *scenario)
{
    json_text(&truth->json, to, "scenario", scenario->name);
    json_text(&truth->json, to, "group", scenario_groups[scenario->group].name);
    add_findings_of(truth, json_array(&truth->json, to, "findings"), scenario->accept);
}

/* Ids that may be there with or without the cause: its fix leaves them, or the settings around it
 * have their own. */
static void add_left_behind(struct corpus_truth *truth, cJSON *to, const struct corpus_item *item,
                            const struct scenario *cause)
{
    cJSON *array = json_array(&truth->json, to, "left_behind");

    add_findings_of(truth, array, cause->tolerated_after);
    for (int i = 0; scenarios[i] != NULL; i++)
        if (corpus_has(item, scenarios[i], truth->device))
            add_findings_of(truth, array, scenarios[i]->accept);
}

/* The causes that items are drawn from: what an answer may say, and whoever guesses. */
static void add_vocabulary(struct corpus_truth *truth)
{
    cJSON *array = json_array(&truth->json, truth->root, "vocabulary");

    for (int i = 0; scenarios[i] != NULL; i++)
        if (corpus_is_drawn(scenarios[i], truth->device))
            add_identity(truth, json_object(&truth->json, array, NULL), scenarios[i]);
}

static void add_protocol(struct corpus_truth *truth, const struct protocol *protocol)
{
    cJSON *object = json_object(&truth->json, truth->root, "protocol");

    json_integer(&truth->json, object, "pairs", protocol->repetitions);
    json_number(&truth->json, object, "window_seconds", protocol->window_seconds);
}

static void count_item(struct corpus_truth *truth, const struct corpus_item *item, bool traced,
                       bool measurable)
{
    struct corpus_counts *counts = &truth->counts;

    counts->items++;
    counts->traces += traced;
    counts->kinds[item->kind] += traced;
    counts->not_measurable += traced && !measurable;
}

/* Items of a call that was ended before. */
static enum status take_begun(struct corpus_truth *truth, const struct corpus_item *drawn,
                              int count)
{
    const cJSON *item;
    int i = 0;

    TRY(corpus_begun_read(&truth->items, truth->path, truth->root, drawn, count));
    if (truth->items == NULL) {
        truth->items = json_array(&truth->json, truth->root, "items");
        return STATUS_OK;
    }
    if (!cJSON_AddItemToObject(truth->root, "items", truth->items))
        FAIL(STATUS_OUT_OF_MEMORY, "no memory left for the items of %.300s", truth->path);
    cJSON_ArrayForEach(item, truth->items)
    {
        bool traced = cJSON_IsString(cJSON_GetObjectItemCaseSensitive(item, "trace"));
        count_item(truth, &drawn[i++], traced,
                   cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(item, "measurable")));
    }

    return STATUS_OK;
}

enum status corpus_truth_open(struct corpus_truth **truth, const char *folder, uint64_t seed,
                              const struct corpus_item *drawn, int count,
                              const struct protocol *protocol,
                              const struct device_properties *device,
                              const struct device_health *health)
{
    struct corpus_truth *opened;
    struct machine machine;
    cJSON *context;

    TRY(rows_make(truth, 1));
    opened = *truth;
    opened->lock = -1;
    opened->folder = folder;
    opened->device = device;
    if ((size_t)snprintf(opened->path, sizeof opened->path, "%s/truth.json", folder) >=
        sizeof opened->path)
        FAIL(STATUS_BAD_USAGE, "the path %.60s... is too long; choose a shorter one", folder);
    TRY(atomic_file_create_folder(folder));
    TRY(lock(opened));
    machine_read(&machine, "");
    opened->root = json_object(&opened->json, NULL, NULL);
    json_integer(&opened->json, opened->root, "schema", CORPUS_SCHEMA);
    json_text(&opened->json, opened->root, "seal", zeros);
    json_unsigned(&opened->json, opened->root, "seed", seed);
    json_integer(&opened->json, opened->root, "count", count);
    context = json_object(&opened->json, opened->root, "context");
    machine_context(&machine, &opened->json, context);
    device_context(&opened->json, context, device, health);
    add_protocol(opened, protocol);
    add_vocabulary(opened);
    TRY(take_begun(opened, drawn, count));
    TRY(save(opened));

    return STATUS_OK;
}

void corpus_truth_close(struct corpus_truth *truth)
{
    if (truth == NULL)
        return;
    if (truth->is_ours && truth->counts.items == 0)
        unlink(truth->path);
    if (truth->lock >= 0)
        close(truth->lock);
    cJSON_Delete(truth->root);
    free(truth);
}

int corpus_truth_lock(const struct corpus_truth *truth)
{
    return truth->lock;
}

struct corpus_counts corpus_truth_counts(const struct corpus_truth *truth)
{
    return truth->counts;
}

const char *corpus_truth_path(const struct corpus_truth *truth)
{
    return truth->path;
}

/* --- An item --- */

/* An effect that was not measured is null; so is an end of it that is infinite. */
static void add_effect(struct json *json, cJSON *to, const char *name, const struct effect *effect,
                       enum metric metric)
{
    cJSON *object;

    if (isnan(effect->factor)) {
        json_text(json, to, name, NULL);
        return;
    }
    object = json_object(json, to, name);
    json_text(json, object, "metric", metric_name(metric));
    json_number(json, object, "before", effect->before);
    json_number(json, object, "after", effect->after);
    json_number(json, object, "factor", effect->factor);
    json_number(json, object, "low", effect->low);
    json_number(json, object, "high", effect->high);
    json_number(json, object, "coverage", effect->coverage);
}

static void add_cause(struct corpus_truth *truth, cJSON *causes, const struct corpus_item *item,
                      int which, const struct corpus_measured *measured)
{
    const struct scenario *cause = item->causes[which];
    const struct corpus_gain *gain = &measured->alone[which];
    struct json *json = &truth->json;
    cJSON *object = json_object(json, causes, NULL);

    add_identity(truth, object, cause);
    add_left_behind(truth, object, item, cause);
    json_text(json, object, "knob", cause->knob);
    json_text(json, object, "before", cause->before);
    json_text(json, object, "after", cause->after);
    add_effect(json, object, "gain", &gain->step_time, METRIC_STEP_TIME);
    add_effect(json, object, "effect", &gain->effect, gain->metric);
    json_bool(json, object, "measurable", measured->is_measurable[which]);
}

static bool is_measurable(const struct corpus_item *item, const struct corpus_measured *measured)
{
    bool all = measured->reason[0] == '\0';

    for (int i = 0; i < item->cause_count; i++) all = all && measured->is_measurable[i];
    return all;
}

static enum status add_trace(struct corpus_truth *truth, cJSON *object,
                             const struct corpus_item *item)
{
    char file[CORPUS_FILE], path[PATH_MAX], digest[SHA256_TEXT];

    corpus_file(file, item);
    if ((size_t)snprintf(path, sizeof path, "%s/%s", truth->folder, file) >= sizeof path)
        FAIL(STATUS_BAD_USAGE, "the path %.60s... is too long; choose a shorter one",
             truth->folder);
    TRY(sha256_file(path, digest));
    json_text(&truth->json, object, "trace", file);
    json_text(&truth->json, object, "sha256", digest);

    return STATUS_OK;
}

enum status corpus_truth_add(struct corpus_truth *truth, const struct corpus_item *item,
                             const struct corpus_measured *measured)
{
    struct json *json = &truth->json;
    cJSON *object = json_object(json, truth->items, NULL), *causes;

    json_text(json, object, "name", item->name);
    if (measured->reason[0] == '\0') {
        TRY(add_trace(truth, object, item));
    } else {
        json_text(json, object, "trace", NULL);
        json_text(json, object, "sha256", NULL);
    }
    json_text(json, object, "kind", corpus_kind_name(item->kind));
    causes = json_array(json, object, "causes");
    for (int i = 0; i < item->cause_count; i++) add_cause(truth, causes, item, i, measured);
    add_effect(json, object, "together", &measured->together, METRIC_STEP_TIME);
    add_effect(json, object, "same", &measured->same, METRIC_STEP_TIME);
    json_bool(json, object, "measurable", is_measurable(item, measured));
    json_text(json, object, "reason", measured->reason[0] != '\0' ? measured->reason : NULL);
    json_unsigned(json, object, "seed", item->seed);
    json_text(json, object, "settings", measured->settings[0] != '\0' ? measured->settings : NULL);
    json_number(json, object, "seconds", measured->seconds);
    TRY(save(truth));
    count_item(truth, item, measured->reason[0] == '\0', is_measurable(item, measured));

    return STATUS_OK;
}
