/* A SentencePiece vocabulary from a file of JSON, and its way from text to tokens. */
#include "vocabulary.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "end.h"

static void load_token(struct token *token, const char *path, int64_t id, const json_t *entry) {
    const char *hex = json_string_value(json_object_get(entry, "bytes_hex"));
    const json_t *score = json_object_get(entry, "score");
    if (!hex || !json_is_number(score) ||
        json_integer_value(json_object_get(entry, "id")) != (json_int_t)id)
        die("%s: entry %lld has no id, bytes_hex and score", path, (long long)id);
    token->length = strlen(hex) / 2;
    token->score = json_number_value(score);
    token->bytes = allocate((int64_t)token->length + 1, 1);
    for (size_t i = 0; i < token->length; i++) {
        unsigned byte;
        if (sscanf(hex + 2 * i, "%2x", &byte) != 1)
            die("%s: entry %lld: bytes_hex is no hexadecimal text", path, (long long)id);
        token->bytes[i] = (char)byte;
    }
}

void vocabulary_load(struct vocabulary *v, const char *folder) {
    char path[4096];
    json_error_t error;
    snprintf(path, sizeof path, "%s/vocab.json", folder);
    json_t *list = json_load_file(path, 0, &error);
    if (!list)
        die("%s: %s", path, error.text);
    if ((int64_t)json_array_size(list) != v->n_tokens)
        die("%s: has %zu tokens, expected %lld", path, json_array_size(list),
            (long long)v->n_tokens);
    v->tokens = allocate(v->n_tokens, sizeof *v->tokens);
    for (int64_t i = 0; i < v->n_tokens; i++)
        load_token(&v->tokens[i], path, i, json_array_get(list, (size_t)i));
    json_decref(list);
}

/* The token with these bytes; of several (a byte token and a letter) the last. -1: none. */
static int64_t find_token(const struct vocabulary *v, const char *bytes, size_t length) {
    for (int64_t i = v->n_tokens - 1; i >= 0; i--)
        if (v->tokens[i].length == length && memcmp(v->tokens[i].bytes, bytes, length) == 0)
            return i;
    return -1;
}

/* The token of two neighbours joined; -1: none. */
static int64_t find_pair(const struct vocabulary *v, int64_t left, int64_t right) {
    char bytes[256];
    const struct token *a = &v->tokens[left], *b = &v->tokens[right];
    if (a->length + b->length > sizeof bytes)
        return -1;
    memcpy(bytes, a->bytes, a->length);
    memcpy(bytes + a->length, b->bytes, b->length);
    return find_token(v, bytes, a->length + b->length);
}

int64_t vocabulary_encode(const struct vocabulary *v, const char *text, int64_t *ids) {
    int64_t n = 0;
    ids[n++] = v->bos;
    if (*text && find_token(v, " ", 1) >= 0)
        ids[n++] = find_token(v, " ", 1); /* SentencePiece begins a text with a space */
    for (size_t length; *text; text += length) {
        for (length = 1; length < 4 && (text[length] & 0xc0) == 0x80; length++) {
        } /* a character of UTF-8 */
        int64_t id = find_token(v, text, length);
        for (size_t i = 0; id < 0 && i < length; i++)
            if ((ids[n++] = find_token(v, text + i, 1)) < 0)
                die("the vocabulary has no token for byte %d", text[i] & 0xff);
        if (id >= 0)
            ids[n++] = id;
    }
    for (int64_t best = 0, at = 0; best >= 0;) {
        best = -1;
        for (int64_t i = 1; i + 1 < n; i++) {
            int64_t id = find_pair(v, ids[i], ids[i + 1]);
            if (id >= 0 && (best < 0 || v->tokens[id].score > v->tokens[best].score)) {
                best = id;
                at = i;
            }
        }
        if (best >= 0) {
            ids[at] = best;
            memmove(ids + at + 1, ids + at + 2, (size_t)(--n - at - 1) * sizeof *ids);
        }
    }
    return n;
}
