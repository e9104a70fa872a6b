/* headwise rerank: documents in the order of their worth for a query. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calls/scoring.h"
#include "commands/commands.h"
#include "common/message.h"

struct settings {
    struct encoder_settings encoder; /* first: ENCODER_OPTIONS */
    const char *query, *score;
    struct option_integer top_k;
};

#define OPTION(name, letter, kind, argument, help)                                                 \
    { #name, letter, kind, offsetof(struct settings, name), argument, help }

static const struct option options[] = {
    ENCODER_OPTIONS,
    OPTION(query, 'q', OPTION_TEXT, "TEXT", "what documents are ranked for; required"),
    OPTION(top_k, 0, OPTION_INTEGER, "N", "print the best N alone"),
    SCORING_OPTION(struct settings),
};

static const char details[] = ENCODER_DETAILS
    "\n"
    "Texts are documents. Prints them with their scores, the best first, equal ones in their "
    "order;\n"
    "with --jsonl a line {\"index\": ..., \"id\": ..., \"score\": ...} for each.\n";

/* A document that is ranked. */
struct ranked {
    int64_t index;
    float score;
    char *text, *id;
};

static int compare_ranked(const void *a, const void *b) {
    const struct ranked *x = a, *y = b;
    if (x->score != y->score)
        return x->score < y->score ? 1 : -1;
    return x->index < y->index ? -1 : 1;
}

static int keep_documents(struct scoring *scoring, struct ranked **all, size_t *capacity) {
    size_t needed = (size_t)(scoring->done + scoring->chunk.n);
    if (needed > *capacity) {
        struct ranked *more = realloc(*all, 2 * needed * sizeof *more);
        if (!more)
            return fail("out of memory");
        *all = more;
        *capacity = 2 * needed;
    }
    for (int64_t i = 0; i < scoring->chunk.n; i++) {
        const struct headwise_text *text = &scoring->chunk.texts[i];
        const struct headwise_json_slice *id = &scoring->chunk.ids[i];
        struct ranked *at = &(*all)[scoring->done + i];
        *at = (struct ranked){scoring->done + i, scoring->scores[i], NULL, NULL};
        at->text = arena_text(&scoring->arena, "%.*s", (int)text->size_bytes, text->bytes);
        at->id = arena_text(&scoring->arena, "%.*s", (int)id->size, id->at);
        if (!at->text || !at->id)
            return EXIT_UNUSABLE;
    }
    return EXIT_GOOD;
}

static void print_ranked(const struct scoring *scoring, const struct settings *s,
                         const struct ranked *all) {
    int64_t n = scoring->done;
    if (s->top_k.is_set && s->top_k.value < n)
        n = s->top_k.value;
    for (int64_t i = 0; i < n; i++) {
        if (!s->encoder.jsonl)
            printf("%10.6g  %4lld  %s\n", (double)all[i].score, (long long)all[i].index,
                   all[i].text);
        else
            printf("{\"index\": %lld, %s%s%s\"score\": %.9g}\n", (long long)all[i].index,
                   *all[i].id ? "\"id\": " : "", all[i].id, *all[i].id ? ", " : "",
                   (double)all[i].score);
    }
}

static int rerank_all(struct scoring *scoring, const void *user) {
    const struct settings *s = user;
    struct ranked *all = NULL;
    size_t capacity = 0;
    bool done = false;
    int code = EXIT_GOOD;
    if (scoring->info->n_labels != 1)
        return fail("%s: has %lld labels, expected the one score of a reranker", s->encoder.folder,
                    (long long)scoring->info->n_labels);
    while (!code) {
        code = scoring_next(scoring, s->query, true, &done);
        if (code || done)
            break;
        code = keep_documents(scoring, &all, &capacity);
        scoring->done += scoring->chunk.n;
    }
    rate_end(&scoring->rate);
    if (!code && scoring->done > 0) {
        qsort(all, (size_t)scoring->done, sizeof *all, compare_ranked);
        print_ranked(scoring, s, all);
    }
    free(all);
    return code;
}

static int run_rerank(const void *arguments) {
    const struct settings *s = arguments;
    if (!s->query)
        return fail("rerank: option --query is missing");
    if (s->top_k.is_set && s->top_k.value < 1)
        return fail("option --top-k is %lld, expected 1 or more", (long long)s->top_k.value);
    return scoring_run(&s->encoder, "rerank", s->score, rerank_all, s);
}

const struct command command_rerank = {
    .name = "rerank",
    .summary = "documents in the order of their worth for a query",
    .usage = "DIR --query TEXT [DOCUMENT...] [OPTIONS]",
    .details = details,
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .settings_size = sizeof(struct settings),
    .operand = "folder",
    .operand_offset = offsetof(struct settings, encoder.folder),
    .more = "document",
    .more_offset = offsetof(struct settings, encoder.texts),
    .run = run_rerank,
};
