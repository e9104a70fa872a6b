/* Texts of many lengths, or images, for small networks. */
#include "scene.h"

#include "guard.h"
#include "networks_support.h"
#include "rng.h"
#include "small_network.h"

/* Lengths of sequences: none, one token, odd ones, more than a block of 256 keys. BERT has 80
 * positions. */
static const int32_t lengths[] = {5, 1, 0, 33, 64, 2, 17, 300, 12};
enum { N_TEXTS = sizeof lengths / sizeof *lengths };

static void make_texts(struct scene *scene, struct test_rng *rng) {
    struct headwise_transformer_call *call = &scene->call;
    int32_t *starts = guard_plain(N_TEXTS + 1, sizeof *starts);
    int64_t most = scene->info->max_tokens;
    call->n_sequences = N_TEXTS;
    for (int s = 0; s < N_TEXTS; s++)
        starts[s + 1] = starts[s] + (lengths[s] < most ? lengths[s] : (int32_t)most);
    scene->rows = starts[N_TEXTS];
    int32_t *ids = guard_plain((size_t)scene->rows, sizeof *ids);
    int32_t *types = guard_plain((size_t)scene->rows, sizeof *types);
    for (int64_t r = 0; r < scene->rows; r++) {
        ids[r] = (int32_t)test_rng_below(rng, SMALL_IDS);
        types[r] = (int32_t)test_rng_below(rng, 2);
    }
    call->starts = starts;
    call->ids = ids;
    call->types = scene->info->n_types > 0 ? types : NULL;
}

static void make_images(struct scene *scene, struct test_rng *rng) {
    const struct headwise_transformer_info *info = scene->info;
    size_t n = (size_t)(4 * info->n_channels * info->image_height * info->image_width);
    float *pixels = guard_floats(n);
    test_rng_fill(rng, pixels, n, 1);
    scene->call.n_sequences = 4;
    scene->call.pixels = pixels;
    scene->rows = 4 * info->n_patches;
}

void scene_outputs(struct scene *scene) {
    struct headwise_transformer_call *call = &scene->call;
    scene->n_last = (size_t)(scene->rows * scene->info->d_model);
    scene->n_hidden = (size_t)call->n_hidden * scene->n_last;
    scene->n_pooled = (size_t)(call->n_sequences * scene->info->d_pooled);
    scene->n_logits = (size_t)((scene->info->logits_of_rows ? scene->rows : call->n_sequences) *
                               scene->info->n_labels);
    call->last_hidden = guard_floats(scene->n_last);
    call->hidden = guard_floats(scene->n_hidden);
    call->pooled = scene->n_pooled > 0 ? guard_floats(scene->n_pooled) : NULL;
    call->logits = scene->n_logits > 0 ? guard_floats(scene->n_logits) : NULL;
}

struct scene scene_make(const headwise_transformer *network) {
    struct test_rng rng = test_rng_fixed(710);
    struct scene scene = {.network = network, .info = headwise_transformer_describe(network)};
    scene.call.size = sizeof scene.call;
    scene.call.n_hidden = scene.info->n_layers + 1;
    int64_t *layers = guard_plain(MOST_LAYERS + 1, sizeof *layers);
    for (int64_t i = 0; i < scene.call.n_hidden; i++)
        layers[i] = scene.info->n_layers - i;
    scene.call.hidden_layers = layers;
    if (scene.info->n_patches > 0)
        make_images(&scene, &rng);
    else
        make_texts(&scene, &rng);
    scene_outputs(&scene);
    return scene;
}
