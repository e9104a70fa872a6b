/* Bounds of a row of attention in f64, derived as bound.h says. */
#include "calls/bound.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "calls/rounding.h"
#include "common/arrays.h"
#include "common/message.h"
#include "headwise/isa.h" /* HEADWISE_KEY_BLOCK */

#define U 0x1p-24     /* relative error of one f32 operation */
#define TINY 0x1p-125 /* absolute error of one that underflows, exp2 included */
/* The least values that round to infinity. */
#define F16_OVERFLOW 65520
#define BF16_OVERFLOW 0x1.ffp127

/* Everything in f64, and one row's quantities as named in bound.h. */
struct bound {
    const struct attention_call *call;
    double *q, *k, *v; /* [batch][heads][rows][columns]; past rows first */
    double *s, *e;     /* [keys]; s is -inf where a key is hidden */
    double *p;         /* exp(s - max) */
    double *grown;     /* p (exp(t) - 1) */
    double *shrunk;    /* p exp(-t) */
    double max, sum_p, sum_grown, sum_shrunk;
    bool overflows; /* nothing can be said */
    double scale, n_blocks;
};

static double element(const struct headwise_tensor *t, int64_t b, int64_t h, int64_t r, int64_t c) {
    int64_t at = b * t->stride[0] + h * t->stride[1] + r * t->stride[2] + c * t->stride[3];
    float value;
    switch (t->dtype) {
    case HEADWISE_F16:
        headwise_f32_from_f16(&value, (const uint16_t *)t->data + at, 1);
        return value;
    case HEADWISE_BF16:
        headwise_f32_from_bf16(&value, (const uint16_t *)t->data + at, 1);
        return value;
    case HEADWISE_BOOL:
        return ((const unsigned char *)t->data)[at] != 0;
    default:
        return ((const float *)t->data)[at];
    }
}

/* Copies a view into dst of [batch][heads][rows][columns], from row first on. */
static void widen(double *dst, int64_t rows, int64_t first, const struct headwise_tensor *t) {
    for (int64_t b = 0; b < t->size[0]; b++)
        for (int64_t h = 0; h < t->size[1]; h++)
            for (int64_t r = 0; r < t->size[2]; r++)
                for (int64_t c = 0; c < t->size[3]; c++)
                    dst[((b * t->size[1] + h) * rows + first + r) * t->size[3] + c] =
                        element(t, b, h, r, c);
}

static double *take(struct arena *arena, int64_t a, int64_t b, int64_t c, int64_t d) {
    int64_t n;
    bool fits = !__builtin_mul_overflow(a, b, &n) && !__builtin_mul_overflow(n, c, &n) &&
                !__builtin_mul_overflow(n, d, &n);
    return arena_take(arena, fits ? n : -1, sizeof(double));
}

static int prepare(struct bound *bound, struct arena *arena, const struct attention_call *call) {
    int64_t n_keys = call->n_keys;
    *bound = (struct bound){.call = call};
    bound->q = take(arena, call->batch, call->n_heads, call->n_queries, call->head_dim);
    bound->k = take(arena, call->batch, call->n_kv_heads, n_keys, call->head_dim);
    bound->v = take(arena, call->batch, call->n_kv_heads, n_keys, call->value_dim);
    double *rows = take(arena, 5, n_keys, 1, 1);
    if (!bound->q || !bound->k || !bound->v || !rows)
        return EXIT_UNUSABLE;
    bound->s = rows;
    bound->e = rows + n_keys;
    bound->p = rows + 2 * n_keys;
    bound->grown = rows + 3 * n_keys;
    bound->shrunk = rows + 4 * n_keys;
    widen(bound->q, call->n_queries, 0, &call->q);
    if (call->call.past_key) {
        widen(bound->k, n_keys, 0, &call->past_key);
        widen(bound->v, n_keys, 0, &call->past_value);
    }
    widen(bound->k, n_keys, call->n_past, &call->k);
    widen(bound->v, n_keys, call->n_past, &call->v);
    bound->scale =
        call->options.scale_is_set ? call->options.scale : 1 / sqrt((double)call->head_dim);
    bound->n_blocks = ceil((double)n_keys / HEADWISE_KEY_BLOCK);
    return EXIT_GOOD;
}

static bool is_in_range(const struct attention_call *call, int64_t b, int64_t i, int64_t j) {
    const struct headwise_attention_options *o = &call->options;
    int64_t left = o->window_left, right = o->window_right, position = i + call->offsets[b];
    if (call->key_lengths && j >= call->key_lengths[b])
        return false;
    if (call->is_causal && j > position)
        return false;
    if (o->window_is_set && left >= 0 && position - j > left)
        return false;
    return !(o->window_is_set && right >= 0 && j - position > right);
}

/* The mask's value for a key; -inf: hidden. */
static double mask_value(const struct attention_call *call, int64_t b, int64_t h, int64_t i,
                         int64_t j) {
    const struct headwise_tensor *mask = &call->mask;
    if (!call->call.mask)
        return 0;
    if (j >= mask->size[3])
        return -INFINITY;
    double value = element(mask, mask->size[0] == 1 ? 0 : b, mask->size[1] == 1 ? 0 : h,
                           mask->size[2] == 1 ? 0 : i, j);
    if (mask->dtype == HEADWISE_BOOL)
        return value != 0 ? 0 : -INFINITY;
    return value;
}

static void score(const struct bound *bound, int64_t j, const double *q, const double *k) {
    const struct attention_call *call = bound->call;
    double sum = 0, sum_abs = 0;
    for (int64_t t = 0; t < call->head_dim; t++) {
        sum += q[t] * k[t];
        sum_abs += fabs(q[t] * k[t]);
    }
    double n = (double)call->head_dim + 2 + (call->narrowed ? 2 : 0);
    bound->s[j] = bound->scale * sum;
    bound->e[j] = rounding_gamma(n) * fabs(bound->scale) * sum_abs + TINY;
    if (fabs(bound->scale) * sum_abs > FLT_MAX || sum_abs > FLT_MAX)
        bound->e[j] = INFINITY; /* f32 may overflow on the way */
}

static void cap(const struct bound *bound, int64_t j) {
    double limit = bound->call->options.softcap, x = bound->s[j] / limit;
    double shift = bound->e[j] / limit + 3 * U * fabs(x);
    double slope = pow(cosh(fmax(0, fabs(x) - shift)), -2); /* the steepest in reach */
    bound->s[j] = limit * tanh(x);
    bound->e[j] = limit * fmin(shift * slope, 2) + 4 * U * fabs(bound->s[j]) + TINY;
}

static void mask(const struct bound *bound, int64_t b, int64_t h, int64_t i, int64_t j) {
    double value = mask_value(bound->call, b, h, i, j);
    if (value == -INFINITY || !is_in_range(bound->call, b, i, j)) {
        bound->s[j] = -INFINITY;
        bound->e[j] = 0;
        return;
    }
    if (!bound->call->call.mask)
        return;
    bound->s[j] += value;
    bound->e[j] += U * fabs(bound->s[j]) + (bound->call->narrowed ? U * fabs(value) : 0);
    if (bound->s[j] < -FLT_MAX) { /* rounds to -inf, which hides */
        bound->s[j] = -INFINITY;
        bound->e[j] = 0;
    } else if (bound->s[j] > FLT_MAX) {
        bound->e[j] = INFINITY;
    }
}

/* The logits' own type: exact and computed ones may fall on different sides of a rounding. */
static void round_score(const struct bound *bound, int64_t j) {
    enum headwise_dtype type = bound->call->options.softmax_precision;
    double s = bound->s[j], overflow = type == HEADWISE_F16 ? F16_OVERFLOW : BF16_OVERFLOW;
    if (type == HEADWISE_F32 || isinf(s))
        return;
    if (fabs(s) >= overflow) {
        bound->s[j] = s < 0 ? -INFINITY : s;
        bound->e[j] = s < 0 ? 0 : INFINITY;
        return;
    }
    bound->e[j] += 2 * rounding_of(file_dtype(type), fabs(s) + bound->e[j]);
}

static void exponentials(struct bound *bound) {
    bound->max = -INFINITY;
    bound->overflows = false;
    bound->sum_p = bound->sum_grown = bound->sum_shrunk = 0;
    for (int64_t j = 0; j < bound->call->n_keys; j++) {
        if (bound->s[j] > bound->max || isnan(bound->s[j]))
            bound->max = bound->s[j];
        bound->overflows = bound->overflows || isinf(bound->e[j]);
    }
    for (int64_t j = 0; j < bound->call->n_keys; j++) {
        double below = bound->s[j] - bound->max;
        double t = bound->e[j] + 3 * U * -below + (4 * bound->n_blocks + 8) * U;
        bool is_hidden = bound->s[j] == -INFINITY;
        bound->p[j] = is_hidden ? 0 : exp(below);
        bound->shrunk[j] = is_hidden ? 0 : exp(below - t);
        /* the second form does not lose a key whose p underflows but whose t is large */
        bound->grown[j] = is_hidden ? 0 : t < 1 ? bound->p[j] * expm1(t) : exp(below + t);
        if (!is_hidden)
            bound->grown[j] += TINY;
        bound->sum_p += bound->p[j];
        bound->sum_grown += bound->grown[j];
        bound->sum_shrunk += bound->shrunk[j];
    }
}

/* The number of roundings in a sum over all keys of a row, by blocks. */
static double roundings(const struct bound *bound) {
    double chain = fmin((double)bound->call->n_keys, HEADWISE_KEY_BLOCK);
    return 2 * chain + 4 * bound->n_blocks + 8 + (bound->call->narrowed ? 1 : 0);
}

/* A column of y: v is its first element, one row of values after the other. */
static double bound_column(const struct bound *bound, const double *v) {
    int64_t n_keys = bound->call->n_keys, stride = bound->call->value_dim;
    double y = 0, moved = 0, farthest = 0, mean_abs = 0, max_abs = 0;
    if (bound->overflows)
        return INFINITY;
    if (bound->sum_p == 0)
        return 0; /* no key is visible: exact zeros */
    for (int64_t j = 0; j < n_keys; j++)
        y += bound->s[j] == -INFINITY ? 0 : bound->p[j] * v[j * stride];
    y /= bound->sum_p;
    for (int64_t j = 0; j < n_keys; j++) {
        if (bound->s[j] == -INFINITY)
            continue;
        double value = v[j * stride];
        moved += bound->grown[j] * fabs(value - y);
        farthest = fmax(farthest, fabs(value - y));
        mean_abs += (bound->p[j] + bound->grown[j]) * fabs(value);
        max_abs = fmax(max_abs, fabs(value));
    }
    double by_weights = fmin(moved / bound->sum_shrunk, farthest);
    double by_sums = rounding_gamma(roundings(bound)) * fmin(mean_abs / bound->sum_shrunk, max_abs);
    return by_weights + by_sums + TINY + y * 0; /* + y * 0: NaN where y is no number */
}

static void bound_weights(double *dst, const struct bound *bound) {
    double low_sum = bound->sum_p + bound->sum_grown;
    for (int64_t j = 0; j < bound->call->n_keys; j++) {
        double w = bound->sum_p == 0 ? 0 : bound->p[j] / bound->sum_p;
        double high = fmin(1, (bound->p[j] + bound->grown[j]) / bound->sum_shrunk);
        bool is_hidden = bound->s[j] == -INFINITY;
        dst[j] = is_hidden ? 0
                           : fmax(high - w, w - bound->shrunk[j] / low_sum) +
                                 rounding_gamma(roundings(bound)) * fmin(1, high) + TINY;
        if (bound->overflows)
            dst[j] = INFINITY;
    }
}

static void copy_errors(double *dst, const struct bound *bound) {
    if (dst)
        memcpy(dst, bound->e, (size_t)bound->call->n_keys * sizeof *dst);
}

static void bound_row(struct bound *bound, double *y, double *scores, int64_t b, int64_t h,
                      int64_t i) {
    const struct attention_call *call = bound->call;
    int64_t kv = b * call->n_kv_heads + h / (call->n_heads / call->n_kv_heads);
    const double *q = bound->q + ((b * call->n_heads + h) * call->n_queries + i) * call->head_dim;
    const double *k = bound->k + kv * call->n_keys * call->head_dim;
    const double *v = bound->v + kv * call->n_keys * call->value_dim;
    for (int64_t j = 0; j < call->n_keys; j++)
        score(bound, j, q, k + j * call->head_dim);
    copy_errors(call->stage == HEADWISE_SCORES_SCALED ? scores : NULL, bound);
    for (int64_t j = 0; j < call->n_keys && call->options.softcap > 0; j++)
        cap(bound, j);
    copy_errors(call->stage == HEADWISE_SCORES_CAPPED ? scores : NULL, bound);
    for (int64_t j = 0; j < call->n_keys; j++)
        mask(bound, b, h, i, j);
    copy_errors(call->stage == HEADWISE_SCORES_MASKED ? scores : NULL, bound);
    for (int64_t j = 0; j < call->n_keys; j++)
        round_score(bound, j);
    exponentials(bound);
    for (int64_t c = 0; c < call->value_dim; c++)
        y[c] = bound_column(bound, v + c);
    if (scores && call->stage == HEADWISE_SCORES_WEIGHTS)
        bound_weights(scores, bound);
}

int bound_attention(double *y, double *scores, struct arena *arena,
                    const struct attention_call *call) {
    struct bound bound;
    int code = prepare(&bound, arena, call);
    struct headwise_tensor view = attention_view(call->rank, NULL, HEADWISE_F32, call->batch,
                                                 call->n_heads, call->n_queries, call->value_dim);
    for (int64_t b = 0; !code && b < call->batch; b++) {
        for (int64_t h = 0; h < call->n_heads; h++) {
            for (int64_t i = 0; i < call->n_queries; i++) {
                double *row = y + b * view.stride[0] + h * view.stride[1] + i * view.stride[2];
                int64_t at = ((b * call->n_heads + h) * call->n_queries + i) * call->n_keys;
                bound_row(&bound, row, scores ? scores + at : NULL, b, h, i);
            }
        }
    }
    return code;
}
