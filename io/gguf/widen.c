/* Elements of GGUF's types to f32: the table of the types, and blocks of one and of 32 elements. */
#include "files/error.h"
#include "gguf/blocks.h"
#include "headwise-io/gguf.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "blocks are little-endian");

static void widen_f32(float *dst, const unsigned char *src) {
    memcpy(dst, src, sizeof *dst);
}

static void widen_f16(float *dst, const unsigned char *src) {
    *dst = headwise_gguf_scale(src);
}

static void widen_bf16(float *dst, const unsigned char *src) {
    uint16_t half;
    memcpy(&half, src, sizeof half);
    headwise_f32_from_bf16(dst, &half, 1);
}

/* Element i of 32 in 16 bytes: the low halves first, then the high ones. */
static int nibble(const unsigned char *quants, int i) {
    return quants[i % 16] >> i / 16 * 4 & 15;
}

/* Element i of 32 with a fifth bit, bit i of the 4 bytes before the others. */
static int five_bits(const unsigned char *src, int i) {
    return nibble(src + 4, i) | (src[i / 8] >> i % 8 & 1) << 4;
}

static void widen_q8_0(float *dst, const unsigned char *src) {
    float scale = headwise_gguf_scale(src);
    for (int i = 0; i < 32; i++)
        dst[i] = scale * (float)(int8_t)src[2 + i];
}

static void widen_q4_0(float *dst, const unsigned char *src) {
    float scale = headwise_gguf_scale(src);
    for (int i = 0; i < 32; i++)
        dst[i] = scale * (float)(nibble(src + 2, i) - 8);
}

static void widen_q4_1(float *dst, const unsigned char *src) {
    float scale = headwise_gguf_scale(src), least = headwise_gguf_scale(src + 2);
    for (int i = 0; i < 32; i++)
        dst[i] = scale * (float)nibble(src + 4, i) + least;
}

static void widen_q5_0(float *dst, const unsigned char *src) {
    float scale = headwise_gguf_scale(src);
    for (int i = 0; i < 32; i++)
        dst[i] = scale * (float)(five_bits(src + 2, i) - 16);
}

static void widen_q5_1(float *dst, const unsigned char *src) {
    float scale = headwise_gguf_scale(src), least = headwise_gguf_scale(src + 2);
    for (int i = 0; i < 32; i++)
        dst[i] = scale * (float)five_bits(src + 4, i) + least;
}

/* The format's sixteen levels, closer to each other near 0. */
static void widen_iq4_nl(float *dst, const unsigned char *src) {
    static const int8_t levels[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                      1,    13,   25,  38,  53,  69,  89,  113};
    float scale = headwise_gguf_scale(src);
    for (int i = 0; i < 32; i++)
        dst[i] = scale * (float)levels[nibble(src + 2, i)];
}

struct type {
    const char *name;
    size_t length, size_bytes; /* of a block */
    headwise_gguf_widen_fn *widen;
};

static const struct type types[] = {
    [HEADWISE_GGUF_F32] = {"F32", 1, 4, widen_f32},
    [HEADWISE_GGUF_F16] = {"F16", 1, 2, widen_f16},
    [HEADWISE_GGUF_Q4_0] = {"Q4_0", 32, 18, widen_q4_0},
    [HEADWISE_GGUF_Q4_1] = {"Q4_1", 32, 20, widen_q4_1},
    [HEADWISE_GGUF_Q5_0] = {"Q5_0", 32, 22, widen_q5_0},
    [HEADWISE_GGUF_Q5_1] = {"Q5_1", 32, 24, widen_q5_1},
    [HEADWISE_GGUF_Q8_0] = {"Q8_0", 32, 34, widen_q8_0},
    [HEADWISE_GGUF_Q2_K] = {"Q2_K", 256, 84, headwise_gguf_widen_q2_k},
    [HEADWISE_GGUF_Q3_K] = {"Q3_K", 256, 110, headwise_gguf_widen_q3_k},
    [HEADWISE_GGUF_Q4_K] = {"Q4_K", 256, 144, headwise_gguf_widen_q4_k},
    [HEADWISE_GGUF_Q5_K] = {"Q5_K", 256, 176, headwise_gguf_widen_q5_k},
    [HEADWISE_GGUF_Q6_K] = {"Q6_K", 256, 210, headwise_gguf_widen_q6_k},
    [HEADWISE_GGUF_IQ4_NL] = {"IQ4_NL", 32, 18, widen_iq4_nl},
    [HEADWISE_GGUF_BF16] = {"BF16", 1, 2, widen_bf16},
};

static const struct type *find_type(enum headwise_gguf_type type) {
    static const struct type none;
    unsigned number = (unsigned)type;
    return number < sizeof types / sizeof *types ? &types[number] : &none;
}

const char *headwise_gguf_type_name(enum headwise_gguf_type type) {
    return find_type(type)->name;
}

size_t headwise_gguf_block_length(enum headwise_gguf_type type) {
    return find_type(type)->length;
}

size_t headwise_gguf_block_bytes(enum headwise_gguf_type type) {
    return find_type(type)->size_bytes;
}

enum headwise_status headwise_gguf_widen(float *dst, const void *src, enum headwise_gguf_type type,
                                         size_t n) {
    static const char where[] = "gguf_widen";
    const struct type *found = find_type(type);
    if (!found->name)
        return headwise_io_fail(HEADWISE_ERR_INVALID, "gguf_widen: type is %u, which is none known",
                                (unsigned)type);
    if (n % found->length)
        return headwise_io_fail(HEADWISE_ERR_INVALID,
                                "gguf_widen: n is %zu, expected a multiple of %zu for %s", n,
                                found->length, found->name);
    enum headwise_status status = n > 0 ? headwise_io_need(where, "dst", dst) : HEADWISE_OK;
    if (!status && n > 0)
        status = headwise_io_need(where, "src", src);
    if (status)
        return status;
    const unsigned char *block = src;
    for (size_t i = 0; i < n; i += found->length, block += found->size_bytes)
        found->widen(dst + i, block);
    return HEADWISE_OK;
}
