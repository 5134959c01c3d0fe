/* AdamW: the state of the step, and an update. The constants are the kernels' in their exact fp32
 * values, because 1 - 0.999f differs from 0.001 by 1.3e-5 of it. */
#include "kernels/kernels.h"
#include "tests/kernels/references.h"

#include <math.h>

static const double beta1 = ADAMW_BETA1, beta2 = ADAMW_BETA2, epsilon = ADAMW_EPSILON;

void reference_step_advance(struct reference_state *state, double rate, int warmup)
{
    state->step++;
    state->rate = state->step < warmup ? rate * (state->step + 1) / warmup : rate;
    state->correction1 = 1 - pow(beta1, state->step + 1 - state->overflows);
    state->correction2 = 1 - pow(beta2, state->step + 1 - state->overflows);
}

double reference_square_sum(const double *x, long count)
{
    return reference_dot(x, x, count);
}

void reference_gradient_norm_finish(struct reference_state *state, double square_sum,
                                    double max_norm)
{
    state->gradient_norm = sqrt(square_sum) / state->loss_scale;
    state->gradient_scale = 1 / state->loss_scale;
    if (max_norm != 0)
        state->gradient_scale *= fmin(1, max_norm / (state->gradient_norm + 1e-6));
    if (!isfinite(state->gradient_norm))
        state->overflows++;
}

void reference_adamw(double *master, double *m, double *v, const double *gradient,
                     const struct reference_state *state, double decay, long count)
{
    if (!isfinite(state->gradient_norm))
        return;
    for (long i = 0; i < count; i++) {
        double g = gradient[i] * state->gradient_scale;

        m[i] = beta1 * m[i] + (1 - beta1) * g;
        v[i] = beta2 * v[i] + (1 - beta2) * g * g;
        master[i] =
            master[i] * (1 - state->rate * decay) -
            state->rate * (m[i] / state->correction1) / (sqrt(v[i] / state->correction2) + epsilon);
    }
}
