/* From config.json's rope keys, old and new, to the sizes and base of a rotary table. */
#include <math.h>
#include <stdlib.h>

#include "checkpoint/rotary.h"
#include "files/error.h"

enum headwise_status headwise_io_rope_object(const struct headwise_io_config *settings, int index,
                                             headwise_io_value *object, bool *has) {
    static const char *const keys[] = {"rope_scaling", "rope_parameters"};
    const struct headwise_io_source *source = &settings->sources[index];
    *object = (headwise_io_value){NULL, 0};
    *has = false;
    for (int i = 0; i < 2 && object->size == 0; i++) {
        headwise_io_value value = headwise_io_source_find(source, keys[i]);
        *has = *has || value.size > 0;
        switch (headwise_io_value_kind(value)) {
        case HEADWISE_JSON_NOTHING:
        case HEADWISE_JSON_NULL:
            break;
        case HEADWISE_JSON_OBJECT:
            *object = value;
            break;
        default: {
            struct headwise_io_config only = headwise_io_config_only(settings, index);
            return headwise_io_config_fail(&only, keys[i], "an object");
        }
        }
    }
    return HEADWISE_OK;
}

/* Brings each source to the same form: settings is inside of its rope object, in it of the one for
 * the kind of layer where there is one. A null says that there is no scaling, whatever the sources
 * after it say; bases are as settings, without that rule. */
static enum headwise_status open_rope(struct headwise_io_rope *rope) {
    const char *kind = rope->is_local ? "sliding_attention" : "full_attention";
    bool is_over = false, any = false;
    rope->settings = rope->bases = rope->plan->settings;
    rope->is_plain = rope->is_local;
    for (int i = 0; i < HEADWISE_IO_N_SOURCES; i++) {
        headwise_io_value object, inner = {NULL, 0};
        bool has;
        enum headwise_status status =
            headwise_io_rope_object(&rope->plan->settings, i, &object, &has);
        if (status)
            return status;
        if (object.size > 0)
            headwise_json_find(&inner, &object, kind);
        if (headwise_io_value_kind(inner) == HEADWISE_JSON_OBJECT) {
            object = inner;
            rope->is_plain = false;
        }
        /* The caller's overrides count inside and outside of the object. */
        if (i == 0 && !has)
            object = rope->settings.sources[0].object;
        any = any || has;
        rope->bases.sources[i].object = object;
        rope->settings.sources[i].object = is_over ? (headwise_io_value){NULL, 0} : object;
        is_over = is_over || (has && object.size == 0);
    }
    if (!any) /* keys of the root serve, such as the factor of a file from elsewhere */
        rope->settings = rope->bases = rope->plan->settings;
    return HEADWISE_OK;
}

/* A number of the first source that has it: inside its rope object, in its rope_parameters where
 * that is another one, or beside it. */
static enum headwise_status read_either(const struct headwise_io_rope *rope, const char *inside,
                                        const char *beside, double *value) {
    for (int i = 0; i < HEADWISE_IO_N_SOURCES; i++) {
        struct headwise_io_config in = headwise_io_config_only(&rope->bases, i);
        struct headwise_io_config by = headwise_io_config_only(&rope->plan->settings, i);
        double found = NAN;
        enum headwise_status status = headwise_io_config_number(&in, inside, &found);
        if (!status && isnan(found)) {
            struct headwise_io_config new = headwise_io_config_section(&by, "rope_parameters");
            status = headwise_io_config_number(&new, inside, &found);
        }
        if (!status && isnan(found))
            status = headwise_io_config_number(&by, beside, &found);
        if (status || !isnan(found)) {
            *value = status ? *value : found;
            return status;
        }
    }
    return HEADWISE_OK;
}

static enum headwise_status read_base(struct headwise_io_rope *rope) {
    const struct headwise_io_plan *plan = rope->plan;
    double base = 0;
    enum headwise_status status;
    if (rope->is_plain) {
        status = headwise_io_config_number(&plan->settings, "rope_local_base_freq|local_rope_theta",
                                           &base);
        rope->config.base = base > 0 ? base : plan->family->rope_local_base;
        return status;
    }
    status = read_either(rope, "rope_theta", "rope_theta|rotary_emb_base|global_rope_theta", &base);
    if (!status && base == 0 && !plan->checkpoint->has_config)
        return headwise_io_fail(HEADWISE_ERR_FORMAT,
                                "%s: has rotary positions of an unknown base, expected rope_theta "
                                "in config.json or overrides",
                                headwise_io_files_path(&plan->checkpoint->files, NULL));
    rope->config.base = base == 0 ? plan->family->rope_base : base;
    if (!status && !(rope->config.base > 0))
        status = headwise_io_config_fail(
            &plan->settings, "rope_theta|rotary_emb_base|global_rope_theta", "a number above 0");
    return status;
}

/* Components of a head that are turned. */
static enum headwise_status read_dim(struct headwise_io_rope *rope) {
    static const char keys[] = "partial_rotary_factor|rotary_pct|rotary_emb_fraction";
    const struct headwise_io_plan *plan = rope->plan;
    double factor = plan->family->rotary_factor > 0 ? plan->family->rotary_factor : 1;
    enum headwise_status status = read_either(rope, keys, keys, &factor);
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

static enum headwise_status read_positions(struct headwise_io_rope *rope) {
    int64_t n = 4096;
    enum headwise_status status = headwise_io_config_integer(
        &rope->plan->settings, "max_position_embeddings|n_positions", 1, &n);
    int64_t asked = rope->plan->checkpoint->options.n_positions;
    rope->max_positions = n;
    rope->config.n_positions = asked > 0 ? asked : n < MOST_POSITIONS ? n : MOST_POSITIONS;
    return status;
}

enum headwise_status headwise_io_rope_read(struct headwise_io_rope *rope) {
    enum headwise_status status = open_rope(rope);
    if (!status)
        status = read_dim(rope);
    if (!status)
        status = read_base(rope);
    if (!status)
        status = read_positions(rope);
    return status ? status : headwise_io_rope_read_scaling(rope);
}
