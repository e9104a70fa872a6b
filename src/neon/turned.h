/* Rows that are turned while they are loaded. */
#ifndef HEADWISE_TURNED_H
#define HEADWISE_TURNED_H

#include "vec.h"

/* Rows that load_turned reads at once. */
enum { TURNED = 2 * LANES };

/* Loads four elements of each of eight rows, turned: element i of row j becomes lane j % 4 of
 * tile[i] or, from row 4 on, of tile[4 + i]; moves the row pointers on. ld4 to one lane turns while
 * it loads: a panel of 16 keys costs 0.43 instructions per element, loads with a transpose by zip
 * 0.98. It is written out because gcc 12 puts four moves around each vld4q_lane_f32. */
static inline void load_turned(vec tile[TURNED], const float *row[TURNED]) {
    register vec x0 __asm__("v0"), x1 __asm__("v1"), x2 __asm__("v2"), x3 __asm__("v3");
    register vec y0 __asm__("v4"), y1 __asm__("v5"), y2 __asm__("v6"), y3 __asm__("v7");
    __asm__ volatile(
        "ld4r {v0.4s - v3.4s}, [%[r0]], #16\n\t"
        "ld4r {v4.4s - v7.4s}, [%[r4]], #16\n\t"
        "ld4 {v0.s - v3.s}[1], [%[r1]], #16\n\t"
        "ld4 {v4.s - v7.s}[1], [%[r5]], #16\n\t"
        "ld4 {v0.s - v3.s}[2], [%[r2]], #16\n\t"
        "ld4 {v4.s - v7.s}[2], [%[r6]], #16\n\t"
        "ld4 {v0.s - v3.s}[3], [%[r3]], #16\n\t"
        "ld4 {v4.s - v7.s}[3], [%[r7]], #16"
        : "=&w"(x0), "=&w"(x1), "=&w"(x2), "=&w"(x3), "=&w"(y0), "=&w"(y1), "=&w"(y2),
          "=&w"(y3), [r0] "+r"(row[0]), [r1] "+r"(row[1]), [r2] "+r"(row[2]), [r3] "+r"(row[3]),
          [r4] "+r"(row[4]), [r5] "+r"(row[5]), [r6] "+r"(row[6]), [r7] "+r"(row[7])
        :
        : "memory");
    tile[0] = x0, tile[1] = x1, tile[2] = x2, tile[3] = x3;
    tile[4] = y0, tile[5] = y1, tile[6] = y2, tile[7] = y3;
}

#endif
