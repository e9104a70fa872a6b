/* headwise classify: labels of texts or pairs. */
#include <stdio.h>
#include <string.h>

#include "calls/scoring.h"
#include "commands/commands.h"
#include "common/message.h"

struct settings {
    struct encoder_settings encoder; /* first: ENCODER_OPTIONS */
    const char *pair, *score;
};

#define OPTION(name, letter, kind, argument, help)                                                 \
    { #name, letter, kind, offsetof(struct settings, name), argument, help }

static const struct option options[] = {
    ENCODER_OPTIONS,
    OPTION(pair, 0, OPTION_TEXT, "TEXT", "the second text, of all"),
    SCORING_OPTION(struct settings),
};

static const char details[] = ENCODER_DETAILS
    "\"pair\": \"...\" there is the second text of each.\n"
    "\n"
    "Prints each text's labels with their scores, the best first; with --jsonl a line\n"
    "{\"id\": ..., \"label\": ..., \"scores\": {...}}.\n";

/* Labels without a name are numbers. */
static struct headwise_text label_of(const struct scoring *scoring, int64_t i, char number[24]) {
    const char *name = scoring->info->labels ? scoring->info->labels[i] : number;
    snprintf(number, 24, "%lld", (long long)i);
    return (struct headwise_text){name, strlen(name)};
}

static int64_t best_of(const float *scores, int64_t n, const bool *used) {
    int64_t best = -1;
    for (int64_t i = 0; i < n; i++) {
        if (!used[i] && (best < 0 || scores[i] > scores[best]))
            best = i;
    }
    return best;
}

static void print_labels(const struct scoring *scoring, const float *scores, bool *used) {
    char number[24];
    int64_t n = scoring->info->n_labels;
    memset(used, 0, (size_t)n * sizeof *used);
    for (int64_t i = 0; i < n; i++) {
        int64_t best = best_of(scores, n, used);
        struct headwise_text label = label_of(scoring, best, number);
        used[best] = true;
        printf("%s%.*s %.6g", i ? "  " : "", (int)label.size_bytes, label.bytes,
               (double)scores[best]);
    }
    putchar('\n');
}

static void print_object(const struct scoring *scoring, const float *scores, int64_t i,
                         bool *used) {
    char number[24];
    int64_t n = scoring->info->n_labels;
    const struct headwise_json_slice *id = &scoring->chunk.ids[i];
    memset(used, 0, (size_t)n * sizeof *used);
    putchar('{');
    if (id->size > 0)
        printf("\"id\": %.*s, ", (int)id->size, id->at);
    printf("\"label\": ");
    text_print_quoted(label_of(scoring, best_of(scores, n, used), number));
    printf(", \"scores\": {");
    for (int64_t l = 0; l < n; l++) {
        printf("%s", l ? ", " : "");
        text_print_quoted(label_of(scoring, l, number));
        printf(": %.9g", (double)scores[l]);
    }
    printf("}}\n");
}

static int classify_all(struct scoring *scoring, const void *user) {
    const struct settings *s = user;
    int64_t n = scoring->info->n_labels;
    bool done = false, *used = arena_take(&scoring->arena, n, sizeof *used);
    int code = used ? EXIT_GOOD : EXIT_UNUSABLE;
    while (!code) {
        code = scoring_next(scoring, s->pair, false, &done);
        if (code || done)
            break;
        rate_end(&scoring->rate);
        for (int64_t i = 0; i < scoring->chunk.n; i++) {
            if (s->encoder.jsonl)
                print_object(scoring, scoring->scores + i * n, i, used);
            else
                print_labels(scoring, scoring->scores + i * n, used);
        }
        scoring->done += scoring->chunk.n;
    }
    return code;
}

static int run_classify(const void *arguments) {
    const struct settings *s = arguments;
    return scoring_run(&s->encoder, "classify", s->score, classify_all, s);
}

const struct command command_classify = {
    .name = "classify",
    .summary = "labels of texts or pairs",
    .usage = "DIR [TEXT...] [OPTIONS]",
    .details = details,
    .options = options,
    .n_options = sizeof options / sizeof *options,
    .settings_size = sizeof(struct settings),
    .operand = "folder",
    .operand_offset = offsetof(struct settings, encoder.folder),
    .more = "text",
    .more_offset = offsetof(struct settings, encoder.texts),
    .run = run_classify,
};
