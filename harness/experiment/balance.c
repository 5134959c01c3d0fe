#include "harness/experiment/balance.h"

#include "scenarios/training/training.h"

#include <math.h>
#include <stdio.h>

enum {
    PIXELS_LEAST = 32,
    PIXELS_MOST = 512,
    PIXELS_STEP = 16,
    SIZES = (PIXELS_MOST - PIXELS_LEAST) / PIXELS_STEP + 1,
    ATTEMPTS = 4,     /* choices that are measured: each opens a training run */
    SETTLE_STEPS = 8, /* a graph is captured and pools are filled by then */
    STEPS_LEAST = 9,
    STEPS_MOST = 201,
};

#define MEASURE_NS 1e8 /* about so long is one measurement */

static double ratio_of(enum balance_kind kind, double host_ns, double device_ns)
{
    return kind == BALANCE_HOST_OVER_DEVICE ? host_ns / device_ns : device_ns / host_ns;
}

static double middle(const struct balance *balance)
{
    return (balance->low + balance->high) / 2;
}

bool balance_holds(const struct balance *balance, const struct balance_result *result)
{
    return balance->kind == BALANCE_NONE ||
           (result->ratio >= balance->low && result->ratio <= balance->high);
}

void balance_explain(const struct balance *balance, const struct balance_result *result, char *text,
                     size_t size)
{
    bool host_first = balance->kind == BALANCE_HOST_OVER_DEVICE;
    char pixels[64] = "";

    if (result->jpeg_pixels > 0)
        snprintf(pixels, sizeof pixels, " with JPEG files of %d pixels", result->jpeg_pixels);
    snprintf(text, size,
             "host work is %.1f us and device work %.1f us a step%s, %s is %.3g: the effect exists "
             "from %.3g to %.3g",
             result->host_ns / 1e3, result->device_ns / 1e3, pixels,
             host_first ? "host over device" : "device over host", result->ratio, balance->low,
             balance->high);
}

/* Both parts with the settings as they are. A short measurement says how many steps a good one has. */
static enum status measure(struct balance_result *result, struct device *device,
                           enum balance_kind kind, const struct training_config *config)
{
    struct training *training = NULL;
    struct status_error error;
    double steps;
    enum status status = STATUS_OK;

    TRY(training_open(&training, device, config));
    TRY(training_run(training, SETTLE_STEPS));
    TRY(training_balance(training, STEPS_LEAST, &result->host_ns, &result->device_ns));
    steps = fmin(STEPS_MOST, MEASURE_NS / (result->host_ns + result->device_ns));
    if (steps > STEPS_LEAST)
        TRY(training_balance(training, (int64_t)steps, &result->host_ns, &result->device_ns));
    result->measured = true;
    result->ratio = ratio_of(kind, result->host_ns, result->device_ns);
    result->jpeg_pixels = config->data.jpeg_pixels;
    training_close(training);
    training = NULL;
    TRY(device_memory_trim(device));

out:
    if (training != NULL) {
        error = *status_last();
        training_close(training);
        status_raise(&error);
    }
    if (status != STATUS_OK)
        status_context("measuring host and device work");
    return status;
}

/* --- Choosing --- */

/* Time to decode one file by size, measured when it is first asked for. */
struct decode_times {
    double ns[SIZES]; /* 0: not measured yet */
    int image_size;
};

static int pixels_of(int size)
{
    return PIXELS_LEAST + size * PIXELS_STEP;
}

static enum status decode_time(struct decode_times *times, int size, double *ns)
{
    enum status status = STATUS_OK;

    if (!(times->ns[size] > 0))
        TRY(dataset_decode_ns(pixels_of(size), times->image_size, &times->ns[size]));
    *ns = times->ns[size];

out:
    return status;
}

/* The size whose decoding takes closest to `wanted_ns`. Decoding takes longer with every size, so halving
 * the range finds it. */
static enum status size_for(struct decode_times *times, double wanted_ns, int *size)
{
    int low = 0, high = SIZES - 1;
    double low_ns, high_ns;
    enum status status = STATUS_OK;

    while (high - low > 1) {
        int half = (low + high) / 2;
        double ns;
        TRY(decode_time(times, half, &ns));
        *(ns < wanted_ns ? &low : &high) = half;
    }
    TRY(decode_time(times, low, &low_ns));
    TRY(decode_time(times, high, &high_ns));
    *size = fabs(high_ns - wanted_ns) < fabs(low_ns - wanted_ns) ? high : low;

out:
    return status;
}

/* Whether the size can be chosen: only generated images are made to measure. */
static bool can_choose(const struct training_config *config)
{
    return config->data.kind == DATA_IMAGES && config->data.folder[0] == '\0' &&
           config->loader.input == INPUT_DECODED;
}

/* How far a ratio is from the middle of the band, in halves of the band: 1 is its edge. */
static double distance(const struct balance *balance, const struct balance_result *result)
{
    return fabs(result->ratio - middle(balance)) / (balance->high - middle(balance));
}

/* At the very edge of the band the next measurement may well lie outside. */
static bool is_central(const struct balance *balance, const struct balance_result *result)
{
    return distance(balance, result) <= 0.5;
}

/* How much host work grows with the time to decode one file. A sample each, were decoding in the loop
 * as fast as it is alone; two measurements tell how fast it is. Measurements too close to each other
 * tell nothing. */
static double slope_between(double from_decode_ns, double from_host_ns, double to_decode_ns,
                            double to_host_ns, double samples)
{
    double slope = (to_host_ns - from_host_ns) / (to_decode_ns - from_decode_ns);

    return slope > samples / 4 && slope < samples * 4 ? slope : samples;
}

/* Host work is a constant and decoding, so the measurement at one size predicts the others:
 * host(p) = measured + slope * (decode(p) - decode(measured p)). Repeats from there until the ratio is
 * good or the prediction stays at a size that was measured already; *result is the best of them. */
static enum status approach(struct balance_result *result, struct device *device,
                            const struct balance *balance, struct training_config *config)
{
    double samples = (double)config->model.batch * config->launch.accumulate, slope = samples;
    struct decode_times times = { .image_size = config->data.image_size };
    struct balance_result now = *result;
    bool tried[SIZES] = { false };
    double decode_ns;
    enum status status = STATUS_OK;

    TRY(dataset_decode_ns(config->data.jpeg_pixels, times.image_size, &decode_ns));
    for (int attempt = 1; attempt < ATTEMPTS && !is_central(balance, result); attempt++) {
        double wanted_host_ns = balance->kind == BALANCE_HOST_OVER_DEVICE
                                    ? now.device_ns * middle(balance)
                                    : now.device_ns / middle(balance);
        double last_decode_ns = decode_ns, last_host_ns = now.host_ns;
        int size;
        TRY(size_for(&times, decode_ns + (wanted_host_ns - now.host_ns) / slope, &size));
        if (tried[size])
            break;
        tried[size] = true;
        decode_ns = times.ns[size];
        config->data.jpeg_pixels = pixels_of(size);
        TRY(measure(&now, device, balance->kind, config));
        slope = slope_between(last_decode_ns, last_host_ns, decode_ns, now.host_ns, samples);
        if (distance(balance, &now) < distance(balance, result))
            *result = now;
    }
    config->data.jpeg_pixels = result->jpeg_pixels;

out:
    return status;
}

enum status balance_choose(struct balance_result *result, struct device *device,
                           const struct balance *balance, struct training_config *config)
{
    enum status status = STATUS_OK;

    *result = (struct balance_result){ .jpeg_pixels = config->data.jpeg_pixels };
    if (balance->kind == BALANCE_NONE)
        return STATUS_OK;
    TRY(measure(result, device, balance->kind, config));
    if (can_choose(config))
        TRY(approach(result, device, balance, config));

out:
    return status;
}
