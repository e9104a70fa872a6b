/* The maps, a block of a head's rows at a time: no S x S array is ever kept. */
#include "inspect/maps.h"

#include <math.h>
#include <string.h>

#include "common/message.h"

enum { BLOCK_BYTES = 4 << 20 };

/* A block of rows of one head. */
struct block {
    int64_t head, first, n; /* queries first ... first + n - 1 */
    const float *weights;   /* [n][n_keys] */
};

/* Bins of distance: 0, 1, 2, 3-4, 5-8, 9-16, ... and the same ahead. */
static void make_bins(struct findings *f, const struct headwise_attention_options *options) {
    bool looks_ahead = f->causal == HEADWISE_CAUSAL_NONE &&
                       !(options->window_is_set && options->window_right == 0);
    int64_t most_ahead = looks_ahead ? f->n_keys - 1 - f->offset : 0;
    int64_t most_behind = f->n_queries - 1 + f->offset;
    struct bin ahead[MAX_BINS / 2];
    int n = 0;
    for (int64_t low = 1, high = 1; low <= most_ahead; low = high + 1, high *= 2)
        ahead[n++] = (struct bin){-(high < most_ahead ? high : most_ahead), -low};
    f->n_bins = 0;
    while (n > 0)
        f->bins[f->n_bins++] = ahead[--n];
    f->bins[f->n_bins++] = (struct bin){0, 0};
    for (int64_t low = 1, high = 1; low <= most_behind; low = high + 1, high *= 2)
        f->bins[f->n_bins++] = (struct bin){low, high < most_behind ? high : most_behind};
}

static void make_grid(struct findings *f, int64_t max_cells) {
    struct grid *grid = &f->grid;
    grid->row_size = (f->n_queries + max_cells - 1) / max_cells;
    grid->column_size = (f->n_keys + max_cells - 1) / max_cells;
    grid->n_rows = (f->n_queries + grid->row_size - 1) / grid->row_size;
    grid->n_columns = (f->n_keys + grid->column_size - 1) / grid->column_size;
}

/* The options of one head. */
static struct headwise_attention_options head_options(const struct collecting *c, int64_t head) {
    struct headwise_attention_options options = c->opened->attention;
    if (options.sinks)
        options.sinks += head;
    if (options.alibi_slopes)
        options.alibi_slopes += head;
    if (options.relative_bias)
        options.relative_bias += head * (2 * options.relative_reach + 1);
    return options;
}

/* The weights of a block. They need no values: the first column of the keys stands for them. */
static int weigh(struct collecting *c, float *weights, float *y, const struct block *block) {
    const struct findings *f = c->findings;
    int64_t offset = f->offset + block->first;
    int64_t q_at = (f->entry * f->n_heads + block->head) * f->n_queries + block->first;
    int64_t k_at = (f->entry * f->n_kv_heads + f->heads[block->head].kv_head) * f->n_keys;
    const struct headwise_tensor q =
        headwise_tensor_bhrc(c->q + q_at * f->head_dim, HEADWISE_F32, 1, 1, block->n, f->head_dim);
    const struct headwise_tensor k =
        headwise_tensor_bhrc(c->k + k_at * f->head_dim, HEADWISE_F32, 1, 1, f->n_keys, f->head_dim);
    struct headwise_tensor v = k;
    v.size[3] = 1;
    const struct headwise_tensor out = headwise_tensor_bhrc(y, HEADWISE_F32, 1, 1, block->n, 1);
    const struct headwise_probe probe = {.size = sizeof probe, .weights = weights};
    const struct headwise_attention_options options = head_options(c, block->head);
    const struct headwise_attention_call call = {.size = sizeof call,
                                                 .y = &out,
                                                 .q = &q,
                                                 .k = &k,
                                                 .v = &v,
                                                 .options = &options,
                                                 .query_offsets = &offset,
                                                 .probe = &probe};
    if (headwise_attention(c->opened->context, &call) != HEADWISE_OK)
        return fail_library(c);
    return EXIT_GOOD;
}

/* first ... first + size - 1 of the keys, added up. */
static double add_keys(const float *row, int64_t first, int64_t end) {
    double sum = 0;
    for (int64_t j = first; j < end; j++)
        sum += row[j];
    return sum;
}

static unsigned char encode(double weight) {
    double level = 255 * sqrt(weight < 1 ? weight : 1) + 0.5;
    return level > 0 ? (unsigned char)level : 0; /* NaN: 0 */
}

static void fill_cells(struct findings *f, const struct block *block) {
    const struct grid *grid = &f->grid;
    int64_t end = block->first + block->n;
    for (int64_t r = block->first / grid->row_size; r * grid->row_size < end; r++) {
        int64_t i0 = r * grid->row_size;
        int64_t i1 = i0 + grid->row_size < end ? i0 + grid->row_size : end;
        unsigned char *cells = f->cells + (block->head * grid->n_rows + r) * grid->n_columns;
        for (int64_t column = 0; column < grid->n_columns; column++) {
            int64_t j0 = column * grid->column_size;
            int64_t j1 = j0 + grid->column_size < f->n_keys ? j0 + grid->column_size : f->n_keys;
            double sum = 0;
            for (int64_t i = i0; i < i1; i++)
                sum += add_keys(block->weights + (i - block->first) * f->n_keys, j0, j1);
            cells[column] = encode(sum / (double)(i1 - i0));
        }
    }
}

static void fill_profile(struct findings *f, const struct block *block) {
    double *profile = f->heads[block->head].profile;
    for (int64_t i = 0; i < block->n; i++) {
        const float *row = block->weights + i * f->n_keys;
        int64_t position = block->first + i + f->offset;
        for (int b = 0; b < f->n_bins; b++) {
            int64_t first = position - f->bins[b].high, end = position - f->bins[b].low + 1;
            first = first > 0 ? first : 0;
            end = end < f->n_keys ? end : f->n_keys;
            profile[b] += add_keys(row, first, end);
        }
    }
}

/* Puts a link into a list that is sorted by weight, the first of equals before the others. */
static int insert(struct pair *list, int n, int most, struct pair pair) {
    int at = n;
    while (at > 0 && pair.weight > list[at - 1].weight)
        at--;
    if (at == most)
        return n;
    n = n < most ? n + 1 : n;
    memmove(list + at + 1, list + at, (size_t)(n - at - 1) * sizeof *list);
    list[at] = pair;
    return n;
}

/* Pairs of different tokens, the first key left out: that one has a column of its own, and in many
 * models it would take every place. */
static void find_pairs(struct findings *f, const struct block *block, int most) {
    struct head_findings *head = &f->heads[block->head];
    for (int64_t i = 0; i < block->n && most > 0; i++) {
        const float *row = block->weights + i * f->n_keys;
        int64_t query = block->first + i;
        for (int64_t j = 1; j < f->n_keys; j++) {
            float least = head->n_pairs == most ? head->pairs[most - 1].weight : 0;
            if (row[j] > least && !(f->is_self && j == query))
                head->n_pairs =
                    insert(head->pairs, head->n_pairs, most, (struct pair){query, j, row[j]});
        }
    }
}

static void find_links(struct findings *f, const struct block *block) {
    for (int64_t l = 0; l < f->n_links; l++) {
        int64_t query = f->link_queries[l];
        if (query < block->first || query >= block->first + block->n)
            continue;
        struct pair *links = f->links + (l * f->n_heads + block->head) * LINKS_PER_TOKEN;
        const float *row = block->weights + (query - block->first) * f->n_keys;
        int n = 0;
        for (int64_t j = 0; j < f->n_keys; j++) {
            if (row[j] > 0)
                n = insert(links, n, LINKS_PER_TOKEN, (struct pair){query, j, row[j]});
        }
        for (; n < LINKS_PER_TOKEN; n++)
            links[n] = (struct pair){query, -1, 0};
    }
}

/* Whole cells, so that each is filled from one block. */
static int64_t choose_rows(const struct findings *f) {
    int64_t rows = BLOCK_BYTES / (int64_t)sizeof(float) / f->n_keys;
    rows -= rows % f->grid.row_size;
    rows = rows > f->grid.row_size ? rows : f->grid.row_size;
    return rows < f->n_queries ? rows : f->n_queries;
}

static int look_at_heads(struct collecting *c, float *weights, float *y, int64_t rows) {
    struct findings *f = c->findings;
    for (int64_t h = 0; h < f->n_heads; h++) {
        for (int64_t first = 0; first < f->n_queries; first += rows) {
            int64_t left = f->n_queries - first;
            const struct block block = {h, first, left < rows ? left : rows, weights};
            int code = weigh(c, weights, y, &block);
            if (code)
                return code;
            fill_cells(f, &block);
            fill_profile(f, &block);
            find_pairs(f, &block, c->request->n_pairs);
            find_links(f, &block);
        }
        for (int b = 0; b < f->n_bins; b++)
            f->heads[h].profile[b] /= (double)f->n_queries;
    }
    return EXIT_GOOD;
}

int collect_maps(struct collecting *c) {
    struct findings *f = c->findings;
    make_bins(f, &c->opened->attention);
    make_grid(f, c->request->max_cells);
    f->link_queries = c->request->link_queries;
    f->n_links = c->request->n_links;
    int64_t rows = choose_rows(f);
    f->cells = arena_take(c->arena, f->n_heads * f->grid.n_rows, (size_t)f->grid.n_columns);
    f->links = arena_take(c->arena, f->n_links * f->n_heads * LINKS_PER_TOKEN, sizeof *f->links);
    float *weights = arena_take(c->arena, rows * f->n_keys, sizeof *weights);
    float *y = arena_take(c->arena, rows, sizeof *y);
    if (!f->cells || !f->links || !weights || !y)
        return EXIT_UNUSABLE;
    for (int64_t h = 0; h < f->n_heads; h++) {
        f->heads[h].profile = arena_take(c->arena, f->n_bins, sizeof(double));
        if (!f->heads[h].profile)
            return EXIT_UNUSABLE;
    }
    return look_at_heads(c, weights, y, rows);
}
