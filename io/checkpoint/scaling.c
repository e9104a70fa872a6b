/* How a rotary table is stretched: linear, llama3, yarn, longrope. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "checkpoint/rotary.h"
#include "files/error.h"

static enum headwise_status number(const struct headwise_io_rope *rope, const char *key,
                                   double *value) {
    return headwise_io_config_number(&rope->settings, key, value);
}

/* original_max_position_embeddings and factor, of which either may follow from the other. */
static enum headwise_status read_reach(struct headwise_io_rope *rope, bool factor_required) {
    static const char key[] = "original_max_position_embeddings";
    int64_t original = rope->max_positions;
    double factor = 0;
    enum headwise_status status =
        headwise_io_config_integer(&rope->plan->settings, key, 1, &original);
    if (!status)
        status = headwise_io_config_integer(&rope->settings, key, 1, &original);
    if (!status)
        status = number(rope, "factor", &factor);
    if (!status && factor == 0 && factor_required)
        status = headwise_io_config_fail(&rope->settings, "factor", "a number above 0");
    rope->config.original_positions = original;
    rope->config.factor = factor != 0 ? factor : (double)rope->max_positions / (double)original;
    return status;
}

static enum headwise_status read_llama3(struct headwise_io_rope *rope) {
    enum headwise_status status = read_reach(rope, true);
    if (!status)
        status = number(rope, "low_freq_factor", &rope->config.low_freq_factor);
    return status ? status : number(rope, "high_freq_factor", &rope->config.high_freq_factor);
}

/* 0.1 m ln(factor) + 1, as YaRN's authors scale the scores. */
static double yarn_scale(double factor, double m) {
    return factor <= 1 ? 1 : 0.1 * m * log(factor) + 1;
}

static enum headwise_status read_yarn(struct headwise_io_rope *rope) {
    double mscale = 0, all = 0;
    bool truncate = true;
    enum headwise_status status = read_reach(rope, false);
    if (!status)
        status = number(rope, "beta_fast", &rope->config.beta_fast);
    if (!status)
        status = number(rope, "beta_slow", &rope->config.beta_slow);
    if (!status)
        status = headwise_io_config_bool(&rope->settings, "truncate", &truncate);
    if (!status)
        status = number(rope, "mscale", &mscale);
    if (!status)
        status = number(rope, "mscale_all_dim", &all);
    if (!status)
        status = number(rope, "attention_factor", &rope->config.attention_factor);
    rope->config.keep_fractions = !truncate;
    if (!status && rope->config.attention_factor == 0 && mscale != 0 && all != 0)
        rope->config.attention_factor =
            yarn_scale(rope->config.factor, mscale) / yarn_scale(rope->config.factor, all);
    return status;
}

/* Reads n numbers; false where that is not what the value is. */
static bool read_numbers(headwise_io_value array, double *numbers, size_t n) {
    struct headwise_json_reader json;
    struct headwise_json_number number;
    size_t i = 0;
    headwise_json_begin_slice(&json, array.at, &array);
    headwise_json_enter_array(&json);
    while (headwise_json_next_item(&json)) {
        if (i == n || !headwise_json_take_number(&json, &number) ||
            !headwise_json_to_double(&number, &numbers[i++]))
            return false;
    }
    return !json.error && i == n;
}

static enum headwise_status read_list(struct headwise_io_rope *rope, const char *key,
                                      double **list) {
    size_t n = (size_t)rope->config.rotary_dim / 2;
    headwise_io_value array = headwise_io_config_find(&rope->settings, key);
    *list = calloc(n > 0 ? n : 1, sizeof **list);
    if (!*list)
        return headwise_io_fail(HEADWISE_ERR_NO_MEMORY, "rope: out of memory");
    return headwise_io_value_kind(array) == HEADWISE_JSON_ARRAY && read_numbers(array, *list, n)
               ? HEADWISE_OK
               : headwise_io_config_fail(&rope->settings, key,
                                         "a list of a number for each pair that is turned");
}

static enum headwise_status read_longrope(struct headwise_io_rope *rope) {
    enum headwise_status status = read_reach(rope, false);
    if (!status)
        status = number(rope, "attention_factor", &rope->config.attention_factor);
    if (!status)
        status = read_list(rope, "short_factor", &rope->lists[0]);
    if (!status)
        status = read_list(rope, "long_factor", &rope->lists[1]);
    rope->config.short_factors = rope->lists[0];
    rope->config.long_factors = rope->lists[1];
    return status;
}

enum headwise_status headwise_io_rope_read_scaling(struct headwise_io_rope *rope) {
    static const char keys[] = "rope_type|type";
    char type[64] = "default";
    enum headwise_status status =
        rope->is_plain ? HEADWISE_OK
                       : headwise_io_config_text(&rope->settings, keys, type, sizeof type);
    if (status || strcmp(type, "default") == 0)
        return status;
    bool is_long = rope->plan->family->always_longrope &&
                   (strcmp(type, "su") == 0 || strcmp(type, "yarn") == 0);
    if (is_long || strcmp(type, "longrope") == 0) {
        rope->config.scaling = HEADWISE_SCALING_LONGROPE;
        return read_longrope(rope);
    }
    if (strcmp(type, "linear") == 0) {
        rope->config.scaling = HEADWISE_SCALING_LINEAR;
        return read_reach(rope, true);
    }
    if (strcmp(type, "llama3") == 0) {
        rope->config.scaling = HEADWISE_SCALING_LLAMA3;
        return read_llama3(rope);
    }
    if (strcmp(type, "yarn") == 0) {
        rope->config.scaling = HEADWISE_SCALING_YARN;
        return read_yarn(rope);
    }
    return headwise_io_config_fail(&rope->settings, keys,
                                   "default, linear, llama3, yarn or longrope");
}
