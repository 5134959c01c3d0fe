/* A mixture of experts between its router and its products: which expert each token goes to, its
 * way there and back (Lepikhin et al.: "GShard", 2020; Fedus et al.: "Switch Transformer", 2021).
 *
 * A token has one expert and goes there with those of the same expert, in their order: place[token]
 * is its row among all, sorted by expert. No expert has a capacity, so none is dropped. */
#pragma once

/* p = softmax(logits), expert = the first with the largest p + bias, gate = p of that expert,
 * without bias (Wang et al.: "Auxiliary-loss-free load balancing strategy for mixture-of-experts",
 * 2024). Columns from `experts` on do not count. */
struct route_tokens {
    int32_t *expert;    /* [rows] */
    float *gate;        /* [rows] */
    const real *logits; /* [rows, width] */
    const float *bias;  /* [width] */
    int width, experts;
};

/* dlogits from the gradient of the gate; the choice has none. 0 from `experts` on. */
struct route_tokens_backward {
    real *dlogits;         /* [rows, width] */
    const real *logits;    /* [rows, width] */
    const float *dgate;    /* [rows] */
    const int32_t *expert; /* [rows] */
    int width, experts;
};

/* y[place[row]] = x[row]. Launched with `count` rows. */
struct dispatch_tokens {
    int32_t *place;        /* [count] */
    real *y;               /* [count, width] */
    const real *x;         /* [count, width] */
    const int32_t *expert; /* [count] */
    int width, count;
};

/* counts[row] = how many of `count` tokens go to expert `row`; exact up to 2^24. */
struct count_tokens {
    float *counts;         /* [rows] */
    const int32_t *expert; /* [count] */
    int count;
    int width; /* ROW_MULTIPLE */
};

/* y[row] = gate[row] * x[place[row]]. */
struct combine_tokens {
    real *y;              /* [rows, width] */
    const real *x;        /* [rows, width] */
    const int32_t *place; /* [rows] */
    const float *gate;    /* [rows]; NULL: 1 */
    int width;
};

/* dx[place[row]] = gate[row] * dy[row], dgate[row] = sum(dy[row] * x[place[row]]). */
struct combine_tokens_backward {
    real *dx;             /* [rows, width] */
    float *dgate;         /* [rows] */
    const real *dy, *x;   /* [rows, width] */
    const int32_t *place; /* [rows] */
    const float *gate;    /* [rows] */
    int width;
};

/* bias[expert] += rate * (1 - its tokens over the mean), of the tokens of all ranks. Launched with
 * one row. */
struct balance_experts {
    float *bias;         /* [experts] */
    const float *counts; /* [ranks, experts] */
    float rate;
    int experts, ranks;
    int width; /* ROW_MULTIPLE */
};
