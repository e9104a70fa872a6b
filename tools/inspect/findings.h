/* What headwise inspect found out about a layer, for everything that shows it. */
#ifndef HEADWISE_TOOLS_FINDINGS_H
#define HEADWISE_TOOLS_FINDINGS_H

#include "calls/layer_options.h"

/* A query that gives a key this weight. */
struct pair {
    int64_t query, key;
    float weight;
};

enum { MAX_PAIRS = 16, LINKS_PER_TOKEN = 5, MAX_BINS = 130 };

/* Of one head. Means are over the rows of all batch entries that see a key; NaN where a weight is.
 */
struct head_findings {
    int64_t number;  /* as the layer was created: pruned ones are missing */
    int64_t kv_head; /* whose keys and values it reads */

    double entropy;       /* nats */
    double largest;       /* weight of the strongest key */
    double distance;      /* |position - strongest key| */
    double mean_distance; /* sum of w |position - key| */
    double self, first, previous, next;

    double norm;  /* of its contribution to y, over all rows */
    double share; /* of the squared norm of y - b_o; may be negative */
    double alone; /* the change of y when it alone is off, as a part of the norm of y - b_o */
    double cost;  /* its part of the layer's multiply-adds */
    int64_t most_logits, most_outputs; /* what the sizes allow for the ranks */
    int64_t logit_rank, output_rank;   /* negative: an enum rank_failure */

    double *profile; /* [n_bins]: mean weight that goes to each bin of distances */
    struct pair pairs[MAX_PAIRS];
    int n_pairs;
};

/* Distances low ... high of a key behind the query's position; negative ones are ahead. */
struct bin {
    int64_t low, high;
};

/* A map in cells of row_size queries and column_size keys (fewer in the last): what a cell's
 * queries give to its keys, on average. So rows add up to 1 as those of the map itself. */
struct grid {
    int64_t n_rows, n_columns, row_size, column_size;
};

struct findings {
    const char *title; /* "model, layer 2", UTF-8 */
    int64_t n_heads, n_kv_heads, head_dim, value_dim, d_model, d_out;
    int64_t batch, entry, n_queries, n_keys; /* maps, pairs, links and ranks are of this entry */
    int64_t offset;                          /* position of query 0 on the axis of the keys */
    enum headwise_causal causal;
    bool is_self;                    /* keys are the queries */
    const char *const *query_tokens; /* [n_queries], UTF-8, or NULL */
    const char *const *key_tokens;   /* [n_keys] or NULL */

    struct head_findings *heads;   /* [n_heads] */
    double output_norm;            /* of y - b_o */
    double *gram, *cosines;        /* [n_heads][n_heads] */
    double *correlation;           /* the same, of the maps */
    bool has_order;                /* false: the output is not finite, nothing can be proposed */
    int64_t *order, *twins;        /* [n_heads], places of heads */
    double *order_change;          /* [n_heads] */
    const int64_t *strongest;      /* [n_heads][n_queries] of the entry, -1: sees no key */
    const float *strongest_weight; /* the same */

    struct bin bins[MAX_BINS];
    int n_bins;

    struct grid grid;
    unsigned char *cells; /* [n_heads][n_rows][n_columns]: 255 * sqrt(weight), rounded */

    const int64_t *link_queries; /* [n_links] */
    int64_t n_links;
    struct pair *links; /* [n_links][n_heads][LINKS_PER_TOKEN], strongest first; key -1: none */
};

/* What is to be found out. */
struct findings_request {
    int64_t entry;               /* of the batch */
    int n_pairs;                 /* for each head, at most MAX_PAIRS */
    int64_t max_cells;           /* of a side of a map */
    const int64_t *link_queries; /* [n_links] */
    int64_t n_links;
};

/* When two heads are called twins: contributions that point the same way. */
#define TWIN_COSINE 0.95

#endif
