/* Compares what was computed with the tensors of a file under the derived bound. */
#include "calls/check.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "calls/bound.h"
#include "calls/rounding.h"
#include "common/arrays.h"
#include "common/message.h"
#include "common/numbers.h"

/* One output beside what was expected. */
struct comparison {
    const char *name;
    const struct headwise_file_tensor *got, *expected;
    double *got_values, *expected_values;
    const double *bounds; /* NULL: 0 */
    double stated;        /* error of the expected values that the file states */
};

/* The largest error, and the largest share of a bound, which may be elsewhere. */
struct worst {
    size_t at, ratio_at;
    double error, ratio;
};

/* The value of name in "name=value name=value"; 0 where it is not there. */
static int read_stated(double *stated, const headwise_safetensors *file, const char *name) {
    const char *text = headwise_safetensors_metadata(file, "max_abs_err_f64_reference");
    size_t length = strlen(name);
    *stated = 0;
    while (text && *text) {
        text += strspn(text, " ");
        if (strncmp(text, name, length) == 0 && text[length] == '=') {
            const char *end;
            if (!real_read(stated, text + length + 1, &end) || (*end && *end != ' ') || *stated < 0)
                return fail("%s: metadata max_abs_err_f64_reference: %s has no number of 0 or more",
                            headwise_safetensors_path(file), name);
            *stated *= 1.005;
            return EXIT_GOOD;
        }
        text += strcspn(text, " ");
    }
    return EXIT_GOOD;
}

static double bound_at(const struct comparison *c, size_t i) {
    double bound = c->bounds ? c->bounds[i] : 0;
    if (!c->bounds && c->got->dtype == c->expected->dtype)
        return c->stated; /* a copy: no rounding at all */
    double got = c->got_values[i], expected = c->expected_values[i];
    if (isfinite(got))
        bound += rounding_of(c->got->dtype, got);
    if (isfinite(expected))
        bound += rounding_of(c->expected->dtype, expected);
    return bound + c->stated;
}

static struct worst compare(const struct comparison *c) {
    struct worst worst = {0};
    for (size_t i = 0; i < c->expected->n_elements; i++) {
        double got = c->got_values[i], expected = c->expected_values[i];
        if (got == expected || (isnan(got) && isnan(expected)))
            continue;
        double error = fabs(got - expected), bound = bound_at(c, i);
        double ratio = error / bound;
        if (isnan(error)) /* one is NaN, or infinities of both signs */
            error = INFINITY;
        if (!isfinite(error) || !isfinite(bound))
            ratio = INFINITY; /* where nothing can be said nothing passes */
        if (error > worst.error) {
            worst.error = error;
            worst.at = i;
        }
        if (ratio > worst.ratio) {
            worst.ratio = ratio;
            worst.ratio_at = i;
        }
    }
    return worst;
}

static const char *index_text(char text[SHAPE_TEXT], const struct headwise_file_tensor *tensor,
                              size_t at) {
    int64_t index[HEADWISE_FILE_MAX_RANK];
    for (int axis = tensor->rank - 1; axis >= 0; axis--) {
        size_t size = tensor->shape[axis] > 0 ? (size_t)tensor->shape[axis] : 1;
        index[axis] = (int64_t)(at % size);
        at /= size;
    }
    return shape_text(text, tensor->rank, index);
}

/* Prints a comparison's line; returns whether all is within bounds. */
static bool report(const struct comparison *c, const struct worst *worst) {
    char at[SHAPE_TEXT];
    if (worst->error == 0) {
        printf("%-17s %zu elements, all equal\n", c->name, c->expected->n_elements);
        return true;
    }
    printf("%-17s largest error %.3g at %s", c->name, worst->error,
           index_text(at, c->expected, worst->at));
    printf(", nearest its bound %.3g of %.3g at %s\n", worst->ratio, bound_at(c, worst->ratio_at),
           index_text(at, c->expected, worst->ratio_at));
    return worst->ratio <= 1;
}

static int fail_check(const struct comparison *c, const struct worst *worst, int n_others,
                      const char *path) {
    char at[SHAPE_TEXT], others[40] = "";
    size_t i = worst->ratio_at;
    if (n_others > 0)
        snprintf(others, sizeof others, "; %d more failed", n_others);
    return fail_with(EXIT_CHECK_FAILED,
                     "%s: tensor \"%s\": element %s is %.9g, expected %.9g within %.3g%s", path,
                     c->name, index_text(at, c->expected, i), c->got_values[i],
                     c->expected_values[i], bound_at(c, i), others);
}

static double *widen(struct arena *arena, const headwise_safetensors *file,
                     const struct headwise_file_tensor *tensor) {
    double *values = arena_take(arena, (int64_t)tensor->n_elements, sizeof *values);
    if (values)
        headwise_safetensors_read_f64(values, file, tensor);
    return values;
}

/* Shapes, values and stated error of a comparison. */
static int load(struct comparison *c, struct arena *arena, const headwise_safetensors *file) {
    const char *path = headwise_safetensors_path(file);
    bool same = c->got->rank == c->expected->rank;
    char found[SHAPE_TEXT], expected[SHAPE_TEXT];
    for (int i = 0; same && i < c->got->rank; i++)
        same = c->got->shape[i] == c->expected->shape[i];
    if (!same)
        return fail("%s: tensor \"%s\": shape %s, expected %s for these inputs", path, c->name,
                    shape_text(found, c->expected->rank, c->expected->shape),
                    shape_text(expected, c->got->rank, c->got->shape));
    int code = read_stated(&c->stated, file, c->name);
    c->got_values = widen(arena, file, c->got);
    c->expected_values = widen(arena, file, c->expected);
    if (!code && (!c->got_values || !c->expected_values))
        code = EXIT_UNUSABLE;
    return code;
}

/* The bounds of Y and of qk_matmul_output, where there is one. */
static int find_bounds(double **y, double **scores, const struct outputs *outputs,
                       struct arena *arena, const struct attention_call *call) {
    const struct headwise_file_tensor *qk = outputs_find(outputs, "qk_matmul_output");
    const struct headwise_file_tensor *result = outputs_find(outputs, "Y");
    *y = arena_take(arena, (int64_t)result->n_elements, sizeof **y);
    *scores = qk ? arena_take(arena, (int64_t)qk->n_elements, sizeof **scores) : NULL;
    if (!*y || (qk && !*scores))
        return EXIT_UNUSABLE;
    return bound_attention(*y, *scores, arena, call);
}

int check_attention(const struct outputs *outputs, struct arena *arena,
                    const headwise_safetensors *file, const struct attention_call *call) {
    static const char *const names[] = {"Y", "present_key", "present_value", "qk_matmul_output"};
    const char *path = headwise_safetensors_path(file);
    double *bounds[4] = {NULL};
    struct comparison failed = {0};
    struct worst failed_worst = {0};
    int n_compared = 0, n_failed = 0;
    int code = find_bounds(&bounds[0], &bounds[3], outputs, arena, call);
    for (int i = 0; !code && i < 4; i++) {
        struct comparison comparison = {.name = names[i],
                                        .got = outputs_find(outputs, names[i]),
                                        .expected = headwise_safetensors_find(file, names[i]),
                                        .bounds = bounds[i]};
        if (!comparison.expected)
            continue;
        code = load(&comparison, arena, file);
        if (code)
            break;
        struct worst worst = compare(&comparison);
        n_compared++;
        if (!report(&comparison, &worst) && n_failed++ == 0) {
            failed = comparison;
            failed_worst = worst;
        }
    }
    if (code)
        return code;
    if (n_compared == 0)
        return fail("%s: has no tensor \"Y\", \"present_key\", \"present_value\" or "
                    "\"qk_matmul_output\" to check against",
                    path);
    printf("%d of %d tensors within their bounds\n", n_compared - n_failed, n_compared);
    return n_failed ? fail_check(&failed, &failed_worst, n_failed - 1, path) : EXIT_GOOD;
}
