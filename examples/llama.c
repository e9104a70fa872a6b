/* A small Llama on the public API: reads a model folder, continues a text.
 *
 *     llama MODEL_DIR [-p PROMPT] [-n TOKENS] [-t TEMPERATURE] [-s SEED]
 *
 * MODEL_DIR holds config.json, model.safetensors (or shards) and vocab.json, a list of
 * {"id": 0, "bytes_hex": "20612e", "score": -1.0} in the order of ids: a SentencePiece vocabulary
 * with byte tokens. Temperature 0, the default, takes the likeliest token each time. The text goes
 * to the standard output, the speed to the standard error.
 *
 * Attention (projections, rotary positions, cache) is the library's; everything around it is here,
 * in plain loops: embedding, RMSNorm, SwiGLU, sampling; the tokenizer is in llama/. */
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <headwise-io/checkpoint.h>
#include <headwise/headwise.h>

#include "llama/end.h"
#include "llama/vocabulary.h"

struct block {
    headwise_checkpoint_layer *attention;
    headwise_cache *cache;
    float *attention_norm, *mlp_norm; /* [dim] */
    float *gate, *up, *down;          /* [hidden][dim], [hidden][dim], [dim][hidden] */
};

struct llama {
    headwise_context *context;
    headwise_checkpoint *model;
    int64_t dim, hidden, n_blocks, n_tokens, n_positions, bos, eos;
    double eps;
    struct block *blocks;
    float *embedding, *head, *norm; /* [n_tokens][dim], the same or another, [dim] */
    struct vocabulary vocabulary;
    float *x, *y, *z, *gate, *up, *logits; /* [n_positions][dim] three times, [hidden] twice */
};

/* End the program where a call of one of the libraries failed. */
static void check(enum headwise_status status) {
    if (status)
        die("%s", headwise_last_error());
}

static void check_io(enum headwise_status status) {
    if (status)
        die("%s", headwise_io_last_error());
}

/* ---- the model ---- */

/* A tensor as f32; rows 0: a vector. */
static float *read_tensor(const struct llama *m, int64_t rows, int64_t columns, const char *format,
                          ...) {
    char name[128];
    va_list args;
    va_start(args, format);
    vsnprintf(name, sizeof name, format, args);
    va_end(args);
    int64_t shape[2] = {rows ? rows : columns, columns};
    float *values = allocate(shape[0] * (rows ? columns : 1), sizeof *values);
    check_io(headwise_checkpoint_read_f32(values, m->model, name, rows ? 2 : 1, shape));
    return values;
}

static void load_block(struct llama *m, int64_t i) {
    struct block *b = &m->blocks[i];
    int n = (int)i;
    check_io(headwise_checkpoint_layer_create(&b->attention, m->model, m->context, NULL, i));
    const headwise_mha *mha = headwise_checkpoint_layer_mha(b->attention);
    struct headwise_cache_config config = {
        .size = sizeof config,
        .n_sequences = 1,
        .n_kv_heads = headwise_mha_describe(mha)->n_kv_heads,
        .head_dim = headwise_mha_describe(mha)->head_dim,
        .capacity = m->n_positions,
    };
    check(headwise_cache_create(&b->cache, m->context, &config));
    b->attention_norm = read_tensor(m, 0, m->dim, "model.layers.%d.input_layernorm.weight", n);
    b->mlp_norm = read_tensor(m, 0, m->dim, "model.layers.%d.post_attention_layernorm.weight", n);
    b->gate = read_tensor(m, m->hidden, m->dim, "model.layers.%d.mlp.gate_proj.weight", n);
    b->up = read_tensor(m, m->hidden, m->dim, "model.layers.%d.mlp.up_proj.weight", n);
    b->down = read_tensor(m, m->dim, m->hidden, "model.layers.%d.mlp.down_proj.weight", n);
}

static void load_model(struct llama *m, const char *folder) {
    static const char *const families[] = {"llama", "mistral", "qwen2", "qwen3"};
    bool known = false;
    check(headwise_context_create(&m->context, NULL));
    const struct headwise_checkpoint_options options = {
        .size = sizeof options, .weights = HEADWISE_CHECKPOINT_WEIGHTS_STORED};
    check_io(headwise_checkpoint_open(&m->model, folder, &options));
    for (size_t i = 0; i < sizeof families / sizeof *families; i++)
        known = known || strcmp(headwise_checkpoint_family(m->model), families[i]) == 0;
    if (!known)
        die("%s: is a %s model, expected one with Llama's blocks", folder,
            headwise_checkpoint_family(m->model));
    check_io(headwise_checkpoint_integer(m->model, "hidden_size", &m->dim));
    check_io(headwise_checkpoint_integer(m->model, "intermediate_size", &m->hidden));
    check_io(headwise_checkpoint_integer(m->model, "vocab_size", &m->n_tokens));
    check_io(headwise_checkpoint_integer(m->model, "max_position_embeddings", &m->n_positions));
    check_io(headwise_checkpoint_integer(m->model, "bos_token_id", &m->bos));
    check_io(headwise_checkpoint_integer(m->model, "eos_token_id", &m->eos));
    check_io(headwise_checkpoint_number(m->model, "rms_norm_eps", &m->eps));
    if (m->dim < 1 || m->hidden < 1 || m->n_tokens < 1 || m->n_positions < 1 ||
        (m->dim | m->hidden | m->n_tokens | m->n_positions) >> 31)
        die("%s: a size in config.json is out of range", folder);
    m->n_blocks = headwise_checkpoint_n_layers(m->model, NULL);
    m->blocks = allocate(m->n_blocks, sizeof *m->blocks);
    for (int64_t i = 0; i < m->n_blocks; i++)
        load_block(m, i);
    m->norm = read_tensor(m, 0, m->dim, "model.norm.weight");
    m->embedding = read_tensor(m, m->n_tokens, m->dim, "model.embed_tokens.weight");
    m->head = headwise_checkpoint_tensor(m->model, "lm_head.weight")
                  ? read_tensor(m, m->n_tokens, m->dim, "lm_head.weight")
                  : m->embedding;
    m->x = allocate(m->n_positions * m->dim, sizeof(float));
    m->y = allocate(m->n_positions * m->dim, sizeof(float));
    m->z = allocate(m->n_positions * m->dim, sizeof(float));
    m->gate = allocate(m->hidden, sizeof(float));
    m->up = allocate(m->hidden, sizeof(float));
    m->logits = allocate(m->n_tokens, sizeof(float));
}

/* ---- arithmetic ---- */

/* out = W x, W [rows][n]. Eight sums, so that the compiler can use vectors. */
static void multiply(float *out, const float *w, const float *x, int64_t rows, int64_t n) {
    for (int64_t r = 0; r < rows; r++, w += n) {
        float sums[8] = {0}, sum = 0;
        int64_t i = 0;
        for (; i + 8 <= n; i += 8)
            for (int lane = 0; lane < 8; lane++)
                sums[lane] += w[i + lane] * x[i + lane];
        for (; i < n; i++)
            sum += w[i] * x[i];
        for (int lane = 0; lane < 8; lane++)
            sum += sums[lane];
        out[r] = sum;
    }
}

static void rms_norm(const struct llama *m, float *out, const float *x, const float *weight) {
    float sum = 0;
    for (int64_t i = 0; i < m->dim; i++)
        sum += x[i] * x[i];
    float scale = 1 / sqrtf(sum / (float)m->dim + (float)m->eps);
    for (int64_t i = 0; i < m->dim; i++)
        out[i] = x[i] * scale * weight[i];
}

/* x += down (silu(gate x') * up x'), x' = norm x */
static void add_mlp(struct llama *m, const struct block *b, float *x, float *normed) {
    rms_norm(m, normed, x, b->mlp_norm);
    multiply(m->gate, b->gate, normed, m->hidden, m->dim);
    multiply(m->up, b->up, normed, m->hidden, m->dim);
    for (int64_t i = 0; i < m->hidden; i++)
        m->gate[i] = m->gate[i] / (1 + expf(-m->gate[i])) * m->up[i];
    multiply(normed, b->down, m->gate, m->dim, m->hidden);
    for (int64_t i = 0; i < m->dim; i++)
        x[i] += normed[i];
}

/* Adds n tokens to the sequence; the logits of what follows the last of them. */
static const float *forward(struct llama *m, const int64_t *ids, int64_t n) {
    for (int64_t r = 0; r < n; r++)
        memcpy(m->x + r * m->dim, m->embedding + ids[r] * m->dim, (size_t)m->dim * sizeof(float));
    struct headwise_tensor in = headwise_tensor_brhc(m->y, HEADWISE_F32, 1, n, 1, m->dim);
    struct headwise_tensor out = headwise_tensor_brhc(m->z, HEADWISE_F32, 1, n, 1, m->dim);
    struct headwise_attention_call call = {.size = sizeof call, .y = &out, .x = &in};
    for (int64_t i = 0; i < m->n_blocks; i++) {
        struct block *b = &m->blocks[i];
        for (int64_t r = 0; r < n; r++)
            rms_norm(m, m->y + r * m->dim, m->x + r * m->dim, b->attention_norm);
        call.cache = b->cache;
        call.options = headwise_checkpoint_layer_options(b->attention);
        check(headwise_mha_forward(m->context, headwise_checkpoint_layer_mha(b->attention), &call));
        for (int64_t r = 0; r < n; r++) {
            for (int64_t c = r * m->dim; c < (r + 1) * m->dim; c++)
                m->x[c] += m->z[c];
            add_mlp(m, b, m->x + r * m->dim, m->y + r * m->dim);
        }
    }
    rms_norm(m, m->y, m->x + (n - 1) * m->dim, m->norm);
    multiply(m->logits, m->head, m->y, m->n_tokens, m->dim);
    return m->logits;
}

/* A number in [0, 1): xorshift64*, of Marsaglia and Vigna. */
static double random_number(uint64_t *state) {
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return (double)(*state * 0x2545f4914f6cdd1du >> 11) * 0x1p-53;
}

static int64_t sample(const float *logits, int64_t n, double temperature, uint64_t *state) {
    int64_t best = 0;
    double total = 0;
    for (int64_t i = 1; i < n; i++)
        best = logits[i] > logits[best] ? i : best;
    if (temperature == 0)
        return best;
    for (int64_t i = 0; i < n; i++)
        total += exp((double)(logits[i] - logits[best]) / temperature);
    double left = random_number(state) * total;
    for (int64_t i = 0; i < n; i++)
        if ((left -= exp((double)(logits[i] - logits[best]) / temperature)) < 0)
            return i;
    return best;
}

/* ---- the program ---- */

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void print_token(const struct llama *m, int64_t id, bool is_first) {
    const struct token *token = &m->vocabulary.tokens[id];
    size_t skip = is_first && token->length > 0 && token->bytes[0] == ' ';
    fwrite(token->bytes + skip, 1, token->length - skip, stdout);
    fflush(stdout);
}

/* Prints the prompt and what follows. */
static void generate(struct llama *m, const char *prompt, int64_t n_new, double temperature,
                     uint64_t seed) {
    int64_t *ids = allocate((int64_t)strlen(prompt) + 2, sizeof *ids), made = 0;
    int64_t n = vocabulary_encode(&m->vocabulary, prompt, ids);
    if (n > m->n_positions)
        die("the prompt has %lld tokens, the model at most %lld positions", (long long)n,
            (long long)m->n_positions);
    fputs(prompt, stdout);
    if (n_new > m->n_positions - n)
        n_new = m->n_positions - n;
    const float *logits = forward(m, ids, n);
    double start = now();
    while (made < n_new) {
        int64_t id = sample(logits, m->n_tokens, temperature, &seed);
        if (id == m->eos || id == m->bos)
            break;
        print_token(m, id, n == 1 && made == 0);
        made++;
        if (made < n_new)
            logits = forward(m, &id, 1);
    }
    double seconds = now() - start;
    putchar('\n');
    fprintf(stderr, "%lld tokens after a prompt of %lld: %.0f tokens/s (%s, %d threads)\n",
            (long long)made, (long long)n, seconds > 0 ? (double)made / seconds : 0,
            headwise_isa_name(headwise_context_describe(m->context)->isa),
            headwise_context_describe(m->context)->n_threads);
    free(ids);
}

int main(int argc, char **argv) {
    static struct llama m;
    const char *prompt = "";
    long n_new = 256;
    unsigned long long seed = 1;
    double temperature = 0;
    optind = 2; /* after the folder */
    for (int option; argc > 1 && (option = getopt(argc, argv, "p:n:t:s:")) != -1;) {
        if (option == 'p')
            prompt = optarg;
        else if (option == 'n')
            n_new = strtol(optarg, NULL, 10);
        else if (option == 't')
            temperature = strtod(optarg, NULL);
        else if (option == 's')
            seed = strtoull(optarg, NULL, 10);
        else
            argc = 0;
    }
    if (argc < 2 || optind != argc || n_new < 0 || !(temperature >= 0))
        die("usage: llama MODEL_DIR [-p PROMPT] [-n TOKENS] [-t TEMPERATURE] [-s SEED]");
    load_model(&m, argv[1]);
    m.vocabulary = (struct vocabulary){.n_tokens = m.n_tokens, .bos = m.bos};
    vocabulary_load(&m.vocabulary, argv[1]);
    generate(&m, prompt, n_new, temperature, seed ? seed : 1);
    return 0;
}
