/* A checkpoint said in other ways gives the bits of the plain one: rope keys old and new in files
 * and overrides, sparse parts, values and tensors that nobody needs, stray files, prefixes. */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "call.h"
#include "guard.h"
#include "models_support.h"
#include "rng.h"
#include "runner.h"

/* What the first gives, and the second. NULL as part: the first. */
static const struct form {
    const char *folder, *overrides, *part;
    const char *plain, *plain_overrides;
} forms[] = {
    {"form_new", NULL, NULL, "form_old", NULL},
    {"form_new_plain", NULL, NULL, "form_old_plain", NULL},
    {"form_both", NULL, NULL, "form_old", NULL},
    {"form_null", NULL, NULL, "form_old_plain", NULL},
    {"form_new_plain", "{\"rope_scaling\": {\"type\": \"linear\", \"factor\": 4}}", NULL,
     "form_old", NULL},
    {"form_new_plain", "{\"rope_parameters\": {\"rope_type\": \"linear\", \"factor\": 4}}", NULL,
     "form_old", NULL},
    {"form_old_plain", "{\"rope_parameters\": {\"rope_type\": \"linear\", \"factor\": 4}}", NULL,
     "form_old", NULL},
    {"form_old", "{\"rope_parameters\": null}", NULL, "form_old_plain", NULL},
    {"form_new", "{\"rope_scaling\": null}", NULL, "form_old_plain", NULL},
    {"form_both", "{\"rope_scaling\": null}", NULL, "form_old_plain", NULL},
    {"form_new", "{\"rope_theta\": 500}", NULL, "form_old", "{\"rope_theta\": 500}"},
    {"form_old", "{\"rotary_emb_base\": 500}", NULL, "form_old", "{\"rope_theta\": 500}"},
    {"form_old", "{\"rope_parameters\": {\"rope_theta\": 500}}", NULL, "form_old",
     "{\"rope_theta\": 500}"},
    {"form_part_old", NULL, NULL, "form_part", NULL},
    {"form_part_new", NULL, NULL, "form_part", NULL},
    {"form_part_new", "{\"rotary_pct\": 0.25}", NULL, "form_part",
     "{\"partial_rotary_factor\": 0.25}"},
    {"form_part", "{\"rotary_pct\": 0.25}", NULL, "form_part", "{\"partial_rotary_factor\": 0.25}"},
    {"form_part_old", "{\"rope_theta\": 500}", NULL, "form_part", "{\"rope_theta\": 500}"},
    {"form_odd", NULL, NULL, "form_old_plain", NULL},
    {"form_twice", NULL, NULL, "form_old_plain", NULL},
    {"form_clip_sparse", NULL, "text", "form_clip", NULL},
    {"form_clip_sparse", NULL, "vision", "form_clip", NULL},
    {"form_clip_dict", NULL, "text", "form_clip", NULL},
    {"form_clip_dict", NULL, "vision", "form_clip", NULL},
    {"form_clip_null", NULL, "text", "form_clip", NULL},
    {"form_window_0", NULL, NULL, "form_window_none", NULL},
    {"form_window_minus", NULL, NULL, "form_window_none", NULL},
    {"form_class", NULL, NULL, "form_window_3", NULL},
    {"form_prefix_0", NULL, NULL, "form_old_plain", NULL},
    {"form_prefix_1", NULL, NULL, "form_old_plain", NULL},
    {"form_prefix_2", NULL, NULL, "form_old_plain", NULL},
    {"form_prefix_3", NULL, NULL, "form_old_plain", NULL},
    {"form_prefix_4", NULL, NULL, "form_old_plain", NULL},
    {"form_f8", NULL, NULL, "form_old_plain", NULL},
    {"form_rank", NULL, NULL, "form_old_plain", NULL},
    {"form_repeated", NULL, NULL, "form_old_plain", NULL},
    {"form_stray", NULL, NULL, "form_old_plain", NULL},
    {"form_index_absent", NULL, NULL, "form_old_plain", NULL},
    {"form_index_shard", NULL, NULL, "form_old_plain", NULL},
};

/* Pairs that must differ, so that the bits above mean something. */
static const struct form others[] = {
    {"form_old", NULL, NULL, "form_old_plain", NULL},
    {"form_old", NULL, NULL, "form_old", "{\"rope_theta\": 500}"},
    {"form_part", NULL, NULL, "form_old_plain", NULL},
    {"form_part", NULL, NULL, "form_part", "{\"rotary_pct\": 0.25}"},
    {"form_window_3", NULL, NULL, "form_window_none", NULL},
    {"form_clip", NULL, "text", "form_clip",
     "{\"text_config\": {\"num_attention_heads\": 4, \"hidden_size\": 16}}"},
};

enum { ROWS = 7, MOST = ROWS * 64 };

/* y of the part's layer 0 for a fixed x; returns how many numbers. */
static size_t run(float y[MOST], headwise_context *context, const char *path, const char *overrides,
                  const char *part) {
    struct headwise_checkpoint_options options = {.size = sizeof(options), .overrides = overrides};
    headwise_checkpoint *model = models_open(path, &options);
    headwise_checkpoint_layer *layer = models_layer(model, context, part, 0);
    size_t n = (size_t)headwise_mha_describe(headwise_checkpoint_layer_mha(layer))->d_model * ROWS;
    float *x = guard_floats(n);
    struct test_rng rng = test_rng_fixed(77);
    assert_true(n <= MOST);
    test_rng_fill(&rng, x, n, 3);
    memcpy(y, models_run(context, layer, x, 1, ROWS, NULL, 0, NULL), n * sizeof(float));
    headwise_checkpoint_layer_destroy(layer);
    headwise_checkpoint_close(model);
    return n;
}

static void compare(headwise_context *context, const struct form *form, bool same) {
    float y[MOST], plain[MOST];
    size_t n = run(y, context, models_checkpoint(form->folder), form->overrides, form->part);
    size_t n_plain =
        run(plain, context, models_checkpoint(form->plain), form->plain_overrides, form->part);
    assert_int_equal(n, n_plain);
    if ((memcmp(y, plain, n * sizeof *y) == 0) != same)
        fail_msg("%s %s: y %s that of %s %s", form->folder, form->overrides ? form->overrides : "",
                 same ? "is not" : "is", form->plain,
                 form->plain_overrides ? form->plain_overrides : "");
}

static void test_forms(enum headwise_isa isa) {
    headwise_context *context = call_context(isa, 1);
    for (size_t i = 0; i < TEST_COUNT(forms); i++)
        compare(context, &forms[i], true);
    for (size_t i = 0; i < TEST_COUNT(others); i++)
        compare(context, &others[i], false);
    headwise_context_destroy(context);
}

/* What is needed and cannot be used names file, key or tensor, and value. */
static void test_needed(enum headwise_isa isa) {
    static const struct {
        const char *folder, *overrides, *says;
        enum headwise_status status;
    } cases[] = {
        {"form_bad_needed", NULL, "config.json: rope_theta is Infinity, expected a number",
         HEADWISE_ERR_FORMAT},
        {"form_bad_integer", NULL,
         "config.json: num_attention_heads is 100000000000000000000, expected an integer",
         HEADWISE_ERR_FORMAT},
        {"form_window_on", NULL, "config.json: sliding_window is 0, expected an integer of 1",
         HEADWISE_ERR_FORMAT},
        {"form_class_unknown", NULL,
         "config.json: architectures is [\"Mistral9ForCausalLM\"], expected the class",
         HEADWISE_ERR_FORMAT},
        {"form_odd", "{\"rope_theta\": 1e999}", "overrides: rope_theta is 1e999, expected a number",
         HEADWISE_ERR_FORMAT},
        {"form_bad_f8", NULL,
         "model.safetensors: tensor \"model.layers.0.self_attn.k_proj.weight_scale\": unknown "
         "dtype "
         "\"F8_E4M3\"",
         HEADWISE_ERR_FORMAT},
        {"form_bad_repeated", NULL,
         "tensor \"model.layers.0.self_attn.q_proj.weight\": comes twice in the header",
         HEADWISE_ERR_FORMAT},
        {"form_bad_shard", NULL,
         "index.json: weight_map: tensor \"model.layers.0.self_attn.q_proj.bias\": expected in "
         "model-00009.safetensors, which cannot be opened",
         HEADWISE_ERR_IO},
    };
    headwise_context *context = call_context(isa, 1);
    for (size_t i = 0; i < TEST_COUNT(cases); i++) {
        struct headwise_checkpoint_options options = {.size = sizeof(options),
                                                      .overrides = cases[i].overrides};
        headwise_checkpoint *model = NULL;
        headwise_checkpoint_layer *layer = NULL;
        enum headwise_status status =
            headwise_checkpoint_open(&model, models_checkpoint(cases[i].folder), &options);
        if (status == HEADWISE_OK)
            status = headwise_checkpoint_layer_create(&layer, model, context, NULL, 0);
        if (status != cases[i].status || strstr(headwise_io_last_error(), cases[i].says) == NULL)
            fail_msg("%s: status %d, \"%s\" does not say \"%s\"", cases[i].folder, (int)status,
                     headwise_io_last_error(), cases[i].says);
        headwise_checkpoint_close(model);
    }
    headwise_context_destroy(context);
}

/* Files that are read may be cut while they are open. */
static void test_cut(enum headwise_isa isa) {
    headwise_context *context = call_context(isa, 1);
    struct headwise_checkpoint_options options = {.size = sizeof(options), .read_files = true};
    char folder[] = "/tmp/headwise-cut-XXXXXX", path[80];
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof(path), "%s/model.safetensors", folder);
    headwise_safetensors *source = models_file(models_checkpoint("form_old/model.safetensors"));
    struct headwise_file_tensor tensors[8];
    size_t n = headwise_safetensors_count(source);
    assert_true(n <= 8);
    for (size_t i = 0; i < n; i++)
        tensors[i] = *headwise_safetensors_at(source, i);
    assert_int_equal(headwise_safetensors_write(path, tensors, n, NULL, 0), HEADWISE_OK);
    headwise_safetensors_close(source);
    options.overrides = "{\"model_type\": \"llama\", \"num_attention_heads\": 2, \"head_dim\": 16}";
    headwise_checkpoint *model = models_open(path, &options);
    FILE *cut = fopen(path, "wb");
    assert_non_null(cut);
    fclose(cut);
    headwise_checkpoint_layer_destroy(models_layer(model, context, NULL, 0));
    headwise_checkpoint_close(model);
    assert_int_equal(remove(path), 0);
    assert_int_equal(remove(folder), 0);
    headwise_context_destroy(context);
}

/* y of a form whose head 0 was taken out, read back without its overrides. */
static size_t run_pruned(float y[MOST], headwise_context *context, const char *folder,
                         const char *overrides, const char *part) {
    static const char *const files[] = {"config.json", "model.safetensors"};
    static const int64_t heads[] = {0};
    struct headwise_checkpoint_options options = {.size = sizeof(options), .overrides = overrides};
    struct headwise_prune_options prune = {.size = sizeof(prune), .heads = heads, .n_heads = 1};
    char to[] = "/tmp/headwise-forms-XXXXXX", path[80];
    headwise_checkpoint *model = models_open(models_checkpoint(folder), &options);
    assert_non_null(mkdtemp(to));
    if (headwise_checkpoint_write_pruned(model, to, part, 0, &prune) != HEADWISE_OK)
        fail_msg("%s: %s", folder, headwise_io_last_error());
    headwise_checkpoint_close(model);
    size_t n = run(y, context, to, NULL, part);
    for (int i = 0; i < 2; i++) {
        snprintf(path, sizeof(path), "%s/%s", to, files[i]);
        assert_int_equal(remove(path), 0);
    }
    assert_int_equal(remove(to), 0);
    return n;
}

static void test_pruned_forms(enum headwise_isa isa) {
    headwise_context *context = call_context(isa, 1);
    for (size_t i = 0; i < TEST_COUNT(forms); i++) {
        const struct form *form = &forms[i];
        if (strstr(form->folder, "form_index") || strstr(form->folder, "form_f8") ||
            strstr(form->folder, "form_rank") || strstr(form->folder, "form_repeated"))
            continue; /* they have what cannot be copied */
        float y[MOST], plain[MOST];
        size_t n = run_pruned(y, context, form->folder, form->overrides, form->part);
        run_pruned(plain, context, form->plain, form->plain_overrides, form->part);
        if (memcmp(y, plain, n * sizeof *y) != 0)
            fail_msg("%s %s: pruned, y is not that of %s", form->folder,
                     form->overrides ? form->overrides : "", form->plain);
    }
    headwise_context_destroy(context);
}

/* A copy that would lose something is not made. */
static void test_not_copied(enum headwise_isa isa) {
    static const struct {
        const char *folder, *says;
    } cases[] = {{"form_f8", "tensor \"model.norm.weight\": unknown dtype"},
                 {"form_repeated", "tensor \"a\": comes twice"},
                 {"form_index_absent", "tensor \"lm_head.weight\": found in no file"},
                 {"form_index_shard", "tensor \"lm_head.weight\": expected in model-00002"}};
    static const int64_t heads[] = {0};
    struct headwise_prune_options prune = {.size = sizeof(prune), .heads = heads, .n_heads = 1};
    (void)isa;
    for (size_t i = 0; i < TEST_COUNT(cases); i++) {
        headwise_checkpoint *model = models_open(models_checkpoint(cases[i].folder), NULL);
        assert_int_not_equal(
            headwise_checkpoint_write_pruned(model, "/tmp/headwise-not-made", NULL, 0, &prune), 0);
        if (strstr(headwise_io_last_error(), cases[i].says) == NULL)
            fail_msg("%s: %s", cases[i].folder, headwise_io_last_error());
        headwise_checkpoint_close(model);
    }
}

int main(void) {
    static const struct test_case cases[] = {TEST_CASE(test_forms), TEST_CASE(test_needed),
                                             TEST_CASE(test_cut), TEST_CASE(test_pruned_forms),
                                             TEST_CASE(test_not_copied)};
    return test_run_once(cases, TEST_COUNT(cases));
}
