/* headwise inspect: its numbers against weights and contributions that `headwise layer` writes. */
#define _POSIX_C_SOURCE 200809L
#include "cli_support.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_CELLS = 8 };

/* What `headwise layer` says of one layer, and what `headwise inspect` says of it. */
struct case_data {
    int64_t batch, heads, queries, keys, width, offset, entry;
    bool is_self;
    double *weights, *contributions; /* [batch][heads][queries][keys], [...][width] */
    json_t *report;
};

/* Values of a tensor of "out"; its last four sizes, 1 for those it does not have. */
static double *read_four(int64_t sizes[4], const char *name) {
    headwise_safetensors *file = cli_open("out");
    const struct headwise_file_tensor *tensor = headwise_safetensors_find(file, name);
    assert_non_null(tensor);
    double *values = malloc(tensor->n_elements * sizeof(*values));
    assert_non_null(values);
    assert_int_equal(headwise_safetensors_read_f64(values, file, tensor), HEADWISE_OK);
    for (int i = 0; i < 4; i++)
        sizes[i] = i < 4 - tensor->rank ? 1 : tensor->shape[i - (4 - tensor->rank)];
    headwise_safetensors_close(file);
    return values;
}

static struct case_data read_case(int64_t entry) {
    struct case_data data = {.entry = entry};
    int64_t sizes[4];
    json_error_t error;
    data.weights = read_four(sizes, "weights");
    data.batch = sizes[0];
    data.heads = sizes[1];
    data.queries = sizes[2];
    data.keys = sizes[3];
    data.contributions = read_four(sizes, "contrib");
    data.width = sizes[3];
    data.report = json_load_file("report", 0, &error);
    if (!data.report)
        fail_msg("report: line %d: %s", error.line, error.text);
    const json_t *layer = json_object_get(data.report, "layer");
    data.offset = json_integer_value(json_object_get(layer, "offset"));
    data.is_self = json_is_false(json_object_get(layer, "memory"));
    assert_int_equal(json_integer_value(json_object_get(layer, "heads")), data.heads);
    assert_int_equal(json_integer_value(json_object_get(layer, "entry")), entry);
    unlink("report");
    unlink("out");
    return data;
}

static void free_case(struct case_data *data) {
    free(data->weights);
    free(data->contributions);
    json_decref(data->report);
}

static const double *row_of(const struct case_data *d, int64_t b, int64_t h, int64_t i) {
    return d->weights + ((b * d->heads + h) * d->queries + i) * d->keys;
}

static const json_t *head_of(const struct case_data *d, int64_t h) {
    return json_array_get(json_object_get(d->report, "heads"), (size_t)h);
}

static double number_of(const json_t *object, const char *name) {
    const json_t *value = json_object_get(object, name);
    if (!json_is_number(value))
        fail_msg("\"%s\" is no number", name);
    return json_number_value(value);
}

/* Both sides are f32 weights added up, at most some hundred of them: 2e-5 is 100 times what their
 * rounding can do, and far below what a wrong row, key or head does. */
static void expect_near(double got, double expected, const char *what, int64_t h) {
    if (!(fabs(got - expected) <= 2e-5 * fmax(1, fabs(expected))))
        fail_msg("head %lld: %s is %.9g, expected %.9g", (long long)h, what, got, expected);
}

static double at(const struct case_data *d, const double *row, int64_t j) {
    return j >= 0 && j < d->keys ? row[j] : 0;
}

static void check_statistics(const struct case_data *d, int64_t h) {
    static const char *const names[] = {"entropy", "largest", "largest_distance", "mean_distance",
                                        "self",    "first",   "previous",         "next"};
    double sums[8] = {0}, n = 0;
    for (int64_t b = 0; b < d->batch; b++) {
        for (int64_t i = 0; i < d->queries; i++) {
            const double *row = row_of(d, b, h, i);
            int64_t best = 0, position = i + d->offset;
            double total = 0;
            for (int64_t j = 0; j < d->keys; j++) {
                best = row[j] > row[best] ? j : best;
                total += row[j];
                sums[0] -= row[j] > 0 ? row[j] * log(row[j]) : 0;
                sums[3] += row[j] * fabs((double)(position - j));
            }
            if (total == 0)
                continue;
            n++;
            sums[1] += row[best];
            sums[2] += fabs((double)(position - best));
            sums[4] += at(d, row, position);
            sums[5] += row[0];
            sums[6] += at(d, row, position - 1);
            sums[7] += at(d, row, position + 1);
        }
    }
    for (int k = 0; k < 8; k++)
        expect_near(number_of(head_of(d, h), names[k]), sums[k] / n, names[k], h);
}

/* The profile's bins partition the distances, and hold what the rows hold. */
static void check_profile(const struct case_data *d, int64_t h) {
    const json_t *bins = json_object_get(d->report, "bins");
    const json_t *profile = json_object_get(head_of(d, h), "profile");
    double left = 0;
    for (size_t b = 0; b < json_array_size(bins); b++) {
        int64_t low = json_integer_value(json_array_get(json_array_get(bins, b), 0));
        int64_t high = json_integer_value(json_array_get(json_array_get(bins, b), 1));
        double sum = 0;
        for (int64_t i = 0; i < d->queries; i++) {
            for (int64_t distance = low; distance <= high; distance++)
                sum += at(d, row_of(d, d->entry, h, i), i + d->offset - distance);
        }
        left += sum;
        expect_near(json_number_value(json_array_get(profile, b)), sum / (double)d->queries,
                    "profile", h);
    }
    for (int64_t i = 0; i < d->queries; i++) {
        for (int64_t j = 0; j < d->keys; j++)
            left -= row_of(d, d->entry, h, i)[j];
    }
    expect_near(left, 0, "weight outside all bins", h);
}

static int digit(char c) {
    const char *digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *found = strchr(digits, c);
    assert_true(found && *found);
    return (int)(found - digits);
}

static int byte_of(const char *text, int64_t i) {
    const char *group = text + i / 3 * 4 + i % 3;
    int high = digit(group[0]), low = digit(group[1]);
    return i % 3 == 0   ? high << 2 | low >> 4
           : i % 3 == 1 ? (high & 15) << 4 | low >> 2
                        : (high & 3) << 6 | low;
}

static void check_cells(const struct case_data *d, int64_t h) {
    const json_t *map = json_object_get(d->report, "map");
    int64_t rows = json_integer_value(json_object_get(map, "rows"));
    int64_t columns = json_integer_value(json_object_get(map, "columns"));
    int64_t tall = json_integer_value(json_object_get(map, "row_size"));
    int64_t wide = json_integer_value(json_object_get(map, "column_size"));
    const char *text = json_string_value(json_array_get(json_object_get(map, "cells"), (size_t)h));
    assert_non_null(text);
    assert_true(rows <= MAX_CELLS && columns <= MAX_CELLS);
    assert_true(rows * tall >= d->queries && (rows - 1) * tall < d->queries);
    assert_true(columns * wide >= d->keys && (columns - 1) * wide < d->keys);
    assert_int_equal(strlen(text), (rows * columns + 2) / 3 * 4);
    for (int64_t cell = 0; cell < rows * columns; cell++) {
        double sum = 0, n = 0;
        for (int64_t i = cell / columns * tall; i < d->queries && n < (double)tall; i++, n++) {
            for (int64_t j = cell % columns * wide; j < (cell % columns + 1) * wide; j++)
                sum += at(d, row_of(d, d->entry, h, i), j);
        }
        double expected = 255 * sqrt(sum / n);
        if (fabs(byte_of(text, cell) - expected) > 0.51)
            fail_msg("head %lld: cell %lld is %d, expected %.2f", (long long)h, (long long)cell,
                     byte_of(text, cell), expected);
    }
}

/* A list of links is sorted, true to the weights, and nothing outside it is larger. */
static void check_list(const struct case_data *d, const json_t *list, int64_t h, int64_t query,
                       size_t most) {
    double least = 2;
    size_t n = json_array_size(list), larger = 0, candidates = 0;
    bool is_pairs = query < 0;
    assert_true(n <= most);
    for (size_t i = 0; i < n; i++) {
        const json_t *pair = json_array_get(list, i);
        double weight = number_of(pair, "weight");
        int64_t key = json_integer_value(json_object_get(pair, "key"));
        int64_t row = is_pairs ? json_integer_value(json_object_get(pair, "query")) : query;
        expect_near(weight, row_of(d, d->entry, h, row)[key], "a link", h);
        assert_true(weight <= least && weight > 0);
        assert_true(!is_pairs || (key != 0 && !(d->is_self && key == row)));
        least = weight;
    }
    for (int64_t i = is_pairs ? 0 : query; i < (is_pairs ? d->queries : query + 1); i++) {
        for (int64_t j = is_pairs ? 1 : 0; j < d->keys; j++) {
            double weight = row_of(d, d->entry, h, i)[j];
            if (is_pairs && d->is_self && j == i)
                continue;
            candidates += weight > 0;
            larger += weight > least * (1 + 1e-6);
        }
    }
    assert_int_equal(n, candidates < most ? candidates : most);
    assert_true(n < most || larger < most);
}

static void check_links(const struct case_data *d, int64_t h) {
    const json_t *links = json_object_get(d->report, "links");
    assert_int_equal(json_array_size(links), 2);
    check_list(d, json_object_get(head_of(d, h), "pairs"), h, -1, 5);
    for (size_t l = 0; l < 2; l++) {
        const json_t *link = json_array_get(links, l);
        int64_t token = json_integer_value(json_object_get(link, "token"));
        assert_int_equal(token, l == 0 ? 4 : 0);
        check_list(d, json_array_get(json_object_get(link, "heads"), (size_t)h), h, token, 5);
    }
    for (int64_t i = 0; i < d->queries; i++) {
        const double *row = row_of(d, d->entry, h, i);
        int64_t key = json_integer_value(
            json_array_get(json_object_get(head_of(d, h), "strongest"), (size_t)i));
        for (int64_t j = 0; j < d->keys; j++)
            assert_true(key < 0 ? row[j] == 0 : row[j] <= row[key]);
        if (key >= 0)
            expect_near(json_number_value(json_array_get(
                            json_object_get(head_of(d, h), "strongest_weight"), (size_t)i)),
                        row[key], "strongest_weight", h);
    }
}

static double inner(const struct case_data *d, int64_t g, int64_t h) {
    double sum = 0;
    int64_t size = d->queries * d->width;
    for (int64_t b = 0; b < d->batch; b++) {
        for (int64_t i = 0; i < size; i++)
            sum += d->contributions[(b * d->heads + g) * size + i] *
                   d->contributions[(b * d->heads + h) * size + i];
    }
    return sum;
}

static double element(const struct case_data *d, const char *name, int64_t g, int64_t h) {
    return json_number_value(
        json_array_get(json_array_get(json_object_get(d->report, name), (size_t)g), (size_t)h));
}

/* Norms, shares, and the output's change with a head off: all from the contributions. */
static void check_contributions(const struct case_data *d) {
    double total = 0, cost = 0;
    for (int64_t g = 0; g < d->heads; g++) {
        for (int64_t h = 0; h < d->heads; h++)
            total += inner(d, g, h);
    }
    expect_near(number_of(d->report, "output_norm"), sqrt(total), "output_norm", -1);
    for (int64_t h = 0; h < d->heads; h++) {
        double own = inner(d, h, h), row = 0;
        for (int64_t g = 0; g < d->heads; g++) {
            row += inner(d, g, h);
            expect_near(element(d, "gram", g, h), inner(d, g, h), "gram", h);
            expect_near(element(d, "cosine", g, h), inner(d, g, h) / sqrt(own * inner(d, g, g)),
                        "cosine", h);
        }
        expect_near(number_of(head_of(d, h), "norm"), sqrt(own), "norm", h);
        expect_near(number_of(head_of(d, h), "share"), row / total, "share", h);
        expect_near(number_of(head_of(d, h), "alone_off"), sqrt(own / total), "alone_off", h);
        cost += number_of(head_of(d, h), "cost");
    }
    expect_near(cost, 1, "sum of costs", -1);
    const json_t *order = json_object_get(d->report, "order");
    assert_int_equal(json_array_size(order), d->heads);
    expect_near(number_of(json_array_get(order, (size_t)d->heads - 1), "change"), 1, "change", -1);
    const json_t *first = json_array_get(order, 0);
    int64_t least = -1; /* the place of the head with that number */
    for (int64_t h = 0; h < d->heads; h++) {
        if (json_equal(json_object_get(head_of(d, h), "head"), json_object_get(first, "head")))
            least = h;
        assert_true(number_of(head_of(d, h), "alone_off") >= number_of(first, "change") - 1e-6);
    }
    expect_near(number_of(head_of(d, least), "alone_off"), number_of(first, "change"), "order",
                least);
}

static double correlation_of(const struct case_data *d, int64_t g, int64_t h) {
    double n = 0, sums[5] = {0};
    for (int64_t b = 0; b < d->batch; b++) {
        for (int64_t i = 0; i < d->queries; i++) {
            for (int64_t j = 0; j < d->keys; j++) {
                double largest = 0, x = row_of(d, b, g, i)[j], y = row_of(d, b, h, i)[j];
                for (int64_t k = 0; k < d->heads; k++)
                    largest = fmax(largest, row_of(d, b, k, i)[j]);
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

static void check_case(struct case_data *d) {
    for (int64_t h = 0; h < d->heads; h++) {
        check_statistics(d, h);
        check_profile(d, h);
        check_cells(d, h);
        check_links(d, h);
        for (int64_t g = 0; g < d->heads; g++)
            expect_near(element(d, "correlation", g, h), g == h ? 1 : correlation_of(d, g, h),
                        "correlation", h);
    }
    check_contributions(d);
    free_case(d);
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
        struct case_data data = read_case(0);
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
    struct case_data data = read_case(1);
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

/* 1100 keys: a head's map is looked at in more than one block of rows. */
static void agrees_over_blocks(enum headwise_isa isa) {
    write_random(1, 1100);
    cli_accepts("layer", RANDOM, "--probe", "weights,contrib", "-o", "out");
    cli_accepts("inspect", RANDOM, REPORT);
    struct case_data data = read_case(0);
    for (int64_t h = 0; h < HEADS; h++) {
        check_statistics(&data, h);
        check_profile(&data, h);
        check_cells(&data, h);
        check_links(&data, h);
    }
    free_case(&data);
}

int main(void) {
    static const struct test_case cases[] = {
        TEST_CASE(agrees_with_the_weights),
        TEST_CASE(agrees_in_a_batch),
        TEST_CASE(agrees_over_blocks),
    };
    return cli_main_tiers(cases, TEST_COUNT(cases));
}
