/* Student's t distribution, and variances for it that are known from a few runs only.
 *
 * With three runs per side a row's own variance has four degrees of freedom: by luck it is often
 * far too small or too large, and Student's t pays for that. The rows of a file were measured by
 * the same runs on the same machine, so their true variances are of one kind: drawn from a prior
 * (an inverse chi-square distribution), whose centre and width the rows themselves tell. A row's
 * variance then is the mean of the prior's and its own, weighted by degrees of freedom, and those
 * add up (Smyth, "Linear models and empirical Bayes methods for assessing differential expression
 * in microarray experiments", Stat. Appl. Genet. Mol. Biol. 3, 2004: equations in section 6.2). */
#pragma once

/* The probability that |t| is at least `t` by chance, with `freedom` > 0 degrees of freedom;
 * INFINITY is the normal distribution. NaN for a t that is NaN. */
double student_two_sided(double t, double freedom);

/* The t that chance reaches with probability `probability`, above 0 and below 1, on both sides
 * together: student_two_sided(result, freedom) is `probability`. */
double student_critical(double probability, double freedom);

struct student_prior {
    double variance;
    double freedom; /* what the prior is worth; INFINITY: the rows are alike; 0: nothing is known */
};

/* The prior of `count` variances that are known with `freedom` degrees each. Variances that are not
 * above 0 are left out; fewer than two give no prior. */
struct student_prior student_prior(const double *variances, int count, double freedom);

/* A row's variance with the prior taken in, and the degrees of freedom it is then known with: never
 * more than all `count` rows have together. */
double student_variance(const struct student_prior *prior, double variance, double freedom,
                        int count, double *total_freedom);

/* The least difference that is called nearly always. A call needs a difference beyond `least` and
 * beyond what chance reaches, `critical` errors; luck takes `luck` errors off the true one, so with
 * STUDENT_LUCK_5 nineteen of twenty such differences are called. */
double student_shows(double critical, double error, double least, double luck);
#define STUDENT_LUCK_5  1.645  /* a standard normal value is lower than -1.645 in 5 of 100 cases */
#define STUDENT_LUCK_20 0.8416 /* in 20 */

/* The regularised incomplete beta function I_x(a, b), of a and b above 0; 1 - x is given apart, for
 * when it is tiny. */
double student_beta(double a, double b, double x, double rest);

double student_digamma(double x);  /* of x > 0 */
double student_trigamma(double x); /* of x > 0 */
