/* Checks of views, and of positions. */
#include "api/check_tensor.h"

#include "base/alloc.h"
#include "base/error.h"
#include "tensors/tensor.h"

const char *const headwise_axis_names[4] = {"batch", "head", "row", "column"};

static enum headwise_status check_sizes(const char *where, const char *name,
                                        const struct headwise_tensor *t,
                                        const int64_t expected[4]) {
    for (int axis = 0; axis < 4; axis++) {
        if (t->size[axis] < 0)
            return headwise_fail(HEADWISE_ERR_INVALID,
                                 "%s: %s has size %lld on its %s axis, expected 0 or more", where,
                                 name, (long long)t->size[axis], headwise_axis_names[axis]);
        if (expected[axis] >= 0 && t->size[axis] != expected[axis])
            return headwise_fail(HEADWISE_ERR_INVALID,
                                 "%s: %s has size %lld on its %s axis, expected %lld", where, name,
                                 (long long)t->size[axis], headwise_axis_names[axis],
                                 (long long)expected[axis]);
    }
    return HEADWISE_OK;
}

/* Strides, and that the last element's offset in bytes can be computed. */
enum headwise_status headwise_check_extent(const char *where, const char *name,
                                           const struct headwise_tensor *t) {
    int64_t last = 0;
    for (int axis = 0; axis < 4; axis++) {
        int64_t step;
        if (t->stride[axis] < 0)
            return headwise_fail(HEADWISE_ERR_INVALID,
                                 "%s: %s has stride %lld on its %s axis, expected 0 or more", where,
                                 name, (long long)t->stride[axis], headwise_axis_names[axis]);
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
                                 name, headwise_axis_names[axis]);
    }
    return headwise_check_extent(where, name, t);
}

enum headwise_status headwise_check_positions(const char *where, const int64_t *positions,
                                              int64_t batch, int64_t rows, int64_t first,
                                              int64_t n_positions) {
    if (!positions && batch > 0 && rows > 0 && (first < 0 || rows > n_positions - first))
        return headwise_fail(
            HEADWISE_ERR_INVALID,
            "%s: rows stand at positions %lld to %lld, expected 0 to %lld, the end "
            "of the table",
            where, (long long)first, (long long)(first + rows - 1), (long long)(n_positions - 1));
    for (int64_t at = 0; positions && at < batch * rows; at++) {
        if (positions[at] < 0 || positions[at] >= n_positions)
            return headwise_fail(HEADWISE_ERR_INVALID,
                                 "%s: positions[%lld][%lld] is %lld, expected 0 to %lld", where,
                                 (long long)(at / rows), (long long)(at % rows),
                                 (long long)positions[at], (long long)(n_positions - 1));
    }
    return HEADWISE_OK;
}
