/* headwise layer: W_Q, W_K, W_V and W_O around the operator, and what each head does. */
#include <stdio.h>
#include <string.h>

#include "calls/contributions.h"
#include "calls/layer_options.h"
#include "calls/timing.h"
#include "calls/tokens.h"
#include "commands/commands.h"
#include "common/arrays.h"
#include "common/files.h"
#include "common/links.h"
#include "common/lists.h"
#include "common/message.h"
#include "common/outputs.h"
#include "common/text.h"

struct settings {
    struct layer_settings layer; /* first: LAYER_OPTIONS */
    const char *output, *gate, *probe, *tokens, *memory_tokens;
    struct option_integer repeat, stage;
    bool check, time;
};

#define OPTION(name, letter, kind, argument, help)                                                 \
    { #name, letter, kind, offsetof(struct settings, name), argument, help }

static const struct option options[] = {
    LAYER_OPTIONS,
    OPTION(output, 'o', OPTION_TEXT, "OUT.safetensors", "write y and what --probe names here"),
    OPTION(gate, 0, OPTION_TEXT, "1,0,...", "a factor for each head's output; 0 switches it off"),
    OPTION(probe, 0, OPTION_TEXT, "LIST", "weights, mean_weights, scores, lse, head_out, contrib"),
    OPTION(stage, 0, OPTION_INTEGER, "0...3", "of scores: scaled, after softcap, masked, softmax"),
    OPTION(tokens, 0, OPTION_TEXT, "\"a b c\"|FILE",
           "print each one's strongest other; metadata tokens"),
    OPTION(memory_tokens, 0, OPTION_TEXT, "\"a b\"|FILE",
           "names of the memory's rows in that table"),
    OPTION(check, 0, OPTION_FLAG, NULL, "check that the heads' contributions sum to y"),
    OPTION(time, 0, OPTION_FLAG, NULL, "time a forward on every usable tier (on --isa alone)"),
    OPTION(repeat, 0, OPTION_INTEGER, "N", "runs for --time; 100"),
};

static const char details[] = LAYER_DETAILS
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
    "of these products may differ by. --tokens \"\" prints no table.\n" TOKENS_DETAILS;

enum { WEIGHTS, MEAN_WEIGHTS, SCORES, LSE, HEAD_OUT, CONTRIB, N_PROBES };

/* The command while it runs. */
struct run {
    const struct settings *settings;
    struct arena arena;
    struct layer_opened opened;
    headwise_mha *mha;
    struct headwise_probe probe;
    struct outputs outputs;
    const char *tokens; /* NULL: no table */
};

static int check_files(const struct settings *s) {
    const struct file_option written = {"--output", s->output};
    struct file_option read[LAYER_FILES + 2];
    layer_files(read, &s->layer);
    read[LAYER_FILES] = (struct file_option){"--tokens", s->tokens};
    read[LAYER_FILES + 1] = (struct file_option){"--memory-tokens", s->memory_tokens};
    return files_check(&written, 1, read, LAYER_FILES + 2);
}

static int check_settings(const struct settings *s) {
    if (s->memory_tokens && !s->layer.memory)
        return fail("option --memory-tokens is given without --memory");
    if (s->repeat.is_set && !s->time)
        return fail("option --repeat is given without --time");
    int code = option_check_range("stage", s->stage, 0, 3);
    if (!code)
        code = option_check_range("repeat", s->repeat, 1, 1000000);
    return code ? code : check_files(s);
}

static int read_gates(struct run *run) {
    int64_t n_heads = run->opened.layer.config.n_heads;
    if (!run->settings->gate)
        return EXIT_GOOD;
    float *gates = arena_take(&run->arena, n_heads, sizeof *gates);
    if (!gates)
        return EXIT_UNUSABLE;
    run->opened.call.head_gates = gates;
    return list_read_numbers(gates, n_heads, run->settings->gate, "option --gate");
}

/* The tokens to print links for: the option's, else those of a file; empty ones are none. */
static void find_tokens(struct run *run) {
    const char *tokens = run->settings->tokens;
    if (!tokens)
        tokens = headwise_safetensors_metadata(run->opened.input, "tokens");
    if (!tokens && run->opened.weights)
        tokens = headwise_safetensors_metadata(run->opened.weights, "tokens");
    run->tokens = tokens && *tokens ? tokens : NULL;
}

/* An array that is written where it was asked for by --probe, kept in memory where it is needed. */
static int add_probe(struct run *run, float **data, const char *name, bool is_written,
                     bool is_needed, int rank, const int64_t *sizes) {
    struct outputs unwritten = {.arena = &run->arena};
    if (!is_written && !is_needed)
        return EXIT_GOOD;
    int without_batch = run->opened.layer.rank == 2;
    *data = outputs_add(is_written ? &run->outputs : &unwritten, name, HEADWISE_FILE_F32,
                        rank - without_batch, sizes + without_batch);
    return *data ? EXIT_GOOD : EXIT_UNUSABLE;
}

static int add_probes(struct run *run) {
    static const char *const names[N_PROBES] = {"weights", "mean_weights", "scores",
                                                "lse",     "head_out",     "contrib"};
    const struct settings *s = run->settings;
    const struct layer_input *layer = &run->opened.layer;
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
    struct layer_input *layer = &run->opened.layer;
    const int64_t sizes[3] = {layer->batch, layer->n_queries, layer->config.d_out};
    int without_batch = layer->rank == 2;
    void *data = outputs_add(&run->outputs, "y", file_dtype(layer->x.dtype), 3 - without_batch,
                             sizes + without_batch);
    int code = data ? add_probes(run) : EXIT_UNUSABLE;
    if (code)
        return code;
    struct headwise_tensor y =
        headwise_tensor_brhc(data, layer->x.dtype, sizes[0], sizes[1], 1, sizes[2]);
    struct headwise_attention_call call = run->opened.call;
    call.y = &y;
    call.probe = &run->probe;
    if (headwise_mha_create(&run->mha, run->opened.context, &layer->config) != HEADWISE_OK ||
        headwise_mha_forward(run->opened.context, run->mha, &call) != HEADWISE_OK)
        return fail("%s: %s",
                    run->settings->layer.weights ? run->settings->layer.weights
                                                 : run->settings->layer.model,
                    headwise_last_error());
    bool keeps_f32 = layer->config.packed_dtype == HEADWISE_F32;
    return keeps_f32 ? EXIT_GOOD : layer_input_keep(layer, &run->arena, run->mha);
}

static int print_links(struct run *run) {
    const struct layer_input *layer = &run->opened.layer;
    const struct settings *s = run->settings;
    const char **queries = NULL, **keys = NULL;
    const char *memory_tokens = s->memory_tokens;
    if (!memory_tokens && s->layer.memory)
        memory_tokens = headwise_safetensors_metadata(run->opened.input, "memory_tokens");
    int code = tokens_read(&queries, &run->arena, run->tokens, layer->n_queries,
                           s->tokens ? "option --tokens" : "metadata tokens");
    if (!code && memory_tokens)
        code = tokens_read(&keys, &run->arena, memory_tokens, layer->n_keys,
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
        code = layer_open(&run->opened, &run->arena, &run->settings->layer, "layer");
    if (!code)
        code = read_gates(run);
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
        layer_print(&run.opened);
    if (!code && run.tokens)
        code = print_links(&run);
    if (!code && s->check)
        checked = contributions_check(&run.opened.layer, outputs_find(&run.outputs, "y"),
                                      run.probe.head_outputs, run.probe.contributions, &run.arena);
    if (!code && checked == EXIT_UNUSABLE)
        code = checked;
    if (!code && s->time)
        code =
            timing_print(&run.opened.layer, &run.opened.call,
                         headwise_context_describe(run.opened.context)->isa, s->layer.isa != NULL,
                         s->layer.threads, s->repeat.is_set ? s->repeat.value : 100, &run.arena);
    if (!code && s->output)
        code = outputs_write(&run.outputs, s->output, "headwise layer", run.opened.context);
    headwise_mha_destroy(run.mha);
    layer_close(&run.opened);
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
