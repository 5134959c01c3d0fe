#include "harness/lab/doctor/host/disturbance.h"

#include <math.h>

enum { STOLEN_PERCENT = 1, OTHERS_PERCENT = 10 };

bool disturbance_matters(const struct cpu_loss *loss)
{
    return loss->stolen > loss->cores * STOLEN_PERCENT / 100.0 ||
           loss->others > loss->cores * OTHERS_PERCENT / 100.0;
}

void disturbance_check(struct checks *checks, const struct cpu_times *first,
                       const struct cpu_times *second, int cores)
{
    struct cpu_loss loss = cpu_loss_between(first, second);
    double stolen = loss.stolen / cores, others = loss.others;

    checks->group = "while this was measured";
    if (isnan(stolen) || isnan(others)) {
        checks_unknown(checks, "cpu_steal", "", "there is no /proc/stat");
        checks_unknown(checks, "other_programs", "", "there is no /proc/stat");
        return;
    }
    checks_number(checks, 100 * stolen, STOLEN_PERCENT, "%");
    checks_add(
        checks, "cpu_steal",
        stolen <= STOLEN_PERCENT / 100.0 ? CHECK_OK
        : stolen <= 0.1                  ? CHECK_LOW
                                         : CHECK_FAIL,
        "at most 1%",
        "the virtual machine's host gave its cores to others: measure at another hour, or on "
        "dedicated cores",
        "%.1f%% of the cores", 100 * stolen);
    checks_number(checks, others, OTHERS_PERCENT / 100.0 * cores, "cores");
    checks_add(checks, "other_programs",
               others <= OTHERS_PERCENT / 100.0 * cores ? CHECK_OK
               : others <= 0.5 * cores                  ? CHECK_LOW
                                                        : CHECK_FAIL,
               "at most a tenth of the cores",
               "they may be the cause of low figures: end them, and see top", "%.2f of %d cores",
               others, cores);
}
