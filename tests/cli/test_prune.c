/* headwise prune: what it writes gives the bits of gated heads when it is read back. */
#define _POSIX_C_SOURCE 200809L
#include "cli_support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SENTENCE getenv("HEADWISE_SENTENCE")

enum { WIDTH = 10, HEADS = 6, KV = 2, SIZE = 3, TOKENS = 5 };

/* Random weights to "in": 6 heads on 2 kv heads, biases but on k. */
static void write_layer(enum headwise_file_dtype dtype) {
    static float w[4][WIDTH * HEADS * SIZE], b[3][HEADS * SIZE], x[TOKENS * WIDTH];
    static uint16_t narrow[4][WIDTH * HEADS * SIZE];
    uint32_t state = 7;
    float *const all[] = {&w[0][0], &b[0][0], x};
    const size_t sizes[] = {4 * TEST_COUNT(w[0]), 3 * TEST_COUNT(b[0]), TEST_COUNT(x)};
    for (size_t a = 0; a < 3; a++) {
        for (size_t i = 0; i < sizes[a]; i++)
            all[a][i] = (float)((state = state * 1664525 + 1013904223) >> 8) * 0x1p-23f - 1;
    }
    headwise_f16_from_f32(narrow[0], w[0], 4 * TEST_COUNT(w[0]));
    struct headwise_file_tensor tensors[] = {
        CLI_TENSOR("W_Q", w[0], WIDTH, HEADS * SIZE),
        CLI_TENSOR("W_K", w[1], WIDTH, KV * SIZE),
        CLI_TENSOR("W_V", w[2], WIDTH, KV * SIZE),
        CLI_TENSOR("W_O", w[3], HEADS * SIZE, WIDTH),
        CLI_TENSOR("b_Q", b[0], HEADS * SIZE),
        CLI_TENSOR("b_V", b[1], KV * SIZE),
        CLI_TENSOR("b_O", b[2], WIDTH),
        CLI_TENSOR("X", x, TOKENS, WIDTH),
    };
    for (int i = 0; i < 4 && dtype == HEADWISE_FILE_F16; i++) {
        tensors[i].dtype = dtype;
        tensors[i].data = narrow[i];
    }
    cli_write("in", tensors, TEST_COUNT(tensors), "num_heads=6;num_kv_heads=2");
}

/* The tensor y of both files has the same bytes. */
static void expect_same_y(const char *one, const char *other) {
    headwise_safetensors *files[2] = {cli_open(one), cli_open(other)};
    const struct headwise_file_tensor *y[2];
    for (int i = 0; i < 2; i++) {
        y[i] = headwise_safetensors_find(files[i], "y");
        assert_non_null(y[i]);
    }
    assert_int_equal(y[0]->size_bytes, y[1]->size_bytes);
    assert_memory_equal(y[0]->data, y[1]->data, y[0]->size_bytes);
    headwise_safetensors_close(files[0]);
    headwise_safetensors_close(files[1]);
}

static void expect_metadata(const char *path, const char *key, const char *expected) {
    headwise_safetensors *file = cli_open(path);
    const char *found = headwise_safetensors_metadata(file, key);
    if (!found || strcmp(found, expected) != 0)
        fail_msg("%s: %s is \"%s\", expected \"%s\"", path, key, found ? found : "", expected);
    headwise_safetensors_close(file);
}

#define IN "--weights", "in", "--input", "in", "--causal", "top-left", "--isa", tier
#define PRUNED(path)                                                                               \
    "--weights", path, "--input", "in", "--causal", "top-left", "--isa", tier, "--tokens", ""

static void prunes_a_layer(enum headwise_isa isa) {
    const char *tier = headwise_isa_name(isa);
    for (int narrow = 0; narrow < 2; narrow++) {
        write_layer(narrow ? HEADWISE_FILE_F16 : HEADWISE_FILE_F32);
        cli_accepts("prune", IN, "--drop", "1,4", "-o", "one");
        assert_non_null(strstr(cli.out, "dropped 1, 4 of 6 heads; y changes by "));
        expect_metadata("one", "pruned_heads", "1,4");
        expect_metadata("one", "head_numbers", "0,2,3,5");
        expect_metadata("one", "group_sizes", "2,2");
        cli_expect_shape("one", "W_Q", 2, (const int64_t[]){WIDTH, 4 * SIZE});
        cli_expect_shape("one", "W_O", 2, (const int64_t[]){4 * SIZE, WIDTH});
        cli_accepts("layer", IN, "--gate", "1,0,1,1,0,1", "-o", "gated");
        cli_accepts("layer", PRUNED("one"), "-o", "cut");
        expect_same_y("gated", "cut");
        /* uneven groups, then a kv head that goes with its last head */
        cli_accepts("prune", "--weights", "one", "--input", "in", "--causal", "top-left", "--isa",
                    tier, "--drop", "0", "-o", "two");
        expect_metadata("two", "pruned_heads", "1,4,0");
        expect_metadata("two", "head_numbers", "2,3,5");
        expect_metadata("two", "group_sizes", "1,2");
        cli_accepts("layer", IN, "--gate", "0,0,1,1,0,1", "-o", "gated");
        cli_accepts("layer", PRUNED("two"), "-o", "cut");
        expect_same_y("gated", "cut");
        cli_accepts("inspect", PRUNED("two"));
        assert_non_null(strstr(cli.out, "\n   5   1 "));
        cli_accepts("prune", "--weights", "two", "--input", "in", "--isa", tier, "--drop", "2",
                    "-o", "three");
        expect_metadata("three", "num_kv_heads", "1");
        cli_expect_shape("three", "W_K", 2, (const int64_t[]){WIDTH, SIZE});
        cli_accepts("layer", IN, "--gate", "0,0,0,1,0,1", "-o", "gated");
        cli_accepts("layer", PRUNED("three"), "-o", "cut");
        expect_same_y("gated", "cut");
    }
    for (int i = 0; i < 5; i++)
        unlink(((const char *const[]){"one", "two", "three", "gated", "cut"})[i]);
}

/* The sentence's head 3, everything alike, adds least; 2 comes next with 55 %. */
static void chooses_heads(enum headwise_isa isa) {
    const char *tier = headwise_isa_name(isa);
#define LAYER "--weights", SENTENCE, "--input", SENTENCE, "--isa", tier
    cli_accepts("prune", LAYER, "--keep", "2", "-o", "one");
    assert_non_null(strstr(cli.out, "dropped 3, 2 of 4 heads; y changes by 55.5%\n"));
    expect_metadata("one", "pruned_heads", "3,2");
    cli_accepts("prune", LAYER, "--most-change", "0.2", "-o", "one");
    assert_non_null(strstr(cli.out, "dropped 3 of 4 heads; y changes by 15.1%\n"));
    cli_accepts("prune", LAYER, "--most-change", "0.1", "-o", "one");
    assert_non_null(strstr(cli.out, "dropped none of 4 heads; y changes by 0.0%\n"));
    cli_accepts("prune", LAYER, "--most-change", "2", "-o", "one");
    expect_metadata("one", "num_heads", "1");
    cli_accepts("prune", LAYER, "--drop", "3", "--merge", "3:1", "-o", "one");
    assert_non_null(strstr(cli.out, "dropped 3 of 4 heads\n"));
    unlink("one");
#undef LAYER
}

/* A whole model, read back as one. */
static void prunes_a_model(enum headwise_isa isa) {
    const char *tier = headwise_isa_name(isa), *path = cli_checkpoint("llama_shards");
    cli_write_input("llama_shards", "self.1");
#define LAYER "--layer", "1", "--input", "in", "--isa", tier
    cli_accepts("prune", "--model", path, "--layer", "1", "--drop", "1", "-o", "cut-model");
    assert_string_equal(cli.out, "");
    expect_metadata("cut-model/model.safetensors", "pruned_heads", "{\"1\":[1]}");
    cli_accepts("layer", "--model", path, LAYER, "--gate", "1,0,1,1", "-o", "gated");
    cli_accepts("layer", "--model", "cut-model", LAYER, "-o", "cut");
    expect_same_y("gated", "cut");
    cli_accepts("layer", "--model", path, "--layer", "0", "--input", "in", "-o", "gated");
    cli_accepts("layer", "--model", "cut-model", "--layer", "0", "--input", "in", "-o", "cut");
    expect_same_y("gated", "cut");
    cli_refuses("cut-model/config.json: is there already", "prune", "--model", path, "--layer", "1",
                "--drop", "1", "-o", "cut-model");
    cli_accepts("prune", "--model", "cut-model", LAYER, "--keep", "1", "-o", "cut-more");
    assert_non_null(strstr(cli.out, " of 3 heads; y changes by "));
    cli_accepts("layer", "--model", "cut-more", LAYER);
    assert_non_null(strstr(cli.out, "layer of 1 head of "));
#undef LAYER
    static const char *const files[] = {"cut-model/config.json",
                                        "cut-model/model.safetensors",
                                        "cut-more/config.json",
                                        "cut-more/model.safetensors",
                                        "gated",
                                        "cut"};
    for (size_t i = 0; i < TEST_COUNT(files); i++)
        unlink(files[i]);
    assert_int_equal(rmdir("cut-model"), 0);
    assert_int_equal(rmdir("cut-more"), 0);
}

static void refuses_what_is_wrong(enum headwise_isa isa) {
    (void)isa;
    const char *path = cli_checkpoint("llama");
#define LAYER "prune", "--weights", SENTENCE, "--input", SENTENCE
    cli_refuses("prune: option --output is missing", LAYER, "--drop", "1");
    cli_refuses("prune: no heads are named", LAYER, "-o", "out");
    cli_refuses("more than one choice of heads", LAYER, "-o", "out", "--drop", "1", "--keep", "2");
    cli_refuses("prune: option --merge is given without --drop", LAYER, "-o", "out", "--keep", "2",
                "--merge", "1:0");
    cli_refuses("option --drop is \" 1\"", LAYER, "-o", "out", "--drop", " 1");
    cli_refuses("option --merge is \"1: 0\"", LAYER, "-o", "out", "--drop", "1", "--merge", "1: 0");
    cli_refuses("option --drop is \"1,x\"", LAYER, "-o", "out", "--drop", "1,x");
    cli_refuses("option --merge is \"1-0\"", LAYER, "-o", "out", "--drop", "1", "--merge", "1-0");
    cli_refuses("option --merge is \"2:0\"", LAYER, "-o", "out", "--drop", "1", "--merge", "2:0");
    cli_refuses("option --keep is 5, expected 1 to 4", LAYER, "-o", "out", "--keep", "5");
    cli_refuses("option --most-change is -1", LAYER, "-o", "out", "--most-change", "-1");
    cli_refuses("heads[0] is 7, which the layer does not have", LAYER, "-o", "out", "--drop", "7");
    cli_refuses("no head would be left", LAYER, "-o", "out", "--drop", "0,1,2,3");
    cli_refuses("no/out: cannot be written", LAYER, "-o", "no/out", "--drop", "1");
    cli_refuses("option --input is missing: it tells which heads", "prune", "--model", path,
                "--layer", "0", "--keep", "1", "-o", "out");
    cli_refuses("prune: option --input is missing", "prune", "--weights", SENTENCE, "--drop", "1",
                "-o", "out");
    cli_refuses("heads[0] is 9, which the layer does not have", "prune", "--model", path, "--layer",
                "0", "--drop", "9", "-o", "out");
#undef LAYER
}

/* Metadata that a pruned layer cannot have. */
static void checks_metadata(enum headwise_isa isa) {
    (void)isa;
    static const float one[4] = {1, 0, 0, 1};
    const struct headwise_file_tensor tensors[] = {
        CLI_TENSOR("W_Q", one, 2, 2), CLI_TENSOR("W_K", one, 2, 2), CLI_TENSOR("W_V", one, 2, 2),
        CLI_TENSOR("W_O", one, 2, 2), CLI_TENSOR("X", one, 2, 2)};
    static const char *const cases[][2] = {
        {"num_heads=2;group_sizes=1", "metadata group_sizes is \"1\", expected 2 integers"},
        {"num_heads=2;group_sizes=1,2", "expected sizes of 1 or more that add up to 2 heads"},
        {"num_heads=2;group_sizes=2,0", "expected sizes of 1 or more that add up to 2 heads"},
        {"num_heads=2;head_numbers=1,x", "metadata head_numbers is \"1,x\", expected 2 integers"},
        {"num_heads=2;head_numbers=1,0", "in: "},
    };
    for (size_t i = 0; i < TEST_COUNT(cases); i++) {
        cli_write("in", tensors, 5, cases[i][0]);
        cli_refuses(cases[i][1], "layer", "--weights", "in", "--input", "in", "-o", "out");
    }
    cli_write("in", tensors, 5, "num_heads=2;group_sizes=1,2");
    cli_accepts("layer", "--weights", "in", "--input", "in", "--heads", "2");
}

int main(void) {
    static const struct test_case cases[] = {
        TEST_CASE(prunes_a_layer),  TEST_CASE(chooses_heads),         TEST_CASE(prunes_a_model),
        TEST_CASE(checks_metadata), TEST_CASE(refuses_what_is_wrong),
    };
    return cli_main_tiers(cases, TEST_COUNT(cases));
}
