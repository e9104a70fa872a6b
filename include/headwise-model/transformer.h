/* Whole networks: token ids or pixels in, hidden states and what the file's heads make of them out.
 * A folder of the Hugging Face hub is opened once; the network is then immutable.
 *
 *     headwise_transformer *network;
 *     headwise_transformer_open(&network, context, "all-MiniLM-L6-v2", NULL);
 *     const int32_t ids[] = {101, 7592, 102, 101, 2088, 102}, starts[] = {0, 3, 6};
 *     struct headwise_transformer_call call = {.size = sizeof call, .n_sequences = 2};
 *     call.starts = starts;
 *     call.ids = ids;
 *     call.last_hidden = rows; // [6][d_model]
 *     headwise_transformer_forward(context, network, &call);
 *
 * One answer: what a sequence gives depends on its own tokens alone. It has the same bits in any
 * batch, with any budget, for any number of threads, and on every tier but scalar.
 *
 * Families, as headwise_transformer_describe() names them, and what is read of each: docs/
 * encoders.md. No tensor of the files is skipped in silence: one that the family does not know is
 * an error that names it. */
#ifndef HEADWISE_MODEL_TRANSFORMER_H
#define HEADWISE_MODEL_TRANSFORMER_H

#include <headwise-io/checkpoint.h>

#include "tokenizer.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Zero in every field but size: as the folder says. */
struct headwise_transformer_options {
    size_t size; /* sizeof(struct headwise_transformer_options) */

    /* The type in which matrices are kept: of attention, MLP, heads and embeddings, whose rows are
     * rounded to 8 bits with a scale each where weights are I8 or DYNAMIC. Norms, biases and tables
     * of positions are f32. false: HEADWISE_CHECKPOINT_WEIGHTS_STORED, each matrix as the file has
     * it. */
    bool weights_is_set;
    enum headwise_checkpoint_weights weights;

    /* "text" or "vision" of a CLIP model that has both, "encoder" of T5; NULL: the first. */
    const char *part;

    const char *overrides; /* JSON object before config.json, as in headwise_checkpoint_options */
    int64_t n_positions;   /* rows of rotary tables, as there; 0: as the model has positions */
    bool read_files;       /* as there; only while the network is opened */

    /* Pooler and classifier, or the matrix that makes logits, are left out: memory that somebody
     * who wants hidden states does not need. Their tensors are not read. */
    bool without_head;

    struct headwise_allocator allocator; /* zero: aligned_alloc() and free(). Of everything that is
                                          * not a layer's, whose is the context's */
};

typedef struct headwise_transformer headwise_transformer;

/* Opens the network at path, a folder or file as in headwise_checkpoint_open(), packs it for the
 * context's tier and stores it in *network. The files are closed again, and the context is not
 * referred to afterwards, but its allocator must stay usable. Any number of threads may use the
 * network at once, each with a context of the same tier.
 *
 * HEADWISE_ERR_IO: a file cannot be opened, read or mapped. HEADWISE_ERR_FORMAT: a file is
 * malformed, a tensor is missing, has another shape than expected, or is not known; a value of
 * config.json is missing or out of range. HEADWISE_ERR_UNSUPPORTED: the family is none that runs
 * whole, or config.json asks for arithmetic that is not there: the line names key and value.
 * HEADWISE_ERR_INVALID: an argument is NULL, an option is out of range, the model has no such part.
 * HEADWISE_ERR_NO_MEMORY. On failure *network is unchanged and headwise_model_last_error() says
 * what was found where and what was expected. */
HEADWISE_API enum headwise_status
headwise_transformer_open(headwise_transformer **network, headwise_context *context,
                          const char *path, const struct headwise_transformer_options *options);

/* Frees the network. NULL is allowed. */
HEADWISE_API void headwise_transformer_destroy(headwise_transformer *network);

/* What a network is. It belongs to the network and lives as long. */
struct headwise_transformer_info {
    size_t size;        /* sizeof(struct headwise_transformer_info) of the library */
    const char *family; /* "bert", "modernbert", "t5", ... */
    int64_t d_model;    /* width of hidden states */
    int64_t n_layers;
    const int64_t
        *n_heads;       /* [n_layers]: query heads of each layer, fewer where some were pruned */
    int64_t most_heads; /* the largest of them */
    bool is_causal;     /* a token sees those before it alone */

    /* Of text; 0 of images. Ids are 0 ... n_ids-1, types 0 ... n_types-1 (0: it has none). A
     * sequence has at most max_tokens tokens. */
    int64_t n_ids, n_types, max_tokens;

    /* Of images; 0 of text. Pixels are [n_channels][image_height][image_width]; an image gives
     * n_patches rows of hidden states, that of the class first. */
    int64_t n_channels, image_height, image_width, n_patches;

    int64_t d_pooled;    /* width of pooled; 0: the file has no such thing */
    int64_t n_labels;    /* columns of logits; 0: the file has no such thing */
    bool logits_of_rows; /* logits of each row (token classifiers, language models); false: of each
                          * sequence */
    size_t weight_bytes; /* of everything that is kept */
};

HEADWISE_API const struct headwise_transformer_info *
headwise_transformer_describe(const headwise_transformer *network);

/* One forward: what goes in, and what is wanted. Outputs are the caller's contiguous f32 arrays,
 * NULL where not wanted, and may not overlap an input or one another. R is the number of rows:
 * starts[n_sequences] of text, n_sequences * n_patches of images. */
struct headwise_transformer_call {
    size_t size; /* sizeof(struct headwise_transformer_call) */

    /* Sequence s has the tokens starts[s] ... starts[s + 1] - 1, 0 or more of them; starts[0] is 0.
     * The array is what flash-attention calls cu_seqlens. An empty sequence has zeros as pooled and
     * logits. n_sequences may be 0. Of images: starts, ids, types and positions are NULL. */
    int64_t n_sequences;
    const int32_t *starts;
    const int32_t *ids;       /* [R] */
    const int32_t *types;     /* [R]; NULL: all 0 */
    const int64_t *positions; /* [R]: row of the table of positions, or place for rotation, 0 ...
                               * max_tokens-1; NULL: 0, 1, 2 ... in each sequence. Masks and biases
                               * by distance go by the place in the sequence, whatever this says */
    const float *pixels;      /* [n_sequences][n_channels][image_height][image_width] */

    float *last_hidden; /* [R][d_model]: after the last norm */

    /* [n_hidden][R][d_model]: the states before layer hidden_layers[i], n_layers for those behind
     * the last layer, which the family's last norm has passed where the transformers library gives
     * them so. */
    int64_t n_hidden;
    const int64_t *hidden_layers;
    float *hidden;

    float *pooled; /* [n_sequences][d_pooled]: BERT's pooler, the vectors of CLIP */

    /* Before any softmax or sigmoid. [n_sequences][n_labels], or, where logits_of_rows,
     * [R][n_labels]; with logit_rows [n_logit_rows][n_labels], of these rows alone. */
    float *logits;
    int64_t n_logit_rows;
    const int64_t *logit_rows; /* NULL: all */

    /* One factor for each head: element [s * gate_sequence_stride + layer * most_heads + head] for
     * sequence s; a stride of 0 shares them over the sequences. NULL: all 1. A gate of 0 costs less
     * than a gate of 1. */
    const float *gates;
    int64_t gate_sequence_stride;

    /* [n_layers], or NULL: what to write of each layer, shaped as headwise_attention() says for
     * sequences one after another. Asked for, they change no bit. */
    const struct headwise_probe *probes;

    /* Tokens that are worked on together, whole sequences of them: a pass begins where the next
     * sequence does not fit, and one that is longer is a pass of its own. Memory grows with it and
     * with nothing else; no bit depends on it. A call with probes is one pass, whatever is said
     * here. 0: 256 for each thread of the context, and 512 at least. */
    int64_t max_pass_tokens;

    /* Called on the calling thread after each layer of a pass, when its probe is written: probes of
     * all layers may then name the same arrays, and memory is that of one layer. A status other
     * than HEADWISE_OK ends the call, which returns it; the error line is the function's. NULL: not
     * called. */
    enum headwise_status (*layer_done)(void *user, int64_t layer);
    void *layer_user;
};

/* Runs the network.
 *
 * HEADWISE_ERR_INVALID: a pointer is NULL that may not be, or given where it has no meaning; a
 * start is smaller than the one before it; an id, type, position, layer or row is out of range; a
 * sequence is too long; the context's tier is not the network's; something is asked for that the
 * file does not have; a struct's size is not one this library knows; errors of headwise_attention()
 * about gates and probes. HEADWISE_ERR_NO_MEMORY: rows of a pass, or scratch of the context.
 * HEADWISE_ERR_CANCELLED: see headwise_context_options. Whatever was wrong with the arguments
 * leaves the outputs untouched; a call that fails later has written some of them. */
HEADWISE_API enum headwise_status
headwise_transformer_forward(headwise_context *context, const headwise_transformer *network,
                             const struct headwise_transformer_call *call);

#ifdef __cplusplus
}
#endif
#endif
