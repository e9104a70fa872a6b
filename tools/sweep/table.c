/* Prints a sweep as a table. */
#include <stdio.h>
#include <string.h>

#include "sweep/sweep.h"

/* Half the runs of a row that spread further than this, or a median so far above the least, tell
 * more of the machine than of the layer. */
static const double NOISY_SPREAD = 0.1, NOISY_MEDIAN = 0.25;

static bool is_noisy(const struct sweep_row *row) {
    return sweep_spread(row) > NOISY_SPREAD || row->median_s > row->least_s * (1 + NOISY_MEDIAN);
}

static void print_time(double seconds) {
    if (seconds < 1e-3)
        printf("%8.1f us", 1e6 * seconds);
    else if (seconds < 1)
        printf("%8.2f ms", 1e3 * seconds);
    else
        printf("%8.3f s ", seconds);
}

static double percent(double part) {
    return 100 * (part > 0 ? part : 0);
}

static void print_row(const struct sweep *sweep, int64_t at) {
    const struct sweep_row *row = &sweep->rows[at], *first = sweep_first(sweep, at);
    const double *share = row->shares.share;
    printf("%5lld %5lld", (long long)row->n_heads, (long long)(sweep->inner_width / row->n_heads));
    print_time(row->median_s);
    printf(" %5.1f%% %10.0f %8.1f %6.2f  %5.1f %6.1f %7.1f %6.1f %5.1f %13lld %11lld",
           100 * sweep_spread(row), (double)row->length / row->median_s,
           sweep_flops(sweep, row->length) / row->median_s / 1e9, first->median_s / row->median_s,
           percent(share[SHARE_PROJECTIONS]), percent(share[SHARE_SCORES]),
           percent(share[SHARE_SOFTMAX]), percent(share[SHARE_VALUES]),
           percent(share[SHARE_PACKING] + share[SHARE_ROWS] + row->shares.rest),
           (long long)row->shares.exponentials, (long long)sweep_parameters(sweep));
    if (row->is_compared) {
        printf(" %8.4f ", row->change);
        if (row->rank[0] == row->rank[1])
            printf("%6lld", (long long)row->rank[0]);
        else
            printf("%3lld-%lld", (long long)row->rank[0], (long long)row->rank[1]);
    }
    printf("\n");
}

static void print_header(const struct sweep *sweep, int64_t at) {
    const struct sweep_row *row = &sweep->rows[at];
    printf("\nlength %lld, %lld thread%s\n", (long long)row->length, (long long)row->n_threads,
           row->n_threads > 1 ? "s" : "");
    printf(
        "heads  size       time spread   tokens/s  GFLOP/s  vs %-3lld  proj scores softmax values "
        "other  exponentials  parameters%s\n",
        (long long)row->n_heads, sweep->compares ? "   change   rank" : "");
}

static void print_noise(const struct sweep *sweep) {
    int64_t n = 0, rows = sweep_n_rows(sweep);
    for (int64_t i = 0; i < rows; i++)
        n += is_noisy(&sweep->rows[i]);
    if (n > 0)
        printf(
            "\nnote: the machine was noisy in %lld of %lld rows: half their runs spread over more "
            "than %.0f %% of the\nmedian, or the median is more than %.0f %% above the fastest "
            "run; "
            "nothing else should run meanwhile\n",
            (long long)n, (long long)rows, 100 * NOISY_SPREAD, 100 * NOISY_MEDIAN);
}

void sweep_print(const struct sweep *sweep) {
    const struct headwise_mha_config *config = &sweep->config;
    printf("layer of width %lld read as %lld to %lld heads, %s attention; tier %s\n",
           (long long)config->d_model, (long long)sweep->heads.values[0],
           (long long)sweep->heads.values[sweep->heads.n - 1], sweep->causal ? "causal" : "full",
           headwise_isa_name(sweep->tier));
    for (int64_t at = 0; at < sweep_n_rows(sweep); at++) {
        if (at % sweep->heads.n == 0)
            print_header(sweep, at);
        print_row(sweep, at);
    }
    printf(
        "\nsize: of a head's queries; time: median of the runs; spread: of their middle half, of "
        "the median;\nvs: times as fast as the first row; proj to other: where the time goes, in "
        "%%.\n");
    if (sweep->compares)
        printf("change: |y - y of the first row| / |that y|; rank: of a head's output, least to "
               "greatest.\n");
    print_noise(sweep);
}
