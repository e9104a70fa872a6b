/* Encoders of random weights, and what is seen in them. */
#ifndef TESTS_SIGHT_SUPPORT_H
#define TESTS_SIGHT_SUPPORT_H

#include "headwise-model/sight.h"

enum {
    SIGHT_LAYERS = 2,
    SIGHT_HEADS = 4,
    SIGHT_ALL = SIGHT_LAYERS * SIGHT_HEADS,
    SIGHT_WIDTH = 32
};

/* The folder of "embedder" and "reranker": main()'s argument. */
extern const char *sight_folders;
extern const struct headwise_text sight_sentence, sight_second;

struct sight_run {
    headwise_context *context;
    headwise_encoder *encoder;
    headwise_sight *sight;
    const struct headwise_sight_info *info;
};

struct sight_run sight_open(enum headwise_isa isa, const char *folder, int n_threads);
struct sight_run sight_open_in(enum headwise_isa isa, const char *in, const char *folder,
                               int n_threads);
void sight_look(struct sight_run *run, const struct headwise_sight_call *call);
void sight_close(struct sight_run *run);

#endif
