/* What two heads look at, by one call. */
#include <headwise/headwise.h>
#include <stdio.h>

int main(void) {
    float x[3 * 4] = {1, 0, 0, 0, 0, 1, 0, 0, 1, 0, 0, 0}; /* token 2 repeats token 0 */
    float y[3 * 4], weights[2][3][3];                      /* of 2 heads, 3 queries, 3 keys */
    struct headwise_tensor q = headwise_tensor_brhc(x, HEADWISE_F32, 1, 3, 2, 2); /* = K = V */
    struct headwise_tensor out = headwise_tensor_brhc(y, HEADWISE_F32, 1, 3, 2, 2);
    struct headwise_probe probe = {.size = sizeof probe, .weights = &weights[0][0][0]};
    struct headwise_attention_call call = {sizeof call, &out, &q, &q, &q, .probe = &probe};
    headwise_context *context;
    if (headwise_context_create(&context, NULL) || headwise_attention(context, &call))
        return fprintf(stderr, "%s\n", headwise_last_error()), 1;
    for (int head = 0; head < 2; head++)
        printf("head %d: token 0 gives %.3f to token 2\n", head, (double)weights[head][0][2]);
    headwise_context_destroy(context);
}
