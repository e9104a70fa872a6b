/* headwise forward: what it writes is what the library gives, put back to where the tokens are. */
#include "cli_support.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "call.h"
#include "guard.h"
#include "networks_support.h"
#include "small_network.h"

enum { N_SEQUENCES = 3, N_COLUMNS = 6, D = 48, HEADS = 4, LAYERS = 2 };

static const int64_t ids[N_SEQUENCES][N_COLUMNS] = {
    {2, 7, 11, 60, 3, 0}, {2, 5, 3, 0, 0, 0}, {0, 0, 2, 9, 8, 3}};
static const int64_t mask[N_SEQUENCES][N_COLUMNS] = {
    {1, 1, 1, 1, 1, 0}, {1, 1, 1, 0, 0, 0}, {0, 0, 1, 1, 1, 1}};
static const int64_t types[N_SEQUENCES][N_COLUMNS] = {
    {0, 0, 0, 1, 1, 0}, {0, 0, 0, 0, 0, 0}, {0, 0, 0, 1, 1, 1}};

static struct headwise_file_tensor matrix(const char *name, const int64_t *values) {
    return (struct headwise_file_tensor){.name = name,
                                         .dtype = HEADWISE_FILE_I64,
                                         .rank = 2,
                                         .shape = {N_SEQUENCES, N_COLUMNS},
                                         .data = values};
}

static void write_inputs(const char *prefix) {
    static const char *const names[] = {"input_ids", "attention_mask", "token_type_ids"};
    const int64_t *values[] = {&ids[0][0], &mask[0][0], &types[0][0]};
    char whole[3][64];
    struct headwise_file_tensor tensors[3];
    for (int i = 0; i < 3; i++) {
        snprintf(whole[i], sizeof whole[i], "%s%s", prefix, names[i]);
        tensors[i] = matrix(whole[i], values[i]);
    }
    cli_write("in", tensors, 3, NULL);
}

static void write_network(enum small_network network) {
    mkdir("net", 0777);
    small_network_write("net", network);
}

/* What the library gives for sequence s alone. */
struct alone {
    int64_t n;
    float last[N_COLUMNS * D], hidden[(LAYERS + 1) * N_COLUMNS * D], pooled[D], logits[3];
    float maps[LAYERS][HEADS * N_COLUMNS * N_COLUMNS];
};

static void run_alone(headwise_context *context, const headwise_transformer *network, int64_t s,
                      struct alone *alone) {
    int32_t own_ids[N_COLUMNS], own_types[N_COLUMNS], starts[2] = {0, 0};
    static const int64_t layers[] = {0, 1, 2};
    struct headwise_probe probes[LAYERS] = {{.size = sizeof *probes, .weights = alone->maps[0]},
                                            {.size = sizeof *probes, .weights = alone->maps[1]}};
    alone->n = 0;
    for (int i = 0; i < N_COLUMNS; i++) {
        own_ids[alone->n] = (int32_t)ids[s][i];
        own_types[alone->n] = (int32_t)types[s][i];
        alone->n += mask[s][i];
    }
    starts[1] = (int32_t)alone->n;
    const struct headwise_transformer_call call = {.size = sizeof call,
                                                   .n_sequences = 1,
                                                   .starts = starts,
                                                   .ids = own_ids,
                                                   .types = own_types,
                                                   .last_hidden = alone->last,
                                                   .n_hidden = LAYERS + 1,
                                                   .hidden_layers = layers,
                                                   .hidden = alone->hidden,
                                                   .pooled = alone->pooled,
                                                   .logits = alone->logits,
                                                   .probes = probes};
    networks_forward(context, network, &call);
}

static const float *written(const headwise_safetensors *file, const char *name, size_t n) {
    const struct headwise_file_tensor *tensor = headwise_safetensors_find(file, name);
    float *values = guard_plain(n, sizeof *values);
    assert_non_null(tensor);
    assert_int_equal(tensor->n_elements, n);
    assert_int_equal(headwise_safetensors_read_f32(values, file, tensor), HEADWISE_OK);
    return values;
}

/* Rows of a sequence where the mask is 1, zeros elsewhere. */
static void expect_rows(const headwise_safetensors *file, const char *name, int64_t s,
                        const float *want) {
    const float *got = written(file, name, N_SEQUENCES * N_COLUMNS * D) + s * N_COLUMNS * D;
    static const float zeros[D];
    for (int i = 0; i < N_COLUMNS; i++) {
        compare_same_bits(got + i * D, mask[s][i] ? want : zeros, D, "%s of sequence %d, token %d",
                          name, (int)s, i);
        want += mask[s][i] * D;
    }
}

static void expect_maps(const headwise_safetensors *file, int layer, int64_t s,
                        const struct alone *alone) {
    char name[32];
    enum { SQUARE = N_COLUMNS * N_COLUMNS };
    snprintf(name, sizeof name, "attention.%d", layer);
    const float *got = written(file, name, N_SEQUENCES * HEADS * SQUARE) + s * HEADS * SQUARE;
    const float *want = alone->maps[layer];
    for (int at = 0; at < HEADS * SQUARE; at++) {
        bool is_seen = mask[s][at % SQUARE / N_COLUMNS] && mask[s][at % N_COLUMNS];
        compare_expect((double)got[at], is_seen ? (double)*want++ : 0, 0, "%s of sequence %d at %d",
                       name, (int)s, at);
    }
}

static void writes_everything(enum headwise_isa isa) {
    headwise_context *context = call_context(isa, 1);
    write_network(SMALL_BERT);
    write_inputs("");
    headwise_transformer *network = networks_open(context, "net", NULL);
    cli_accepts("forward", "net", "--ids", "in", "-o", "out", "--hidden", "--maps", "--isa",
                headwise_isa_name(isa));
    assert_non_null(strstr(cli.out, "bert of 2 layers, width 48"));
    headwise_safetensors *file = cli_open("out");
    for (int64_t s = 0; s < N_SEQUENCES; s++) {
        struct alone alone;
        run_alone(context, network, s, &alone);
        expect_rows(file, "last_hidden_state", s, alone.last);
        for (int i = 0; i <= LAYERS; i++) {
            char name[32];
            snprintf(name, sizeof name, "hidden.%d", i);
            expect_rows(file, name, s, alone.hidden + i * alone.n * D);
        }
        for (int i = 0; i < LAYERS; i++)
            expect_maps(file, i, s, &alone);
        compare_same_bits(written(file, "pooler_output", N_SEQUENCES * D) + s * D, alone.pooled, D,
                          "pooled");
        compare_same_bits(written(file, "logits", N_SEQUENCES * 3) + s * 3, alone.logits, 3,
                          "logits");
    }
    headwise_safetensors_close(file);
    headwise_transformer_destroy(network);
    headwise_context_destroy(context);
    small_network_remove("net");
    remove("out");
}

/* Gates of 0 for all heads: attention gives its output's bias, whatever the maps are. */
static void takes_gates_and_tags(enum headwise_isa isa) {
    float gates[LAYERS * HEADS] = {0};
    const struct headwise_file_tensor tensor = CLI_TENSOR("gates", gates, LAYERS, HEADS);
    write_network(SMALL_BERT);
    write_inputs("batch.");
    cli_write("gates", &tensor, 1, NULL);
    cli_accepts("forward", "net", "--ids", "in", "--tag", "batch", "-o", "plain", "--isa",
                headwise_isa_name(isa));
    cli_accepts("forward", "net", "--ids", "in", "--tag", "batch", "-o", "gated", "--gates",
                "gates", "--time", "--budget", "4", "--isa", headwise_isa_name(isa));
    assert_non_null(strstr(cli.out, "tokens in a second"));
    headwise_safetensors *plain = cli_open("plain"), *gated = cli_open("gated");
    size_t n = N_SEQUENCES * N_COLUMNS * D;
    assert_true(memcmp(written(plain, "last_hidden_state", n),
                       written(gated, "last_hidden_state", n), n * sizeof(float)) != 0);
    headwise_safetensors_close(plain);
    headwise_safetensors_close(gated);
    small_network_remove("net");
}

static void refuses(enum headwise_isa isa) {
    (void)isa;
    write_network(SMALL_BERT);
    write_inputs("");
    cli_refuses("a folder is missing", "forward");
    cli_refuses("option --ids is missing", "forward", "net");
    cli_refuses("neither --output nor --time", "forward", "net", "--ids", "in");
    cli_refuses("none", "forward", "none", "--ids", "in", "-o", "out");
    cli_refuses("has no tensor \"b.input_ids\"", "forward", "net", "--ids", "in", "--tag", "b",
                "-o", "out");
    cli_refuses("option --packed is \"i4\"", "forward", "net", "--ids", "in", "-o", "out",
                "--packed", "i4");
    cli_refuses("no layer of a whisper model", "forward", "net", "--ids", "in", "-o", "out",
                "--overrides", "{\"model_type\": \"whisper\"}");
    cli_refuses("tensor \"gates\"", "forward", "net", "--ids", "in", "-o", "out", "--gates", "in");
    cli_refuses("hidden_act is \"mish\"", "forward", "net", "--ids", "in", "-o", "out",
                "--overrides", "{\"hidden_act\": \"mish\"}");
    write_network(SMALL_VIT);
    cli_refuses("has no tensor \"pixel_values\"", "forward", "net", "--ids", "in", "-o", "out");
    small_network_remove("net");
}

int main(void) {
    const struct test_case cases[] = {TEST_CASE(writes_everything), TEST_CASE(takes_gates_and_tags),
                                      TEST_CASE(refuses)};
    return cli_main_once(cases, TEST_COUNT(cases));
}
