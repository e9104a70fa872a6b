/* Checks of the weights that layers are made from. */
#include "api/check_weights.h"

#include <math.h>

#include "base/error.h"
#include "headwise/linear.h"
#include "kernels/dot.h"

static bool is_weight_type(enum headwise_dtype dtype) {
    return dtype == HEADWISE_F32 || dtype == HEADWISE_F16 || dtype == HEADWISE_BF16 ||
           dtype == HEADWISE_I8;
}

/* Whether inputs come in groups as they can. */
static enum headwise_status check_group(const char *where,
                                        const struct headwise_weight_types *types) {
    int64_t group = types->dynamic_group;
    if (group < 0 || group > HEADWISE_DOT_GROUP || group % HEADWISE_DOT_STEP != 0)
        return headwise_fail(HEADWISE_ERR_INVALID,
                             "%s: dynamic_group is %lld, expected 0 or a multiple of %d up to %d",
                             where, (long long)group, HEADWISE_DOT_STEP, HEADWISE_DOT_GROUP);
    if (group > 0 && !types->dynamic_int8)
        return headwise_fail(HEADWISE_ERR_INVALID,
                             "%s: dynamic_group is %lld, but dynamic_int8 is not set", where,
                             (long long)group);
    if (group > 0 && types->weight_dtype == HEADWISE_I8)
        return headwise_fail(HEADWISE_ERR_INVALID,
                             "%s: dynamic_group is %lld, but weights are i8, whose scales are of "
                             "all inputs",
                             where, (long long)group);
    return HEADWISE_OK;
}

enum headwise_status headwise_check_weight_types(const char *where,
                                                 const struct headwise_weight_types *types,
                                                 int64_t most_inputs) {
    if (!is_weight_type(types->weight_dtype))
        return headwise_fail(HEADWISE_ERR_INVALID,
                             "%s: weights are %s, expected f32, f16, bf16 or i8", where,
                             headwise_dtype_name(types->weight_dtype));
    if (!is_weight_type(types->packed_dtype))
        return headwise_fail(HEADWISE_ERR_INVALID,
                             "%s: packed_dtype is %s, expected f32, f16, bf16 or i8", where,
                             headwise_dtype_name(types->packed_dtype));
    if (types->dynamic_int8 && types->packed_dtype != HEADWISE_I8)
        return headwise_fail(HEADWISE_ERR_INVALID,
                             "%s: dynamic_int8 is set, but packed_dtype is %s, expected i8", where,
                             headwise_dtype_name(types->packed_dtype));
    if (types->dynamic_int8 && most_inputs > HEADWISE_DOT_INPUTS)
        return headwise_fail(HEADWISE_ERR_INVALID,
                             "%s: dynamic_int8 is set, but a matrix has %lld inputs, expected at "
                             "most %d",
                             where, (long long)most_inputs, HEADWISE_DOT_INPUTS);
    TRY(check_group(where, types));
    if (types->weight_dtype == HEADWISE_I8 && types->packed_dtype != HEADWISE_I8)
        return headwise_fail(HEADWISE_ERR_INVALID,
                             "%s: weights are i8, but packed_dtype is %s, expected i8", where,
                             headwise_dtype_name(types->packed_dtype));
    return HEADWISE_OK;
}

enum headwise_status headwise_check_scales(const char *where, const char *name, const float *scales,
                                           int64_t n, const struct headwise_weight_types *types) {
    if (scales && types->packed_dtype != HEADWISE_I8)
        return headwise_fail(HEADWISE_ERR_INVALID,
                             "%s: %s is given, but packed_dtype is %s, expected i8", where, name,
                             headwise_dtype_name(types->packed_dtype));
    if (scales && types->dynamic_group > 0)
        return headwise_fail(HEADWISE_ERR_INVALID,
                             "%s: %s is given, which is of all inputs, but dynamic_group is %lld",
                             where, name, (long long)types->dynamic_group);
    if (!scales && n > 0 && types->weight_dtype == HEADWISE_I8)
        return headwise_fail(HEADWISE_ERR_INVALID, "%s: %s is NULL, but weights are i8", where,
                             name);
    for (int64_t i = 0; scales && i < n; i++) {
        if (!(scales[i] > 0 && isfinite(scales[i])))
            return headwise_fail(HEADWISE_ERR_INVALID,
                                 "%s: %s[%lld] is %g, expected a positive finite number", where,
                                 name, (long long)i, (double)scales[i]);
    }
    return HEADWISE_OK;
}

enum headwise_status headwise_check_layout(const char *where, int layout) {
    if ((unsigned)layout > HEADWISE_IN_OUT)
        return headwise_fail(HEADWISE_ERR_INVALID, "%s: layout is %d, no headwise_layout", where,
                             layout);
    return HEADWISE_OK;
}

enum headwise_status headwise_check_width(const char *where, const char *name, int64_t size,
                                          int64_t least) {
    if (size < least || size > (int64_t)1 << 30)
        return headwise_fail(HEADWISE_ERR_INVALID, "%s: %s is %lld, expected %lld to 2^30", where,
                             name, (long long)size, (long long)least);
    return HEADWISE_OK;
}
