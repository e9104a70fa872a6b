/* Texts to vectors, as a service does it: a folder is opened once, and called for each request. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "headwise-model/encoder.h"

/* Makes a vector of each text, at [text][d_vector]; NULL where it fails. */
static float *embed(headwise_context *context, const headwise_encoder *encoder, int n,
                    const char *const *texts) {
    struct headwise_text *list = calloc((size_t)n, sizeof *list);
    size_t width = (size_t)headwise_encoder_describe(encoder)->d_vector;
    float *vectors = calloc((size_t)n * width, sizeof *vectors);
    for (int i = 0; list && i < n; i++)
        list[i] = (struct headwise_text){texts[i], strlen(texts[i])};
    struct headwise_embed_call call = {
        .size = sizeof call, .n_texts = n, .texts = list, .vectors = vectors};
    if (!list || !vectors || headwise_embed(context, encoder, &call) != HEADWISE_OK) {
        free(vectors);
        vectors = NULL;
    }
    free(list);
    return vectors;
}

int main(int argc, char **argv) {
    headwise_context *context = NULL;
    headwise_encoder *encoder = NULL;
    if (argc < 3) {
        fprintf(stderr, "usage: embed FOLDER TEXT...\n");
        return 2;
    }
    if (headwise_context_create(&context, NULL) != HEADWISE_OK ||
        headwise_encoder_open(&encoder, context, argv[1], NULL) != HEADWISE_OK) {
        fprintf(stderr, "%s\n", context ? headwise_model_last_error() : headwise_last_error());
        return 1;
    }
    const char *const *texts = (const char *const *)argv + 2;
    float *vectors = embed(context, encoder, argc - 2, texts);
    for (int i = 0; vectors && i < argc - 2; i++)
        printf("%9.6f %9.6f ... %s\n",
               (double)vectors[i * headwise_encoder_describe(encoder)->d_vector],
               (double)vectors[i * headwise_encoder_describe(encoder)->d_vector + 1], texts[i]);
    if (!vectors)
        fprintf(stderr, "%s\n", headwise_model_last_error());
    free(vectors);
    headwise_encoder_destroy(encoder);
    headwise_context_destroy(context);
    return vectors ? 0 : 1;
}
