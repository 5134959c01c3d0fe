/* Each share is a rate that was measured, over the ceiling of the same device. A rate above the
 * peak shows that the peak was measured too low; then no share of that peak is stated, not even
 * that of the other variant. */
#include "harness/lab/result/utilisation.h"

#include "harness/base/figures/quantity.h"
#include "harness/base/figures/statistics.h"
#include "harness/base/words/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static double median_of(const struct scenario_result *result, enum variant variant,
                        enum metric metric)
{
    double *values = result->pairs > 0 ? malloc((size_t)result->pairs * sizeof *values) : NULL;
    double median;

    if (values == NULL)
        return NAN;
    for (int i = 0; i < result->pairs; i++)
        values[i] = result->repetitions[variant][i].metric[metric];
    median = stats_median(values, result->pairs);
    free(values);
    return median;
}

struct utilisation utilisation_make(const double metric[METRIC_COUNT],
                                    const struct ceilings *ceilings, double busy_share)
{
    const double of_peak =
        ceiling_share(metric[METRIC_MODEL_FLOPS_PER_SECOND], ceilings->flops_per_second);

    return (struct utilisation){
        .busy_share = busy_share,
        .mfu = of_peak > 1 ? NAN : of_peak,
        .over_peak = of_peak > 1 ? of_peak : 0,
        .bandwidth_share =
            ceiling_share(metric[METRIC_OP_BYTES_PER_SECOND], ceilings->bytes_per_second),
        .ceilings = *ceilings,
    };
}

static struct utilisation utilisation_alone(const struct scenario_result *result,
                                            enum variant variant)
{
    const struct variant_diagnosis *diagnosis = &result->diagnoses[variant];
    double medians[METRIC_COUNT];

    for (int m = METRIC_FIRST; m < METRIC_COUNT; m++)
        medians[m] = median_of(result, variant, (enum metric)m);
    return utilisation_make(medians, &result->protocol.ceilings[variant],
                            diagnosis->made ? diagnosis->busy_share : NAN);
}

struct utilisation utilisation_of(const struct scenario_result *result, enum variant variant)
{
    struct utilisation utilisation = utilisation_alone(result, variant);
    const struct utilisation other =
        utilisation_alone(result, variant == VARIANT_BEFORE ? VARIANT_AFTER : VARIANT_BEFORE);

    /* Variants that compute in the same precision are held against the same peak; one that was
     * measured too low is wrong for both. */
    if (other.over_peak > utilisation.over_peak &&
        other.ceilings.flops_per_second == utilisation.ceilings.flops_per_second) {
        utilisation.mfu = NAN;
        utilisation.over_peak = other.over_peak;
    }
    return utilisation;
}

bool utilisation_doubt(char text[UTILISATION_DOUBT], const struct utilisation *utilisation)
{
    snprintf(text, UTILISATION_DOUBT,
             "a step computed at %.2f times the peak, so the device was slower while the peak was "
             "measured",
             utilisation->over_peak);
    return utilisation->over_peak > 0;
}

bool utilisation_too_fast(char text[UTILISATION_TOO_FAST], const struct scenario_result *result)
{
    for (int v = 0; v < VARIANT_COUNT; v++) {
        double us = median_of(result, (enum variant)v, METRIC_REPORTED_STEP_TIME);
        double flops = median_of(result, (enum variant)v, METRIC_MODEL_FLOPS_PER_STEP);
        double of_peak =
            ceiling_share(flops / (us / 1e6), result->protocol.ceilings[v].flops_per_second);
        if (!(of_peak > 1))
            continue;
        snprintf(text, UTILISATION_TOO_FAST,
                 "a step took %s %s the fix by the loop's own timer: %.3g times the peak, faster "
                 "than the hardware",
                 quantity_time(us * 1e3).text, variant_name((enum variant)v), of_peak);
        return true;
    }
    return false;
}

static double known(double ceiling)
{
    return ceiling > 0 ? ceiling : NAN;
}

cJSON *utilisation_json(struct json *json, const struct utilisation *utilisation)
{
    const struct ceilings *ceilings = &utilisation->ceilings;
    cJSON *object =
        JSON_OBJECT(json, KEY("busy_share", utilisation->busy_share), KEY("mfu", utilisation->mfu));
    char doubt[UTILISATION_DOUBT];

    if (utilisation_doubt(doubt, utilisation))
        json_text(json, object, "mfu_doubt", doubt);
    return JSON_ADD(json, object, KEY("peak_flops_per_second", known(ceilings->flops_per_second)),
                    KEY("bandwidth_share", utilisation->bandwidth_share),
                    KEY("copy_bytes_per_second", known(ceilings->bytes_per_second)));
}

/* Small shares get a digit behind the point, or all below 1% would read alike. The limit keeps the
 * text within its bytes. */
static void print_share(char text[8], double share)
{
    if (isfinite(share))
        snprintf(text, 8, share < 0.095 ? "%.1f%%" : "%.0f%%", 100 * fmin(share, 999));
    else
        snprintf(text, 8, "-");
}

bool utilisation_line(char text[UTILISATION_LINE], const struct scenario_result *result)
{
    const struct utilisation before = utilisation_of(result, VARIANT_BEFORE);
    const struct utilisation after = utilisation_of(result, VARIANT_AFTER);
    const struct {
        const char *name;
        double before, after;
        bool is_doubtful;
    } shares[] = {
        { "device busy", before.busy_share, after.busy_share, false },
        { "MFU", before.mfu, after.mfu, before.over_peak > 0 || after.over_peak > 0 },
    };
    char sides[2][8], both[24];

    text[0] = '\0';
    for (size_t i = 0; i < ARRAY_SIZE(shares); i++) {
        if (!isfinite(shares[i].before) && !isfinite(shares[i].after) && !shares[i].is_doubtful)
            continue;
        print_share(sides[0], shares[i].before);
        print_share(sides[1], shares[i].after);
        snprintf(both, sizeof both, "%s -> %s", sides[0], sides[1]);
        text_join(text, UTILISATION_LINE, ", ", "%s %s", shares[i].name,
                  shares[i].is_doubtful ? "doubtful" : both);
    }
    return text[0] != '\0';
}
