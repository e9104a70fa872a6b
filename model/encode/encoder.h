/* What an encoder is made of. */
#ifndef HEADWISE_ENCODE_ENCODER_H
#define HEADWISE_ENCODE_ENCODER_H

#include "base/memory.h"
#include "headwise-model/encoder.h"
#include "headwise/linear.h"

/* How the rows of a text become one. */
enum headwise_pooling {
    HEADWISE_POOL_CLS,           /* the first row */
    HEADWISE_POOL_MAX,           /* the largest number of each column */
    HEADWISE_POOL_MEAN,          /* sum / n */
    HEADWISE_POOL_MEAN_SQRT,     /* sum / sqrt(n) */
    HEADWISE_POOL_WEIGHTED_MEAN, /* row r counts r + 1 times */
    HEADWISE_POOL_LAST,          /* the last row */
    HEADWISE_POOLINGS
};

/* What follows the pooling: a layer, or, where linear is NULL, scaling to length 1. */
struct headwise_encode_step {
    headwise_linear *linear;
    enum headwise_activation activation;
    int64_t n_outputs;
};

enum { HEADWISE_ENCODE_STEPS = 8 };

struct headwise_encoder {
    struct headwise_allocator memory;
    headwise_tokenizer *tokenizer;
    headwise_transformer *transformer;

    int n_poolings; /* 0: it gives scores */
    enum headwise_pooling poolings[HEADWISE_POOLINGS];
    bool leaves_prompt_out; /* the prompt's tokens are not pooled */
    bool gives_types;       /* the network is told which of two texts a token is of */
    int n_steps;
    struct headwise_encode_step steps[HEADWISE_ENCODE_STEPS];
    int64_t width; /* the widest row between pooling and the end */

    struct headwise_bytes texts; /* prompts and labels, each with its NUL */
    struct headwise_prompt *prompts;
    size_t prompts_capacity;
    const char **labels;
    struct headwise_encoder_info info;
};

struct headwise_config_object; /* text/config.h */

/* Opens what modules.json of the folder at path names, or, where there is none, the folder as a
 * network with the mean over all tokens, or a classifier. */
enum headwise_status headwise_encoder_read_modules(headwise_encoder *encoder,
                                                   headwise_context *context, const char *path,
                                                   const struct headwise_encoder_options *options);

/* Opens tokenizer and network of a folder. */
enum headwise_status headwise_encoder_open_network(headwise_encoder *encoder,
                                                   headwise_context *context, const char *folder,
                                                   const struct headwise_encoder_options *options);

/* Adds a layer of the folder, whose config.json is object, or the scaling to length 1, named by the
 * file where, to what follows the pooling. */
enum headwise_status headwise_encoder_add_dense(headwise_encoder *encoder,
                                                headwise_context *context, const char *folder,
                                                const struct headwise_config_object *object);
enum headwise_status headwise_encoder_add_normalize(headwise_encoder *encoder, const char *where);

/* Prompts of config_sentence_transformers.json. */
enum headwise_status headwise_encoder_read_prompts(headwise_encoder *encoder, const char *path);

/* Labels, and what becomes of scores. */
enum headwise_status headwise_encoder_read_labels(headwise_encoder *encoder, const char *path);

/* The limit of tokens, of the folder or as asked. */
enum headwise_status headwise_encoder_read_limit(headwise_encoder *encoder, const char *path,
                                                 int64_t wanted);

/* Finds the prompt that a call asks for. */
enum headwise_status headwise_encoder_find_prompt(const headwise_encoder *encoder,
                                                  const struct headwise_embed_call *call,
                                                  struct headwise_text *prompt);

/* One pooled row of dst, n_poolings * columns, of the rows first ... n-1 of a text. */
void headwise_encoder_pool(const headwise_encoder *encoder, float *dst, const float *rows,
                           int64_t n, int64_t columns, int64_t first);

/* The vectors of n texts, encoder->width apart, from the network's rows starts[i] ... starts[i + 1]
 * - 1 of each, of which those before first_row are not pooled. *vectors has room for 2 * n * width
 * numbers; afterwards it is where the vectors are in it. */
enum headwise_status headwise_encoder_vectors(headwise_context *context,
                                              const headwise_encoder *encoder, float **vectors,
                                              const float *rows, const int32_t *starts, int64_t n,
                                              int64_t first_row);

/* Scales n numbers to length 1, with the sum in double, in order; zeros stay. */
void headwise_encoder_normalize(float *x, int64_t n);

#endif
