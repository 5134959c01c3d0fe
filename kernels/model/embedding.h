/* From the input to the first block's tokens [samples, tokens, width], and back.
 *
 * Token 0 of every sample stands for the whole sample (the class token); its learnt values are
 * positions[0]. */
#pragma once

/* y[row] = table[ids[row]] + positions[row % tokens]; a row is a token. */
struct token_embedding_forward {
    real *y;               /* [samples * tokens, width] */
    const int32_t *ids;    /* [samples * tokens], 0 .. vocabulary - 1 */
    const real *table;     /* [vocabulary, width] */
    const real *positions; /* [tokens, width] */
    int width, tokens;
};

/* dtable[row] (+)= sum of dy over the tokens whose id is row. Launched with vocabulary rows; a row
 * looks through all ids, so that the sum has one order. */
struct token_embedding_backward {
    real *dtable;       /* [vocabulary, width] */
    const real *dy;     /* [count, width] */
    const int32_t *ids; /* [count] */
    int width, count, accumulate;
};

/* y[sample, 0] = positions[0]; y[sample, 1 + p] = x[sample, p] + bias + positions[1 + p]. A row is
 * a token of y: samples * tokens rows. */
struct patch_embedding_forward {
    real *y;               /* [samples, tokens, width] */
    const real *x;         /* [samples, tokens - 1, width], the product patches * weight */
    const real *bias;      /* [width] */
    const real *positions; /* [tokens, width] */
    int width, tokens;
};

/* dx[sample, p] = dy[sample, 1 + p]. A row is a patch: samples * (tokens - 1) rows. */
struct patch_embedding_backward {
    real *dx;       /* [samples, tokens - 1, width] */
    const real *dy; /* [samples, tokens, width] */
    int width, tokens;
};

/* dpositions[t] (+)= sum over samples of dy[sample, t]. The count is `elements` = tokens *
 * width. */
struct positions_backward {
    real *dpositions; /* [tokens, width] */
    const real *dy;   /* [samples, tokens, width] */
    long elements;
    int samples, accumulate;
};
