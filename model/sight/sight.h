/* What is found out about the heads of a network, and the memory it is in. */
#ifndef HEADWISE_MODEL_SIGHT_ROOM_H
#define HEADWISE_MODEL_SIGHT_ROOM_H

#include "encode/encoder.h"
#include "headwise-model/sight.h"

/* Arrays that are given back together. Zero but for memory at the start. */
struct headwise_sight_room {
    const struct headwise_allocator *memory;
    struct {
        void *at;
        size_t count, item_bytes;
    } pieces[16];
    int n;
};

/* count items, at least one, cleared; NULL: no memory. */
void *headwise_sight_take(struct headwise_sight_room *room, int64_t count, size_t item_bytes);
void headwise_sight_give(struct headwise_sight_room *room);

struct headwise_sight {
    const headwise_encoder *encoder;
    struct headwise_sight_room room;
    struct headwise_sight_info info;
    struct headwise_sight_token *tokens;
    struct headwise_sight_head *heads;
    int64_t *first_heads; /* [n_layers]: place of a layer's first head */
    int32_t *ids, *types; /* types NULL: all 0 */
    float *maps, *correlations, *result;
    int64_t first_row; /* rows before it are not pooled */
    headwise_encoding *encoding;
};

/* tokens.c: ids, types, words and texts of the call. */
enum headwise_status headwise_sight_read(headwise_sight *sight,
                                         const struct headwise_sight_call *call);

/* look.c: the forward with all probes: statistics, maps, what is written, the result. */
enum headwise_status headwise_sight_look(headwise_sight *sight, headwise_context *context,
                                         const struct headwise_sight_call *call);

/* score.c: scores of the head's kinds and its weight on separators, from its map and the entropies
 * of its rows. */
struct headwise_sight_keys; /* lists of keys */
enum headwise_status headwise_sight_list_keys(struct headwise_sight_keys **keys,
                                              struct headwise_sight_room *room,
                                              const headwise_sight *sight);
void headwise_sight_score(struct headwise_sight_head *head, const struct headwise_sight_keys *keys,
                          const headwise_sight *sight, const float *map, const float *entropy);

/* change.c: what the result loses without each head. */
enum headwise_status headwise_sight_measure(headwise_sight *sight, headwise_context *context,
                                            const struct headwise_sight_call *call);

/* The result of sequences whose rows, or logits, are there: n_result numbers each. vectors has room
 * for 2 * n * encoder->width. */
enum headwise_status headwise_sight_results(headwise_context *context, const headwise_sight *sight,
                                            float *results, float *vectors, const float *rows,
                                            const int32_t *starts, int64_t n);

/* twins.c: correlations of all maps, and each head's twin. */
enum headwise_status headwise_sight_correlate(headwise_sight *sight);

#endif
