/* Small networks that the tests write themselves: the same bytes on every machine. */
#ifndef TESTS_SMALL_NETWORK_H
#define TESTS_SMALL_NETWORK_H

#include <stddef.h>

enum small_network {
    SMALL_BERT,       /* norms behind, pooler, three labels of a text */
    SMALL_MODERNBERT, /* norms before, windows, gate; a label of the mean */
    SMALL_LLAMA,      /* causal, grouped heads, logits of every token */
    SMALL_VIT,        /* images */
    N_SMALL_NETWORKS
};

extern const char *const small_network_names[N_SMALL_NETWORKS];

/* Ids of the networks that read text. */
enum { SMALL_IDS = 61 };

/* Writes config.json and model.safetensors into a folder; those that are there are replaced. */
void small_network_write(const char *folder, enum small_network network);

/* A new folder of that network below /tmp, removed by small_network_remove(). */
const char *small_network_make(enum small_network network);
void small_network_remove(const char *folder);

/* Writes text into folder/config.json. */
void small_network_configure(const char *folder, const char *text);
const char *small_network_config(enum small_network network);

#endif
