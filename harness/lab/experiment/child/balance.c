/* A search over sizes of images, for one whose host work and device work have the wanted ratio.
 *
 * To measure the ratio at a size, a run has to be opened; decoding one file takes milliseconds.
 * So whole steps are measured at one size, and the other sizes are predicted from the time to
 * decode a file of theirs. The most promising size is measured next, until one is near the middle
 * of the band twice. Other programs disturb single measurements; hence whatever ends the search
 * was measured in two runs, and sizes beside or between measured ones are tried without a
 * prediction. */
#include "harness/lab/experiment/child/balance.h"

#include "harness/base/figures/quantity.h"
#include "harness/engine/data/dataset.h"
#include "harness/engine/step/training.h"

#include <math.h>
#include <stdio.h>

enum {
    PIXELS_LEAST = 32,
    PIXELS_MOST = 512,
    PIXELS_STEP = 8,
    SIZES = (PIXELS_MOST - PIXELS_LEAST) / PIXELS_STEP + 1,
    COARSE = 8, /* sizes between two that are looked at first */
    BESIDE = 2, /* sizes on either side that are tried before one just outside the band is left */
    ATTEMPTS = 12, /* measurements at most, each of which opens a run; most scenarios need 3 or 4 */
    ATTEMPTS_FOR_CENTRAL = 5, /* from then on any ratio within the band is good enough */
    SETTLE_STEPS = 8,         /* by then a graph is captured and pools are filled */
    STEPS_LEAST = 9,
    MEASUREMENTS = 2, /* good ones of a run */
    STEPS_MOST = 201,
};

#define MEASURE_NS 5e7 /* approximate length of one measurement */
#define GOOD       0.2 /* a distance from the middle that is near enough: less is noise */
#define NEARLY     2   /* a distance from the middle at which the sizes beside may be in the band */
#define DISTURBED  1.6 /* times apart, two measurements of a size do not agree */
#define APART      1.2 /* times, the least that two times to decode tell a slope by */

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
    double over_ns = host_first ? result->host_ns : result->device_ns;
    double under_ns = host_first ? result->device_ns : result->host_ns;
    char with[64] = "", sizes[96] = "";

    if (result->jpeg_pixels > 0) {
        snprintf(with, sizeof with, "with images of %d x %d pixels ", result->jpeg_pixels,
                 result->jpeg_pixels);
        snprintf(sizes, sizeof sizes, "; no size tried from %d to %d pixels comes nearer",
                 PIXELS_LEAST, PIXELS_MOST);
    }
    snprintf(text, size,
             "%sthe %s needs %.3g times the %s's time (%s and %s per step); the effect shows only "
             "between %.3g and %.3g times%s",
             with, balances[balance->kind].over, result->ratio, balances[balance->kind].under,
             quantity_time(over_ns).text, quantity_time(under_ns).text, balance->low, balance->high,
             sizes);
}

/* Whether the size can be chosen: images come in any size. */
static bool can_choose(const struct training_config *config)
{
    return config->data.kind == DATA_IMAGES && config->data.jpeg_pixels > 0 &&
           config->loader.input == INPUT_DECODED;
}

/* Takes the measurement if it is less in all than those before it: other programs only ever add.
 * Both parts stay those of one measurement, or a machine that is slow at times would change their
 * ratio. */
static enum status time_parts(struct balance_result *result, struct training *training,
                              enum balance_kind kind, int64_t steps)
{
    double host_ns, device_ns;

    TRY(training_balance(training, steps, &host_ns, &device_ns));
    if (host_ns + device_ns < result->host_ns + result->device_ns) {
        result->host_ns = host_ns;
        result->device_ns = device_ns;
        result->ratio = ratio_of(kind, host_ns, device_ns);
    }

    return STATUS_OK;
}

/* Measures both parts with the settings as they are, in a run of its own, once the files were read:
 * the first read of small files takes several times as long as the later ones. A short measurement
 * gives the number of steps of a good one. It is good enough where the ratio is far off and another
 * size can be tried. */
static enum status measure_parts(struct session *session, struct balance_result *result,
                                 struct device *device, const struct training_config *config)
{
    const struct balance *balance = &session->scenario->balance;
    struct training *training = NULL;
    struct status_error error;
    double steps;
    enum status status = STATUS_OK;

    *result = (struct balance_result){ .host_ns = INFINITY, .device_ns = INFINITY };
    TRY_OUT(dataset_read_files(&config->data));
    TRY_OUT(session_progress(session));
    TRY_OUT(training_open(&training, device, config));
    TRY_OUT(training_run(training, SETTLE_STEPS));
    TRY_OUT(session_progress(session));
    TRY_OUT(time_parts(result, training, balance->kind, STEPS_LEAST));
    TRY_OUT(session_progress(session));
    steps = fmin(STEPS_MOST, MEASURE_NS / (result->host_ns + result->device_ns));
    for (int i = 0; i < MEASUREMENTS && steps > STEPS_LEAST; i++)
        if (!(can_choose(config) &&
              (result->ratio < balance->low / 2 || result->ratio > balance->high * 2)))
            TRY_OUT(time_parts(result, training, balance->kind, (int64_t)steps));
    result->measured = true;
    result->jpeg_pixels = config->data.jpeg_pixels;
    training_close(training);
    training = NULL;
    TRY_OUT(device_memory_trim(device));

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

static int pixels_of(int size)
{
    return PIXELS_LEAST + size * PIXELS_STEP;
}

/* The size nearest to `pixels`. */
static int size_of(int pixels)
{
    int size = (pixels - PIXELS_LEAST + PIXELS_STEP / 2) / PIXELS_STEP;

    return size < 0 ? 0 : size < SIZES ? size : SIZES - 1;
}

/* The distance of a ratio from the middle of the band; 1 is the edge of the band. */
static double distance(const struct balance *balance, double ratio)
{
    return fabs(ratio - middle(balance)) / (balance->high - middle(balance));
}

/* Near the edge of the band, the next measurement could well fall outside. */
static bool is_central(const struct balance *balance, const struct balance_result *result)
{
    return distance(balance, result->ratio) <= 2.0 / 3;
}

/* A search for the size. The cost of a size is predicted from the time to decode one file of it
 * alone, which takes milliseconds to measure, and the last measurement of a whole step: host(p) =
 * measured + slope * (decode(p) - decode(measured p)). */
struct search {
    struct session *session; /* hears of each measurement */
    const struct balance *balance;
    int image_size;
    bool scales;             /* the decoder shrinks files */
    double decode_ns[SIZES]; /* 0: not measured yet */
    struct balance_result measured[SIZES];
    bool twice[SIZES];         /* measured by two runs that agree */
    struct balance_result now; /* the last measurement */
    double now_decode_ns;      /* of one file of its size */
    double slope;              /* host work per step over the time to decode one file alone */
    int attempts;
};

static enum status decode_time(struct search *search, int size, double *ns)
{
    if (!(search->decode_ns[size] > 0)) {
        TRY(dataset_decode_ns(pixels_of(size), search->image_size, search->scales,
                              &search->decode_ns[size]));
        TRY(session_progress(search->session));
    }
    *ns = search->decode_ns[size];

    return STATUS_OK;
}

/* The best size so far of those looked at: whose ratio is predicted to be nearest to the middle. */
struct candidate {
    int size; /* -1: none */
    double distance;
};

/* Sizes that were measured are no candidates: a prediction cannot tell more. */
static enum status look_at(struct search *search, int size, struct candidate *best, double *ratio)
{
    double away, decode_ns, host_ns;

    TRY(decode_time(search, size, &decode_ns));
    host_ns = search->now.host_ns + search->slope * (decode_ns - search->now_decode_ns);
    *ratio = ratio_of(search->balance->kind, fmax(host_ns, 1), search->now.device_ns);
    away = distance(search->balance, *ratio);
    if (!search->measured[size].measured && (best->size < 0 || away < best->distance))
        *best = (struct candidate){ size, away };

    return STATUS_OK;
}

/* Whether the host has more to do than is wanted. */
static bool is_above(const struct balance *balance, double ratio)
{
    return balance->kind == BALANCE_HOST_OVER_DEVICE ? ratio > middle(balance)
                                                     : ratio < middle(balance);
}

/* Looks at a few sizes over the whole range, then at those between the best and its neighbours.
 * Larger files take longer only above the size that the model sees: smaller ones must be enlarged,
 * and files of just that size need no resizing. So only above it the rest is left out once it would
 * be too much. */
static enum status find_candidate(struct search *search, struct candidate *best)
{
    double ratio;

    *best = (struct candidate){ .size = -1 };
    TRY(look_at(search, size_of(search->image_size), best, &ratio));
    for (int size = 0;; size += COARSE) {
        if (size >= SIZES)
            size = SIZES - 1;
        TRY(look_at(search, size, best, &ratio));
        if (size == SIZES - 1 ||
            (pixels_of(size) > search->image_size && is_above(search->balance, ratio)))
            break;
    }
    for (int step = COARSE / 2; best->size >= 0 && step > 0 && best->distance > GOOD; step /= 2) {
        int centre = best->size;
        if (centre - step >= 0)
            TRY(look_at(search, centre - step, best, &ratio));
        if (centre + step < SIZES)
            TRY(look_at(search, centre + step, best, &ratio));
    }

    return STATUS_OK;
}

/* The growth of host work with the time to decode one file, from the last two measurements. It
 * would be the number of samples if decoding in the loop were as fast as alone; what is not within
 * a factor of four of that is noise. Two sizes that take about as long as each other tell
 * nothing. */
static void learn_slope(struct search *search, double last_decode_ns, double last_host_ns,
                        double samples)
{
    double slope = (search->now.host_ns - last_host_ns) / (search->now_decode_ns - last_decode_ns);
    bool apart = fabs(log(search->now_decode_ns / last_decode_ns)) > log(APART);

    if (search->attempts > 1 && apart && slope > samples / 4 && slope < samples * 4)
        search->slope = slope;
}

/* Keeps the last measurement of its size. With one before it that agrees, the mean is kept: a
 * device that shares its cores with other programs takes half as long again now and then. If they
 * disagree more than that, the first was disturbed, and the size is measured once more. */
static void keep_measured(struct search *search, int size)
{
    struct balance_result *kept = &search->measured[size];
    double apart = kept->measured ? fabs(log(search->now.ratio / kept->ratio)) : INFINITY;

    search->twice[size] = apart <= log(DISTURBED);
    if (search->twice[size]) {
        kept->host_ns = sqrt(kept->host_ns * search->now.host_ns);
        kept->device_ns = sqrt(kept->device_ns * search->now.device_ns);
        kept->ratio = sqrt(kept->ratio * search->now.ratio);
    } else {
        *kept = search->now;
    }
}

static enum status try_size(struct search *search, struct device *device,
                            struct training_config *config, int size)
{
    double decode_ns = search->now_decode_ns, host_ns = search->now.host_ns;

    config->data.jpeg_pixels = pixels_of(size);
    TRY(decode_time(search, size, &search->now_decode_ns));
    TRY(measure_parts(search->session, &search->now, device, config));
    search->attempts++;
    keep_measured(search, size);
    learn_slope(search, decode_ns, host_ns, (double)config->model.batch);

    return STATUS_OK;
}

/* The measured size whose ratio is nearest to the middle. */
static int best_measured(const struct search *search)
{
    int best = -1;

    for (int size = 0; size < SIZES; size++) {
        const struct balance_result *result = &search->measured[size];
        if (result->measured &&
            (best < 0 || distance(search->balance, result->ratio) <
                             distance(search->balance, search->measured[best].ratio)))
            best = size;
    }
    return best;
}

/* The size halfway between two neighbours among those measured, of which one gave the host too much
 * to do and the other too little; -1: there is none. It needs no prediction, which noise may have
 * spoiled. */
static int find_between(const struct search *search)
{
    int last = -1;

    for (int size = 0; size < SIZES; size++) {
        if (!search->measured[size].measured)
            continue;
        if (last >= 0 && size - last > 1 &&
            is_above(search->balance, search->measured[size].ratio) !=
                is_above(search->balance, search->measured[last].ratio))
            return (last + size) / 2;
        last = size;
    }
    return -1;
}

/* A size beside `best` that was not measured yet, the nearest first and of two as near the one that
 * is likelier to give the host what it lacks; -1: there is none. It needs no prediction either: the
 * time to decode one file of its size was maybe disturbed. */
static int find_beside(const struct search *search, int best)
{
    int towards = is_above(search->balance, search->measured[best].ratio) ? -1 : 1;

    if (distance(search->balance, search->measured[best].ratio) > NEARLY)
        return -1;
    for (int i = 0; i < 2 * BESIDE; i++) {
        int size = best + (i % 2 == 0 ? towards : -towards) * (i / 2 + 1);
        if (size >= 0 && size < SIZES && !search->measured[size].measured)
            return size;
    }
    return -1;
}

/* Whether to leave it at the best measurement. If not, *next is the size to measure. One
 * measurement may have been disturbed, so what ends the search was measured twice, each time in a
 * run of its own. */
static enum status is_settled(struct search *search, int *next, bool *settled)
{
    int best = best_measured(search);
    const struct balance_result *result = &search->measured[best];
    struct candidate candidate;

    *next = best;
    *settled = search->attempts >= ATTEMPTS;
    if (*settled)
        return STATUS_OK;
    if (!is_central(search->balance, result) &&
        !(search->attempts >= ATTEMPTS_FOR_CENTRAL && balance_holds(search->balance, result))) {
        TRY(find_candidate(search, &candidate));
        if (candidate.size >= 0 && candidate.distance < distance(search->balance, result->ratio))
            *next = candidate.size;
    }
    *settled = *next == best && search->twice[best];
    if (*settled && !balance_holds(search->balance, result)) {
        int other = find_between(search);
        if (other < 0)
            other = find_beside(search, best);
        *settled = other < 0;
        *next = *settled ? best : other;
    }

    return STATUS_OK;
}

/* Searches for the size. *result becomes the measurement of the one that is best. */
static enum status approach(struct session *session, struct device *device,
                            struct training_config *config)
{
    struct search search = { .session = session,
                             .balance = &session->scenario->balance,
                             .image_size = config->data.image_size,
                             .scales = config->data.scales,
                             .slope = (double)config->model.batch };
    int size = size_of(config->data.jpeg_pixels);
    bool settled = false;

    while (!settled) {
        TRY(try_size(&search, device, config, size));
        TRY(is_settled(&search, &size, &settled));
    }
    session->balance = search.measured[size];
    config->data.jpeg_pixels = session->balance.jpeg_pixels;

    return STATUS_OK;
}

enum status balance_choose(struct session *session, struct device *device,
                           struct training_config *config)
{
    const struct balance *balance = &session->scenario->balance;
    struct balance_result *result = &session->balance;

    *result = (struct balance_result){ .jpeg_pixels = config->data.jpeg_pixels };
    if (balance->kind == BALANCE_NONE)
        return STATUS_OK;
    if (can_choose(config))
        TRY(approach(session, device, config));
    else
        TRY(measure_parts(session, result, device, config));

    return STATUS_OK;
}
