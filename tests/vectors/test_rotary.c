/* headwise_rotate() on the RotaryEmbedding files: the standard's own node tests, and ONNX
 * Runtime's. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bounds.h"
#include "call.h"
#include "compare.h"
#include "guard.h"
#include "oracle.h"
#include "vector_file.h"

/* (B, H, S, D), or (B, S, H * D) with H in the metadata. */
static struct headwise_tensor read_tensor(const headwise_safetensors *file, const char *name) {
    const int64_t *n = vector_find(file, name)->shape;
    const float *data = vector_f32(file, name, -1);
    int64_t heads = (int64_t)vector_number(file, "num_heads", 0);
    if (vector_find(file, name)->rank == 4)
        return headwise_tensor_bhrc(data, HEADWISE_F32, n[0], n[1], n[2], n[3]);
    assert_int_equal(vector_find(file, name)->rank, 3);
    assert_true(heads > 0);
    return headwise_tensor_brhc(data, HEADWISE_F32, n[0], n[1], heads, n[2] / heads);
}

/* What the file's numbers are off from float64, as its author measured it. */
static double file_error(const headwise_safetensors *file) {
    const char *text = headwise_safetensors_metadata(file, "max_abs_err_f64_reference");
    assert_non_null(text);
    assert_memory_equal(text, "Y=", 2);
    return 1.01 * strtod(text + 2, NULL); /* it is printed with three digits */
}

/* Written without fmax(), whose maximum over a loop gcc 12 for aarch64 cannot compile. */
static double largest_magnitude(const float *x, int64_t n) {
    double largest = 0;
    for (int64_t i = 0; i < n; i++) {
        double magnitude = fabs((double)x[i]);
        largest = magnitude > largest ? magnitude : largest;
    }
    return largest;
}

/* Two products and a sum, of numbers up to |x| of the row and the largest cosine or sine. */
static void expect_output(const headwise_safetensors *file, const struct headwise_tensor *y,
                          const struct headwise_tensor *x,
                          const struct headwise_rotate_options *o) {
    struct headwise_tensor want = read_tensor(file, "Y");
    double loose = file_error(file);
    int64_t n_angles = o->n_rows * (o->rotary_dim / 2);
    double largest = fmax(largest_magnitude(o->cos, n_angles), largest_magnitude(o->sin, n_angles));
    for (int64_t b = 0; b < x->size[0]; b++)
        for (int64_t h = 0; h < x->size[1]; h++)
            for (int64_t r = 0; r < x->size[2]; r++) {
                double size = 0;
                for (int64_t d = 0; d < x->size[3]; d++)
                    size = fmax(size, fabs(oracle_load(x, b, h, r, d)));
                for (int64_t d = 0; d < x->size[3]; d++)
                    compare_expect(oracle_load(y, b, h, r, d), oracle_load(&want, b, h, r, d),
                                   d < o->rotary_dim ? loose + bound_gamma(2) * 2 * size * largest
                                                     : 0,
                                   "Y[%d][%d][%d][%d]", (int)b, (int)h, (int)r, (int)d);
            }
}

static void run_file(enum headwise_isa isa, const void *path) {
    headwise_safetensors *file = vector_open(path);
    headwise_context *context = call_context(isa, 1);
    struct headwise_tensor x = read_tensor(file, "X"), y = x;
    struct headwise_rotate_options options = {
        .size = sizeof(options),
        .cos = vector_f32(file, "cos_cache", -1),
        .sin = vector_f32(file, "sin_cache", -1),
        .rotary_dim = (int64_t)vector_number(file, "rotary_embedding_dim", 0),
        .pairs = vector_number(file, "interleaved", 0) != 0 ? HEADWISE_PAIRS_INTERLEAVED
                                                            : HEADWISE_PAIRS_HALF,
    };
    if (options.rotary_dim == 0)
        options.rotary_dim = x.size[3];
    options.n_rows = (int64_t)vector_find(file, "cos_cache")->n_elements / (options.rotary_dim / 2);
    if (vector_find(file, "position_ids") != NULL)
        options.positions = vector_i64(file, "position_ids", x.size[0] * x.size[2]);
    y.data = guard_floats((size_t)(x.size[0] * x.size[1] * x.size[2] * x.size[3]));
    if (headwise_rotate(context, &y, &x, &options) != HEADWISE_OK)
        fail_msg("%s", headwise_last_error());
    guard_check();
    expect_output(file, &y, &x, &options);
    headwise_context_destroy(context);
    headwise_safetensors_close(file);
}

static bool is_rotary(const headwise_safetensors *file) {
    const char *op = headwise_safetensors_metadata(file, "op");
    return op != NULL && strcmp(op, "RotaryEmbedding") == 0;
}

int main(void) {
    const char *const folders[] = {"onnx", "ort"};
    size_t n_cases;
    const struct test_case *cases =
        vector_cases(folders, TEST_COUNT(folders), is_rotary, run_file, &n_cases);
    return vector_run(cases, n_cases);
}
