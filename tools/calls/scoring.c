/* Scores texts chunk by chunk. */
#include "calls/scoring.h"

#include <stdlib.h>
#include <string.h>

#include "common/message.h"

static void show(void *user, int64_t n_done) {
    struct scoring *scoring = user;
    rate_show(&scoring->rate, scoring->done + n_done, 0);
}

static int read_score(struct scoring *scoring, const char *name) {
    static const char *const names[] = {"raw", "sigmoid", "softmax"};
    for (int i = 0; name && i < 3; i++) {
        if (strcmp(name, names[i]) == 0) {
            scoring->score_is_set = true;
            scoring->score = (enum headwise_score)i;
            return EXIT_GOOD;
        }
    }
    return name ? fail("option --score is \"%s\", expected raw, sigmoid or softmax", name)
                : EXIT_GOOD;
}

int scoring_next(struct scoring *scoring, const char *other, bool is_first, bool *done) {
    const struct encoder_settings *s = scoring->settings;
    int code = text_chunk_read(&scoring->chunk, &scoring->input);
    *done = !code && scoring->chunk.n == 0;
    if (code || *done)
        return code;
    if (other && scoring->chunk.n_pairs > 0)
        return fail("%s: line %lld: has a \"pair\" and an option gives one", scoring->input.name,
                    scoring->input.line);
    for (int64_t i = 0; other && i < scoring->chunk.n; i++)
        scoring->pairs[i] = (struct headwise_text){other, strlen(other)};
    bool has_pairs = other || scoring->chunk.n_pairs > 0;
    const struct headwise_text *others = other ? scoring->pairs : scoring->chunk.pairs;
    const struct headwise_classify_call call = {.size = sizeof call,
                                                .n_texts = scoring->chunk.n,
                                                .texts = is_first ? others : scoring->chunk.texts,
                                                .pairs = is_first    ? scoring->chunk.texts
                                                         : has_pairs ? others
                                                                     : NULL,
                                                .score_is_set = scoring->score_is_set,
                                                .score = scoring->score,
                                                .refuse_long = s->refuse_long,
                                                .special_is_text = s->special_as_text,
                                                .replace_invalid = s->replace_invalid,
                                                .scores = scoring->scores,
                                                .progress = show,
                                                .progress_user = scoring};
    if (headwise_classify(scoring->opened.context, scoring->opened.encoder, &call))
        return text_chunk_fail(&scoring->input, scoring->done);
    return EXIT_GOOD;
}

static int open_all(struct scoring *scoring, const char *command, const char *kind) {
    const struct encoder_settings *s = scoring->settings;
    int code = read_score(scoring, kind);
    if (!code)
        code = text_input_open(&scoring->input, &s->texts, s->input, s->jsonl, command);
    if (!code)
        code = encoder_open(&scoring->opened, &scoring->arena, s, command);
    if (code)
        return code;
    scoring->info = headwise_encoder_describe(scoring->opened.encoder);
    if (scoring->info->n_labels == 0)
        return fail("%s: gives vectors, no scores: see headwise help embed", s->folder);
    scoring->scores =
        arena_take(&scoring->arena, CHUNK_TEXTS * scoring->info->n_labels, sizeof(float));
    rate_begin(&scoring->rate);
    return scoring->scores ? EXIT_GOOD : EXIT_UNUSABLE;
}

int scoring_run(const struct encoder_settings *settings, const char *command, const char *kind,
                int (*all)(struct scoring *scoring, const void *user), const void *user) {
    struct scoring *scoring = calloc(1, sizeof *scoring);
    if (!scoring)
        return fail("out of memory");
    scoring->settings = settings;
    int code = open_all(scoring, command, kind);
    if (!code)
        code = all(scoring, user);
    rate_end(&scoring->rate);
    text_input_close(&scoring->input);
    text_chunk_free(&scoring->chunk);
    encoder_close(&scoring->opened);
    arena_free(&scoring->arena);
    free(scoring);
    return code;
}
