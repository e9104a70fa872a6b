/* Layers of every checkpoint with their weights kept as the file has them, or as asked for. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "call.h"
#include "compare.h"
#include "guard.h"
#include "models_support.h"
#include "runner.h"

static headwise_checkpoint *open_with(const char *folder,
                                      enum headwise_checkpoint_weights weights) {
    const struct headwise_checkpoint_options options = {.size = sizeof options, .weights = weights};
    return models_open(models_checkpoint(folder), &options);
}

/* What the layer's four matrices have in common in the files. */
static enum headwise_dtype stored_type(headwise_checkpoint *model, headwise_context *context,
                                       const char *part, int64_t index) {
    headwise_checkpoint_layer *layer = NULL;
    assert_int_equal(headwise_checkpoint_layer_read(&layer, model, context, part, index),
                     HEADWISE_OK);
    enum headwise_dtype dtype = headwise_checkpoint_layer_config(layer)->weight_dtype;
    headwise_checkpoint_layer_destroy(layer);
    return dtype;
}

/* Stored weights give the bits of weights that were widened at first. Returns the type. */
static enum headwise_dtype check_stored(headwise_context *context, headwise_checkpoint *wide,
                                        headwise_checkpoint *stored, const char *part,
                                        int64_t index) {
    enum { ROWS = 5 };
    struct test_rng rng = test_rng_make(951);
    headwise_checkpoint_layer *a = models_layer(wide, context, part, index);
    headwise_checkpoint_layer *b = models_layer(stored, context, part, index);
    const headwise_mha *mha = headwise_checkpoint_layer_mha(b);
    enum headwise_dtype dtype = stored_type(stored, context, part, index);
    assert_int_equal(headwise_mha_describe(headwise_checkpoint_layer_mha(a))->packed_dtype,
                     HEADWISE_F32);
    assert_int_equal(headwise_mha_describe(mha)->packed_dtype, dtype);
    size_t width = (size_t)headwise_mha_describe(mha)->d_model,
           memory_width = (size_t)headwise_mha_describe(mha)->d_memory;
    float *x = guard_floats(ROWS * width), *memory = NULL;
    test_rng_fill(&rng, x, ROWS * width, 1);
    if (headwise_checkpoint_layer_is_cross(b)) {
        memory = guard_floats(ROWS * memory_width);
        test_rng_fill(&rng, memory, ROWS * memory_width, 1);
    }
    const float *want = models_run(context, a, x, 1, ROWS, memory, memory ? ROWS : 0, NULL);
    const float *got = models_run(context, b, x, 1, ROWS, memory, memory ? ROWS : 0, NULL);
    compare_same_bits(got, want, ROWS * (size_t)headwise_mha_describe(mha)->d_out, "%s %s %" PRId64,
                      headwise_checkpoint_family(wide), part, index);
    headwise_checkpoint_layer_destroy(a);
    headwise_checkpoint_layer_destroy(b);
    return dtype;
}

static void stored_weights_have_the_bits_of_widened_ones(enum headwise_isa isa) {
    char folder[64];
    size_t n[HEADWISE_I8 + 1] = {0};
    headwise_context *context = call_context(isa, 1);
    FILE *file = fopen(models_checkpoint("cases.txt"), "r");
    assert_non_null(file);
    while (fgets(folder, sizeof(folder), file) != NULL) {
        folder[strcspn(folder, "\n")] = '\0';
        headwise_checkpoint *wide = models_open(models_checkpoint(folder), NULL);
        headwise_checkpoint *stored = open_with(folder, HEADWISE_CHECKPOINT_WEIGHTS_STORED);
        const char *part;
        for (size_t p = 0; (part = headwise_checkpoint_part_name(wide, p)) != NULL; p++)
            n[check_stored(context, wide, stored, part, 0)]++;
        headwise_checkpoint_close(wide);
        headwise_checkpoint_close(stored);
        guard_reset();
    }
    fclose(file);
    assert_true(n[HEADWISE_F32] > 0 && n[HEADWISE_F16] > 0 && n[HEADWISE_BF16] > 0);
    headwise_context_destroy(context);
}

static void weights_are_kept_as_asked(enum headwise_isa isa) {
    static const enum headwise_dtype want[] = {
        [HEADWISE_CHECKPOINT_WEIGHTS_F32] = HEADWISE_F32,
        [HEADWISE_CHECKPOINT_WEIGHTS_F16] = HEADWISE_F16,
        [HEADWISE_CHECKPOINT_WEIGHTS_BF16] = HEADWISE_BF16,
        [HEADWISE_CHECKPOINT_WEIGHTS_I8] = HEADWISE_I8,
        [HEADWISE_CHECKPOINT_WEIGHTS_DYNAMIC] = HEADWISE_I8,
        [HEADWISE_CHECKPOINT_WEIGHTS_DYNAMIC_128] = HEADWISE_I8,
    };
    headwise_context *context = call_context(isa, 1);
    for (size_t i = 0; i < TEST_COUNT(want); i++) {
        if (i == HEADWISE_CHECKPOINT_WEIGHTS_STORED)
            continue;
        headwise_checkpoint *model = open_with("llama", (enum headwise_checkpoint_weights)i);
        headwise_checkpoint_layer *layer = models_layer(model, context, NULL, 1);
        assert_int_equal(headwise_mha_describe(headwise_checkpoint_layer_mha(layer))->packed_dtype,
                         want[i]);
        assert_int_equal(headwise_checkpoint_layer_config(layer)->packed_dtype, want[i]);
        assert_int_equal(headwise_mha_describe(headwise_checkpoint_layer_mha(layer))->dynamic_int8,
                         i >= HEADWISE_CHECKPOINT_WEIGHTS_DYNAMIC);
        assert_int_equal(headwise_mha_describe(headwise_checkpoint_layer_mha(layer))->dynamic_group,
                         i == HEADWISE_CHECKPOINT_WEIGHTS_DYNAMIC_128 ? 128 : 0);
        headwise_checkpoint_layer_destroy(layer);
        headwise_checkpoint_close(model);
    }
    headwise_context_destroy(context);
}

int main(void) {
    const struct test_case cases[] = {
        TEST_CASE(stored_weights_have_the_bits_of_widened_ones),
        TEST_CASE(weights_are_kept_as_asked),
    };
    return test_run_tiers(cases, TEST_COUNT(cases));
}
