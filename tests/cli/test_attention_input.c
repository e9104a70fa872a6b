/* What headwise attention refuses, each with the tensor and what was expected, and with no output.
 */
#include "cli_support.h"

#include <string.h>
#include <unistd.h>

static const float data[64];

/* Writes a good call of 2 heads, 3 queries, 5 keys of size 4 with one tensor replaced or added. */
static void write_call(const char *metadata, const struct headwise_file_tensor *changed,
                       size_t n_changed) {
    struct headwise_file_tensor tensors[8] = {
        CLI_TENSOR("Q", data, 1, 2, 3, 4),
        CLI_TENSOR("K", data, 1, 2, 5, 4),
        CLI_TENSOR("V", data, 1, 2, 5, 4),
    };
    size_t n = 3;
    for (size_t i = 0; i < n_changed; i++) {
        size_t at = 0;
        while (at < n && strcmp(tensors[at].name, changed[i].name) != 0)
            at++;
        tensors[at] = changed[i];
        n += at == n;
    }
    cli_write("in", tensors, n, metadata);
}

/* A call with one tensor changed is refused with this text, and the file is named. */
#define REFUSES(expected, ...)                                                                     \
    do {                                                                                           \
        const struct headwise_file_tensor changed = __VA_ARGS__;                                   \
        write_call(NULL, &changed, 1);                                                             \
        cli_refuses("headwise: in: " expected, "attention", "in", "-o", "out");                    \
    } while (0)

static struct headwise_file_tensor typed(struct headwise_file_tensor tensor,
                                         enum headwise_file_dtype dtype) {
    tensor.dtype = dtype;
    return tensor;
}

static void shapes(enum headwise_isa isa) {
    (void)isa;
    write_call(NULL, NULL, 0);
    cli_accepts("attention", "in", "-o", "out");
    unlink("out");
    REFUSES("tensor \"Q\": shape [2,3], expected [batch,heads,queries,head size]",
            CLI_TENSOR("Q", data, 2, 3));
    REFUSES("tensor \"Q\": shape [], expected",
            (struct headwise_file_tensor){.name = "Q", .dtype = HEADWISE_FILE_F32, .data = data});
    REFUSES("tensor \"Q\": head size 0", CLI_TENSOR("Q", data, 1, 2, 3, 0));
    REFUSES(
        "tensor \"K\": shape [1,2,5,3], expected [1,*,*,4] (batch, kv heads, keys, head size of Q)",
        CLI_TENSOR("K", data, 1, 2, 5, 3));
    REFUSES("tensor \"K\": shape [2,2,3,4], expected [1,*,*,4]", CLI_TENSOR("K", data, 2, 2, 3, 4));
    REFUSES("tensor \"K\": shape [1,5,8], expected [1,*,*,4]", CLI_TENSOR("K", data, 1, 5, 8));
    REFUSES("tensor \"V\": shape [1,2,4,4], expected [1,2,5,*] (batch, kv heads, keys of K, value "
            "size)",
            CLI_TENSOR("V", data, 1, 2, 4, 4));
    REFUSES("tensor \"V\": value size 0", CLI_TENSOR("V", data, 1, 2, 5, 0));
    const struct headwise_file_tensor three[2] = {CLI_TENSOR("K", data, 1, 3, 4, 4),
                                                  CLI_TENSOR("V", data, 1, 3, 4, 4)};
    write_call(NULL, three, 2);
    cli_refuses("in: 2 query heads and 3 kv heads, expected a multiple", "attention", "in", "-o",
                "out");
    const struct headwise_file_tensor none[2] = {CLI_TENSOR("K", data, 1, 0, 4, 4),
                                                 CLI_TENSOR("V", data, 1, 0, 4, 4)};
    write_call(NULL, none, 2);
    cli_refuses("in: 2 query heads and 0 kv heads", "attention", "in", "-o", "out");
}

static void missing_and_typed(enum headwise_isa isa) {
    (void)isa;
    static const double large[40] = {1e300};
    cli_write("in", NULL, 0, NULL);
    cli_refuses("in: has no tensor \"Q\"", "attention", "in", "-o", "out");
    REFUSES("tensor \"Q\": is I32, expected F32, F16, BF16 or F64",
            typed(CLI_TENSOR("Q", data, 1, 2, 3, 4), HEADWISE_FILE_I32));
    REFUSES("tensor \"K\": is BOOL, expected F32",
            typed(CLI_TENSOR("K", data, 1, 2, 5, 4), HEADWISE_FILE_BOOL));
    REFUSES("tensor \"V\": element 0 is 1e+300, beyond the range of f32",
            typed(CLI_TENSOR("V", large, 1, 2, 5, 4), HEADWISE_FILE_F64));
    REFUSES("tensor \"attn_mask\": is U8, expected BOOL (true: may attend) or F32",
            typed(CLI_TENSOR("attn_mask", data, 3, 5), HEADWISE_FILE_U8));
    write_call("op=RotaryEmbedding", NULL, 0);
    cli_refuses("in: metadata op is \"RotaryEmbedding\", expected \"Attention\"", "attention", "in",
                "-o", "out");
}

static void masks(enum headwise_isa isa) {
    (void)isa;
    REFUSES("tensor \"attn_mask\": shape [6], expected 1 to 4 axes that broadcast to [1,2,3,5]",
            CLI_TENSOR("attn_mask", data, 6));
    REFUSES("tensor \"attn_mask\": shape [2,5]", CLI_TENSOR("attn_mask", data, 2, 5));
    REFUSES("tensor \"attn_mask\": shape [3,3,5]", CLI_TENSOR("attn_mask", data, 3, 3, 5));
    REFUSES("tensor \"attn_mask\": shape [2,1,1,5]", CLI_TENSOR("attn_mask", data, 2, 1, 1, 5));
    REFUSES("tensor \"attn_mask\": shape [0,5]", CLI_TENSOR("attn_mask", data, 0, 5));
    REFUSES("tensor \"attn_mask\": shape [1,1,1,1,5]",
            CLI_TENSOR("attn_mask", data, 1, 1, 1, 1, 5));
    REFUSES("tensor \"attn_mask\": shape []",
            (struct headwise_file_tensor){
                .name = "attn_mask", .dtype = HEADWISE_FILE_F32, .data = data});
}

static void pasts_and_lengths(enum headwise_isa isa) {
    (void)isa;
    static const int64_t six = 6, minus = -1, two[2] = {1, 1};
    REFUSES("has only one of past_key and past_value", CLI_TENSOR("past_key", data, 1, 2, 1, 4));
    REFUSES("has only one of past_key and past_value", CLI_TENSOR("past_value", data, 1, 2, 1, 4));
    REFUSES("tensor \"past_key\": shape [1,2,1,3], expected [1,2,*,4]",
            CLI_TENSOR("past_key", data, 1, 2, 1, 3));
    REFUSES("tensor \"past_key\": is f16, expected f32 as in K",
            typed(CLI_TENSOR("past_key", data, 1, 2, 1, 4), HEADWISE_FILE_F16));
    const struct headwise_file_tensor pasts[2] = {CLI_TENSOR("past_key", data, 1, 2, 1, 4),
                                                  CLI_TENSOR("past_value", data, 1, 2, 2, 4)};
    write_call(NULL, pasts, 2);
    cli_refuses("in: tensor \"past_value\": shape [1,2,2,4], expected [1,2,1,4]", "attention", "in",
                "-o", "out");
    REFUSES("tensor \"nonpad_kv_seqlen\": shape [2], expected [1] (batch)",
            typed(CLI_TENSOR("nonpad_kv_seqlen", two, 2), HEADWISE_FILE_I64));
    REFUSES("tensor \"nonpad_kv_seqlen\": element 0 is 6, expected 0 to 5 (keys)",
            typed(CLI_TENSOR("nonpad_kv_seqlen", &six, 1), HEADWISE_FILE_I64));
    REFUSES("tensor \"nonpad_kv_seqlen\": element 0 is -1, expected 0 to 5",
            typed(CLI_TENSOR("nonpad_kv_seqlen", &minus, 1), HEADWISE_FILE_I64));
    REFUSES("tensor \"nonpad_kv_seqlen\": is F32, expected an integer type",
            CLI_TENSOR("nonpad_kv_seqlen", data, 1));
}

static void attributes(enum headwise_isa isa) {
    (void)isa;
    static const char *const wrong[][2] = {
        {"is_causal=2", "in: is_causal is 2, expected 0 or 1"},
        {"is_causal=yes", "in: metadata is_causal is \"yes\", expected an integer"},
        {"scale=fast", "in: metadata scale is \"fast\", expected a finite number"},
        {"scale=inf", "expected a finite number"},
        {"scale=1e300", "in: scale is 1e+300, expected an f32"},
        {"softcap=-1", "in: softcap is -1, expected 0 (none) or a positive f32"},
        {"softcap=1e-60", "in: softcap is 1e-60, expected"},
        {"qk_matmul_output_mode=4", "in: qk_matmul_output_mode is 4, expected 0, 1, 2 or 3"},
        {"softmax_precision=2", "in: softmax_precision is 2, expected 1 (f32), 10 (f16)"},
        {"left_window_size=-2", "in: left_window_size is -2, expected -1"},
        {"right_window_size=-2", "in: right_window_size is -2, expected -1"},
        {"q_num_heads=3", "in: q_num_heads is 3, expected 2 as in the 4D tensors"},
        {"kv_num_heads=0", "in: kv_num_heads is 0, expected 1 or more"},
    };
    for (size_t i = 0; i < TEST_COUNT(wrong); i++) {
        write_call(wrong[i][0], NULL, 0);
        cli_refuses(wrong[i][1], "attention", "in", "-o", "out");
    }
    /* an option of the same name goes first */
    write_call("is_causal=2;scale=fast", NULL, 0);
    cli_accepts("attention", "in", "-o", "out", "--is_causal", "0", "--scale", "1");
    unlink("out");
}

static void three_axes(enum headwise_isa isa) {
    (void)isa;
    const struct headwise_file_tensor tensors[3] = {CLI_TENSOR("Q", data, 1, 3, 8),
                                                    CLI_TENSOR("K", data, 1, 5, 4),
                                                    CLI_TENSOR("V", data, 1, 5, 3)};
    cli_write("in", tensors, 3, "kv_num_heads=1");
    cli_refuses("in: q_num_heads is missing, expected with 3D tensors", "attention", "in", "-o",
                "out");
    cli_accepts("attention", "in", "-o", "out", "--q_num_heads", "2");
    unlink("out");
    cli_refuses("tensor \"Q\": rows of 8, expected a multiple of its 3 heads", "attention", "in",
                "-o", "out", "--q-num-heads", "3");
    cli_refuses("tensor \"K\": shape [1,5,4], expected [1,*,8]", "attention", "in", "-o", "out",
                "--q-num-heads", "2", "--kv-num-heads", "2");
    cli_refuses("tensor \"K\": kv_num_heads times the head size of Q overflows", "attention", "in",
                "-o", "out", "--q-num-heads", "2", "--kv-num-heads", "4611686018427387904");
}

static void outputs(enum headwise_isa isa) {
    (void)isa;
    write_call(NULL, NULL, 0);
    cli_refuses("no/folder/out: cannot be written", "attention", "in", "-o", "no/folder/out");
    cli_refuses("option --probe has \"weight\", expected a list of weights, scores, lse",
                "attention", "in", "-o", "out", "--probe", "lse,weight");
    cli_refuses("option --probe has \"\"", "attention", "in", "-o", "out", "--probe", "");
    cli_refuses(".: is a folder", "attention", "in", "-o", ".");
    cli_refuses("in: has no tensor \"Y\"", "attention", "in", "-o", "out", "--check");
    cli_accepts("attention", "in", "-o", "/dev/null");
    cli_refuses("option --output is \"in\", expected another file", "attention", "in", "-o", "in");
    cli_accepts("attention", "in", "-o", "out"); /* the input is still there */
    unlink("out");
}

int main(void) {
    const struct test_case cases[] = {
        TEST_CASE(shapes),     TEST_CASE(missing_and_typed),
        TEST_CASE(masks),      TEST_CASE(pasts_and_lengths),
        TEST_CASE(attributes), TEST_CASE(three_axes),
        TEST_CASE(outputs),
    };
    return cli_main_once(cases, TEST_COUNT(cases));
}
