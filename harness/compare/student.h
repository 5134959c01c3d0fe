/* Student's t distribution: what a difference is worth when its noise is itself an estimate. */
#ifndef HARNESS_COMPARE_STUDENT_H
#define HARNESS_COMPARE_STUDENT_H

/* The probability that |t| is at least `t` by chance, with `freedom` > 0 degrees of freedom; INFINITY
 * is the normal distribution. NaN for a t that is NaN. */
double student_two_sided(double t, double freedom);

/* The t that chance reaches with probability `probability`, above 0 and below 1, on both sides
 * together: student_two_sided(result, freedom) is `probability`. */
double student_critical(double probability, double freedom);

#endif
