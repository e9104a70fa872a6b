/* Where tokens stand: rotary embeddings, ALiBi, relative buckets, sinusoids. */
#ifndef HEADWISE_POSITIONS_H
#define HEADWISE_POSITIONS_H

#include "context.h"
#include "tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Which two components of a head form a pair that is turned together, r = rotary_dim. A model's
 * weights fix this: files of the transformers library are for HALF, Meta's own Llama files and GGUF
 * for INTERLEAVED. Rows of W_Q and W_K, permuted within each head, turn one into the other. */
enum headwise_pairs {
    HEADWISE_PAIRS_HALF = 0,       /* components j and j + r / 2 */
    HEADWISE_PAIRS_INTERLEAVED = 1 /* components 2j and 2j + 1 */
};

/* How a model reaches beyond the positions it was first trained on: what happens to the frequencies
 * f_j = base^(-2j / r), j = 0 ... r/2 - 1, by which a pair turns from one position to the next.
 * Names of parameters are those of config.json ("rope_scaling") where not said. A scaling that
 * depends on the length ("dynamic") is NONE with another base: base * (factor * length / original -
 * factor + 1)^(r / (r - 2)). */
enum headwise_scaling {
    HEADWISE_SCALING_NONE = 0,

    /* f_j / factor */
    HEADWISE_SCALING_LINEAR = 1,

    /* Llama 3.1: with c = original_positions / wavelength, wavelength = 2 pi / f_j:
     * f_j where c > high_freq_factor, f_j / factor where c < low_freq_factor, between them
     * (1 - t) * f_j / factor + t * f_j, t = (c - low_freq_factor) / (high_freq_factor -
     * low_freq_factor). */
    HEADWISE_SCALING_LLAMA3 = 2,

    /* YaRN (Peng, Quesnelle, Fan, Shippole 2023): t * f_j / factor + (1 - t) * f_j,
     * t = clamp((j - low) / (high - low), 0, 1), where low and high are what
     *   d(n) = r * ln(original_positions / (2 pi n)) / (2 ln base)
     * gives for n = beta_fast and n = beta_slow, rounded down and up unless keep_fractions is set,
     * and held within [0, r - 1]; high + 0.001 where both are equal. */
    HEADWISE_SCALING_YARN = 3,

    /* LongRoPE (Phi-3): f_j / long_factors[j] where n_positions > original_positions, else
     * f_j / short_factors[j]. */
    HEADWISE_SCALING_LONGROPE = 4
};

struct headwise_rotary_config {
    size_t size;               /* sizeof(struct headwise_rotary_config) */
    int64_t rotary_dim;        /* r: components of a head that are turned, the first ones; even, 2
                                * or more */
    enum headwise_pairs pairs; /* of the layers that use the table */
    double base;               /* > 0 (YARN: > 1); 0: 10000 ("rope_theta") */
    int64_t n_positions;       /* rows of the table: positions 0 ... n_positions-1; 1 or more */

    enum headwise_scaling scaling;
    double factor;               /* > 0; required by LINEAR, LLAMA3 and YARN, and by LONGROPE where
                                  * attention_factor is 0: there it is the model's largest number of
                                  * positions / original_positions, whatever n_positions is */
    int64_t original_positions;  /* LLAMA3, YARN, LONGROPE: 1 or more
                                  * ("original_max_position_embeddings") */
    double low_freq_factor;      /* LLAMA3; > 0; 0: 1 */
    double high_freq_factor;     /* LLAMA3; > low_freq_factor; 0: 4 */
    double beta_fast;            /* YARN; > 0; 0: 32 */
    double beta_slow;            /* YARN; > 0; 0: 1 */
    bool keep_fractions;         /* YARN; the opposite of "truncate" */
    const double *short_factors; /* LONGROPE: [r / 2], each > 0; the list that is not used may be */
    const double *long_factors;  /* NULL. Both are copied. */

    /* Cosines and sines are multiplied by this; > 0. 0: YARN: 0.1 * ln(factor) + 1; LONGROPE:
     * sqrt(1 + ln(factor) / ln(original_positions)); both 1 where factor <= 1; else 1. */
    double attention_factor;
};

typedef struct headwise_rotary headwise_rotary;

/* Computes the table and stores it in *rotary, with the context's allocator and threads:
 *   cos[p][j] = attention_factor * cos(p * f_j), sin[p][j] likewise
 * in float64 with functions that give the same bits on every machine, rounded once to f32:
 * n_positions * r floats. The table is immutable: any number of layers, contexts and threads may
 * use it at once, on every tier. It does not refer to the context afterwards, but its allocator
 * must stay usable.
 * HEADWISE_ERR_INVALID: a pointer is NULL, a number is outside the range above.
 * HEADWISE_ERR_NO_MEMORY. On failure *rotary is unchanged. */
HEADWISE_API enum headwise_status
headwise_rotary_create(headwise_rotary **rotary, headwise_context *context,
                       const struct headwise_rotary_config *config);

/* Frees the table: after the last layer that uses it. NULL is allowed. */
HEADWISE_API void headwise_rotary_destroy(headwise_rotary *rotary);

/* The table itself, and what it was made for. */
struct headwise_rotary_info {
    size_t size; /* sizeof(struct headwise_rotary_info) of the library */
    int64_t n_positions;
    int64_t rotary_dim;
    enum headwise_pairs pairs;
    double attention_factor; /* that was used */
    const float *cos;        /* [n_positions][rotary_dim / 2] */
    const float *sin;        /* the same shape */
};

/* Lives as long as the table, which must not be NULL. */
HEADWISE_API const struct headwise_rotary_info *
headwise_rotary_describe(const headwise_rotary *rotary);

struct headwise_rotate_options {
    size_t size; /* sizeof(struct headwise_rotate_options) */

    /* Where cosines and sines come from: a table with its rotary_dim and pairs, or NULL and the
     * five fields below. */
    const headwise_rotary *rotary;
    const float *cos;          /* [n_rows][rotary_dim / 2] */
    const float *sin;          /* the same shape */
    int64_t n_rows;            /* 0 or more */
    int64_t rotary_dim;        /* even, 2 ... D; 0: D */
    enum headwise_pairs pairs; /* HALF is ONNX's interleaved = 0 */

    /* [B][S]: the row of the tables for row r of batch entry b, 0 ... number of rows - 1. NULL: row
     * b * S + r of the caller's tables (ONNX: caches of shape (B, S, r / 2)); row r of rotary. */
    const int64_t *positions;
};

/* ONNX RotaryEmbedding: turns each pair (a, b) of each row of x by its row's angles,
 *   y_a = a * cos - b * sin ;  y_b = b * cos + a * sin
 * and copies the components from rotary_dim on.
 *   x, y (B, H, S, D), F32, F16 or BF16 each on its own; arithmetic is f32, y is rounded once.
 * y may be x itself (the same data, type and strides); else they may not overlap. The same bits on
 * every tier but scalar, for any number of threads.
 * HEADWISE_ERR_INVALID: a pointer is NULL that may not be, types or sizes do not fit, a position is
 * outside the tables, both rotary and tables are given. HEADWISE_ERR_NO_MEMORY: scratch could not
 * grow. Failure leaves y untouched. */
HEADWISE_API enum headwise_status headwise_rotate(headwise_context *context,
                                                  const struct headwise_tensor *y,
                                                  const struct headwise_tensor *x,
                                                  const struct headwise_rotate_options *options);

/* The ALiBi slopes of n_heads heads, [n_heads]: with n the largest power of 2 up to n_heads, the
 * first n are 2^(-8 (h + 1) / n), the others 2^(-4 (2 k + 1) / n), k = 0, 1, ... (the odd ones of
 * the 2 n slopes), as the authors' code has it.
 * HEADWISE_ERR_INVALID: slopes is NULL, n_heads is negative. */
HEADWISE_API enum headwise_status headwise_alibi_slopes(float *slopes, int64_t n_heads);

/* T5's relative bias, as options->relative_bias wants it: bias[h][j - p + max_distance] =
 * table[bucket(j - p)][h] for distances -max_distance ... max_distance.
 *   table [n_buckets][n_heads] ("relative_attention_bias.weight"), bias [n_heads][2 * max_distance
 *   + 1], to be used with relative_reach = max_distance. May not overlap.
 * bidirectional (encoders): keys after the query have the upper half of the buckets; else
 * (decoders) they share bucket 0. Of the n buckets of one side the first n / 2 are for distances 0
 * ... n/2 - 1, the others grow by a constant factor up to max_distance and hold everything beyond.
 * HEADWISE_ERR_INVALID: a pointer is NULL, n_heads is negative, n_buckets is below 2
 * (bidirectional: 4) or odd where bidirectional, max_distance is not above the number of buckets
 * that hold one distance, a size product overflows. */
HEADWISE_API enum headwise_status headwise_t5_bias(float *bias, const float *table,
                                                   int64_t n_buckets, int64_t n_heads,
                                                   bool bidirectional, int64_t max_distance);

/* The table of "Attention is all you need", [n][d]: element (p, 2i) = sin(p / 10000^(2i / d)),
 * (p, 2i + 1) = cos of the same, computed in float64 and rounded once; the same bits on every
 * machine. d may be odd. HEADWISE_ERR_INVALID: table is NULL, n or d is negative, n * d overflows.
 */
HEADWISE_API enum headwise_status headwise_sinusoidal_table(float *table, int64_t n, int64_t d);

#ifdef __cplusplus
}
#endif
#endif
