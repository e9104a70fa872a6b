/* Conversions of elements, against arithmetic in double. */
#include "io_support.h"

#include <math.h>

/* A file with one tensor of n elements. */
static headwise_safetensors *open_one(enum headwise_file_dtype dtype, const void *data, size_t n,
                                      struct io_bytes *bytes) {
    char header[128];
    size_t size = n * headwise_file_dtype_size(dtype);
    /* One byte before the tensor makes its data unaligned. */
    int length = snprintf(header, sizeof header,
                          "{\"p\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]},"
                          "\"x\":{\"dtype\":\"%s\",\"shape\":[%zu],\"data_offsets\":[1,%zu]}}",
                          headwise_file_dtype_name(dtype), n, size + 1);
    *bytes = io_build((uint64_t)length, header, (size_t)length, size + 1);
    memcpy(bytes->bytes + 8 + length + 1, data, size);
    headwise_safetensors *file = NULL;
    assert_int_equal(headwise_safetensors_open_memory(&file, bytes->bytes, bytes->size, "one"), 0);
    return file;
}

/* The value of an f16, from its definition. */
static double value_of_f16(unsigned half) {
    int exponent = half >> 10 & 31;
    double fraction = half & 0x3ff, sign = half & 0x8000 ? -1 : 1;
    if (exponent == 31)
        return fraction != 0 ? (double)NAN : sign * (double)INFINITY;
    return sign * (exponent ? ldexp(1024 + fraction, exponent - 25) : ldexp(fraction, -24));
}

static void test_f16_all(void **state) {
    (void)state;
    static uint16_t halves[65536], back[65536];
    static float floats[65536];
    struct io_bytes bytes;
    for (int i = 0; i < 65536; i++)
        halves[i] = (uint16_t)i;
    headwise_safetensors *file = open_one(HEADWISE_FILE_F16, halves, 65536, &bytes);
    assert_int_equal(
        headwise_safetensors_read_f32(floats, file, headwise_safetensors_find(file, "x")), 0);
    headwise_f16_from_f32(back, floats, 65536);
    static float again[65536];
    headwise_f32_from_f16(again, halves, 65536);
    assert_memory_equal(again, floats, sizeof floats);
    for (unsigned i = 0; i < 65536; i++) {
        double value = value_of_f16(i);
        if (isnan(value)) {
            assert_true(isnan(floats[i]));
            assert_int_equal(back[i], i | 0x200); /* quiet, the rest of the payload kept */
        } else {
            assert_true(floats[i] == value && !signbit(floats[i]) == !signbit(value));
            assert_int_equal(back[i], i);
        }
    }
    headwise_safetensors_close(file);
    free(bytes.bytes);
}

/* Between two neighbours: nearest, the even one half way; above the largest,
 * infinity. */
static void test_f16_rounding(void **state) {
    (void)state;
    for (unsigned i = 0; i < 0x7c00; i++) {
        double low = value_of_f16(i), high = i == 0x7bff ? 65536 : value_of_f16(i + 1);
        float middle = (float)((low + high) / 2);
        float inputs[3] = {nextafterf(middle, 0), middle, nextafterf(middle, INFINITY)};
        uint16_t outputs[3];
        headwise_f16_from_f32(outputs, inputs, 3);
        assert_int_equal(outputs[0], i);
        assert_int_equal(outputs[1], i % 2 ? i + 1 : i);
        assert_int_equal(outputs[2], i + 1);
        float negative = -inputs[2];
        headwise_f16_from_f32(outputs, &negative, 1);
        assert_int_equal(outputs[0], 0x8000 | (i + 1));
    }
}

static void test_bf16(void **state) {
    (void)state;
    const float inputs[] = {1.0f,    1.00390625f, 1.01171875f, -1.005859375f,
                            3.4e38f, 0x1p-133f,   INFINITY,    -INFINITY};
    /* half way down to even, half way up to even, above half, over the largest,
     * subnormal */
    const uint16_t expected[] = {0x3f80, 0x3f80, 0x3f82, 0xbf81, 0x7f80, 0x0001, 0x7f80, 0xff80};
    uint16_t outputs[8];
    headwise_bf16_from_f32(outputs, inputs, 8);
    for (int i = 0; i < 8; i++)
        assert_int_equal(outputs[i], expected[i]);
    float nan = NAN;
    headwise_bf16_from_f32(outputs, &nan, 1);
    assert_int_equal(outputs[0] & 0x7fc0, 0x7fc0);

    struct io_bytes bytes;
    float floats[8];
    headwise_safetensors *file = open_one(HEADWISE_FILE_BF16, expected, 8, &bytes);
    assert_int_equal(
        headwise_safetensors_read_f32(floats, file, headwise_safetensors_find(file, "x")), 0);
    float again[8];
    headwise_f32_from_bf16(again, expected, 8);
    assert_memory_equal(again, floats, sizeof floats);
    assert_true(floats[2] == 1.015625f && floats[3] == -1.0078125f && isinf(floats[6]));
    headwise_safetensors_close(file);
    free(bytes.bytes);
}

/* Reads the tensor as everything; expected NULL: that reading is refused and
 * changes nothing. */
static void check_type(enum headwise_file_dtype dtype, const void *data, size_t n,
                       const double *expected_f64, const int64_t *expected_i64, bool is_bool) {
    struct io_bytes bytes;
    headwise_safetensors *file = open_one(dtype, data, n, &bytes);
    const struct headwise_file_tensor *x = headwise_safetensors_find(file, "x");
    double f64[4];
    float f32[4];
    int64_t i64[4] = {-77, -77, -77, -77};
    uint8_t truth[4] = {77, 77, 77, 77};
    assert_int_equal(headwise_safetensors_read_f64(f64, file, x), 0);
    assert_int_equal(headwise_safetensors_read_f32(f32, file, x), 0);
    assert_int_equal(headwise_safetensors_read_i64(i64, file, x),
                     expected_i64 ? HEADWISE_OK : HEADWISE_ERR_FORMAT);
    assert_int_equal(headwise_safetensors_read_bool(truth, file, x),
                     is_bool ? HEADWISE_OK : HEADWISE_ERR_FORMAT);
    for (size_t i = 0; i < n; i++) {
        assert_true(f64[i] == expected_f64[i]);
        assert_true(f32[i] == (float)expected_f64[i]);
        assert_int_equal(i64[i], expected_i64 ? expected_i64[i] : -77);
        assert_int_equal(truth[i], is_bool ? expected_f64[i] != 0 : 77);
    }
    headwise_safetensors_close(file);
    free(bytes.bytes);
}

#define CHECK(type, T, ...)                                                                        \
    do {                                                                                           \
        const T data[] = {__VA_ARGS__};                                                            \
        double f64[4];                                                                             \
        const int64_t i64[] = {__VA_ARGS__};                                                       \
        for (size_t i = 0; i < sizeof data / sizeof *data; i++)                                    \
            f64[i] = (double)data[i];                                                              \
        check_type(type, data, sizeof data / sizeof *data, f64, i64, false);                       \
    } while (0)

static void test_types(void **state) {
    (void)state;
    CHECK(HEADWISE_FILE_U8, uint8_t, 0, 1, 255);
    CHECK(HEADWISE_FILE_I8, int8_t, -128, 0, 127);
    CHECK(HEADWISE_FILE_U16, uint16_t, 0, 65535);
    CHECK(HEADWISE_FILE_I16, int16_t, -32768, 32767);
    CHECK(HEADWISE_FILE_U32, uint32_t, 0, 4294967295u);
    CHECK(HEADWISE_FILE_I32, int32_t, INT32_MIN, -1, INT32_MAX);
    CHECK(HEADWISE_FILE_U64, uint64_t, 0, INT64_MAX);
    CHECK(HEADWISE_FILE_I64, int64_t, INT64_MIN, -1, INT64_MAX);
    const uint8_t truth[] = {0, 1, 255};
    check_type(HEADWISE_FILE_BOOL, truth, 3, (const double[]){0, 1, 1}, (const int64_t[]){0, 1, 1},
               true);
    const float f32[] = {-0.1f, 1e30f, INFINITY};
    check_type(HEADWISE_FILE_F32, f32, 3, (const double[]){-0.1f, 1e30f, (double)INFINITY}, NULL,
               false);
    const double f64[] = {0.1, -1e300, (double)INFINITY};
    check_type(HEADWISE_FILE_F64, f64, 3, f64, NULL, false);
    const uint64_t above = (uint64_t)INT64_MAX + 1;
    check_type(HEADWISE_FILE_U64, &above, 1, (const double[]){0x1p63}, NULL, false);
}

static void test_null(void **state) {
    (void)state;
    const float x = 1;
    struct io_bytes bytes;
    headwise_safetensors *file = open_one(HEADWISE_FILE_F32, &x, 1, &bytes);
    const struct headwise_file_tensor *tensor = headwise_safetensors_find(file, "x");
    float f;
    assert_int_equal(headwise_safetensors_read_f32(NULL, file, tensor), HEADWISE_ERR_INVALID);
    assert_int_equal(headwise_safetensors_read_f32(&f, NULL, tensor), HEADWISE_ERR_INVALID);
    assert_int_equal(headwise_safetensors_read_f32(&f, file, NULL), HEADWISE_ERR_INVALID);
    assert_int_equal(headwise_safetensors_read_f64(NULL, file, tensor), HEADWISE_ERR_INVALID);
    assert_int_equal(headwise_safetensors_read_i64(NULL, file, tensor), HEADWISE_ERR_INVALID);
    assert_int_equal(headwise_safetensors_read_bool(NULL, file, tensor), HEADWISE_ERR_INVALID);
    assert_int_equal(headwise_file_dtype_size(13), 0);
    assert_string_equal(headwise_file_dtype_name(13), "?");
    headwise_safetensors_close(NULL);
    headwise_safetensors_close(file);
    free(bytes.bytes);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_f16_all), cmocka_unit_test(test_f16_rounding),
        cmocka_unit_test(test_bf16),    cmocka_unit_test(test_types),
        cmocka_unit_test(test_null),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
