/* Comparing one run with one run.
 *
 * Two runs never take the same time, so whoever has one of each side sees one that is faster. On a
 * machine that others use, most of these differences are noise. Pairs in turns put both sides under
 * the same drift, and an interval of their ratios says what is left of the difference: nothing is
 * called that it does not rule out. Here the sides are the steps of one and the same training, so
 * every difference that is called is false. */
#include "scenarios/scenario.h"

const struct scenario scenario_one_sample = {
    .name = "one_sample",
    .title = "Comparing one run with one run",
    .also = "benchmark noise, statistical significance, confidence interval, run-to-run "
            "variance, standard deviation",
    .group = GROUP_MEASURING,
    .symptom = "a change that gained 3% gains nothing, or costs 4%, when it is measured again",
    .cause = "one number per side: it has the noise of its moment in it, and nothing says how "
             "much that is",
    .fix = "measure both sides in pairs, in turns, and call a difference only if the interval of "
           "the ratios rules out none",
    .look = "the spread of single steps, beside the difference that is called",
    .cost = "more runs; and a difference that is smaller than the interval is not seen, however "
            "real",
    .pytorch = {
        .before = "seconds = []\n"
                  "for side in (\"old\", \"new\"):  # one train_step here\n"
                  "    start = time.perf_counter()\n"
                  "    train_step(*next(iter(loader))).item()\n"
                  "    seconds.append(time.perf_counter() - start)\n"
                  "print(\"faster\" if seconds[1] < seconds[0] else \"slower\")\n",
        .after = "ratios = []\n"
                 "for pair in range(20):\n"
                 "    seconds = {}\n"
                 "    for side in (\"old\", \"new\")[::1 if pair % 2 else -1]:\n"
                 "        start = time.perf_counter()\n"
                 "        train_step(*next(iter(loader))).item()\n"
                 "        seconds[side] = time.perf_counter() - start\n"
                 "    ratios.append(seconds[\"old\"] / seconds[\"new\"])\n"
                 "ratios.sort()\n"
                 "low, high = ratios[5], ratios[-6]  # of the median: 95.9%\n"
                 "word = \"faster\" if low > 1 else \"slower\"\n"
                 "print(word if low > 1 or high < 1 else \"no telling\")\n",
    },
    .base = "model=light input=resident launch=graph",
    .knob = "self_comparison",
    .before = "one_sample",
    .after = "pairs",
    .is_other_work = true,
    .loss = LOSS_IDENTICAL,
    .expect = {
        /* Quick runs on two very busy cores of an EPYC: 0.82. Pairs: at most 2.1% by chance, and of
         * a window of few comparisons mostly none. */
        { METRIC_FALSE_CALLS, SHRINKS, .at_least = 4, .before_above = 0.25, .after_below = 0.15,
          .where = WHERE_CPU_DEVICE },
        { METRIC_FALSE_CALLS, SHRINKS, .at_least = 2, .after_below = 0.15, .where = WHERE_CUDA },
    },
    /* The step is the same, and nothing is wrong with it: no finding is accepted. */
    .tolerated_after = { { "naive_attention", ANYWHERE }, { "device_wait", WHERE_CPU_DEVICE } },
};
