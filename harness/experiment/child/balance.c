#include "harness/experiment/child/balance.h"

#include "scenarios/training/data/dataset.h"
#include "scenarios/training/step/training.h"

#include <math.h>
#include <stdio.h>

enum {
    PIXELS_LEAST = 32,
    PIXELS_MOST = 512,
    PIXELS_STEP = 16,
    SIZES = (PIXELS_MOST - PIXELS_LEAST) / PIXELS_STEP + 1,
    ATTEMPTS = 16, /* measurements at most, each of which opens a run; most scenarios need 2 or 3 */
    ATTEMPTS_FOR_CENTRAL = 5, /* from then on any ratio within the band is good enough */
    SETTLE_STEPS = 8,         /* by then a graph is captured and pools are filled */
    STEPS_LEAST = 9,
    STEPS_MOST = 201,
};

#define MEASURE_NS 5e7 /* approximate length of one measurement */

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
        snprintf(pixels, sizeof pixels, ", with JPEG files of %d pixels", result->jpeg_pixels);
    snprintf(text, size,
             "%s work takes %.3g times as long as %s work (%.1f us and %.1f us per step%s); the "
             "effect shows only between %.3g and %.3g times",
             balances[balance->kind].over, result->ratio, balances[balance->kind].under,
             (host_first ? result->host_ns : result->device_ns) / 1e3,
             (host_first ? result->device_ns : result->host_ns) / 1e3, pixels, balance->low,
             balance->high);
}

/* Whether the size can be chosen: only generated images come in any size. */
static bool can_choose(const struct training_config *config)
{
    return config->data.kind == DATA_IMAGES && config->data.folder[0] == '\0' &&
           config->loader.input == INPUT_DECODED;
}

static bool is_far(const struct balance *balance, double ratio)
{
    return ratio < balance->low / 2 || ratio > balance->high * 2;
}

static enum status time_parts(struct balance_result *result, struct training *training,
                              enum balance_kind kind, int64_t steps)
{
    enum status status = STATUS_OK;

    TRY(training_balance(training, steps, &result->host_ns, &result->device_ns));
    result->ratio = ratio_of(kind, result->host_ns, result->device_ns);

out:
    return status;
}

/* Measures both parts with the settings as they are. A short measurement gives the number of steps of a
 * good one. It is good enough where the ratio is far off and another size can be tried. */
static enum status measure(struct balance_result *result, struct device *device,
                           const struct balance *balance, const struct training_config *config)
{
    struct training *training = NULL;
    struct status_error error;
    double steps;
    enum status status = STATUS_OK;

    TRY(training_open(&training, device, config));
    TRY(training_run(training, SETTLE_STEPS));
    TRY(time_parts(result, training, balance->kind, STEPS_LEAST));
    steps = fmin(STEPS_MOST, MEASURE_NS / (result->host_ns + result->device_ns));
    if (steps > STEPS_LEAST && !(can_choose(config) && is_far(balance, result->ratio)))
        TRY(time_parts(result, training, balance->kind, (int64_t)steps));
    result->measured = true;
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

/* The time to decode one file, by size, measured when it is first needed. */
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

/* The size whose decoding time is closest to `wanted_ns`. Larger sizes take longer, so halving the range
 * finds it. */
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

/* The distance of a ratio from the middle of the band; 1 is the edge of the band. */
static double distance(const struct balance *balance, const struct balance_result *result)
{
    return fabs(result->ratio - middle(balance)) / (balance->high - middle(balance));
}

/* Near the edge of the band, the next measurement could well fall outside. */
static bool is_central(const struct balance *balance, const struct balance_result *result)
{
    return distance(balance, result) <= 2.0 / 3;
}

/* The host work that puts the ratio into the middle of the band. */
static double wanted_host_ns(const struct balance *balance, const struct balance_result *result)
{
    return balance->kind == BALANCE_HOST_OVER_DEVICE ? result->device_ns * middle(balance)
                                                     : result->device_ns / middle(balance);
}

/* A search for the size: the last measurement, and the sizes that are still possible. Sizes below
 * `least` gave too little host work, sizes above `most` too much. */
struct search {
    struct decode_times times;
    struct balance_result now;
    double decode_ns; /* of one file of the size measured last */
    double slope;     /* host work per step over the time to decode one file alone; 0: unknown */
    int least, most;
};

/* Host work is a constant plus decoding, so a measurement at one size predicts the others:
 * host(p) = measured + slope * (decode(p) - decode(measured p)). Where there is no prediction, or where
 * it contradicts earlier measurements, which are noisy, the middle of the remaining sizes is tried. */
static enum status next_size(struct search *search, const struct balance *balance, int *size)
{
    double missing_ns = wanted_host_ns(balance, &search->now) - search->now.host_ns;
    enum status status = STATUS_OK;

    *size = -1;
    if (search->slope > 0)
        TRY(size_for(&search->times, search->decode_ns + missing_ns / search->slope, size));
    if (*size < search->least || *size > search->most)
        *size = (search->least + search->most) / 2;

out:
    return status;
}

/* The growth of host work with the time to decode one file. It would be the number of samples if decoding
 * in the loop were as fast as alone. Two measurements give the true value; it is dropped as noise where
 * it is not within a factor of four of that number. */
static void learn_slope(struct search *search, double last_decode_ns, double last_host_ns,
                        double samples)
{
    double slope = (search->now.host_ns - last_host_ns) / (search->decode_ns - last_decode_ns);

    search->slope = slope > samples / 4 && slope < samples * 4 ? slope : 0;
}

static enum status try_size(struct search *search, struct device *device,
                            const struct balance *balance, struct training_config *config, int size)
{
    enum status status = STATUS_OK;

    config->data.jpeg_pixels = pixels_of(size);
    TRY(decode_time(&search->times, size, &search->decode_ns));
    TRY(measure(&search->now, device, balance, config));
    if (search->now.host_ns < wanted_host_ns(balance, &search->now))
        search->least = size + 1;
    else
        search->most = size - 1;

out:
    return status;
}

/* Whether another size is worth measuring. When no size is left and none gave the ratio, some
 * measurement was wrong: then all sizes are possible again. */
static bool goes_on(struct search *search, const struct balance *balance,
                    const struct balance_result *best, int attempt)
{
    if (is_central(balance, best) ||
        (attempt >= ATTEMPTS_FOR_CENTRAL && balance_holds(balance, best)))
        return false;
    if (search->least <= search->most)
        return true;
    search->least = 0;
    search->most = SIZES - 1;
    return !balance_holds(balance, best);
}

/* Searches for the size. *result becomes the best measurement. */
static enum status approach(struct balance_result *result, struct device *device,
                            const struct balance *balance, struct training_config *config)
{
    double samples = (double)config->model.batch;
    struct search search = { .times = { .image_size = config->data.image_size },
                             .now = *result,
                             .slope = samples,
                             .most = SIZES - 1 };
    enum status status = STATUS_OK;

    TRY(dataset_decode_ns(config->data.jpeg_pixels, search.times.image_size, &search.decode_ns));
    for (int attempt = 1; attempt < ATTEMPTS && goes_on(&search, balance, result, attempt);
         attempt++) {
        double last_decode_ns = search.decode_ns, last_host_ns = search.now.host_ns;
        int size;
        TRY(next_size(&search, balance, &size));
        TRY(try_size(&search, device, balance, config, size));
        learn_slope(&search, last_decode_ns, last_host_ns, samples);
        if (distance(balance, &search.now) < distance(balance, result))
            *result = search.now;
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
    TRY(measure(result, device, balance, config));
    if (can_choose(config))
        TRY(approach(result, device, balance, config));

out:
    return status;
}
