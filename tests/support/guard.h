/* Memory of a test: buffers between unreadable pages, and plain arrays. All of it is freed by
 * guard_reset(), which the runner calls after every test case, failed ones too. */
#ifndef TESTS_GUARD_H
#define TESTS_GUARD_H

#include <stddef.h>

/* What untouched bytes of a buffer hold: as f32 -2.9e-16, as f16 -0.022. */
#define GUARD_BYTE 0xA5

/* A buffer of size_bytes that ends shift_bytes before an unreadable page. With shift_bytes = 0 the
 * first byte read or written beyond it faults; a small shift (4, or 2 for 16-bit types) moves the
 * base off every vector alignment instead, and the bytes of the gap are checked for writes.
 * Filled with GUARD_BYTE. size_bytes may be 0.
 * HEADWISE_TEST_SLACK=256 in the environment adds that much to the shift: for qemu-x86_64 7.2,
 * whose masked AVX2 loads touch the whole vector where a processor touches the lanes of the mask
 * alone. Rows that are rounded end in 64 numbers, of which all vectors but one may have no lane.
 */
void *guard_alloc(size_t size_bytes, size_t shift_bytes);

/* Memory that begins shift_bytes after an unreadable page: catches reads before the buffer. */
void *guard_alloc_begin(size_t size_bytes, size_t shift_bytes);

/* n floats ending exactly at an unreadable page. */
float *guard_floats(size_t n);

/* Zeroed plain memory for the test's own use. */
void *guard_plain(size_t n, size_t size);

/* Fails the test where a byte around any live buffer has changed. */
void guard_check(void);

/* guard_check(), then frees everything. */
void guard_reset(void);

/* Frees everything without a check: after a test that failed already. */
void guard_release(void);

/* Fails the test unless all size_bytes bytes still are GUARD_BYTE. */
void guard_expect_untouched(const void *memory, size_t size_bytes, const char *what);

#endif
