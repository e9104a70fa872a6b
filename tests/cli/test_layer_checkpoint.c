/* headwise layer --model: layers of the generated checkpoints. */
#define _POSIX_C_SOURCE 200809L
#include "cli_support.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static double *read_values(const headwise_safetensors *file, const char *stem, const char *leaf,
                           struct headwise_file_tensor *found) {
    char name[64];
    snprintf(name, sizeof(name), "%s.%s", stem, leaf);
    const struct headwise_file_tensor *tensor = headwise_safetensors_find(file, name);
    assert_non_null(tensor);
    double *values = malloc(tensor->n_elements * sizeof(*values));
    assert_non_null(values);
    assert_int_equal(headwise_safetensors_read_f64(values, file, tensor), 0);
    if (found != NULL)
        *found = *tensor;
    return values;
}

/* y in "out" against the checkpoint's expected output. */
static void expect_output(const char *folder, const char *stem) {
    char path[64];
    snprintf(path, sizeof(path), "%s/expected.safetensors", folder);
    headwise_safetensors *expected = cli_open(cli_checkpoint(path)), *out = cli_open("out");
    struct headwise_file_tensor tensor;
    double *want = read_values(expected, stem, "y", &tensor),
           *bound = read_values(expected, stem, "bound", NULL);
    const struct headwise_file_tensor *got = headwise_safetensors_find(out, "y");
    assert_non_null(got);
    assert_int_equal(got->n_elements, tensor.n_elements);
    double *y = malloc(got->n_elements * sizeof(*y));
    assert_int_equal(headwise_safetensors_read_f64(y, out, got), 0);
    for (size_t i = 0; i < got->n_elements; i++)
        compare_expect(y[i], want[i], bound[i], "%s %s element %zu", folder, stem, i);
    free(y);
    free(want);
    free(bound);
    headwise_safetensors_close(expected);
    headwise_safetensors_close(out);
}

static void test_layers(enum headwise_isa isa) {
    static const char *const layers[][3] = {{"bert", "self", "1"},    {"llama_shards", "self", "0"},
                                            {"gemma3", "self", "2"},  {"t5", "cross", "1"},
                                            {"t5", "decoder", "0"},   {"gpt2_prefix", "cross", "1"},
                                            {"clip", "vision", "0"},  {"whisper", "encoder", "0"},
                                            {"gpt_oss", "self", "0"}, {"falcon_rw", "self", "0"}};
    for (size_t i = 0; i < TEST_COUNT(layers); i++) {
        char stem[32];
        const char *const *l = layers[i];
        snprintf(stem, sizeof(stem), "%s.%s", l[1], l[2]);
        cli_write_input(l[0], stem);
        cli_accepts("layer", "--model", cli_checkpoint(l[0]), "--part", l[1], "--layer", l[2],
                    "--input", "in", "-o", "out", "--check", "--isa", headwise_isa_name(isa));
        assert_non_null(strstr(cli.out, "contributions of"));
        expect_output(l[0], stem);
    }
}

/* One file and what config.json would have said; layer and part not given: the first. */
static void test_single_file(enum headwise_isa isa) {
    cli_write_input("llama_bias", "self.0");
    cli_accepts("layer", "--model", cli_checkpoint("llama_bias/model.safetensors"), "--input", "in",
                "-o", "out", "--isa", headwise_isa_name(isa));
    expect_output("llama_bias", "self.0");
    cli_write_input("llama", "self.0");
    cli_accepts("layer", "--model", cli_checkpoint("llama"), "--family", "mistral", "--overrides",
                "{\"sliding_window\": null}", "--heads", "4", "--kv-heads", "2", "--head-dim", "4",
                "--input", "in", "-o", "out", "--isa", headwise_isa_name(isa));
    expect_output("llama", "self.0");
}

/* Options in the place of the model's, and a probe. */
static void test_options(enum headwise_isa isa) {
    const char *path = cli_checkpoint("llama");
    double *weights;
    struct headwise_file_tensor tensor;
    cli_write_input("llama", "self.0");
    for (int causal = 0; causal < 2; causal++) {
        cli_accepts("layer", "--model", path, "--layer", "0", "--input", "in", "-o", "out",
                    "--causal", causal ? "bottom-right" : "none", "--probe", "weights", "--scale",
                    "0", "--isa", headwise_isa_name(isa));
        headwise_safetensors *out = cli_open("out");
        tensor = *headwise_safetensors_find(out, "weights");
        weights = malloc(tensor.n_elements * sizeof(*weights));
        assert_int_equal(headwise_safetensors_read_f64(weights, out, &tensor), 0);
        assert_int_equal(tensor.n_elements, 4 * 7 * 7);
        /* scale 0: the first row sees one key or all seven alike */
        compare_expect(weights[0], causal ? 1 : 1.0 / 7, 1e-6, "first weight");
        free(weights);
        headwise_safetensors_close(out);
    }
}

/* Every type that weights may be kept in. */
static void test_packed(enum headwise_isa isa) {
    static const char *const types[] = {"f32", "stored", "f16", "bf16", "i8", "dynamic"};
    struct headwise_file_tensor tensor;
    double *y[6];
    cli_write_input("llama", "self.0");
    for (int i = 0; i < 6; i++) {
        cli_accepts("layer", "--model", cli_checkpoint("llama"), "--input", "in", "-o", "out",
                    "--packed", types[i], "--check", "--isa", headwise_isa_name(isa));
        headwise_safetensors *out = cli_open("out");
        tensor = *headwise_safetensors_find(out, "y");
        y[i] = malloc(tensor.n_elements * sizeof(**y));
        assert_non_null(y[i]);
        assert_int_equal(headwise_safetensors_read_f64(y[i], out, &tensor), 0);
        headwise_safetensors_close(out);
    }
    size_t bytes = tensor.n_elements * sizeof(**y);
    assert_memory_equal(y[1], y[0], bytes);
    assert_memory_equal(y[2], y[0], bytes); /* the checkpoints' weights have few bits */
    assert_memory_equal(y[3], y[0], bytes);
    assert_true(memcmp(y[4], y[0], bytes) != 0);
    assert_true(memcmp(y[5], y[4], bytes) != 0); /* x is rounded too */
    for (int i = 0; i < 6; i++)
        free(y[i]);
}

static void test_refused(enum headwise_isa isa) {
    (void)isa;
    const char *path = cli_checkpoint("llama");
    unlink("out"); /* of the case before */
    cli_write_input("llama", "self.0");
    cli_refuses("option --input is missing", "layer", "--model", path);
    cli_refuses("--model is given with --weights", "layer", "--model", path, "--weights", "in",
                "--input", "in");
    cli_refuses("--model is given with --layout", "layer", "--model", path, "--layout", "in_out",
                "--input", "in");
    cli_refuses("option --layer is given without --model", "layer", "--weights", "in", "--input",
                "in", "--layer", "1");
    cli_refuses(
        "option --packed is \"f64\", expected f32, f16, bf16, i8, dynamic, dynamic128 or stored",
        "layer", "--model", path, "--input", "in", "--packed", "f64");
    cli_refuses("option --layer is -1", "layer", "--model", path, "--layer", "-1", "--input", "in");
    cli_refuses("has no self layer 2, expected 0 to 1", "layer", "--model", path, "--layer", "2",
                "--input", "in", "-o", "out");
    cli_refuses("has no part \"cross\"", "layer", "--model", path, "--part", "cross", "--input",
                "in", "-o", "out");
    cli_refuses("the model's layer is no cross attention", "layer", "--model", path, "--memory",
                "X", "--input", "in", "-o", "out");
    cli_refuses("\"lama\" is not known", "layer", "--model", path, "--family", "lama", "--input",
                "in", "-o", "out");
    cli_refuses("tensor \"X\": width 16, expected 12 as the model's layer", "layer", "--model",
                cli_checkpoint("gemma2"), "--input", "in", "-o", "out");
    cli_refuses("shape [9, 16], expected [8, 16]", "layer", "--model",
                cli_checkpoint("bad_k_shape"), "--input", "in", "-o", "out");
    cli_refuses("\"mamba\" is not known", "layer", "--model", cli_checkpoint("bad_type"), "--input",
                "in", "-o", "out");
}

int main(void) {
    static const struct test_case cases[] = {TEST_CASE(test_layers), TEST_CASE(test_single_file),
                                             TEST_CASE(test_options), TEST_CASE(test_packed),
                                             TEST_CASE(test_refused)};
    return cli_main_tiers(cases, TEST_COUNT(cases));
}
