/* Wrong arguments of pruning, and of layers whose heads were pruned. */
#include <string.h>

#include "call.h"
#include "guard.h"
#include "layer.h"
#include "runner.h"

struct scene {
    struct headwise_mha_config config;
    headwise_context *context;
    headwise_mha *mha;
};

static struct scene make_scene(enum headwise_isa isa) {
    struct test_rng rng = test_rng_make(371);
    struct scene scene = {.config = {.d_model = 8, .n_heads = 4, .n_kv_heads = 2, .head_dim = 2}};
    layer_fill_weights(&rng, &scene.config, true);
    scene.context = call_context(isa, 1);
    scene.mha = layer_create(scene.context, &scene.config);
    return scene;
}

static void end_scene(struct scene *scene) {
    headwise_mha_destroy(scene->mha);
    headwise_context_destroy(scene->context);
}

/* Refused, with a line that names what was wrong. */
static void expect_refused(enum headwise_status status, const char *word) {
    assert_int_equal(status, HEADWISE_ERR_INVALID);
    if (!strstr(headwise_last_error(), word))
        fail_msg("\"%s\" does not name %s", headwise_last_error(), word);
}

static void wrong_heads(enum headwise_isa isa) {
    struct scene scene = make_scene(isa);
    const int64_t none[] = {4}, negative[] = {-1}, twice[] = {2, 0, 2}, all[] = {0, 1, 2, 3, 3};
    const int64_t one[] = {1}, itself[] = {1}, gone[] = {0, 1}, into_gone[] = {1, -1};
    const int64_t odd[] = {-2}, absent[] = {9};
    const struct {
        struct headwise_prune_options options;
        const char *word;
    } cases[] = {
        {{sizeof cases[0].options, none, 1, NULL}, "heads[0] is 4"},
        {{sizeof cases[0].options, negative, 1, NULL}, "heads[0] is -1"},
        {{sizeof cases[0].options, twice, 3, NULL}, "heads[2] is 2"},
        {{sizeof cases[0].options, all, 5, NULL}, "5 heads"},
        {{sizeof cases[0].options, all, -1, NULL}, "-1 heads"},
        {{sizeof cases[0].options, NULL, 1, NULL}, "heads is NULL"},
        {{sizeof cases[0].options, one, 1, itself}, "merge_into[0] is 1"},
        {{sizeof cases[0].options, gone, 2, into_gone}, "merge_into[0] is 1"},
        {{sizeof cases[0].options, one, 1, odd}, "merge_into[0] is -2"},
        {{sizeof cases[0].options, one, 1, absent}, "merge_into[0] is 9"},
        {{0, one, 1, NULL}, "size"},
    };
    headwise_mha *pruned = NULL;
    for (size_t i = 0; i < TEST_COUNT(cases); i++) {
        expect_refused(headwise_mha_prune(&pruned, scene.context, scene.mha, &cases[i].options),
                       cases[i].word);
        assert_null(pruned);
    }
    const struct headwise_prune_options good = {sizeof good, one, 1, NULL};
    expect_refused(headwise_mha_prune(NULL, scene.context, scene.mha, &good), "NULL");
    expect_refused(headwise_mha_prune(&pruned, NULL, scene.mha, &good), "context");
    expect_refused(headwise_mha_prune(&pruned, scene.context, NULL, &good), "layer");
    expect_refused(headwise_mha_prune(&pruned, scene.context, scene.mha, NULL), "options");
    end_scene(&scene);
}

static void wrong_groups_and_numbers(enum headwise_isa isa) {
    struct scene scene = make_scene(isa);
    const int64_t few[] = {1, 2}, zero[] = {4, 0}, many[] = {4, 1}, uneven[] = {3, 1};
    const int64_t same[] = {0, 2, 2, 3}, negative[] = {-1, 0, 1, 2}, good[] = {0, 2, 5, 6};
    const struct {
        const int64_t *sizes, *numbers;
        int64_t head_dim;
        const char *word;
    } cases[] = {
        {few, NULL, 2, "sum to 3"},        {zero, NULL, 2, "group_sizes[1] is 0"},
        {many, NULL, 2, "group_sizes[1]"}, {NULL, same, 2, "head_numbers[2] is 2"},
        {NULL, negative, 2, "is -1"},      {uneven, good, 0, "set head_dim"},
    };
    headwise_mha *mha = NULL;
    for (size_t i = 0; i < TEST_COUNT(cases); i++) {
        struct headwise_mha_config config = scene.config;
        config.group_sizes = cases[i].sizes;
        config.head_numbers = cases[i].numbers;
        config.head_dim = cases[i].head_dim;
        expect_refused(headwise_mha_create(&mha, scene.context, &config), cases[i].word);
        assert_null(mha);
    }
    struct headwise_mha_config config = scene.config;
    config.n_heads = 0; /* not without numbers */
    config.n_kv_heads = 0;
    expect_refused(headwise_mha_create(&mha, scene.context, &config), "n_heads");
    config = scene.config;
    config.group_sizes = uneven;
    config.head_numbers = good;
    mha = layer_create(scene.context, &config);
    assert_int_equal(headwise_mha_describe(mha)->group_sizes[0], 3);
    assert_int_equal(headwise_mha_describe(mha)->head_numbers[3], 6);
    headwise_mha_destroy(mha);
    end_scene(&scene);
}

static void wrong_parts_and_arrays(enum headwise_isa isa) {
    struct scene scene = make_scene(isa);
    float x[64] = {0};
    expect_refused(headwise_mha_weights(NULL, x, NULL, NULL, HEADWISE_MHA_Q, HEADWISE_OUT_IN),
                   "layer");
    expect_refused(
        headwise_mha_weights(scene.mha, x, NULL, NULL, (enum headwise_mha_part)4, HEADWISE_OUT_IN),
        "part");
    expect_refused(
        headwise_mha_weights(scene.mha, x, NULL, NULL, HEADWISE_MHA_Q, (enum headwise_layout)2),
        "layout");
    expect_refused(headwise_mha_gather_heads(NULL, x, x, 1), "layer");
    expect_refused(headwise_mha_gather_heads(scene.mha, NULL, x, 1), "dst");
    expect_refused(headwise_mha_gather_heads(scene.mha, x, NULL, 1), "src");
    expect_refused(headwise_mha_gather_heads(scene.mha, x, x, -1), "columns");
    expect_refused(headwise_mha_gather_heads(scene.mha, x, x, INT64_MAX / 2), "columns");
    end_scene(&scene);
}

/* In place, rows close up. */
static void gathering_may_be_in_place(enum headwise_isa isa) {
    struct scene scene = make_scene(isa);
    const struct headwise_prune_options options = {sizeof options, (const int64_t[]){2, 0}, 2,
                                                   NULL};
    float table[] = {0, 1, 10, 11, 20, 21, 30, 31};
    headwise_mha *pruned = NULL;
    assert_int_equal(headwise_mha_prune(&pruned, scene.context, scene.mha, &options), HEADWISE_OK);
    assert_int_equal(headwise_mha_gather_heads(pruned, table, table, 2), HEADWISE_OK);
    assert_memory_equal(table, ((const float[]){10, 11, 30, 31}), 4 * sizeof(float));
    headwise_mha_destroy(pruned);
    end_scene(&scene);
}

int main(void) {
    const struct test_case cases[] = {
        TEST_CASE(wrong_heads),
        TEST_CASE(wrong_groups_and_numbers),
        TEST_CASE(wrong_parts_and_arrays),
        TEST_CASE(gathering_may_be_in_place),
    };
    return test_run_tiers(cases, TEST_COUNT(cases));
}
