/* Writes every number of a sweep as CSV. */
#define _POSIX_C_SOURCE 200809L /* open_memstream */
#include <stdio.h>
#include <stdlib.h>

#include "common/message.h"
#include "headwise-io/file.h"
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
    struct headwise_file_part part = {NULL, 0};
    char *text = NULL;
    FILE *out = open_memstream(&text, &part.size_bytes);
    int code = EXIT_GOOD;
    if (!out)
        return fail("out of memory");
    print(out, sweep);
    bool failed = ferror(out);
    failed |= fclose(out) != 0;
    part.data = text;
    if (failed)
        code = fail("out of memory");
    else if (headwise_file_write(path, &part, 1) != HEADWISE_OK)
        code = fail("%s", headwise_io_last_error());
    free(text);
    return code;
}

int sweep_write_csv(const char *path, const struct sweep *sweep) {
    return sweep_write_text(path, sweep, print_all);
}
