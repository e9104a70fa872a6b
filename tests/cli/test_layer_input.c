/* What headwise layer refuses, with the tensor and what was expected, and with no output. */
#include "cli_support.h"

#include <string.h>
#include <unistd.h>

static const float data[64];

/* A good layer of 2 heads of 2 on 1 kv head, 3 tokens of width 4, with one tensor replaced or
 * added. */
static void write_layer(const char *metadata, const struct headwise_file_tensor *changed) {
    struct headwise_file_tensor tensors[6] = {
        CLI_TENSOR("X", data, 3, 4),   CLI_TENSOR("W_Q", data, 4, 4), CLI_TENSOR("W_K", data, 4, 2),
        CLI_TENSOR("W_V", data, 4, 2), CLI_TENSOR("W_O", data, 4, 5),
    };
    size_t n = 5, at = 0;
    while (changed && at < n && strcmp(tensors[at].name, changed->name) != 0)
        at++;
    if (changed)
        tensors[at] = *changed;
    cli_write("in", tensors, n + (changed && at == n), metadata);
}

#define LAYER "layer", "--weights", "in", "--input", "in", "-o", "out"
#define REFUSES(expected, ...)                                                                     \
    do {                                                                                           \
        const struct headwise_file_tensor changed = __VA_ARGS__;                                   \
        write_layer(NULL, &changed);                                                               \
        cli_refuses("headwise: in: " expected, LAYER, "--heads", "2", "--kv-heads", "1");          \
    } while (0)

static void shapes(enum headwise_isa isa) {
    (void)isa;
    write_layer(NULL, NULL);
    cli_accepts(LAYER, "--heads", "2", "--kv-heads", "1");
    unlink("out");
    REFUSES("tensor \"X\": shape [4], expected [*,*] (tokens, width)", CLI_TENSOR("X", data, 4));
    REFUSES("tensor \"W_Q\": shape [4,4], expected [5,4] (X's width, heads * head size)",
            CLI_TENSOR("X", data, 3, 5));
    REFUSES("tensor \"W_Q\": 5 outputs, expected a multiple of its 2 heads",
            CLI_TENSOR("W_Q", data, 4, 5));
    REFUSES("tensor \"W_Q\": shape [16], expected [*,*] (inputs, outputs)",
            CLI_TENSOR("W_Q", data, 16));
    REFUSES("tensor \"W_K\": shape [4,4], expected [4,2] (X's width, kv heads * head size)",
            CLI_TENSOR("W_K", data, 4, 4));
    REFUSES("tensor \"W_V\": shape [3,2], expected [4,2]", CLI_TENSOR("W_V", data, 3, 2));
    REFUSES("tensor \"W_V\": 0 outputs", CLI_TENSOR("W_V", data, 4, 0));
    REFUSES("tensor \"W_O\": shape [3,5], expected [4,*] (heads * value size, any)",
            CLI_TENSOR("W_O", data, 3, 5));
    REFUSES("tensor \"b_V\": shape [3], expected [2] (outputs of its matrix)",
            CLI_TENSOR("b_V", data, 3));
    struct headwise_file_tensor integer = CLI_TENSOR("W_K", data, 4, 2);
    integer.dtype = HEADWISE_FILE_I32;
    REFUSES("tensor \"W_K\": is I32, expected F32, F16, BF16 or F64", integer);
    write_layer(NULL, NULL);
    cli_refuses("in: has no tensor \"p.W_Q\"", LAYER, "--heads", "2", "--prefix", "p.");
    cli_refuses("in: has no tensor \"m\"", LAYER, "--heads", "2", "--kv-heads", "1", "--memory",
                "m");
    cli_refuses("tensor \"W_K\": shape [4,2], expected [2,4]", LAYER, "--heads", "2", "--kv-heads",
                "1", "--layout", "out_in");
}

static void options(enum headwise_isa isa) {
    (void)isa;
    write_layer("tokens=a b", NULL);
    cli_refuses("in: option --heads is missing, and there is no metadata num_heads", LAYER);
    cli_refuses("option --heads is 0, expected 1 to", LAYER, "--heads", "0");
    cli_refuses("in: 2 heads and 4 kv heads, expected a multiple", LAYER, "--heads", "2",
                "--kv-heads", "4");
    cli_refuses("tensor \"W_Q\": shape [4,4], expected [4,6]", LAYER, "--heads", "2", "--kv-heads",
                "1", "--head-dim", "3");
    cli_refuses("metadata tokens has 2 tokens, expected 3", LAYER, "--heads", "2", "--kv-heads",
                "1");
    cli_refuses("option --tokens has 4 tokens, expected 3", LAYER, "--heads", "2", "--kv-heads",
                "1", "--tokens", "a  b c d");
    write_layer("num_heads=2;num_kv_heads=1", NULL);
    cli_refuses("option --causal is \"yes\", expected none, top-left or bottom-right", LAYER,
                "--causal", "yes");
    cli_refuses("option --gate is \"1\", expected 2 finite numbers", LAYER, "--gate", "1");
    cli_refuses("option --gate is \"1,0,1\", expected 2", LAYER, "--gate", "1,0,1");
    cli_refuses("option --gate is \"1,x\", expected 2", LAYER, "--gate", "1,x");
    cli_refuses("option --gate is \"1,inf\", expected 2", LAYER, "--gate", "1,inf");
    cli_refuses("option --layout is \"io\", expected in_out or out_in", LAYER, "--layout", "io");
    cli_refuses("option --probe has \"heads\", expected a list of weights, mean_weights", LAYER,
                "--probe", "heads");
    cli_refuses("option --stage is 4, expected 0 to 3", LAYER, "--stage", "4");
    cli_refuses("option --repeat is given without --time", LAYER, "--repeat", "4");
    cli_refuses("option --memory-tokens is given without --memory", LAYER, "--memory-tokens", "a");
    cli_refuses("softcap", LAYER, "--softcap", "-1");
    write_layer("num_heads=two", NULL);
    cli_refuses("in: metadata num_heads is \"two\", expected a number of heads", LAYER);
}

/* Matrices may be read as another number of heads: the file's num_kv_heads does not apply. */
static void heads_go_before_metadata(enum headwise_isa isa) {
    (void)isa;
    const struct headwise_file_tensor tensors[] = {
        CLI_TENSOR("X", data, 3, 4), CLI_TENSOR("W_Q", data, 4, 4), CLI_TENSOR("W_K", data, 4, 4),
        CLI_TENSOR("W_V", data, 4, 4), CLI_TENSOR("W_O", data, 4, 5)};
    cli_write("in", tensors, 5, "num_heads=4;num_kv_heads=4");
    cli_accepts(LAYER, "--heads", "2");
    assert_non_null(strstr(cli.out, "layer of 2 heads of 2,"));
    unlink("out");
}

int main(void) {
    const struct test_case cases[] = {
        TEST_CASE(shapes),
        TEST_CASE(options),
        TEST_CASE(heads_go_before_metadata),
    };
    return cli_main_once(cases, TEST_COUNT(cases));
}
