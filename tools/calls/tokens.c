/* Names of tokens from an option, a file of lines or JSON, or metadata. */
#define _POSIX_C_SOURCE 200809L
#include "calls/tokens.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "common/message.h"
#include "common/text.h"
#include "json/reader.h"

enum { LARGEST_FILE = 1 << 26 }; /* far beyond any prompt, for a path that was mistaken */

static int check_count(const char *source, int64_t found, int64_t n) {
    if (found == n)
        return EXIT_GOOD;
    return fail("%s has %lld tokens, expected %lld", source, (long long)found, (long long)n);
}

int tokens_split(const char ***tokens, struct arena *arena, const char *text, int64_t n,
                 const char *source) {
    char *copy = text_clean(arena, text, strlen(text));
    int64_t found = 0;
    *tokens = arena_take(arena, n, sizeof **tokens);
    if (!copy || !*tokens)
        return EXIT_UNUSABLE;
    for (char *token = strtok(copy, " "); token; token = strtok(NULL, " ")) {
        if (found < n)
            (*tokens)[found] = token;
        found++;
    }
    return check_count(source, found, n);
}

static int read_file(char **bytes, size_t *size, struct arena *arena, const char *path,
                     int64_t expected_size) {
    FILE *stream = fopen(path, "rb");
    *bytes = NULL;
    *size = 0;
    if (!stream)
        return fail("%s: cannot be opened: %s", path, strerror(errno));
    if (expected_size <= LARGEST_FILE)
        *bytes = arena_take(arena, expected_size + 1, 1);
    *size = *bytes ? fread(*bytes, 1, (size_t)expected_size, stream) : 0;
    bool failed = ferror(stream) != 0;
    fclose(stream);
    if (failed)
        return fail("%s: cannot be read", path);
    if (expected_size > LARGEST_FILE)
        return fail("%s: %lld bytes, expected a list of tokens of at most %d", path,
                    (long long)expected_size, LARGEST_FILE);
    return *bytes ? EXIT_GOOD : EXIT_UNUSABLE;
}

/* A text of JSON as a C string; a NUL in it ends it. */
static const char *copy_text(struct arena *arena, const struct headwise_json_text *text) {
    char *copy = arena_take(arena, (int64_t)text->size + 1, 1);
    if (copy)
        headwise_json_copy(copy, text);
    return copy;
}

static int read_json(const char **tokens, struct arena *arena, const char *path, const char *bytes,
                     size_t size, int64_t n) {
    struct headwise_json_reader json;
    struct headwise_json_text text;
    int64_t found = 0, other = -1;
    headwise_json_begin(&json, bytes, size);
    headwise_json_enter_array(&json);
    for (; headwise_json_next_item(&json); found++) {
        if (headwise_json_peek(&json) != HEADWISE_JSON_TEXT) {
            other = other < 0 ? found : other;
            headwise_json_skip(&json, NULL);
        } else if (headwise_json_take_text(&json, &text) && found < n) {
            if (!(tokens[found] = copy_text(arena, &text)))
                return EXIT_UNUSABLE;
        }
    }
    headwise_json_end(&json);
    if (json.error) {
        char line[200];
        headwise_json_describe(line, sizeof line, &json);
        return fail("%s: %s, expected a JSON array of texts", path, line);
    }
    int code = check_count(path, found, n);
    return code || other < 0 ? code : fail("%s: element %lld is no text", path, (long long)other);
}

static int read_lines(const char **tokens, struct arena *arena, const char *path, const char *bytes,
                      size_t size, int64_t n) {
    const char *end = bytes + size;
    int64_t found = 0;
    for (const char *line = bytes; line < end; found++) {
        const char *newline = memchr(line, '\n', (size_t)(end - line));
        const char *stop = newline ? newline : end;
        size_t length = (size_t)(stop - line);
        if (newline && length > 0 && line[length - 1] == '\r')
            length--;
        if (found < n && !(tokens[found] = text_clean(arena, line, length)))
            return EXIT_UNUSABLE;
        line = newline ? newline + 1 : end;
    }
    return check_count(path, found, n);
}

int tokens_read(const char ***tokens, struct arena *arena, const char *text, int64_t n,
                const char *source) {
    struct stat info;
    if (stat(text, &info) != 0 || !S_ISREG(info.st_mode)) {
        if (n != 1 && *text && !strchr(text, ' '))
            return fail("%s has 1 tokens, expected %lld, or a file: \"%s\" is none", source,
                        (long long)n, text);
        return tokens_split(tokens, arena, text, n, source);
    }
    char *bytes;
    size_t size;
    int code = read_file(&bytes, &size, arena, text, info.st_size);
    *tokens = arena_take(arena, n, sizeof **tokens);
    if (code || !*tokens)
        return EXIT_UNUSABLE;
    size_t blank = strspn(bytes, " \t\r\n");
    return bytes[blank] == '[' ? read_json(*tokens, arena, text, bytes, size, n)
                               : read_lines(*tokens, arena, text, bytes, size, n);
}
