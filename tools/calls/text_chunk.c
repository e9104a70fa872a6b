/* Gathers texts of an input. */
#include "calls/text_chunk.h"

#include <stdlib.h>
#include <string.h>

#include "common/message.h"

/* Room for size bytes more. Texts are places until the chunk is complete, as the memory may move.
 */
static int reserve(struct text_chunk *chunk, size_t size) {
    if (chunk->capacity - chunk->n_bytes >= size)
        return EXIT_GOOD;
    size_t capacity = chunk->n_bytes + size + CHUNK_BYTES;
    char *more = realloc(chunk->bytes, capacity);
    if (!more)
        return fail("out of memory");
    chunk->bytes = more;
    chunk->capacity = capacity;
    return EXIT_GOOD;
}

static size_t keep(struct text_chunk *chunk, const char *bytes, size_t size) {
    size_t at = chunk->n_bytes;
    if (size > 0)
        memcpy(chunk->bytes + at, bytes, size);
    chunk->n_bytes += size;
    return at;
}

static int add(struct text_chunk *chunk, const struct text_request *request,
               const struct text_input *input) {
    int64_t i = chunk->n;
    if (request->has_special && !request->special)
        return fail("%s: line %lld: \"special\" is false: a network reads texts with their special "
                    "tokens",
                    input->name, input->line);
    int code =
        reserve(chunk, request->text.size_bytes + request->pair.size_bytes + request->id.size);
    if (code)
        return code;
    size_t text = keep(chunk, request->text.bytes, request->text.size_bytes);
    size_t pair = keep(chunk, request->pair.bytes, request->pair.size_bytes);
    size_t id = keep(chunk, request->id.at, request->id.size);
    chunk->texts[i] =
        (struct headwise_text){(const char *)(uintptr_t)text, request->text.size_bytes};
    chunk->pairs[i] =
        (struct headwise_text){(const char *)(uintptr_t)pair, request->pair.size_bytes};
    chunk->ids[i] = (struct headwise_json_slice){(const char *)(uintptr_t)id, request->id.size};
    chunk->n++;
    chunk->n_pairs += request->has_pair;
    return EXIT_GOOD;
}

int text_chunk_read(struct text_chunk *chunk, struct text_input *input) {
    struct text_request request;
    bool done = false;
    int code = EXIT_GOOD;
    chunk->n = chunk->n_pairs = 0;
    chunk->n_bytes = 0;
    while (!code && !done && chunk->n < CHUNK_TEXTS && chunk->n_bytes < CHUNK_BYTES) {
        code = text_input_next(input, &request, &done);
        if (!code && !done)
            code = add(chunk, &request, input);
        if (!code && chunk->n_pairs > 0 && chunk->n_pairs < chunk->n)
            code = fail("%s: line %lld: some texts have a \"pair\", expected all of them or none",
                        input->name, input->line);
    }
    char *bytes = chunk->bytes ? chunk->bytes : (char *)"";
    for (int64_t i = 0; i < chunk->n; i++) {
        chunk->texts[i].bytes = bytes + (uintptr_t)chunk->texts[i].bytes;
        chunk->pairs[i].bytes = bytes + (uintptr_t)chunk->pairs[i].bytes;
        chunk->ids[i].at = bytes + (uintptr_t)chunk->ids[i].at;
    }
    return code;
}

int text_chunk_fail(const struct text_input *input, int64_t n_before) {
    const char *line = headwise_model_last_error();
    if (!input->stream)
        return fail("%s", line);
    if (n_before == 0)
        return fail("%s: %s", input->name, line);
    return fail("%s: behind line %lld: %s", input->name, (long long)n_before, line);
}

void text_chunk_free(struct text_chunk *chunk) {
    free(chunk->bytes);
    *chunk = (struct text_chunk){0};
}

void text_print_quoted(struct headwise_text text) {
    putchar('"');
    for (size_t i = 0; i < text.size_bytes; i++) {
        unsigned char c = (unsigned char)text.bytes[i];
        if (c == '"' || c == '\\')
            printf("\\%c", c);
        else if (c < 0x20 || c == 0x7f)
            printf("\\u%04x", c);
        else
            putchar(c);
    }
    putchar('"');
}
