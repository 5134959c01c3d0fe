/* The earlier run's document states the settings and the protocol of each scenario. A flag that was
 * given must not contradict it, and one that was not becomes what the document says, so that the
 * two runs differ in nothing but the program.
 *
 * An error says what contradicts what, before anything is measured. A run has one seed, one folder
 * of images and one size of device memory, so these are taken from the first scenario. */
#include "harness/cli/train/run.h"

#include "harness/desk/compare/file/workload.h"
#include "harness/lab/experiment/result.h"
#include "harness/text/benchmark_rows.h"
#include "harness/text/json.h"
#include "scenarios/gpu_kernels/kernel_lessons.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WINDOW_MOST = 600 }; /* seconds, as exec takes them */

static const cJSON *scenario_in(const struct like *like, const char *name)
{
    return workload_scenario(like->result.root, name, strlen(name), false);
}

/* --- Scenarios --- */

/* Whether there are times to compare with: a scenario that was skipped may have settings too. */
static bool was_measured(const cJSON *entry)
{
    const char *verdict = json_text_of(entry, "verdict");

    return strcmp(verdict, verdict_name(VERDICT_SKIPPED)) != 0 &&
           strcmp(verdict, verdict_name(VERDICT_FAILED)) != 0;
}

/* Those that the file measured, and pairs of kernels that this version has, if the command line
 * names none. */
static enum status choose_all(const struct like *like, struct choice *choice)
{
    const cJSON *ours = cJSON_GetObjectItemCaseSensitive(like->result.root, "chokepoint"), *entry;

    cJSON_ArrayForEach(entry, benchmark_scenarios(like->result.root))
    {
        if (was_measured(entry))
            TRY(choice_add(choice, json_text_of(entry, "name")));
    }
    cJSON_ArrayForEach(entry, cJSON_GetObjectItemCaseSensitive(ours, "kernels"))
    {
        if (kernel_lesson_find(json_text_of(entry, "name")) != NULL)
            TRY(choice_add(choice, json_text_of(entry, "name")));
    }
    if (choice_count(choice) + choice_lessons(choice) == 0)
        FAIL(STATUS_BAD_INPUT,
             "it has no scenario that was measured: give a result of chokepoint run");

    return STATUS_OK;
}

/* Reads the settings of a scenario in the file. */
static enum status read_settings(const struct like *like, const struct scenario *scenario,
                                 struct training_config *config)
{
    const cJSON *entry = scenario_in(like, scenario->name);
    const cJSON *settings = cJSON_GetObjectItemCaseSensitive(entry, "settings");
    const char *text = json_text_of(settings, variant_name(VARIANT_BEFORE));

    if (entry == NULL)
        FAIL(STATUS_BAD_INPUT, "it has no %s: name scenarios that it has, or leave the names out",
             scenario->name);
    if (!was_measured(entry))
        FAIL(STATUS_BAD_INPUT,
             "%s was not measured in it (%.60s): name other scenarios, or leave the names out",
             scenario->name, json_text_of(entry, "verdict"));
    if (text[0] == '\0')
        FAIL(STATUS_BAD_INPUT, "it does not state the settings of %s", scenario->name);
    knobs_defaults(config);
    return knobs_apply(config, text);
}

/* --- Flags --- */

/* Whether `stored`, which an older result may name by another path, is the folder `given`. */
static bool is_folder(const char *given, const char *stored)
{
    char path[PATH_MAX];

    return strcmp(given, stored) == 0 ||
           (realpath(stored, path) != NULL && strcmp(given, path) == 0);
}

/* A flag that was given must not contradict the file; one that was not becomes what the file
 * says. */
static enum status take_flags(const struct like *like, const char *name,
                              const struct training_config *config, struct flags *flags)
{
    const cJSON *protocol = cJSON_GetObjectItemCaseSensitive(scenario_in(like, name), "protocol");
    const cJSON *memory = cJSON_GetObjectItemCaseSensitive(protocol, "device_memory");
    const char *data = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(protocol, "data"));
    const int64_t bytes =
        cJSON_IsNumber(memory) && memory->valuedouble >= 1 && memory->valuedouble < 0x1p62
            ? (int64_t)memory->valuedouble
            : 0;

    if (flags->has_seed && flags->seed != config->seed)
        FAIL(STATUS_BAD_USAGE, "its seed is %llu, so leave out --seed=%llu",
             (unsigned long long)config->seed, (unsigned long long)flags->seed);
    if (flags->data[0] != '\0' && (data == NULL || !is_folder(flags->data, data)))
        FAIL(STATUS_BAD_USAGE, "its images are %.200s, so leave out --data=%.200s",
             data != NULL ? data : "generated", flags->data);
    if (flags->device_memory != 0 && flags->device_memory != bytes)
        FAIL(STATUS_BAD_USAGE,
             bytes != 0 ? "its device memory is %lld bytes, so leave out --device-memory"
                        : "it had the device's own memory, so leave out --device-memory",
             (long long)bytes);
    flags->seed = config->seed;
    flags->has_seed = true;
    snprintf(flags->data, sizeof flags->data, "%s", data != NULL ? data : "");
    flags->device_memory = bytes;
    flags->quick =
        flags->quick || cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(protocol, "quick"));

    return STATUS_OK;
}

/* The same of ranks, which only some scenarios have. */
static enum status take_ranks(const struct training_config *config, struct flags *flags)
{
    if (config->ranks.count == 1)
        return STATUS_OK;
    if (flags->ranks > 0 && flags->ranks != config->ranks.count)
        FAIL(STATUS_BAD_USAGE, "it has %d ranks, so leave out --ranks=%d", config->ranks.count,
             flags->ranks);
    flags->ranks = config->ranks.count;

    return STATUS_OK;
}

enum status like_read(struct like *like, const char *path, struct flags *flags,
                      struct choice *choice)
{
    enum status status = STATUS_OK;
    struct training_config config;
    bool first = true;

    status = benchmark_file_read(&like->result, path, BENCHMARK_TIME);
    if (status != STATUS_OK) {
        status_context("--like");
        return status;
    }
    if (choice_count(choice) + choice_lessons(choice) == 0)
        TRY_OUT(choose_all(like, choice));
    for (int i = 0; i < CHOICE_MAX; i++) {
        if (!choice->chosen[i])
            continue;
        TRY_OUT(read_settings(like, scenarios[i], &config));
        if (scenarios[i]->balance.kind != BALANCE_NONE)
            /* The size of the images was chosen by measurement then; to choose anew could give
             * other work. */
            like->jpeg_pixels[i] = config.data.jpeg_pixels;
        /* 0: the file does not say. */
        const cJSON *protocol =
            cJSON_GetObjectItemCaseSensitive(scenario_in(like, scenarios[i]->name), "protocol");
        double seconds =
            cJSON_GetNumberValue(cJSON_GetObjectItemCaseSensitive(protocol, "window_seconds"));
        like->window_seconds[i] = seconds > 0 && seconds <= WINDOW_MOST ? seconds : 0;
        TRY_OUT(take_ranks(&config, flags));
        if (first)
            TRY_OUT(take_flags(like, scenarios[i]->name, &config, flags));
        first = false;
    }

out:
    if (status != STATUS_OK)
        status_context("--like=%.100s", path);
    return status;
}

enum status like_check_device(const struct like *like, const struct device_properties *device)
{
    char kind[64];

    if (like->result.root == NULL)
        return STATUS_OK;
    benchmark_file_context(&like->result, "device", kind, sizeof kind);
    if (strcmp(kind, device->kind) != 0)
        FAIL(
            STATUS_BAD_INPUT,
            "--like=%.100s was measured on a device of the kind \"%s\", and this is %s: choose the "
            "same kind with --device",
            like->result.path, kind, device->name);

    return STATUS_OK;
}

void like_release(struct like *like)
{
    benchmark_file_release(&like->result);
}
