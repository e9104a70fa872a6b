/* Pruned copies of every checkpoint: their layers give the bits of gated ones. */
#define _XOPEN_SOURCE 700
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "call.h"
#include "compare.h"
#include "guard.h"
#include "models_support.h"
#include "runner.h"

static char folder[] = "/tmp/headwise-pruned-XXXXXX";

static const char *in_folder(const char *name) {
    static char paths[2][300];
    static int n;
    n = !n;
    snprintf(paths[n], sizeof paths[n], "%s/%s", folder, name);
    return paths[n];
}

static void remove_model(const char *name) {
    char path[400];
    static const char *const files[] = {"config.json", "model.safetensors"};
    for (int i = 0; i < 2; i++) {
        snprintf(path, sizeof path, "%s/%s", in_folder(name), files[i]);
        unlink(path);
    }
    if (rmdir(in_folder(name)) != 0)
        fail_msg("%s: is not empty", in_folder(name));
}

/* The input of a layer, as the checkpoint has it. */
struct input {
    float *x, *memory;
    int64_t rows, memory_rows;
};

static struct input read_input(const headwise_safetensors *expected, const char *part,
                               int64_t index) {
    char name[80];
    struct input input = {0};
    snprintf(name, sizeof name, "%s.%" PRId64 ".x", part, index);
    input.x = models_floats(expected, name, &input.rows, NULL);
    snprintf(name, sizeof name, "%s.%" PRId64 ".memory", part, index);
    if (headwise_safetensors_find(expected, name))
        input.memory = models_floats(expected, name, &input.memory_rows, NULL);
    return input;
}

/* y of a layer with gates (NULL: all on) for its heads. */
static float *run(headwise_context *context, headwise_checkpoint *model, const char *part,
                  int64_t index, const struct input *input, const float *gates, int64_t *n) {
    headwise_checkpoint_layer *layer = models_layer(model, context, part, index);
    const struct headwise_attention_call gated = {.size = sizeof gated, .head_gates = gates};
    float *y = models_run(context, layer, input->x, 1, input->rows, input->memory,
                          input->memory_rows, &gated);
    *n = input->rows * headwise_mha_describe(headwise_checkpoint_layer_mha(layer))->d_out;
    headwise_checkpoint_layer_destroy(layer);
    return y;
}

static void expect_bits(const float *got, const float *expected, int64_t n, const char *what,
                        const char *part, int64_t index) {
    for (int64_t i = 0; i < n; i++) {
        if (memcmp(&got[i], &expected[i], sizeof *got) != 0)
            fail_msg("%s %s layer %" PRId64 ": element %" PRId64 " is %.9g, expected %.9g", what,
                     part, index, i, (double)got[i], (double)expected[i]);
    }
}

/* Layers other than the pruned one are as they were. */
static void expect_other_layers(headwise_context *context, const char *name,
                                headwise_checkpoint *model, headwise_checkpoint *pruned,
                                const headwise_safetensors *expected, const char *part,
                                int64_t index) {
    int64_t n;
    for (int64_t other = 0; other < headwise_checkpoint_n_layers(model, part); other++) {
        if (other == index)
            continue;
        const struct input its = read_input(expected, part, other);
        const float *got = run(context, pruned, part, other, &its, NULL, &n);
        const float *want = run(context, model, part, other, &its, NULL, &n);
        expect_bits(got, want, n, name, part, other);
    }
}

/* Drops a head from the middle, then the first one from what is left: in two steps, two files. */
static size_t check_layer(headwise_context *context, const char *name, headwise_checkpoint *model,
                          const headwise_safetensors *expected, const char *part, int64_t index) {
    const struct input input = read_input(expected, part, index);
    headwise_checkpoint_layer *layer = models_layer(model, context, part, index);
    const headwise_mha *mha = headwise_checkpoint_layer_mha(layer);
    int64_t n_heads = headwise_mha_describe(mha)->n_heads, numbers[32], n;
    assert_true(n_heads <= 32);
    memcpy(numbers, headwise_mha_describe(mha)->head_numbers, (size_t)n_heads * sizeof *numbers);
    headwise_checkpoint_layer_destroy(layer);
    float gates[32];
    for (int64_t h = 0; h < n_heads; h++)
        gates[h] = 1;
    headwise_checkpoint *source = model, *pruned = NULL;
    for (int step = 0; step < 2 && step + 1 < n_heads; step++) {
        int64_t place = step == 0 ? n_heads / 2 : 0, dropped = numbers[place];
        const char *target = step == 0 ? "one" : "two";
        const struct headwise_prune_options options = {
            .size = sizeof options, .heads = &dropped, .n_heads = 1};
        if (headwise_checkpoint_write_pruned(source, in_folder(target), part, index, &options))
            fail_msg("%s %s %" PRId64 ": %s", name, part, index, headwise_io_last_error());
        gates[place] = 0;
        if (source != model)
            headwise_checkpoint_close(source);
        pruned = source = models_open(in_folder(target), NULL);
        layer = models_layer(pruned, context, part, index);
        const headwise_mha *smaller = headwise_checkpoint_layer_mha(layer);
        assert_int_equal(headwise_mha_describe(smaller)->n_heads, n_heads - step - 1);
        for (int64_t h = 0, left = 0; h < n_heads; h++) {
            if (gates[h] != 0)
                assert_int_equal(headwise_mha_describe(smaller)->head_numbers[left++], numbers[h]);
        }
        headwise_checkpoint_layer_destroy(layer);
        float *gated = run(context, model, part, index, &input, gates, &n);
        float *cut = run(context, pruned, part, index, &input, NULL, &n);
        expect_bits(cut, gated, n, name, part, index);
    }
    if (pruned)
        expect_other_layers(context, name, model, pruned, expected, part, index);
    if (source != model)
        headwise_checkpoint_close(source);
    if (n_heads > 1)
        remove_model("one");
    if (n_heads > 2)
        remove_model("two");
    return pruned != NULL;
}

static void prunes_every_family(enum headwise_isa isa) {
    headwise_context *context = call_context(isa, 1);
    FILE *cases = fopen(models_checkpoint("cases.txt"), "r");
    assert_non_null(cases);
    char name[64], path[96];
    size_t n_pruned = 0;
    for (int64_t i = 0; fscanf(cases, "%63s%*[^\n]", name) == 1; i++) {
        if (i % test_share() != 0)
            continue;
        snprintf(path, sizeof path, "%s/expected.safetensors", name);
        headwise_checkpoint *model = models_open(models_checkpoint(name), NULL);
        headwise_safetensors *expected = models_file(models_checkpoint(path));
        const char *part;
        for (size_t p = 0; (part = headwise_checkpoint_part_name(model, p)) != NULL; p++) {
            for (int64_t l = 0; l < headwise_checkpoint_n_layers(model, part); l++)
                n_pruned += check_layer(context, name, model, expected, part, l);
        }
        headwise_safetensors_close(expected);
        headwise_checkpoint_close(model);
    }
    fclose(cases);
    assert_true(n_pruned > 10);
    headwise_context_destroy(context);
}

/* One that takes over: as headwise_mha_prune() has it. */
static void merges_outputs(enum headwise_isa isa) {
    static const char *const names[] = {"llama", "gpt2", "bert"};
    headwise_context *context = call_context(isa, 1);
    for (size_t i = 0; i < TEST_COUNT(names); i++) {
        char path[80];
        snprintf(path, sizeof path, "%s/expected.safetensors", names[i]);
        headwise_checkpoint *model = models_open(models_checkpoint(names[i]), NULL);
        headwise_safetensors *expected = models_file(models_checkpoint(path));
        const struct input input = read_input(expected, "self", 1);
        headwise_checkpoint_layer *layer = models_layer(model, context, "self", 1);
        const int64_t heads[1] = {2}, into[1] = {0};
        const struct headwise_prune_options options = {
            .size = sizeof options, .heads = heads, .n_heads = 1, .merge_into = into};
        headwise_mha *merged = NULL;
        assert_int_equal(
            headwise_mha_prune(&merged, context, headwise_checkpoint_layer_mha(layer), &options),
            HEADWISE_OK);
        int64_t d_out = headwise_mha_describe(merged)->d_out,
                d_model = headwise_mha_describe(merged)->d_model, n;
        float *want = guard_floats((size_t)(input.rows * d_out));
        struct headwise_tensor x =
            headwise_tensor_brhc(input.x, HEADWISE_F32, 1, input.rows, 1, d_model);
        struct headwise_tensor y =
            headwise_tensor_brhc(want, HEADWISE_F32, 1, input.rows, 1, d_out);
        const struct headwise_attention_options *settings =
            headwise_checkpoint_layer_options(layer);
        const struct headwise_attention_call call = {
            .size = sizeof call, .y = &y, .x = &x, .options = settings};
        assert_int_equal(headwise_mha_forward(context, merged, &call), HEADWISE_OK);
        assert_int_equal(
            headwise_checkpoint_write_pruned(model, in_folder("one"), NULL, 1, &options),
            HEADWISE_OK);
        headwise_checkpoint *pruned = models_open(in_folder("one"), NULL);
        expect_bits(run(context, pruned, "self", 1, &input, NULL, &n), want, input.rows * d_out,
                    names[i], "self", 1);
        headwise_checkpoint_close(pruned);
        remove_model("one");
        headwise_mha_destroy(merged);
        headwise_checkpoint_layer_destroy(layer);
        headwise_safetensors_close(expected);
        headwise_checkpoint_close(model);
    }
    headwise_context_destroy(context);
}

static void refuses(headwise_checkpoint *model, const char *target, int64_t index,
                    const int64_t *heads, int64_t n_heads, const int64_t *into,
                    enum headwise_status status, const char *says) {
    const struct headwise_prune_options options = {
        .size = sizeof options, .heads = heads, .n_heads = n_heads, .merge_into = into};
    assert_int_equal(headwise_checkpoint_write_pruned(model, target, NULL, index, &options),
                     status);
    if (!strstr(headwise_io_last_error(), says))
        fail_msg("\"%s\" does not say \"%s\"", headwise_io_last_error(), says);
    assert_int_not_equal(access(target, F_OK), 0); /* nothing is left behind */
}

static void refuses_what_is_wrong(enum headwise_isa isa) {
    (void)isa;
    headwise_checkpoint *model = models_open(models_checkpoint("llama"), NULL);
    const int64_t heads[] = {1, 1, 9, -1, 0, 2, 3, 1}, into[] = {1, 9, 2};
    char one[300];
    snprintf(one, sizeof one, "%s/one", folder);
    refuses(model, one, 0, heads, 2, NULL, HEADWISE_ERR_INVALID,
            "heads[1] is 1, which comes twice");
    refuses(model, one, 0, heads + 2, 1, NULL, HEADWISE_ERR_INVALID,
            "heads[0] is 9, which the layer does not have");
    refuses(model, one, 0, heads + 3, 1, NULL, HEADWISE_ERR_INVALID, "heads[0] is -1, which the");
    refuses(model, one, 0, heads + 4, 4, NULL, HEADWISE_ERR_INVALID, "no head would be left");
    refuses(model, one, 0, heads, 1, into, HEADWISE_ERR_INVALID, "head 1 cannot take over");
    refuses(model, one, 0, heads, 1, into + 1, HEADWISE_ERR_INVALID, "head 9 cannot take over");
    refuses(model, one, 7, heads, 1, NULL, HEADWISE_ERR_INVALID, "has no self layer 7");
    refuses(model, "/dev/null/x", 0, heads, 1, NULL, HEADWISE_ERR_IO,
            "/dev/null/x: cannot be made");
    assert_int_equal(headwise_checkpoint_write_pruned(model, NULL, NULL, 0, NULL),
                     HEADWISE_ERR_INVALID);
    const struct headwise_prune_options options = {
        .size = sizeof options, .heads = heads, .n_heads = 1};
    assert_int_equal(headwise_checkpoint_write_pruned(model, one, NULL, 0, &options), HEADWISE_OK);
    assert_int_equal(headwise_checkpoint_write_pruned(model, one, NULL, 0, &options),
                     HEADWISE_ERR_IO);
    assert_non_null(strstr(headwise_io_last_error(), "one/config.json: is there already"));
    headwise_checkpoint *pruned = models_open(one, NULL);
    refuses(pruned, in_folder("two"), 0, heads, 1, NULL, HEADWISE_ERR_INVALID,
            "heads[0] is 1, which the");
    headwise_checkpoint_close(pruned);
    remove_model("one");
    headwise_checkpoint_close(model);
}

int main(void) {
    const struct test_case cases[] = {
        TEST_CASE(prunes_every_family),
        TEST_CASE(merges_outputs),
        TEST_CASE(refuses_what_is_wrong),
    };
    if (!mkdtemp(folder))
        return 1;
    int result = test_run_tiers(cases, TEST_COUNT(cases));
    rmdir(folder);
    return result;
}
