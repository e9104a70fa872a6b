/* What a pruned checkpoint says of itself: pruned_heads, sizes, and config.json with what the
 * checkpoint was opened with in its place. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checkpoint/rotary.h"
#include "checkpoint/writing.h"
#include "files/error.h"

static enum headwise_status check_memory(const struct headwise_io_writing *w,
                                         const struct headwise_json_writer *json) {
    return json->is_out_of_memory
               ? headwise_io_fail(HEADWISE_ERR_NO_MEMORY, "%s: out of memory", w->folder)
               : HEADWISE_OK;
}

static struct headwise_json_slice written(const struct headwise_json_writer *json) {
    return (struct headwise_json_slice){json->text, json->size};
}

/* pruned_heads as it was, with the layer's list anew. */
enum headwise_status headwise_io_write_pruned_heads(struct headwise_io_writing *w) {
    struct headwise_json_writer list = {0};
    struct headwise_io_edits edits = {.n = 0};
    struct headwise_json_slice old, none = {NULL, 0};
    char key[48], *copy;
    bool is_first = true;
    enum headwise_status status = headwise_io_pruned_lists(&w->before, &old, &copy);
    headwise_json_write_raw(&list, "[");
    for (int64_t number = 0, h = 0; number < w->after.heads.n_all; number++) {
        if (h < w->after.n_heads && w->after.heads.numbers[h] == number) {
            h++;
            continue;
        }
        headwise_json_write_raw(&list, is_first ? "" : ",");
        headwise_json_write_integer(&list, number);
        is_first = false;
    }
    headwise_json_write_raw(&list, "]");
    headwise_io_pruned_key(key, &w->after);
    headwise_io_edit(&edits, key, written(&list));
    if (!status)
        status = check_memory(w, &list);
    if (!status)
        headwise_io_write_object(&w->pruned,
                                 headwise_io_value_kind(old) == HEADWISE_JSON_OBJECT ? old : none,
                                 none, &edits, 0);
    headwise_json_write(&w->pruned, "", 1);
    free(list.text);
    free(copy);
    return status ? status : check_memory(w, &w->pruned);
}

/* Sets the first of several keys to what the caller gave, else to the size that only the shapes
 * told, as they will not any more. */
static void set_size(struct headwise_io_edits *edits, const struct headwise_io_writing *w,
                     const char *key, const char *keys, const int64_t sizes[2]) {
    if (sizes[0] > 0 || !headwise_io_config_has(&w->before.settings, keys))
        headwise_io_edit_integer(edits, key, sizes[0] > 0 ? sizes[0] : sizes[1]);
}

void headwise_io_edit_sizes(struct headwise_io_edits *edits, const struct headwise_io_writing *w) {
    const struct headwise_io_plan *plan = &w->before;
    const struct headwise_checkpoint_options *options = &w->checkpoint->options;
    const char *heads = plan->part->heads_key ? plan->part->heads_key : HEADWISE_IO_HEADS_KEY;
    int64_t n_heads[2] = {options->n_heads, plan->heads.n_all};
    int64_t n_kv_heads[2] = {options->n_kv_heads, plan->heads.n_all_kv};
    int64_t head_dim[2] = {options->head_dim, plan->head_dim};
    bool has_kv = plan->family->grouped_heads && !plan->family->multi_query_key;
    set_size(edits, w, plan->part->heads_key ? heads : "num_attention_heads", heads, n_heads);
    if (has_kv || options->n_kv_heads > 0)
        set_size(edits, w, "num_key_value_heads", HEADWISE_IO_KV_HEADS_KEY, n_kv_heads);
    set_size(edits, w, "head_dim", "head_dim|d_kv", head_dim);
}

#define THETA "rope_theta|rotary_emb_base"
#define FACTOR "partial_rotary_factor|rotary_pct"

/* A value of the first source that has it and not as null: inside its rope object, in its
 * rope_parameters where that is another one, or beside it. */
static headwise_io_value find_either(const struct headwise_io_config *settings,
                                     const headwise_io_value objects[2], const char *keys) {
    for (int i = 0; i < 2; i++) {
        const struct headwise_io_source *source = &settings->sources[i];
        struct headwise_io_source inside = {"", objects[i]};
        headwise_io_value value = headwise_io_source_find(&inside, keys);
        inside.object = headwise_io_source_find(source, "rope_parameters");
        if (value.size == 0 && headwise_io_value_kind(inside.object) == HEADWISE_JSON_OBJECT)
            value = headwise_io_source_find(&inside, keys);
        if (value.size == 0)
            value = headwise_io_source_find(source, keys);
        if (value.size > 0 && headwise_io_value_kind(value) != HEADWISE_JSON_NULL)
            return value;
    }
    return (headwise_io_value){NULL, 0};
}

/* Where overrides change rope settings, or the file has them twice: one rope_parameters that says
 * what was read, in place of all keys old and new. */
static enum headwise_status edit_rope(struct headwise_io_edits *edits,
                                      struct headwise_io_writing *w) {
    static const char *const keys[] = {"rope_scaling",          "rope_theta", "rotary_emb_base",
                                       "partial_rotary_factor", "rotary_pct", "rope_parameters"};
    const struct headwise_io_config *settings = &w->before.settings;
    const struct headwise_io_source *over = &settings->sources[0], *file = &settings->sources[1];
    headwise_io_value objects[2], none = {NULL, 0};
    bool has[2];
    for (int i = 0; i < 2; i++) {
        enum headwise_status status = headwise_io_rope_object(settings, i, &objects[i], &has[i]);
        if (status)
            return status;
    }
    bool is_over = has[0] || headwise_io_source_find(over, THETA "|" FACTOR).size > 0;
    if (!is_over && !(headwise_io_source_find(file, keys[0]).size > 0 &&
                      headwise_io_source_find(file, keys[5]).size > 0))
        return HEADWISE_OK;
    struct headwise_io_edits inside = {.n = 0};
    headwise_io_value theta = find_either(settings, objects, THETA);
    headwise_io_value factor = find_either(settings, objects, FACTOR);
    headwise_io_edit(&inside, "rope_theta", theta);
    headwise_io_edit(&inside, "partial_rotary_factor", factor);
    bool is_none = has[0] && objects[0].size == 0;
    struct headwise_io_source over_rope = {"", objects[0]}, file_rope = {"", objects[1]};
    headwise_io_value type = headwise_io_source_find(&over_rope, "rope_type|type");
    if (type.size == 0 && !is_none)
        type = headwise_io_source_find(&file_rope, "rope_type|type");
    headwise_io_edit(&inside, "rope_type", type);
    headwise_io_edit(&inside, "type", none);
    headwise_io_write_object(&w->rope, is_none ? none : objects[1], objects[0], &inside, 0);
    for (int i = 0; i < 5; i++)
        headwise_io_edit(edits, keys[i], none);
    headwise_io_edit(edits, keys[5], written(&w->rope));
    return check_memory(w, &w->rope);
}

/* Whether overrides or config.json have the part's section. */
static bool has_section(const struct headwise_io_writing *w, const char *section, char dict[64]) {
    snprintf(dict, 64, "%s_dict", section);
    for (int i = 0; i < 2; i++) {
        const struct headwise_io_source *source = &w->checkpoint->settings.sources[i];
        if (headwise_io_value_kind(headwise_io_source_find(source, section)) ==
                HEADWISE_JSON_OBJECT ||
            headwise_io_value_kind(headwise_io_source_find(source, dict)) == HEADWISE_JSON_OBJECT)
            return true;
    }
    return false;
}

/* Names the family where model_type does not. */
static void edit_type(struct headwise_io_edits *edits, const struct headwise_io_writing *w,
                      char type[64]) {
    const struct headwise_io_family *family = w->checkpoint->family, *named = NULL;
    char found[64] = "";
    if (headwise_io_config_text(&w->checkpoint->settings, "model_type", found, sizeof found) ==
            HEADWISE_OK &&
        *found)
        named = headwise_io_family_by_type(found);
    bool is_twin = named && named->twin && strcmp(named->twin, family->name) == 0;
    if (named == family || is_twin)
        return;
    int size =
        snprintf(type, 64, "\"%.*s\"", (int)strcspn(family->model_types, "|"), family->model_types);
    headwise_io_edit(edits, "model_type", (struct headwise_json_slice){type, (size_t)size});
}

enum headwise_status headwise_io_write_config(struct headwise_io_writing *w) {
    const struct headwise_io_source *root = w->checkpoint->settings.sources;
    const struct headwise_io_source *inner = w->before.settings.sources;
    const char *section = w->before.part->section;
    struct headwise_io_edits edits = {.n = 0}, outer = {.n = 0};
    struct headwise_json_writer inside = {0};
    struct headwise_json_slice pruned = {w->pruned.text, w->pruned.size - 1}, none = {NULL, 0};
    char dict[64], type[64];
    if (!w->checkpoint->has_config)
        return HEADWISE_OK;
    enum headwise_status status = edit_rope(&edits, w);
    if (status)
        return status;
    headwise_io_edit_sizes(&edits, w);
    headwise_io_edit(&edits, "pruned_heads", pruned);
    if (section && has_section(w, section, dict)) {
        headwise_io_write_object(&inside, inner[1].object, inner[0].object, &edits, 4);
        headwise_io_edit(&outer, section, written(&inside));
        headwise_io_edit(&outer, dict, none);
        edit_type(&outer, w, type);
        headwise_io_write_object(&w->config, root[1].object, root[0].object, &outer, 2);
    } else {
        edit_type(&edits, w, type);
        headwise_io_write_object(&w->config, root[1].object, root[0].object, &edits, 2);
    }
    headwise_json_write_raw(&w->config, "\n");
    status = check_memory(w, &inside);
    free(inside.text);
    return status ? status : check_memory(w, &w->config);
}
