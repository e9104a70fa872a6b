/* What else a folder says: prompts, labels, what becomes of scores, the limit of tokens. */
#include <string.h>

#include "base/error.h"
#include "encode/encoder.h"
#include "encode/settings.h"

/* Texts are kept by their places until the last one is there, as the memory moves. */
static enum headwise_status add_prompt(headwise_encoder *encoder,
                                       const struct headwise_config_object *object,
                                       const struct headwise_json_text *key,
                                       struct headwise_json_reader *json, size_t *capacity) {
    struct headwise_bytes *texts = &encoder->texts;
    struct headwise_json_text text;
    size_t n = (size_t)encoder->info.n_prompts, name = texts->size;
    if (!headwise_json_take_text(json, &text))
        return headwise_config_fail(object, "prompts", "has an item that is no text");
    if (!headwise_memory_grow(&encoder->memory, &encoder->prompts, capacity, n + 1,
                              sizeof *encoder->prompts))
        return headwise_model_no_memory(object->file->name);
    enum headwise_status status = headwise_config_text(object, key, texts);
    if (!status && !headwise_bytes_append(&encoder->memory, texts, "", 1))
        status = headwise_model_no_memory(object->file->name);
    size_t begin = texts->size;
    if (!status)
        status = headwise_config_text(object, &text, texts);
    if (status)
        return status;
    encoder->prompts[n] =
        (struct headwise_prompt){.name = (const char *)(uintptr_t)name,
                                 .text = {(const char *)(uintptr_t)begin, texts->size - begin}};
    encoder->info.n_prompts++;
    return headwise_bytes_append(&encoder->memory, texts, "", 1)
               ? HEADWISE_OK
               : headwise_model_no_memory(object->file->name);
}

static enum headwise_status list_prompts(headwise_encoder *encoder,
                                         const struct headwise_config_object *object) {
    struct headwise_json_slice value;
    struct headwise_json_reader json;
    struct headwise_json_text key;
    size_t capacity = 0;
    if (!headwise_config_get(object, "prompts", &value))
        return HEADWISE_OK;
    if (headwise_config_kind(&value) != HEADWISE_JSON_OBJECT)
        return headwise_config_fail(object, "prompts", "is no object");
    headwise_config_read(object, &json, &value);
    headwise_json_enter_object(&json);
    enum headwise_status status = HEADWISE_OK;
    while (!status && headwise_json_next_key(&json, &key))
        status = add_prompt(encoder, object, &key, &json, &capacity);
    encoder->prompts_capacity = capacity;
    return status;
}

static enum headwise_status choose_default(headwise_encoder *encoder,
                                           const struct headwise_config_object *object) {
    struct headwise_bytes name = {0};
    bool found;
    enum headwise_status status =
        headwise_settings_text(object, "default_prompt_name", &name, &found);
    for (int64_t i = 0; !status && found && i < encoder->info.n_prompts; i++) {
        if (strcmp(encoder->prompts[i].name, name.at) == 0)
            encoder->info.default_prompt = &encoder->prompts[i];
    }
    if (!status && found && !encoder->info.default_prompt)
        status = headwise_config_fail(object, "default_prompt_name", "is none of the prompts");
    headwise_bytes_free(&encoder->memory, &name);
    return status;
}

static enum headwise_status check_kind(const struct headwise_config_object *object) {
    static const char *const kinds[] = {"SentenceTransformer", "CrossEncoder", NULL};
    struct headwise_json_slice value;
    size_t kind;
    return headwise_config_get(object, "model_type", &value)
               ? headwise_config_word(object, "model_type", kinds, &kind)
               : HEADWISE_OK;
}

enum headwise_status headwise_encoder_read_prompts(headwise_encoder *encoder, const char *path) {
    struct headwise_settings settings;
    enum headwise_status status =
        headwise_settings_open(&settings, &encoder->memory, path,
                               "config_sentence_transformers.json", "sentence-transformers");
    if (!status)
        status = check_kind(&settings.object);
    if (!status && encoder->n_poolings > 0)
        status = list_prompts(encoder, &settings.object);
    for (int64_t i = 0; i < encoder->info.n_prompts; i++) { /* places become addresses */
        struct headwise_prompt *prompt = &encoder->prompts[i];
        prompt->name = encoder->texts.at + (uintptr_t)prompt->name;
        prompt->text.bytes = encoder->texts.at + (uintptr_t)prompt->text.bytes;
    }
    encoder->info.prompts = encoder->prompts;
    if (!status && encoder->n_poolings > 0)
        status = choose_default(encoder, &settings.object);
    headwise_settings_close(&settings);
    return status;
}

enum headwise_status headwise_encoder_find_prompt(const headwise_encoder *encoder,
                                                  const struct headwise_embed_call *call,
                                                  struct headwise_text *prompt) {
    const struct headwise_encoder_info *info = &encoder->info;
    *prompt = (struct headwise_text){"", 0};
    if (call->prompt && call->prompt_name)
        return headwise_model_fail(HEADWISE_ERR_INVALID,
                                   "embed: prompt and prompt_name are given, expected one of them");
    if (call->prompt && !call->prompt->bytes && call->prompt->size_bytes > 0)
        return headwise_model_fail(HEADWISE_ERR_INVALID, "embed: the bytes of prompt are NULL");
    if (call->prompt)
        *prompt = *call->prompt;
    else if (!call->prompt_name && info->default_prompt)
        *prompt = info->default_prompt->text;
    for (int64_t i = 0; call->prompt_name && i < info->n_prompts; i++) {
        if (strcmp(info->prompts[i].name, call->prompt_name) == 0) {
            *prompt = info->prompts[i].text;
            return HEADWISE_OK;
        }
    }
    if (call->prompt_name)
        return headwise_model_fail(HEADWISE_ERR_INVALID,
                                   "embed: the folder has no prompt '%s', and %lld others",
                                   call->prompt_name, (long long)info->n_prompts);
    return HEADWISE_OK;
}

/* model_max_length may be 1e30, which means that there is none. */
static enum headwise_status read_max_length(const struct headwise_config_object *object,
                                            int64_t *limit) {
    struct headwise_json_slice value;
    struct headwise_json_reader json;
    struct headwise_json_number number;
    double length;
    if (!headwise_config_get(object, "model_max_length", &value))
        return HEADWISE_OK;
    headwise_config_read(object, &json, &value);
    if (!headwise_json_take_number(&json, &number) || !headwise_json_to_double(&number, &length) ||
        !(length >= 1))
        return headwise_config_fail(object, "model_max_length", "is no number from 1");
    if (length < 1e9)
        *limit = (int64_t)length;
    return HEADWISE_OK;
}

static enum headwise_status read_old_limit(const struct headwise_config_object *object,
                                           int64_t *limit) {
    struct headwise_json_slice value;
    size_t length = 0;
    bool lowers = false, found = headwise_config_get(object, "max_seq_length", &value);
    enum headwise_status status = headwise_config_size(object, "max_seq_length", false, &length);
    if (!status && found && (length == 0 || length > INT32_MAX))
        status = headwise_config_fail(object, "max_seq_length", "is out of range");
    if (!status && found)
        *limit = (int64_t)length;
    if (!status)
        status = headwise_config_bool(object, "do_lower_case", false, &lowers);
    if (!status && lowers)
        status = headwise_model_fail(HEADWISE_ERR_UNSUPPORTED,
                                     "%s: %s: do_lower_case true is not supported: give texts in "
                                     "lower case and set it to false",
                                     object->file->name, object->part);
    return status;
}

/* Whether types are an input: the class TokenizersBackend of transformers 5 gives none, nor does
 * one whose list of inputs lacks them. */
static enum headwise_status read_inputs(const struct headwise_config_object *object, bool *types) {
    static const char type_ids[] = "token_type_ids";
    struct headwise_json_slice value;
    struct headwise_json_reader json;
    struct headwise_json_text text;
    if (headwise_config_get(object, "model_input_names", &value)) {
        headwise_config_read(object, &json, &value);
        headwise_json_enter_array(&json);
        *types = false;
        while (headwise_json_next_item(&json) && headwise_json_take_text(&json, &text))
            *types = *types || headwise_json_equals(&text, type_ids);
        return json.error ? headwise_config_fail(object, "model_input_names", "is no list of texts")
                          : HEADWISE_OK;
    }
    if (headwise_config_get(object, "tokenizer_class", &value)) {
        headwise_config_read(object, &json, &value);
        if (!headwise_json_take_text(&json, &text))
            return headwise_config_fail(object, "tokenizer_class", "is no text");
        *types = !headwise_json_equals(&text, "TokenizersBackend");
    }
    return HEADWISE_OK;
}

static enum headwise_status read_tokenizer_config(headwise_encoder *encoder, const char *path,
                                                  int64_t *limit) {
    struct headwise_settings settings;
    bool types = true;
    enum headwise_status status = headwise_settings_open(&settings, &encoder->memory, path,
                                                         "tokenizer_config.json", "tokenizer");
    if (!status)
        status = read_max_length(&settings.object, limit);
    if (!status)
        status = read_inputs(&settings.object, &types);
    encoder->gives_types =
        types && headwise_transformer_describe(encoder->transformer)->n_types > 1;
    headwise_settings_close(&settings);
    return status;
}

static enum headwise_status folder_limit(headwise_encoder *encoder, const char *path,
                                         int64_t *limit) {
    struct headwise_settings settings;
    enum headwise_status status = read_tokenizer_config(encoder, path, limit);
    if (status)
        return status;
    status = headwise_settings_open(&settings, &encoder->memory, path, "sentence_bert_config.json",
                                    "sentence-transformers");
    if (!status)
        status = read_old_limit(&settings.object, limit);
    headwise_settings_close(&settings);
    return status;
}

enum headwise_status headwise_encoder_read_limit(headwise_encoder *encoder, const char *path,
                                                 int64_t wanted) {
    int64_t most = headwise_transformer_describe(encoder->transformer)->max_tokens;
    int64_t limit = INT32_MAX;
    int64_t least =
        (int64_t)headwise_tokenizer_n_added(encoder->tokenizer, encoder->n_poolings == 0);
    enum headwise_status status = folder_limit(encoder, path, &limit);
    if (status)
        return status;
    if (most <= 0)
        most = INT32_MAX;
    if (wanted > most || wanted < 0 || (wanted > 0 && wanted < least))
        return headwise_model_fail(HEADWISE_ERR_INVALID,
                                   "encoder_open: max_tokens is %lld, expected %lld (tokens that "
                                   "are added) to %lld (positions of the network), or 0",
                                   (long long)wanted, (long long)least, (long long)most);
    limit = wanted > 0 ? wanted : limit < most ? limit : most;
    if (limit < least)
        return headwise_model_fail(HEADWISE_ERR_FORMAT,
                                   "%s: its limit of %lld tokens is less than the %lld that are "
                                   "added to a text",
                                   path, (long long)limit, (long long)least);
    encoder->info.max_tokens = limit;
    return HEADWISE_OK;
}
