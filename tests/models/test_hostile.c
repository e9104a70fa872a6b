/* Every key of config.json with every kind of value that does not belong there: an error line or a
 * layer, never more than that. Memory checkers run this too. */
#include <stdio.h>
#include <string.h>

#include "call.h"
#include "guard.h"
#include "models_support.h"
#include "runner.h"

static const char *const folders[] = {
    "bert_pruned", "gpt2_prefix", "t5",         "clip",      "llama_yarn", "qwen2",   "gemma3",
    "phi3",        "gpt_neox",    "falcon_40b", "falcon_rw", "gpt_oss",    "phi_norm"};

static const char *const keys[] = {"model_type",
                                   "hidden_size",
                                   "n_embd",
                                   "d_model",
                                   "num_attention_heads",
                                   "n_head",
                                   "num_heads",
                                   "num_key_value_heads",
                                   "num_kv_heads",
                                   "head_dim",
                                   "d_kv",
                                   "num_hidden_layers",
                                   "num_layers",
                                   "attention_bias",
                                   "bias",
                                   "is_decoder",
                                   "position_embedding_type",
                                   "pruned_heads",
                                   "scale_attn_weights",
                                   "scale_attn_by_inverse_layer_idx",
                                   "rope_theta",
                                   "rope_scaling",
                                   "rope_parameters",
                                   "rope_local_base_freq",
                                   "partial_rotary_factor",
                                   "rotary_pct",
                                   "rotary_dim",
                                   "max_position_embeddings",
                                   "original_max_position_embeddings",
                                   "sliding_window",
                                   "layer_types",
                                   "sliding_window_pattern",
                                   "use_sliding_window",
                                   "max_window_layers",
                                   "query_pre_attn_scalar",
                                   "attn_logit_softcapping",
                                   "use_bidirectional_attention",
                                   "rms_norm_eps",
                                   "layer_norm_eps",
                                   "qk_layernorm",
                                   "alibi",
                                   "multi_query",
                                   "new_decoder_architecture",
                                   "relative_attention_num_buckets",
                                   "relative_attention_max_distance",
                                   "text_config"};

static const char *const values[] = {
    "null",
    "true",
    "\"text\"",
    "0",
    "-1",
    "1",
    "3",
    "9223372036854775807",
    "0.5",
    "-1e300",
    "[]",
    "[1, \"a\"]",
    "{}",
    "{\"0\": 5, \"full_attention\": 1, \"rope_type\": 2}",
    "{\"type\": \"yarn\", \"factor\": 1e300, \"beta_fast\": -1}",
    "{\"type\": \"longrope\", \"short_factor\": [-1, 1], \"long_factor\": []}"};

/* Opens the model and makes all its layers. Returns whether anything failed. */
static bool try_model(headwise_context *context, const char *folder, const char *overrides) {
    struct headwise_checkpoint_options options = {.size = sizeof(options), .overrides = overrides};
    headwise_checkpoint *model = NULL;
    enum headwise_status status =
        headwise_checkpoint_open(&model, models_checkpoint(folder), &options);
    bool failed = status != HEADWISE_OK;
    const char *part;
    for (size_t p = 0; model != NULL && (part = headwise_checkpoint_part_name(model, p)) != NULL;
         p++) {
        int64_t n = headwise_checkpoint_n_layers(model, part);
        for (int64_t i = 0; i < n && i < 4; i++) {
            headwise_checkpoint_layer *layer = NULL;
            status = headwise_checkpoint_layer_create(&layer, model, context, part, i);
            failed = failed || status != HEADWISE_OK;
            assert_true((status == HEADWISE_OK) == (layer != NULL));
            headwise_checkpoint_layer_destroy(layer);
        }
    }
    headwise_checkpoint_close(model);
    if (failed && (status == HEADWISE_ERR_IO || headwise_io_last_error()[0] == '\0'))
        fail_msg("%s with %s: status %d", folder, overrides, (int)status);
    return failed;
}

static void test_values(enum headwise_isa isa) {
    headwise_context *context = call_context(isa, 1);
    size_t n_failed = 0, n = 0;
    for (size_t f = 0; f < TEST_COUNT(folders); f++)
        for (size_t k = 0; k < TEST_COUNT(keys); k++)
            for (size_t v = 0; v < TEST_COUNT(values); v++) {
                if ((int64_t)(f + k + v) % test_share() != 0)
                    continue;
                n++;
                char overrides[256];
                snprintf(overrides, sizeof(overrides), "{\"%s\": %s}", keys[k], values[v]);
                n_failed += try_model(context, folders[f], overrides);
                guard_release();
            }
    print_message("%zu of %zu settings refused\n", n_failed, n);
    assert_true(n_failed > n / 4 && n_failed < n);
    headwise_context_destroy(context);
}

int main(void) {
    static const struct test_case cases[] = {TEST_CASE(test_values)};
    return test_run_once(cases, TEST_COUNT(cases));
}
