/* A report of headwise inspect beside what headwise layer wrote of the same layer. */
#ifndef TESTS_CLI_REPORT_H
#define TESTS_CLI_REPORT_H

#include "cli_support.h"
#include "view.h"

/* What `headwise layer` says of one layer, and what `headwise inspect` says of it. */
struct report {
    int64_t batch, heads, queries, keys, width, offset, entry;
    bool is_self;
    double *weights, *contributions; /* [batch][heads][queries][keys], [...][width] */
    char *text;
    view json; /* of text */
};

/* Reads "out", with weights and contrib, and "report", and removes both. report_free() it. */
struct report report_read(int64_t entry);
void report_free(struct report *data);

/* The weights of a query, [keys]. */
const double *report_row(const struct report *d, int64_t b, int64_t h, int64_t i);

/* What the report says of a head; a member of it that must be a number. */
view report_head(const struct report *d, int64_t h);
double report_number(view object, const char *name);

/* Both sides are f32 weights added up, at most some hundred of them: 2e-5 is 100 times what their
 * rounding can do, and far below what a wrong row, key or head does. */
void report_expect(double got, double expected, const char *what, int64_t h);

/* Statistics, profile, cells, pairs and links of a head: each from the weights alone. */
void report_check_head(const struct report *d, int64_t h);

#endif
