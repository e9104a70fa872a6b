/* Every allocation of headwise-io fails in turn, alone and with all later ones: NO_MEMORY with a
 * line, nothing lost and nothing left on the disk, and the next try gives the right bits. The
 * linker puts the functions below in the place of malloc and its kin (meson.build). */
#define _XOPEN_SOURCE 700
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmocka_headers.h"
#include "heap.h"

#include "headwise-io/checkpoint.h"
#include "headwise-io/file.h"

/* What is tried: its status; on success *hash tells what came of it. */
struct scene {
    const char *path, *overrides;
    headwise_context *context;
    char folder[64];
};
typedef enum headwise_status run_fn(struct scene *scene, uint64_t *hash);

/* FNV-1a. */
static void add_bytes(uint64_t *hash, const void *bytes, size_t n) {
    for (size_t i = 0; i < n; i++)
        *hash = (*hash ^ ((const unsigned char *)bytes)[i]) * 0x100000001b3u;
}

static void add_weights(uint64_t *hash, const struct headwise_mha_config *config) {
    const void *matrices[] = {config->w_q, config->w_k, config->w_v, config->w_o};
    size_t size = config->weight_dtype == HEADWISE_F32 ? 4 : 2;
    size_t q = (size_t)(config->n_heads * config->head_dim), d = (size_t)config->d_model;
    size_t kv = (size_t)(config->n_kv_heads * config->head_dim);
    const size_t counts[] = {q * d, kv * (size_t)config->d_memory, kv * (size_t)config->d_memory,
                             q * (size_t)config->d_out};
    for (int m = 0; m < 4; m++)
        add_bytes(hash, matrices[m], counts[m] * size);
}

static void add_options(uint64_t *hash, const struct headwise_attention_options *options,
                        int64_t n_heads) {
    add_bytes(hash, &options->scale, sizeof options->scale);
    add_bytes(hash, &options->softcap, sizeof options->softcap);
    add_bytes(hash, &options->causal, sizeof options->causal);
    add_bytes(hash, &options->window_left, sizeof options->window_left);
    add_bytes(hash, &options->window_right, sizeof options->window_right);
    if (options->sinks)
        add_bytes(hash, options->sinks, (size_t)n_heads * 4);
    if (options->alibi_slopes)
        add_bytes(hash, options->alibi_slopes, (size_t)n_heads * 4);
    if (options->relative_bias)
        add_bytes(hash, options->relative_bias,
                  (size_t)(n_heads * (2 * options->relative_reach + 1)) * 4);
}

/* y of a packed layer, as long as nothing fails: the call itself is tested in tests/oom. */
static void add_output(uint64_t *hash, struct scene *scene,
                       const headwise_checkpoint_layer *layer) {
    enum { ROWS = 5 };
    const headwise_mha *mha = headwise_checkpoint_layer_mha(layer);
    float x[ROWS * 64], y[ROWS * 64];
    int64_t width = headwise_mha_describe(mha)->d_model,
            memory_width = headwise_mha_describe(mha)->d_memory;
    int64_t fail_at = heap.fail_at;
    assert_true(width <= 64 && memory_width <= 64);
    for (int i = 0; i < ROWS * 64; i++)
        x[i] = (float)(i * 37 % 101 - 50) / 16;
    struct headwise_tensor tx = headwise_tensor_brhc(x, HEADWISE_F32, 1, ROWS, 1, width);
    struct headwise_tensor ty =
        headwise_tensor_brhc(y, HEADWISE_F32, 1, ROWS, 1, headwise_mha_describe(mha)->d_out);
    struct headwise_tensor tm = headwise_tensor_brhc(x, HEADWISE_F32, 1, ROWS, 1, memory_width);
    const struct headwise_attention_call call = {
        .size = sizeof call,
        .y = &ty,
        .x = &tx,
        .memory = headwise_checkpoint_layer_is_cross(layer) ? &tm : NULL,
        .options = headwise_checkpoint_layer_options(layer)};
    heap.fail_at = -1;
    assert_int_equal(headwise_mha_forward(scene->context, mha, &call), HEADWISE_OK);
    heap.fail_at = fail_at;
    add_bytes(hash, y, (size_t)(ROWS * headwise_mha_describe(mha)->d_out) * sizeof *y);
}

static enum headwise_status try_layer(struct scene *scene, headwise_checkpoint *model,
                                      const char *part, int64_t index, uint64_t *hash) {
    headwise_checkpoint_layer *layer = NULL;
    enum headwise_status status =
        headwise_checkpoint_layer_read(&layer, model, scene->context, part, index);
    if (!status) {
        const struct headwise_mha_config *config = headwise_checkpoint_layer_config(layer);
        add_weights(hash, config);
        add_options(hash, headwise_checkpoint_layer_options(layer), config->n_heads);
    }
    headwise_checkpoint_layer_destroy(layer);
    layer = NULL;
    if (!status)
        status = headwise_checkpoint_layer_create(&layer, model, scene->context, part, index);
    if (!status)
        add_output(hash, scene, layer);
    headwise_checkpoint_layer_destroy(layer);
    return status;
}

static enum headwise_status open_layers(struct scene *scene, uint64_t *hash) {
    struct headwise_checkpoint_options options = {.size = sizeof options,
                                                  .overrides = scene->overrides,
                                                  .read_files = scene->overrides != NULL};
    headwise_checkpoint *model = NULL;
    enum headwise_status status = headwise_checkpoint_open(&model, scene->path, &options);
    assert_true((status == HEADWISE_OK) == (model != NULL));
    const char *part;
    for (size_t p = 0; !status && (part = headwise_checkpoint_part_name(model, p)); p++) {
        int64_t n = headwise_checkpoint_n_layers(model, part);
        add_bytes(hash, &n, sizeof n);
        for (int64_t i = 0; !status && i < n; i++)
            status = try_layer(scene, model, part, i, hash);
    }
    headwise_checkpoint_close(model);
    return status;
}

/* Hashes a file of the folder and removes it; false: there is none. */
static bool take_file(const struct scene *scene, const char *name, uint64_t *hash) {
    char path[128], bytes[4096];
    snprintf(path, sizeof path, "%s/%s", scene->folder, name);
    FILE *stream = fopen(path, "rb");
    if (!stream)
        return false;
    for (size_t n; (n = fread(bytes, 1, sizeof bytes, stream)) > 0;)
        add_bytes(hash, bytes, n);
    fclose(stream);
    assert_int_equal(unlink(path), 0);
    return true;
}

static enum headwise_status write_pruned(struct scene *scene, uint64_t *hash) {
    static const int64_t heads[] = {0};
    static const int64_t into[] = {1};
    struct headwise_checkpoint_options options = {.size = sizeof options,
                                                  .overrides = scene->overrides};
    struct headwise_prune_options prune = {
        .size = sizeof prune, .heads = heads, .merge_into = into, .n_heads = 1};
    headwise_checkpoint *model = NULL;
    enum headwise_status status = headwise_checkpoint_open(&model, scene->path, &options);
    if (!status)
        status = headwise_checkpoint_write_pruned(model, scene->folder, NULL, 0, &prune);
    headwise_checkpoint_close(model);
    bool has_config = take_file(scene, "config.json", hash);
    bool has_file = take_file(scene, "model.safetensors", hash);
    assert_true(has_file == (status == HEADWISE_OK) && has_config == has_file);
    assert_int_equal(rmdir(scene->folder) == 0, status == HEADWISE_OK);
    return status;
}

static enum headwise_status write_file(struct scene *scene, uint64_t *hash) {
    static const float data[6] = {1, 2, 3, 4, 5, 6};
    static const struct headwise_file_tensor tensors[] = {
        {.name = "a", .dtype = HEADWISE_FILE_F32, .rank = 1, .shape = {4}, .data = data},
        {.name = "b\n", .dtype = HEADWISE_FILE_U8, .rank = 2, .shape = {2, 3}, .data = data}};
    static const struct headwise_file_metadata metadata[] = {{"k", "v"}, {"l", "w"}};
    static const struct headwise_file_part part = {"text", 4};
    char path[128];
    if (mkdtemp(strcpy(scene->folder, "/tmp/headwise-memory-XXXXXX")) == NULL)
        return HEADWISE_ERR_IO;
    snprintf(path, sizeof path, "%s/old.safetensors", scene->folder);
    enum headwise_status status = headwise_safetensors_write(path, tensors, 2, metadata, 2);
    if (!status) /* over the old one */
        status = headwise_safetensors_write(path, tensors, 2, NULL, 0);
    if (!status)
        status = headwise_file_write(path, &part, 1);
    bool is_there = take_file(scene, "old.safetensors", hash);
    assert_true(is_there || status);
    assert_int_equal(rmdir(scene->folder), 0); /* nothing is left behind */
    return status;
}

static enum headwise_status open_file(struct scene *scene, uint64_t *hash) {
    headwise_safetensors *files[2] = {NULL, NULL};
    enum headwise_status status = headwise_safetensors_open(&files[0], scene->path);
    if (!status)
        status = headwise_safetensors_open_copy(&files[1], scene->path);
    for (int f = 0; f < 2 && !status; f++) {
        for (size_t i = 0; i < headwise_safetensors_count(files[f]); i++) {
            const struct headwise_file_tensor *tensor = headwise_safetensors_at(files[f], i);
            assert_ptr_equal(headwise_safetensors_find(files[f], tensor->name), tensor);
            add_bytes(hash, tensor->name, strlen(tensor->name));
            add_bytes(hash, tensor->data, tensor->size_bytes);
        }
    }
    headwise_safetensors_close(files[0]);
    headwise_safetensors_close(files[1]);
    return status;
}

static headwise_context *make_context(void) {
    headwise_context *context = NULL;
    struct headwise_context_options options = {
        .size = sizeof options, .n_threads = 1, .allocator = heap_allocator};
    assert_int_equal(headwise_context_create(&context, &options), HEADWISE_OK);
    return context;
}

/* One try. Returns whether an allocation was refused. */
static bool try_once(run_fn *run, struct scene *scene, const uint64_t *right, uint64_t *hash) {
    int64_t live = heap.n_live, wanted = heap.fail_at;
    heap.fail_at = -1;
    scene->context = make_context(); /* whose scratch lives as long as it does */
    heap.n_calls = heap.n_refused = 0;
    heap.fail_at = wanted;
    *hash = 0xcbf29ce484222325u;
    enum headwise_status status = run(scene, hash);
    int64_t n_refused = heap.n_refused, fail_at = heap.fail_at;
    heap.fail_at = -1;
    headwise_context_destroy(scene->context);
    if (status != (n_refused > 0 ? HEADWISE_ERR_NO_MEMORY : HEADWISE_OK) ||
        (status && strstr(headwise_io_last_error(), "memory") == NULL))
        fail_msg("%s, allocation %" PRId64 "%s: status %d, \"%s\"", scene->path, fail_at,
                 heap.all ? " and all later ones" : "", (int)status, headwise_io_last_error());
    if (heap.n_live != live)
        fail_msg("%s, allocation %" PRId64 ": %" PRId64 " blocks are lost", scene->path, fail_at,
                 heap.n_live - live);
    if (!status && right && *hash != *right)
        fail_msg("%s, after allocation %" PRId64 ": other bits", scene->path, fail_at);
    return n_refused > 0;
}

static int64_t fail_each(run_fn *run, struct scene *scene) {
    uint64_t right, hash;
    int64_t n = 0;
    heap.fail_at = -1;
    assert_false(try_once(run, scene, NULL, &right));
    assert_false(try_once(run, scene, &right, &hash));
    for (int all = 0; all < 2; all++) {
        bool refused = true;
        for (int64_t i = 0; refused; i++) {
            heap.fail_at = i;
            heap.all = all != 0;
            refused = try_once(run, scene, &right, &hash);
            n += refused;
        }
        heap.fail_at = -1;
        assert_false(try_once(run, scene, &right, &hash));
    }
    return n;
}

static int64_t fail_each_in(run_fn *run, const char *name, const char *overrides) {
    char path[512];
    struct scene scene = {.path = path, .overrides = overrides};
    snprintf(path, sizeof path, "%s/%s", getenv("HEADWISE_CHECKPOINTS"), name);
    snprintf(scene.folder, sizeof scene.folder, "/tmp/headwise-memory-%ld", (long)getpid());
    return fail_each(run, &scene);
}

static void test_layers(void **state) {
    (void)state;
    static const char *const names[] = {
        "llama_yarn_new", "gemma3",     "t5",           "clip",        "phi3",
        "gpt2_prefix",    "mingpt",     "falcon_rw",    "bert_pruned", "llama_shards",
        "gpt_oss",        "form_both",  "whisper",      "bloom",       "svtr",
        "form_prefix_4",  "form_class", "form_repeated"};
    int64_t n = 0;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        n += fail_each_in(open_layers, names[i], NULL);
    n += fail_each_in(open_layers, "form_new_plain",
                      "{\"rope_scaling\": {\"type\": \"linear\", \"factor\": 4}}");
    print_message("%" PRId64 " failed allocations\n", n);
    assert_true(n > 1000);
}

static void test_writing(void **state) {
    (void)state;
    int64_t n = fail_each_in(write_file, "none", NULL);
    n += fail_each_in(write_pruned, "llama_shards", NULL);
    n += fail_each_in(write_pruned, "gpt2_prefix", NULL);
    n += fail_each_in(write_pruned, "clip", NULL);
    n += fail_each_in(write_pruned, "form_new_plain",
                      "{\"rope_scaling\": {\"type\": \"linear\", \"factor\": 4}}");
    print_message("%" PRId64 " failed allocations\n", n);
    assert_true(n > 200);
}

static void test_files(void **state) {
    (void)state;
    int64_t n = fail_each_in(open_file, "t5/model.safetensors", NULL);
    n += fail_each_in(open_file, "form_repeated/model.safetensors", NULL);
    print_message("%" PRId64 " failed allocations\n", n);
    assert_true(n > 20);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_files), cmocka_unit_test(test_layers),
                                       cmocka_unit_test(test_writing)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
