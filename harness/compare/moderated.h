/* Variances of many rows, each known from a few runs only, moderated by what they have in common.
 *
 * With three runs a side a row's own variance has four degrees of freedom: by luck it is often far too
 * small or too large, and Student's t pays for that. Rows of one file were measured by the same runs on
 * the same machine, so their true variances are of one kind: drawn from a prior (an inverse chi-square
 * distribution), whose centre and width the rows themselves tell. A row's variance then is the mean of
 * the prior's and its own, weighted by degrees of freedom, and those add up (Smyth, "Linear models and
 * empirical Bayes methods for assessing differential expression in microarray experiments", Stat. Appl.
 * Genet. Mol. Biol. 3, 2004: equations in section 6.2). */
#ifndef HARNESS_COMPARE_MODERATED_H
#define HARNESS_COMPARE_MODERATED_H

struct prior {
    double variance;
    double freedom; /* what the prior is worth; INFINITY: the rows are alike; 0: nothing is known */
};

/* The prior of `count` variances that are known with `freedom` degrees each. Variances that are not
 * above 0 are left out; of fewer than two there is no prior. */
struct prior moderated_prior(const double *variances, int count, double freedom);

/* A row's variance with the prior taken in, and the degrees of freedom it is then known with: never more
 * than all `count` rows have together. */
double moderated_variance(const struct prior *prior, double variance, double freedom, int count,
                          double *total_freedom);

double digamma(double x);  /* of x > 0 */
double trigamma(double x); /* of x > 0 */

#endif
