/* A layer of twelve heads: one of them is switched off, and the weights are kept in fewer bits.
 * README.md and docs/narrow.md quote it; a test compares them. */
#include <headwise/headwise.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { WIDTH = 768, ROWS = 16, MATRIX = WIDTH * WIDTH };

static float w_q[MATRIX], w_k[MATRIX], w_v[MATRIX], w_o[MATRIX], b_q[WIDTH];
static float in[ROWS * WIDTH], out[ROWS * WIDTH], narrow_out[ROWS * WIDTH];

static void check(enum headwise_status status) {
    if (status == HEADWISE_OK)
        return;
    fprintf(stderr, "%s\n", headwise_last_error());
    exit(1);
}

/* n numbers of [-scale, scale), in the place of a checkpoint's. */
static void draw(float *numbers, int n, float scale) {
    static uint32_t state = 1;
    for (int i = 0; i < n; i++) {
        state = state * 1664525u + 1013904223u;
        numbers[i] = (float)((int32_t)state >> 8) * 0x1p-23f * scale;
    }
}

/* The largest difference of both outputs, as a part of the largest number. */
static double difference(void) {
    double most = 0, size = 0;
    for (int i = 0; i < ROWS * WIDTH; i++) {
        double distance = fabs((double)out[i] - (double)narrow_out[i]);
        most = distance > most ? distance : most;
        size = fabs((double)out[i]) > size ? fabs((double)out[i]) : size;
    }
    return most / size;
}

static void print_size(const headwise_mha *layer, const char *rest) {
    printf("%-4s %.1f MiB of weights%s",
           headwise_dtype_name(headwise_mha_describe(layer)->packed_dtype),
           (double)headwise_mha_describe(layer)->weight_bytes / 0x1p20, rest);
}

int main(void) {
    const enum headwise_dtype types[3] = {HEADWISE_F16, HEADWISE_BF16, HEADWISE_I8};
    struct headwise_tensor x = headwise_tensor_brhc(in, HEADWISE_F32, 1, ROWS, 1, WIDTH);
    struct headwise_tensor y = headwise_tensor_brhc(out, HEADWISE_F32, 1, ROWS, 1, WIDTH);
    headwise_context *context;
    check(headwise_context_create(&context, NULL));
    draw(in, ROWS * WIDTH, 2);
    draw(w_q, MATRIX, 0.1f);
    draw(w_k, MATRIX, 0.1f);
    draw(w_v, MATRIX, 0.1f);
    draw(w_o, MATRIX, 0.1f);
    draw(b_q, WIDTH, 0.1f);

    struct headwise_mha_config config = {
        .size = sizeof config,
        .d_model = 768,
        .n_heads = 12,
        .w_q = w_q, /* [out][in], as PyTorch's Linear */
        .w_k = w_k,
        .w_v = w_v,
        .w_o = w_o,
        .b_q = b_q,
    };
    headwise_mha *layer; /* packs the weights once; shared by any number of threads */
    check(headwise_mha_create(&layer, context, &config));

    const float gates[12] = {1, 1, 1, 0, 1, 1, 1, 1, 1, 1, 1, 1}; /* the fourth head is off */
    struct headwise_attention_options causal = {sizeof causal, .causal = HEADWISE_CAUSAL_TOP_LEFT};
    struct headwise_attention_call call = {
        .size = sizeof call, .y = &y, .x = &x, .options = &causal, .head_gates = gates};
    check(headwise_mha_forward(context, layer, &call));

    print_size(layer, "\n");
    y.data = narrow_out;
    for (int i = 0; i < 3; i++) {
        headwise_mha *narrow;
        config.packed_dtype = types[i]; /* HEADWISE_F16, HEADWISE_BF16 or HEADWISE_I8 */
        check(headwise_mha_create(&narrow, context, &config));
        check(headwise_mha_forward(context, narrow, &call));
        print_size(narrow, ", ");
        printf("y differs by %.0e\n", difference());
        headwise_mha_destroy(narrow);
    }
    headwise_mha_destroy(layer);
    headwise_context_destroy(context);
}
