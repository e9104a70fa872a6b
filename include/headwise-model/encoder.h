/* Texts in, vectors or scores out: folders as sentence-transformers writes them, and classifiers of
 * the transformers library.
 *
 *     headwise_encoder *encoder;
 *     headwise_encoder_open(&encoder, context, "all-MiniLM-L6-v2", NULL);
 *     const struct headwise_text texts[] = {{"A man is eating.", 16}, {"Two dogs run.", 13}};
 *     float vectors[2 * 384];
 *     headwise_embed(context, encoder,
 *                    &(struct headwise_embed_call){.size = sizeof(struct headwise_embed_call),
 *                                                  .n_texts = 2, .texts = texts,
 *                                                  .vectors = vectors});
 *
 * What the folder says is what happens: pooling, dense layers, normalisation, prompts, the limit of
 * tokens, labels. A text's vector depends on the text alone: it has the same bits in any batch,
 * with any budget, for any number of threads, and on every tier but scalar. */
#ifndef HEADWISE_MODEL_ENCODER_H
#define HEADWISE_MODEL_ENCODER_H

#include "transformer.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Zero in every field but size: as the folder says. */
struct headwise_encoder_options {
    size_t size; /* sizeof(struct headwise_encoder_options) */

    /* Of the network: weight types, overrides, allocator. NULL: as the folder says.
     * The allocator is the encoder's and the tokenizer's too. */
    const struct headwise_transformer_options *transformer;

    /* Most tokens of a text, in place of the folder's limit; 0: the folder's. At most what the
     * network has positions for. */
    int64_t max_tokens;
};

typedef struct headwise_encoder headwise_encoder;

/* Opens the folder at path for the context's tier and stores it in *encoder: the tokenizer and the
 * network, and of what sentence-transformers 2 to 6 write, modules.json with its Pooling, Dense and
 * Normalize, config_sentence_transformers.json, sentence_bert_config.json and
 * tokenizer_config.json. A folder without modules.json whose network has a classifier gives scores;
 * one without either takes the mean over all tokens, as sentence-transformers does.
 * The encoder is immutable: any number of threads may use it at once, each with a context of the
 * same tier. Nothing refers to the context afterwards, but its allocator must stay usable.
 *
 * Errors as in headwise_transformer_open() and headwise_tokenizer_open(), and:
 * HEADWISE_ERR_UNSUPPORTED: a module, a pooling or an activation is not known: the line names it
 * and the file. HEADWISE_ERR_FORMAT: a file is not as such files are, widths do not fit one
 * another. HEADWISE_ERR_INVALID: max_tokens is negative, less than the tokens that are added to a
 * text, or more than there are positions for. On failure *encoder is unchanged and
 * headwise_model_last_error() has a line about it. */
HEADWISE_API enum headwise_status
headwise_encoder_open(headwise_encoder **encoder, headwise_context *context, const char *path,
                      const struct headwise_encoder_options *options);

/* Frees the encoder. NULL is allowed. */
HEADWISE_API void headwise_encoder_destroy(headwise_encoder *encoder);

/* What becomes of the numbers that a classifier gives. */
enum headwise_score {
    HEADWISE_SCORE_RAW = 0,
    HEADWISE_SCORE_SIGMOID, /* each on its own */
    HEADWISE_SCORE_SOFTMAX  /* over the labels */
};

/* A text that is put before others, and the name to ask for it. */
struct headwise_prompt {
    const char *name;
    struct headwise_text text;
};

/* What an encoder is. It belongs to the encoder and lives as long. */
struct headwise_encoder_info {
    size_t size; /* sizeof(struct headwise_encoder_info) of the library */
    const headwise_transformer *transformer;
    const headwise_tokenizer *tokenizer;
    int64_t max_tokens; /* of a text or a pair, with those that are added */

    int64_t d_vector;   /* width of vectors; 0: it gives scores */
    bool is_normalized; /* the folder scales vectors to length 1 */
    int64_t n_prompts;
    const struct headwise_prompt *prompts;        /* [n_prompts] */
    const struct headwise_prompt *default_prompt; /* one of them, or NULL */

    int64_t n_labels;          /* scores of a text; 0: it gives vectors */
    const char *const *labels; /* [n_labels], id2label; NULL: the folder names none */
    enum headwise_score score; /* what the folder asks for */
};

/* encoder must not be NULL. */
HEADWISE_API const struct headwise_encoder_info *
headwise_encoder_describe(const headwise_encoder *encoder);

/* Texts, and what is wanted of them. Outputs are the caller's contiguous arrays and overlap
 * nothing. */
struct headwise_embed_call {
    size_t size; /* sizeof(struct headwise_embed_call) */

    int64_t n_texts;                   /* 0: nothing is done */
    const struct headwise_text *texts; /* [n_texts], UTF-8 */

    /* What is put before each text: prompt, or the folder's prompt of that name, or, where both are
     * NULL, the folder's default. {"", 0} as prompt: nothing. */
    const struct headwise_text *prompt;
    const char *prompt_name;

    /* Vectors are cut to their first truncate_dim numbers, 1 to d_vector; 0: all. normalize: then
     * scaled to length 1; a vector of zeros stays one. */
    int64_t truncate_dim;
    bool normalize;

    /* Texts with more tokens than max_tokens are cut at their end, counted in n_cut;
     * true: they are refused. */
    bool refuse_long;
    bool special_is_text, replace_invalid; /* as in struct headwise_encode_options */

    float *vectors;    /* [n_texts][truncate_dim or d_vector]; required */
    int64_t *n_tokens; /* [n_texts]: tokens that entered the network; NULL: not wanted */
    int64_t *n_cut;    /* [n_texts]: tokens that were cut off; NULL: not wanted */

    /* As in struct headwise_transformer_call: one factor for each head of each layer, shared by all
     * texts; NULL: all 1. */
    const float *gates;

    /* Tokens that run together: memory grows with it, and with the longest text. 0: 256 for each
     * thread of the context, and 512 at least. */
    int64_t max_pass_tokens;

    /* Called after each pass, on the calling thread, with the number of texts that are done; NULL:
     * not. */
    void (*progress)(void *user, int64_t n_done);
    void *progress_user;
};

/* Makes a vector of each text.
 *
 * HEADWISE_ERR_INVALID: a pointer is NULL that may not be, an option is out of range, there is no
 * prompt of that name, a text is no UTF-8 (and replace_invalid is not set) or too long (and
 * refuse_long is set): the line says which text and where; the encoder gives scores; the context's
 * tier is not the encoder's. HEADWISE_ERR_NO_MEMORY, HEADWISE_ERR_CANCELLED, and the errors of
 * headwise_encode(). After a failure texts of passes that were done have their outputs, and others'
 * are untouched. */
HEADWISE_API enum headwise_status headwise_embed(headwise_context *context,
                                                 const headwise_encoder *encoder,
                                                 const struct headwise_embed_call *call);

/* Texts or pairs, and their scores. */
struct headwise_classify_call {
    size_t size; /* sizeof(struct headwise_classify_call) */

    int64_t n_texts;                   /* 0: nothing is done */
    const struct headwise_text *texts; /* [n_texts], as in struct headwise_embed_call */
    const struct headwise_text *pairs; /* [n_texts], the second texts; NULL: there are none. The
                                        * longer of the two is cut first. */

    bool score_is_set; /* false: as the folder says */
    enum headwise_score score;

    bool refuse_long, special_is_text, replace_invalid;

    float *scores; /* [n_texts][n_labels]; required */
    int64_t *n_tokens, *n_cut;
    const float *gates;
    int64_t max_pass_tokens;
    void (*progress)(void *user, int64_t n_done);
    void *progress_user;
};

/* Scores of each text or pair: a reranker's of (query, document), a classifier's of its labels.
 * Errors as in headwise_embed(), and HEADWISE_ERR_INVALID where the encoder gives vectors or scores
 * of tokens. Sigmoid and softmax are computed in double from the network's numbers and rounded
 * once. */
HEADWISE_API enum headwise_status headwise_classify(headwise_context *context,
                                                    const headwise_encoder *encoder,
                                                    const struct headwise_classify_call *call);

#ifdef __cplusplus
}
#endif
#endif
