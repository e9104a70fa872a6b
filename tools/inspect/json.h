/* Findings as JSON. */
#ifndef HEADWISE_TOOLS_INSPECT_JSON_H
#define HEADWISE_TOOLS_INSPECT_JSON_H

#include "common/json.h"
#include "inspect/findings.h"

/* Writes all findings as one object. Numbers that are not finite are null. */
void json_add_findings(struct json *json, const struct findings *findings,
                       const headwise_context *context);

/* Writes that to a file. Returns an exit code. */
int json_write_findings(const char *path, const struct findings *findings,
                        const headwise_context *context);

#endif
