/* What headwise inspect found about the heads of a whole model, and how it is written. */
#ifndef HEADWISE_TOOLS_SIGHT_REPORT_H
#define HEADWISE_TOOLS_SIGHT_REPORT_H

#include "common/arena.h"
#include "common/json.h"
#include "headwise-model/sight.h"

struct sight_report {
    const char *title; /* name of the model, UTF-8 */
    const headwise_encoder *encoder;
    const struct headwise_sight_info *info;

    /* Over texts, [n_heads][HEADWISE_KINDS]; n_texts 0: none were given. */
    int64_t n_texts;
    const double *means, *spreads;
    const int64_t *counts;

    /* A head that was asked for: its place among all, and its whole map [tokens][tokens]; -1: none.
     */
    int64_t chosen;
    const float *chosen_map;
};

/* Everything about heads as one object; with_maps: the folded maps and the chosen one too, in
 * base64 of 255 * sqrt(weight). Texts that are no UTF-8 have U+FFFD. Returns an exit code. */
int sight_json_add(struct json *json, struct arena *arena, const struct sight_report *report,
                   bool with_maps);

/* Write files; return exit codes. */
int sight_json_write(const char *path, struct arena *arena, const struct sight_report *report);
int sight_page_write(const char *path, struct arena *arena, const struct sight_report *report);

/* A row for each head, and, where texts were scored, the best heads of each kind. */
void sight_table_print(const struct sight_report *report);

#endif
