/* Elements of a file, converted. Loads go through memcpy: data in a file is aligned to nothing. */
#include "files/error.h"
#include "headwise-io/safetensors.h"
#include "safetensors/half.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "safetensors data is little-endian");

/* FOR_EACH(T, expression of x) stores the expression for every element x of type T. */
#define FOR_EACH(T, expression)                                                                    \
    for (size_t i = 0; i < n; i++) {                                                               \
        T x;                                                                                       \
        memcpy(&x, src + i * sizeof x, sizeof x);                                                  \
        dst[i] = (expression);                                                                     \
    }                                                                                              \
    break

#define CONVERT(name, D)                                                                           \
    static void name(D *dst, const unsigned char *src, enum headwise_file_dtype dtype, size_t n) { \
        switch (dtype) {                                                                           \
        case HEADWISE_FILE_BOOL:                                                                   \
            FOR_EACH(uint8_t, x != 0);                                                             \
        case HEADWISE_FILE_U8:                                                                     \
            FOR_EACH(uint8_t, (D)x);                                                               \
        case HEADWISE_FILE_I8:                                                                     \
            FOR_EACH(int8_t, (D)x);                                                                \
        case HEADWISE_FILE_U16:                                                                    \
            FOR_EACH(uint16_t, (D)x);                                                              \
        case HEADWISE_FILE_I16:                                                                    \
            FOR_EACH(int16_t, (D)x);                                                               \
        case HEADWISE_FILE_F16:                                                                    \
            FOR_EACH(uint16_t, (D)headwise_io_f32_from_f16(x));                                    \
        case HEADWISE_FILE_BF16:                                                                   \
            FOR_EACH(uint16_t, (D)headwise_io_f32_from_bf16(x));                                   \
        case HEADWISE_FILE_U32:                                                                    \
            FOR_EACH(uint32_t, (D)x);                                                              \
        case HEADWISE_FILE_I32:                                                                    \
            FOR_EACH(int32_t, (D)x);                                                               \
        case HEADWISE_FILE_F32:                                                                    \
            FOR_EACH(float, (D)x);                                                                 \
        case HEADWISE_FILE_U64:                                                                    \
            FOR_EACH(uint64_t, (D)x);                                                              \
        case HEADWISE_FILE_I64:                                                                    \
            FOR_EACH(int64_t, (D)x);                                                               \
        case HEADWISE_FILE_F64:                                                                    \
            FOR_EACH(double, (D)x);                                                                \
        }                                                                                          \
    }

CONVERT(convert_to_f32, float)
CONVERT(convert_to_f64, double)
CONVERT(convert_to_i64, int64_t) /* called for integer types only */

static enum headwise_status check(const void *dst, const headwise_safetensors *file,
                                  const struct headwise_file_tensor *tensor) {
    static const char where[] = "safetensors_read";
    enum headwise_status status = headwise_io_need(where, "file", file);
    if (!status)
        status = headwise_io_need(where, "tensor", tensor);
    return !status && tensor->n_elements > 0 ? headwise_io_need(where, "dst", dst) : status;
}

static enum headwise_status refuse(const headwise_safetensors *file,
                                   const struct headwise_file_tensor *tensor,
                                   const char *expected) {
    return headwise_io_fail(HEADWISE_ERR_FORMAT, "%s: tensor \"%s\": is %s, expected %s",
                            headwise_safetensors_path(file), tensor->name,
                            headwise_file_dtype_name(tensor->dtype), expected);
}

enum headwise_status headwise_safetensors_read_f32(float *dst, const headwise_safetensors *file,
                                                   const struct headwise_file_tensor *tensor) {
    enum headwise_status status = check(dst, file, tensor);
    if (!status)
        convert_to_f32(dst, tensor->data, tensor->dtype, tensor->n_elements);
    return status;
}

enum headwise_status headwise_safetensors_read_f64(double *dst, const headwise_safetensors *file,
                                                   const struct headwise_file_tensor *tensor) {
    enum headwise_status status = check(dst, file, tensor);
    if (!status)
        convert_to_f64(dst, tensor->data, tensor->dtype, tensor->n_elements);
    return status;
}

static bool is_floating(enum headwise_file_dtype dtype) {
    return dtype == HEADWISE_FILE_F16 || dtype == HEADWISE_FILE_BF16 ||
           dtype == HEADWISE_FILE_F32 || dtype == HEADWISE_FILE_F64;
}

enum headwise_status headwise_safetensors_read_i64(int64_t *dst, const headwise_safetensors *file,
                                                   const struct headwise_file_tensor *tensor) {
    enum headwise_status status = check(dst, file, tensor);
    if (status)
        return status;
    if (is_floating(tensor->dtype))
        return refuse(file, tensor, "an integer type");
    if (tensor->dtype == HEADWISE_FILE_U64) {
        for (size_t i = 0; i < tensor->n_elements; i++) {
            /* the byte of the sign bit of an int64_t */
            if (((const unsigned char *)tensor->data)[8 * i + 7] & 0x80)
                return headwise_io_fail(HEADWISE_ERR_FORMAT,
                                        "%s: tensor \"%s\": element %zu is above 2^63 - 1",
                                        headwise_safetensors_path(file), tensor->name, i);
        }
    }
    convert_to_i64(dst, tensor->data, tensor->dtype, tensor->n_elements);
    return HEADWISE_OK;
}

enum headwise_status headwise_safetensors_read_bool(uint8_t *dst, const headwise_safetensors *file,
                                                    const struct headwise_file_tensor *tensor) {
    enum headwise_status status = check(dst, file, tensor);
    if (status)
        return status;
    if (tensor->dtype != HEADWISE_FILE_BOOL)
        return refuse(file, tensor, "BOOL");
    for (size_t i = 0; i < tensor->n_elements; i++)
        dst[i] = ((const unsigned char *)tensor->data)[i] != 0;
    return HEADWISE_OK;
}

void headwise_f16_from_f32(uint16_t *dst, const float *src, size_t n) {
    for (size_t i = 0; i < n; i++)
        dst[i] = headwise_io_f16_from_f32(src[i]);
}

void headwise_bf16_from_f32(uint16_t *dst, const float *src, size_t n) {
    for (size_t i = 0; i < n; i++)
        dst[i] = headwise_io_bf16_from_f32(src[i]);
}

void headwise_f32_from_f16(float *dst, const uint16_t *src, size_t n) {
    for (size_t i = 0; i < n; i++)
        dst[i] = headwise_io_f32_from_f16(src[i]);
}

void headwise_f32_from_bf16(float *dst, const uint16_t *src, size_t n) {
    for (size_t i = 0; i < n; i++)
        dst[i] = headwise_io_f32_from_bf16(src[i]);
}
