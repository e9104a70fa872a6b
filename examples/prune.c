/* Takes heads out of a model's layer, those first whose loss changes the output least, and saves
 * what is left.
 *
 *     prune MODEL LAYER INPUT.safetensors TENSOR COUNT [OUT.safetensors]
 *
 * MODEL is a folder or a safetensors file, TENSOR a tensor (tokens, width) or (batch, tokens,
 * width) of INPUT: what the layer gets. For each of COUNT heads every other one is tried as an heir
 * that takes over its rows of W_O. OUT holds W_Q, W_K, W_V, W_O and biases as "headwise layer
 * --weights" reads them, and in its metadata the heads that were pruned. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <headwise-io/checkpoint.h>
#include <headwise/headwise.h>

enum { MOST_HEADS = 64 };

static void check(enum headwise_status status) {
    if (status == HEADWISE_OK)
        return;
    fprintf(stderr, "prune: %s\n", headwise_last_error());
    exit(1);
}

static void check_io(enum headwise_status status) {
    if (status == HEADWISE_OK)
        return;
    fprintf(stderr, "prune: %s\n", headwise_io_last_error());
    exit(1);
}

static void fail(const char *why) {
    fprintf(stderr, "prune: %s\n", why);
    exit(1);
}

static float *floats(int64_t n) {
    float *memory = calloc((size_t)(n > 0 ? n : 1), sizeof *memory);
    if (!memory)
        fail("out of memory");
    return memory;
}

/* A layer, its input, and how it is called. */
struct work {
    headwise_context *context;
    headwise_mha *mha;
    struct headwise_attention_options options;
    struct headwise_tensor x;
    int64_t batch, tokens, heads;
    float *whole; /* its output */
    double size;  /* the norm of whole less the bias: what the heads contribute */
};

/* y of the layer, or of what is left of it; head outputs where wanted. */
static float *run(const struct work *w, const headwise_mha *mha, float *head_outputs) {
    int64_t d = headwise_mha_describe(mha)->d_out;
    float *out = floats(w->batch * w->tokens * d);
    const struct headwise_probe probe = {.size = sizeof probe, .head_outputs = head_outputs};
    struct headwise_tensor y = headwise_tensor_brhc(out, HEADWISE_F32, w->batch, w->tokens, 1, d);
    const struct headwise_attention_call call = {
        .size = sizeof call, .y = &y, .x = &w->x, .options = &w->options, .probe = &probe};
    check(headwise_mha_forward(w->context, mha, &call));
    return out;
}

/* The heads in the order in which they can go, and the output's relative change by then. */
static void propose(const struct work *w, int64_t *order, double *change) {
    static double gram[MOST_HEADS * MOST_HEADS];
    float *outputs =
        floats(w->batch * w->tokens * w->heads * headwise_mha_describe(w->mha)->value_dim);
    free(run(w, w->mha, outputs));
    check(headwise_contribution_gram(w->context, w->mha, gram, outputs, w->batch, w->tokens));
    check(headwise_propose_pruning(order, change, NULL, gram, NULL, w->heads, NULL));
    free(outputs);
}

/* The layer without n heads, which go to the heirs. */
static headwise_mha *without(const struct work *w, const int64_t *heads, const int64_t *heirs,
                             int64_t n) {
    const struct headwise_prune_options options = {
        .size = sizeof options, .heads = heads, .n_heads = n, .merge_into = heirs};
    headwise_mha *pruned = NULL;
    check(headwise_mha_prune(&pruned, w->context, w->mha, &options));
    return pruned;
}

/* The whole layer's output and its size. */
static void run_whole(struct work *w) {
    int64_t d = headwise_mha_describe(w->mha)->d_out;
    float *bias = floats(d);
    double square = 0;
    check(headwise_mha_weights(w->mha, NULL, bias, NULL, HEADWISE_MHA_O, HEADWISE_OUT_IN));
    w->whole = run(w, w->mha, NULL);
    for (int64_t i = 0; i < w->batch * w->tokens * d; i++)
        square += pow((double)w->whole[i] - (double)bias[i % d], 2);
    w->size = sqrt(square);
    free(bias);
}

/* By how much the output of what is left is off, relative to what the heads contribute. */
static double relative_change(const struct work *w, const int64_t *heads, const int64_t *heirs,
                              int64_t n) {
    headwise_mha *pruned = without(w, heads, heirs, n);
    float *y = run(w, pruned, NULL);
    double square = 0;
    for (int64_t i = 0; i < w->batch * w->tokens * headwise_mha_describe(w->mha)->d_out; i++)
        square += pow((double)y[i] - (double)w->whole[i], 2);
    free(y);
    headwise_mha_destroy(pruned);
    return sqrt(square) / w->size;
}

/* Whether a head is among the first n. */
static bool goes(const int64_t *heads, int64_t n, int64_t head) {
    for (int64_t i = 0; i < n; i++) {
        if (heads[i] == head)
            return true;
    }
    return false;
}

/* Finds the best heir of head number n of the list, -1 where nobody helps. */
static void find_heir(const struct work *w, const int64_t *heads, int64_t *heirs, int64_t n,
                      int64_t n_going, double foretold) {
    int64_t heir = -1;
    heirs[n] = -1;
    double alone = relative_change(w, heads, heirs, n + 1), inherited = HUGE_VAL;
    for (int64_t h = 0; h < w->heads; h++) {
        if (goes(heads, n_going, h))
            continue;
        heirs[n] = h;
        double change = relative_change(w, heads, heirs, n + 1);
        if (change < inherited) {
            inherited = change;
            heir = h;
        }
    }
    printf("head %d goes: the output changes by %.1f %% (foretold: %.1f %%)", (int)heads[n],
           100 * alone, 100 * foretold);
    if (heir >= 0)
        printf(", with head %d as its heir by %.1f %%", (int)heir, 100 * inherited);
    printf("\n");
    heirs[n] = inherited < alone ? heir : -1;
}

/* Every head number below "heads" that the layer no longer has, with commas. */
static void list_pruned(const headwise_mha *mha, int64_t heads, char *text, size_t size) {
    const int64_t *left = headwise_mha_describe(mha)->head_numbers;
    size_t used = 0;
    text[0] = 0;
    for (int64_t h = 0, i = 0; h < heads; h++) {
        if (i < headwise_mha_describe(mha)->n_heads && left[i] == h)
            i++;
        else
            used += (size_t)snprintf(text + used, size - used, used ? ",%d" : "%d", (int)h);
    }
}

static void save(const char *path, const headwise_mha *mha, int64_t heads) {
    static const char *const names[][2] = {
        {"W_Q", "b_Q"}, {"W_K", "b_K"}, {"W_V", "b_V"}, {"W_O", "b_O"}};
    const int64_t h = headwise_mha_describe(mha)->n_heads,
                  kv = headwise_mha_describe(mha)->n_kv_heads;
    const int64_t queries = h * headwise_mha_describe(mha)->head_dim,
                  keys = kv * headwise_mha_describe(mha)->head_dim;
    const int64_t sizes[][2] = {
        {headwise_mha_describe(mha)->d_model, queries},
        {headwise_mha_describe(mha)->d_memory, keys},
        {headwise_mha_describe(mha)->d_memory, kv * headwise_mha_describe(mha)->value_dim},
        {h * headwise_mha_describe(mha)->value_dim, headwise_mha_describe(mha)->d_out}};
    struct headwise_file_tensor tensors[8];
    char pruned[8 * MOST_HEADS], n_heads[24], n_kv_heads[24];
    for (int64_t g = 0; g < kv; g++) {
        if (headwise_mha_describe(mha)->group_sizes[g] * kv != h)
            fail("what is left has groups of different sizes, which the file cannot say");
    }
    for (int p = 0; p < 4; p++) {
        float *weights = floats(sizes[p][0] * sizes[p][1]), *bias = floats(sizes[p][1]);
        check(headwise_mha_weights(mha, weights, bias, NULL, (enum headwise_mha_part)p,
                                   HEADWISE_IN_OUT));
        tensors[2 * p] = (struct headwise_file_tensor){
            names[p][0], HEADWISE_FILE_F32, 2, {sizes[p][0], sizes[p][1]}, 0, 0, weights};
        tensors[2 * p + 1] = (struct headwise_file_tensor){
            names[p][1], HEADWISE_FILE_F32, 1, {sizes[p][1]}, 0, 0, bias};
    }
    snprintf(n_heads, sizeof n_heads, "%lld", (long long)h);
    snprintf(n_kv_heads, sizeof n_kv_heads, "%lld", (long long)kv);
    list_pruned(mha, heads, pruned, sizeof pruned);
    const struct headwise_file_metadata metadata[] = {
        {"num_heads", n_heads}, {"num_kv_heads", n_kv_heads}, {"pruned_heads", pruned}};
    check_io(headwise_safetensors_write(path, tensors, 8, metadata, 3));
    for (int t = 0; t < 8; t++)
        free((void *)(uintptr_t)tensors[t].data);
}

/* The tensor as x; its memory is the caller's to free. */
static void read_input(struct work *w, const char *path, const char *name) {
    headwise_safetensors *file = NULL;
    check_io(headwise_safetensors_open(&file, path));
    const struct headwise_file_tensor *t = headwise_safetensors_find(file, name);
    int64_t width = headwise_mha_describe(w->mha)->d_model;
    if (!t || (t->rank != 2 && t->rank != 3) || t->shape[t->rank - 1] != width)
        fail("the input has no such tensor of the layer's width and two or three axes");
    w->batch = t->rank == 3 ? t->shape[0] : 1;
    w->tokens = t->shape[t->rank - 2];
    float *x = floats((int64_t)t->n_elements);
    check_io(headwise_safetensors_read_f32(x, file, t));
    headwise_safetensors_close(file);
    w->x = headwise_tensor_brhc(x, HEADWISE_F32, w->batch, w->tokens, 1, width);
}

/* Opens the layer's matrices; it must be small enough for this program, and, where it is to be
 * saved, be nothing but matrices and biases. */
static void open_layer(struct work *w, const headwise_checkpoint_layer *layer, bool is_saved) {
    const struct headwise_mha_config *config = headwise_checkpoint_layer_config(layer);
    if (config->n_heads > MOST_HEADS)
        fail("a layer of more than 64 heads");
    if (is_saved && (config->rotary || config->q_norm || config->k_norm))
        fail("a layer with rotary or norms has more than the file can hold");
    check(headwise_mha_create(&w->mha, w->context, config));
    w->options = *headwise_checkpoint_layer_options(layer);
    w->heads = headwise_mha_describe(w->mha)->n_heads;
}

int main(int argc, char **argv) {
    struct work w = {0};
    int64_t order[MOST_HEADS], heirs[MOST_HEADS];
    double foretold[MOST_HEADS];
    headwise_checkpoint *model = NULL;
    headwise_checkpoint_layer *layer = NULL;
    if (argc != 6 && argc != 7)
        fail("usage: prune MODEL LAYER INPUT.safetensors TENSOR COUNT [OUT.safetensors]");
    check(headwise_context_create(&w.context, NULL));
    check_io(headwise_checkpoint_open(&model, argv[1], NULL));
    check_io(headwise_checkpoint_layer_read(&layer, model, w.context, NULL, atoi(argv[2])));
    open_layer(&w, layer, argc == 7);
    read_input(&w, argv[3], argv[4]);
    int64_t n = atoi(argv[5]);
    if (n < 1 || n > w.heads)
        fail("COUNT is no number of the layer's heads");
    propose(&w, order, foretold);
    run_whole(&w);
    for (int64_t i = 0; i < n; i++)
        find_heir(&w, order, heirs, i, n, foretold[i]);
    headwise_mha *left = without(&w, order, heirs, n);
    printf("%d of %d heads are left\n", (int)headwise_mha_describe(left)->n_heads, (int)w.heads);
    if (argc == 7)
        save(argv[6], left, w.heads);
    headwise_mha_destroy(left);
    free(w.whole);
    free(w.x.data);
    headwise_mha_destroy(w.mha);
    headwise_checkpoint_layer_destroy(layer);
    headwise_checkpoint_close(model);
    headwise_context_destroy(w.context);
    return 0;
}
