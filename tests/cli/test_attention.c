/* headwise attention on files with answers that can be worked out by hand. Q is 0 unless said, so
 * that every score is 0 and Y is the mean of the visible values; V of key j is j + 1. */
#include "cli_support.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define INF ((double)INFINITY)

static const float zeros[64], ones[64] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
static const float counts[16] = {1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3, 4, 5, 6, 7, 8};

/* One head of size 1: n_queries and n_keys, then further tensors and metadata. */
static void write_uniform(int64_t n_queries, int64_t n_keys, const char *metadata,
                          const struct headwise_file_tensor *more, size_t n_more) {
    struct headwise_file_tensor tensors[8] = {
        CLI_TENSOR("Q", zeros, 1, 1, n_queries, 1),
        CLI_TENSOR("K", ones, 1, 1, n_keys, 1),
        CLI_TENSOR("V", counts, 1, 1, n_keys, 1),
    };
    for (size_t i = 0; i < n_more; i++)
        tensors[3 + i] = more[i];
    cli_write("in", tensors, 3 + n_more, metadata);
}

static void run_uniform(enum headwise_isa isa, const double *y, size_t n) {
    cli_accepts("attention", "in", "-o", "out", "--isa", headwise_isa_name(isa));
    cli_expect_values("out", "Y", y, n, 1e-6);
    unlink("out");
}

#define EXPECT_Y(isa, ...)                                                                         \
    run_uniform((isa), (const double[]){__VA_ARGS__},                                              \
                sizeof((const double[]){__VA_ARGS__}) / sizeof(double))

static void attributes_from_metadata(enum headwise_isa isa) {
    write_uniform(4, 6, NULL, NULL, 0);
    EXPECT_Y(isa, 3.5, 3.5, 3.5, 3.5);
    write_uniform(4, 6, "op=Attention;is_causal=1", NULL, 0);
    EXPECT_Y(isa, 1, 1.5, 2, 2.5);
    write_uniform(4, 6, "is_causal=1;left_window_size=1", NULL, 0);
    EXPECT_Y(isa, 1, 1.5, 2.5, 3.5);
    write_uniform(4, 6, "left_window_size=0;right_window_size=2", NULL, 0);
    EXPECT_Y(isa, 2, 3, 4, 5);
    write_uniform(4, 6, "left_window_size=9223372036854775807;right_window_size=0", NULL, 0);
    EXPECT_Y(isa, 1, 1.5, 2, 2.5);
    write_uniform(2, 3, "softmax_precision=10;softcap=2.5;scale=-1", NULL, 0);
    EXPECT_Y(isa, 2, 2);
}

static void masks_of_every_rank(enum headwise_isa isa) {
    const uint8_t truth[6] = {0, 1, 1, 1, 0, 0};
    const float added[4] = {0, -INFINITY, 0, -INFINITY};
    const double added_f64[3] = {-1e300, -1e300, -1e300};
    struct headwise_file_tensor mask = CLI_TENSOR("attn_mask", truth, 3);
    mask.dtype = HEADWISE_FILE_BOOL;
    write_uniform(2, 3, NULL, &mask, 1);
    EXPECT_Y(isa, 2.5, 2.5);
    mask = CLI_TENSOR("attn_mask", truth, 2, 3);
    mask.dtype = HEADWISE_FILE_BOOL;
    write_uniform(2, 3, NULL, &mask, 1);
    EXPECT_Y(isa, 2.5, 1);
    mask = CLI_TENSOR("attn_mask", truth, 1, 1, 2, 2); /* shorter: the third key is hidden */
    mask.dtype = HEADWISE_FILE_BOOL;
    write_uniform(2, 3, NULL, &mask, 1);
    EXPECT_Y(isa, 2, 1.5);
    mask = CLI_TENSOR("attn_mask", truth + 1, 2, 1); /* a single key, not one that is broadcast */
    mask.dtype = HEADWISE_FILE_BOOL;
    write_uniform(2, 3, NULL, &mask, 1);
    EXPECT_Y(isa, 1, 1);
    mask = CLI_TENSOR("attn_mask", added, 1, 2, 2);
    write_uniform(2, 3, NULL, &mask, 1);
    EXPECT_Y(isa, 1, 1);
    mask = CLI_TENSOR("attn_mask", added, 0);
    write_uniform(2, 3, NULL, &mask, 1);
    EXPECT_Y(isa, 0, 0);
    mask =
        CLI_TENSOR("attn_mask", added_f64, 3); /* finite: does not hide, but takes up the score */
    mask.dtype = HEADWISE_FILE_F64;
    write_uniform(2, 3, NULL, &mask, 1);
    EXPECT_Y(isa, 2, 2);
}

/* Rank 3 is [heads,queries,keys], where batch and heads are both 2. */
static void rank_3_masks_are_per_head(enum headwise_isa isa) {
    const uint8_t truth[4] = {1, 0, 0, 1};
    struct headwise_file_tensor tensors[] = {
        CLI_TENSOR("Q", zeros, 2, 2, 1, 1),
        CLI_TENSOR("K", zeros, 2, 2, 2, 1),
        CLI_TENSOR("V", counts, 2, 2, 2, 1),
        CLI_TENSOR("attn_mask", truth, 2, 1, 2),
    };
    tensors[3].dtype = HEADWISE_FILE_BOOL;
    cli_write("in", tensors, 4, NULL);
    EXPECT_Y(isa, 1, 4, 5, 8);
}

static void offsets_follow_onnx(enum headwise_isa isa) {
    const int64_t length = 4, none = 0;
    const float past[2] = {7, 9};
    struct headwise_file_tensor more[3] = {
        CLI_TENSOR("past_key", past, 1, 1, 2, 1),
        CLI_TENSOR("past_value", past, 1, 1, 2, 1),
        CLI_TENSOR("nonpad_kv_seqlen", &length, 1),
    };
    more[2].dtype = HEADWISE_FILE_I64;
    write_uniform(2, 3, "is_causal=1", more, 2); /* offset 2, the past's length */
    EXPECT_Y(isa, 17 / 3., 19 / 4.);
    write_uniform(2, 6, "is_causal=1", more + 2, 1); /* offset 4 - 2 */
    EXPECT_Y(isa, 2, 2.5);
    write_uniform(6, 6, "is_causal=1", more + 2, 1); /* offset 4 - 6: rows without keys */
    EXPECT_Y(isa, 0, 0, 1, 1.5, 2, 2.5);
    more[2].data = &none;
    write_uniform(2, 6, NULL, more + 2, 1);
    EXPECT_Y(isa, 0, 0);
    /* lengths with a past count its keys too; the offset is the past's */
    more[2].data = &length;
    write_uniform(2, 3, "left_window_size=1;right_window_size=1", more, 3);
    EXPECT_Y(isa, 4, 1.5);
    cli_accepts("attention", "in", "-o", "out");
    cli_expect_values("out", "present_value", (const double[]){7, 9, 1, 2, 3}, 5, 0);
    cli_expect_values("out", "present_key", (const double[]){7, 9, 1, 1, 1}, 5, 0);
    unlink("out");
}

/* [batch,rows,heads * columns] of 4 query heads on 2 kv heads. */
static void three_axes(enum headwise_isa isa) {
    struct headwise_file_tensor tensors[] = {
        CLI_TENSOR("Q", zeros, 1, 1, 4),
        CLI_TENSOR("K", ones, 1, 2, 2),
        CLI_TENSOR("V", counts, 1, 2, 4),
    };
    cli_write("in", tensors, 3, "q_num_heads=4;kv_num_heads=2;outputs=Y,qk_matmul_output");
    EXPECT_Y(isa, 3, 4, 3, 4, 5, 6, 5, 6);
    cli_accepts("attention", "in", "-o", "out", "--probe", "weights,scores,lse", "--isa",
                headwise_isa_name(isa));
    cli_expect_shape("out", "Y", 3, (const int64_t[]){1, 1, 8});
    cli_expect_shape("out", "present_key", 4, (const int64_t[]){1, 2, 2, 1});
    cli_expect_shape("out", "present_value", 4, (const int64_t[]){1, 2, 2, 2});
    cli_expect_shape("out", "qk_matmul_output", 4, (const int64_t[]){1, 4, 1, 2});
    cli_expect_shape("out", "scores", 4, (const int64_t[]){1, 4, 1, 2});
    cli_expect_shape("out", "weights", 4, (const int64_t[]){1, 4, 1, 2});
    cli_expect_shape("out", "lse", 3, (const int64_t[]){1, 4, 1});
    cli_expect_values("out", "lse", (const double[]){log(2), log(2), log(2), log(2)}, 4, 1e-6);
    headwise_safetensors *file = cli_open("out");
    assert_string_equal(headwise_safetensors_metadata(file, "op"), "Attention");
    assert_string_equal(headwise_safetensors_metadata(file, "isa"), headwise_isa_name(isa));
    assert_non_null(headwise_safetensors_metadata(file, "threads"));
    headwise_safetensors_close(file);
    unlink("out");
}

/* Two keys with scores 1 and 3, the second hidden by a mask, at each stage. */
static void score_stages(enum headwise_isa isa) {
    static const float q = 1, k[2] = {1, 3}, mask[2] = {0.5f, -INFINITY};
    const double capped[2] = {2 * tanh(0.5), 2 * tanh(1.5)};
    const double expected[4][2] = {{1, 3}, {capped[0], capped[1]}, {capped[0] + 0.5, -INF}, {1, 0}};
    struct headwise_file_tensor tensors[] = {
        CLI_TENSOR("Q", &q, 1, 1, 1, 1), CLI_TENSOR("K", k, 1, 1, 2, 1),
        CLI_TENSOR("V", k, 1, 1, 2, 1), CLI_TENSOR("attn_mask", mask, 2)};
    cli_write("in", tensors, 4, "softcap=2;outputs=qk_matmul_output");
    for (int stage = 0; stage < 4; stage++) {
        char text[2] = {(char)('0' + stage), 0};
        cli_accepts("attention", "in", "-o", "out", "--qk_matmul_output_mode", text, "--isa",
                    headwise_isa_name(isa));
        cli_expect_values("out", "qk_matmul_output", expected[stage], 2, 1e-6);
        cli_expect_values("out", "Y", (const double[]){1}, 1, 1e-6);
    }
    unlink("out");
}

/* The result is of Q's type, the presents of K's and V's; F64 comes out as F32. */
static void types(enum headwise_isa isa) {
    static const uint16_t half[3] = {0x3c00, 0x4000, 0x4200}; /* f16: 1, 2, 3 */
    static const uint16_t brain[3] = {0x3f80, 0x4000, 0x4040};
    static const double wide[3] = {1, 2, 3};
    const struct {
        enum headwise_file_dtype given, result;
        const void *data;
    } kinds[] = {{HEADWISE_FILE_F16, HEADWISE_FILE_F16, half},
                 {HEADWISE_FILE_BF16, HEADWISE_FILE_BF16, brain},
                 {HEADWISE_FILE_F64, HEADWISE_FILE_F32, wide}};
    for (int i = 0; i < 3; i++) {
        struct headwise_file_tensor tensors[] = {CLI_TENSOR("Q", zeros, 1, 1, 1, 1),
                                                 CLI_TENSOR("K", zeros, 1, 1, 3, 1),
                                                 CLI_TENSOR("V", kinds[i].data, 1, 1, 3, 1)};
        tensors[0].dtype = tensors[2].dtype = kinds[i].given;
        cli_write("in", tensors, 3, "outputs=Y,qk_matmul_output");
        cli_accepts("attention", "in", "-o", "out", "--isa", headwise_isa_name(isa));
        cli_expect_values("out", "Y", (const double[]){2}, 1, 1e-6);
        cli_expect_values("out", "qk_matmul_output", (const double[]){0, 0, 0}, 3, 0);
        headwise_safetensors *file = cli_open("out");
        assert_int_equal(headwise_safetensors_find(file, "Y")->dtype, kinds[i].result);
        assert_int_equal(headwise_safetensors_find(file, "qk_matmul_output")->dtype,
                         kinds[i].result);
        assert_int_equal(headwise_safetensors_find(file, "present_value")->dtype, kinds[i].result);
        assert_int_equal(headwise_safetensors_find(file, "present_key")->dtype, HEADWISE_FILE_F32);
        headwise_safetensors_close(file);
    }
    unlink("out");
}

/* The data of every tensor at an odd offset. */
static void unaligned_files(enum headwise_isa isa) {
    static const char header[] =
        "{\"p\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]},"
        "\"Q\":{\"dtype\":\"F32\",\"shape\":[1,1,1,1],\"data_offsets\":[1,5]},"
        "\"K\":{\"dtype\":\"F16\",\"shape\":[1,1,2,1],\"data_offsets\":[5,9]},"
        "\"V\":{\"dtype\":\"F32\",\"shape\":[1,1,2,1],\"data_offsets\":[9,17]}}";
    const float v[2] = {1, 4};
    _Static_assert(sizeof header - 1 < 256, "one byte holds its length");
    const unsigned char start[8] = {sizeof header - 1}, data[9] = {0};
    FILE *stream = fopen("in", "wb");
    assert_non_null(stream);
    fwrite(start, 1, 8, stream);
    fwrite(header, 1, sizeof header - 1, stream);
    fwrite(data, 1, 9, stream);
    fwrite(v, 1, sizeof v, stream);
    assert_int_equal(fclose(stream), 0);
    EXPECT_Y(isa, 2.5);
}

static void empty_inputs(enum headwise_isa isa) {
    write_uniform(0, 3, NULL, NULL, 0);
    cli_accepts("attention", "in", "-o", "out", "--isa", headwise_isa_name(isa), "--probe",
                "weights,scores,lse");
    cli_expect_shape("out", "Y", 4, (const int64_t[]){1, 1, 0, 1});
    write_uniform(2, 0, "is_causal=1", NULL, 0);
    EXPECT_Y(isa, 0, 0);
    unlink("out");
}

int main(void) {
    const struct test_case cases[] = {
        TEST_CASE(attributes_from_metadata),
        TEST_CASE(masks_of_every_rank),
        TEST_CASE(rank_3_masks_are_per_head),
        TEST_CASE(offsets_follow_onnx),
        TEST_CASE(three_axes),
        TEST_CASE(score_stages),
        TEST_CASE(types),
        TEST_CASE(unaligned_files),
        TEST_CASE(empty_inputs),
    };
    return cli_main_tiers(cases, TEST_COUNT(cases));
}
