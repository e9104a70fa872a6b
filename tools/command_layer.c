/* headwise layer: W_Q, W_K, W_V and W_O around the operator, and what each head does. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "commands.h"
#include "context.h"
#include "contributions.h"
#include "layer_model.h"
#include "links.h"
#include "lists.h"
#include "message.h"
#include "outputs.h"
#include "text.h"
#include "timing.h"

struct settings {
    const char *weights, *input, *output, *isa, *causal, *gate, *probe, *layout, *tokens;
    const char *memory, *memory_tokens, *prefix, *model, *part, *family, *overrides;
    struct option_integer layer, threads, heads, kv_heads, head_dim, repeat, stage;
    struct option_real scale, softcap;
    bool check, time;
};

#define OPTION(name, letter, kind, argument, help)                                                 \
    { #name, letter, kind, offsetof(struct settings, name), argument, help }

static const struct option options[] = {
    OPTION(weights, 0, OPTION_TEXT, "W.safetensors", "W_Q W_K W_V W_O [b_Q b_K b_V b_O]"),
    OPTION(model, 0, OPTION_TEXT, "DIR", "take a layer of this model instead: a folder or a file"),
    OPTION(layer, 0, OPTION_INTEGER, "N", "number of the layer, from 0"),
    OPTION(part, 0, OPTION_TEXT, "NAME", "encoder, decoder, cross, text, vision; the first"),
    OPTION(family, 0, OPTION_TEXT, "NAME", "llama, bert, ...; config.json's model_type"),
    OPTION(overrides, 0, OPTION_TEXT, "JSON", "keys in front of config.json's: {\"n_head\": 12}"),
    OPTION(input, 0, OPTION_TEXT, "X.safetensors", "X [tokens,width] or [batch,tokens,width]"),
    OPTION(output, 'o', OPTION_TEXT, "OUT.safetensors", "write y and what --probe names here"),
    OPTION(heads, 0, OPTION_INTEGER, "H", "query heads; metadata num_heads"),
    OPTION(kv_heads, 0, OPTION_INTEGER, "G", "key and value heads; metadata num_kv_heads, else H"),
    OPTION(head_dim, 0, OPTION_INTEGER, "D", "size of a query head; width of W_Q / H"),
    OPTION(layout, 0, OPTION_TEXT, "in_out|out_in", "of the weights: y = x W (default) or W x"),
    OPTION(prefix, 0, OPTION_TEXT, "TEXT", "in front of the weights' names (\"h2.\": h2.W_Q)"),
    OPTION(causal, 0, OPTION_TEXT, "MODE", "none (default), top-left or bottom-right"),
    OPTION(scale, 0, OPTION_REAL, "X", "factor of the scores; 1 / sqrt(D)"),
    OPTION(softcap, 0, OPTION_REAL, "X", "scores become X * tanh(score / X)"),
    OPTION(gate, 0, OPTION_TEXT, "1,0,...", "a factor for each head's output; 0 switches it off"),
    OPTION(memory, 0, OPTION_TEXT, "NAME", "tensor of X's file that keys and values come from"),
    OPTION(probe, 0, OPTION_TEXT, "LIST", "weights, mean_weights, scores, lse, head_out, contrib"),
    OPTION(stage, 0, OPTION_INTEGER, "0...3", "of scores: scaled, after softcap, masked, softmax"),
    OPTION(tokens, 0, OPTION_TEXT, "\"a b c\"",
           "print each one's strongest other; metadata tokens"),
    OPTION(memory_tokens, 0, OPTION_TEXT, "\"a b\"", "names of the memory's rows in that table"),
    OPTION(check, 0, OPTION_FLAG, NULL, "check that the heads' contributions sum to y"),
    OPTION(time, 0, OPTION_FLAG, NULL, "time a forward on every usable tier (on --isa alone)"),
    OPTION(repeat, 0, OPTION_INTEGER, "N", "runs for --time; 100"),
    CONTEXT_OPTIONS(struct settings),
};

static const char details[] =
    "--weights and --input may name one file. Matrices are F32, F16, BF16 or F64 (rounded to "
    "f32).\n"
    "Head h owns columns h*D ... of W_Q (in_out) and rows h*Dv ... of W_O, and reads kv head\n"
    "h / (H / G).\n"
    "--model takes matrices, biases, norms, positions and options from a model of the Hugging Face "
    "hub:\n"
    "a folder with config.json and safetensors files, or one file. Cross attention reads the "
    "input's\n"
    "tensor \"memory\". --causal, --scale and --softcap then replace the model's.\n"
    "\n"
    "OUT gets y in X's type and shape, and for --probe, in F32:\n"
    "  weights       [batch,heads,tokens,keys]      softmax of the scores, before gates\n"
    "  mean_weights  [batch,tokens,keys]            their mean over the heads\n"
    "  scores        [batch,heads,tokens,keys]      at --stage, 0 where not given\n"
    "  lse           [batch,heads,tokens]           natural log of the sum of exp(score)\n"
    "  head_out      [batch,heads,tokens,size]      each head's output after its gate, before W_O\n"
    "  contrib       [batch,heads,tokens,width]     each head's part of y; they sum to y - b_O\n"
    "without the batch where X has none. It is written whole or not at all.\n"
    "\n"
    "--check compares y - b_O with the sum of the contributions and exits with 1 beyond what f32 "
    "sums\n"
    "of these products may differ by. --tokens \"\" prints no table.\n";

enum { WEIGHTS, MEAN_WEIGHTS, SCORES, LSE, HEAD_OUT, CONTRIB, N_PROBES };

/* The command while it runs. */
struct run {
    const struct settings *settings;
    struct arena arena;
    headwise_safetensors *weights, *input;
    headwise_context *context;
    headwise_mha *mha;
    headwise_model_layer *model_layer; /* owns the layer's matrices where --model is given */
    struct layer_input layer;
    struct headwise_attention_options attention;
    struct headwise_probe probe;
    struct outputs outputs;
    const char *tokens; /* NULL: no table */
};

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

static int check_integer(const char *name, struct option_integer option, int64_t low,
                         int64_t high) {
    if (!option.is_set || (option.value >= low && option.value <= high))
        return EXIT_GOOD;
    return fail("option --%s is %lld, expected %lld to %lld", name, (long long)option.value,
                (long long)low, (long long)high);
}

static int check_settings(const struct settings *s) {
    int code = EXIT_GOOD;
    bool has_layer = s->weights || s->model;
    if (!has_layer || !s->input)
        return fail("layer: option --%s is missing; see headwise help layer",
                    has_layer ? "input" : "weights or --model");
    if (s->model && (s->weights || s->layout || s->prefix))
        return fail("layer: option --model is given with --%s, expected one of them",
                    s->weights  ? "weights"
                    : s->layout ? "layout"
                                : "prefix");
    if (!s->model && (s->layer.is_set || s->part || s->family || s->overrides))
        return fail("layer: option --%s is given without --model", s->layer.is_set ? "layer"
                                                                   : s->part       ? "part"
                                                                   : s->family     ? "family"
                                                                                   : "overrides");
    if (s->layout && strcmp(s->layout, "in_out") != 0 && strcmp(s->layout, "out_in") != 0)
        return fail("option --layout is \"%s\", expected in_out or out_in", s->layout);
    if (s->memory_tokens && !s->memory)
        return fail("option --memory-tokens is given without --memory");
    if (s->repeat.is_set && !s->time)
        return fail("option --repeat is given without --time");
    if (!code)
        code = check_integer("heads", s->heads, 1, INT32_MAX);
    if (!code)
        code = check_integer("kv-heads", s->kv_heads, 1, INT32_MAX);
    if (!code)
        code = check_integer("head-dim", s->head_dim, 1, INT32_MAX);
    if (!code)
        code = check_integer("layer", s->layer, 0, INT32_MAX);
    if (!code)
        code = check_integer("stage", s->stage, 0, 3);
    if (!code)
        code = check_integer("repeat", s->repeat, 1, 1000000);
    return code;
}

static int open_model(struct run *run) {
    const struct settings *s = run->settings;
    const struct model_request request = {
        .path = s->model,
        .part = s->part,
        .index = s->layer.value,
        .family = s->family,
        .overrides = s->overrides,
        .sizes = {.n_heads = s->heads.value,
                  .n_kv_heads = s->kv_heads.value,
                  .head_dim = s->head_dim.value},
    };
    if (headwise_safetensors_open(&run->input, s->input) != HEADWISE_OK)
        return fail("%s", headwise_io_last_error());
    return layer_model_read(&run->layer, &run->model_layer, &run->arena, run->context, run->input,
                            s->memory, &request);
}

static int open_files(struct run *run) {
    const struct settings *s = run->settings;
    if (s->model)
        return open_model(run);
    if (headwise_safetensors_open(&run->weights, s->weights) != HEADWISE_OK ||
        headwise_safetensors_open(&run->input, s->input) != HEADWISE_OK)
        return fail("%s", headwise_io_last_error());
    const struct layer_request request = {
        .n_heads = s->heads.value,
        .n_kv_heads = s->kv_heads.value,
        .head_dim = s->head_dim.value,
        .layout = s->layout && strcmp(s->layout, "out_in") == 0 ? HEADWISE_OUT_IN : HEADWISE_IN_OUT,
        .prefix = s->prefix,
        .memory = s->memory,
    };
    return layer_input_read(&run->layer, &run->arena, run->weights, run->input, &request);
}

/* The model's own options, and those that are given in their place. */
static int read_options(struct run *run) {
    const struct settings *s = run->settings;
    struct headwise_attention_options *attention = &run->attention;
    int64_t n_heads = run->layer.config.n_heads;
    int code = EXIT_GOOD;
    *attention = (struct headwise_attention_options){.size = sizeof *attention};
    if (run->model_layer)
        *attention = *headwise_model_layer_options(run->model_layer);
    if (s->scale.is_set) {
        attention->scale_is_set = true;
        attention->scale = (float)s->scale.value;
    }
    if (s->softcap.is_set)
        attention->softcap = (float)s->softcap.value;
    if (s->causal)
        code = read_causal(&attention->causal, s->causal);
    if (code || !s->gate)
        return code;
    float *gates = arena_take(&run->arena, n_heads, sizeof *gates);
    if (!gates)
        return EXIT_UNUSABLE;
    attention->head_gates = gates;
    return list_read_numbers(gates, n_heads, s->gate, "option --gate");
}

/* The tokens to print links for: the option's, else those of a file; empty ones are none. */
static void find_tokens(struct run *run) {
    const char *tokens = run->settings->tokens;
    if (!tokens)
        tokens = headwise_safetensors_metadata(run->input, "tokens");
    if (!tokens && run->weights)
        tokens = headwise_safetensors_metadata(run->weights, "tokens");
    run->tokens = tokens && *tokens ? tokens : NULL;
}

/* An array that is written where it was asked for by --probe, kept in memory where it is needed. */
static int add_probe(struct run *run, float **data, const char *name, bool is_written,
                     bool is_needed, int rank, const int64_t *sizes) {
    struct outputs unwritten = {.arena = &run->arena};
    if (!is_written && !is_needed)
        return EXIT_GOOD;
    int without_batch = run->layer.rank == 2;
    *data = outputs_add(is_written ? &run->outputs : &unwritten, name, HEADWISE_FILE_F32,
                        rank - without_batch, sizes + without_batch);
    return *data ? EXIT_GOOD : EXIT_UNUSABLE;
}

static int add_probes(struct run *run) {
    static const char *const names[N_PROBES] = {"weights", "mean_weights", "scores",
                                                "lse",     "head_out",     "contrib"};
    const struct settings *s = run->settings;
    const struct layer_input *layer = &run->layer;
    const struct headwise_mha_config *config = &layer->config;
    struct headwise_probe *probe = &run->probe;
    const int64_t b = layer->batch, h = config->n_heads, q = layer->n_queries, k = layer->n_keys;
    const struct {
        float **data;
        bool is_needed;
        int rank;
        int64_t sizes[4];
    } probes[N_PROBES] = {
        {&probe->weights, run->tokens != NULL, 4, {b, h, q, k}},
        {&probe->mean_weights, false, 3, {b, q, k}},
        {&probe->scores, false, 4, {b, h, q, k}},
        {&probe->lse, false, 3, {b, h, q}},
        {&probe->head_outputs, s->check, 4, {b, h, q, config->value_dim}},
        {&probe->contributions, s->check, 4, {b, h, q, config->d_out}},
    };
    bool wanted[N_PROBES];
    int code = list_read_names(wanted, names, N_PROBES, s->probe, "option --probe");
    *probe = (struct headwise_probe){.size = sizeof *probe,
                                     .score_stage = (enum headwise_score_stage)s->stage.value};
    for (int i = 0; !code && i < N_PROBES; i++)
        code = add_probe(run, probes[i].data, names[i], wanted[i], probes[i].is_needed,
                         probes[i].rank, probes[i].sizes);
    return code;
}

static int compute(struct run *run) {
    const struct layer_input *layer = &run->layer;
    const int64_t sizes[3] = {layer->batch, layer->n_queries, layer->config.d_out};
    int without_batch = layer->rank == 2;
    void *data = outputs_add(&run->outputs, "y", file_dtype(layer->x.dtype), 3 - without_batch,
                             sizes + without_batch);
    int code = data ? add_probes(run) : EXIT_UNUSABLE;
    if (code)
        return code;
    struct headwise_tensor y =
        headwise_tensor_brhc(data, layer->x.dtype, sizes[0], sizes[1], 1, sizes[2]);
    run->attention.probe = &run->probe;
    if (headwise_mha_create(&run->mha, run->context, &layer->config) != HEADWISE_OK ||
        headwise_mha_forward(run->context, run->mha, &y, &layer->x,
                             layer->has_memory ? &layer->memory : NULL,
                             &run->attention) != HEADWISE_OK)
        return fail("%s: %s",
                    run->settings->weights ? run->settings->weights : run->settings->model,
                    headwise_last_error());
    return EXIT_GOOD;
}

static void print_layer(const struct run *run) {
    const struct layer_input *layer = &run->layer;
    const struct headwise_mha_config *config = &layer->config;
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
    printf("; tier %s, %d thread%s\n", headwise_isa_name(headwise_context_isa(run->context)),
           headwise_context_threads(run->context),
           headwise_context_threads(run->context) == 1 ? "" : "s");
}

static int print_links(struct run *run) {
    const struct layer_input *layer = &run->layer;
    const struct settings *s = run->settings;
    const char **queries = NULL, **keys = NULL;
    const char *memory_tokens = s->memory_tokens;
    if (!memory_tokens && s->memory)
        memory_tokens = headwise_safetensors_metadata(run->input, "memory_tokens");
    int code = tokens_split(&queries, &run->arena, run->tokens, layer->n_queries,
                            s->tokens ? "option --tokens" : "metadata tokens");
    if (!code && memory_tokens)
        code = tokens_split(&keys, &run->arena, memory_tokens, layer->n_keys,
                            s->memory_tokens ? "option --memory-tokens" : "metadata memory_tokens");
    const struct links links = {run->probe.weights,
                                layer->batch,
                                layer->config.n_heads,
                                layer->n_queries,
                                layer->n_keys,
                                queries,
                                layer->has_memory ? keys : queries,
                                !layer->has_memory};
    text_init();
    return code ? code : links_print(&links, &run->arena);
}

static int prepare(struct run *run) {
    int code = check_settings(run->settings);
    if (!code)
        code = context_open(&run->context, run->settings->isa, run->settings->threads);
    if (!code)
        code = open_files(run);
    if (!code)
        code = read_options(run);
    if (code)
        return code;
    find_tokens(run);
    return compute(run);
}

static int run_layer(const void *arguments) {
    const struct settings *s = arguments;
    struct run run = {.settings = s};
    run.outputs.arena = &run.arena;
    int code = prepare(&run), checked = EXIT_GOOD;
    if (!code)
        print_layer(&run);
    if (!code && run.tokens)
        code = print_links(&run);
    if (!code && s->check)
        checked = contributions_check(&run.layer, outputs_find(&run.outputs, "y"),
                                      run.probe.head_outputs, run.probe.contributions, &run.arena);
    if (!code && checked == EXIT_UNUSABLE)
        code = checked;
    if (!code && s->time)
        code = timing_print(&run.layer, &run.attention, headwise_context_isa(run.context),
                            s->isa != NULL, s->threads, s->repeat.is_set ? s->repeat.value : 100,
                            &run.arena);
    if (!code && s->output)
        code = outputs_write(&run.outputs, s->output, "headwise layer", run.context);
    headwise_mha_destroy(run.mha);
    headwise_model_layer_destroy(run.model_layer);
    headwise_context_destroy(run.context);
    headwise_safetensors_close(run.input);
    headwise_safetensors_close(run.weights);
    arena_free(&run.arena);
    return code ? code : checked;
}

const struct command command_layer = {
    .name = "layer",
    .summary = "run a multi-head attention layer and show what its heads do",
    .usage = "--weights W.safetensors --input X.safetensors --heads H [-o OUT] [OPTIONS]\n"
             "       headwise layer --model DIR --layer N --input X.safetensors [-o OUT] [OPTIONS]",
    .details = details,
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .settings_size = sizeof(struct settings),
    .run = run_layer,
};
