/* Prints the table of the strongest keys. */
#include "common/links.h"

#include <stdio.h>
#include <string.h>

#include "common/message.h"
#include "common/text.h"

enum { TABLE_WIDTH = 100, NUMBER_WIDTH = 5 };

/* "7:word", so that a word that comes twice stays clear, and the widest one's columns. */
struct labels {
    const char **texts;
    int width;
};

static int label(struct labels *labels, struct arena *arena, const char *const *tokens, int64_t n,
                 int least_width) {
    labels->width = least_width;
    labels->texts = arena_take(arena, n, sizeof *labels->texts);
    for (int64_t i = 0; labels->texts && i < n; i++) {
        const char *text =
            arena_text(arena, "%lld%s%s", (long long)i, tokens ? ":" : "", tokens ? tokens[i] : "");
        if (!text)
            return EXIT_UNUSABLE;
        labels->texts[i] = text;
        labels->width = text_width(text) > labels->width ? text_width(text) : labels->width;
    }
    return labels->texts ? EXIT_GOOD : EXIT_UNUSABLE;
}

/* The key with the largest weight, the first of equals; -1 where none has any. */
static int64_t strongest(const struct links *links, int64_t i, const float *row) {
    int64_t best = -1;
    for (int64_t j = 0; j < links->n_keys; j++) {
        if ((links->is_self && j == i) || !(row[j] > 0))
            continue;
        if (best < 0 || row[j] > row[best])
            best = j;
    }
    return best;
}

/* A cell of the last column has no spaces after it. */
static void print_cell(const struct links *links, const char *const *keys, int key_width, int64_t i,
                       const float *row, bool is_last) {
    int64_t j = strongest(links, i, row);
    printf("  ");
    if (j >= 0) {
        text_print(keys[j], key_width);
        printf(" %.3f", (double)row[j]);
    } else {
        text_print("-", is_last ? 0 : key_width + 1 + NUMBER_WIDTH);
    }
}

/* Heads first to end - 1 of a batch entry. */
static void print_table(const struct links *links, const struct labels *queries,
                        const struct labels *keys, int64_t b, int64_t first, int64_t end) {
    printf("\nstrongest %s of each token", links->is_self ? "other token" : "key");
    if (links->batch > 1)
        printf(", batch entry %lld", (long long)b);
    printf("\n%*s", queries->width, "");
    for (int64_t h = first; h < end; h++) {
        char head[32];
        snprintf(head, sizeof head, "head %lld", (long long)h);
        printf("  ");
        text_print(head, h + 1 < end ? keys->width + 1 + NUMBER_WIDTH : 0);
    }
    printf("\n");
    for (int64_t i = 0; i < links->n_queries; i++) {
        text_print(queries->texts[i], queries->width);
        for (int64_t h = first; h < end; h++) {
            int64_t at = ((b * links->n_heads + h) * links->n_queries + i) * links->n_keys;
            print_cell(links, keys->texts, keys->width, i, links->weights + at, h + 1 == end);
        }
        printf("\n");
    }
}

int links_print(const struct links *links, struct arena *arena) {
    struct labels queries, keys;
    int code = label(&queries, arena, links->query_tokens, links->n_queries, 1);
    if (!code)
        code = label(&keys, arena, links->key_tokens, links->n_keys, 2);
    if (code)
        return code;
    int64_t per_table = (TABLE_WIDTH - queries.width) / (keys.width + NUMBER_WIDTH + 3);
    per_table = per_table > 1 ? per_table : 1;
    for (int64_t b = 0; b < links->batch; b++) {
        for (int64_t first = 0; first < links->n_heads; first += per_table) {
            int64_t end = first + per_table < links->n_heads ? first + per_table : links->n_heads;
            print_table(links, &queries, &keys, b, first, end);
        }
    }
    return EXIT_GOOD;
}
