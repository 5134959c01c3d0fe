/* Layer normalisation. */
#include "tests/kernels/references.h"

#include <math.h>

void reference_layernorm_forward(double *y, double *mean, double *rstd, const double *x,
                                 const double *weight, const double *bias, long rows, int width)
{
    for (long row = 0; row < rows; row++) {
        const double *from = x + row * width;
        double sum = 0, squares = 0;

        for (int c = 0; c < width; c++) sum += from[c];
        mean[row] = sum / width;
        for (int c = 0; c < width; c++) squares += (from[c] - mean[row]) * (from[c] - mean[row]);
        rstd[row] = 1 / sqrt(squares / width + 1e-5);
        for (int c = 0; c < width; c++)
            y[row * width + c] = (from[c] - mean[row]) * rstd[row] * weight[c] + bias[c];
    }
}

/* With n = (x - mean) rstd and dn = dy weight, every element of n depends on all of x through mean
 * and variance: dx = rstd (dn - mean(dn) - n mean(dn n)). */
void reference_layernorm_backward(double *dx, const double *x, const double *dy,
                                  const double *weight, const double *mean, const double *rstd,
                                  long rows, int width)
{
    for (long row = 0; row < rows; row++) {
        const double *from = x + row * width, *d = dy + row * width;
        double dn_mean = 0, dn_n_mean = 0;

        for (int c = 0; c < width; c++) {
            double n = (from[c] - mean[row]) * rstd[row];
            dn_mean += d[c] * weight[c] / width;
            dn_n_mean += d[c] * weight[c] * n / width;
        }
        for (int c = 0; c < width; c++) {
            double n = (from[c] - mean[row]) * rstd[row];
            dx[row * width + c] = rstd[row] * (d[c] * weight[c] - dn_mean - n * dn_n_mean);
        }
    }
}

void reference_layernorm_backward_weight(double *dweight, double *dbias, const double *x,
                                         const double *dy, const double *mean, const double *rstd,
                                         int width, int rows, int chunk)
{
    int parts = (rows + chunk - 1) / chunk;

    for (long i = 0; i < (long)parts * width; i++) dweight[i] = dbias[i] = 0;
    for (long row = 0; row < rows; row++)
        for (int c = 0; c < width; c++) {
            double n = (x[row * width + c] - mean[row]) * rstd[row];
            dweight[row / chunk * width + c] += dy[row * width + c] * n;
            dbias[row / chunk * width + c] += dy[row * width + c];
        }
}
