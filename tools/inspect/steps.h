/* The steps of findings_collect(). */
#ifndef HEADWISE_TOOLS_INSPECT_STEPS_H
#define HEADWISE_TOOLS_INSPECT_STEPS_H

#include "headwise/heads.h"
#include "headwise/prune.h"
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

/* One forward with statistics: heads, gram, order. */
int collect_outputs(struct collecting *collecting);

/* Queries and keys; correlation of the maps, ranks. Wants collect_outputs(). */
int collect_similarity(struct collecting *collecting);

/* The maps of the entry, block by block: cells, profiles, pairs, links. Wants
 * collect_similarity(). */
int collect_maps(struct collecting *collecting);

/* Of keys that the query at this position sees. */
int64_t count_visible(const struct findings *findings,
                      const struct headwise_attention_options *options, int64_t position);

/* Fails with the library's line. */
int fail_library(const struct collecting *collecting);

#endif
