/* The sweep as a picture: throughput over the head count, and where the time goes. */
#include <math.h>
#include <stdio.h>

#include "sweep/sweep.h"

enum {
    WIDTH = 760,
    LEFT = 70,
    RIGHT = 24,
    TITLE = 56,  /* above the lines */
    LINES = 260, /* height of the lines' panel */
    GAP = 74,    /* axis and heading between panels */
    BARS = 170,  /* height of a panel of bars */
    LEGEND_ROW = 18,
    N_PARTS = 5,
    MOST_SERIES = 8
};

/* Colours that differ for every eye (Okabe and Ito 2008). */
static const char *const line_colors[MOST_SERIES] = {"#0072B2", "#D55E00", "#009E73", "#CC79A7",
                                                     "#56B4E9", "#E69F00", "#000000", "#999999"};
static const struct {
    const char *name, *color;
} parts[N_PARTS] = {{"projections", "#0072B2"},
                    {"scores", "#56B4E9"},
                    {"softmax", "#D55E00"},
                    {"values", "#009E73"},
                    {"other", "#BBBBBB"}};

static const struct sweep_row *row_of(const struct sweep *sweep, int series, int h) {
    return &sweep->rows[(int64_t)series * sweep->heads.n + h];
}

static int n_series(const struct sweep *sweep) {
    int n = sweep->threads.n * sweep->lengths.n;
    return n < MOST_SERIES ? n : MOST_SERIES;
}

/* Head counts stand at equal steps, as doublings do. */
static double step(const struct sweep *sweep) {
    return (double)(WIDTH - LEFT - RIGHT) / sweep->heads.n;
}

static double x_of(const struct sweep *sweep, int h) {
    return LEFT + (h + 0.5) * step(sweep);
}

/* The least of 1, 2, 2.5, 5 times a power of ten that is not below x. */
static double round_step(double x) {
    static const double steps[] = {1, 2, 2.5, 5, 10};
    double power = pow(10, floor(log10(x)));
    int i = 0;
    while (i < 4 && steps[i] * power < x * (1 - 1e-9))
        i++;
    return steps[i] * power;
}

static double tokens_per_s(const struct sweep_row *row, double seconds) {
    return (double)row->length / seconds;
}

static double most_tokens(const struct sweep *sweep) {
    double most = 0;
    for (int s = 0; s < n_series(sweep); s++)
        for (int h = 0; h < sweep->heads.n; h++)
            most =
                fmax(most, tokens_per_s(row_of(sweep, s, h), row_of(sweep, s, h)->quartile_s[0]));
    return most;
}

static void print_count(FILE *out, double x) {
    if (x >= 1e6)
        fprintf(out, "%gM", x / 1e6);
    else if (x >= 1e3)
        fprintf(out, "%gk", x / 1e3);
    else
        fprintf(out, "%g", x);
}

/* Names of the head counts below a panel whose bottom is y. */
static void print_heads(FILE *out, const struct sweep *sweep, double y) {
    for (int h = 0; h < sweep->heads.n; h++)
        fprintf(out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">%lld</text>\n",
                x_of(sweep, h), y + 16, (long long)sweep->heads.values[h]);
    fprintf(out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">heads</text>\n",
            LEFT + (WIDTH - LEFT - RIGHT) / 2.0, y + 32);
}

static void print_grid(FILE *out, double top, double height, double most, double tick) {
    for (int i = 0; i * tick <= most * (1 + 1e-9); i++) {
        double y = top + height * (1 - i * tick / most);
        fprintf(out, "<line x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\" stroke=\"#ddd\"/>\n", LEFT,
                WIDTH - RIGHT, y, y);
        fprintf(out, "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">", LEFT - 8, y + 4);
        print_count(out, i * tick);
        fprintf(out, "</text>\n");
    }
}

/* One line with a mark and the runs' quartiles at every head count. */
static void print_line(FILE *out, const struct sweep *sweep, int series, double top, double most) {
    const char *color = line_colors[series];
    const char *dash = series / sweep->lengths.n % 2 ? " stroke-dasharray=\"6 4\"" : "";
    double scale = LINES / most, bottom = top + LINES;
    fprintf(out, "<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"2\"%s points=\"", color,
            dash);
    for (int h = 0; h < sweep->heads.n; h++) {
        const struct sweep_row *row = row_of(sweep, series, h);
        fprintf(out, "%.1f,%.1f ", x_of(sweep, h),
                bottom - scale * tokens_per_s(row, row->median_s));
    }
    fprintf(out, "\"/>\n");
    for (int h = 0; h < sweep->heads.n; h++) {
        const struct sweep_row *row = row_of(sweep, series, h);
        double x = x_of(sweep, h), y = bottom - scale * tokens_per_s(row, row->median_s);
        fprintf(out, "<line x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\" stroke=\"%s\"/>\n", x,
                x, bottom - scale * tokens_per_s(row, row->quartile_s[0]),
                bottom - scale * tokens_per_s(row, row->quartile_s[1]), color);
        fprintf(out,
                "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3.5\" fill=\"%s\"><title>%lld heads of %lld: "
                "%.0f tokens/s, %.3g ms</title></circle>\n",
                x, y, color, (long long)row->n_heads,
                (long long)(sweep->inner_width / row->n_heads), tokens_per_s(row, row->median_s),
                1e3 * row->median_s);
    }
}

static void print_series_name(FILE *out, const struct sweep *sweep, int series) {
    const struct sweep_row *row = row_of(sweep, series, 0);
    fprintf(out, "length %lld", (long long)row->length);
    if (sweep->threads.n > 1)
        fprintf(out, ", %lld thread%s", (long long)row->n_threads, row->n_threads > 1 ? "s" : "");
}

static void print_line_legend(FILE *out, const struct sweep *sweep, double y) {
    double x = LEFT;
    for (int s = 0; s<n_series(sweep); s++, x += sweep->threads.n> 1 ? 170 : 120) {
        if (x > WIDTH - 150) {
            x = LEFT;
            y += LEGEND_ROW;
        }
        fprintf(out,
                "<line x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\" stroke=\"%s\" "
                "stroke-width=\"2\"%s/><text x=\"%.1f\" y=\"%.1f\">",
                x, x + 22, y - 4, y - 4, line_colors[s],
                s / sweep->lengths.n % 2 ? " stroke-dasharray=\"6 4\"" : "", x + 28, y);
        print_series_name(out, sweep, s);
        fprintf(out, "</text>\n");
    }
}

static double part_of(const struct sweep_row *row, int part) {
    static const enum share_group groups[] = {SHARE_PROJECTIONS, SHARE_SCORES, SHARE_SOFTMAX,
                                              SHARE_VALUES};
    double rest = 1;
    for (int g = 0; g < 4; g++)
        rest -= fmax(row->shares.share[groups[g]], 0);
    return part < 4 ? fmax(row->shares.share[groups[part]], 0) : fmax(rest, 0);
}

/* Where the time goes at one length, on the first number of threads. */
static void print_bars(FILE *out, const struct sweep *sweep, int series, double top) {
    double width = fmin(step(sweep) * 0.6, 64);
    fprintf(out, "<text x=\"%d\" y=\"%.1f\" font-weight=\"bold\">share of the time, ", LEFT,
            top - 12);
    print_series_name(out, sweep, series);
    fprintf(out, "</text>\n");
    for (int i = 0; i <= 4; i++) {
        double y = top + BARS * (1 - i / 4.0);
        fprintf(out, "<line x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\" stroke=\"#ddd\"/>\n", LEFT,
                WIDTH - RIGHT, y, y);
        fprintf(out, "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%d %%</text>\n", LEFT - 8,
                y + 4, 25 * i);
    }
    for (int h = 0; h < sweep->heads.n; h++) {
        double y = top + BARS;
        for (int p = 0; p < N_PARTS; p++) {
            double part = part_of(row_of(sweep, series, h), p);
            y -= BARS * part;
            fprintf(out,
                    "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" "
                    "fill=\"%s\"><title>%s: %.1f %%</title></rect>\n",
                    x_of(sweep, h) - width / 2, y, width, BARS * part, parts[p].color,
                    parts[p].name, 100 * part);
        }
    }
    print_heads(out, sweep, top + BARS);
}

static void print_bar_legend(FILE *out, double y) {
    for (int p = 0; p < N_PARTS; p++)
        fprintf(out,
                "<rect x=\"%d\" y=\"%.1f\" width=\"12\" height=\"12\" fill=\"%s\"/><text x=\"%d\" "
                "y=\"%.1f\">%s</text>\n",
                LEFT + 110 * p, y - 10, parts[p].color, LEFT + 110 * p + 18, y, parts[p].name);
}

static void print_svg(FILE *out, const struct sweep *sweep) {
    int per_row = sweep->threads.n > 1 ? 4 : 5;
    double legend = LEGEND_ROW * (double)((n_series(sweep) + per_row - 1) / per_row);
    double top = TITLE + legend, bars = top + LINES + GAP, most = most_tokens(sweep);
    double tick = round_step(most / 5);
    int n_bars = sweep->lengths.n < n_series(sweep) ? sweep->lengths.n : n_series(sweep);
    double height = bars + n_bars * (BARS + GAP) + 8;
    most = tick * ceil(most / tick);
    fprintf(out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%.0f\" "
            "viewBox=\"0 0 %d %.0f\" role=\"img\" font-family=\"sans-serif\" font-size=\"12\">\n"
            "<title>Throughput by head count</title>\n<rect width=\"100%%\" height=\"100%%\" "
            "fill=\"#fff\"/>\n",
            WIDTH, height, WIDTH, height);
    fprintf(out,
            "<text x=\"%d\" y=\"24\" font-size=\"16\" font-weight=\"bold\">Tokens per second by "
            "head count</text>\n<text x=\"%d\" y=\"42\" fill=\"#555\">layer of width %lld, %lld "
            "parameters, %s attention, tier %s",
            LEFT, LEFT, (long long)sweep->config.d_model, (long long)sweep_parameters(sweep),
            sweep->causal ? "causal" : "full", headwise_isa_name(sweep->tier));
    if (sweep->threads.n == 1)
        fprintf(out, ", %lld thread%s", (long long)sweep->threads.values[0],
                sweep->threads.values[0] > 1 ? "s" : "");
    fprintf(out, "; medians and quartiles</text>\n");
    print_line_legend(out, sweep, TITLE + 6);
    print_grid(out, top, LINES, most, tick);
    for (int s = 0; s < n_series(sweep); s++)
        print_line(out, sweep, s, top, most);
    print_heads(out, sweep, top + LINES);
    for (int l = 0; l < n_bars; l++)
        print_bars(out, sweep, l, bars + l * (BARS + GAP));
    print_bar_legend(out, height - 12);
    fprintf(out, "</svg>\n");
}

int sweep_write_svg(const char *path, const struct sweep *sweep) {
    return sweep_write_text(path, sweep, print_svg);
}
