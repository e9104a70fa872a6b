/* What headwise inspect reports of each head against the weights that headwise layer writes. */
#define _POSIX_C_SOURCE 200809L
#include "report.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_CELLS = 8 };

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

struct report report_read(int64_t entry) {
    struct report data = {.entry = entry};
    int64_t sizes[4];
    data.weights = read_four(sizes, "weights");
    data.batch = sizes[0];
    data.heads = sizes[1];
    data.queries = sizes[2];
    data.keys = sizes[3];
    data.contributions = read_four(sizes, "contrib");
    data.width = sizes[3];
    data.text = view_read("report");
    data.json = view_of(data.text);
    view layer = view_member(data.json, "layer");
    data.offset = view_integer(view_member(layer, "offset"));
    data.is_self = !view_bool(view_member(layer, "memory"));
    assert_int_equal(view_integer(view_member(layer, "heads")), data.heads);
    assert_int_equal(view_integer(view_member(layer, "entry")), entry);
    unlink("report");
    unlink("out");
    return data;
}

void report_free(struct report *data) {
    free(data->weights);
    free(data->contributions);
    free(data->text);
}

const double *report_row(const struct report *d, int64_t b, int64_t h, int64_t i) {
    return d->weights + ((b * d->heads + h) * d->queries + i) * d->keys;
}

view report_head(const struct report *d, int64_t h) {
    return view_item(view_member(d->json, "heads"), h);
}

double report_number(view object, const char *name) {
    view value = view_member(object, name);
    if (!value.at || view_kind(value) != HEADWISE_JSON_NUMBER)
        fail_msg("\"%s\" is no number", name);
    return view_number(value);
}

void report_expect(double got, double expected, const char *what, int64_t h) {
    if (!(fabs(got - expected) <= 2e-5 * fmax(1, fabs(expected))))
        fail_msg("head %lld: %s is %.9g, expected %.9g", (long long)h, what, got, expected);
}

static double at(const struct report *d, const double *row, int64_t j) {
    return j >= 0 && j < d->keys ? row[j] : 0;
}

static void check_statistics(const struct report *d, int64_t h) {
    static const char *const names[] = {"entropy", "largest", "largest_distance", "mean_distance",
                                        "self",    "first",   "previous",         "next"};
    double sums[8] = {0}, n = 0;
    for (int64_t b = 0; b < d->batch; b++) {
        for (int64_t i = 0; i < d->queries; i++) {
            const double *row = report_row(d, b, h, i);
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
        report_expect(report_number(report_head(d, h), names[k]), sums[k] / n, names[k], h);
}

/* The profile's bins partition the distances, and hold what the rows hold. */
static void check_profile(const struct report *d, int64_t h) {
    view bins = view_member(d->json, "bins");
    view profile = view_member(report_head(d, h), "profile");
    double left = 0;
    for (int64_t b = 0; b < view_count(bins); b++) {
        int64_t low = view_integer(view_item(view_item(bins, b), 0));
        int64_t high = view_integer(view_item(view_item(bins, b), 1));
        double sum = 0;
        for (int64_t i = 0; i < d->queries; i++) {
            for (int64_t distance = low; distance <= high; distance++)
                sum += at(d, report_row(d, d->entry, h, i), i + d->offset - distance);
        }
        left += sum;
        report_expect(view_number(view_item(profile, b)), sum / (double)d->queries, "profile", h);
    }
    for (int64_t i = 0; i < d->queries; i++) {
        for (int64_t j = 0; j < d->keys; j++)
            left -= report_row(d, d->entry, h, i)[j];
    }
    report_expect(left, 0, "weight outside all bins", h);
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

static void check_cells(const struct report *d, int64_t h) {
    view map = view_member(d->json, "map");
    int64_t rows = view_integer(view_member(map, "rows"));
    int64_t columns = view_integer(view_member(map, "columns"));
    int64_t tall = view_integer(view_member(map, "row_size"));
    int64_t wide = view_integer(view_member(map, "column_size"));
    const char *text = view_text(view_item(view_member(map, "cells"), h));
    assert_non_null(text);
    assert_true(rows <= MAX_CELLS && columns <= MAX_CELLS);
    assert_true(rows * tall >= d->queries && (rows - 1) * tall < d->queries);
    assert_true(columns * wide >= d->keys && (columns - 1) * wide < d->keys);
    assert_int_equal(strlen(text), (rows * columns + 2) / 3 * 4);
    for (int64_t cell = 0; cell < rows * columns; cell++) {
        double sum = 0, n = 0;
        for (int64_t i = cell / columns * tall; i < d->queries && n < (double)tall; i++, n++) {
            for (int64_t j = cell % columns * wide; j < (cell % columns + 1) * wide; j++)
                sum += at(d, report_row(d, d->entry, h, i), j);
        }
        double expected = 255 * sqrt(sum / n);
        if (fabs(byte_of(text, cell) - expected) > 0.51)
            fail_msg("head %lld: cell %lld is %d, expected %.2f", (long long)h, (long long)cell,
                     byte_of(text, cell), expected);
    }
}

/* A list of links is sorted, true to the weights, and nothing outside it is larger. */
static void check_list(const struct report *d, view list, int64_t h, int64_t query, int64_t most) {
    double least = 2;
    int64_t n = view_count(list), larger = 0, candidates = 0;
    bool is_pairs = query < 0;
    assert_true(n <= most);
    for (int64_t i = 0; i < n; i++) {
        view pair = view_item(list, i);
        double weight = report_number(pair, "weight");
        int64_t key = view_integer(view_member(pair, "key"));
        int64_t row = is_pairs ? view_integer(view_member(pair, "query")) : query;
        report_expect(weight, report_row(d, d->entry, h, row)[key], "a link", h);
        assert_true(weight <= least && weight > 0);
        assert_true(!is_pairs || (key != 0 && !(d->is_self && key == row)));
        least = weight;
    }
    for (int64_t i = is_pairs ? 0 : query; i < (is_pairs ? d->queries : query + 1); i++) {
        for (int64_t j = is_pairs ? 1 : 0; j < d->keys; j++) {
            double weight = report_row(d, d->entry, h, i)[j];
            if (is_pairs && d->is_self && j == i)
                continue;
            candidates += weight > 0;
            larger += weight > least * (1 + 1e-6);
        }
    }
    assert_int_equal(n, candidates < most ? candidates : most);
    assert_true(n < most || larger < most);
}

static void check_links(const struct report *d, int64_t h) {
    view links = view_member(d->json, "links");
    assert_int_equal(view_count(links), 2);
    check_list(d, view_member(report_head(d, h), "pairs"), h, -1, 5);
    for (int64_t l = 0; l < 2; l++) {
        view link = view_item(links, l);
        int64_t token = view_integer(view_member(link, "token"));
        assert_int_equal(token, l == 0 ? 4 : 0);
        check_list(d, view_item(view_member(link, "heads"), h), h, token, 5);
    }
    for (int64_t i = 0; i < d->queries; i++) {
        const double *row = report_row(d, d->entry, h, i);
        int64_t key = view_integer(view_item(view_member(report_head(d, h), "strongest"), i));
        for (int64_t j = 0; j < d->keys; j++)
            assert_true(key < 0 ? row[j] == 0 : row[j] <= row[key]);
        if (key >= 0)
            report_expect(
                view_number(view_item(view_member(report_head(d, h), "strongest_weight"), i)),
                row[key], "strongest_weight", h);
    }
}

void report_check_head(const struct report *d, int64_t h) {
    check_statistics(d, h);
    check_profile(d, h);
    check_cells(d, h);
    check_links(d, h);
}
