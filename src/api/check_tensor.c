/* Checks of tensors and masks. */
#include "api/check.h"
#include "base/alloc.h"
#include "base/error.h"
#include "tensors/tensor.h"

static const char *const axis_names[4] = {"batch", "head", "row", "column"};

static enum headwise_status check_sizes(const char *where, const char *name,
                                        const struct headwise_tensor *t,
                                        const int64_t expected[4]) {
    for (int axis = 0; axis < 4; axis++) {
        if (t->size[axis] < 0)
            return headwise_fail(HEADWISE_ERR_INVALID,
                                 "%s: %s has size %lld on its %s axis, expected 0 or more", where,
                                 name, (long long)t->size[axis], axis_names[axis]);
        if (expected[axis] >= 0 && t->size[axis] != expected[axis])
            return headwise_fail(
                HEADWISE_ERR_INVALID, "%s: %s has size %lld on its %s axis, expected %lld", where,
                name, (long long)t->size[axis], axis_names[axis], (long long)expected[axis]);
    }
    return HEADWISE_OK;
}

/* Strides, and that the last element's offset in bytes can be computed. */
static enum headwise_status check_extent(const char *where, const char *name,
                                         const struct headwise_tensor *t) {
    int64_t last = 0;
    for (int axis = 0; axis < 4; axis++) {
        int64_t step;
        if (t->stride[axis] < 0)
            return headwise_fail(HEADWISE_ERR_INVALID,
                                 "%s: %s has stride %lld on its %s axis, expected 0 or more", where,
                                 name, (long long)t->stride[axis], axis_names[axis]);
        if (!headwise_mul(&step, t->size[axis] - 1, t->stride[axis]) ||
            !headwise_sum(&last, last, step))
            return headwise_fail(HEADWISE_ERR_INVALID, "%s: the extent of %s overflows", where,
                                 name);
    }
    if (last > (int64_t)(PTRDIFF_MAX / 8))
        return headwise_fail(HEADWISE_ERR_INVALID, "%s: the extent of %s overflows", where, name);
    return HEADWISE_OK;
}

bool headwise_is_float(enum headwise_dtype dtype) {
    return dtype == HEADWISE_F32 || dtype == HEADWISE_F16 || dtype == HEADWISE_BF16;
}

enum headwise_status headwise_check_tensor(const char *where, const char *name,
                                           const struct headwise_tensor *t, bool is_output,
                                           int64_t batch, int64_t heads, int64_t rows,
                                           int64_t columns) {
    const int64_t expected[4] = {batch, heads, rows, columns};
    if (!t)
        return headwise_fail(HEADWISE_ERR_INVALID, "%s: %s is NULL", where, name);
    if (!headwise_is_float(t->dtype))
        return headwise_fail(HEADWISE_ERR_INVALID, "%s: %s has type %s, expected f32, f16 or bf16",
                             where, name, headwise_dtype_name(t->dtype));
    enum headwise_status status = check_sizes(where, name, t, expected);
    if (status != HEADWISE_OK || headwise_tensor_empty(t))
        return status;
    if (!t->data)
        return headwise_fail(HEADWISE_ERR_INVALID, "%s: the data of %s is NULL", where, name);
    if (t->stride[3] != 1)
        return headwise_fail(HEADWISE_ERR_INVALID,
                             "%s: %s has stride %lld on its column axis, expected 1", where, name,
                             (long long)t->stride[3]);
    for (int axis = 0; is_output && axis < 3; axis++) {
        if (t->size[axis] > 1 && t->stride[axis] == 0)
            return headwise_fail(HEADWISE_ERR_INVALID,
                                 "%s: output %s is broadcast on its %s axis (stride 0)", where,
                                 name, axis_names[axis]);
    }
    return check_extent(where, name, t);
}

enum headwise_status headwise_check_mask(const char *where, struct headwise_call *call,
                                         const struct headwise_tensor *given) {
    call->mask_keys = call->n_keys;
    if (!given)
        return HEADWISE_OK;
    struct headwise_tensor *mask = &call->mask;
    const int64_t full[4] = {call->batch, call->n_heads, call->n_queries, call->n_keys};
    *mask = *given;
    if (!headwise_is_float(mask->dtype) && mask->dtype != HEADWISE_BOOL)
        return headwise_fail(HEADWISE_ERR_INVALID,
                             "%s: mask has type %s, expected bool, f32, f16 or bf16", where,
                             headwise_dtype_name(mask->dtype));
    for (int axis = 0; axis < 3; axis++) {
        if (mask->size[axis] != full[axis] && mask->size[axis] != 1)
            return headwise_fail(
                HEADWISE_ERR_INVALID, "%s: mask has size %lld on its %s axis, expected %lld or 1",
                where, (long long)mask->size[axis], axis_names[axis], (long long)full[axis]);
        if (mask->size[axis] == 1)
            mask->stride[axis] = 0;
    }
    bool broadcast = mask->stride[3] == 0 && mask->size[3] >= 1;
    if (mask->size[3] < 0 || (mask->size[3] > full[3] && !broadcast))
        return headwise_fail(
            HEADWISE_ERR_INVALID,
            "%s: mask has size %lld on its column axis, expected at most %lld keys", where,
            (long long)mask->size[3], (long long)full[3]);
    if (!broadcast && mask->size[3] > 1 && mask->stride[3] != 1)
        return headwise_fail(HEADWISE_ERR_INVALID,
                             "%s: mask has stride %lld on its column axis, expected 1 or 0", where,
                             (long long)mask->stride[3]);
    if (!broadcast) {
        mask->stride[3] = 1;
        call->mask_keys = mask->size[3];
    }
    if (headwise_tensor_empty(mask)) {
        mask->data = NULL;
        return HEADWISE_OK;
    }
    if (!mask->data)
        return headwise_fail(HEADWISE_ERR_INVALID, "%s: the data of mask is NULL", where);
    return check_extent(where, "mask", mask);
}
