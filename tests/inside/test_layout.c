/* Sizes that everything is laid out by: panels of columns, layouts of scratch, the binary search.
 */
#include "base/scratch.h"
#include "base/search.h"
#include "kernels/panel.h"
#include "runner.h"
#include "tier.h"

/* Panels begin every nr columns, the last is as narrow as its columns allow. */
static void panels_cover_columns(enum headwise_isa isa) {
    const struct headwise_kernels *kernels = tier_kernels(isa);
    int nr = kernels->nr, step = kernels->nr_min;
    for (int64_t columns = 1; columns <= 4 * nr + 1; columns++) {
        int64_t covered = 0;
        for (int64_t c = 0; c < columns; c += nr) {
            int width = headwise_panel_width(kernels, columns, c);
            int64_t own = columns - c < nr ? columns - c : nr;
            assert_int_equal(width % step, 0);
            assert_in_range(width - own, 0, step - 1);
            covered += width;
        }
        assert_int_equal(covered, (columns + step - 1) / step * step);
    }
}

/* One product takes whole panels while there are any, then the one that is narrower. */
static void whole_panels_come_first(enum headwise_isa isa) {
    const struct headwise_kernels *kernels = tier_kernels(isa);
    int nr = kernels->nr;
    for (int64_t columns = 1; columns <= 4 * nr + 1; columns++) {
        int64_t n_calls = 0, n;
        for (int64_t c = 0; c < columns; c += n, n_calls++) {
            n = headwise_whole_panels(kernels, columns, c);
            if (c == 0 && columns >= nr)
                assert_int_equal(n, columns / nr * nr);
            else
                assert_int_equal(n, headwise_panel_width(kernels, columns, c));
        }
        assert_int_equal(n_calls, (columns >= nr) + (columns % nr != 0));
    }
}

static void scratch_parts_are_aligned(enum headwise_isa isa) {
    int64_t total = 0;
    (void)isa;
    assert_int_equal(headwise_take(&total, 3, 5), 0);
    assert_int_equal(headwise_take(&total, 0, 7), 16); /* 15 floats, rounded up to a cache line */
    assert_int_equal(headwise_take(&total, 1, 17), 16);
    assert_int_equal(total, 48);
    assert_int_equal(headwise_float_bytes(total), 192);
    total = 0;
    assert_int_equal(headwise_take_bytes(&total, 3, 5, 2), 0);
    assert_int_equal(headwise_take_bytes(&total, 1, 1, 1), 64);
    assert_int_equal(total, 128);
}

static void scratch_overflow_stays(enum headwise_isa isa) {
    static const int64_t sizes[][2] = {{INT64_MAX, 2}, {INT64_MAX, 1}, {-1, 4}, {4, -1}};
    (void)isa;
    for (size_t i = 0; i < TEST_COUNT(sizes); i++) {
        int64_t floats = 32, bytes = 64;
        headwise_take(&floats, sizes[i][0], sizes[i][1]);
        assert_int_equal(floats, -1);
        headwise_take(&floats, 1, 1);
        assert_int_equal(floats, -1);
        assert_int_equal(headwise_float_bytes(floats), -1);
        headwise_take_bytes(&bytes, sizes[i][0], sizes[i][1], 1);
        assert_int_equal(bytes, -1);
    }
    int64_t total = INT64_MAX / 16 * 16 - 16;
    headwise_take(&total, 1, 32);
    assert_int_equal(total, -1);
    assert_int_equal(headwise_float_bytes(INT64_MAX / 4 + 1), -1);
    assert_int_equal(headwise_float_bytes(PTRDIFF_MAX / 4), PTRDIFF_MAX / 4 * 4);
    assert_int_equal(headwise_float_bytes((int64_t)(PTRDIFF_MAX / 4) + 1), -1);
    assert_true(headwise_bytes(PTRDIFF_MAX, 1) == PTRDIFF_MAX);
    assert_true(headwise_bytes(INT64_MAX, 2) == SIZE_MAX);
}

static int64_t start_of(const void *starts, int64_t i) {
    return ((const int64_t *)starts)[i];
}

/* Against a look at every element, equal ones included. */
static void search_finds_the_last(enum headwise_isa isa) {
    static const int64_t starts[] = {3, 3, 4, 9, 9, 9, 12};
    (void)isa;
    for (int64_t n = 1; n <= (int64_t)TEST_COUNT(starts); n++) {
        for (int64_t position = 0; position < 15; position++) {
            int64_t expected = 0;
            for (int64_t i = 0; i < n; i++)
                expected = starts[i] <= position ? i : expected;
            assert_int_equal(headwise_find_last(starts, n, start_of, position), expected);
        }
    }
}

int main(void) {
    static const struct test_case cases[] = {
        TEST_CASE(panels_cover_columns),      TEST_CASE(whole_panels_come_first),
        TEST_CASE(scratch_parts_are_aligned), TEST_CASE(scratch_overflow_stays),
        TEST_CASE(search_finds_the_last),
    };
    return test_run_tiers(cases, TEST_COUNT(cases));
}
