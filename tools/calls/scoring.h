/* Scores of texts and pairs, chunk by chunk, for the commands that print them. */
#ifndef HEADWISE_TOOLS_SCORING_H
#define HEADWISE_TOOLS_SCORING_H

#include "calls/encoder_options.h"
#include "calls/rate.h"
#include "calls/text_chunk.h"

struct scoring {
    const struct encoder_settings *settings;
    struct arena arena;
    struct encoder_opened opened;
    const struct headwise_encoder_info *info;
    struct text_input input;
    struct text_chunk chunk;
    struct rate rate;
    float *scores; /* [chunk.n][n_labels] */
    struct headwise_text pairs[CHUNK_TEXTS];
    int64_t done; /* texts of the chunks before */
    bool score_is_set;
    enum headwise_score score;
};

#define SCORING_OPTION(settings)                                                                   \
    {                                                                                              \
        "score", 0, OPTION_TEXT, offsetof(settings, score), "KIND",                                \
            "raw, sigmoid or softmax; as the folder says"                                          \
    }

/* Opens what the settings name, calls all, and closes it. kind: of the scores, as its option has
 * it. Returns an exit code. */
int scoring_run(const struct encoder_settings *settings, const char *command, const char *kind,
                int (*all)(struct scoring *scoring, const void *user), const void *user);

/* The next chunk and its scores; *done where there is none. other is the first text of all pairs
 * where is_first is set, else the second of all; NULL: the chunk's own pairs, if any. Returns an
 * exit code. */
int scoring_next(struct scoring *scoring, const char *other, bool is_first, bool *done);

#endif
