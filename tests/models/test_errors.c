/* Files with one thing wrong: what the error line must say. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "call.h"
#include "guard.h"
#include "models_support.h"
#include "runner.h"

#define STEM "model.layers.0.self_attn."

/* The line must contain all of says. at_open: opening fails; else layer number layer does. */
struct wrong {
    const char *folder;
    bool at_open;
    const char *part;
    int64_t layer;
    enum headwise_status status;
    const char *says[4];
};

static const struct wrong wrongs[] = {
    {"bad_missing",
     false,
     NULL,
     0,
     HEADWISE_ERR_FORMAT,
     {"bad_missing/model.safetensors: tensor \"" STEM "k_proj.weight\"", "is missing", "llama"}},
    {"bad_missing_layer",
     false,
     NULL,
     1,
     HEADWISE_ERR_FORMAT,
     {"tensor \"model.layers.1.self_attn.q_proj.weight\"", "is missing"}},
    {"bad_k_shape",
     false,
     NULL,
     0,
     HEADWISE_ERR_FORMAT,
     {"tensor \"" STEM "k_proj.weight\"", "shape [9, 16], expected [8, 16]", "2 kv heads of 4"}},
    {"bad_q_width",
     false,
     NULL,
     0,
     HEADWISE_ERR_FORMAT,
     {"tensor \"" STEM "q_proj.weight\"", "shape [16, 15], expected [16, 16]"}},
    {"bad_o_shape",
     false,
     NULL,
     0,
     HEADWISE_ERR_FORMAT,
     {"tensor \"" STEM "o_proj.weight\"", "shape [15, 16], expected [16, 16]"}},
    {"bad_rank",
     false,
     NULL,
     0,
     HEADWISE_ERR_FORMAT,
     {"tensor \"" STEM "v_proj.weight\"", "shape [128], expected a matrix"}},
    {"bad_empty",
     false,
     NULL,
     0,
     HEADWISE_ERR_FORMAT,
     {"tensor \"" STEM "v_proj.weight\"", "shape [0, 16], expected a matrix"}},
    {"bad_dtype",
     false,
     NULL,
     0,
     HEADWISE_ERR_FORMAT,
     {"tensor \"" STEM "v_proj.weight\"", "is I64, expected F32, F16, BF16 or F64"}},
    {"bad_bias",
     false,
     NULL,
     0,
     HEADWISE_ERR_FORMAT,
     {"tensor \"" STEM "q_proj.bias\"", "shape [16], expected no such tensor"}},
    {"bad_unknown",
     false,
     NULL,
     0,
     HEADWISE_ERR_FORMAT,
     {"tensor \"" STEM "q_proj.weight_scale\"", "shape [1], expected no such tensor"}},
    {"bad_heads",
     false,
     NULL,
     0,
     HEADWISE_ERR_FORMAT,
     {"tensor \"" STEM "o_proj.weight\"", "shape [16, 16]", "a multiple of 7", "7 heads"}},
    {"bad_head_dim",
     false,
     NULL,
     0,
     HEADWISE_ERR_FORMAT,
     {"tensor \"" STEM "o_proj.weight\"", "shape [16, 16], expected [16, 20]", "4 heads of 5"}},
    {"bad_kv_heads",
     false,
     NULL,
     0,
     HEADWISE_ERR_FORMAT,
     {"tensor \"" STEM "k_proj.weight\"", "shape [8, 16]", "divide 4 heads, found 3"}},
    {"bad_width",
     false,
     NULL,
     0,
     HEADWISE_ERR_FORMAT,
     {"tensor \"" STEM "q_proj.weight\"", "shape [16, 16], expected [16, 20]", "width 20"}},
    {"bad_type",
     true,
     NULL,
     0,
     HEADWISE_ERR_FORMAT,
     {"bad_type/config.json: model_type \"mamba\" is not known", "bert", "llama", "gpt_oss"}},
    {"bad_text",
     false,
     NULL,
     0,
     HEADWISE_ERR_FORMAT,
     {"config.json: num_attention_heads is \"eight\", expected an integer of 1 or more"}},
    {"bad_negative",
     false,
     NULL,
     0,
     HEADWISE_ERR_FORMAT,
     {"config.json: num_key_value_heads is -2, expected an integer of 1 or more"}},
    {"bad_no_heads",
     false,
     NULL,
     0,
     HEADWISE_ERR_FORMAT,
     {"tensor \"" STEM "o_proj.weight\"", "num_attention_heads", "n_heads"}},
    {"bad_rope_type",
     false,
     NULL,
     0,
     HEADWISE_ERR_FORMAT,
     {"config.json: type is \"dynamic\", expected default, linear, llama3, yarn or longrope"}},
    {"bad_rope_factor",
     false,
     NULL,
     0,
     HEADWISE_ERR_FORMAT,
     {"config.json: factor is missing, expected a number above 0"}},
    {"bad_rope_list",
     false,
     NULL,
     0,
     HEADWISE_ERR_FORMAT,
     {"config.json: short_factor is [1.0], expected a list"}},
    {"bad_rope_base",
     false,
     NULL,
     0,
     HEADWISE_ERR_FORMAT,
     {"config.json: rope_theta is -1.0, expected a number above 0"}},
    {"bad_rope_part",
     false,
     NULL,
     0,
     HEADWISE_ERR_FORMAT,
     {"config.json: rotary positions turn 3 components", "an even number of at most 4"}},
    {"bad_family",
     true,
     NULL,
     0,
     HEADWISE_ERR_FORMAT,
     {"bad_family/model.safetensors: has no layer of a bloom model",
      "h.0.self_attention.query_key_value"}},
    {"bad_layer_types",
     false,
     NULL,
     0,
     HEADWISE_ERR_FORMAT,
     {"layer_types is [\"linear_attention\"], expected full_attention or sliding_attention"}},
    {"bad_index_objects",
     true,
     NULL,
     0,
     HEADWISE_ERR_FORMAT,
     {"model.safetensors.index.json: weight_map: \"", "is no text, expected a file name"}},
    {"bad_index_file",
     true,
     NULL,
     0,
     HEADWISE_ERR_IO,
     {"model-00009-of-00004.safetensors: cannot be opened"}},
    {"bad_index_place",
     false,
     NULL,
     0,
     HEADWISE_ERR_FORMAT,
     {"model.safetensors.index.json: weight_map: tensor \"", "found in ",
      "expected in model-00001-of-00004.safetensors"}},
    {"bad_index_path",
     true,
     NULL,
     0,
     HEADWISE_ERR_FORMAT,
     {"is in \"../llama/model.safetensors\", expected the name of a file in the same folder"}},
    {"bad_index_empty", true, NULL, 0, HEADWISE_ERR_FORMAT, {"has no weight_map"}},
    {"bad_index_json",
     false,
     NULL,
     0,
     HEADWISE_ERR_FORMAT,
     {"index.json: weight_map: tensor \"" STEM "q_proj.weight\": comes twice, in different files"}},
    {"bad_folder",
     true,
     NULL,
     0,
     HEADWISE_ERR_IO,
     {"bad_folder: has neither model.safetensors nor model.safetensors.index.json"}},
    {"bad_header", true, NULL, 0, HEADWISE_ERR_FORMAT, {"header length is 9223372036854775808"}},
    {"no_such_folder", true, NULL, 0, HEADWISE_ERR_IO, {"no_such_folder: cannot be opened"}},
    {"bad_positions",
     false,
     NULL,
     0,
     HEADWISE_ERR_FORMAT,
     {"position_embedding_type is \"relative_key\", expected absolute"}},
    {"bad_buckets",
     false,
     "encoder",
     0,
     HEADWISE_ERR_FORMAT,
     {"tensor \"encoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight\"",
      "shape [8, 3], expected [16, 3]"}},
    {"bad_no_table",
     false,
     "encoder",
     0,
     HEADWISE_ERR_FORMAT,
     {"tensor \"encoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight\"",
      "is missing"}},
    {"bad_no_bias",
     false,
     NULL,
     0,
     HEADWISE_ERR_FORMAT,
     {"tensor \"h.0.attn.c_attn.bias\"", "is missing"}},
    {"bad_no_metadata",
     false,
     NULL,
     0,
     HEADWISE_ERR_FORMAT,
     {"tensor \"svtr_block.0.mixer.proj.weight\"", "width 12", "n_heads"}},
    {"bad_pruned",
     false,
     NULL,
     0,
     HEADWISE_ERR_FORMAT,
     {"config.json: pruned_heads is {\"0\":[1,4]}, expected for each layer number a list of "
      "heads"}},
};

static void check_line(const struct wrong *wrong) {
    const char *line = headwise_io_last_error();
    for (int i = 0; i < 4 && wrong->says[i] != NULL; i++)
        if (strstr(line, wrong->says[i]) == NULL)
            fail_msg("%s: \"%s\" does not say \"%s\"", wrong->folder, line, wrong->says[i]);
}

static void test_wrong(enum headwise_isa isa) {
    headwise_context *context = call_context(isa, 1);
    for (size_t i = 0; i < TEST_COUNT(wrongs); i++) {
        const struct wrong *wrong = &wrongs[i];
        headwise_checkpoint *untouched = (headwise_checkpoint *)&wrongs, *model = untouched;
        enum headwise_status status =
            headwise_checkpoint_open(&model, models_checkpoint(wrong->folder), NULL);
        if (wrong->at_open) {
            assert_ptr_equal(model, untouched);
        } else {
            if (status != HEADWISE_OK)
                fail_msg("%s", headwise_io_last_error());
            headwise_checkpoint_layer *none = (headwise_checkpoint_layer *)&wrongs, *layer = none;
            status =
                headwise_checkpoint_layer_create(&layer, model, context, wrong->part, wrong->layer);
            assert_ptr_equal(layer, none);
            headwise_checkpoint_close(model);
        }
        if (status != wrong->status)
            fail_msg("%s: status %d, expected %d: %s", wrong->folder, (int)status,
                     (int)wrong->status, headwise_io_last_error());
        check_line(wrong);
    }
    headwise_context_destroy(context);
}

/* A layer that is missing does not spoil the others. */
static void test_rest(enum headwise_isa isa) {
    headwise_context *context = call_context(isa, 1);
    headwise_checkpoint *model = models_open(models_checkpoint("bad_missing"), NULL);
    headwise_checkpoint_layer_destroy(models_layer(model, context, NULL, 1));
    headwise_checkpoint_close(model);
    headwise_context_destroy(context);
}

static void expect_invalid(enum headwise_status status, const char *says) {
    assert_int_equal(status, HEADWISE_ERR_INVALID);
    if (strstr(headwise_io_last_error(), says) == NULL)
        fail_msg("\"%s\" does not say \"%s\"", headwise_io_last_error(), says);
}

static void test_arguments(enum headwise_isa isa) {
    headwise_context *context = call_context(isa, 1);
    const char *path = models_checkpoint("llama");
    headwise_checkpoint *model = NULL;
    headwise_checkpoint_layer *layer = NULL;
    struct headwise_checkpoint_options options = {.size = sizeof(options)}, wrong = options;
    expect_invalid(headwise_checkpoint_open(NULL, path, NULL), "model_open: model is NULL");
    expect_invalid(headwise_checkpoint_open(&model, NULL, NULL), "model_open: path is NULL");
    wrong.size = 0;
    expect_invalid(headwise_checkpoint_open(&model, path, &wrong), "size is 0");
    wrong.size = sizeof(wrong) - 1;
    expect_invalid(headwise_checkpoint_open(&model, path, &wrong), "expected");
    wrong = options;
    wrong.family = "lama";
    expect_invalid(headwise_checkpoint_open(&model, path, &wrong), "\"lama\" is not known");
    wrong = options;
    wrong.overrides = "{\"rope_theta\": }";
    expect_invalid(headwise_checkpoint_open(&model, path, &wrong), "overrides: is not usable JSON");
    wrong.overrides = "[1]";
    expect_invalid(headwise_checkpoint_open(&model, path, &wrong), "overrides: is no JSON object");
    wrong = options;
    wrong.n_heads = -1;
    expect_invalid(headwise_checkpoint_open(&model, path, &wrong),
                   "n_heads is -1, expected 0 or more");
    wrong = options;
    wrong.rotary = (enum headwise_checkpoint_rotary)3;
    expect_invalid(headwise_checkpoint_open(&model, path, &wrong), "rotary is 3");
    wrong.rotary = HEADWISE_CHECKPOINT_ROTARY_AUTO;
    wrong.weights = (enum headwise_checkpoint_weights)7;
    expect_invalid(headwise_checkpoint_open(&model, path, &wrong), "weights is 7, expected 0 to 6");
    assert_null(model);
    model = models_open(path, &options);
    expect_invalid(headwise_checkpoint_layer_create(NULL, model, context, NULL, 0),
                   "layer is NULL");
    expect_invalid(headwise_checkpoint_layer_create(&layer, NULL, context, NULL, 0),
                   "model is NULL");
    expect_invalid(headwise_checkpoint_layer_create(&layer, model, NULL, NULL, 0),
                   "context is NULL");
    expect_invalid(headwise_checkpoint_layer_create(&layer, model, context, "cross", 0),
                   "no part \"cross\", expected one as \"self\"");
    expect_invalid(headwise_checkpoint_layer_create(&layer, model, context, NULL, 2),
                   "no self layer 2, expected 0 to 1");
    expect_invalid(headwise_checkpoint_layer_create(&layer, model, context, NULL, -1), "layer -1");
    assert_null(layer);
    assert_int_equal(headwise_checkpoint_n_layers(model, "cross"), 0);
    headwise_checkpoint_close(model);
    headwise_checkpoint_close(NULL);
    headwise_checkpoint_layer_destroy(NULL);
    headwise_context_destroy(context);
}

int main(void) {
    static const struct test_case cases[] = {TEST_CASE(test_wrong), TEST_CASE(test_rest),
                                             TEST_CASE(test_arguments)};
    return test_run_once(cases, TEST_COUNT(cases));
}
