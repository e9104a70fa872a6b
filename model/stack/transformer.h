/* The inside of a network, and of a forward through it. */
#ifndef HEADWISE_MODEL_STACK_H
#define HEADWISE_MODEL_STACK_H

#include "block/block.h"
#include "headwise-model/transformer.h"
#include "stack/table.h"

/* A step of the head as it was loaded; linear NULL: x. */
struct headwise_step {
    headwise_linear *linear;
    enum headwise_activation activation;
    struct headwise_row_norm norm;
    bool has_norm;
    int64_t width; /* of its outputs */
};

struct headwise_transformer {
    struct headwise_store store;
    struct headwise_transformer_info info;
    struct headwise_description description;
    enum headwise_isa isa;
    int64_t *n_heads; /* [n_layers] */

    struct headwise_table words;
    const float *position; /* [n_positions][width]; NULL: none */
    const float *type;     /* [n_types][width]; NULL: none */
    const float *class_token;
    struct headwise_row_norm embedding_norm;
    bool has_embedding_norm;
    int64_t d_embedding; /* width of the tables */
    float word_factor;
    headwise_linear *project, *patch;

    struct headwise_block *blocks; /* [n_layers] */
    bool has_attention_in;         /* in any of them */
    struct headwise_row_norm last_norm;
    bool has_last_norm;
    struct headwise_step steps[HEADWISE_HEAD_STEPS];
    int n_steps;
    int64_t step_width; /* the largest width of a step but the last */
    float head_factor;  /* of what a language model's head reads */
    float logit_factor; /* of what it writes */
};

/* load.c: fills network, all zero but for store.allocator, from the files. On failure what was made
 * is left for _destroy. */
enum headwise_status headwise_stack_load(headwise_transformer *network,
                                         struct headwise_loader *loader);

/* Sequences that are worked on together, and where their rows are. */
struct headwise_pass {
    headwise_context *context;
    const headwise_transformer *network;
    const struct headwise_transformer_call *call;
    int64_t first_sequence, n_sequences, first_row, n_rows;
    int32_t *starts; /* [n_sequences + 1], from 0 */
    float *x;        /* [n_rows][d_model] */
    float *spare[2]; /* as large; spare[0] holds rows of the tables' width too */
    float *gathered; /* [HEADWISE_HEAD_ROWS][d_model], of a head's inputs */
    float *made[2];  /* [HEADWISE_HEAD_ROWS][step_width] */
};

/* Rows that a head works on at once. */
enum { HEADWISE_HEAD_ROWS = 256 };

/* embed.c: x of the pass's sequences. */
enum headwise_status headwise_stack_embed(const struct headwise_pass *pass);

/* head.c: pooled and logits out of the rows behind the last norm. */
enum headwise_status headwise_stack_head(const struct headwise_pass *pass, const float *last);

/* forward.c: the whole call, which was checked. */
enum headwise_status headwise_stack_forward(headwise_context *context,
                                            const headwise_transformer *network,
                                            const struct headwise_transformer_call *call);

/* The tokens of a pass: asked, or, where that is 0, what suits the context's threads. */
int64_t headwise_stack_pass_tokens(const headwise_context *context, int64_t asked);

/* Row r of sequence s; also that of an image. */
int64_t headwise_stack_start(const headwise_transformer *network,
                             const struct headwise_transformer_call *call, int64_t sequence);

/* The core's error line becomes this library's. */
enum headwise_status headwise_stack_core(enum headwise_status status);

#endif
