/* The attributes of an ONNX Attention node: from flags, else from the file's metadata. */
#ifndef HEADWISE_TOOLS_ATTRIBUTES_H
#define HEADWISE_TOOLS_ATTRIBUTES_H

#include "common/options.h"
#include "headwise-io/safetensors.h"

struct attributes {
    struct option_integer is_causal;
    struct option_real scale;
    struct option_real softcap;
    struct option_integer q_num_heads;
    struct option_integer kv_num_heads;
    struct option_integer qk_matmul_output_mode;
    struct option_integer softmax_precision;
    struct option_integer left_window_size;
    struct option_integer right_window_size;
};

/* For the table of a command whose settings begin with struct attributes. */
#define ATTRIBUTE(name, kind, argument, help)                                                      \
    { #name, 0, kind, offsetof(struct attributes, name), argument, help }
#define ATTRIBUTE_OPTIONS                                                                          \
    ATTRIBUTE(is_causal, OPTION_INTEGER, "0|1", "hide the keys after each query's position"),      \
        ATTRIBUTE(scale, OPTION_REAL, "X", "factor of the scores; 1 / sqrt(head size)"),           \
        ATTRIBUTE(softcap, OPTION_REAL, "X", "scores become X * tanh(score / X); 0: they do not"), \
        ATTRIBUTE(q_num_heads, OPTION_INTEGER, "N", "query heads of 3D tensors"),                  \
        ATTRIBUTE(kv_num_heads, OPTION_INTEGER, "N", "key and value heads of 3D tensors"),         \
        ATTRIBUTE(qk_matmul_output_mode, OPTION_INTEGER, "0...3",                                  \
                  "scores written: scaled, after softcap, masked, softmax"),                       \
        ATTRIBUTE(softmax_precision, OPTION_INTEGER, "1|10|11|16",                                 \
                  "round the scores to f32, f16, f32 (for f64), bf16"),                            \
        ATTRIBUTE(left_window_size, OPTION_INTEGER, "N", "keys seen before a query; -1: all"),     \
        ATTRIBUTE(right_window_size, OPTION_INTEGER, "N", "keys seen after a query; -1: all")

/* Takes from the metadata what is not set, then gives every absent attribute but scale its default
 * and checks the ranges. Returns an exit code. */
int attributes_complete(struct attributes *attributes, const headwise_safetensors *file);

#endif
