/* Asks for AMX, and uses it where it is right. */
#define _GNU_SOURCE
#include "kernels/amx.h"

#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Fewer rows are faster by VNNI: tiles of 16 rows cost what full ones do. */
enum { FEW_ROWS = 8 };

static bool is_permitted(void) {
    enum { ASK = 0x1023, TILE_DATA = 18 }; /* ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA */
    return syscall(SYS_arch_prctl, ASK, TILE_DATA) == 0;
}

/* A product of more than a tile in every direction, with the extremes among its bytes. */
enum { TEST_ROWS = 17, TEST_COLUMNS = 32, TEST_INPUTS = 68, TEST_STRIDE = 128 };

static bool is_sum(const uint8_t *bytes, const int8_t *panel, int j, int32_t got) {
    int32_t sum = 0;
    for (int t = 0; t < TEST_INPUTS; t++)
        sum += bytes[t] * panel[(t / 4 * TEST_COLUMNS + j) * 4 + t % 4];
    return got == sum;
}

/* Called once, by one thread: the arrays, 7 KB, would not fit the stack of a caller with 16 KB. */
static bool is_right(void) {
    static uint8_t bytes[TEST_ROWS * TEST_STRIDE];
    static int8_t panel[TEST_INPUTS * TEST_COLUMNS];
    static float y[TEST_ROWS * TEST_COLUMNS];
    static const struct headwise_rounding roundings[TEST_ROWS];
    const struct headwise_dot_rows rows = {bytes, TEST_STRIDE, roundings, TEST_ROWS, 0, NULL};
    const struct headwise_dot_columns columns = {
        .panel = panel, .n = TEST_COLUMNS, .k = TEST_INPUTS};
    for (int i = 0; i < TEST_ROWS * TEST_STRIDE; i++)
        bytes[i] = (uint8_t)(i % 3 == 0 ? 255 : i * 37);
    for (int i = 0; i < TEST_INPUTS * TEST_COLUMNS; i++)
        panel[i] = (int8_t)(i % 5 == 0 ? -128 : i % 255 - 127);
    headwise_multiply_amx(y, TEST_COLUMNS, &rows, &columns, false);
    bool right = true;
    for (int i = 0; i < TEST_ROWS * TEST_COLUMNS; i++) {
        int32_t got;
        memcpy(&got, y + i, sizeof got);
        right =
            right && is_sum(bytes + i / TEST_COLUMNS * TEST_STRIDE, panel, i % TEST_COLUMNS, got);
    }
    return right;
}

/* While one thread asks and tests, others multiply by VNNI, which gives the same sums. */
static bool is_usable(void) {
    enum { UNKNOWN, ASKED, USABLE, UNUSABLE };
    static _Atomic int known;
    int state = atomic_load_explicit(&known, memory_order_relaxed);
    if (state == UNKNOWN && atomic_compare_exchange_strong(&known, &state, ASKED)) {
        state = is_permitted() && is_right() ? USABLE : UNUSABLE;
        atomic_store_explicit(&known, state, memory_order_relaxed);
    }
    return state == USABLE;
}

static void multiply_bytes(float *restrict y, ptrdiff_t y_stride,
                           const struct headwise_dot_rows *rows,
                           const struct headwise_dot_columns *columns, bool resume) {
    if (rows->m > FEW_ROWS && is_usable())
        headwise_multiply_amx(y, y_stride, rows, columns, resume);
    else
        headwise_dot_vnni.multiply(y, y_stride, rows, columns, resume);
}

const struct headwise_dot headwise_dot_amx = {"amx", 4, multiply_bytes, is_usable,
                                              headwise_release_amx};
