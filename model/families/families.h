/* The tables of families. */
#ifndef HEADWISE_MODEL_FAMILIES_H
#define HEADWISE_MODEL_FAMILIES_H

#include "families/description.h"

/* A file each: encoders that read text both ways; those with rotary positions; T5; decoders; images
 * and CLIP. */
struct headwise_families {
    const struct headwise_family *rows;
    size_t n;
};
extern const struct headwise_families headwise_families_bert;
extern const struct headwise_families headwise_families_rotary;
extern const struct headwise_families headwise_families_t5;
extern const struct headwise_families headwise_families_llama;
extern const struct headwise_families headwise_families_gpt;
extern const struct headwise_families headwise_families_image;

/* Number index of them all; NULL beyond the last. */
const struct headwise_family *headwise_family_at(size_t index);

/* Steps through a list separated by '|': the length of the element at *at, *next beyond it; -1 at
 * the end. *next is the list, or NULL, in the beginning. */
int headwise_list_next(const char **at, const char **next);

#endif
