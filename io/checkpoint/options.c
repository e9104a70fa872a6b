/* From config.json to the options of a layer's calls. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "checkpoint/layer.h"

/* What layer_types says of a layer; false: nothing that is known. */
static bool read_type(headwise_io_value types, int64_t index, bool *sliding) {
    struct headwise_json_reader json;
    struct headwise_json_text type;
    headwise_json_begin_slice(&json, types.at, &types);
    headwise_json_enter_array(&json);
    while (headwise_json_next_item(&json)) {
        if (index-- > 0) {
            headwise_json_skip(&json, NULL);
            continue;
        }
        if (!headwise_json_take_text(&json, &type))
            return false;
        *sliding = headwise_json_equals(&type, "sliding_attention");
        return *sliding || headwise_json_equals(&type, "full_attention");
    }
    return false;
}

/* Whether the layer sees a window only: what layer_types says of it; else the family's rule. */
static enum headwise_status ask_sliding(const struct headwise_io_plan *plan, bool *sliding) {
    const struct headwise_io_config *settings = &plan->settings;
    headwise_io_value types = headwise_io_config_find(settings, "layer_types");
    int64_t n = plan->family->window_pattern, first = 28; /* max_window_layers' default */
    enum headwise_status status;
    if (types.size > 0 && headwise_io_value_kind(types) != HEADWISE_JSON_NULL) {
        if (read_type(types, plan->index, sliding))
            return HEADWISE_OK;
        return headwise_io_config_fail(settings, "layer_types",
                                       "full_attention or sliding_attention for each layer");
    }
    switch (plan->family->windows) {
    case HEADWISE_IO_ALTERNATING:
        status = headwise_io_config_integer(
            settings, "sliding_window_pattern|_sliding_window_pattern", 1, &n);
        *sliding = (plan->index + 1) % n != 0;
        return status;
    case HEADWISE_IO_BUT_FIRST:
        status = headwise_io_config_integer(settings, "global_attn_every_n_layers", 1, &n);
        *sliding = plan->index % n != 0;
        return status;
    case HEADWISE_IO_UPPER_LAYERS:
        status = headwise_io_config_integer(settings, "max_window_layers", 0, &first);
        *sliding = plan->index >= first;
        return status;
    case HEADWISE_IO_NO_WINDOWS:
    case HEADWISE_IO_ALL_LAYERS:
        break;
    }
    *sliding = true;
    return HEADWISE_OK;
}

/* The window's size in keys, the query's own included; 0: the model has none. */
static enum headwise_status ask_window(const struct headwise_io_plan *plan, int64_t *window) {
    const struct headwise_io_config *settings = &plan->settings;
    const char *key = plan->family->window_key ? plan->family->window_key : "sliding_window";
    bool is_optional = plan->family->windows == HEADWISE_IO_UPPER_LAYERS, used = !is_optional;
    int64_t given = 1;
    /* a window that is null is none, one that is not there has the family's size */
    *window = headwise_io_config_has(settings, key) || !plan->checkpoint->has_config
                  ? 0
                  : plan->family->window;
    enum headwise_status status = headwise_io_config_bool(settings, "use_sliding_window", &used);
    if (!status && !used && !is_optional) /* then 0 and -1 are a way to say none */
        status = headwise_io_config_integer(settings, key, INT64_MIN, &given);
    if (!status && !used && (is_optional || given < 1)) {
        *window = 0;
        return HEADWISE_OK;
    }
    return status ? status : headwise_io_config_integer(settings, key, 1, window);
}

static enum headwise_status plan_window(struct headwise_io_plan *plan,
                                        struct headwise_attention_options *options) {
    int64_t window = 0;
    enum headwise_status status = HEADWISE_OK;
    if (plan->family->windows == HEADWISE_IO_NO_WINDOWS)
        return HEADWISE_OK;
    status = ask_window(plan, &window);
    if (!status && (window > 0 || plan->family->rope_local_base > 0))
        status = ask_sliding(plan, &plan->sliding);
    if (status || !plan->sliding || window == 0)
        return status;
    options->window_is_set = true;
    bool both_ways = options->causal == HEADWISE_CAUSAL_NONE;
    /* Gemma 3, ModernBERT: window / 2 + 1 keys to each side, the own one included */
    options->window_left = both_ways && plan->family->window_halved ? window / 2 : window - 1;
    options->window_right = both_ways ? options->window_left : 0;
    return HEADWISE_OK;
}

static enum headwise_status plan_causal(const struct headwise_io_plan *plan,
                                        struct headwise_attention_options *options) {
    bool causal = plan->part->causal, both_ways = false;
    enum headwise_status status = HEADWISE_OK;
    if (plan->part->causal_key)
        status = headwise_io_config_bool(&plan->settings, plan->part->causal_key, &causal);
    if (!status && plan->family->both_ways_key)
        status = headwise_io_config_bool(&plan->settings, plan->family->both_ways_key, &both_ways);
    /* Bottom right is right with and without keys that came before. */
    options->causal = causal && !both_ways ? HEADWISE_CAUSAL_BOTTOM_RIGHT : HEADWISE_CAUSAL_NONE;
    return status;
}

static enum headwise_status plan_given_scale(const struct headwise_io_plan *plan,
                                             struct headwise_attention_options *options) {
    double scale = 1;
    enum headwise_status status =
        headwise_io_config_number(&plan->settings, plan->family->scale_key, &scale);
    if (!status && !(fabs(scale) <= 1e30))
        status =
            headwise_io_config_fail(&plan->settings, plan->family->scale_key, "a finite number");
    options->scale = (float)scale;
    return status;
}

static enum headwise_status plan_scale(const struct headwise_io_plan *plan,
                                       struct headwise_attention_options *options) {
    const struct headwise_io_family *family = plan->family;
    bool scaled = !family->unscaled, inverse = false;
    double scalar = family->query_scalar > 0 ? family->query_scalar : (double)plan->head_dim;
    enum headwise_status status = HEADWISE_OK;
    if (family->scaled_key)
        status = headwise_io_config_bool(&plan->settings, family->scaled_key, &scaled);
    if (!status && family->inverse_key)
        status = headwise_io_config_bool(&plan->settings, family->inverse_key, &inverse);
    if (!status && family->query_scalar > 0)
        status = headwise_io_config_number(&plan->settings, "query_pre_attn_scalar", &scalar);
    if (!status && !(scalar > 0 && 1 / sqrt(scalar) <= 1e30))
        status =
            headwise_io_config_fail(&plan->settings, "query_pre_attn_scalar", "a number above 0");
    options->scale_is_set = true;
    options->scale =
        (float)((scaled ? 1 / sqrt(scalar) : 1) / (inverse ? (double)plan->index + 1 : 1));
    return status || !family->scale_key ? status : plan_given_scale(plan, options);
}

static enum headwise_status plan_softcap(const struct headwise_io_plan *plan,
                                         struct headwise_attention_options *options) {
    static const char key[] = "attn_logit_softcapping";
    if (!plan->family->capped)
        return HEADWISE_OK;
    double cap = headwise_io_config_has(&plan->settings, key) ? 0 : plan->family->softcap;
    enum headwise_status status = headwise_io_config_number(&plan->settings, key, &cap);
    if (!status && !(cap >= 0 && (float)cap <= 3e38f))
        status = headwise_io_config_fail(&plan->settings, key, "a number of 0 or more");
    options->softcap = (float)cap;
    return status;
}

/* A key that asks for arithmetic which the family's row does not have. */
static enum headwise_status check_must(const struct headwise_io_plan *plan) {
    const struct headwise_io_family *family = plan->family;
    char value[64];
    if (!family->must_key)
        return HEADWISE_OK;
    snprintf(value, sizeof value, "%s", family->must_value);
    enum headwise_status status =
        headwise_io_config_text(&plan->settings, family->must_key, value, sizeof value);
    if (!status && strcmp(value, family->must_value) != 0)
        status = headwise_io_config_fail(&plan->settings, family->must_key, family->must_value);
    return status;
}

enum headwise_status headwise_io_plan_options(struct headwise_io_plan *plan,
                                              struct headwise_attention_options *options) {
    *options = (struct headwise_attention_options){.size = sizeof *options};
    enum headwise_status status = check_must(plan);
    if (!status)
        status = plan_causal(plan, options);
    if (!status)
        status = plan_window(plan, options);
    if (!status)
        status = plan_scale(plan, options);
    return status ? status : plan_softcap(plan, options);
}
