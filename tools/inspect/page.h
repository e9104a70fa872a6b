/* Findings as a web page. */
#ifndef HEADWISE_TOOLS_INSPECT_PAGE_H
#define HEADWISE_TOOLS_INSPECT_PAGE_H

#include "common/json.h"
#include "headwise-io/file.h"
#include "inspect/findings.h"

/* Writes one file that needs nothing else: the page's text with the findings, as JSON, in it.
 * Returns an exit code. */
int page_write(const char *path, const struct findings *findings, const headwise_context *context);

/* Writes json between the two parts of a page, so that no text in it can end its element. */
int page_write_json(const char *path, const struct headwise_file_part *before,
                    const struct json *json, const struct headwise_file_part *after);

#endif
