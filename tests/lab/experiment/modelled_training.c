#include "tests/lab/experiment/modelled_training.h"

#include "harness/engine/data/dataset.h"

#include <stdlib.h>
#include <string.h>

struct model model;

struct training {
    struct training_config config;
    int64_t steps;
    int windows, run;
};

struct device {
    int unused;
};

static struct device the_device;

void model_reset(void)
{
    memset(&model, 0, sizeof model);
    model.step_ns[0] = 3e6;
    model.step_ns[1] = 2e6;
    model.host_ns = 1e5;
    model.device_ns = 2e6;
    model.decode_ns_a_pixel = 10;
    model.decode_slowdown = 1;
    strcpy(model.properties.kind, "cpu");
    strcpy(model.properties.name, "modelled device");
    model.properties.memory_bytes = (int64_t)1 << 30;
    model.properties.host_cores = 2;
    model.properties.shares_host_cores = true;
}

static bool is_after(const struct training *training)
{
    return training->config.logging.loss_every != 1;
}

enum status training_open(struct training **training, struct device *device,
                          const struct training_config *config)
{
    (void)device;

    if (model.opened + 1 == model.fail_open ||
        (model.room > 0 && model.opened - model.closed >= model.room))
        FAIL(STATUS_DEVICE_OUT_OF_MEMORY, "the modelled memory is full");
    *training = calloc(1, sizeof **training);
    if (*training == NULL)
        FAIL(STATUS_OUT_OF_MEMORY, "no memory");
    (*training)->config = *config;
    (*training)->run = model.opened++;
    strcpy(model.folder, config->data.folder);

    return STATUS_OK;
}

void training_close(struct training *training)
{
    if (training != NULL) {
        training_pause(training);
        model.closed++;
        status_fail(STATUS_DEVICE_ERROR, __FILE__, __LINE__, "closing hides the first error");
    }
    free(training);
}

enum status training_run(struct training *training, int64_t steps)
{
    model.beside += model.working != NULL && model.working != training;
    model.working = training;
    if (++model.runs == model.fail_run)
        FAIL(STATUS_DEVICE_ERROR, "the modelled device broke");
    if (steps < 0)
        FAIL(STATUS_INTERNAL, "%lld steps", (long long)steps);
    training->steps += steps;
    model.taken_ns += model.step_ns[is_after(training)] * (double)steps;

    return STATUS_OK;
}

enum status training_batches_ready(const struct training *training, int64_t *ready)
{
    *ready = training->steps < model.ready ? model.ready - training->steps : 0;
    return STATUS_OK;
}

static double slowness(const struct training *training)
{
    if (model.never_settles)
        return training->windows % 2 == 0 ? 1 : 2;
    return training->windows < MODEL_SLOW && model.slow[training->windows] > 0
               ? model.slow[training->windows]
               : 1;
}

enum status training_window(struct training *training, int64_t steps,
                            struct training_window *window)
{
    double ns = model.step_ns[is_after(training)] * (double)steps * slowness(training);
    enum status status = STATUS_OK;

    if (model.window_count < MODEL_WINDOWS)
        model.windows[model.window_count++] =
            (struct modelled_window){ is_after(training), training->run, steps, training->steps };
    model.beside += model.working != NULL && model.working != training;
    model.working = training;
    if (model.window_count == model.fail_window)
        FAIL_OUT(STATUS_DEVICE_ERROR, "the modelled device broke");
    window->steps += steps;
    window->samples += 8 * steps;
    free(window->step_ns);
    window->step_ns = calloc((size_t)window->steps, sizeof *window->step_ns);
    if (window->step_ns == NULL)
        FAIL_OUT(STATUS_OUT_OF_MEMORY, "no memory");
    window->step_count += steps - 1;
    window->wall_ns += (int64_t)ns;
    window->cpu_ns += (int64_t)(2 * ns);
    window->metric[METRIC_STEP_TIME] = (double)window->wall_ns / (double)window->steps / 1e3;
    window->metric[METRIC_LOG_PAUSE] = model.log_pause_ns / 1e3;
    training->steps += steps;
    model.taken_ns += ns;
    training->windows++;

out:
    if (status != STATUS_OK)
        training_window_release(window);
    return status;
}

enum status training_fetch(struct training *training)
{
    (void)training;
    return STATUS_OK;
}

enum status training_pause(struct training *training)
{
    if (model.working == training)
        model.working = NULL;
    return STATUS_OK;
}

void training_window_release(struct training_window *window)
{
    free(window->step_ns);
    window->step_ns = NULL;
}

enum status training_losses(struct training *training, int64_t first, int count, float *losses)
{
    if (first + count > training->steps)
        FAIL(STATUS_BAD_USAGE, "losses of steps that were not run");
    for (int i = 0; i < count; i++) losses[i] = 2 / (float)(first + i + 1);

    return STATUS_OK;
}

enum status training_log_status(struct training *training)
{
    if (model.log_ended[is_after(training)])
        FAIL(STATUS_IO, "the modelled disk is full");

    return STATUS_OK;
}

int64_t training_steps_done(const struct training *training)
{
    return training->steps;
}

static double decode_ns(int pixels)
{
    if (model.decode_ns != NULL)
        return model.decode_ns(pixels);
    return model.decode_ns_a_pixel * pixels * pixels;
}

enum status dataset_read_files(const struct dataset_config *config)
{
    (void)config;
    model.reads++;
    return STATUS_OK;
}

enum status dataset_decode_ns(int jpeg_pixels, int image_size, bool scales, double *ns)
{
    (void)image_size;
    (void)scales;
    *ns = decode_ns(jpeg_pixels) * (jpeg_pixels == model.disturbed_pixels ? 5 : 1);
    return STATUS_OK;
}

enum status training_balance(struct training *training, int64_t steps, double *host_ns,
                             double *device_ns)
{
    const struct training_config *config = &training->config;

    training->steps += steps;
    *host_ns = model.host_ns +
               config->model.batch * model.decode_slowdown * decode_ns(config->data.jpeg_pixels);
    if (model.balances++ < model.disturbed_balances)
        *host_ns *= 5;
    *device_ns = model.device_ns;
    return STATUS_OK;
}

int64_t training_damaged_samples(const struct training *training)
{
    (void)training;
    return model.damaged;
}

int64_t training_period(const struct training_config *configs, int count)
{
    int64_t period = 1;

    for (int i = 0; i < count; i++)
        if (configs[i].logging.loss_every > period)
            period = configs[i].logging.loss_every;
    return period;
}

/* --- The device --- */

enum status device_open(struct device **device, const char *name,
                        const struct device_options *options)
{
    (void)name;
    model.options = *options;
    model.devices_open++;
    *device = &the_device;
    return STATUS_OK;
}

void device_close(struct device *device)
{
    if (device != NULL)
        model.devices_open--;
}

const struct device_properties *device_properties(const struct device *device)
{
    (void)device;
    return &model.properties;
}

struct device_vitals device_vitals(struct device *device)
{
    struct device_vitals vitals = device_vitals_unknown;
    (void)device;

    vitals.limits = model.limits;
    if (model.readings < MODEL_READINGS)
        model.windows_at_reading[model.readings++] = model.window_count;
    return vitals;
}

enum status device_memory_trim(struct device *device)
{
    (void)device;
    model.trimmed++;
    return STATUS_OK;
}

/* The calls that raise the clocks of a GPU. */
enum status stream_create(struct device *device, struct stream **stream)
{
    (void)device;
    *stream = NULL;
    return STATUS_OK;
}

void stream_destroy(struct stream *stream)
{
    (void)stream;
}

enum status stream_synchronize(struct stream *stream)
{
    (void)stream;
    return STATUS_OK;
}

enum status device_alloc(struct device *device, struct stream *stream, enum allocation how,
                         size_t bytes, void **memory)
{
    (void)device, (void)stream, (void)how;
    *memory = malloc(bytes);
    return STATUS_OK;
}

enum status device_free(struct device *device, struct stream *stream, enum allocation how,
                        void *memory)
{
    (void)device, (void)stream, (void)how;
    free(memory);
    return STATUS_OK;
}

enum status device_memset(struct stream *stream, void *memory, int byte, size_t bytes)
{
    (void)stream, (void)memory, (void)byte, (void)bytes;
    return STATUS_OK;
}

enum status device_gemm(struct stream *stream, const struct gemm *gemm)
{
    (void)stream, (void)gemm;
    return STATUS_OK;
}

/* No profiler is modelled. */
void device_profile(struct device *device, bool on)
{
    (void)device, (void)on;
}

void range_push(struct device *device, const char *name)
{
    (void)device, (void)name;
}

void range_pop(struct device *device)
{
    (void)device;
}
