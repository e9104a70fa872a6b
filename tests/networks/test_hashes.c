/* One answer of whole networks: the bits of small ones, on every tier but scalar and on every
 * machine, are those whose hashes are stored.
 *
 * test_networks_hashes FILE compares; test_networks_hashes FILE --print writes the file. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "call.h"
#include "compare.h"
#include "guard.h"
#include "networks_support.h"
#include "runner.h"
#include "scene.h"
#include "small_network.h"

static const char *file_name;

static const struct {
    const char *name;
    enum headwise_checkpoint_weights weights;
} kinds[] = {
    {"f32", HEADWISE_CHECKPOINT_WEIGHTS_F32},
    {"bf16", HEADWISE_CHECKPOINT_WEIGHTS_BF16},
    {"i8", HEADWISE_CHECKPOINT_WEIGHTS_I8},
    {"dynamic", HEADWISE_CHECKPOINT_WEIGHTS_DYNAMIC},
    {"dynamic128", HEADWISE_CHECKPOINT_WEIGHTS_DYNAMIC_128},
};
enum { N_KINDS = sizeof kinds / sizeof *kinds, N_HASHES = N_SMALL_NETWORKS * N_KINDS };

static void name_of(char name[64], int index) {
    snprintf(name, 64, "%s_%s", small_network_names[index / N_KINDS], kinds[index % N_KINDS].name);
}

static uint64_t hash_of(enum headwise_isa isa, int index) {
    const struct headwise_transformer_options options = {
        .size = sizeof options, .weights_is_set = true, .weights = kinds[index % N_KINDS].weights};
    const char *folder = small_network_make((enum small_network)(index / N_KINDS));
    headwise_context *context = call_context(isa, 1);
    headwise_transformer *network = networks_open(context, folder, &options);
    small_network_remove(folder);
    struct scene scene = scene_make(network);
    networks_forward(context, network, &scene.call);
    uint64_t hash = COMPARE_HASH_BASIS;
    hash = compare_hash(hash, scene.call.last_hidden, scene.n_last * sizeof(float));
    hash = compare_hash(hash, scene.call.hidden, scene.n_hidden * sizeof(float));
    hash = compare_hash(hash, scene.call.pooled, scene.n_pooled * sizeof(float));
    hash = compare_hash(hash, scene.call.logits, scene.n_logits * sizeof(float));
    headwise_transformer_destroy(network);
    headwise_context_destroy(context);
    guard_reset();
    return hash;
}

static uint64_t stored_hash(const char *name) {
    char line[128], word[64];
    uint64_t hash = 0;
    FILE *file = fopen(file_name, "r");
    if (file == NULL)
        fail_msg("%s cannot be read", file_name);
    while (fgets(line, sizeof line, file) != NULL) {
        if (sscanf(line, "%63s %" SCNx64, word, &hash) == 2 && strcmp(word, name) == 0) {
            fclose(file);
            return hash;
        }
    }
    fclose(file);
    fail_msg("%s has no hash of %s", file_name, name);
    return 0;
}

static void bits_are_the_stored_ones(enum headwise_isa isa) {
    int n_wrong = 0;
    for (int i = 0; i < N_HASHES; i++) {
        char name[64];
        name_of(name, i);
        uint64_t got = hash_of(isa, i), want = stored_hash(name);
        if (got != want) {
            print_message("%s: %016" PRIx64 ", stored %016" PRIx64 "\n", name, got, want);
            n_wrong++;
        }
    }
    if (n_wrong > 0)
        fail_msg("%d of %d hashes differ", n_wrong, N_HASHES);
}

static void print_hashes(enum headwise_isa isa) {
    for (int i = 0; i < N_HASHES; i++) {
        char name[64];
        name_of(name, i);
        uint64_t hash = hash_of(isa, i);
        FILE *file = fopen(file_name, i == 0 ? "w" : "a");
        assert_non_null(file);
        fprintf(file, "%s %016" PRIx64 "\n", name, hash);
        fclose(file);
    }
}

int main(int argc, char **argv) {
    static const struct test_case compare[] = {TEST_CASE(bits_are_the_stored_ones)};
    static const struct test_case print[] = {TEST_CASE(print_hashes)};
    if (argc < 2 || argc > 3) {
        fprintf(stderr, "usage: %s FILE [--print]\n", argv[0]);
        return 2;
    }
    file_name = argv[1];
    return argc == 3 ? test_run_once(print, 1) : test_run_simd_tiers(compare, 1);
}
