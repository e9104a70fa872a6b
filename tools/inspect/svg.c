/* The picture of all maps: panels of cells, names of tokens, a legend. */
#include "inspect/svg.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/message.h"
#include "common/stream.h"
#include "inspect/svg_text.h"

enum {
    LEVELS = 24,      /* of colour; level 0 is the paper */
    MOST_NAMES = 64,  /* cells of a side that get names */
    MARGIN = 16,      /* around the picture */
    GAP = 18,         /* between panels */
    HEADING = 40,     /* title and facts */
    PANEL_TITLE = 18, /* above a panel */
    LEGEND = 44
};

/* Everything that fixes where things are. */
struct figure {
    const struct findings *findings;
    FILE *out;
    int64_t n_rows, n_columns, tall, wide; /* cells of a panel; cells of the grid in one of them */
    int64_t panel_columns, panel_rows;
    double cell, name_size, left,
        top; /* pixels of a cell; room for names beside and above panels */
    bool has_row_names, has_column_names;
    double *weights; /* [n_rows][n_columns] of the panel being drawn */
};

static double smaller(double a, double b) {
    return a < b ? a : b;
}

/* The colour of a level: white to dark blue through the page's ramp. */
static void print_color(FILE *out, int level) {
    static const int stops[5][3] = {
        {255, 255, 255}, {203, 218, 235}, {125, 163, 210}, {50, 95, 158}, {16, 36, 75}};
    double at = 4.0 * level / (LEVELS - 1);
    int i = at < 3 ? (int)at : 3;
    fprintf(out, "#");
    for (int c = 0; c < 3; c++)
        fprintf(out, "%02x",
                (unsigned)lround(stops[i][c] + (at - i) * (stops[i + 1][c] - stops[i][c])));
}

static void measure(struct figure *figure) {
    const struct findings *f = figure->findings;
    const struct grid *grid = &f->grid;
    int64_t most = f->n_heads > 12 ? 64 : 128;
    figure->tall = (grid->n_rows + most - 1) / most;
    figure->wide = (grid->n_columns + most - 1) / most;
    figure->n_rows = (grid->n_rows + figure->tall - 1) / figure->tall;
    figure->n_columns = (grid->n_columns + figure->wide - 1) / figure->wide;
    figure->has_row_names = f->query_tokens && grid->row_size * figure->tall == 1 &&
                            figure->n_rows <= MOST_NAMES && f->n_heads <= 12;
    figure->has_column_names = f->key_tokens && grid->column_size * figure->wide == 1 &&
                               figure->n_columns <= MOST_NAMES && f->n_heads <= 12;
    figure->panel_columns = f->n_heads <= 4 ? f->n_heads : f->n_heads <= 12 ? 4 : 8;
    figure->panel_rows = (f->n_heads + figure->panel_columns - 1) / figure->panel_columns;
    int64_t longer = figure->n_rows > figure->n_columns ? figure->n_rows : figure->n_columns;
    figure->cell = smaller(16, (f->n_heads > 12 ? 140.0 : 280.0) / (double)longer);
    if ((figure->has_row_names || figure->has_column_names) && figure->cell < 7)
        figure->cell = 7; /* names stay legible */
    figure->name_size =
        figure->has_row_names || figure->has_column_names ? smaller(figure->cell, 10) : 8;
    figure->left = figure->has_row_names
                       ? svg_names_width(f->query_tokens, f->n_queries, figure->name_size)
                       : 30;
    figure->top = PANEL_TITLE;
    if (figure->has_column_names)
        figure->top += svg_names_width(f->key_tokens, f->n_keys, figure->name_size);
}

/* A panel's cells, from the bytes of the grid's. */
static void decode(struct figure *figure, int64_t head) {
    const struct grid *grid = &figure->findings->grid;
    const unsigned char *cells = figure->findings->cells + head * grid->n_rows * grid->n_columns;
    memset(figure->weights, 0,
           (size_t)(figure->n_rows * figure->n_columns) * sizeof *figure->weights);
    for (int64_t i = 0; i < grid->n_rows; i++) {
        int64_t row = i / figure->tall, first = row * figure->tall;
        int64_t n = grid->n_rows - first < figure->tall ? grid->n_rows - first : figure->tall;
        for (int64_t j = 0; j < grid->n_columns; j++) {
            double level = cells[i * grid->n_columns + j] / 255.0;
            figure->weights[row * figure->n_columns + j / figure->wide] +=
                level * level / (double)n;
        }
    }
}

static int level_of(double weight) {
    return (int)lround((LEVELS - 1) * sqrt(smaller(weight, 1)));
}

/* A path for each level, in units of cells: a rectangle for each run of equal cells in a row. */
static void print_cells(const struct figure *figure) {
    for (int level = 1; level < LEVELS; level++) {
        bool is_open = false;
        for (int64_t row = 0; row < figure->n_rows; row++) {
            const double *weights = figure->weights + row * figure->n_columns;
            for (int64_t j = 0, end = 0; j<figure->n_columns; j = end> j ? end : j + 1) {
                for (end = j; end < figure->n_columns && level_of(weights[end]) == level; end++)
                    ;
                if (end == j)
                    continue;
                if (!is_open) {
                    fprintf(figure->out, "<path fill=\"");
                    print_color(figure->out, level);
                    fprintf(figure->out, "\" d=\"");
                    is_open = true;
                }
                fprintf(figure->out, "M%lld %lldh%lldv1h-%lldz", (long long)j, (long long)row,
                        (long long)(end - j), (long long)(end - j));
            }
        }
        if (is_open)
            fprintf(figure->out, "\"/>\n");
    }
}

/* Names where there are tokens; else the first and the last number. */
static void print_row_names(const struct figure *figure, double x, double y) {
    const struct findings *f = figure->findings;
    fprintf(figure->out, "<g class=\"name\" text-anchor=\"end\">\n");
    for (int64_t i = 0; i < figure->n_rows; i++) {
        bool is_end = i == 0 || i == figure->n_rows - 1;
        if (!figure->has_row_names && !is_end)
            continue;
        fprintf(figure->out, "<text x=\"%.1f\" y=\"%.1f\" dy=\".32em\">", x - 4,
                y + ((double)i + 0.5) * figure->cell);
        if (figure->has_row_names)
            svg_print_token(figure->out, f->query_tokens[i]);
        else
            fprintf(figure->out, "%lld", (long long)(i == 0 ? 0 : f->n_queries - 1));
        fprintf(figure->out, "</text>\n");
    }
    fprintf(figure->out, "</g>\n");
}

static void print_column_names(const struct figure *figure, double x, double y) {
    fprintf(figure->out, "<g class=\"name\">\n");
    for (int64_t j = 0; figure->has_column_names && j < figure->n_columns; j++) {
        fprintf(figure->out, "<text transform=\"translate(%.1f %.1f) rotate(-90)\" dy=\".32em\">",
                x + ((double)j + 0.5) * figure->cell, y - 4);
        svg_print_token(figure->out, figure->findings->key_tokens[j]);
        fprintf(figure->out, "</text>\n");
    }
    fprintf(figure->out, "</g>\n");
}

static void print_panel(struct figure *figure, int64_t head, double x, double y) {
    const struct head_findings *h = &figure->findings->heads[head];
    double width = (double)figure->n_columns * figure->cell;
    double height = (double)figure->n_rows * figure->cell;
    bool is_left = head % figure->panel_columns == 0, is_top = head < figure->panel_columns;
    fprintf(figure->out, "<text class=\"head\" x=\"%.1f\" y=\"%.1f\">%s%lld", x,
            y - (is_top ? figure->top : PANEL_TITLE) + 11, width > 100 ? "Head " : "",
            (long long)h->number);
    fprintf(figure->out, " <tspan class=\"soft\">%.0f %%%s</tspan></text>\n", 100 * h->share,
            width > 160 ? " of the output" : "");
    decode(figure, head);
    fprintf(figure->out,
            "<g transform=\"translate(%.1f %.1f) scale(%.4f)\" shape-rendering=\"crispEdges\">\n",
            x, y, figure->cell);
    print_cells(figure);
    fprintf(figure->out, "</g>\n");
    fprintf(figure->out,
            "<rect class=\"frame\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"/>\n", x, y,
            width, height);
    if (is_left)
        print_row_names(figure, x, y);
    if (is_top)
        print_column_names(figure, x, y);
}

/* The scale is that of the square root, so that small weights are seen. */
static void print_legend(const struct figure *figure, double x, double y) {
    static const double ticks[] = {0, 0.05, 0.25, 0.5, 1};
    double width = 168;
    for (int level = 0; level < LEVELS; level++) {
        fprintf(figure->out, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"9\" fill=\"",
                x + level * width / LEVELS, y, width / LEVELS + 0.1);
        print_color(figure->out, level);
        fprintf(figure->out, "\"/>\n");
    }
    fprintf(figure->out,
            "<rect class=\"frame\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"9\"/>\n", x, y,
            width);
    for (size_t i = 0; i < sizeof ticks / sizeof *ticks; i++)
        fprintf(figure->out,
                "<text class=\"soft\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">%g</text>\n",
                x + width * sqrt(ticks[i]), y + 20, ticks[i]);
    fprintf(figure->out,
            "<text class=\"soft\" x=\"%.1f\" y=\"%.1f\">weight that a query (row) gives a key "
            "(column)%s</text>\n",
            x + width + 16, y + 9,
            figure->findings->grid.row_size * figure->tall > 1 ? ", of many tokens in a cell" : "");
}

static void print_heading(const struct figure *figure, double width, double height) {
    const struct findings *f = figure->findings;
    fprintf(
        figure->out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" viewBox=\"0 0 "
        "%.0f %.0f\" role=\"img\">\n<title>",
        width, height, width, height);
    svg_print_text(figure->out, f->title, 200);
    fprintf(
        figure->out,
        "</title>\n<style>text{font-family:Helvetica,Arial,'DejaVu Sans',sans-serif;"
        "font-size:11px;fill:#1e2227}.title{font-size:15px;font-weight:bold}.head{font-weight:"
        "bold}.soft{fill:#5d646c;font-weight:normal}.name{font-size:%.1fpx}.name "
        "text{font-size:inherit}.frame{fill:none;stroke:#b9b5aa;stroke-width:.7}</style>\n"
        "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n<text class=\"title\" x=\"%d\" "
        "y=\"%d\">",
        figure->name_size, MARGIN, MARGIN + 10);
    svg_print_text(figure->out, f->title, 200);
    fprintf(figure->out,
            "</text>\n<text class=\"soft\" x=\"%d\" y=\"%d\">%lld heads of %lld, %lld "
            "tokens",
            MARGIN, MARGIN + 27, (long long)f->n_heads, (long long)f->head_dim,
            (long long)f->n_queries);
    if (!f->is_self)
        fprintf(figure->out, " on %lld of memory", (long long)f->n_keys);
    fprintf(figure->out, "</text>\n");
}

static void print_figure(struct figure *figure) {
    double width = (double)figure->n_columns * figure->cell + GAP;
    double height = (double)figure->n_rows * figure->cell + GAP;
    double top = MARGIN + HEADING + figure->top, left = MARGIN + figure->left;
    double across = left + (double)figure->panel_columns * width - GAP + MARGIN;
    double down = top + (double)figure->panel_rows * (height + PANEL_TITLE) - PANEL_TITLE;
    across = across > 560 ? across : 560; /* the legend's line */
    print_heading(figure, across, down + LEGEND);
    for (int64_t h = 0; h < figure->findings->n_heads; h++)
        print_panel(figure, h, left + (double)(h % figure->panel_columns) * width,
                    top + (double)(h / figure->panel_columns) * (height + PANEL_TITLE));
    print_legend(figure, left, down);
    fprintf(figure->out, "</svg>\n");
}

int svg_write(const char *path, const struct findings *findings) {
    struct figure figure = {.findings = findings};
    struct stream stream = {0};
    measure(&figure);
    figure.weights = calloc((size_t)(figure.n_rows * figure.n_columns), sizeof *figure.weights);
    if (!figure.weights)
        return fail("%s: out of memory", path);
    stream_open(&stream);
    figure.out = stream.out;
    if (figure.out)
        print_figure(&figure);
    free(figure.weights);
    return stream_write(&stream, path);
}
