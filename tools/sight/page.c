/* Writes what was found about a model's heads: as JSON, and as a page with it inside. */
#include <stdlib.h>

#include "common/message.h"
#include "headwise-io/file.h"
#include "inspect/page.h"
#include "sight/page_text.h"
#include "sight/report.h"

int sight_json_write(const char *path, struct arena *arena, const struct sight_report *report) {
    struct json json = {.digits = 9, .indent = 1};
    int code = sight_json_add(&json, arena, report, false);
    headwise_json_write(&json.writer, "\n", 1);
    if (!code)
        code = json_end(&json, path);
    const struct headwise_file_part part = {json.writer.text, json.writer.size};
    if (!code && headwise_file_write(path, &part, 1) != HEADWISE_OK)
        code = fail("%s", headwise_io_last_error());
    free(json.writer.text);
    return code;
}

int sight_page_write(const char *path, struct arena *arena, const struct sight_report *report) {
    struct json json = {.digits = 6};
    const struct headwise_file_part before = {sight_page_before, sight_page_before_size},
                                    after = {sight_page_after, sight_page_after_size};
    int code = sight_json_add(&json, arena, report, true);
    if (!code)
        code = page_write_json(path, &before, &json, &after);
    free(json.writer.text);
    return code;
}
