/* Findings as JSON. */
#ifndef HEADWISE_TOOLS_INSPECT_JSON_H
#define HEADWISE_TOOLS_INSPECT_JSON_H

#include <jansson.h>

#include "inspect/findings.h"

/* Numbers that are not finite are null. NULL where memory runs out; free with json_decref(). */
json_t *json_from_findings(const struct findings *findings, const headwise_context *context);

/* Writes that to a file. Returns an exit code. */
int json_write_findings(const char *path, const struct findings *findings,
                        const headwise_context *context);

#endif
