/* The page with the findings put into it. */
#include "inspect/page.h"

#include <stdlib.h>
#include <string.h>

#include "common/message.h"
#include "headwise-io/file.h"
#include "inspect/json.h"
#include "inspect/page_text.h"

/* In JSON '<' stands in texts alone, where \u003c is the same: no token can end the element. NULL
 * where memory runs out. */
static char *escape(const char *json) {
    size_t n = strlen(json);
    for (const char *c = json; *c; c++)
        n += *c == '<' ? 5 : 0;
    char *escaped = malloc(n + 1), *to = escaped;
    for (const char *c = json; escaped && *c; c++) {
        if (*c == '<') {
            memcpy(to, "\\u003c", 6);
            to += 6;
        } else {
            *to++ = *c;
        }
    }
    if (escaped)
        *to = '\0';
    return escaped;
}

int page_write(const char *path, const struct findings *findings, const headwise_context *context) {
    json_t *root = json_from_findings(findings, context);
    char *json = root ? json_dumps(root, JSON_COMPACT | JSON_REAL_PRECISION(6)) : NULL;
    char *escaped = json ? escape(json) : NULL;
    int code = EXIT_GOOD;
    if (!escaped) {
        code = fail("%s: out of memory", path);
    } else {
        const struct headwise_file_part parts[] = {{page_before, page_before_size},
                                                   {escaped, strlen(escaped)},
                                                   {page_after, page_after_size}};
        if (headwise_file_write(path, parts, 3) != HEADWISE_OK)
            code = fail("%s", headwise_io_last_error());
    }
    free(escaped);
    free(json);
    json_decref(root);
    return code;
}
