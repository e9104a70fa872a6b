/* Blocks of every type of GGUF, widened by the format's own reference: every bit is equal. */
#include "guard.h"
#include "headwise-io/gguf.h"
#include "vector_file.h"

#include <stdio.h>
#include <string.h>

static bool holds_blocks(const headwise_safetensors *file) {
    return headwise_safetensors_find(file, "Q8_0.blocks") != NULL;
}

static void check_type(const headwise_safetensors *file, enum headwise_gguf_type type) {
    char name[32];
    const char *type_name = headwise_gguf_type_name(type);
    snprintf(name, sizeof name, "%s.blocks", type_name);
    const struct headwise_file_tensor *blocks = vector_find(file, name);
    snprintf(name, sizeof name, "%s.values", type_name);
    const struct headwise_file_tensor *values = vector_find(file, name);
    assert_non_null(blocks);
    assert_non_null(values);
    size_t n_blocks = blocks->n_elements / headwise_gguf_block_bytes(type);
    assert_int_equal(n_blocks * headwise_gguf_block_bytes(type), blocks->n_elements);
    assert_int_equal(n_blocks * headwise_gguf_block_length(type), values->n_elements);
    assert_true(n_blocks > 0);
    float *expected = vector_f32(file, name, (int64_t)values->n_elements);
    float *widened = guard_floats(values->n_elements);
    assert_int_equal(headwise_gguf_widen(widened, blocks->data, type, values->n_elements), 0);
    for (size_t i = 0; i < values->n_elements; i++) {
        if (memcmp(&widened[i], &expected[i], sizeof *widened))
            fail_msg("%s: element %zu is %a, expected %a", type_name, i, (double)widened[i],
                     (double)expected[i]);
    }
}

/* F32 needs no reference: its blocks are its values. */
static void check_file(enum headwise_isa isa, const void *path) {
    (void)isa;
    static const enum headwise_gguf_type types[] = {
        HEADWISE_GGUF_F16,   HEADWISE_GGUF_BF16, HEADWISE_GGUF_Q4_0, HEADWISE_GGUF_Q4_1,
        HEADWISE_GGUF_Q5_0,  HEADWISE_GGUF_Q5_1, HEADWISE_GGUF_Q8_0, HEADWISE_GGUF_Q2_K,
        HEADWISE_GGUF_Q3_K,  HEADWISE_GGUF_Q4_K, HEADWISE_GGUF_Q5_K, HEADWISE_GGUF_Q6_K,
        HEADWISE_GGUF_IQ4_NL};
    headwise_safetensors *file = vector_open(path);
    for (size_t t = 0; t < sizeof types / sizeof *types; t++)
        check_type(file, types[t]);
    headwise_safetensors_close(file);
}

int main(void) {
    static const char *const folders[] = {"gguf"};
    size_t n_cases = 0;
    const struct test_case *cases = vector_cases(folders, 1, holds_blocks, check_file, &n_cases);
    return vector_run(cases, n_cases);
}
