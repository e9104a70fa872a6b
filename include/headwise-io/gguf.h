/* Element types of GGUF files: how many bytes a row takes, and its exact values. */
#ifndef HEADWISE_IO_GGUF_H
#define HEADWISE_IO_GGUF_H

#include <headwise/common.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Types by the numbers that files hold. Elements of a block share scales: 32 of them in the types
 * whose names end in _0, _1 and _NL, 256 in those that end in _K; the others have blocks of one. */
enum headwise_gguf_type {
    HEADWISE_GGUF_F32 = 0,
    HEADWISE_GGUF_F16 = 1,
    HEADWISE_GGUF_Q4_0 = 2,
    HEADWISE_GGUF_Q4_1 = 3,
    HEADWISE_GGUF_Q5_0 = 6,
    HEADWISE_GGUF_Q5_1 = 7,
    HEADWISE_GGUF_Q8_0 = 8,
    HEADWISE_GGUF_Q2_K = 10,
    HEADWISE_GGUF_Q3_K = 11,
    HEADWISE_GGUF_Q4_K = 12,
    HEADWISE_GGUF_Q5_K = 13,
    HEADWISE_GGUF_Q6_K = 14,
    HEADWISE_GGUF_IQ4_NL = 20,
    HEADWISE_GGUF_BF16 = 30
};

/* "Q4_0" and so on; NULL for a number that is none of the above. */
HEADWISE_API const char *headwise_gguf_type_name(enum headwise_gguf_type type);

/* Elements, and bytes, of one block; 0 for a number that is none of the above. */
HEADWISE_API size_t headwise_gguf_block_length(enum headwise_gguf_type type);
HEADWISE_API size_t headwise_gguf_block_bytes(enum headwise_gguf_type type);

/* Writes n elements of whole blocks at src, aligned to nothing, to dst as f32: products and sums in
 * the order of the format's reference, each rounded to f32, so that every bit is the reference's.
 * src holds n / block_length * block_bytes bytes and does not overlap dst. Scales may be any f16:
 * infinities and NaN give what f32 arithmetic gives. Any threads at once.
 * HEADWISE_ERR_INVALID: a pointer is NULL (each may be where n is 0), type is none of the above, or
 * n is no multiple of the block's length. dst is then untouched, and headwise_io_last_error() says
 * why. */
HEADWISE_API enum headwise_status headwise_gguf_widen(float *dst, const void *src,
                                                      enum headwise_gguf_type type, size_t n);

#ifdef __cplusplus
}
#endif

#endif
