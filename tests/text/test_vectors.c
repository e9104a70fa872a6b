/* Ids, types, pieces, spans, decoded and streamed text of Hugging Face's tokenizers, on 15 of their
 * tokenizers, in the folder HEADWISE_VECTORS. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmocka_headers.h"
#include "vector_line.h"

static const char *const folders[] = {
    "bpe_clip",       "bpe_falcon", "bpe_gemma",    "bpe_llama2", "bpe_llama3",
    "bpe_modernbert", "bpe_qwen",   "bpe_roberta",  "minilm",     "smollm2",
    "unigram_bytes",  "unigram_t5", "unigram_xlmr", "wordlevel",  "wordpiece_cased",
};

enum { N_LINES = 467, N_SHOWN = 5 };

struct run {
    headwise_tokenizer *tokenizer;
    headwise_encoding *encoding;
    headwise_decoding *decodings[2]; /* with special tokens, without */
    struct vector_line line;
    char why[400];
};

static bool differ(struct run *run, const char *what, size_t at, const char *got, size_t got_size,
                   const char *expected, size_t expected_size) {
    snprintf(run->why, sizeof run->why, "%s %zu: '%.*s', expected '%.*s'", what, at, (int)got_size,
             got, (int)expected_size, expected);
    return false;
}

static bool differ_number(struct run *run, const char *what, size_t at, int64_t got,
                          int64_t expected) {
    snprintf(run->why, sizeof run->why, "%s %zu: %lld, expected %lld", what, at, (long long)got,
             (long long)expected);
    return false;
}

static bool same_text(struct run *run, const char *what, size_t at, struct headwise_text got,
                      struct headwise_text expected) {
    if (got.size_bytes == expected.size_bytes &&
        (got.size_bytes == 0 || memcmp(got.bytes, expected.bytes, got.size_bytes) == 0))
        return true;
    return differ(run, what, at, got.bytes, got.size_bytes, expected.bytes, expected.size_bytes);
}

/* The number of the character that byte at of the text belongs to: the files count characters. */
static int64_t character_of(struct headwise_text text, size_t at) {
    int64_t n = 0;
    for (size_t i = 1; i <= at && i < text.size_bytes; i++)
        n += ((unsigned char)text.bytes[i] & 0xc0) != 0x80;
    return at >= text.size_bytes && at > 0 ? n + 1 : n;
}

static bool same_tokens(struct run *run) {
    const struct headwise_tokens *tokens = headwise_encoding_tokens(run->encoding);
    const struct vector_line *line = &run->line;
    for (size_t i = 0; i < tokens->n && i < line->n_ids; i++) {
        if (tokens->ids[i] != line->ids[i])
            return differ_number(run, "id", i, tokens->ids[i], line->ids[i]);
        if (tokens->types[i] != line->types[i])
            return differ_number(run, "type", i, tokens->types[i], line->types[i]);
        if (line->n_tokens == 0)
            continue;
        struct headwise_text piece = headwise_encoding_piece(run->encoding, i);
        if (!same_text(run, "piece", i, piece, line->tokens[i]))
            return false;
        struct headwise_text text = tokens->sources[i] == 1 ? line->pair : line->text;
        int64_t begin = character_of(text, tokens->spans[i].begin);
        int64_t end = character_of(text, tokens->spans[i].end);
        if (tokens->sources[i] < 0)
            begin = end = 0;
        if (begin != line->offsets[i][0])
            return differ_number(run, "begin", i, begin, line->offsets[i][0]);
        if (end != line->offsets[i][1])
            return differ_number(run, "end", i, end, line->offsets[i][1]);
    }
    return tokens->n == line->n_ids ||
           differ_number(run, "tokens", 0, (int64_t)tokens->n, (int64_t)line->n_ids);
}

static bool same_decoded(struct run *run, bool skip_special) {
    const struct headwise_tokens *tokens = headwise_encoding_tokens(run->encoding);
    struct headwise_text expected = skip_special ? run->line.decoded : run->line.decoded_all;
    struct headwise_text text, part;
    headwise_decoding *decoding = run->decodings[skip_special];
    assert_int_equal(headwise_decode(decoding, tokens->ids, tokens->n, &text), HEADWISE_OK);
    if (!same_text(run, "decoded", skip_special, text, expected))
        return false;
    static char streamed[LINE_BYTES];
    size_t n = 0;
    for (size_t i = 0; i <= tokens->n; i++) {
        enum headwise_status status = i < tokens->n
                                          ? headwise_decode_next(decoding, tokens->ids[i], &part)
                                          : headwise_decode_end(decoding, &part);
        assert_int_equal(status, HEADWISE_OK);
        if (part.size_bytes > 0)
            memcpy(streamed + n, part.bytes, part.size_bytes);
        n += part.size_bytes;
    }
    return same_text(run, "streamed", skip_special, (struct headwise_text){streamed, n}, expected);
}

static bool passes(struct run *run) {
    const struct vector_line *line = &run->line;
    struct headwise_encode_options options = {
        .size = sizeof options, .add_special = line->special, .max_tokens = (size_t)line->limit};
    if (!line->has_limit)
        options.max_tokens = 0;
    if (strncmp(line->strategy.bytes, "only_second", line->strategy.size_bytes) == 0 &&
        line->strategy.size_bytes > 0)
        options.truncation = HEADWISE_TRUNCATION_ONLY_SECOND;
    enum headwise_status status = headwise_encode(run->encoding, run->tokenizer, &line->text,
                                                  line->has_pair ? &line->pair : NULL, &options);
    if (line->has_error)
        return status == HEADWISE_ERR_INVALID || differ_number(run, "status", 0, status, 1);
    if (status)
        return differ(run, "error", 0, headwise_model_last_error(),
                      strlen(headwise_model_last_error()), "", 0);
    return same_tokens(run) &&
           (!line->has_decoded || (same_decoded(run, true) && same_decoded(run, false)));
}

/* The folder's tokenizer.json; two are real models' files and lie with these. */
static bool find_tokenizer(char *path, size_t size, const char *folder) {
    const char *vectors = getenv("HEADWISE_VECTORS"), *models = getenv("HEADWISE_MODELS");
    if (models && models[0] == '\0')
        models = NULL;
    snprintf(path, size, "%s/tokenizers/%s/tokenizer.json", vectors, folder);
    FILE *file = fopen(path, "r");
    if (!file && models) {
        snprintf(path, size, "%s/%s/tokenizer.json", models, folder);
        file = fopen(path, "r");
    }
    if (!file && models && strcmp(folder, "smollm2") == 0) { /* it is in the GGUF */
        char command[8192];
        snprintf(command, sizeof command, "python3 '%s' '%s/smollm2.gguf' smollm2-tokenizer.json",
                 getenv("HEADWISE_GGUF_TOKENIZER"), models);
        snprintf(path, size, "smollm2-tokenizer.json");
        if (system(command) == 0)
            file = fopen(path, "r");
    }
    if (file)
        fclose(file);
    return file;
}

static int run_lines(struct run *run, const char *folder, FILE *lines) {
    char *json = NULL;
    size_t capacity = 0;
    int n = 0, n_passed = 0;
    for (ssize_t size; (size = getline(&json, &capacity, lines)) > 0; n++) {
        vector_line_read(&run->line, json, (size_t)size);
        if (passes(run))
            n_passed++;
        else if (n - n_passed < N_SHOWN)
            print_message("%s:%d: %s\n  in '%.*s'\n", folder, n + 1, run->why,
                          run->line.text.size_bytes < 200 ? (int)run->line.text.size_bytes : 200,
                          run->line.text.bytes);
    }
    free(json);
    print_message("%s: %d of %d\n", folder, n_passed, n);
    assert_int_equal(n, N_LINES);
    return n_passed;
}

static void has_the_same_tokens(void **state) {
    const char *folder = *state, *vectors = getenv("HEADWISE_VECTORS");
    char path[4096];
    if (!vectors) {
        print_message("HEADWISE_VECTORS is not set\n");
        skip();
    }
    if (!find_tokenizer(path, sizeof path, folder)) {
        print_message("%s: no tokenizer.json; HEADWISE_MODELS has none\n", folder);
        skip();
    }
    struct run *run = calloc(1, sizeof *run);
    assert_non_null(run);
    if (headwise_tokenizer_open(&run->tokenizer, path, NULL))
        fail_msg("%s", headwise_model_last_error());
    assert_int_equal(headwise_encoding_create(&run->encoding, NULL), HEADWISE_OK);
    for (int i = 0; i < 2; i++)
        assert_int_equal(headwise_decoding_create(&run->decodings[i], run->tokenizer, i == 1, NULL),
                         HEADWISE_OK);
    snprintf(path, sizeof path, "%s/tokenizers/%s/cases.jsonl", vectors, folder);
    FILE *lines = fopen(path, "r");
    assert_non_null(lines);
    assert_int_equal(run_lines(run, folder, lines), N_LINES);
    fclose(lines);
    headwise_decoding_destroy(run->decodings[0]);
    headwise_decoding_destroy(run->decodings[1]);
    headwise_encoding_destroy(run->encoding);
    headwise_tokenizer_destroy(run->tokenizer);
    free(run);
}

int main(void) {
    enum { N = sizeof folders / sizeof *folders };
    struct CMUnitTest tests[N];
    for (size_t i = 0; i < N; i++)
        tests[i] =
            (struct CMUnitTest){folders[i], has_the_same_tokens, NULL, NULL, (void *)folders[i]};
    return cmocka_run_group_tests_name("text/vectors", tests, NULL, NULL);
}
