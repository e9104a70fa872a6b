/* headwise inspect: its numbers against weights and contributions that `headwise layer` writes. */
#include "report.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static double inner(const struct report *d, int64_t g, int64_t h) {
    double sum = 0;
    int64_t size = d->queries * d->width;
    for (int64_t b = 0; b < d->batch; b++) {
        for (int64_t i = 0; i < size; i++)
            sum += d->contributions[(b * d->heads + g) * size + i] *
                   d->contributions[(b * d->heads + h) * size + i];
    }
    return sum;
}

static double element(const struct report *d, const char *name, int64_t g, int64_t h) {
    return view_number(view_item(view_item(view_member(d->json, name), g), h));
}

/* Norms, shares, and the output's change with a head off: all from the contributions. */
static void check_contributions(const struct report *d) {
    double total = 0, cost = 0;
    for (int64_t g = 0; g < d->heads; g++) {
        for (int64_t h = 0; h < d->heads; h++)
            total += inner(d, g, h);
    }
    report_expect(report_number(d->json, "output_norm"), sqrt(total), "output_norm", -1);
    for (int64_t h = 0; h < d->heads; h++) {
        double own = inner(d, h, h), row = 0;
        for (int64_t g = 0; g < d->heads; g++) {
            row += inner(d, g, h);
            report_expect(element(d, "gram", g, h), inner(d, g, h), "gram", h);
            report_expect(element(d, "cosine", g, h), inner(d, g, h) / sqrt(own * inner(d, g, g)),
                          "cosine", h);
        }
        report_expect(report_number(report_head(d, h), "norm"), sqrt(own), "norm", h);
        report_expect(report_number(report_head(d, h), "share"), row / total, "share", h);
        report_expect(report_number(report_head(d, h), "alone_off"), sqrt(own / total), "alone_off",
                      h);
        cost += report_number(report_head(d, h), "cost");
    }
    report_expect(cost, 1, "sum of costs", -1);
    view order = view_member(d->json, "order");
    assert_int_equal(view_count(order), d->heads);
    report_expect(report_number(view_item(order, d->heads - 1), "change"), 1, "change", -1);
    view first = view_item(order, 0);
    int64_t least = -1; /* the place of the head with that number */
    for (int64_t h = 0; h < d->heads; h++) {
        if (view_equals(view_member(report_head(d, h), "head"), view_member(first, "head")))
            least = h;
        assert_true(report_number(report_head(d, h), "alone_off") >=
                    report_number(first, "change") - 1e-6);
    }
    report_expect(report_number(report_head(d, least), "alone_off"), report_number(first, "change"),
                  "order", least);
}

static double correlation_of(const struct report *d, int64_t g, int64_t h) {
    double n = 0, sums[5] = {0};
    for (int64_t b = 0; b < d->batch; b++) {
        for (int64_t i = 0; i < d->queries; i++) {
            for (int64_t j = 0; j < d->keys; j++) {
                double largest = 0, x = report_row(d, b, g, i)[j], y = report_row(d, b, h, i)[j];
                for (int64_t k = 0; k < d->heads; k++)
                    largest = fmax(largest, report_row(d, b, k, i)[j]);
                if (largest == 0 || j == i + d->offset)
                    continue;
                n++;
                sums[0] += x;
                sums[1] += y;
                sums[2] += x * x;
                sums[3] += y * y;
                sums[4] += x * y;
            }
        }
    }
    return (sums[4] - sums[0] * sums[1] / n) /
           sqrt((sums[2] - sums[0] * sums[0] / n) * (sums[3] - sums[1] * sums[1] / n));
}

static void check_case(struct report *d) {
    for (int64_t h = 0; h < d->heads; h++) {
        report_check_head(d, h);
        for (int64_t g = 0; g < d->heads; g++)
            report_expect(element(d, "correlation", g, h), g == h ? 1 : correlation_of(d, g, h),
                          "correlation", h);
    }
    check_contributions(d);
    report_free(d);
}

#define REPORT "--quiet", "--json", "report", "--pairs", "5", "--links", "4,0", "--cells", "8"

/* Grouped heads, windows, sinks, ALiBi, T5's bias, a bidirectional encoder, cross attention. */
static void agrees_with_the_weights(enum headwise_isa isa) {
    static const char *const layers[][3] = {{"llama_shards", "self", "0"}, {"gpt_oss", "self", "0"},
                                            {"gpt_oss", "self", "1"},      {"bloom", "self", "0"},
                                            {"t5", "decoder", "0"},        {"t5", "cross", "1"},
                                            {"bert_pruned", "self", "1"},  {"gemma3", "self", "0"}};
    for (size_t l = 0; l < TEST_COUNT(layers); l++) {
        const char *const *names = layers[l];
        char stem[32];
        snprintf(stem, sizeof(stem), "%s.%s", names[1], names[2]);
        cli_write_input(names[0], stem);
#define LAYER                                                                                      \
    "--model", cli_checkpoint(names[0]), "--part", names[1], "--layer", names[2], "--input", "in", \
        "--isa", headwise_isa_name(isa)
        cli_accepts("layer", LAYER, "--probe", "weights,contrib", "-o", "out");
        cli_accepts("inspect", LAYER, REPORT);
        assert_string_equal(cli.out, "");
#undef LAYER
        struct report data = report_read(0);
        check_case(&data);
    }
}

enum { WIDTH = 10, HEADS = 4, SIZE = 3 };

/* Writes a layer of random weights to "in": 4 heads on 2 kv heads, X called x. */
static void write_random(int64_t batch, int64_t queries) {
    static float w[4][WIDTH * HEADS * SIZE];
    float *x = malloc((size_t)(batch * queries * WIDTH) * sizeof(*x));
    assert_non_null(x);
    uint32_t state = 1;
    for (int64_t i = 0; i < batch * queries * WIDTH; i++)
        x[i] = (float)((state = state * 1664525 + 1013904223) >> 8) * 0x1p-23f - 1;
    for (size_t i = 0; i < 4 * TEST_COUNT(w[0]); i++)
        (&w[0][0])[i] = (float)((state = state * 1664525 + 1013904223) >> 8) * 0x1p-23f - 1;
    const struct headwise_file_tensor tensors[] = {
        CLI_TENSOR("x", x, batch, queries, WIDTH),
        CLI_TENSOR("W_Q", w[0], WIDTH, HEADS * SIZE),
        CLI_TENSOR("W_K", w[1], WIDTH, HEADS / 2 * SIZE),
        CLI_TENSOR("W_V", w[2], WIDTH, HEADS / 2 * SIZE),
        CLI_TENSOR("W_O", w[3], HEADS * SIZE, WIDTH),
    };
    cli_write("in", tensors, 5, "num_heads=4;num_kv_heads=2");
    free(x);
}

#define RANDOM                                                                                     \
    "--weights", "in", "--input", "in", "--x", "x", "--causal", "bottom-right", "--isa",           \
        headwise_isa_name(isa)

/* Two batch entries, more keys than cells. */
static void agrees_in_a_batch(enum headwise_isa isa) {
    write_random(2, 19);
    cli_accepts("layer", RANDOM, "--probe", "weights,contrib", "-o", "out");
    cli_accepts("inspect", RANDOM, REPORT, "--entry", "1");
    struct report data = report_read(1);
    check_case(&data);
    cli_accepts("inspect", RANDOM);
    assert_non_null(strstr(cli.out, "means over 2 batch entries; pairs, links, ranks and maps of "
                                    "entry 0\n"));
    cli_refuses("option --json is \"one\", expected another file than that of --html", "inspect",
                RANDOM, "--html", "one", "--svg", "two", "--json", "one");
    cli_refuses("option --html is \"one\", expected another file than that of --svg", "inspect",
                RANDOM, "--html", "one", "--svg", "one");
    cli_refuses("option --entry is 2, expected 0 to 1", "inspect", RANDOM, "--entry", "2", "--json",
                "out");
}

/* 1100 keys: a head's map is looked at in more than one block of rows. A minute on each tier under
 * a sanitizer, hence on one there. */
static void agrees_over_blocks(enum headwise_isa isa) {
    if (test_share() > 1 && isa != headwise_isa_best())
        return;
    write_random(1, 1100);
    cli_accepts("layer", RANDOM, "--probe", "weights,contrib", "-o", "out");
    cli_accepts("inspect", RANDOM, REPORT);
    struct report data = report_read(0);
    for (int64_t h = 0; h < HEADS; h++) {
        report_check_head(&data, h);
    }
    report_free(&data);
}

int main(void) {
    static const struct test_case cases[] = {
        TEST_CASE(agrees_with_the_weights),
        TEST_CASE(agrees_in_a_batch),
        TEST_CASE(agrees_over_blocks),
    };
    return cli_main_tiers(cases, TEST_COUNT(cases));
}
