/* rank_losses RANKS SETTINGS [evaluate]: trains as one of so many ranks and prints the losses, in
 * hexadecimal, and what a step communicates and keeps; if it is asked to, then the accuracy on
 * samples that it was not trained on. test_rank_losses.py and test_nccl_job.py run it. */
#include "harness/device/many_ranks.h"
#include "harness/engine/settings/knobs.h"
#include "harness/engine/step/training_parts.h"
#include "tests/fixtures/lab/cpu_device.h"

enum { STEPS = 12 };

/* `state`: of the optimizer, on all ranks together. */
static void print(const float *losses, const struct training_window *window, double state)
{
    for (int i = 0; i < STEPS; i++) printf("%a ", (double)losses[i]);
    printf("\n%.17g %.17g %.17g %lld %.17g %.17g %.17g %.17g %.17g\n",
           window->metric[METRIC_COLLECTIVES_PER_STEP], window->metric[METRIC_COLLECTIVE_BYTES],
           window->metric[METRIC_D2D_BYTES_PER_STEP], (long long)window->samples,
           window->metric[METRIC_OPTIMIZER_STATE], state, window->metric[METRIC_PARAMETERS],
           window->metric[METRIC_LATE_PARAMETER_BYTES], window->metric[METRIC_BUSIEST_TOKENS]);
}

static enum status train(const char *settings, bool evaluates)
{
    enum status status = STATUS_OK;
    struct training_config config;
    struct device *device = NULL;
    struct training *training = NULL;
    struct training_window window = { 0 };
    float losses[STEPS];
    double state, accuracy;

    knobs_defaults(&config);
    TRY_OUT(knobs_apply(&config, settings));
    TRY_OUT(device_open(&device, test_device_name(), NULL));
    TRY_OUT(knobs_resolve(&config, device_properties(device)));
    TRY_OUT(training_open(&training, device, &config));
    TRY_OUT(training_run(training, STEPS / 2));
    TRY_OUT(training_window(training, STEPS / 2, &window));
    TRY_OUT(training_losses(training, 0, STEPS, losses));
    state = (double)optimizer_state_bytes(training->optimizer);
    TRY_OUT(ranks_sum(&state, 1));
    if (ranks_rank() == 0)
        print(losses, &window, state);
    if (evaluates) {
        TRY_OUT(training_evaluate(training, &accuracy));
        printf("%.17g\n", accuracy);
    }

out:
    training_window_release(&window);
    training_close(training);
    device_close(device);
    return status;
}

int main(int argc, char **argv)
{
    enum status status = STATUS_OK;

    if (argc < 3)
        return 2;
    if (atoi(argv[1]) > 1)
        TRY_OUT(ranks_join(atoi(argv[1])));
    TRY_OUT(train(argv[2], argc > 3));
    ranks_leave();

out:
    if (status != STATUS_OK) {
        fprintf(stderr, "rank %d: %s\n", ranks_rank(), status_last()->text);
        ranks_abort(1);
    }
    return status != STATUS_OK;
}
