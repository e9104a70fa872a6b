/* A network as data: what its tensors are called, how its blocks are put together, which heads it
 * has. Code that runs networks knows no family, only this. */
#ifndef HEADWISE_MODEL_DESCRIPTION_H
#define HEADWISE_MODEL_DESCRIPTION_H

#include "headwise-io/checkpoint.h"
#include "headwise/headwise.h"

/* Names of tensors stand behind the model's prefix ("bert."), those that begin with '/' at the
 * root of the names. Of a linear layer or norm the name is what comes before ".weight" and ".bias".
 * NULL: the family has no such thing. */

/* What norms have in common. */
struct headwise_norm_form {
    enum headwise_norm norm;
    double eps;
    bool adds_one; /* weights are 1 + w */
    bool has_bias;
};

/* What comes before the first block. Rows of text are
 *   norm(scale * word[id] + position[offset + p] + type[t]) project
 * and rows of an image [class, patches project] + position, then the norm. */
struct headwise_embeddings {
    const char *word, *position, *type, *norm;
    const char
        *project; /* linear layer from the width of the tables to d_model, where it is there */
    double scale; /* of word; 0: 1 */
    int64_t position_offset; /* row of the table for the first token */
    int64_t pad_id;          /* tokens with this id stand at the row before the first and are not
                              * counted; -1: no such tokens */
    const char *patch;       /* images: linear layer of a patch */
    const char *class_token;
    bool patch_has_bias;
    int64_t n_channels, image_size, patch_size;
};

/* How the outputs of the MLP's first step lie. */
enum headwise_gating {
    HEADWISE_PLAIN = 0,     /* one matrix */
    HEADWISE_GATE_APART,    /* two matrices, gate and up */
    HEADWISE_GATE_UP_JOINED /* one matrix: rows of the gate, then those that it multiplies */
};

/* A block. Norms: on the way into attention and MLP, on what comes out of them, on the sum with the
 * residual. Names stand behind the stem, "encoder.layer.3.". */
struct headwise_block_form {
    const char *attention_in, *attention_out, *attention_sum;
    const char *mlp_in, *mlp_out, *mlp_sum;
    bool is_parallel; /* the MLP reads what attention reads, through mlp_in where it is there, else
                       * through attention_in; both are added */
    bool first_has_no_norm; /* attention_in is missing in layer 0 */

    enum headwise_gating gating;
    const char *up, *gate, *down; /* GATE_UP_JOINED: up is both */
    bool up_has_bias, down_has_bias;
    bool is_in_out; /* matrices are [in][out] */
    enum headwise_activation activation;
};

/* Which rows a head is given. */
enum headwise_head_rows {
    HEADWISE_HEAD_EACH = 0, /* all */
    HEADWISE_HEAD_FIRST,    /* of each sequence the first */
    HEADWISE_HEAD_LAST,     /* the last */
    HEADWISE_HEAD_MEAN,     /* the mean of its rows */
    HEADWISE_HEAD_END       /* the first with the id end_id, else the first with the largest id */
};

/* A step of a head: y = norm(activation(x W + b)). */
struct headwise_head_step {
    const char *linear; /* NULL: x */
    bool has_bias;
    const char *bias; /* where it is not linear's; NULL: linear's */
    const char *tied; /* the matrix where linear has none of its own */
    enum headwise_activation activation;
    bool acts_as_block; /* its activation is the blocks' */
    const char *norm;
};

enum { HEADWISE_HEAD_STEPS = 3 };

/* A head, and what tells that the file has it. */
struct headwise_head_form {
    const char *mark;         /* this tensor; NULL: architecture alone */
    const char *architecture; /* what the first of architectures holds; NULL: whatever it is */
    enum headwise_head_rows rows;
    struct headwise_head_step steps[HEADWISE_HEAD_STEPS];
    int n_steps;             /* 0: no head */
    int pooled_step;         /* this one's outputs, from 1, are the pooled ones; 0: none */
    bool gives_logits;       /* the last step's outputs are logits */
    const char *passed_over; /* tensors, separated by '|', that belong to no step of it */
};

struct headwise_family;

struct headwise_description {
    const struct headwise_family *family;
    const char *part; /* of the checkpoint */
    char prefix[64];
    int64_t d_model, n_layers;
    bool is_rotary;
    int64_t
        max_tokens; /* of rotary positions; else those of the table of positions, or any number */
    struct headwise_norm_form norm;
    struct headwise_embeddings embeddings;
    struct headwise_block_form block;
    const char *last_norm;
    bool last_hidden_is_normed; /* the states behind the last layer have passed last_norm */
    double residual_scale;      /* of what attention and MLP add; 0: 1 */
    struct headwise_head_form head;
    bool has_head; /* there is one, and it is wanted */
    int64_t end_id;
    double logit_scale;   /* 0: 1 */
    double logit_softcap; /* 0: none */
};

/* A family: a description to begin with, and what is to be done about its config.json. */
struct headwise_family {
    const char *name;
    const char *model_types; /* separated by '|' */
    const char *part;        /* NULL: the first */
    const char *prefixes;    /* separated by '|', the first that fits */
    const char *stem;        /* of a block: "encoder.layer.{i}." */
    struct headwise_description form;
    const struct headwise_head_form *heads; /* the first that fits */
    size_t n_heads;
    const char *passed_over; /* ends of names, separated by '|', of tensors without weights */
    const char *foreign;     /* beginnings of names that belong to a part that is not run */

    /* Reads what only this family has into description; NULL: nothing. */
    enum headwise_status (*settle)(struct headwise_description *description,
                                   const headwise_checkpoint *checkpoint);
};

/* Fills the description from the opened files. part: as in headwise_transformer_options. */
enum headwise_status headwise_describe(struct headwise_description *description,
                                       const headwise_checkpoint *checkpoint, const char *part,
                                       bool without_head);

enum { HEADWISE_NAME_SIZE = 200 };

/* Writes the whole name of a tensor: name behind the prefix, and end. */
void headwise_describe_name(char text[HEADWISE_NAME_SIZE],
                            const struct headwise_description *description, const char *name,
                            const char *end);

/* Likewise behind the stem of layer index. */
void headwise_describe_layer_name(char text[HEADWISE_NAME_SIZE],
                                  const struct headwise_description *description, int64_t index,
                                  const char *name, const char *end);

/* Whether the tensor with this whole name carries nothing that the network needs. */
bool headwise_describe_passes_over(const struct headwise_description *description,
                                   const char *name);

#endif
