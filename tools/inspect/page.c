/* The page with the findings put into it. */
#include "inspect/page.h"

#include <stdlib.h>
#include <string.h>

#include "common/message.h"
#include "inspect/json.h"
#include "inspect/page_text.h"

/* In JSON '<' stands in texts alone, where \u003c is the same: no token can end the element. */
static void escape(struct headwise_json_writer *escaped, const struct headwise_json_writer *json) {
    const char *at = json->text, *end = json->text + json->size;
    while (at < end) {
        const char *found = memchr(at, '<', (size_t)(end - at)), *stop = found ? found : end;
        headwise_json_write(escaped, at, (size_t)(stop - at));
        if (found)
            headwise_json_write_raw(escaped, "\\u003c");
        at = found ? found + 1 : end;
    }
}

int page_write_json(const char *path, const struct headwise_file_part *before,
                    const struct json *json, const struct headwise_file_part *after) {
    struct json escaped = {0};
    int code = json_end(json, path);
    if (!code) {
        escape(&escaped.writer, &json->writer);
        code = json_end(&escaped, path);
    }
    const struct headwise_file_part parts[] = {
        *before, {escaped.writer.text, escaped.writer.size}, *after};
    if (!code && headwise_file_write(path, parts, 3) != HEADWISE_OK)
        code = fail("%s", headwise_io_last_error());
    free(escaped.writer.text);
    return code;
}

int page_write(const char *path, const struct findings *findings, const headwise_context *context) {
    struct json json = {.digits = 6};
    const struct headwise_file_part before = {page_before, page_before_size},
                                    after = {page_after, page_after_size};
    json_add_findings(&json, findings, context);
    int code = page_write_json(path, &before, &json, &after);
    free(json.writer.text);
    return code;
}
