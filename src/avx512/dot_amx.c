/* Sums of products of bytes by AMX: tiles of 16 rows, 16 columns and 64 inputs, up to 2 x 2 of them
 * at a time. Tiles 0 to 3 hold sums, 4 and 5 rows, 6 and 7 columns. */
#include "kernels/amx.h"
#include "simd/dot_end.h"

enum { TILE_ROWS_AMX = 16, TILE_INPUTS = 64, BLOCK_ROWS = 32 };

/* Inputs of a panel that all rows meet one after the other: 16 KB of it, which stay in the L1
 * cache. */
enum { SLICE_INPUTS = HEADWISE_DOT_GROUP };

/* What LDTILECFG reads. */
struct tile_config {
    uint8_t palette, start_row, reserved[14];
    uint16_t row_bytes[16];
    uint8_t rows[16];
};

/* lower rows in tiles of the first sums, upper in those of the second. */
static void configure(ptrdiff_t lower, ptrdiff_t upper) {
    struct tile_config config = {.palette = 1};
    for (int tile = 0; tile < 8; tile++) {
        bool holds_upper = tile == 2 || tile == 3 || tile == 5;
        ptrdiff_t rows = tile >= 6 ? TILE_ROWS_AMX : holds_upper ? upper : lower;
        config.rows[tile] = (uint8_t)rows;
        config.row_bytes[tile] = rows ? TILE_INPUTS : 0;
    }
    _tile_loadconfig(&config);
}

/* 64 inputs of a block of `heights` times `widths` tiles. */
DOT_TILE add_inputs(const uint8_t *bytes, ptrdiff_t stride, const int8_t *quads, int heights,
                    int widths) {
    ptrdiff_t quads_stride = widths * TILE_INPUTS;
    _tile_loadd(6, quads, quads_stride);
    _tile_loadd(4, bytes, stride);
    _tile_dpbusd(0, 4, 6);
    if (widths == 2) {
        _tile_loadd(7, quads + TILE_INPUTS, quads_stride);
        _tile_dpbusd(1, 4, 7);
    }
    if (heights == 2) {
        _tile_loadd(5, bytes + TILE_ROWS_AMX * stride, stride);
        _tile_dpbusd(2, 5, 6);
        if (widths == 2)
            _tile_dpbusd(3, 5, 7);
    }
}

/* The inputs that do not fill a tile, as one: beyond them weights are zeros. */
struct rest {
    ptrdiff_t k;
    int8_t quads[NR * TILE_INPUTS];
};

/* Inputs first ... end - 1, and the rest after them where it is their turn. */
struct slice {
    ptrdiff_t first, end;
    const struct rest *rest; /* or NULL */
    const struct dot_group *group;
    bool resume, ends; /* or sums go on in y */
};

/* Reads sums from y, or begins them. */
DOT_TILE begin_sums(const struct dot *d, const float *y, bool resume, int heights, int widths) {
    ptrdiff_t stride = d->y_stride * (ptrdiff_t)sizeof *y;
    const float *upper = y + TILE_ROWS_AMX * d->y_stride;
    if (!resume) {
        _tile_zero(0);
        _tile_zero(1);
        _tile_zero(2);
        _tile_zero(3);
        return;
    }
    _tile_loadd(0, y, stride);
    if (widths == 2)
        _tile_loadd(1, y + LANES, stride);
    if (heights == 2)
        _tile_loadd(2, upper, stride);
    if (heights == 2 && widths == 2)
        _tile_loadd(3, upper + LANES, stride);
}

/* The sums of the lower or upper rows, stride numbers of 32 bits apart. */
DOT_TILE store_sums(int32_t *sums, ptrdiff_t stride, bool upper, int widths) {
    ptrdiff_t bytes = stride * (ptrdiff_t)sizeof *sums;
    if (upper) {
        _tile_stored(2, sums, bytes);
        if (widths == 2)
            _tile_stored(3, sums + LANES, bytes);
    } else {
        _tile_stored(0, sums, bytes);
        if (widths == 2)
            _tile_stored(1, sums + LANES, bytes);
    }
}

/* Ends the sums of one tile, m rows from row `first` on and column vector v: 1 KB of the stack at a
 * time, of which callers may have 16. Inlined, each place would have its own. */
static __attribute__((noinline)) void end_tile(const struct dot *d, const struct dot_group *group,
                                               ptrdiff_t first, ptrdiff_t m, bool upper, int v) {
    int32_t sums[TILE_ROWS_AMX * LANES] __attribute__((aligned(64)));
    if (upper && v == 1)
        _tile_stored(3, sums, TILE_INPUTS);
    else if (upper)
        _tile_stored(2, sums, TILE_INPUTS);
    else if (v == 1)
        _tile_stored(1, sums, TILE_INPUTS);
    else
        _tile_stored(0, sums, TILE_INPUTS);
    for (ptrdiff_t i = 0; i < m; i++)
        dot_end(d, group, first + i, v * LANES, load_ints(sums + i * LANES));
}

/* A slice of m rows from row `first` on, at most BLOCK_ROWS. */
DOT_TILE multiply_block(const struct dot *d, const struct slice *slice, ptrdiff_t first,
                        ptrdiff_t m, int heights, int widths) {
    ptrdiff_t stride = d->rows->stride;
    const uint8_t *bytes = d->rows->bytes + first * stride;
    const int8_t *panel = d->columns->panel;
    float *y = d->y + first * d->y_stride;
    ptrdiff_t lower = heights == 2 ? TILE_ROWS_AMX : m;
    begin_sums(d, y, slice->resume, heights, widths);
    for (ptrdiff_t t = slice->first; t < slice->end; t += TILE_INPUTS)
        add_inputs(bytes + t, stride, panel + t * widths * LANES, heights, widths);
    if (!slice->ends) {
        int32_t *sums = (void *)y;
        store_sums(sums, d->y_stride, false, widths);
        if (heights == 2)
            store_sums(sums + TILE_ROWS_AMX * d->y_stride, d->y_stride, true, widths);
        return;
    }
    if (slice->rest)
        add_inputs(bytes + slice->end, stride, slice->rest->quads, heights, widths);
    for (int v = 0; v < widths; v++) {
        end_tile(d, slice->group, first, lower, false, v);
        if (heights == 2)
            end_tile(d, slice->group, first + lower, m - lower, true, v);
    }
}

/* As configure(), unless tiles are so already. */
DOT_TILE configure_for(struct headwise_dot_state *state, ptrdiff_t lower, ptrdiff_t upper) {
    if (state->rows[0] == lower && state->rows[1] == upper)
        return;
    configure(lower, upper);
    state->rows[0] = lower;
    state->rows[1] = upper;
}

void headwise_release_amx(struct headwise_dot_state *state) {
    if (state->rows[0] > 0)
        _tile_release();
    *state = (struct headwise_dot_state){{0, 0}};
}

DOT_TILE multiply_slice(const struct dot *d, const struct slice *slice,
                        struct headwise_dot_state *state, int widths) {
    ptrdiff_t m = d->rows->m, i = 0;
    if (m >= BLOCK_ROWS)
        configure_for(state, TILE_ROWS_AMX, TILE_ROWS_AMX);
    for (; m - i >= BLOCK_ROWS; i += BLOCK_ROWS)
        multiply_block(d, slice, i, BLOCK_ROWS, 2, widths);
    if (m - i > TILE_ROWS_AMX) {
        configure_for(state, TILE_ROWS_AMX, m - i - TILE_ROWS_AMX);
        multiply_block(d, slice, i, m - i, 2, widths);
    } else if (m - i > 0) {
        configure_for(state, m - i, m - i);
        multiply_block(d, slice, i, m - i, 1, widths);
    }
}

/* Slices end where a group does, so that no sums of a group go on in y. */
DOT_TILE multiply_slices(const struct dot *d, const struct rest *rest, bool resume, int widths) {
    ptrdiff_t full = d->columns->k - rest->k, step = d->columns->group;
    struct headwise_dot_state own = {{0, 0}}, *state = d->rows->state ? d->rows->state : &own;
    struct dot_group group;
    struct slice slice = {.group = &group, .resume = resume};
    dot_first_group(&group, d);
    for (;;) { /* once without inputs */
        ptrdiff_t most = step ? step : SLICE_INPUTS;
        slice.end = full - slice.first > most ? slice.first + most : full;
        slice.rest = full - slice.first < most && rest->k > 0 ? rest : NULL;
        bool is_last = slice.end == full && (slice.rest || rest->k == 0);
        slice.ends = step > 0 || is_last;
        multiply_slice(d, &slice, state, widths);
        if (is_last)
            break;
        slice.first = slice.end;
        slice.resume = !step;
        if (step)
            dot_next_group(&group, d);
    }
    headwise_release_amx(&own);
}

void headwise_multiply_amx(float *restrict y, ptrdiff_t y_stride,
                           const struct headwise_dot_rows *rows,
                           const struct headwise_dot_columns *columns, bool resume) {
    const struct dot d = {y, y_stride, rows, columns, false, 0}; /* tiles resume */
    struct rest rest;
    rest.k = columns->k % TILE_INPUTS;
    ptrdiff_t full = columns->k - rest.k, quads = (rest.k + 3) / 4 * 4 * columns->n;
    if (rest.k > 0) {
        memset(rest.quads, 0, sizeof rest.quads);
        memcpy(rest.quads, columns->panel + full * columns->n, (size_t)quads);
    }
    if (columns->n == NR)
        multiply_slices(&d, &rest, resume, 2);
    else
        multiply_slices(&d, &rest, resume, 1);
}
