/* From config.json's rope keys, old and new, to a rotary table. */
#include "checkpoint/rotary.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "files/error.h"

/* One table for each part, and one for layers with a window where they have settings of their own:
 * nothing else in a model's rope settings differs between layers. */
struct headwise_io_tables {
    atomic_int n_holders;
    size_t n;
    struct table {
        const struct headwise_io_part *part;
        bool is_local;
        headwise_rotary *rotary;
    } tables[8];
};

headwise_io_tables *headwise_io_tables_hold(headwise_checkpoint *model) {
    if (!model->tables) {
        model->tables = calloc(1, sizeof *model->tables);
        if (!model->tables) {
            headwise_io_fail(HEADWISE_ERR_NO_MEMORY, "%s: out of memory", model->files.name);
            return NULL;
        }
        model->tables->n_holders = 1;
    }
    atomic_fetch_add(&model->tables->n_holders, 1);
    return model->tables;
}

void headwise_io_tables_release(headwise_io_tables *tables) {
    if (!tables || atomic_fetch_sub(&tables->n_holders, 1) > 1)
        return;
    for (size_t i = 0; i < tables->n; i++)
        headwise_rotary_destroy(tables->tables[i].rotary);
    free(tables);
}

/* What is read before a table is made, and the lists of longrope. */
struct rope {
    const struct headwise_io_plan *plan;
    struct headwise_io_config settings; /* inside of rope_parameters or rope_scaling, or all */
    bool is_local; /* a layer with a window, in a family where these have their own settings */
    bool is_plain; /* of which there is only a base */
    struct headwise_rotary_config config;
    int64_t max_positions;
    double *lists[2]; /* short, long */
};

static enum headwise_status number(const struct rope *rope, const char *key, double *value) {
    return headwise_io_config_number(&rope->settings, key, value);
}

/* Chooses the object that holds the layer's rope keys: rope_parameters, in it the one for the kind
 * of layer where there is one, or rope_scaling. */
static enum headwise_status open_rope(struct rope *rope) {
    static const char *const keys[] = {"rope_parameters", "rope_scaling"};
    const struct headwise_io_plan *plan = rope->plan;
    const char *kind = rope->is_local ? "sliding_attention" : "full_attention";
    rope->settings = plan->settings;
    rope->is_plain = rope->is_local;
    for (int i = 0; i < 2; i++) {
        const json_t *object = headwise_io_config_find(&plan->settings, keys[i], NULL);
        if (!object || json_is_null(object))
            continue;
        if (!json_is_object(object))
            return headwise_io_config_fail(&plan->settings, keys[i], "an object");
        rope->settings = headwise_io_config_section(&plan->settings, keys[i]);
        if (json_is_object(json_object_get(object, kind))) {
            rope->settings = headwise_io_config_section(&rope->settings, kind);
            rope->is_plain = false;
        }
        break;
    }
    return HEADWISE_OK;
}

static enum headwise_status read_base(struct rope *rope) {
    const struct headwise_io_plan *plan = rope->plan;
    double base = 0;
    enum headwise_status status;
    if (rope->is_plain) {
        status = headwise_io_config_number(&plan->settings, "rope_local_base_freq", &base);
        rope->config.base = base > 0 ? base : plan->family->rope_local_base;
        return status;
    }
    status = number(rope, "rope_theta", &base);
    if (!status && base == 0)
        status = headwise_io_config_number(&plan->settings, "rope_theta|rotary_emb_base", &base);
    if (!status && base == 0 && !plan->model->has_config)
        return headwise_io_fail(HEADWISE_ERR_FORMAT,
                                "%s: has rotary positions of an unknown base, expected rope_theta "
                                "in config.json or overrides",
                                headwise_io_files_path(&plan->model->files, NULL));
    rope->config.base = base == 0 ? plan->family->rope_base : base;
    if (!status && !(rope->config.base > 0))
        status = headwise_io_config_fail(&plan->settings, "rope_theta|rotary_emb_base",
                                         "a number above 0");
    return status;
}

/* Components of a head that are turned. */
static enum headwise_status read_dim(struct rope *rope) {
    static const char keys[] = "partial_rotary_factor|rotary_pct";
    const struct headwise_io_plan *plan = rope->plan;
    double factor = plan->family->rotary_factor > 0 ? plan->family->rotary_factor : 1;
    enum headwise_status status = headwise_io_config_number(&plan->settings, keys, &factor);
    if (!status)
        status = number(rope, "partial_rotary_factor", &factor);
    if (!status && !(factor >= 0 && factor <= 1))
        status = headwise_io_config_fail(&plan->settings, keys, "a number from 0 to 1");
    if (status)
        return status;
    rope->config.rotary_dim = (int64_t)((double)plan->head_dim * factor);
    status = headwise_io_config_integer(&plan->settings, "rotary_dim", 0, &rope->config.rotary_dim);
    if (!status && (rope->config.rotary_dim > plan->head_dim || rope->config.rotary_dim % 2 != 0))
        return headwise_io_fail(HEADWISE_ERR_FORMAT,
                                "%s: rotary positions turn %lld components of a head, expected an "
                                "even number of at most %lld",
                                plan->settings.sources[1].name, (long long)rope->config.rotary_dim,
                                (long long)plan->head_dim);
    return status;
}

/* Rows of a table that nobody asked a size of: 64 MB for heads of 128. */
enum { MOST_POSITIONS = 131072 };

static enum headwise_status read_positions(struct rope *rope) {
    int64_t n = 4096;
    enum headwise_status status = headwise_io_config_integer(
        &rope->plan->settings, "max_position_embeddings|n_positions", 1, &n);
    int64_t asked = rope->plan->model->options.n_positions;
    rope->max_positions = n;
    rope->config.n_positions = asked > 0 ? asked : n < MOST_POSITIONS ? n : MOST_POSITIONS;
    return status;
}

/* original_max_position_embeddings and factor, of which either may follow from the other. */
static enum headwise_status read_reach(struct rope *rope, bool factor_required) {
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

static enum headwise_status read_llama3(struct rope *rope) {
    enum headwise_status status = read_reach(rope, true);
    if (!status)
        status = number(rope, "low_freq_factor", &rope->config.low_freq_factor);
    return status ? status : number(rope, "high_freq_factor", &rope->config.high_freq_factor);
}

/* 0.1 m ln(factor) + 1, as YaRN's authors scale the scores. */
static double yarn_scale(double factor, double m) {
    return factor <= 1 ? 1 : 0.1 * m * log(factor) + 1;
}

static enum headwise_status read_yarn(struct rope *rope) {
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

static enum headwise_status read_list(struct rope *rope, const char *key, double **list) {
    size_t n = (size_t)rope->config.rotary_dim / 2;
    const json_t *array = headwise_io_config_find(&rope->settings, key, NULL);
    bool right = json_is_array(array) && json_array_size(array) == n;
    *list = calloc(n, sizeof **list);
    if (!*list)
        return headwise_io_fail(HEADWISE_ERR_NO_MEMORY, "rope: out of memory");
    for (size_t i = 0; right && i < n; i++) {
        right = json_is_number(json_array_get(array, i));
        (*list)[i] = json_number_value(json_array_get(array, i));
    }
    return right ? HEADWISE_OK
                 : headwise_io_config_fail(&rope->settings, key,
                                           "a list of a number for each pair that is turned");
}

static enum headwise_status read_longrope(struct rope *rope) {
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

static enum headwise_status read_scaling(struct rope *rope) {
    static const char keys[] = "rope_type|type";
    const char *type = "default";
    enum headwise_status status =
        rope->is_plain ? HEADWISE_OK : headwise_io_config_text(&rope->settings, keys, &type);
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

/* Which components are paired: the option, else what the metadata's "rope" begins with. */
static enum headwise_pairs pairs_of(const headwise_checkpoint *model) {
    const char *text = headwise_safetensors_metadata(model->files.files[0], "rope");
    if (model->options.rotary != HEADWISE_CHECKPOINT_ROTARY_AUTO)
        return model->options.rotary == HEADWISE_CHECKPOINT_ROTARY_INTERLEAVED
                   ? HEADWISE_PAIRS_INTERLEAVED
                   : HEADWISE_PAIRS_HALF;
    return text && strncmp(text, "interleaved", strlen("interleaved")) == 0
               ? HEADWISE_PAIRS_INTERLEAVED
               : HEADWISE_PAIRS_HALF;
}

static enum headwise_status make_table(struct rope *rope, headwise_context *context,
                                       headwise_rotary **rotary) {
    enum headwise_status status = headwise_rotary_create(rotary, context, &rope->config);
    if (status == HEADWISE_ERR_INVALID) /* every number of it came from the file */
        return headwise_io_fail(HEADWISE_ERR_FORMAT, "%s: %s", rope->plan->settings.sources[1].name,
                                headwise_last_error());
    if (status)
        return headwise_io_fail(status, "%s", headwise_last_error());
    return HEADWISE_OK;
}

enum headwise_status headwise_io_plan_rotary(const struct headwise_io_plan *plan,
                                             headwise_context *context,
                                             const headwise_rotary **rotary) {
    headwise_io_tables *tables = plan->model->tables;
    struct rope rope = {.plan = plan, .config = {.size = sizeof rope.config}};
    rope.is_local = plan->sliding && plan->family->rope_local_base > 0;
    for (size_t i = 0; i < tables->n; i++) {
        if (tables->tables[i].part == plan->part && tables->tables[i].is_local == rope.is_local) {
            *rotary = tables->tables[i].rotary;
            return HEADWISE_OK;
        }
    }
    rope.config.pairs = pairs_of(plan->model);
    enum headwise_status status = open_rope(&rope);
    if (!status)
        status = read_dim(&rope);
    if (!status)
        status = read_base(&rope);
    if (!status)
        status = read_positions(&rope);
    if (!status)
        status = read_scaling(&rope);
    struct table table = {plan->part, rope.is_local, NULL};
    if (!status && rope.config.rotary_dim > 0)
        status = make_table(&rope, context, &table.rotary);
    if (!status) {
        tables->tables[tables->n++] = table;
        *rotary = table.rotary;
    }
    free(rope.lists[0]);
    free(rope.lists[1]);
    return status;
}
