/* The incomplete beta function: of Student's t, and of what order statistics are worth. */
#ifndef HARNESS_COMPARE_BETA_H
#define HARNESS_COMPARE_BETA_H

/* The regularised one, I_x(a, b), of a and b above 0; 1 - x is given apart, for when it is tiny. */
double beta_regularised(double a, double b, double x, double rest);

#endif
