/* Correlation of the heads' maps, in blocks of queries. */
#ifndef HEADWISE_CORRELATION_H
#define HEADWISE_CORRELATION_H

#include "attention/call.h"
#include "context/context.h"

/* One headwise_map_correlation() call. */
struct headwise_map_job {
    headwise_context *context;
    struct headwise_tensor q, k, v, past_value;
    struct headwise_attention_call given; /* a copy of the caller's */
    struct headwise_call call;            /* of all queries, checked: sizes and positions */

    /* What a block of rows gives, and the sums so far. */
    int64_t rows;           /* queries of the block */
    float *weights;         /* [B][H][rows][T], 0 at the query's own position */
    float *scores;          /* the same, -inf where hidden */
    float *y;               /* [B][H][rows] */
    int64_t *query_offsets; /* [B] */
    double *sums;           /* [H] */
    double *products;       /* [H][H], g >= h */
    int64_t n_entries;      /* off the diagonal, seen by a head */
};

/* Takes from job->given what only y and probes need, and makes values of one column that take no
 * memory. */
void headwise_map_weights_alone(struct headwise_map_job *job);

/* Runs a checked job. HEADWISE_ERR_NO_MEMORY: correlation is untouched. */
enum headwise_status headwise_map_correlation_run(struct headwise_map_job *job,
                                                  double *correlation);

#endif
