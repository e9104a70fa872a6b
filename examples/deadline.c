/* A call with a deadline: it stops between two tasks once the time is over. */
#define _POSIX_C_SOURCE 200809L
#include <headwise/headwise.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { ROWS = 1024, HEADS = 16, HEAD_DIM = 64, N = ROWS * HEADS * HEAD_DIM };

static float x[N], y[N];

static double now_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

/* headwise_cancelled_fn: asked before each task, by whichever thread runs it. */
static bool is_late(void *user) {
    const double *deadline_ms = user;
    return now_ms() > *deadline_ms;
}

int main(void) {
    double deadline_ms;
    struct headwise_context_options options = {
        .size = sizeof options, .cancelled = is_late, .cancel_user = &deadline_ms};
    struct headwise_tensor q = headwise_tensor_brhc(x, HEADWISE_F32, 1, ROWS, HEADS, HEAD_DIM);
    struct headwise_tensor out = headwise_tensor_brhc(y, HEADWISE_F32, 1, ROWS, HEADS, HEAD_DIM);
    const struct headwise_attention_call call = {
        .size = sizeof call, .y = &out, .q = &q, .k = &q, .v = &q};
    headwise_context *context;
    for (int i = 0; i < N; i++)
        x[i] = (float)(i % 7) / 8;
    if (headwise_context_create(&context, &options) != HEADWISE_OK) {
        fprintf(stderr, "%s\n", headwise_last_error());
        return 1;
    }
    const double allowed_ms[] = {1, 3600e3};
    for (int i = 0; i < 2; i++) {
        deadline_ms = now_ms() + allowed_ms[i];
        enum headwise_status status = headwise_attention(context, &call);
        if (status != HEADWISE_OK && status != HEADWISE_ERR_CANCELLED) {
            fprintf(stderr, "%s\n", headwise_last_error());
            return 1;
        }
        printf("%.0f ms allowed: %s\n", allowed_ms[i], headwise_status_name(status));
    }
    headwise_context_destroy(context);
}
