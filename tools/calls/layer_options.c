/* From the options about a layer to its weights, its input and its context. */
#include "calls/layer_options.h"

#include <stdio.h>
#include <string.h>

#include "common/message.h"

static int read_causal(enum headwise_causal *causal, const char *text) {
    static const char *const names[] = {"none", "top-left", "bottom-right"};
    for (int i = 0; i < 3; i++) {
        if (strcmp(text, names[i]) == 0) {
            *causal = (enum headwise_causal)i;
            return EXIT_GOOD;
        }
    }
    return fail("option --causal is \"%s\", expected none, top-left or bottom-right", text);
}

/* The type that the layer keeps its matrices in, and whether x is rounded too. */
static int read_packed(struct headwise_mha_config *config, const char *text) {
    static const enum headwise_dtype types[] = {HEADWISE_F32, HEADWISE_F16, HEADWISE_BF16,
                                                HEADWISE_I8};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        if (strcmp(text, headwise_dtype_name(types[i])) == 0) {
            config->packed_dtype = types[i];
            return EXIT_GOOD;
        }
    }
    config->dynamic_group = strcmp(text, "dynamic128") == 0 ? 128 : 0;
    config->dynamic_int8 = config->dynamic_group > 0 || strcmp(text, "dynamic") == 0;
    config->packed_dtype = config->dynamic_int8 ? HEADWISE_I8 : config->weight_dtype;
    if (!config->dynamic_int8 && strcmp(text, "stored") != 0)
        return fail("option --packed is \"%s\", expected f32, f16, bf16, i8, dynamic, dynamic128 "
                    "or stored",
                    text);
    return EXIT_GOOD;
}

int option_check_range(const char *name, struct option_integer option, int64_t low, int64_t high) {
    if (!option.is_set || (option.value >= low && option.value <= high))
        return EXIT_GOOD;
    return fail("option --%s is %lld, expected %lld to %lld", name, (long long)option.value,
                (long long)low, (long long)high);
}

static int check_source(const struct layer_settings *s, const char *command) {
    bool has_layer = s->weights || s->model;
    if (!has_layer || !s->input)
        return fail("%s: option --%s is missing; see headwise help %s", command,
                    has_layer ? "input" : "weights or --model", command);
    if (s->model && (s->weights || s->layout || s->prefix))
        return fail("%s: option --model is given with --%s, expected one of them", command,
                    s->weights  ? "weights"
                    : s->layout ? "layout"
                                : "prefix");
    if (!s->model && (s->layer.is_set || s->part || s->family || s->overrides))
        return fail("%s: option --%s is given without --model", command,
                    s->layer.is_set ? "layer"
                    : s->part       ? "part"
                    : s->family     ? "family"
                                    : "overrides");
    return EXIT_GOOD;
}

static int check_settings(const struct layer_settings *s, const char *command) {
    int code = check_source(s, command);
    if (!code && s->layout && strcmp(s->layout, "in_out") != 0 && strcmp(s->layout, "out_in") != 0)
        code = fail("option --layout is \"%s\", expected in_out or out_in", s->layout);
    if (!code)
        code = option_check_range("heads", s->heads, 1, INT32_MAX);
    if (!code)
        code = option_check_range("kv-heads", s->kv_heads, 1, INT32_MAX);
    if (!code)
        code = option_check_range("head-dim", s->head_dim, 1, INT32_MAX);
    if (!code)
        code = option_check_range("layer", s->layer, 0, INT32_MAX);
    return code;
}

struct checkpoint_request layer_checkpoint_request(const struct layer_settings *s) {
    return (struct checkpoint_request){
        .path = s->model,
        .part = s->part,
        .index = s->layer.value,
        .family = s->family,
        .overrides = s->overrides,
        .sizes = {.n_heads = s->heads.value,
                  .n_kv_heads = s->kv_heads.value,
                  .head_dim = s->head_dim.value},
    };
}

void layer_files(struct file_option *files, const struct layer_settings *settings) {
    files[0] = (struct file_option){"--weights", settings->weights};
    files[1] = (struct file_option){"--input", settings->input};
    files[2] = (struct file_option){"--model", settings->model};
}

static int open_checkpoint(struct layer_opened *opened, struct arena *arena,
                           const struct layer_settings *s) {
    const struct checkpoint_request request = layer_checkpoint_request(s);
    if (headwise_safetensors_open(&opened->input, s->input) != HEADWISE_OK)
        return fail("%s", headwise_io_last_error());
    return layer_checkpoint_read(&opened->layer, &opened->checkpoint_layer, arena, opened->context,
                                 opened->input, s->x, s->memory, &request);
}

static int open_weights(struct layer_opened *opened, struct arena *arena,
                        const struct layer_settings *s) {
    if (headwise_safetensors_open(&opened->weights, s->weights) != HEADWISE_OK ||
        headwise_safetensors_open(&opened->input, s->input) != HEADWISE_OK)
        return fail("%s", headwise_io_last_error());
    const struct layer_request request = {
        .n_heads = s->heads.value,
        .n_kv_heads = s->kv_heads.value,
        .head_dim = s->head_dim.value,
        .layout = s->layout && strcmp(s->layout, "out_in") == 0 ? HEADWISE_OUT_IN : HEADWISE_IN_OUT,
        .prefix = s->prefix,
        .x = s->x,
        .memory = s->memory,
    };
    return layer_input_read(&opened->layer, arena, opened->weights, opened->input, &request);
}

static int read_options(struct layer_opened *opened, const struct layer_settings *s) {
    struct headwise_attention_options *attention = &opened->attention;
    *attention = (struct headwise_attention_options){.size = sizeof *attention};
    if (opened->checkpoint_layer)
        *attention = *headwise_checkpoint_layer_options(opened->checkpoint_layer);
    if (s->scale.is_set) {
        attention->scale_is_set = true;
        attention->scale = (float)s->scale.value;
    }
    if (s->softcap.is_set)
        attention->softcap = (float)s->softcap.value;
    return s->causal ? read_causal(&attention->causal, s->causal) : EXIT_GOOD;
}

static void fill_call(struct layer_opened *opened) {
    opened->call = (struct headwise_attention_call){
        .size = sizeof opened->call,
        .x = &opened->layer.x,
        .memory = opened->layer.has_memory ? &opened->layer.memory : NULL,
        .options = &opened->attention,
    };
}

int layer_open(struct layer_opened *opened, struct arena *arena,
               const struct layer_settings *settings, const char *command) {
    int code = check_settings(settings, command);
    if (!code)
        code = context_open(&opened->context, settings->isa, settings->threads);
    if (!code && settings->model)
        code = open_checkpoint(opened, arena, settings);
    else if (!code)
        code = open_weights(opened, arena, settings);
    if (!code && settings->packed)
        code = read_packed(&opened->layer.config, settings->packed);
    fill_call(opened);
    return code ? code : read_options(opened, settings);
}

void layer_close(struct layer_opened *opened) {
    headwise_checkpoint_layer_destroy(opened->checkpoint_layer);
    headwise_context_destroy(opened->context);
    headwise_safetensors_close(opened->input);
    headwise_safetensors_close(opened->weights);
    *opened = (struct layer_opened){0};
}

void layer_print(const struct layer_opened *opened) {
    const struct layer_input *layer = &opened->layer;
    const struct headwise_mha_config *config = &layer->config;
    int n_threads = headwise_context_describe(opened->context)->n_threads;
    printf("layer of %lld head%s", (long long)config->n_heads, config->n_heads == 1 ? "" : "s");
    if (config->n_kv_heads != config->n_heads)
        printf(" on %lld kv head%s", (long long)config->n_kv_heads,
               config->n_kv_heads == 1 ? "" : "s");
    printf(" of %lld, width %lld, %lld tokens", (long long)config->head_dim,
           (long long)config->d_model, (long long)layer->n_queries);
    if (layer->has_memory)
        printf(" on %lld of memory", (long long)layer->n_keys);
    if (layer->batch != 1)
        printf(", batch of %lld", (long long)layer->batch);
    printf("; tier %s, %d thread%s\n",
           headwise_isa_name(headwise_context_describe(opened->context)->isa), n_threads,
           n_threads == 1 ? "" : "s");
}
