/* Attributes of a call: the user's, else those of the file's metadata, in their ranges. */
#include "calls/attributes.h"

#include <math.h>
#include <stdio.h>

#include "common/message.h"

static const struct option options[] = {ATTRIBUTE_OPTIONS};

static int read_metadata(struct attributes *attributes, const headwise_safetensors *file) {
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        const char *text = headwise_safetensors_metadata(file, options[i].name);
        char source[1100];
        if (!text || option_is_set(attributes, &options[i]))
            continue;
        snprintf(source, sizeof source, "%s: metadata %s", headwise_safetensors_path(file),
                 options[i].name);
        int code = option_store(attributes, &options[i], text, source);
        if (code)
            return code;
    }
    return EXIT_GOOD;
}

static int check_range(const headwise_safetensors *file, const char *name,
                       struct option_integer *attribute, int64_t fallback, int64_t low,
                       int64_t high, const char *expected) {
    if (!attribute->is_set)
        *attribute = (struct option_integer){true, fallback};
    if (attribute->value >= low && attribute->value <= high)
        return EXIT_GOOD;
    return fail("%s: %s is %lld, expected %s", headwise_safetensors_path(file), name,
                (long long)attribute->value, expected);
}

static int check_softmax_precision(const headwise_safetensors *file, int64_t value) {
    if (value == 1 || value == 10 || value == 11 || value == 16)
        return EXIT_GOOD;
    return fail("%s: softmax_precision is %lld, expected 1 (f32), 10 (f16), 11 (f64) or 16 (bf16)",
                headwise_safetensors_path(file), (long long)value);
}

int attributes_complete(struct attributes *a, const headwise_safetensors *file) {
    int code = read_metadata(a, file);
    if (!code)
        code = check_range(file, "is_causal", &a->is_causal, 0, 0, 1, "0 or 1");
    if (!code)
        code = check_range(file, "qk_matmul_output_mode", &a->qk_matmul_output_mode, 0, 0, 3,
                           "0, 1, 2 or 3");
    if (!code)
        code = check_range(file, "left_window_size", &a->left_window_size, -1, -1, INT64_MAX,
                           "-1 (no limit) or more");
    if (!code)
        code = check_range(file, "right_window_size", &a->right_window_size, -1, -1, INT64_MAX,
                           "-1 (no limit) or more");
    if (!code)
        code = check_range(file, "softmax_precision", &a->softmax_precision, 1, 1, 16,
                           "1 (f32), 10 (f16), 11 (f64) or 16 (bf16)");
    if (!code)
        code = check_softmax_precision(file, a->softmax_precision.value);
    float softcap = (float)a->softcap.value;
    if (!code && a->softcap.value != 0 && !(softcap > 0 && isfinite(softcap)))
        code = fail("%s: softcap is %g, expected 0 (none) or a positive f32",
                    headwise_safetensors_path(file), a->softcap.value);
    if (!code && !isfinite((float)a->scale.value))
        code = fail("%s: scale is %g, expected an f32", headwise_safetensors_path(file),
                    a->scale.value);
    return code;
}
