/* Blocks of 256 elements whose groups of 16 or 32 have scales of their own, as integers of 4 to 8
 * bits times one f16 of the block. */
#include "gguf/blocks.h"

/* 16 bytes of scale (low half) and minimum (high half); 64 bytes of four elements of 2 bits; two
 * f16. An element's position is 128 half + 32 quarter + l. */
void headwise_gguf_widen_q2_k(float *dst, const unsigned char *src) {
    const unsigned char *quants = src + 16;
    float scale = headwise_gguf_scale(src + 80), minimum = headwise_gguf_scale(src + 82);
    for (int i = 0; i < 256; i++) {
        float step = scale * (float)(src[i / 16] & 15), least = minimum * (float)(src[i / 16] >> 4);
        int quant = quants[i / 128 * 32 + i % 32] >> i % 128 / 32 * 2 & 3;
        dst[i] = step * (float)quant - least;
    }
}

/* Group k's scale of 6 bits: four in the first 8 of 12 bytes, two in the last 4; 32 stands for 0.
 */
static int scale_of_q3_k(const unsigned char *scales, int k) {
    int low = k < 8 ? scales[k] & 15 : scales[k - 8] >> 4;
    return (low | (scales[8 + k % 4] >> k / 4 * 2 & 3) << 4) - 32;
}

/* 32 bytes of third bits; 64 bytes of four elements of 2 bits; 12 bytes of scales; one f16. */
void headwise_gguf_widen_q3_k(float *dst, const unsigned char *src) {
    const unsigned char *quants = src + 32;
    float scale = headwise_gguf_scale(src + 108);
    for (int i = 0; i < 256; i++) {
        float step = scale * (float)scale_of_q3_k(src + 96, i / 16);
        int quant = quants[i / 128 * 32 + i % 32] >> i % 128 / 32 * 2 & 3;
        int third = src[i % 32] >> i / 32 & 1;
        dst[i] = step * (float)(quant + 4 * third - 4);
    }
}

/* Eight scales and eight minima of 6 bits in 12 bytes: the first four of each in the low bits of 8
 * bytes, the others' high bits above them, their low bits in the last 4. */
static void scales_of_k(int *scale, int *minimum, const unsigned char *packed, int group) {
    if (group < 4) {
        *scale = packed[group] & 63;
        *minimum = packed[group + 4] & 63;
        return;
    }
    *scale = (packed[group + 4] & 15) | packed[group - 4] >> 6 << 4;
    *minimum = packed[group + 4] >> 4 | packed[group] >> 6 << 4;
}

/* Eight groups of 32 elements: 4 bits of each in quants, a fifth in fifths, where there are any. */
static void widen_groups(float *dst, const unsigned char *src, const unsigned char *quants,
                         const unsigned char *fifths) {
    float scale = headwise_gguf_scale(src), minimum = headwise_gguf_scale(src + 2);
    for (int group = 0; group < 8; group++) {
        int steps, minima;
        scales_of_k(&steps, &minima, src + 4, group);
        float step = scale * (float)steps, least = minimum * (float)minima;
        for (int l = 0; l < 32; l++) {
            int quant = quants[group / 2 * 32 + l] >> group % 2 * 4 & 15;
            if (fifths)
                quant |= (fifths[l] >> group & 1) << 4;
            dst[32 * group + l] = step * (float)quant - least;
        }
    }
}

/* Two f16, 12 bytes of scales and minima, 128 bytes of two elements. */
void headwise_gguf_widen_q4_k(float *dst, const unsigned char *src) {
    widen_groups(dst, src, src + 16, NULL);
}

/* Between scales and elements, 32 bytes of fifth bits. */
void headwise_gguf_widen_q5_k(float *dst, const unsigned char *src) {
    widen_groups(dst, src, src + 48, src + 16);
}

/* 128 bytes of low halves, 64 bytes of four times two high bits, 16 signed scales, one f16. */
void headwise_gguf_widen_q6_k(float *dst, const unsigned char *src) {
    const unsigned char *highs = src + 128, *scales = src + 192;
    float scale = headwise_gguf_scale(src + 208);
    for (int i = 0; i < 256; i++) {
        int half = i / 128, quarter = i % 128 / 32, l = i % 32;
        int low = src[64 * half + quarter % 2 * 32 + l] >> quarter / 2 * 4 & 15;
        int high = highs[32 * half + l] >> 2 * quarter & 3;
        float step = scale * (float)(int8_t)scales[i / 16];
        dst[i] = step * (float)((low | high << 4) - 32);
    }
}
