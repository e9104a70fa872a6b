/* Text to token ids and back, as the files of a model say: tokenizer.json of the Hugging Face hub,
 * vocab.txt of BERT, vocab.json with merges.txt of byte-level BPE. Ids, types, pieces, spans and
 * decoded text are those of Hugging Face's library tokenizers 0.23.
 *
 *     headwise_tokenizer_open(&tokenizer, "all-MiniLM-L6-v2", NULL);
 *     headwise_encoding_create(&encoding, NULL);
 *     headwise_encode(encoding, tokenizer, &(struct headwise_text){"A man is eating.", 16}, NULL,
 *                     NULL);
 *     headwise_encoding_tokens(encoding)->ids[0]   // 101, [CLS]
 *
 * The way of a text: added tokens are cut out; a normalizer changes characters; a pre-tokenizer
 * cuts the rest into words; a model (WordPiece, BPE, Unigram or WordLevel) cuts words into pieces;
 * a post-processor adds tokens such as [CLS]. Each part is a list of steps from the file; a step,
 * an option or a value that is not known is refused at opening by a line that names it.
 *
 * Time is linear in the text, times its logarithm for one word that has no end, and memory is
 * proportional to it, whatever the text; no text is recursed into. Text is UTF-8. All positions
 * are bytes of the text as it was given.
 *
 * A failing call leaves a line about it in headwise_model_last_error(). */
#ifndef HEADWISE_MODEL_TOKENIZER_H
#define HEADWISE_MODEL_TOKENIZER_H

#include <headwise/common.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One line, without a newline, about the calling thread's last call of this library that failed;
 * "" before the first. The storage is the thread's and is overwritten by its next failing call. */
HEADWISE_API const char *headwise_model_last_error(void);

/* size_bytes bytes of UTF-8 at bytes, without an end mark; U+0000 is a character as others are.
 * bytes may be NULL where size_bytes is 0. */
struct headwise_text {
    const char *bytes;
    size_t size_bytes;
};

/* ---- The tokenizer ---- */

/* Immutable after opening: any number of threads may use one at the same time. */
typedef struct headwise_tokenizer headwise_tokenizer;

/* Zero in every field but size is the default. */
struct headwise_tokenizer_options {
    size_t size; /* sizeof(struct headwise_tokenizer_options) */

    /* Where the tokenizer's memory comes from; NULL: aligned_alloc() and free(). Copied. */
    const struct headwise_allocator *allocator;

    /* For a vocab.txt, which does not say it: letters keep their case and their accents. */
    bool cased;
};

/* Opens the tokenizer at path: a file in the form of tokenizer.json; a vocab.txt (a name that ends
 * in .txt): one piece a line, with BERT's normalizer, pre-tokenizer and [CLS] ... [SEP]; or a
 * folder, in which tokenizer.json, vocab.json with merges.txt (GPT-2's byte-level BPE without
 * special tokens) and vocab.txt are looked for in that order. What tokenizer.json says of
 * truncation and padding is left aside: see struct headwise_encode_options. options may be NULL.
 *
 * HEADWISE_ERR_IO: there is no such file, or it cannot be read. HEADWISE_ERR_FORMAT: it is no
 * JSON, or not of the form: the line names the part. HEADWISE_ERR_UNSUPPORTED: a step that is not
 * known, a dropout, a regular expression that cannot be compiled. HEADWISE_ERR_INVALID: an
 * argument is NULL or an option out of range. HEADWISE_ERR_NO_MEMORY. On failure *tokenizer is
 * unchanged. */
HEADWISE_API enum headwise_status
headwise_tokenizer_open(headwise_tokenizer **tokenizer, const char *path,
                        const struct headwise_tokenizer_options *options);

/* Opens a tokenizer out of the bytes of a tokenizer.json, which are not needed afterwards. name
 * stands in error lines before what was found; NULL: "tokenizer.json". Statuses as above. */
HEADWISE_API enum headwise_status
headwise_tokenizer_parse(headwise_tokenizer **tokenizer, const void *json, size_t size_bytes,
                         const char *name, const struct headwise_tokenizer_options *options);

/* NULL is allowed. Encodings made with it stay readable, but for their pieces. */
HEADWISE_API void headwise_tokenizer_destroy(headwise_tokenizer *tokenizer);

/* One more than the largest id: rows that a table of embeddings needs. tokenizer must not be NULL,
 * here and in the next three functions. */
HEADWISE_API int32_t headwise_tokenizer_n_ids(const headwise_tokenizer *tokenizer);

/* The id of the added token or piece that is written so, -1 where there is none. */
HEADWISE_API int32_t headwise_tokenizer_id(const headwise_tokenizer *tokenizer,
                                           struct headwise_text piece);

/* How id is written ("##ing", a byte-level piece in its own alphabet); bytes is NULL where id names
 * nothing. Lives as long as the tokenizer. */
HEADWISE_API struct headwise_text headwise_tokenizer_piece(const headwise_tokenizer *tokenizer,
                                                           int32_t id);

/* Whether id is a special token: one that decoding leaves out on request. */
HEADWISE_API bool headwise_tokenizer_is_special(const headwise_tokenizer *tokenizer, int32_t id);

/* How many special tokens are added to a text (pair false) or to two of them. */
HEADWISE_API size_t headwise_tokenizer_n_added(const headwise_tokenizer *tokenizer, bool pair);

/* ---- Text to ids ---- */

/* Which of two texts is cut where they are too long together. */
enum headwise_truncation {
    HEADWISE_TRUNCATION_LONGEST_FIRST = 0, /* the longer one; both to halves where both are long */
    HEADWISE_TRUNCATION_ONLY_FIRST = 1,
    HEADWISE_TRUNCATION_ONLY_SECOND = 2
};

/* Zero in every field but size: no special tokens are added, nothing is cut, invalid UTF-8 is an
 * error. options == NULL is something else: special tokens are added, the rest as here. */
struct headwise_encode_options {
    size_t size; /* sizeof(struct headwise_encode_options) */

    bool add_special; /* add [CLS], <s> and so on, as the file's post-processor has it */

    /* What looks like a special token inside a text becomes that token, as Hugging Face's library
     * does it: a user who types </s> ends the sequence. true: it is text as any other. */
    bool special_is_text;

    /* Most tokens, added ones included; 0: no limit. Texts are cut before special tokens are
     * added, so that end tokens stay. */
    size_t max_tokens;
    enum headwise_truncation truncation;
    bool cut_left; /* cut from the beginning of a text, not from its end */

    bool replace_invalid; /* what is no UTF-8 is read as U+FFFD, one for each cut-off character */
};

/* Where a token comes from, in bytes: [begin, end) of its text. Tokens that were added have 0, 0.
 * Spans begin and end between characters. Two tokens may have the same span (bytes of one
 * character), and a span may be shorter than what became the piece: an accent that was composed
 * with its letter lies outside. */
struct headwise_span {
    size_t begin;
    size_t end;
};

struct headwise_tokens {
    size_t n;
    const int32_t *ids;
    const int32_t *types;              /* the second text's are 1 where the file says so */
    const struct headwise_span *spans; /* in text sources[i] */
    const int8_t *sources;             /* 0 the text, 1 its pair, -1 added */
    size_t n_cut[2]; /* tokens of the text and of its pair that max_tokens left out */
};

/* The result of a call, and the memory that calls need: reused, it soon allocates nothing. Also a
 * small cache of words that were seen, which is never shared. One thread at a time. */
typedef struct headwise_encoding headwise_encoding;

/* allocator NULL: aligned_alloc() and free(); it is copied. HEADWISE_ERR_INVALID: encoding is NULL,
 * or only one function is set. HEADWISE_ERR_NO_MEMORY. */
HEADWISE_API enum headwise_status
headwise_encoding_create(headwise_encoding **encoding, const struct headwise_allocator *allocator);

/* NULL is allowed. */
HEADWISE_API void headwise_encoding_destroy(headwise_encoding *encoding);

/* Cuts text, and pair where it is not NULL, into tokens.
 *
 * HEADWISE_ERR_INVALID: encoding, tokenizer or text is NULL, bytes is NULL and size_bytes is not
 * 0, an option is out of range; a text is no UTF-8: the line says at which byte; the tokens to be
 * cut do not suffice, or max_tokens is less than the number of tokens added; the second text is to
 * be cut and there is none. HEADWISE_ERR_FORMAT: a word is unknown and the file has no piece for
 * unknown words. HEADWISE_ERR_UNSUPPORTED: a regular expression of the file exceeds its limit of
 * steps on this text. HEADWISE_ERR_NO_MEMORY. After a failure the encoding has no tokens. */
HEADWISE_API enum headwise_status headwise_encode(headwise_encoding *encoding,
                                                  const headwise_tokenizer *tokenizer,
                                                  const struct headwise_text *text,
                                                  const struct headwise_text *pair,
                                                  const struct headwise_encode_options *options);

/* The tokens of the last call; n is 0 before the first. Valid until the next call with this
 * encoding. encoding must not be NULL, nor in the next function. */
HEADWISE_API const struct headwise_tokens *
headwise_encoding_tokens(const headwise_encoding *encoding);

/* The piece of token index: what headwise_tokenizer_piece() has for its id, but where that would
 * not tell what was read: Unigram's unknown pieces, and added tokens with the spaces that they
 * took. bytes is NULL where index is too large. The tokenizer must still be there. */
HEADWISE_API struct headwise_text headwise_encoding_piece(const headwise_encoding *encoding,
                                                          size_t index);

/* ---- Ids to text ---- */

/* Decodes ids of one tokenizer: a whole list, or a stream, one id after the other. One thread at a
 * time; the tokenizer must outlive it. */
typedef struct headwise_decoding headwise_decoding;

/* allocator as in headwise_encoding_create(). skip_special leaves special tokens out of the text.
 * HEADWISE_ERR_INVALID: decoding or tokenizer is NULL. HEADWISE_ERR_NO_MEMORY. */
HEADWISE_API enum headwise_status
headwise_decoding_create(headwise_decoding **decoding, const headwise_tokenizer *tokenizer,
                         bool skip_special, const struct headwise_allocator *allocator);

/* NULL is allowed. */
HEADWISE_API void headwise_decoding_destroy(headwise_decoding *decoding);

/* Decodes n ids into *text, which is valid until the next call with this decoding. Ids that name
 * nothing are left out, as Hugging Face's library does; bytes that are no UTF-8 become U+FFFD. A
 * stream that was begun is forgotten. HEADWISE_ERR_INVALID: an argument is NULL (ids may be where
 * n is 0). HEADWISE_ERR_NO_MEMORY; *text is then unchanged. */
HEADWISE_API enum headwise_status headwise_decode(headwise_decoding *decoding, const int32_t *ids,
                                                  size_t n, struct headwise_text *text);

/* Takes the next id of a stream; *text is what can be said now, often empty: bytes of a character
 * whose others may still come are held back, at most 64 tokens. All texts and that of
 * headwise_decode_end(), joined, are what headwise_decode() has for all ids, but where a decoder
 * looks back further (bytes that turn out invalid more than a character later). Statuses as in
 * headwise_decode(); after HEADWISE_ERR_NO_MEMORY the id is not taken. */
HEADWISE_API enum headwise_status headwise_decode_next(headwise_decoding *decoding, int32_t id,
                                                       struct headwise_text *text);

/* What was held back, and the end of the stream: the next id begins another one. */
HEADWISE_API enum headwise_status headwise_decode_end(headwise_decoding *decoding,
                                                      struct headwise_text *text);

#ifdef __cplusplus
}
#endif
#endif
