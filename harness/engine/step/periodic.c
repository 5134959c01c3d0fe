/* Work that is done once every few steps. Runs the rows that are due after a step. How many steps
 * lie between two runs is read from the settings by the row's offset.
 *
 * It also says how long a window must be to hold the same work as every other one: a common
 * multiple of all periods. */
#include "harness/engine/step/periodic.h"

#include "harness/engine/data/sequences.h"
#include "harness/engine/step/training_parts.h"

static const struct periodic *const rows[] = {
#define PERIODIC_ROW(name) &periodic_##name,
    PERIODICS(PERIODIC_ROW)
#undef PERIODIC_ROW
};

static int steps_between(const struct periodic *row, const struct training_config *config)
{
    return *(const int *)(const void *)((const char *)config + row->every);
}

enum status periodic_open(struct training *training)
{
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        if (rows[i]->open != NULL)
            TRY(rows[i]->open(training));

    return STATUS_OK;
}

enum status periodic_run(struct training *training)
{
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        enum status status;
        int every = steps_between(rows[i], &training->config);

        if (every == 0 || (training->steps + 1) % every != 0)
            continue;
        phase_push(training->device, rows[i]->phase);
        status = rows[i]->run(training);
        phase_pop(training->device);
        TRY(status);
    }

    return STATUS_OK;
}

static enum status pause_rows(struct training *training, bool those_that_keep_up)
{
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        if (rows[i]->pause != NULL && (those_that_keep_up || !rows[i]->keeps_up))
            TRY(rows[i]->pause(training));

    return STATUS_OK;
}

enum status periodic_finish(struct training *training)
{
    return pause_rows(training, false);
}

enum status periodic_pause(struct training *training)
{
    return pause_rows(training, true);
}

void periodic_close(struct training *training)
{
    for (size_t i = ARRAY_SIZE(rows); i-- > 0;)
        if (rows[i]->close != NULL)
            rows[i]->close(training);
}

/* Steps after which new workers start, a table begins anew or shards are read again, as an epoch
 * ends; 0: never, or unknown until a folder has been read. */
static int64_t steps_between_starts(const struct training_config *config)
{
    int64_t samples = config->data.kind == DATA_SEQUENCES ? SEQUENCES_TRAIN : GENERATED_TRAIN;
    bool starts_workers = config->loader.input != INPUT_RESIDENT && config->loader.workers > 0 &&
                          !config->loader.persistent_workers;

    if (!(starts_workers || config->logging.predictions_every > 0 || config->data.drops_cache) ||
        config->data.folder[0] != '\0')
        return 0;
    return samples / config->model.batch;
}

/* The least one; `every` 0 is never, and leaves the period as it is. */
static int64_t common_multiple(int64_t period, int64_t every)
{
    int64_t once = period;

    while (every > 0 && period % every != 0) period += once;
    return period;
}

int64_t training_period(const struct training_config *configs, int count)
{
    int64_t period = 1;

    for (int c = 0; c < count; c++) {
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
            period = common_multiple(period, steps_between(rows[i], &configs[c]));
        period = common_multiple(period, steps_between_starts(&configs[c]));
    }
    return period;
}
