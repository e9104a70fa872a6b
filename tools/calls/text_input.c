/* Reads the texts of a command: operands, lines, or lines with objects. */
#define _POSIX_C_SOURCE 200809L
#include "calls/text_chunk.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/message.h"

static int fail_line(const struct text_input *input, const char *problem) {
    return fail("%s: line %lld: %s", input->name, input->line, problem);
}

static int take_text(struct text_input *input, struct headwise_json_reader *json, int which,
                     struct headwise_text *text) {
    struct headwise_json_text value;
    if (!headwise_json_take_text(json, &value))
        return EXIT_GOOD; /* the reader has the error */
    free(input->decoded[which]);
    input->decoded[which] = malloc(value.size + 1);
    if (!input->decoded[which])
        return fail("out of memory");
    headwise_json_copy(input->decoded[which], &value);
    *text = (struct headwise_text){input->decoded[which], value.size};
    return EXIT_GOOD;
}

/* {"text": ..., "pair": ..., "special": true, "id": anything} */
static int read_object(struct text_input *input, struct text_request *request, size_t size) {
    struct headwise_json_reader json;
    struct headwise_json_text key;
    bool has_text = false;
    int code = EXIT_GOOD;
    headwise_json_begin(&json, input->buffer, size);
    headwise_json_enter_object(&json);
    while (!code && headwise_json_next_key(&json, &key)) {
        if (headwise_json_equals(&key, "text")) {
            has_text = true;
            code = take_text(input, &json, 0, &request->text);
        } else if (headwise_json_equals(&key, "pair") &&
                   headwise_json_peek(&json) != HEADWISE_JSON_NULL) {
            request->has_pair = true;
            code = take_text(input, &json, 1, &request->pair);
        } else if (headwise_json_equals(&key, "special")) {
            request->has_special = headwise_json_take_bool(&json, &request->special);
        } else if (headwise_json_equals(&key, "id")) {
            headwise_json_skip(&json, &request->id);
        } else {
            headwise_json_skip(&json, NULL);
        }
    }
    headwise_json_end(&json);
    if (code)
        return code;
    if (json.error) {
        char line[200];
        headwise_json_describe(line, sizeof line, &json);
        return fail_line(input, line);
    }
    return has_text ? EXIT_GOOD : fail_line(input, "has no \"text\"");
}

int text_input_open(struct text_input *input, const struct option_texts *texts, const char *path,
                    bool is_json, const char *command) {
    *input = (struct text_input){.texts = *texts, .name = path, .is_json = is_json};
    if (!path && texts->n == 0)
        return fail("%s: no text is given, and no --input; see headwise help %s", command, command);
    if (path && texts->n > 0)
        return fail("%s: texts are given as operands and as --input", command);
    if (!path)
        return EXIT_GOOD;
    bool is_standard = strcmp(path, "-") == 0;
    if (is_standard)
        input->name = "standard input";
    input->stream = is_standard ? stdin : fopen(path, "rb");
    return input->stream ? EXIT_GOOD : fail("%s: cannot be opened: %s", path, strerror(errno));
}

int text_input_next(struct text_input *input, struct text_request *request, bool *done) {
    *request = (struct text_request){0};
    if (!input->stream) {
        *done = input->next == input->texts.n;
        if (!*done) {
            const char *text = input->texts.at[input->next++];
            request->text = (struct headwise_text){text, strlen(text)};
        }
        return EXIT_GOOD;
    }
    ssize_t size = getline(&input->buffer, &input->capacity, input->stream);
    *done = size < 0;
    if (size < 0)
        return feof(input->stream) ? EXIT_GOOD : fail("%s: cannot be read", input->name);
    input->line++;
    if (size > 0 && input->buffer[size - 1] == '\n')
        size--;
    if (input->is_json)
        return read_object(input, request, (size_t)size);
    if (size > 0 && input->buffer[size - 1] == '\r')
        size--;
    request->text = (struct headwise_text){input->buffer, (size_t)size};
    return EXIT_GOOD;
}

void text_input_close(struct text_input *input) {
    if (input->stream && input->stream != stdin)
        fclose(input->stream);
    free(input->buffer);
    free(input->decoded[0]);
    free(input->decoded[1]);
}
