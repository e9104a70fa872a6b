/* headwise attention --check: passes what is right, fails what is wrong, and says so. */
#include "cli_support.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rng.h"

enum { HEADS = 2, QUERIES = 3, KEYS = 300, SIZE = 16 }; /* two key blocks */

/* A call with its expected tensors, computed in f64. */
struct example {
    float q[HEADS * QUERIES * SIZE], k[HEADS * KEYS * SIZE], v[HEADS * KEYS * SIZE];
    float y[HEADS * QUERIES * SIZE], weights[HEADS * QUERIES * KEYS];
};

static void compute_row(struct example *e, int h, int i) {
    static double p[KEYS];
    double sum = 0;
    for (int j = 0; j < KEYS; j++) {
        double s = 0;
        for (int t = 0; t < SIZE; t++)
            s += (double)e->q[(h * QUERIES + i) * SIZE + t] * e->k[(h * KEYS + j) * SIZE + t];
        p[j] = exp(s / 4);
        sum += p[j];
    }
    for (int t = 0; t < SIZE; t++) {
        double y = 0;
        for (int j = 0; j < KEYS; j++)
            y += p[j] * (double)e->v[(h * KEYS + j) * SIZE + t];
        e->y[(h * QUERIES + i) * SIZE + t] = (float)(y / sum);
    }
    for (int j = 0; j < KEYS; j++)
        e->weights[(h * QUERIES + i) * KEYS + j] = (float)(p[j] / sum);
}

static void make(struct example *e) {
    struct test_rng rng = test_rng_fixed(1);
    float *const arrays[] = {e->q, e->k, e->v};
    const size_t sizes[] = {TEST_COUNT(e->q), TEST_COUNT(e->k), TEST_COUNT(e->v)};
    for (int a = 0; a < 3; a++)
        test_rng_fill(&rng, arrays[a], sizes[a], 2);
    for (int h = 0; h < HEADS; h++)
        for (int i = 0; i < QUERIES; i++)
            compute_row(e, h, i);
}

/* Writes it; y NULL: its own. */
static void write_example(const struct example *e, const float *y, const float *present_value,
                          const char *metadata) {
    struct headwise_file_tensor tensors[] = {
        CLI_TENSOR("Q", e->q, 1, HEADS, QUERIES, SIZE),
        CLI_TENSOR("K", e->k, 1, HEADS, KEYS, SIZE),
        CLI_TENSOR("V", e->v, 1, HEADS, KEYS, SIZE),
        CLI_TENSOR("Y", y ? y : e->y, 1, HEADS, QUERIES, SIZE),
        CLI_TENSOR("qk_matmul_output", e->weights, 1, HEADS, QUERIES, KEYS),
        CLI_TENSOR("present_value", present_value, 1, HEADS, KEYS, SIZE),
    };
    char all[256];
    snprintf(all, sizeof all, "qk_matmul_output_mode=3;%s", metadata);
    cli_write("in", tensors, present_value ? 6 : 5, all);
}

/* The share of the bound that the line of a tensor states. */
static double stated_share(const char *name) {
    const char *line = strstr(cli.out, name);
    assert_non_null(line);
    const char *text = strstr(line, "nearest its bound ");
    assert_non_null(text);
    return strtod(text + strlen("nearest its bound "), NULL);
}

static void passes_what_is_right(enum headwise_isa isa) {
    static struct example e;
    make(&e);
    write_example(&e, NULL, e.v, "outputs=Y");
    cli_accepts("attention", "in", "--check", "--isa", headwise_isa_name(isa));
    assert_true(stated_share("Y  ") < 0.2);
    assert_true(stated_share("qk_matmul_output") < 0.5);
    assert_non_null(strstr(cli.out, "present_value     9600 elements, all equal\n"));
    assert_non_null(strstr(cli.out, "3 of 3 tensors within their bounds\n"));
}

static void fails_what_is_wrong(enum headwise_isa isa) {
    static struct example e;
    static float v[TEST_COUNT(e.v)], y[TEST_COUNT(e.y)];
    const char *tier = headwise_isa_name(isa);
    make(&e);
    /* one value off by 1e-4, where |v| is up to 2 */
    memcpy(y, e.y, sizeof y);
    y[5 * SIZE + 3] += 1e-4f;
    write_example(&e, y, NULL, "");
    cli_fails("in: tensor \"Y\": element [0,1,2,3] is ", "attention", "in", "--check", "--isa",
              tier);
    assert_non_null(strstr(cli.out, "1 of 2 tensors within their bounds\n"));
    /* rows that see fewer keys than they should: one, then 298 and 299 of 300 */
    write_example(&e, NULL, NULL, "");
    cli_fails("tensor \"Y\"", "attention", "in", "--check", "--isa", tier, "--is_causal", "1");
    write_example(&e, NULL, NULL, "right_window_size=297");
    cli_fails("; 1 more failed", "attention", "in", "--check", "--isa", tier);
    assert_true(stated_share("Y  ") > 100);
    assert_true(stated_share("qk_matmul_output") > 100);
    /* a copy must be exact */
    memcpy(v, e.v, sizeof v);
    v[7] = nextafterf(v[7], 9);
    write_example(&e, NULL, v, "");
    cli_fails("in: tensor \"present_value\": element [0,0,0,7]", "attention", "in", "--check",
              "--isa", tier);
    assert_non_null(strstr(cli.out, "2 of 3 tensors within their bounds\n"));
    /* unless the file states that its own values are that far off */
    write_example(&e, NULL, v, "max_abs_err_f64_reference=Y=0 present_value=2.4e-07");
    cli_accepts("attention", "in", "--check", "--isa", tier);
}

/* NaN is NaN, an infinity the same one, zeros are exact. */
static void not_numbers(enum headwise_isa isa) {
    const char *tier = headwise_isa_name(isa);
    static const float zero[2] = {0, 0}, k[2] = {1, 1}, v[2] = {1, NAN};
    const float mask[4] = {0, -INFINITY, -INFINITY, -INFINITY};
    const struct {
        float y[2], qk[4];
        bool causal;
        int code;
    } cases[] = {
        {{1, 0}, {0, -INFINITY, -INFINITY, -INFINITY}, true, 0},
        {{1, 1e-30f}, {0, -INFINITY, -INFINITY, -INFINITY}, true, 1},
        {{1, 0}, {0, INFINITY, -INFINITY, -INFINITY}, true, 1},
        {{1, 0}, {0, -3e38f, -INFINITY, -INFINITY}, true, 1},
        {{1, NAN}, {0, -INFINITY, -INFINITY, -INFINITY}, true, 1},
        {{NAN, NAN}, {0, 0, 0, 0}, false, 0},
        {{1, NAN}, {0, 0, 0, 0}, false, 1},
    };
    for (size_t i = 0; i < TEST_COUNT(cases); i++) {
        struct headwise_file_tensor tensors[] = {
            CLI_TENSOR("Q", zero, 1, 1, 2, 1),
            CLI_TENSOR("K", k, 1, 1, 2, 1),
            CLI_TENSOR("V", v, 1, 1, 2, 1),
            CLI_TENSOR("Y", cases[i].y, 1, 1, 2, 1),
            CLI_TENSOR("qk_matmul_output", cases[i].qk, 1, 1, 2, 2),
            CLI_TENSOR("attn_mask", mask, 2, 2),
        };
        cli_write("in", tensors, cases[i].causal ? 6 : 5,
                  "qk_matmul_output_mode=2;outputs=qk_matmul_output");
        cli_run("attention", "in", "--check", "--isa", tier, NULL);
        if (cli.code != cases[i].code)
            fail_msg("case %zu: exit code %d, expected %d\n%s%s", i, cli.code, cases[i].code,
                     cli.out, cli.err);
    }
}

/* f16: the result is rounded, and so are the expected values. */
static void half_precision(enum headwise_isa isa) {
    static const uint16_t q[1] = {0x3c00}, k[3] = {0x3c00, 0x3800, 0x0000};
    const float values[3] = {1, 0.5f, 0};
    double y = 0, sum = 0;
    for (int j = 0; j < 3; j++) {
        y += exp((double)values[j]) * (double)values[j];
        sum += exp((double)values[j]);
    }
    const float exact = (float)(y / sum);
    uint16_t expected;
    headwise_f16_from_f32(&expected, &exact, 1);
    for (int steps = 0; steps < 4; steps++) {
        uint16_t shifted = (uint16_t)(expected + steps);
        struct headwise_file_tensor tensors[] = {
            CLI_TENSOR("Q", q, 1, 1, 1, 1),
            CLI_TENSOR("K", k, 1, 1, 3, 1),
            CLI_TENSOR("V", k, 1, 1, 3, 1),
            CLI_TENSOR("Y", &shifted, 1, 1, 1, 1),
        };
        for (int i = 0; i < 4; i++)
            tensors[i].dtype = HEADWISE_FILE_F16;
        cli_write("in", tensors, 4, NULL);
        cli_run("attention", "in", "--check", "--isa", headwise_isa_name(isa), NULL);
        assert_int_equal(cli.code, steps > 1); /* half a step each */
    }
}

static void refuses_what_cannot_be_compared(enum headwise_isa isa) {
    (void)isa;
    static struct example e;
    make(&e);
    struct headwise_file_tensor tensors[] = {
        CLI_TENSOR("Q", e.q, 1, HEADS, QUERIES, SIZE), CLI_TENSOR("K", e.k, 1, HEADS, KEYS, SIZE),
        CLI_TENSOR("V", e.v, 1, HEADS, KEYS, SIZE), CLI_TENSOR("Y", e.y, 1, QUERIES, HEADS, SIZE)};
    cli_write("in", tensors, 4, NULL);
    cli_refuses("in: tensor \"Y\": shape [1,3,2,16], expected [1,2,3,16] for these inputs",
                "attention", "in", "--check", "-o", "out");
    cli_write("in", tensors, 3, NULL);
    cli_refuses("in: has no tensor \"Y\", \"present_key\"", "attention", "in", "--check");
    write_example(&e, NULL, NULL, "max_abs_err_f64_reference=Y=small");
    cli_refuses("max_abs_err_f64_reference: Y has no number", "attention", "in", "--check");
    write_example(&e, NULL, NULL, "max_abs_err_f64_reference=Y=nan");
    cli_refuses("max_abs_err_f64_reference: Y has no number", "attention", "in", "--check");
}

/* A failed check leaves the results to look at. */
static void writes_also_when_it_fails(enum headwise_isa isa) {
    (void)isa;
    static struct example e;
    make(&e);
    write_example(&e, NULL, NULL, "");
    cli_fails("in: tensor", "attention", "in", "--check", "-o", "out", "--scale", "1");
    cli_expect_shape("out", "Y", 4, (const int64_t[]){1, HEADS, QUERIES, SIZE});
    remove("out");
}

int main(void) {
    const struct test_case cases[] = {
        TEST_CASE(passes_what_is_right),
        TEST_CASE(fails_what_is_wrong),
        TEST_CASE(not_numbers),
        TEST_CASE(half_precision),
        TEST_CASE(refuses_what_cannot_be_compared),
        TEST_CASE(writes_also_when_it_fails),
    };
    return cli_main_tiers(cases, TEST_COUNT(cases));
}
