/* Reading the loss, and logging it. The last op of every step writes the loss into a ring in device
 * memory, so a step never waits for it; the host waits only where it reads one, as `loss.item()`
 * does. A loss that is read may become a line of a log.
 *
 * With kept_loss=graph an epoch's losses are kept with their graphs, which refer to the activations
 * that backward read: as a list of losses does after backward(retain_graph=True), or in an
 * evaluation without torch.no_grad(). */
#include "harness/engine/step/parts/line_log.h"
#include "harness/engine/step/training_parts.h"

#include "harness/base/clock.h"
#include "harness/device/many_ranks.h"

#include <stdlib.h>

struct logging {
    float *ring;          /* device memory, [LOSS_RING] */
    float *read;          /* pinned host memory: the loss that was read last */
    struct line_log *log; /* NULL: none */
    struct saved_blocks graphs;
};

static enum status open_logging(struct training *training)
{
    struct logging *logging = calloc(1, sizeof *logging);

    training->logging = logging;
    if (logging == NULL)
        FAIL(STATUS_OUT_OF_MEMORY, "no memory for the losses");
    TRY(allocator_alloc(training->allocator, MEMORY_WORKSPACE, LOSS_RING * sizeof(float),
                        (void **)&logging->ring));
    TRY(device_memset(training->compute, logging->ring, 0, LOSS_RING * sizeof(float)));
    TRY(host_alloc(training->device, true, sizeof *logging->read, (void **)&logging->read));
    if (training->config.logging.log != LOGGING_NONE)
        TRY(line_log_open(&logging->log, training->config.logging.log));

    return STATUS_OK;
}

/* Reading the loss is not counted as logging: log_ns is what the line alone costs the loop. */
static enum status log_newest(struct training *training)
{
    struct logging *logging = training->logging;
    int64_t begin_ns;

    TRY(device_copy(training->compute, COPY_DEVICE_TO_HOST, logging->read,
                    logging->ring + training->steps % LOSS_RING, sizeof *logging->read));
    if (logging->log == NULL)
        return STATUS_OK;
    begin_ns = clock_ns();
    line_log_add(logging->log, training->steps + 1, *logging->read);
    training->log_ns += clock_ns() - begin_ns;
    training->log_lines++;

    return STATUS_OK;
}

/* A log that stopped does not fail the training; training_log_status() reports it. */
static enum status pause_logging(struct training *training)
{
    if (training->logging->log != NULL)
        line_log_wait(training->logging->log);
    return STATUS_OK;
}

enum status training_log_status(struct training *training)
{
    struct line_log *log = training->logging->log;

    return log != NULL ? line_log_wait(log) : STATUS_OK;
}

static void close_logging(struct training *training)
{
    struct logging *logging = training->logging;

    if (logging == NULL)
        return;
    line_log_close(logging->log);
    saved_blocks_free(&logging->graphs, training->allocator);
    saved_blocks_release(&logging->graphs);
    allocator_free(training->allocator, logging->ring);
    if (logging->read != NULL)
        host_free(training->device, true, logging->read);
    free(logging);
}

const struct periodic periodic_logging = {
    .phase = "log",
    .every = offsetof(struct training_config, logging.loss_every),
    .open = open_logging,
    .run = log_newest,
    .pause = pause_logging,
    .close = close_logging,
    .keeps_up = true, /* all lines that wait are written or sent at once */
};

struct saved_blocks *training_loss_graphs(const struct training *training)
{
    return training->config.logging.kept == KEPT_GRAPH ? &training->logging->graphs : NULL;
}

enum status training_forget_losses(struct training *training)
{
    int64_t steps =
        dataset_count(training->dataset, SPLIT_TRAIN) / (uint32_t)training->layout.samples;

    if (training->steps % (steps > 0 ? steps : 1) != 0)
        return STATUS_OK;
    return saved_blocks_free(&training->logging->graphs, training->allocator);
}

float *training_loss_ring(const struct training *training)
{
    return training->logging->ring;
}

enum status training_losses(struct training *training, int64_t first, int count, float *losses)
{
    if (first < training->first_step || count < 0 || first + count > training->steps ||
        first < training->steps - LOSS_RING)
        FAIL(STATUS_BAD_USAGE,
             "losses of steps %lld to %lld were asked for; kept are the last %d of %lld",
             (long long)first, (long long)(first + count - 1), LOSS_RING,
             (long long)training->steps);
    for (int i = 0; i < count; i++)
        TRY(device_copy(training->compute, COPY_DEVICE_TO_HOST, &losses[i],
                        training->logging->ring + (first + i) % LOSS_RING, sizeof losses[i]));
    for (int i = 0; i < count; i++) {
        double loss = (double)losses[i];
        TRY(ranks_sum(&loss, 1));
        losses[i] = (float)(loss / training->config.loader.parts);
    }

    return STATUS_OK;
}
