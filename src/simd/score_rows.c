/* What changes rows of scores before softmax: softcap, distances, masks. */
#include "vec.h"

void TIER(headwise_softcap)(float *s, float cap, float inverse_cap, ptrdiff_t n) {
    for (ptrdiff_t j = 0; j < n; j += LANES) {
        vec x = multiply(load_first(s + j, n - j), broadcast(inverse_cap));
        store_first(s + j, multiply(broadcast(cap), tanh_vec(x)), n - j);
    }
}

void TIER(headwise_alibi)(float *s, float slope, float distance, ptrdiff_t first, ptrdiff_t n) {
    static const float lane[HEADWISE_SUM_LANES] = {0, 1, 2,  3,  4,  5,  6,  7,
                                                   8, 9, 10, 11, 12, 13, 14, 15};
    for (ptrdiff_t j = 0; j < n; j += LANES) {
        vec index = add(broadcast((float)(first + j)), load(lane));
        vec ahead = subtract(broadcast(distance), index);
        vec away = select_max(ahead, subtract(index, broadcast(distance)));
        vec score = multiply_add(broadcast(-slope), away, load_first(s + j, n - j));
        store_first(s + j, score, n - j);
    }
}

void TIER(headwise_add_mask)(float *restrict s, const float *restrict x, ptrdiff_t n) {
    vec hidden = broadcast(-INFINITY);
    for (ptrdiff_t j = 0; j < n; j += LANES) {
        vec mask = load_first(x + j, n - j);
        vec masked = add(load_first(s + j, n - j), mask);
        store_first(s + j, select_equal(mask, hidden, hidden, masked), n - j);
    }
}

void TIER(headwise_hide)(float *restrict s, const uint8_t *restrict visible, ptrdiff_t n) {
    vec hidden = broadcast(-INFINITY);
    for (ptrdiff_t j = 0; j < n; j += LANES) {
        vec score = load_first(s + j, n - j);
        store_first(s + j, select_bytes(visible + j, n - j, score, hidden), n - j);
    }
}

void TIER(headwise_add)(float *restrict s, const float *restrict x, ptrdiff_t n) {
    for (ptrdiff_t j = 0; j < n; j += LANES) {
        vec total = add(load_first(s + j, n - j), load_first(x + j, n - j));
        store_first(s + j, total, n - j);
    }
}
