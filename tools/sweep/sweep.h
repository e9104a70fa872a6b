/* What headwise sweep measures: the same layer read as different numbers of heads. */
#ifndef HEADWISE_TOOLS_SWEEP_H
#define HEADWISE_TOOLS_SWEEP_H

#include <stdio.h>

#include "common/arena.h"
#include "headwise-io/safetensors.h"
#include "headwise/mha.h"
#include "measure/shares.h"

enum { SWEEP_MOST = 32 }; /* values of a list */

struct sweep_list {
    int n;
    int64_t values[SWEEP_MOST];
};

/* One head count at one length on one number of threads. */
struct sweep_row {
    int64_t n_threads, length, n_heads;
    int n_runs;
    double median_s, quartile_s[2], least_s; /* of a forward */
    struct shares shares;
    bool is_compared;
    double change;   /* |y - y of the first head count| / |that y|, Frobenius norms */
    int64_t rank[2]; /* numerical rank of a head's output (length x value size): least, greatest */
};

struct sweep {
    struct sweep_list heads, lengths, threads;
    bool causal;
    int64_t n_repeats;                 /* timed runs of a row; 0: as many as its time allows */
    struct headwise_mha_config config; /* n_heads is 0: matrices and widths alone */
    int64_t inner_width, value_width;  /* of W_Q and W_V */
    headwise_safetensors *file;        /* that they may lie in, or NULL: the caller closes it */
    const float *x;                    /* [longest length][d_model] */
    bool compares;                     /* outputs, by head count */
    const char *isa;                   /* option --isa */
    enum headwise_isa tier;            /* what it gave */
    struct sweep_row *rows;            /* [threads][lengths][heads] */
};

static inline int64_t sweep_n_rows(const struct sweep *sweep) {
    return (int64_t)sweep->threads.n * sweep->lengths.n * sweep->heads.n;
}

/* Row number i of the group that shares its threads and length: the first head count's is 0. */
static inline const struct sweep_row *sweep_first(const struct sweep *sweep, int64_t row) {
    return &sweep->rows[row - row % sweep->heads.n];
}

/* Parameters of the layer: the same for every head count. */
int64_t sweep_parameters(const struct sweep *sweep);

/* Multiplications and additions of a forward; exponentials are not among them. */
double sweep_flops(const struct sweep *sweep, int64_t length);

/* Half the runs lie within this part of the median. */
static inline double sweep_spread(const struct sweep_row *row) {
    return (row->quartile_s[1] - row->quartile_s[0]) / row->median_s;
}

/* Fills config, widths and, where the file has it and no length is given, x. path NULL: random
 * matrices of width d_model, the same every time. Returns an exit code. */
struct sweep_source {
    const char *path, *layout, *prefix;
    int64_t d_model; /* 0: not given */
};
int sweep_read(struct sweep *sweep, struct arena *arena, const struct sweep_source *source);

/* Runs everything and fills rows. Returns an exit code. */
int sweep_measure(struct sweep *sweep, struct arena *arena);

/* Fills in what row tells of its output, y [length][d_out], which first, that of the first head
 * count, is compared with. mha and context are the row's. Returns an exit code. */
int sweep_compare(struct sweep_row *row, struct arena *arena, headwise_context *context,
                  const headwise_mha *mha, const struct headwise_tensor *x, float *y,
                  const float *first, const struct headwise_attention_options *options);

void sweep_print(const struct sweep *sweep);

/* Writes what print prints to the file, whole, or fails with a line. Returns an exit code. */
typedef void sweep_print_fn(FILE *out, const struct sweep *sweep);
int sweep_write_text(const char *path, const struct sweep *sweep, sweep_print_fn *print);

/* Each writes the file whole, or fails with a line. Returns an exit code. */
int sweep_write_csv(const char *path, const struct sweep *sweep);
int sweep_write_svg(const char *path, const struct sweep *sweep);

#endif
