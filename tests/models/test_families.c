/* A checkpoint of every family, written by make_checkpoints.py, against the outputs that the script
 * computes in float64 from the heads' own weights, under the bounds that it derives. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "call.h"
#include "compare.h"
#include "guard.h"
#include "models_support.h"
#include "runner.h"

/* Folder, what the family must be found to be, parts separated by spaces. */
static const struct {
    const char *folder, *family, *parts;
} checkpoints[] = {
    {"bert", "bert", "self"},
    {"bert_prefix", "bert", "self"},
    {"bert_pruned", "bert", "self"},
    {"distilbert", "distilbert", "self"},
    {"distilbert_prefix", "distilbert", "self"},
    {"gpt2", "gpt2", "self"},
    {"gpt2_prefix", "gpt2", "self cross"},
    {"gpt2_unscaled", "gpt2", "self"},
    {"mingpt", "mingpt", "self"},
    {"bloom", "bloom", "self"},
    {"bloom_prefix", "bloom", "self"},
    {"t5", "t5", "encoder decoder cross"},
    {"t5_long", "t5", "encoder decoder cross"},
    {"whisper", "whisper", "encoder decoder cross"},
    {"whisper_base", "whisper", "encoder decoder cross"},
    {"vit", "vit", "self"},
    {"vit_base", "vit", "self"},
    {"clip", "clip", "text vision"},
    {"svtr", "svtr", "self"},
    {"llama", "llama", "self"},
    {"llama_shards", "llama", "self"},
    {"llama_bias", "llama", "self"},
    {"llama_interleaved", "llama", "self"},
    {"llama_linear", "llama", "self"},
    {"llama_linear_new", "llama", "self"},
    {"llama_llama3", "llama", "self"},
    {"llama_llama3_new", "llama", "self"},
    {"llama_yarn", "llama", "self"},
    {"llama_yarn_new", "llama", "self"},
    {"llama_yarn_ramp", "llama", "self"},
    {"llama_yarn_ramp_new", "llama", "self"},
    {"mistral", "mistral", "self"},
    {"mistral_null", "mistral", "self"},
    {"qwen2", "qwen2", "self"},
    {"qwen2_full", "qwen2", "self"},
    {"qwen3", "qwen3", "self"},
    {"gemma2", "gemma2", "self"},
    {"gemma3", "gemma3", "self"},
    {"gemma3_inner", "gemma3", "self"},
    {"gemma3_new", "gemma3", "self"},
    {"gemma3_both_ways", "gemma3", "self"},
    {"phi", "phi", "self"},
    {"phi_norm", "phi", "self"},
    {"phi3", "phi3", "self"},
    {"phi3_short", "phi3", "self"},
    {"gpt_neox", "gpt_neox", "self"},
    {"falcon_7b", "falcon", "self"},
    {"falcon_40b", "falcon", "self"},
    {"falcon_rw", "falcon", "self"},
    {"gpt_oss", "gpt_oss", "self"},
    {"mpnet", "mpnet", "self"},
    {"mpnet_prefix", "mpnet", "self"},
    {"modernbert", "modernbert", "self"},
    {"modernbert_prefix", "modernbert", "self"},
    {"nomic_bert", "nomic_bert", "self"},
    {"nomic_bert_prefix", "nomic_bert", "self"},
    {"smollm3", "smollm3", "self"},
    {"smollm3_listed", "smollm3", "self"},
    {"gemma", "gemma", "self"},
    {"granite", "granite", "self"},
    {"stablelm", "stablelm", "self"},
    {"starcoder2", "starcoder2", "self"},
    {"opt", "opt", "self"},
};

/* A layer's output against the file's, and the number of outputs compared. */
static size_t check_layer(headwise_context *context, headwise_checkpoint *model,
                          const headwise_safetensors *expected, const char *part, int64_t index) {
    char stem[64], name[80];
    int64_t rows, columns, memory_rows = 0;
    snprintf(stem, sizeof(stem), "%s.%" PRId64 ".", part, index);
    snprintf(name, sizeof(name), "%sx", stem);
    float *x = models_floats(expected, name, &rows, NULL), *memory = NULL;
    snprintf(name, sizeof(name), "%sy", stem);
    double *want = models_doubles(expected, name, NULL, &columns);
    snprintf(name, sizeof(name), "%sbound", stem);
    double *bound = models_doubles(expected, name, NULL, NULL);
    snprintf(name, sizeof(name), "%smemory", stem);
    bool is_cross = headwise_safetensors_find(expected, name) != NULL;
    if (is_cross)
        memory = models_floats(expected, name, &memory_rows, NULL);
    headwise_checkpoint_layer *layer = models_layer(model, context, part, index);
    assert_int_equal(headwise_checkpoint_layer_is_cross(layer), is_cross);
    assert_int_equal(headwise_mha_describe(headwise_checkpoint_layer_mha(layer))->d_out, columns);
    float *y = models_run(context, layer, x, 1, rows, memory, memory_rows, NULL);
    for (int64_t i = 0; i < rows * columns; i++) {
        assert_true(bound[i] > 0 && bound[i] < 5e-3); /* outputs are around 1 */
        compare_expect((double)y[i], want[i], bound[i], "%s %selement %" PRId64,
                       headwise_checkpoint_family(model), stem, i);
    }
    headwise_checkpoint_layer_destroy(layer);
    return (size_t)(rows * columns);
}

/* Every layer of every part; expected has nothing else. */
static void check_model(headwise_context *context, const char *folder, const char *family,
                        const char *parts) {
    size_t n_compared = 0, n_layers = 0, n_part = 0;
    headwise_checkpoint *model = models_open(models_checkpoint(folder), NULL);
    char path[64], list[64] = "";
    snprintf(path, sizeof(path), "%s/expected.safetensors", folder);
    headwise_safetensors *expected = models_file(models_checkpoint(path));
    assert_string_equal(headwise_checkpoint_family(model), family);
    for (const char *part; (part = headwise_checkpoint_part_name(model, n_part)) != NULL;
         n_part++) {
        if (n_part > 0)
            strcat(list, " ");
        strcat(list, part);
        for (int64_t i = 0; i < headwise_checkpoint_n_layers(model, part); i++, n_layers++)
            n_compared += check_layer(context, model, expected, part, i);
    }
    assert_string_equal(list, parts);
    size_t n_outputs = 0;
    for (size_t i = 0; i < headwise_safetensors_count(expected); i++) {
        const char *name = headwise_safetensors_at(expected, i)->name;
        n_outputs += strcmp(name + strlen(name) - 2, ".y") == 0;
    }
    assert_int_equal(n_layers, n_outputs);
    assert_true(n_compared > 0);
    headwise_safetensors_close(expected);
    headwise_checkpoint_close(model);
}

static void test_families(enum headwise_isa isa) {
    headwise_context *context = call_context(isa, 1);
    for (size_t i = 0; i < TEST_COUNT(checkpoints); i++)
        check_model(context, checkpoints[i].folder, checkpoints[i].family, checkpoints[i].parts);
    headwise_context_destroy(context);
}

/* The script's list is the table above. */
static void test_complete(enum headwise_isa isa) {
    (void)isa;
    char line[64];
    size_t n = 0;
    FILE *file = fopen(models_checkpoint("cases.txt"), "r");
    assert_non_null(file);
    while (fgets(line, sizeof(line), file) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        assert_true(n < TEST_COUNT(checkpoints));
        assert_string_equal(line, checkpoints[n].folder);
        n++;
    }
    fclose(file);
    assert_int_equal(n, TEST_COUNT(checkpoints));
    for (size_t f = 0; headwise_checkpoint_family_name(f) != NULL; f++) {
        bool found = false;
        for (size_t i = 0; i < n; i++)
            found |= strcmp(checkpoints[i].family, headwise_checkpoint_family_name(f)) == 0;
        if (!found)
            fail_msg("no checkpoint of family %s", headwise_checkpoint_family_name(f));
    }
}

/* A layer outlives its model, and shares the rotary table with the layers after it. */
static void test_lifetime(enum headwise_isa isa) {
    int64_t rows;
    headwise_context *context = call_context(isa, 1);
    headwise_checkpoint *model = models_open(models_checkpoint("llama"), NULL);
    headwise_checkpoint_layer *first = models_layer(model, context, NULL, 0);
    headwise_checkpoint_layer *second = models_layer(model, context, "self", 1);
    headwise_checkpoint_close(model);
    headwise_checkpoint_layer_destroy(second);
    headwise_safetensors *expected = models_file(models_checkpoint("llama/expected.safetensors"));
    float *x = models_floats(expected, "self.0.x", &rows, NULL);
    double *want = models_doubles(expected, "self.0.y", NULL, NULL);
    double *bound = models_doubles(expected, "self.0.bound", NULL, NULL);
    float *y = models_run(context, first, x, 1, rows, NULL, 0, NULL);
    for (int64_t i = 0; i < rows * 16; i++)
        compare_expect((double)y[i], want[i], bound[i], "element %" PRId64, i);
    headwise_safetensors_close(expected);
    headwise_checkpoint_layer_destroy(first);
    headwise_context_destroy(context);
}

int main(void) {
    static const struct test_case cases[] = {TEST_CASE(test_families), TEST_CASE(test_complete),
                                             TEST_CASE(test_lifetime)};
    return test_run_tiers(cases, TEST_COUNT(cases));
}
