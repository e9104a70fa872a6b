/* Findings as a web page. */
#ifndef HEADWISE_TOOLS_INSPECT_PAGE_H
#define HEADWISE_TOOLS_INSPECT_PAGE_H

#include "inspect/findings.h"

/* Writes one file that needs nothing else: the page's text with the findings, as JSON, in it.
 * Returns an exit code. */
int page_write(const char *path, const struct findings *findings, const headwise_context *context);

#endif
