/* A SentencePiece vocabulary from a file of JSON, and its way from text to tokens. */
#include "vocabulary.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "end.h"
#include "json/reader.h"

/* Bytes from two hexadecimal digits each. */
static bool read_hex(struct token *token, const struct headwise_json_text *text) {
    char *hex = allocate((int64_t)text->size + 1, 1);
    headwise_json_copy(hex, text);
    token->length = text->size / 2;
    token->bytes = allocate((int64_t)token->length + 1, 1);
    size_t n = 0;
    for (unsigned byte; n < token->length && sscanf(hex + 2 * n, "%2x", &byte) == 1; n++)
        token->bytes[n] = (char)byte;
    free(hex);
    return n == token->length;
}

/* {"id": 5, "bytes_hex": "6162", "score": -3.5} */
static void read_token(struct token *token, struct headwise_json_reader *json, int64_t id) {
    const char *at = json->at;
    struct headwise_json_text key, hex;
    struct headwise_json_number number;
    bool has_bytes = false, has_score = false;
    int64_t found = -1;
    headwise_json_enter_object(json);
    while (headwise_json_next_key(json, &key)) {
        if (headwise_json_equals(&key, "bytes_hex"))
            has_bytes = headwise_json_take_text(json, &hex) && read_hex(token, &hex);
        else if (headwise_json_equals(&key, "score"))
            has_score = headwise_json_take_number(json, &number) &&
                        headwise_json_to_double(&number, &token->score);
        else if (headwise_json_equals(&key, "id"))
            (void)(headwise_json_take_number(json, &number) &&
                   headwise_json_to_int64(&number, &found));
        else
            headwise_json_skip(json, NULL);
    }
    if (!json->error && (!has_bytes || !has_score || found != id))
        headwise_json_fail(json, at, "expected a token with its id, bytes_hex and score");
}

/* A file's bytes, for free(). */
static char *read_file(size_t *size, const char *path) {
    FILE *stream = fopen(path, "rb");
    if (!stream || fseek(stream, 0, SEEK_END) != 0)
        die("%s: cannot be read", path);
    long end = ftell(stream);
    char *bytes = allocate(end + 1, 1);
    rewind(stream);
    *size = fread(bytes, 1, (size_t)end, stream);
    fclose(stream);
    return bytes;
}

void vocabulary_load(struct vocabulary *v, const char *folder) {
    char path[4096], line[200];
    struct headwise_json_reader json;
    size_t size;
    int64_t n = 0;
    snprintf(path, sizeof path, "%s/vocab.json", folder);
    char *bytes = read_file(&size, path);
    v->tokens = allocate(v->n_tokens, sizeof *v->tokens);
    headwise_json_begin(&json, bytes, size);
    headwise_json_enter_array(&json);
    for (; headwise_json_next_item(&json); n++) {
        if (n < v->n_tokens)
            read_token(&v->tokens[n], &json, n);
        else
            headwise_json_skip(&json, NULL);
    }
    if (!headwise_json_end(&json)) {
        headwise_json_describe(line, sizeof line, &json);
        die("%s: %s", path, line);
    }
    if (n != v->n_tokens)
        die("%s: has %lld tokens, expected %lld", path, (long long)n, (long long)v->n_tokens);
    free(bytes);
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
