/* headwise forward: a whole network on token ids or pixels, and what each of its layers gives. */
#include <stdio.h>
#include <string.h>

#include "commands/commands.h"
#include "commands/forward.h"
#include "common/context.h"
#include "common/files.h"
#include "common/message.h"
#include "measure/shares.h"

struct settings {
    const char *folder, *ids, *tag, *output, *packed, *part, *overrides, *gates, *isa;
    struct option_integer threads, budget;
    bool hidden, maps, time;
};

#define OPTION(name, letter, kind, argument, help)                                                 \
    { #name, letter, kind, offsetof(struct settings, name), argument, help }

static const struct option options[] = {
    OPTION(ids, 'i', OPTION_TEXT, "IN.safetensors", "input_ids, or pixel_values"),
    OPTION(tag, 0, OPTION_TEXT, "TEXT", "in front of the names in IN: TEXT.input_ids"),
    OPTION(output, 'o', OPTION_TEXT, "OUT.safetensors", "write what the network gives here"),
    OPTION(hidden, 0, OPTION_FLAG, NULL, "also the states before each layer: hidden.N"),
    OPTION(maps, 0, OPTION_FLAG, NULL, "also the maps of all heads: attention.N"),
    OPTION(gates, 0, OPTION_TEXT, "G.safetensors", "gates [layers,heads]: factors of heads"),
    OPTION(packed, 0, OPTION_TEXT, "TYPE",
           "stored (default), f32, f16, bf16, i8, dynamic, dynamic128"),
    OPTION(part, 0, OPTION_TEXT, "NAME", "text or vision; the first"),
    OPTION(overrides, 0, OPTION_TEXT, "JSON", "keys in front of config.json's"),
    OPTION(budget, 0, OPTION_INTEGER, "N", "tokens that are worked on together; 256 a thread"),
    OPTION(time, 0, OPTION_FLAG, NULL, "time a forward, and tell where its time goes"),
    CONTEXT_OPTIONS(struct settings),
};

static const char details[] =
    "DIR is a folder of the Hugging Face hub with config.json and safetensors files, or one file.\n"
    "IN holds integers [sequences,tokens]: input_ids, and where wanted attention_mask (0 hides a "
    "token)\n"
    "and token_type_ids; or pixel_values [images,channels,height,width].\n"
    "\n"
    "OUT gets, in F32, with zeros where attention_mask hides:\n"
    "  last_hidden_state  [sequences,tokens,width]          behind the last norm\n"
    "  pooler_output      [sequences,width]                 where the file has a pooler\n"
    "  logits             [sequences(,tokens),labels]       where the file has them\n"
    "  hidden.N           [sequences,tokens,width]          before layer N; behind the last one\n"
    "  attention.N        [sequences,heads,tokens,tokens]   weights of layer N\n"
    "CLIP's pooler_output is called text_embeds or image_embeds.\n";

struct run {
    const struct settings *settings;
    struct arena arena;
    struct outputs outputs;
    headwise_context *context;
    headwise_transformer *network;
    const struct headwise_transformer_info *info;
    struct forward_batch batch;
    struct headwise_transformer_call call;
    struct headwise_probe *probes;
};

static int read_packed(struct headwise_transformer_options *opening, const char *packed) {
    static const struct {
        const char *name;
        enum headwise_checkpoint_weights weights;
    } names[] = {
        {"f32", HEADWISE_CHECKPOINT_WEIGHTS_F32},
        {"stored", HEADWISE_CHECKPOINT_WEIGHTS_STORED},
        {"f16", HEADWISE_CHECKPOINT_WEIGHTS_F16},
        {"bf16", HEADWISE_CHECKPOINT_WEIGHTS_BF16},
        {"i8", HEADWISE_CHECKPOINT_WEIGHTS_I8},
        {"dynamic", HEADWISE_CHECKPOINT_WEIGHTS_DYNAMIC},
        {"dynamic128", HEADWISE_CHECKPOINT_WEIGHTS_DYNAMIC_128},
    };
    for (size_t i = 0; packed && i < sizeof names / sizeof *names; i++) {
        if (strcmp(packed, names[i].name) == 0) {
            opening->weights_is_set = true;
            opening->weights = names[i].weights;
            return EXIT_GOOD;
        }
    }
    return packed
               ? fail("option --packed is \"%s\", expected f32, f16, bf16, i8, dynamic, dynamic128 "
                      "or stored",
                      packed)
               : EXIT_GOOD;
}

static int check_settings(const struct settings *s) {
    const struct file_option written = {"--output", s->output};
    const struct file_option read[] = {
        {"the folder", s->folder}, {"--ids", s->ids}, {"--gates", s->gates}};
    if (!s->folder)
        return fail("forward: a folder is missing; see headwise help forward");
    if (!s->ids)
        return fail("forward: option --ids is missing; see headwise help forward");
    if (!s->output && !s->time)
        return fail("forward: neither --output nor --time is given");
    if (s->budget.is_set && s->budget.value < 1)
        return fail("option --budget is %lld, expected 1 or more", (long long)s->budget.value);
    return files_check(&written, 1, read, sizeof read / sizeof *read);
}

static int open_all(struct run *run) {
    const struct settings *s = run->settings;
    struct headwise_transformer_options opening = {
        .size = sizeof opening, .part = s->part, .overrides = s->overrides};
    int code = read_packed(&opening, s->packed);
    if (!code)
        code = context_open(&run->context, s->isa, s->threads);
    if (!code && headwise_transformer_open(&run->network, run->context, s->folder, &opening))
        code = fail("%s", headwise_model_last_error());
    if (code)
        return code;
    run->info = headwise_transformer_describe(run->network);
    code = forward_read(&run->batch, &run->arena, s->ids, s->tag, run->info);
    return code || !s->gates ? code
                             : forward_read_gates(&run->batch, &run->arena, s->gates, run->info);
}

/* Arrays for the maps of every layer. */
static int want_maps(struct run *run) {
    int64_t squares = 0;
    for (int64_t s = 0; s < run->batch.n_sequences; s++) {
        int64_t n = forward_start(&run->batch, s + 1) - forward_start(&run->batch, s);
        squares += n * n;
    }
    run->probes = arena_take(&run->arena, run->info->n_layers, sizeof *run->probes);
    for (int64_t i = 0; run->probes && i < run->info->n_layers; i++) {
        float *maps = arena_take(&run->arena, run->info->n_heads[i] * squares, sizeof *maps);
        if (!maps)
            return EXIT_UNUSABLE;
        run->probes[i] = (struct headwise_probe){.size = sizeof *run->probes, .weights = maps};
    }
    return run->probes ? EXIT_GOOD : EXIT_UNUSABLE;
}

static int want_hidden(struct run *run) {
    int64_t n = run->info->n_layers + 1;
    int64_t *layers = arena_take(&run->arena, n, sizeof *layers);
    for (int64_t i = 0; layers && i < n; i++)
        layers[i] = i;
    run->call.n_hidden = n;
    run->call.hidden_layers = layers;
    run->call.hidden = arena_take(&run->arena, n * run->batch.n_rows * run->info->d_model,
                                  sizeof *run->call.hidden);
    return layers && run->call.hidden ? EXIT_GOOD : EXIT_UNUSABLE;
}

static int make_call(struct run *run) {
    const struct forward_batch *batch = &run->batch;
    const struct headwise_transformer_info *info = run->info;
    struct headwise_transformer_call *call = &run->call;
    int64_t n_logits = info->logits_of_rows ? batch->n_rows : batch->n_sequences;
    *call = (struct headwise_transformer_call){
        .size = sizeof *call,
        .n_sequences = batch->n_sequences,
        .starts = batch->starts,
        .ids = batch->ids,
        .types = batch->types,
        .pixels = batch->pixels,
        .gates = batch->gates,
        .gate_sequence_stride = batch->gate_stride,
        .max_pass_tokens = run->settings->budget.value,
        .last_hidden = arena_take(&run->arena, batch->n_rows * info->d_model, sizeof(float)),
    };
    int code = call->last_hidden ? EXIT_GOOD : EXIT_UNUSABLE;
    if (!code && info->d_pooled > 0) {
        call->pooled = arena_take(&run->arena, batch->n_sequences * info->d_pooled, sizeof(float));
        code = call->pooled ? EXIT_GOOD : EXIT_UNUSABLE;
    }
    if (!code && info->n_labels > 0) {
        call->logits = arena_take(&run->arena, n_logits * info->n_labels, sizeof(float));
        code = call->logits ? EXIT_GOOD : EXIT_UNUSABLE;
    }
    if (!code && run->settings->hidden)
        code = want_hidden(run);
    if (!code && run->settings->maps)
        code = want_maps(run);
    call->probes = run->probes;
    return code;
}

/* A row for each sequence. */
static int add_vectors(struct run *run, const char *name, const float *rows, int64_t width) {
    const int64_t sizes[2] = {run->batch.n_sequences, width};
    float *data = outputs_add(&run->outputs, name, HEADWISE_FILE_F32, 2, sizes);
    if (data)
        memcpy(data, rows, (size_t)(sizes[0] * width) * sizeof *data);
    return data ? EXIT_GOOD : EXIT_UNUSABLE;
}

static const char *pooled_name(const struct run *run) {
    if (strcmp(run->info->family, "clip_text") == 0)
        return "text_embeds";
    return strcmp(run->info->family, "clip_vision") == 0 ? "image_embeds" : "pooler_output";
}

static int add_layers(struct run *run) {
    const struct headwise_transformer_info *info = run->info;
    int code = EXIT_GOOD;
    for (int64_t i = 0; !code && i < run->call.n_hidden; i++) {
        const char *name = arena_text(&run->arena, "hidden.%lld", (long long)i);
        code = name ? forward_add_rows(&run->batch, &run->outputs, name,
                                       run->call.hidden + i * run->batch.n_rows * info->d_model,
                                       info->d_model)
                    : EXIT_UNUSABLE;
    }
    for (int64_t i = 0; !code && run->probes && i < info->n_layers; i++) {
        const char *name = arena_text(&run->arena, "attention.%lld", (long long)i);
        code = name ? forward_add_maps(&run->batch, &run->outputs, name, run->probes[i].weights,
                                       info->n_heads[i])
                    : EXIT_UNUSABLE;
    }
    return code;
}

static int write_all(struct run *run) {
    const struct headwise_transformer_info *info = run->info;
    const struct headwise_transformer_call *call = &run->call;
    int code = forward_add_rows(&run->batch, &run->outputs, "last_hidden_state", call->last_hidden,
                                info->d_model);
    if (!code && call->pooled)
        code = add_vectors(run, pooled_name(run), call->pooled, info->d_pooled);
    if (!code && call->logits && info->logits_of_rows)
        code = forward_add_rows(&run->batch, &run->outputs, "logits", call->logits, info->n_labels);
    else if (!code && call->logits)
        code = add_vectors(run, "logits", call->logits, info->n_labels);
    if (!code)
        code = add_layers(run);
    return code ? code
                : outputs_write(&run->outputs, run->settings->output, "headwise forward",
                                run->context);
}

static enum headwise_status run_once(void *arg) {
    struct run *run = arg;
    return headwise_transformer_forward(run->context, run->network, &run->call);
}

static int print_time(struct run *run) {
    struct shares shares;
    if (shares_measure(&shares, run->context, run_once, run) != HEADWISE_OK)
        return fail("%s", headwise_model_last_error());
    printf("a forward takes %.2f ms, %.0f tokens in a second; of the threads' time\n",
           1e3 * shares.timed_s, (double)run->batch.n_rows / shares.timed_s);
    for (int g = 0; g < SHARE_GROUPS; g++)
        printf("  %-12s %5.1f %%\n", share_name((enum share_group)g), 100 * shares.share[g]);
    printf("  %-12s %5.1f %%\n", "rest", 100 * shares.rest);
    return EXIT_GOOD;
}

static void print_network(const struct run *run) {
    const struct headwise_context_info *context = headwise_context_describe(run->context);
    printf("%s of %lld layers, width %lld, %.1f MB; %lld %s of %lld sequence%s; tier %s, %d "
           "thread%s\n",
           run->info->family, (long long)run->info->n_layers, (long long)run->info->d_model,
           1e-6 * (double)run->info->weight_bytes, (long long)run->batch.n_rows,
           run->info->n_patches > 0 ? "patches" : "tokens", (long long)run->batch.n_sequences,
           run->batch.n_sequences == 1 ? "" : "s", headwise_isa_name(context->isa),
           context->n_threads, context->n_threads == 1 ? "" : "s");
}

static int run_forward(const void *arguments) {
    struct run run = {.settings = arguments};
    run.outputs.arena = &run.arena;
    int code = check_settings(run.settings);
    if (!code)
        code = open_all(&run);
    if (!code)
        code = make_call(&run);
    if (!code && run_once(&run) != HEADWISE_OK)
        code = fail("%s: %s", run.settings->ids, headwise_model_last_error());
    if (!code)
        print_network(&run);
    if (!code && run.settings->output)
        code = write_all(&run);
    if (!code && run.settings->time)
        code = print_time(&run);
    headwise_safetensors_close(run.batch.file);
    headwise_transformer_destroy(run.network);
    headwise_context_destroy(run.context);
    arena_free(&run.arena);
    return code;
}

const struct command command_forward = {
    .name = "forward",
    .summary = "run a whole network on token ids or pixels",
    .usage = "DIR --ids IN.safetensors -o OUT.safetensors [--hidden] [--maps] [--time]",
    .details = details,
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .settings_size = sizeof(struct settings),
    .operand = "folder",
    .operand_offset = offsetof(struct settings, folder),
    .run = run_forward,
};
