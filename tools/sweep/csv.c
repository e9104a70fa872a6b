/* Writes every number of a sweep as CSV. */
#include <stdio.h>

#include "common/stream.h"
#include "sweep/sweep.h"

static void print_row(FILE *out, const struct sweep *sweep, int64_t at) {
    const struct sweep_row *row = &sweep->rows[at];
    fprintf(out, "%lld,%lld,%lld,%lld,%d,%.9g,%.9g,%.9g,%.9g,%.6g,%.6g,%.6g",
            (long long)row->n_threads, (long long)row->length, (long long)row->n_heads,
            (long long)(sweep->inner_width / row->n_heads), row->n_runs, row->median_s,
            row->quartile_s[0], row->quartile_s[1], row->least_s,
            (double)row->length / row->median_s,
            sweep_flops(sweep, row->length) / row->median_s / 1e9,
            sweep_first(sweep, at)->median_s / row->median_s);
    for (int g = 0; g < SHARE_GROUPS; g++)
        fprintf(out, ",%.4f", row->shares.share[g]);
    fprintf(out, ",%.4f,%lld,%lld", row->shares.rest, (long long)row->shares.exponentials,
            (long long)sweep_parameters(sweep));
    if (row->is_compared)
        fprintf(out, ",%.9g,%lld,%lld", row->change, (long long)row->rank[0],
                (long long)row->rank[1]);
    fprintf(out, "\n");
}

static void print_all(FILE *out, const struct sweep *sweep) {
    fprintf(out, "threads,length,heads,head_dim,runs,median_s,quartile1_s,quartile3_s,least_s,"
                 "tokens_per_s,gflops,times_the_first");
    for (int g = 0; g < SHARE_GROUPS; g++)
        fprintf(out, ",share_%s", share_name((enum share_group)g));
    fprintf(out, ",share_rest,exponentials,parameters%s\n",
            sweep->compares ? ",output_change,rank_least,rank_greatest" : "");
    for (int64_t at = 0; at < sweep_n_rows(sweep); at++)
        print_row(out, sweep, at);
}

int sweep_write_text(const char *path, const struct sweep *sweep, sweep_print_fn *print) {
    struct stream stream = {0};
    stream_open(&stream);
    if (stream.out)
        print(stream.out, sweep);
    return stream_write(&stream, path);
}

int sweep_write_csv(const char *path, const struct sweep *sweep) {
    return sweep_write_text(path, sweep, print_all);
}
