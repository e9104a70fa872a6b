/* From config.json's architectures, class names as in ["MistralForCausalLM"], to the family. */
#include <ctype.h>
#include <string.h>

#include "checkpoint/internal.h"

/* What may follow the family in the name of a class. */
static const char *const endings[] = {
    "For",          "Model",     "LMHeadModel", "DoubleHeadsModel",
    "EncoderModel", "TextModel", "VisionModel", "WithProjection"};

/* Bytes of the class name that spell the model type, without regard to case, '_' and '-'; 0: it
 * does not begin so. */
static size_t measure_type(const char *name, const char *type, int type_length) {
    size_t n = 0;
    for (int i = 0; i < type_length; i++) {
        if (type[i] == '_' || type[i] == '-')
            continue;
        if (tolower((unsigned char)name[n]) != tolower((unsigned char)type[i]))
            return 0;
        n++;
    }
    return n;
}

static bool is_ending(const char *rest) {
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        if (strncmp(rest, endings[i], strlen(endings[i])) == 0)
            return true;
    }
    return *rest == '\0';
}

static const struct headwise_io_family *family_of_class(const char *name) {
    for (size_t f = 0; f < headwise_io_n_families; f++) {
        const char *at, *next = headwise_io_families[f].model_types;
        for (int length; (length = headwise_io_list_next(&at, &next)) >= 0;) {
            size_t n = measure_type(name, at, length);
            if (n > 0 && is_ending(name + n))
                return &headwise_io_families[f];
        }
    }
    return NULL;
}

enum headwise_status headwise_io_family_by_architecture(const headwise_checkpoint *checkpoint,
                                                        const struct headwise_io_family **family) {
    static const char key[] = "architectures";
    headwise_io_value value = headwise_io_config_find(&checkpoint->settings, key);
    struct headwise_json_reader json;
    struct headwise_json_text text;
    enum headwise_json_kind kind = headwise_io_value_kind(value);
    if (kind == HEADWISE_JSON_NOTHING || kind == HEADWISE_JSON_NULL)
        return HEADWISE_OK;
    headwise_json_begin_slice(&json, value.at, &value);
    headwise_json_enter_array(&json);
    bool any = false;
    while (headwise_json_next_item(&json)) {
        char name[96];
        any = true;
        if (!headwise_json_take_text(&json, &text) || text.size >= sizeof name || text.has_nul)
            break;
        headwise_json_copy(name, &text);
        name[text.size] = '\0';
        *family = family_of_class(name);
        if (*family)
            return HEADWISE_OK;
    }
    return any || json.error
               ? headwise_io_config_fail(&checkpoint->settings, key,
                                         "the class of a known family, or model_type to be given")
               : HEADWISE_OK;
}
