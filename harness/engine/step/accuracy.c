/* The training samples that are classified right, counted while they are trained on. The host
 * counts in logits and labels that it copies at the end of every step, and may keep these in a
 * table; or it adds up what a kernel has counted (op_accuracy()). */
#include "harness/engine/step/parts/prediction_table.h"
#include "harness/engine/step/training_parts.h"

#include "harness/base/rows.h"
#include "kernels/dialect/half.h"

#include <stdlib.h>
#include <string.h>

struct accuracy {
    void *logits; /* pinned host memory, as of the model at full length */
    int32_t *labels;
    int64_t right; /* counted on the host */
};

/* Room on the host for the logits and labels of a step, if it counts. */
static enum status open_accuracy(struct training *training)
{
    const struct encoder *encoder = training->encoder;

    TRY(rows_make(&training->accuracy, 1));
    if (training->config.logging.accuracy != ACCURACY_HOST)
        return STATUS_OK;
    TRY(host_alloc(training->device, true, tensor_bytes(encoder->logits),
                   &training->accuracy->logits));
    return host_alloc(training->device, true, (size_t)encoder->shape.samples * sizeof(int32_t),
                      (void **)&training->accuracy->labels);
}

static void close_accuracy(struct training *training)
{
    struct accuracy *accuracy = training->accuracy;

    if (accuracy == NULL)
        return;
    if (accuracy->logits != NULL)
        host_free(training->device, true, accuracy->logits);
    if (accuracy->labels != NULL)
        host_free(training->device, true, accuracy->labels);
    free(accuracy);
}

static float widened(const void *values, enum dtype dtype, int64_t i)
{
    uint32_t bits;
    float value;

    if (dtype == DTYPE_F32)
        return ((const float *)values)[i];
    if (dtype == DTYPE_F16)
        return half_widen(((const uint16_t *)values)[i]);
    bits = (uint32_t)((const uint16_t *)values)[i] << 16;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Blocks until all that is queued is done, as logits.cpu() does. */
static enum status count_on_host(struct training *training)
{
    struct accuracy *accuracy = training->accuracy;
    const struct encoder *encoder = micro_batch_encoder(training->micro_batches, 0);
    const struct model_shape *shape = &encoder->shape;
    const enum dtype dtype = encoder->logits->dtype;

    TRY(device_copy(training->compute, COPY_DEVICE_TO_HOST, accuracy->logits, encoder->logits->data,
                    tensor_bytes(encoder->logits)));
    TRY(device_copy(training->compute, COPY_DEVICE_TO_HOST, accuracy->labels,
                    training_context(training, 0).labels,
                    (size_t)shape->samples * sizeof *accuracy->labels));
    for (int i = 0; i < shape->samples; i++) {
        const int64_t row = i * encoder->logits->width;
        int best = 0; /* the first of the largest logits, as the kernel has it */
        for (int c = 1; c < shape->classes; c++)
            if (widened(accuracy->logits, dtype, row + c) >
                widened(accuracy->logits, dtype, row + best))
                best = c;
        accuracy->right += best == accuracy->labels[i];
    }

    return STATUS_OK;
}

const struct periodic periodic_accuracy = {
    .phase = "log",
    .every = offsetof(struct training_config, logging.read_logits_every),
    .open = open_accuracy,
    .run = count_on_host,
    .close = close_accuracy,
};

/* --- The table of predictions --- */

struct predictions {
    struct prediction_table *table;
    int64_t epoch; /* in steps */
};

static enum status open_predictions(struct training *training)
{
    const struct model_shape *shape = &training->encoder->shape;
    int64_t epoch = (int64_t)dataset_count(training->dataset, SPLIT_TRAIN) /
                    (training->layout.samples * training->config.loader.parts);

    if (training->config.logging.predictions_every == 0)
        return STATUS_OK;
    TRY(rows_make(&training->predictions, 1));
    training->predictions->epoch = epoch > 0 ? epoch : 1;
    return prediction_table_open(&training->predictions->table,
                                 training->predictions->epoch * shape->samples, shape->classes,
                                 training->config.logging.predictions);
}

/* Takes the logits that the host has just counted in. */
static enum status write_predictions(struct training *training)
{
    const struct accuracy *accuracy = training->accuracy;
    const struct encoder *encoder = micro_batch_encoder(training->micro_batches, 0);
    struct prediction_table *table = training->predictions->table;
    int64_t bytes;

    if (training->steps % training->predictions->epoch == 0)
        prediction_table_clear(table);
    for (int i = 0; i < encoder->shape.samples; i++) {
        float *logits = prediction_table_add(table, accuracy->labels[i]);
        for (int c = 0; c < encoder->shape.classes; c++)
            logits[c] =
                widened(accuracy->logits, encoder->logits->dtype, i * encoder->logits->width + c);
    }
    TRY(prediction_table_write(table, &bytes));
    training->table_bytes += bytes;

    return STATUS_OK;
}

static void close_predictions(struct training *training)
{
    if (training->predictions == NULL)
        return;
    prediction_table_close(training->predictions->table);
    free(training->predictions);
}

const struct periodic periodic_predictions = {
    .phase = "predictions",
    .every = offsetof(struct training_config, logging.predictions_every),
    .open = open_predictions,
    .run = write_predictions,
    .close = close_predictions,
};

enum status training_right(struct training *training, int64_t *right)
{
    const struct tensor *counts = training->encoder->right;
    int samples = training->encoder->shape.samples;
    float *read = NULL;
    enum status status = STATUS_OK;

    *right = training->accuracy->right;
    if (counts == NULL)
        return STATUS_OK;
    TRY_OUT(rows_make(&read, samples));
    TRY_OUT(device_copy(training->compute, COPY_DEVICE_TO_HOST, read, counts->data,
                        (size_t)samples * sizeof *read));
    for (int i = 0; i < samples; i++) *right += (int64_t)read[i];

out:
    free(read);
    return status;
}
