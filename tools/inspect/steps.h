/* What the steps of findings_collect() share. */
#ifndef HEADWISE_TOOLS_INSPECT_STEPS_H
#define HEADWISE_TOOLS_INSPECT_STEPS_H

#include "calls/layer_options.h"
#include "headwise/heads.h"
#include "inspect/findings.h"

struct collecting {
    struct findings *findings;
    struct arena *arena;
    struct layer_opened *opened;
    const char *path; /* for failures */
    const struct findings_request *request;
    headwise_mha *mha;
    float *head_outputs; /* [batch][heads][queries][value_dim] */
    float *q, *k;        /* [batch][heads][queries][head_dim], [batch][kv heads][keys][head_dim] */
};

/* The number of keys that the query at this position sees. */
int64_t count_visible(const struct findings *findings,
                      const struct headwise_attention_options *options, int64_t position);

/* Fails with the library's line. */
int fail_library(const struct collecting *collecting);

#endif
