/* Element types, and views of the two usual forms of memory. */
#include "tensors/tensor.h"

size_t headwise_dtype_size(enum headwise_dtype dtype) {
    switch (dtype) {
    case HEADWISE_F32:
        return 4;
    case HEADWISE_F16:
    case HEADWISE_BF16:
        return 2;
    case HEADWISE_BOOL:
    case HEADWISE_I8:
        return 1;
    }
    return 0;
}

const char *headwise_dtype_name(enum headwise_dtype dtype) {
    switch (dtype) {
    case HEADWISE_F32:
        return "f32";
    case HEADWISE_F16:
        return "f16";
    case HEADWISE_BF16:
        return "bf16";
    case HEADWISE_BOOL:
        return "bool";
    case HEADWISE_I8:
        return "i8";
    }
    return "?";
}

/* A product that does not fit becomes -1, which the checks of every call refuse as a stride. */
static int64_t stride_of(int64_t a, int64_t b) {
    int64_t product;
    return a < 0 || b < 0 || __builtin_mul_overflow(a, b, &product) ? -1 : product;
}

struct headwise_tensor headwise_tensor_bhrc(const void *data, enum headwise_dtype dtype,
                                            int64_t batch, int64_t heads, int64_t rows,
                                            int64_t columns) {
    int64_t head_stride = stride_of(rows, columns);
    return (struct headwise_tensor){
        (void *)(uintptr_t)data,
        dtype,
        {batch, heads, rows, columns},
        {stride_of(heads, head_stride), head_stride, columns, 1},
    };
}

struct headwise_tensor headwise_tensor_brhc(const void *data, enum headwise_dtype dtype,
                                            int64_t batch, int64_t rows, int64_t heads,
                                            int64_t columns) {
    int64_t row_stride = stride_of(heads, columns);
    return (struct headwise_tensor){
        (void *)(uintptr_t)data,
        dtype,
        {batch, heads, rows, columns},
        {stride_of(rows, row_stride), columns, row_stride, 1},
    };
}
