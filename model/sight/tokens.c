/* Cuts the text into tokens, and tells which of them are special, punctuation, and of one word. */
#include <string.h>

#include "base/error.h"
#include "encode/batch.h"
#include "sight/sight.h"
#include "text/unicode.h"

static const char where[] = "sight_create";

/* A copy of the text that lives as long as the sight, with the prompt before it. */
static enum headwise_status keep_text(headwise_sight *sight, struct headwise_text *kept,
                                      const struct headwise_text *prompt,
                                      const struct headwise_text *text) {
    size_t size = prompt->size_bytes + text->size_bytes;
    if (!text->bytes && text->size_bytes > 0)
        return headwise_model_fail(HEADWISE_ERR_INVALID, "%s: the bytes of a text are NULL", where);
    if (size < text->size_bytes || size > INT32_MAX)
        return headwise_model_fail(HEADWISE_ERR_INVALID, "%s: a text is longer than 2^31 bytes",
                                   where);
    char *bytes = headwise_sight_take(&sight->room, (int64_t)size, 1);
    if (!bytes)
        return headwise_model_no_memory(where);
    if (prompt->size_bytes > 0)
        memcpy(bytes, prompt->bytes, prompt->size_bytes);
    if (text->size_bytes > 0)
        memcpy(bytes + prompt->size_bytes, text->bytes, text->size_bytes);
    *kept = (struct headwise_text){bytes, size};
    return HEADWISE_OK;
}

static enum headwise_status encode(headwise_sight *sight, const struct headwise_sight_call *call) {
    const struct headwise_encoder_info *info = &sight->encoder->info;
    const struct headwise_text none = {"", 0};
    const struct headwise_embed_call prompted = {.size = sizeof prompted};
    const struct headwise_encode_options options = {
        .size = sizeof options,
        .add_special = true,
        .special_is_text = call->special_is_text,
        .max_tokens = call->refuse_long ? 0 : (size_t)info->max_tokens,
        .replace_invalid = call->replace_invalid};
    struct headwise_text prompt = none, *texts = sight->info.texts;
    enum headwise_status status = HEADWISE_OK;
    if (sight->encoder->n_poolings > 0)
        status = headwise_encoder_find_prompt(sight->encoder, &prompted, &prompt);
    if (!status && sight->encoder->leaves_prompt_out && prompt.size_bytes > 0)
        status = headwise_batch_measure(&sight->first_row, sight->encoder, &prompt);
    if (!status)
        status = keep_text(sight, &texts[0], &prompt, call->text);
    if (!status && call->pair)
        status = keep_text(sight, &texts[1], &none, call->pair);
    if (!status)
        status = headwise_encoding_create(&sight->encoding, sight->room.memory);
    if (!status)
        status = headwise_encode(sight->encoding, info->tokenizer, &texts[0],
                                 call->pair ? &texts[1] : NULL, &options);
    return status;
}

static enum headwise_status make_room(headwise_sight *sight, int64_t n) {
    sight->info.n_tokens = n;
    sight->tokens = headwise_sight_take(&sight->room, n, sizeof *sight->tokens);
    sight->ids = headwise_sight_take(&sight->room, n, sizeof *sight->ids);
    sight->types = headwise_sight_take(&sight->room, n, sizeof *sight->types);
    return sight->tokens && sight->ids && sight->types ? HEADWISE_OK
                                                       : headwise_model_no_memory(where);
}

static enum headwise_status take_text(headwise_sight *sight,
                                      const struct headwise_sight_call *call) {
    enum headwise_status status = encode(sight, call);
    if (status)
        return status;
    const struct headwise_tokens *tokens = headwise_encoding_tokens(sight->encoding);
    int64_t most = sight->encoder->info.max_tokens;
    if (tokens->n > (size_t)most)
        return headwise_model_fail(HEADWISE_ERR_INVALID,
                                   "%s: the text has %zu tokens, expected at most %lld", where,
                                   tokens->n, (long long)most);
    status = make_room(sight, (int64_t)tokens->n);
    if (status)
        return status;
    sight->info.n_cut = (int64_t)(tokens->n_cut[0] + tokens->n_cut[1]);
    for (size_t i = 0; i < tokens->n; i++) {
        sight->ids[i] = tokens->ids[i];
        sight->types[i] = tokens->types[i];
        sight->tokens[i] = (struct headwise_sight_token){.source = tokens->sources[i],
                                                         .is_special = tokens->sources[i] < 0,
                                                         .span = tokens->spans[i]};
    }
    if (!sight->encoder->gives_types)
        sight->types = NULL;
    return HEADWISE_OK;
}

static enum headwise_status take_ids(headwise_sight *sight,
                                     const struct headwise_sight_call *call) {
    if (call->n_tokens < 1 || call->n_tokens > INT32_MAX)
        return headwise_model_fail(HEADWISE_ERR_INVALID, "%s: n_tokens is %lld, expected 1 or more",
                                   where, (long long)call->n_tokens);
    enum headwise_status status = make_room(sight, call->n_tokens);
    if (status)
        return status;
    memcpy(sight->ids, call->ids, (size_t)call->n_tokens * sizeof *sight->ids);
    if (call->types)
        memcpy(sight->types, call->types, (size_t)call->n_tokens * sizeof *sight->types);
    else
        sight->types = NULL;
    for (int64_t i = 0; i < call->n_tokens; i++)
        sight->tokens[i].source = -1;
    return HEADWISE_OK;
}

/* What is written there: the text's own bytes, or, of ids, the piece. */
static struct headwise_text spelling(const headwise_sight *sight,
                                     const struct headwise_sight_token *token) {
    if (token->source < 0)
        return token->piece;
    const struct headwise_text *text = &sight->info.texts[token->source];
    return (struct headwise_text){text->bytes + token->span.begin,
                                  token->span.end - token->span.begin};
}

static bool all_punctuation(struct headwise_text text) {
    size_t valid = text.bytes ? headwise_utf8_valid(text.bytes, text.size_bytes) : 0, size = 0;
    bool found = false;
    for (size_t at = 0; at < valid; at += size) {
        unsigned kind = headwise_text_class(headwise_utf8_read(text.bytes + at, &size));
        if (!(kind & (HEADWISE_CLASS_PUNCTUATION | HEADWISE_CLASS_SPACE)))
            return false;
        found = found || (kind & HEADWISE_CLASS_PUNCTUATION);
    }
    return found && valid == text.size_bytes;
}

/* Whether a token goes on where the one before it ends, as a part of its word. */
static bool continues(const headwise_sight *sight, const struct headwise_sight_token *before,
                      const struct headwise_sight_token *token) {
    struct headwise_text text = spelling(sight, token);
    size_t size = 0;
    if (token->source < 0 || before->source != token->source || before->is_punctuation ||
        token->is_punctuation)
        return false;
    if (text.size_bytes > 0 && before->span.begin == token->span.begin)
        return true; /* bytes of one character */
    if (before->span.end != token->span.begin || text.size_bytes == 0 ||
        headwise_utf8_valid(text.bytes, text.size_bytes) != text.size_bytes)
        return false;
    uint32_t c = headwise_utf8_read(text.bytes, &size);
    return c < 0x3000 && !(headwise_text_class(c) & HEADWISE_CLASS_SPACE);
}

static void name_tokens(headwise_sight *sight) {
    const headwise_tokenizer *tokenizer = sight->encoder->info.tokenizer;
    for (int64_t i = 0; i < sight->info.n_tokens; i++) {
        struct headwise_sight_token *token = &sight->tokens[i];
        token->id = sight->ids[i];
        token->piece = headwise_tokenizer_piece(tokenizer, token->id);
        token->is_special |= headwise_tokenizer_is_special(tokenizer, token->id);
        token->is_punctuation = !token->is_special && all_punctuation(spelling(sight, token));
        token->word =
            i == 0 ? 0
                   : sight->tokens[i - 1].word + !continues(sight, &sight->tokens[i - 1], token);
    }
}

enum headwise_status headwise_sight_read(headwise_sight *sight,
                                         const struct headwise_sight_call *call) {
    if (!call->text == !call->ids || (call->pair && !call->text))
        return headwise_model_fail(HEADWISE_ERR_INVALID,
                                   "%s: expected a text, with or without a pair, or ids", where);
    enum headwise_status status = call->text ? take_text(sight, call) : take_ids(sight, call);
    if (!status && sight->info.n_tokens == 0)
        status = headwise_model_fail(HEADWISE_ERR_INVALID, "%s: the text has no token", where);
    if (!status)
        name_tokens(sight);
    return status;
}
