/* Blocks of GGUF by hand: one of each width of elements, and what is refused. */
#include "headwise-io/gguf.h"
#include "io_support.h"

#include <string.h>

static void test_sizes(void **state) {
    (void)state;
    assert_string_equal(headwise_gguf_type_name(HEADWISE_GGUF_IQ4_NL), "IQ4_NL");
    assert_int_equal(headwise_gguf_block_length(HEADWISE_GGUF_Q6_K), 256);
    assert_int_equal(headwise_gguf_block_bytes(HEADWISE_GGUF_Q6_K), 210);
    const unsigned unknown[] = {4, 5, 9, 15, 19, 29, 31, 1u << 31};
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++) {
        enum headwise_gguf_type type = (enum headwise_gguf_type)unknown[i];
        assert_null(headwise_gguf_type_name(type));
        assert_int_equal(headwise_gguf_block_length(type), 0);
        assert_int_equal(headwise_gguf_block_bytes(type), 0);
    }
}

/* Scale 0.5 is 0x3800 in f16, 1 is 0x3c00; byte i holds element i below element i + 16. */
static void test_values(void **state) {
    (void)state;
    unsigned char bytes[2 * 20] = {0, 0x38, 0, 0x3c};
    for (int i = 0; i < 16; i++)
        bytes[4 + i] = (unsigned char)(i | (15 - i) << 4);
    memcpy(bytes + 20, bytes, 20);
    float values[64];
    assert_int_equal(headwise_gguf_widen(values, bytes, HEADWISE_GGUF_Q4_1, 64), 0);
    for (int i = 0; i < 64; i++) {
        int quant = i % 32 < 16 ? i % 32 : 31 - i % 32;
        assert_true(values[i] == 0.5f * (float)quant + 1);
    }
    const float numbers[2] = {-0.0f, 3.25f};
    assert_int_equal(headwise_gguf_widen(values, numbers, HEADWISE_GGUF_F32, 2), 0);
    assert_memory_equal(values, numbers, sizeof numbers);
}

static void test_refused(void **state) {
    (void)state;
    float values[32], before[32];
    const unsigned char bytes[34] = {0};
    memset(values, 0x55, sizeof values);
    memcpy(before, values, sizeof values);
    assert_int_equal(headwise_gguf_widen(values, bytes, HEADWISE_GGUF_Q8_0, 31),
                     HEADWISE_ERR_INVALID);
    assert_non_null(strstr(headwise_io_last_error(), "multiple of 32 for Q8_0"));
    assert_int_equal(headwise_gguf_widen(values, bytes, (enum headwise_gguf_type)4, 32),
                     HEADWISE_ERR_INVALID);
    assert_non_null(strstr(headwise_io_last_error(), "type is 4"));
    assert_int_equal(headwise_gguf_widen(NULL, bytes, HEADWISE_GGUF_Q8_0, 32),
                     HEADWISE_ERR_INVALID);
    assert_int_equal(headwise_gguf_widen(values, NULL, HEADWISE_GGUF_Q8_0, 32),
                     HEADWISE_ERR_INVALID);
    assert_memory_equal(values, before, sizeof values);
    assert_int_equal(headwise_gguf_widen(NULL, NULL, HEADWISE_GGUF_Q8_0, 0), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
