/* From the opened files to a description: which family, which prefix, sizes, the head. */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "families/families.h"
#include "families/settings.h"

static const struct headwise_families *const tables[] = {
    &headwise_families_bert,  &headwise_families_rotary, &headwise_families_t5,
    &headwise_families_llama, &headwise_families_gpt,    &headwise_families_image};

const struct headwise_family *headwise_family_at(size_t index) {
    for (size_t t = 0; t < sizeof tables / sizeof *tables; t++) {
        if (index < tables[t]->n)
            return &tables[t]->rows[index];
        index -= tables[t]->n;
    }
    return NULL;
}

int headwise_list_next(const char **at, const char **next) {
    if (!*next)
        return -1;
    *at = *next;
    size_t length = strcspn(*at, "|");
    *next = (*at)[length] ? *at + length + 1 : NULL;
    return (int)length;
}

static bool contains(const char *list, const char *word) {
    const char *at, *next = list;
    for (int length; (length = headwise_list_next(&at, &next)) >= 0;) {
        if (strlen(word) == (size_t)length && memcmp(word, at, (size_t)length) == 0)
            return true;
    }
    return false;
}

void headwise_describe_name(char text[HEADWISE_NAME_SIZE],
                            const struct headwise_description *description, const char *name,
                            const char *end) {
    bool is_at_root = name[0] == '/';
    snprintf(text, HEADWISE_NAME_SIZE, "%s%s%s", is_at_root ? "" : description->prefix,
             name + is_at_root, end);
}

void headwise_describe_layer_name(char text[HEADWISE_NAME_SIZE],
                                  const struct headwise_description *description, int64_t index,
                                  const char *name, const char *end) {
    const char *stem = description->family->stem, *mark = strstr(stem, "{i}");
    snprintf(text, HEADWISE_NAME_SIZE, "%s%.*s%lld%s%s%s", description->prefix, (int)(mark - stem),
             stem, (long long)index, mark + 3, name, end);
}

bool headwise_describe_passes_over(const struct headwise_description *description,
                                   const char *name) {
    const char *at, *next = description->family->passed_over;
    size_t size = strlen(name);
    for (int length; (length = headwise_list_next(&at, &next)) >= 0;) {
        size_t n = (size_t)length;
        if (n <= size && memcmp(name + size - n, at, n) == 0 &&
            (n == size || name[size - n - 1] == '.'))
            return true;
    }
    next = description->family->foreign;
    for (int length; (length = headwise_list_next(&at, &next)) >= 0;) {
        if (strncmp(name, at, (size_t)length) == 0)
            return true;
    }
    next = description->head.passed_over;
    for (int length; (length = headwise_list_next(&at, &next)) >= 0;) {
        char passed[HEADWISE_NAME_SIZE], whole[HEADWISE_NAME_SIZE];
        snprintf(passed, sizeof passed, "%.*s", length, at);
        headwise_describe_name(whole, description, passed, "");
        if (strcmp(whole, name) == 0)
            return true;
    }
    return false;
}

/* The family that runs models of this type, one of several parts by the part. */
static const struct headwise_family *find_family(const char *type, const char *part) {
    const struct headwise_family *family;
    for (size_t i = 0; (family = headwise_family_at(i)); i++) {
        if (contains(family->model_types, type) &&
            (!family->part || strcmp(family->part, part) == 0))
            return family;
    }
    return NULL;
}

static enum headwise_status fail_type(const headwise_checkpoint *checkpoint, const char *type,
                                      const char *part) {
    char known[900];
    size_t used = 0;
    const struct headwise_family *family;
    for (size_t i = 0; (family = headwise_family_at(i)); i++) {
        const char *at, *next = family->model_types;
        for (int n; used < sizeof known && (n = headwise_list_next(&at, &next)) >= 0;)
            used += (size_t)snprintf(known + used, sizeof known - used, "%s%.*s", used ? ", " : "",
                                     n, at);
    }
    return headwise_model_fail(HEADWISE_ERR_UNSUPPORTED,
                               "%s: config.json: model_type is \"%s\", whose part \"%s\" does not "
                               "run whole, expected one of %s",
                               headwise_checkpoint_path(checkpoint), type, part, known);
}

static enum headwise_status choose_family(struct headwise_description *description,
                                          const headwise_checkpoint *checkpoint, const char *part) {
    char type[HEADWISE_SETTING_SIZE];
    struct headwise_description asked = {.part = part};
    const char *found = part ? part : headwise_checkpoint_part_name(checkpoint, 0);
    if (headwise_checkpoint_n_layers(checkpoint, found) == 0)
        return headwise_model_fail(HEADWISE_ERR_INVALID,
                                   "%s: has no part \"%s\", expected one as \"%s\"",
                                   headwise_checkpoint_path(checkpoint), part,
                                   headwise_checkpoint_part_name(checkpoint, 0));
    enum headwise_status status = headwise_setting_text(&asked, checkpoint, "model_type", type);
    if (status)
        return status;
    if (!*type)
        snprintf(type, sizeof type, "%s", headwise_checkpoint_family(checkpoint));
    const struct headwise_family *family = find_family(type, found);
    if (!family)
        return fail_type(checkpoint, type, found);
    *description = family->form;
    description->family = family;
    description->part = family->part;
    return HEADWISE_OK;
}

/* The first prefix under which there are blocks. */
static void choose_prefix(struct headwise_description *description,
                          const headwise_checkpoint *checkpoint) {
    const char *stem = description->family->stem;
    const char *at, *name, *next = description->family->prefixes;
    for (int length; (length = headwise_list_next(&at, &next)) >= 0;) {
        char head[HEADWISE_NAME_SIZE];
        int n = snprintf(head, sizeof head, "%.*s%.*s", length, at,
                         (int)(strstr(stem, "{i}") - stem), stem);
        snprintf(description->prefix, sizeof description->prefix, "%.*s", length, at);
        for (size_t i = 0; (name = headwise_checkpoint_tensor_name(checkpoint, i)); i++) {
            if (strncmp(name, head, (size_t)n) == 0)
                return;
        }
    }
}

static bool has_tensor(const struct headwise_description *description,
                       const headwise_checkpoint *checkpoint, const char *name) {
    char whole[HEADWISE_NAME_SIZE];
    headwise_describe_name(whole, description, name, "");
    return headwise_checkpoint_tensor(checkpoint, whole) != NULL;
}

/* Whether the file has the head: its mark, and nothing in architectures that denies it. */
static bool has_head(const struct headwise_description *description,
                     const headwise_checkpoint *checkpoint, const struct headwise_head_form *head,
                     const char *architecture) {
    if (head->mark && !has_tensor(description, checkpoint, head->mark))
        return false;
    if (!head->architecture || (!*architecture && head->mark))
        return true;
    return strstr(architecture, head->architecture) != NULL;
}

/* The first head of the family that the file has. */
static enum headwise_status choose_head(struct headwise_description *description,
                                        const headwise_checkpoint *checkpoint) {
    const struct headwise_family *family = description->family;
    char architecture[HEADWISE_SETTING_SIZE];
    enum headwise_status status =
        headwise_setting_text(description, checkpoint, "architectures", architecture);
    for (size_t i = 0; !status && i < family->n_heads && description->head.n_steps == 0; i++) {
        if (has_head(description, checkpoint, &family->heads[i], architecture))
            description->head = family->heads[i];
    }
    for (int i = 0; i < description->head.n_steps; i++) {
        if (description->head.steps[i].acts_as_block)
            description->head.steps[i].activation = description->block.activation;
    }
    return status;
}

static enum headwise_status read_sizes(struct headwise_description *description,
                                       const headwise_checkpoint *checkpoint) {
    struct headwise_norm_form *norm = &description->norm;
    static const char eps_keys[] =
        "layer_norm_eps|layer_norm_epsilon|rms_norm_eps|norm_eps|norm_epsilon";
    static const char width_keys[] = "hidden_size|n_embd|d_model|dim";
    description->n_layers = headwise_checkpoint_n_layers(checkpoint, description->part);
    enum headwise_status status =
        headwise_setting_integer(description, checkpoint, width_keys, 1, &description->d_model);
    if (!status && description->d_model == 0)
        status = headwise_setting_fail(HEADWISE_ERR_FORMAT, description, checkpoint, width_keys,
                                       "the width of the model");
    if (!status)
        status = headwise_setting_number(description, checkpoint, eps_keys, &norm->eps);
    if (!status && !((float)norm->eps > 0 && norm->eps <= 1))
        status = headwise_setting_fail(HEADWISE_ERR_FORMAT, description, checkpoint, eps_keys,
                                       "a number above 0, at most 1");
    if (!status && description->is_rotary) {
        description->max_tokens = 4096; /* as headwise-io has it, and its limit */
        status =
            headwise_setting_integer(description, checkpoint, "max_position_embeddings|n_positions",
                                     1, &description->max_tokens);
        if (description->max_tokens > 131072)
            description->max_tokens = 131072;
    }
    return status;
}

enum headwise_status headwise_describe(struct headwise_description *description,
                                       const headwise_checkpoint *checkpoint, const char *part,
                                       bool without_head) {
    enum headwise_status status = choose_family(description, checkpoint, part);
    if (status)
        return status;
    choose_prefix(description, checkpoint);
    status = headwise_setting_activation(
        description, checkpoint,
        "hidden_act|hidden_activation|activation_function|activation|dense_act_fn",
        &description->block.activation);
    if (!status && description->family->n_heads > 0)
        status = choose_head(description, checkpoint);
    if (!status && description->family->settle)
        status = description->family->settle(description, checkpoint);
    if (!status)
        status = read_sizes(description, checkpoint);
    description->has_head = description->head.n_steps > 0 && !without_head;
    return status;
}
