/* What files may have wrong: each gives its line. Memory that runs out while a network is opened or
 * run is said, and nothing is lost. */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>

#include "call.h"
#include "counting.h"
#include "guard.h"
#include "networks_support.h"
#include "runner.h"
#include "scene.h"
#include "small_network.h"

static void expect(headwise_context *context, const char *folder,
                   const struct headwise_transformer_options *options, enum headwise_status want,
                   const char *text) {
    headwise_transformer *network = NULL;
    enum headwise_status status = headwise_transformer_open(&network, context, folder, options);
    if (status != want || strstr(headwise_model_last_error(), text) == NULL)
        fail_msg("status %d, \"%s\", expected %d, \"%s\"", status, headwise_model_last_error(),
                 want, text);
    assert_null(network);
}

static void expect_setting(headwise_context *context, const char *folder, const char *overrides,
                           enum headwise_status want, const char *text) {
    const struct headwise_transformer_options options = {.size = sizeof options,
                                                         .overrides = overrides};
    expect(context, folder, &options, want, text);
}

static void settings(enum headwise_isa isa) {
    static const struct {
        enum small_network network;
        const char *overrides, *text;
        enum headwise_status status;
    } wrong[] = {
        {SMALL_BERT, "{\"hidden_act\": \"mish\"}", "hidden_act is \"mish\", expected gelu",
         HEADWISE_ERR_UNSUPPORTED},
        {SMALL_BERT, "{\"hidden_act\": 3}", "hidden_act is 3, expected a short text",
         HEADWISE_ERR_FORMAT},
        {SMALL_BERT, "{\"layer_norm_eps\": 0}", "layer_norm_eps is 0, expected a number above 0",
         HEADWISE_ERR_FORMAT},
        {SMALL_BERT, "{\"hidden_size\": null}", "hidden_size is null", HEADWISE_ERR_FORMAT},
        {SMALL_BERT, "{\"hidden_size\": 40}", "has rows of 48, expected 40", HEADWISE_ERR_FORMAT},
        {SMALL_BERT, "{\"add_cross_attention\": true}", "add_cross_attention is true",
         HEADWISE_ERR_UNSUPPORTED},
        {SMALL_BERT, "{\"position_embedding_type\": \"relative_key\"}", "position_embedding_type",
         HEADWISE_ERR_FORMAT},
        {SMALL_BERT, "{\"model_type\": \"nobody\"}", "\"nobody\" is not known",
         HEADWISE_ERR_FORMAT},
        {SMALL_MODERNBERT, "{\"classifier_pooling\": \"max\"}",
         "classifier_pooling is \"max\", expected cls or mean", HEADWISE_ERR_UNSUPPORTED},
        {SMALL_MODERNBERT, "{\"norm_bias\": true}", "\"model.embeddings.norm.bias\": is missing",
         HEADWISE_ERR_FORMAT},
        {SMALL_LLAMA, "{\"mlp_bias\": true}", "mlp.up_proj.bias\": is missing",
         HEADWISE_ERR_FORMAT},
        {SMALL_LLAMA, "{\"num_hidden_layers\": 1}",
         "\"model.layers.1.input_layernorm.weight\": is not known", HEADWISE_ERR_FORMAT},
        {SMALL_VIT, "{\"image_size\": 18}", "image_size is 18, expected a multiple",
         HEADWISE_ERR_FORMAT},
        {SMALL_VIT, "{\"image_size\": 32}", "has 17 rows, expected 65", HEADWISE_ERR_FORMAT},
    };
    headwise_context *context = call_context(isa, 1);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        const char *folder = small_network_make(wrong[i].network);
        expect_setting(context, folder, wrong[i].overrides, wrong[i].status, wrong[i].text);
        small_network_remove(folder);
    }
    headwise_context_destroy(context);
}

/* BERT's file with one tensor more, less, or of another shape. */
static void tensors(enum headwise_isa isa) {
    static const float values[200] = {0};
    headwise_context *context = call_context(isa, 1);
    const char *folder = small_network_make(SMALL_BERT);
    const char *path = networks_path(folder, "model.safetensors");
    headwise_safetensors *file = NULL;
    struct headwise_file_tensor all[80];
    assert_int_equal(headwise_safetensors_open_copy(&file, path), HEADWISE_OK);
    size_t n = headwise_safetensors_count(file), down = n;
    for (size_t i = 0; i < n; i++) {
        all[i] = *headwise_safetensors_at(file, i);
        if (strcmp(all[i].name, "bert.encoder.layer.1.output.dense.bias") == 0)
            down = i;
    }
    all[n] = (struct headwise_file_tensor){.name = "bert.encoder.layer.1.adapter.weight",
                                           .dtype = HEADWISE_FILE_F32,
                                           .rank = 2,
                                           .shape = {2, 48},
                                           .data = values};
    assert_int_equal(headwise_safetensors_write(path, all, n + 1, NULL, 0), HEADWISE_OK);
    expect(context, folder, NULL, HEADWISE_ERR_FORMAT,
           "\"bert.encoder.layer.1.adapter.weight\": is not known in a bert model");
    all[n].name = "bert.embeddings.position_ids"; /* carries nothing */
    assert_int_equal(headwise_safetensors_write(path, all, n + 1, NULL, 0), HEADWISE_OK);
    headwise_transformer_destroy(networks_open(context, folder, NULL));
    assert_true(down < n);
    all[down].shape[0] = 47;
    assert_int_equal(headwise_safetensors_write(path, all, n, NULL, 0), HEADWISE_OK);
    expect(context, folder, NULL, HEADWISE_ERR_FORMAT, "has 47 elements, expected 48");
    all[down] = all[n - 1];
    assert_int_equal(headwise_safetensors_write(path, all, n - 1, NULL, 0), HEADWISE_OK);
    expect(context, folder, NULL, HEADWISE_ERR_FORMAT, "output.dense.bias\": is missing");
    headwise_safetensors_close(file);
    small_network_remove(folder);
    headwise_context_destroy(context);
}

/* What was given back is read again. */
static void released_files(enum headwise_isa isa) {
    static const char name[] = "bert.embeddings.word_embeddings.weight";
    static const int64_t shape[2] = {SMALL_IDS, 48};
    const char *folder = small_network_make(SMALL_BERT);
    headwise_checkpoint *checkpoint = NULL;
    float before[SMALL_IDS * 48], after[SMALL_IDS * 48] = {0};
    (void)isa;
    assert_int_equal(headwise_checkpoint_open(&checkpoint, folder, NULL), HEADWISE_OK);
    assert_int_equal(headwise_checkpoint_read_f32(before, checkpoint, name, 2, shape), HEADWISE_OK);
    headwise_checkpoint_release(checkpoint);
    assert_int_equal(headwise_checkpoint_read_f32(after, checkpoint, name, 2, shape), HEADWISE_OK);
    assert_memory_equal(before, after, sizeof before);
    headwise_checkpoint_close(checkpoint);
    headwise_checkpoint_release(NULL);
    small_network_remove(folder);
}

static void options(enum headwise_isa isa) {
    const char *folder = small_network_make(SMALL_BERT);
    headwise_context *context = call_context(isa, 1);
    struct headwise_transformer_options given = {.size = 4};
    expect(context, folder, &given, HEADWISE_ERR_INVALID, "options->size is 4");
    given = (struct headwise_transformer_options){.size = sizeof given, .part = "vision"};
    expect(context, folder, &given, HEADWISE_ERR_INVALID, "has no part \"vision\"");
    given = (struct headwise_transformer_options){
        .size = sizeof given, .weights_is_set = true, .weights = 9};
    expect(context, folder, &given, HEADWISE_ERR_INVALID, "weights is 9");
    given = (struct headwise_transformer_options){.size = sizeof given, .without_head = true};
    headwise_transformer *network = networks_open(context, folder, &given);
    assert_int_equal(headwise_transformer_describe(network)->n_labels, 0);
    assert_int_equal(headwise_transformer_describe(network)->d_pooled, 0);
    headwise_transformer_destroy(network);
    small_network_remove(folder);
    headwise_context_destroy(context);
}

/* Opens and runs with this allocator, for the network and for the context. */
static enum headwise_status run(enum headwise_isa isa, const char *folder,
                                const struct headwise_allocator *allocator) {
    const struct headwise_context_options contexts = {
        .size = sizeof contexts, .isa = isa, .n_threads = 1, .allocator = *allocator};
    const struct headwise_transformer_options opening = {.size = sizeof opening,
                                                         .weights_is_set = true,
                                                         .weights =
                                                             HEADWISE_CHECKPOINT_WEIGHTS_DYNAMIC,
                                                         .allocator = *allocator};
    headwise_context *context = NULL;
    headwise_transformer *network = NULL;
    enum headwise_status status = headwise_context_create(&context, &contexts);
    if (!status)
        status = headwise_transformer_open(&network, context, folder, &opening);
    if (!status) {
        struct scene scene = scene_make(network);
        status = headwise_transformer_forward(context, network, &scene.call);
    }
    headwise_transformer_destroy(network);
    headwise_context_destroy(context);
    return status;
}

static void memory(enum headwise_isa isa) {
    for (int which = 0; which < N_SMALL_NETWORKS; which++) {
        const char *folder = small_network_make((enum small_network)which);
        struct counting counting = COUNTING_UNLIMITED;
        struct headwise_allocator allocator = counting_allocator(&counting);
        assert_int_equal(run(isa, folder, &allocator), HEADWISE_OK);
        counting_expect_balanced(&counting);
        assert_true(counting.n_calls > 20);
        for (int64_t i = 0; i < counting.n_calls; i += 1 + i / 20) {
            struct counting failing = {.fail_at = i};
            allocator = counting_allocator(&failing);
            assert_int_equal(run(isa, folder, &allocator), HEADWISE_ERR_NO_MEMORY);
            counting_expect_balanced(&failing);
        }
        small_network_remove(folder);
    }
}

int main(void) {
    static const struct test_case cases[] = {TEST_CASE(settings), TEST_CASE(tensors),
                                             TEST_CASE(released_files), TEST_CASE(options),
                                             TEST_CASE(memory)};
    return test_run_once(cases, TEST_COUNT(cases));
}
