/* The article programs' random numbers: the same as those of the files. */
#include <math.h>

#include "compare.h"
#include "random.h"
#include "vector_file.h"

/* Logarithms and square roots may differ in the last bits from library to library; the strips of
 * the ziggurat are a recursion of 254 steps, each of which adds a few roundings of 2^-53. */
#define OF_LEGACY 0x1p-50
#define OF_DEFAULT (254 * 0x1p-50)

/* Half an ulp of f32 more where a tensor is f32. */
static void expect_next(double (*draw)(void *rng), void *rng, const headwise_safetensors *file,
                        const char *name, double sd, double relative) {
    const struct headwise_file_tensor *t = vector_find(file, name);
    assert_non_null(t);
    const double *want = vector_f64(file, name, -1);
    if (t->dtype == HEADWISE_FILE_F32)
        relative += 0x1p-24;
    assert_true(t->n_elements > 0);
    for (size_t i = 0; i < t->n_elements; i++)
        compare_expect(sd * draw(rng), want[i], relative * fabs(want[i]), "%s, element %zu", name,
                       i);
}

static double draw_legacy(void *rng) {
    return legacy_normal(rng);
}

static double draw_default(void *rng) {
    return default_normal(rng);
}

static void legacy_numbers(enum headwise_isa unused) {
    struct legacy_rng rng;
    (void)unused;
    headwise_safetensors *file = vector_open("seeds/000_single_bank.safetensors");
    legacy_seed(&rng, 42);
    expect_next(draw_legacy, &rng, file, "X_f64", 0.5, OF_LEGACY);
    headwise_safetensors_close(file);
    file = vector_open("seeds/000_concat_shapes.safetensors");
    legacy_seed(&rng, 1);
    expect_next(draw_legacy, &rng, file, "heads_f64", 1, OF_LEGACY);
    expect_next(draw_legacy, &rng, file, "W_O_f64", 1, OF_LEGACY);
    headwise_safetensors_close(file);
}

static void default_numbers(enum headwise_isa unused) {
    static const char *const weights[] = {"W_Q_f64", "W_K_f64", "W_V_f64", "W_O_f64"};
    struct default_rng rng;
    (void)unused;
    headwise_safetensors *file = vector_open("seeds/004_layer64_h8.safetensors");
    default_seed(&rng, 0);
    expect_next(draw_default, &rng, file, "X_f64", 1, OF_DEFAULT);
    for (int i = 0; i < 4; i++)
        expect_next(draw_default, &rng, file, weights[i], 0.05, OF_DEFAULT);
    headwise_safetensors_close(file);
    file = vector_open("seeds/004_reach.safetensors");
    default_seed(&rng, 2604);
    expect_next(draw_default, &rng, file, "V", 1, OF_DEFAULT);
    expect_next(draw_default, &rng, file, "targets", 1,
                OF_DEFAULT); /* the tail beyond all strips */
    headwise_safetensors_close(file);
    file = vector_open("seeds/004_two_targets.safetensors");
    default_seed(&rng, 156);
    expect_next(draw_default, &rng, file, "value", 1, OF_DEFAULT);
    headwise_safetensors_close(file);
}

int main(void) {
    const struct test_case cases[] = {TEST_CASE(legacy_numbers), TEST_CASE(default_numbers)};
    return vector_root() != NULL ? test_run_once(cases, TEST_COUNT(cases))
                                 : vector_run(cases, TEST_COUNT(cases));
}
