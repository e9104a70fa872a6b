/* Every call of cache.h with one argument wrong at a time: a status, a text that names the call,
 * and neither the cache nor an output has changed. */
#include <math.h>
#include <string.h>

#include "guard.h"
#include "layer.h"
#include "runner.h"

enum {
    SEQUENCES = 3,
    HEADS = 2,
    DIM = 6,
    VALUE_DIM = 4,
    CAPACITY = 300,
    HELD = 20, /* keys of each sequence */
    ROWS = 3,  /* of each call, for two sequences */
    D_MODEL = 12
};

/* Valid arguments of every call; each case spoils some. */
struct attempt {
    headwise_context *context;
    headwise_cache *cache, *created;
    const headwise_mha *mha;
    struct headwise_cache_config config;
    const struct headwise_cache_config *config_given;
    headwise_cache **place;
    size_t bytes, *bytes_place;
    int64_t sequence, other_sequence, length, position;
    int64_t from[SEQUENCES];
    const int64_t *from_given;
    struct headwise_tensor k, v, q, y;     /* append, attention */
    struct headwise_tensor read_k, read_v; /* read */
    struct headwise_tensor x, layer_y;     /* layers */
    void *buffer;                          /* save, load: a saved sequence */
    size_t buffer_bytes;
    const struct headwise_tensor *k_given, *v_given, *q_given, *y_given, *x_given, *layer_y_given;
    struct headwise_attention_options options;
    struct headwise_attention_call call;
    bool no_call;
};

/* What all cases share. */
struct scene {
    headwise_context *context, *other_context;
    headwise_cache *cache;
    headwise_mha *mha, *other_mha;
    struct headwise_mha_config layer_config;
    size_t cache_bytes;
    void *before; /* a copy of its memory */
};

static struct scene scene;

typedef enum headwise_status call_fn(struct attempt *a);

/* The call struct with what concerns all calls over a cache. */
static struct headwise_attention_call call_of(const struct attempt *a) {
    struct headwise_attention_call call = a->call;
    call.cache = a->cache;
    call.first_sequence = a->sequence;
    call.options = &a->options;
    return call;
}

static enum headwise_status cache_bytes(struct attempt *a) {
    return headwise_cache_bytes(a->context, a->config_given, a->bytes_place);
}
static enum headwise_status cache_create(struct attempt *a) {
    return headwise_cache_create(a->place, a->context, a->config_given);
}
static enum headwise_status cache_append(struct attempt *a) {
    struct headwise_attention_call call = call_of(a);
    call.k = a->k_given;
    call.v = a->v_given;
    return headwise_cache_append(a->context, a->no_call ? NULL : &call);
}
static enum headwise_status cache_truncate(struct attempt *a) {
    return headwise_cache_truncate(a->cache, a->sequence, a->length);
}
static enum headwise_status cache_copy(struct attempt *a) {
    return headwise_cache_copy(a->cache, a->other_sequence, a->sequence);
}
static enum headwise_status cache_reorder(struct attempt *a) {
    return headwise_cache_reorder(a->cache, a->from_given);
}
static enum headwise_status cache_read(struct attempt *a) {
    return headwise_cache_read(a->cache, a->sequence, a->position, &a->read_k, &a->read_v);
}
static enum headwise_status cache_saved_bytes(struct attempt *a) {
    return headwise_cache_saved_bytes(a->cache, a->sequence, a->bytes_place);
}
static enum headwise_status cache_save(struct attempt *a) {
    return headwise_cache_save(a->cache, a->sequence, a->buffer, a->buffer_bytes);
}
static enum headwise_status cache_load(struct attempt *a) {
    return headwise_cache_load(a->cache, a->sequence, a->buffer, a->buffer_bytes);
}
static enum headwise_status attention(struct attempt *a) {
    struct headwise_attention_call call = call_of(a);
    call.y = a->y_given;
    call.q = a->q_given;
    return headwise_attention(a->context, a->no_call ? NULL : &call);
}
static enum headwise_status forward(struct attempt *a, bool attend_only) {
    struct headwise_attention_call call = call_of(a);
    call.y = a->layer_y_given;
    call.x = a->x_given;
    call.attend_only = attend_only;
    return headwise_mha_forward(a->context, a->mha, a->no_call ? NULL : &call);
}
static enum headwise_status mha_forward(struct attempt *a) {
    return forward(a, false);
}
static enum headwise_status mha_attend(struct attempt *a) {
    return forward(a, true);
}
static enum headwise_status mha_append(struct attempt *a) {
    struct headwise_attention_call call = call_of(a);
    call.memory = a->x_given;
    return headwise_mha_append(a->context, a->mha, a->no_call ? NULL : &call);
}

/* Calls that have the same arguments. */
enum {
    BYTES = 1,
    CREATE = 2,
    CONFIG = 4, /* both of them */
    APPEND = 8,
    TRUNCATE = 16,
    COPY = 32,
    REORDER = 64,
    READ = 128,
    OPERATOR = 256,
    FORWARD = 512,  /* layers with x and y */
    PROJECT = 1024, /* and with x alone */
    MEASURE = 2048,
    SAVE = 4096,
    LOAD = 8192,
    SEQUENCE = TRUNCATE | COPY | READ | MEASURE | SAVE | LOAD, /* calls that name one */
    LAYER = FORWARD | PROJECT,
    RANGE = APPEND | OPERATOR | LAYER /* calls with a context and a range of sequences */
};

/* A named function that spoils arguments of some calls. */
struct spoil {
    const char *name;
    unsigned calls;
    void (*run)(struct attempt *a);
};

static const int64_t beyond[] = {HELD, HELD + ROWS + 1};
static const int64_t below[] = {-1, HELD};
static const int64_t zeros[2 * ROWS];

#define SPOIL(name, calls, ...)                                                                    \
    static void name(struct attempt *a) {                                                          \
        __VA_ARGS__;                                                                               \
    }
#include "cache_spoils.h"
#undef SPOIL

#define SPOIL(name, calls, ...) {#name, calls, name},
static const struct spoil spoils[] = {
#include "cache_spoils.h"
};
#undef SPOIL

static const struct {
    const char *name;
    call_fn *call;
    unsigned kind;
} calls[] = {
    {"cache_bytes", cache_bytes, CONFIG | BYTES},
    {"cache_create", cache_create, CONFIG | CREATE},
    {"cache_saved_bytes", cache_saved_bytes, MEASURE},
    {"cache_save", cache_save, SAVE},
    {"cache_load", cache_load, LOAD},
    {"cache_append", cache_append, APPEND},
    {"cache_truncate", cache_truncate, TRUNCATE},
    {"cache_copy", cache_copy, COPY},
    {"cache_reorder", cache_reorder, REORDER},
    {"cache_read", cache_read, READ},
    {"attention", attention, OPERATOR},
    {"mha_forward", mha_attend, FORWARD},
    {"mha_append", mha_append, PROJECT},
    {"mha_forward", mha_forward, FORWARD},
};

static void make_scene(enum headwise_isa isa) {
    struct test_rng rng = test_rng_make(240);
    struct headwise_cache_config config = {
        sizeof(config), SEQUENCES, HEADS, DIM, VALUE_DIM, CAPACITY, .dtype = HEADWISE_F16};
    struct headwise_mha_config other;
    scene.context = call_context(isa, 2);
    scene.other_context =
        call_context(isa == HEADWISE_ISA_SCALAR ? headwise_isa_best() : HEADWISE_ISA_SCALAR, 1);
    scene.layer_config = (struct headwise_mha_config){.d_model = D_MODEL,
                                                      .n_heads = 2 * HEADS,
                                                      .n_kv_heads = HEADS,
                                                      .head_dim = DIM,
                                                      .value_dim = VALUE_DIM};
    other = scene.layer_config;
    other.head_dim = DIM + 1;
    layer_fill_weights(&rng, &scene.layer_config, false);
    layer_fill_weights(&rng, &other, false);
    scene.mha = layer_create(scene.context, &scene.layer_config);
    scene.other_mha = layer_create(scene.context, &other);
    assert_int_equal(headwise_cache_create(&scene.cache, scene.context, &config), HEADWISE_OK);
    assert_int_equal(headwise_cache_bytes(scene.context, &config, &scene.cache_bytes), HEADWISE_OK);
    struct headwise_tensor k = call_tensor(HEADWISE_F32, SEQUENCES, HEADS, HELD, DIM, NULL);
    struct headwise_tensor v = call_tensor(HEADWISE_F32, SEQUENCES, HEADS, HELD, VALUE_DIM, NULL);
    call_fill(&rng, &k, 1);
    call_fill(&rng, &v, 1);
    const struct headwise_attention_call rows = {
        .size = sizeof(rows), .k = &k, .v = &v, .cache = scene.cache};
    assert_int_equal(headwise_cache_append(scene.context, &rows), HEADWISE_OK);
    scene.before = guard_plain(scene.cache_bytes, 1);
    memcpy(scene.before, scene.cache, scene.cache_bytes);
}

static void free_scene(void) {
    headwise_cache_destroy(scene.cache);
    headwise_mha_destroy(scene.mha);
    headwise_mha_destroy(scene.other_mha);
    headwise_context_destroy(scene.context);
    headwise_context_destroy(scene.other_context);
}

static void make_attempt(struct attempt *a) {
    struct test_rng rng = test_rng_make(241);
    *a = (struct attempt){
        .context = scene.context,
        .cache = scene.cache,
        .mha = scene.mha,
        .config = {sizeof(a->config), SEQUENCES, HEADS, DIM, VALUE_DIM, CAPACITY,
                   .dtype = HEADWISE_F16},
        .bytes = 99,
        .sequence = 1,
        .other_sequence = 2,
        .length = HELD - 1,
        .position = HELD - ROWS,
        .from = {2, 0, 1},
        .k = call_tensor(HEADWISE_F32, 2, HEADS, ROWS, DIM, NULL),
        .v = call_tensor(HEADWISE_F32, 2, HEADS, ROWS, VALUE_DIM, NULL),
        .q = call_tensor(HEADWISE_F32, 2, 2 * HEADS, ROWS, DIM, NULL),
        .y = call_tensor(HEADWISE_F32, 2, 2 * HEADS, ROWS, VALUE_DIM, NULL),
        .read_k = call_tensor(HEADWISE_F32, 1, HEADS, ROWS, DIM, NULL),
        .read_v = call_tensor(HEADWISE_F32, 1, HEADS, ROWS, VALUE_DIM, NULL),
        .x = call_tensor(HEADWISE_F32, 2, 1, ROWS, D_MODEL, NULL),
        .layer_y = call_tensor(HEADWISE_F32, 2, 1, ROWS, D_MODEL, NULL),
        .options = {.size = sizeof(a->options), .causal = HEADWISE_CAUSAL_BOTTOM_RIGHT},
        .call = {.size = sizeof(a->call)},
    };
    assert_int_equal(headwise_cache_saved_bytes(scene.cache, 0, &a->buffer_bytes), HEADWISE_OK);
    a->buffer = guard_alloc(a->buffer_bytes, 0);
    assert_int_equal(headwise_cache_save(scene.cache, 0, a->buffer, a->buffer_bytes), HEADWISE_OK);
    a->config_given = &a->config;
    a->place = &a->created;
    a->bytes_place = &a->bytes;
    a->from_given = a->from;
    a->k_given = &a->k;
    a->v_given = &a->v;
    a->q_given = &a->q;
    a->y_given = &a->y;
    a->x_given = &a->x;
    a->layer_y_given = &a->layer_y;
    call_fill(&rng, &a->k, 1);
    call_fill(&rng, &a->v, 1);
    call_fill(&rng, &a->q, 1);
    call_fill(&rng, &a->x, 1);
}

static void expect_untouched(const struct headwise_tensor *t, const char *name) {
    size_t n = (size_t)(t->size[0] * t->size[1] * t->size[2] * t->size[3]);
    guard_expect_untouched(t->data, n * sizeof(float), name);
}

/* The text begins with the name of the call; what concerns the config with "cache". */
static void expect_text(const char *call, const char *name) {
    const char *text = headwise_last_error();
    bool of_config = strcmp(call, "cache_bytes") == 0 || strcmp(call, "cache_create") == 0;
    const char *begin = of_config ? "cache: " : call;
    if (strchr(text, '\n') != NULL || strncmp(text, begin, strlen(begin)) != 0)
        fail_msg("%s, %s: error text \"%s\"", call, name, text);
}

static void expect_refused(call_fn *call, const char *call_name, const struct spoil *spoil) {
    struct attempt a, kept;
    make_attempt(&a);
    kept = a;
    spoil->run(&a);
    enum headwise_status status = call(&a);
    if (status != HEADWISE_ERR_INVALID)
        fail_msg("%s, %s: status %s", call_name, spoil->name, headwise_status_name(status));
    expect_text(call_name, spoil->name);
    if (memcmp(scene.before, scene.cache, scene.cache_bytes) != 0)
        fail_msg("%s, %s: the cache has changed", call_name, spoil->name);
    assert_null(a.created);
    assert_int_equal(a.bytes, 99);
    expect_untouched(&kept.y, spoil->name);
    expect_untouched(&kept.layer_y, spoil->name);
    expect_untouched(&kept.read_k, spoil->name);
    expect_untouched(&kept.read_v, spoil->name);
}

static void every_wrong_argument_is_refused(enum headwise_isa isa) {
    make_scene(isa);
    bool one_tier = headwise_context_describe(scene.other_context)->isa == isa;
    int n = 0;
    for (size_t i = 0; i < TEST_COUNT(calls); i++)
        for (size_t j = 0; j < TEST_COUNT(spoils); j++)
            if ((spoils[j].calls & calls[i].kind) != 0 &&
                (!one_tier || spoils[j].run != other_tier)) {
                expect_refused(calls[i].call, calls[i].name, &spoils[j]);
                n++;
            }
    print_message("%d wrong calls\n", n);
    assert_true(n > 150);
    free_scene();
}

/* Without the spoiling every call passes: the cases above fail for their own reason. */
static void the_unspoilt_calls_pass(enum headwise_isa isa) {
    make_scene(isa);
    for (size_t i = 0; i < TEST_COUNT(calls); i++) {
        struct attempt a;
        make_attempt(&a);
        if (calls[i].call(&a) != HEADWISE_OK)
            fail_msg("%s: %s", calls[i].name, headwise_last_error());
        headwise_cache_destroy(a.created);
    }
    free_scene();
}

static void what_is_not_there_has_no_length(enum headwise_isa isa) {
    make_scene(isa);
    assert_int_equal(headwise_cache_length(NULL, 0), -1);
    assert_int_equal(headwise_cache_room(NULL, 0), -1);
    assert_int_equal(headwise_cache_length(scene.cache, SEQUENCES), -1);
    assert_int_equal(headwise_cache_room(scene.cache, SEQUENCES), -1);
    assert_int_equal(headwise_cache_length(scene.cache, -1), -1);
    assert_int_equal(headwise_cache_room(scene.cache, -1), -1);
    assert_int_equal(headwise_cache_length(scene.cache, SEQUENCES - 1), HELD);
    assert_int_equal(headwise_cache_room(scene.cache, SEQUENCES - 1), CAPACITY - HELD);
    headwise_cache_destroy(NULL);
    free_scene();
}

/* No rows, and no sequences, are legal and change nothing. */
static void empty_calls_pass(enum headwise_isa isa) {
    struct attempt a;
    make_scene(isa);
    make_attempt(&a);
    a.k.size[2] = a.v.size[2] = a.q.size[2] = a.y.size[2] = a.x.size[2] = a.layer_y.size[2] = 0;
    a.k.data = a.v.data = a.q.data = a.y.data = a.x.data = a.layer_y.data = NULL;
    for (int round = 0; round < 2; round++) {
        for (size_t i = 0; i < TEST_COUNT(calls); i++)
            if ((calls[i].kind & RANGE) != 0 && calls[i].call(&a) != HEADWISE_OK)
                fail_msg("%s: %s", calls[i].name, headwise_last_error());
        make_attempt(&a);
        a.sequence = SEQUENCES; /* the end, where no sequence is needed */
        a.k.size[0] = a.v.size[0] = a.q.size[0] = a.y.size[0] = a.x.size[0] = 0;
        a.layer_y.size[0] = 0;
    }
    for (int64_t s = 0; s < SEQUENCES; s++)
        assert_int_equal(headwise_cache_length(scene.cache, s), HELD);
    free_scene();
}

int main(void) {
    const struct test_case cases[] = {
        TEST_CASE(the_unspoilt_calls_pass),
        TEST_CASE(every_wrong_argument_is_refused),
        TEST_CASE(what_is_not_there_has_no_length),
        TEST_CASE(empty_calls_pass),
    };
    return test_run_once(cases, TEST_COUNT(cases));
}
