/* The options that choose a layer and its input, shared by the commands that run one. */
#ifndef HEADWISE_TOOLS_LAYER_OPTIONS_H
#define HEADWISE_TOOLS_LAYER_OPTIONS_H

#include "calls/layer_checkpoint.h"
#include "common/context.h"
#include "common/files.h"

struct layer_settings {
    const char *weights, *input, *x, *layout, *prefix, *memory;
    const char *model, *part, *family, *overrides, *packed, *causal, *isa;
    struct option_integer layer, threads, heads, kv_heads, head_dim;
    struct option_real scale, softcap;
};

/* For the table of a command whose settings begin with struct layer_settings. */
#define LAYER_OPTION(name, kind, argument, help)                                                   \
    { #name, 0, kind, offsetof(struct layer_settings, name), argument, help }
#define LAYER_OPTIONS                                                                              \
    LAYER_OPTION(weights, OPTION_TEXT, "W.safetensors", "W_Q W_K W_V W_O [b_Q b_K b_V b_O]"),      \
        LAYER_OPTION(model, OPTION_TEXT, "DIR",                                                    \
                     "take a layer of this model instead: a folder or a file"),                    \
        LAYER_OPTION(layer, OPTION_INTEGER, "N", "number of the layer, from 0; 0"),                \
        LAYER_OPTION(part, OPTION_TEXT, "NAME",                                                    \
                     "encoder, decoder, cross, text, vision; the first"),                          \
        LAYER_OPTION(family, OPTION_TEXT, "NAME", "llama, bert, ...; config.json's model_type"),   \
        LAYER_OPTION(overrides, OPTION_TEXT, "JSON",                                               \
                     "keys in front of config.json's: {\"n_head\": 12}"),                          \
        LAYER_OPTION(input, OPTION_TEXT, "X.safetensors",                                          \
                     "X [tokens,width] or [batch,tokens,width]"),                                  \
        LAYER_OPTION(x, OPTION_TEXT, "NAME", "the input's tensor to take as X; X"),                \
        LAYER_OPTION(heads, OPTION_INTEGER, "H", "query heads; metadata num_heads"),               \
        LAYER_OPTION(kv_heads, OPTION_INTEGER, "G",                                                \
                     "key and value heads; metadata num_kv_heads, else H"),                        \
        LAYER_OPTION(head_dim, OPTION_INTEGER, "D", "size of a query head; width of W_Q / H"),     \
        LAYER_OPTION(layout, OPTION_TEXT, "in_out|out_in",                                         \
                     "of the weights: y = x W (default) or W x"),                                  \
        LAYER_OPTION(prefix, OPTION_TEXT, "TEXT",                                                  \
                     "in front of the weights' names (\"h2.\": h2.W_Q)"),                          \
        LAYER_OPTION(packed, OPTION_TEXT, "TYPE",                                                  \
                     "f32 (default), f16, bf16, i8, dynamic, dynamic128, stored"),                 \
        LAYER_OPTION(memory, OPTION_TEXT, "NAME",                                                  \
                     "the input's tensor that keys and values come from"),                         \
        LAYER_OPTION(causal, OPTION_TEXT, "MODE", "none (default), top-left or bottom-right"),     \
        LAYER_OPTION(scale, OPTION_REAL, "X", "factor of the scores; 1 / sqrt(D)"),                \
        LAYER_OPTION(softcap, OPTION_REAL, "X", "scores become X * tanh(score / X)"),              \
        CONTEXT_OPTIONS(struct layer_settings)

/* How they work, for a command's help. */
#define LAYER_DETAILS                                                                              \
    "--weights and --input may name one file. Matrices are F32, F16, BF16 or F64 (rounded to "     \
    "f32).\n"                                                                                      \
    "Head h owns columns h*D ... of W_Q (in_out) and rows h*Dv ... of W_O, and reads kv head\n"    \
    "h / (H / G).\n"                                                                               \
    "--model takes matrices, biases, norms, positions and options from a model of the Hugging "    \
    "Face hub:\n"                                                                                  \
    "a folder with config.json and safetensors files, or one file. Cross attention reads the "     \
    "input's\n"                                                                                    \
    "tensor \"memory\". --causal, --scale and --softcap then replace the model's.\n"               \
    "--packed rounds the matrices to a narrower type; stored: the file's own, f16 or bf16 where "  \
    "all\n"                                                                                        \
    "four have it; dynamic: i8, and what is multiplied with them is rounded to integers too;\n"    \
    "dynamic128: with a scale for each 128 inputs.\n"

/* A layer with its input. */
struct layer_opened {
    headwise_safetensors *weights, *input;
    headwise_context *context;
    headwise_checkpoint_layer
        *checkpoint_layer; /* owns the layer's matrices where --model is given */
    struct layer_input layer;
    struct headwise_attention_options attention; /* the model's own, and those given instead */
    struct headwise_attention_call call; /* of all that; y and what else comes out is missing */
};

/* What is said of the model, for layer_checkpoint_read() and others that open it. */
struct checkpoint_request layer_checkpoint_request(const struct layer_settings *settings);

/* The files that the settings name and layer_open() reads, LAYER_FILES of them. */
enum { LAYER_FILES = 3 };
void layer_files(struct file_option *files, const struct layer_settings *settings);

/* Opens all that the settings name. command begins the line of a failure about them. Returns an
 * exit code; layer_close() is needed whatever it is. Arrays live in the arena. */
int layer_open(struct layer_opened *opened, struct arena *arena,
               const struct layer_settings *settings, const char *command);

/* Frees everything but the arena. opened may be zero. */
void layer_close(struct layer_opened *opened);

/* Fails where option is given outside low ... high. */
int option_check_range(const char *name, struct option_integer option, int64_t low, int64_t high);

/* Prints "layer of 8 heads on 4 kv heads of 8, width 64, 40 tokens; tier avx2, 2 threads". */
void layer_print(const struct layer_opened *opened);

#endif
