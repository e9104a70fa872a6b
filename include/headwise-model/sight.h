/* What every head of a whole network does with a text: where it looks, what it writes, what the
 * result loses without it, and which other head it resembles.
 *
 *     headwise_sight *sight;
 *     const struct headwise_text text = {"A man is eating.", 16};
 *     struct headwise_sight_call call = {.size = sizeof call, .text = &text};
 *     headwise_sight_create(&sight, context, encoder, &call);
 *     const struct headwise_sight_info *seen = headwise_sight_describe(sight);
 *     for (int64_t h = 0; h < seen->n_heads; h++)
 *         printf("%g\n", seen->heads[h].change);
 *
 * Memory grows with tokens^2 times the heads of one layer, not of all of them. Sums are in double,
 * in the order of tokens: the same bits for any number of threads, on every tier but scalar. */
#ifndef HEADWISE_MODEL_SIGHT_H
#define HEADWISE_MODEL_SIGHT_H

#include "encoder.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Known kinds of heads. A score is the weight that goes to such keys, a mean over the text's own
 * tokens (not those that were added) which have such a key, 0 to 1; NaN where none has. */
enum headwise_head_kind {
    HEADWISE_KIND_SELF = 0,    /* the token itself */
    HEADWISE_KIND_PREVIOUS,    /* the token before it */
    HEADWISE_KIND_NEXT,        /* the token after it */
    HEADWISE_KIND_FIRST,       /* the sequence's first token */
    HEADWISE_KIND_SEPARATOR,   /* special tokens but the first token */
    HEADWISE_KIND_WORD,        /* the other pieces of its word */
    HEADWISE_KIND_REPEATED,    /* the same token id elsewhere in the text */
    HEADWISE_KIND_PUNCTUATION, /* tokens of punctuation, not itself */
    HEADWISE_KIND_BROAD,       /* no weight: entropy / ln(tokens), 1 where all get the same */
    HEADWISE_KINDS
};

/* "self", "previous", ... ; NULL for a number that is no kind. */
HEADWISE_API const char *headwise_head_kind_name(enum headwise_head_kind kind);

/* Zero in every field but size: everything is found out, about nothing. */
struct headwise_sight_call {
    size_t size; /* sizeof(struct headwise_sight_call) */

    /* A text, and where wanted its pair, treated as headwise_embed() and headwise_classify() do:
     * the folder's default prompt stands before the text of an encoder that gives vectors, and what
     * is too long is cut. NULL: ids are given. */
    const struct headwise_text *text, *pair;
    bool refuse_long, special_is_text, replace_invalid; /* as in struct headwise_embed_call */

    /* Tokens instead of a text; types may be NULL: all 0. */
    int64_t n_tokens;
    const int32_t *ids, *types;

    bool without_change; /* what the result loses is not measured: it costs a forward for each head
                          */
    bool without_twins;

    /* Most cells of a side of the maps that are kept; longer sequences are folded into blocks of
     * equally many tokens. 0: 128. 1 to 4096. */
    int64_t most_cells;

    /* Tokens of the copies without a head that run together; 0: 8192. No bit depends on it. */
    int64_t max_pass_tokens;

    /* Called after each layer with its whole maps [n_heads of the layer][tokens][tokens], which are
     * gone when it returns. NULL: not. */
    void (*maps)(void *user, int64_t layer, const float *weights);
    /* Called after each pass of copies, with the number of heads that are measured. NULL: not. */
    void (*progress)(void *user, int64_t n_done);
    void *user;
};

/* Where a token comes from, and what it is. */
struct headwise_sight_token {
    int32_t id;
    int8_t source;       /* 0 the text (with its prompt), 1 the pair, -1 added, or an id */
    bool is_special;     /* as headwise_tokenizer_is_special() has it, or added */
    bool is_punctuation; /* no other character in it */
    int64_t word;        /* number of its word. Tokens of a text that touch, without a space or
                          * punctuation between them, are of one word; characters from U+3000
                          * on, which are not spaced, are words of their own */
    struct headwise_span span; /* in info->texts[source] */
    struct headwise_text piece;
};

/* One head. Means are over all tokens, added ones too, of what the probe's statistics say. */
struct headwise_sight_head {
    int64_t layer, head; /* head counts from 0 in its layer */

    double entropy;  /* nats */
    double largest;  /* weight */
    double distance; /* tokens */
    double self, previous, next, first;
    double separator; /* weight on special tokens but the first token */
    double kinds[HEADWISE_KINDS];

    double norm;  /* root of the mean square of what it adds to a token, before norms behind it */
    double share; /* of the square of what all heads of its layer add; below 0: against them */
    double residual; /* norm / that of the states that enter the layer */

    /* The result with this head's gate at 0, against the result r: |r' - r| / |r|, the cosine of
     * both, and r'[k] - r[k] where r[k] is the largest logit (0 where the result is a vector). NaN:
     * not measured. */
    double change, cosine, delta;

    /* The head whose map is most like this one's, in any layer, and Pearson's correlation of both
     * over the cells of maps, the diagonal left out; -1 and 0 where there is none. */
    int64_t twin;
    double correlation;
};

struct headwise_sight_info {
    size_t size; /* sizeof(struct headwise_sight_info) of the library */

    int64_t n_tokens;
    const struct headwise_sight_token *tokens; /* [n_tokens] */
    struct headwise_text texts[2];             /* what spans are in; bytes NULL: none */
    int64_t n_cut;                             /* tokens that were left out */

    int64_t n_layers, n_heads;               /* of all layers together */
    const struct headwise_sight_head *heads; /* [n_heads], layer after layer */

    int64_t cell_tokens, n_cells; /* tokens of a cell's side; cells of a map's side */
    /* [n_heads][n_cells][n_cells]: the weight that a query of the row's block gives to the keys of
     * the column's block, a mean over the queries; with one token in a cell the weights. */
    const float *maps;
    const float *correlations; /* [n_heads][n_heads]; NULL: without_twins */

    int64_t n_result;
    bool is_logits;      /* false: a vector, as headwise_embed() gives it */
    const float *result; /* [n_result]; logits before any sigmoid or softmax */
};

typedef struct headwise_sight headwise_sight;

/* Looks at one text and stores what was found in *sight, which refers to the encoder for pieces and
 * is immutable: any number of threads may read it.
 *
 * HEADWISE_ERR_INVALID: an argument is NULL; neither a text nor ids are given, or both, or a pair
 * without a text; an id or type is out of range; no token is left; most_cells or max_pass_tokens is
 * out of range; errors of headwise_encode() and headwise_transformer_forward(); the network reads
 * images. HEADWISE_ERR_NO_MEMORY, HEADWISE_ERR_CANCELLED. On failure *sight is unchanged. */
HEADWISE_API enum headwise_status headwise_sight_create(headwise_sight **sight,
                                                        headwise_context *context,
                                                        const headwise_encoder *encoder,
                                                        const struct headwise_sight_call *call);

/* NULL is allowed. */
HEADWISE_API void headwise_sight_destroy(headwise_sight *sight);

/* sight must not be NULL. What is returned lives as long as it. */
HEADWISE_API const struct headwise_sight_info *headwise_sight_describe(const headwise_sight *sight);

/* Texts, and arrays [n_heads of all layers][HEADWISE_KINDS] of the caller. */
struct headwise_kinds_call {
    size_t size; /* sizeof(struct headwise_kinds_call) */
    int64_t n_texts;
    const struct headwise_text *texts; /* [n_texts] */
    double *means;                     /* over the texts that have such a key; NaN: none has */
    double *spreads;                   /* standard deviation over these texts (n - 1); 0 of one */
    int64_t *counts;                   /* texts that have such a key; NULL: not wanted */
    bool special_is_text, replace_invalid;
    void (*progress)(void *user, int64_t n_done); /* after each text; NULL: not */
    void *progress_user;
};

/* Scores of all heads for the known kinds over texts. Errors as in headwise_sight_create(), and
 * HEADWISE_ERR_INVALID where n_texts is negative or texts, means or spreads is NULL. After a
 * failure the outputs hold nothing that is of use. */
HEADWISE_API enum headwise_status headwise_kinds(headwise_context *context,
                                                 const headwise_encoder *encoder,
                                                 const struct headwise_kinds_call *call);

#ifdef __cplusplus
}
#endif
#endif
