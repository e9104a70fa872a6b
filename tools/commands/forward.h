/* The inputs of headwise forward, and its outputs in the form of the file. */
#ifndef HEADWISE_TOOLS_FORWARD_H
#define HEADWISE_TOOLS_FORWARD_H

#include "common/arena.h"
#include "common/outputs.h"
#include "headwise-model/transformer.h"

/* Sequences without what the file's attention_mask hides, or images. */
struct forward_batch {
    headwise_safetensors *file;
    int64_t n_sequences, n_columns; /* of the file's arrays [n_sequences][n_columns] */
    int64_t n_rows;
    int32_t *starts, *ids, *types;
    int64_t *places; /* [n_rows]: where a row is in the file's arrays */
    float *pixels;
    float *gates; /* [layers][heads], or one of each sequence; NULL: none */
    int64_t gate_stride;
};

/* Reads input_ids, attention_mask and token_type_ids, or pixel_values, behind the tag where there
 * is one ("TAG.input_ids"). Returns an exit code. */
int forward_read(struct forward_batch *batch, struct arena *arena, const char *path,
                 const char *tag, const struct headwise_transformer_info *info);

/* Reads "gates" [layers,heads] or [sequences,layers,heads] of a file. */
int forward_read_gates(struct forward_batch *batch, struct arena *arena, const char *path,
                       const struct headwise_transformer_info *info);

/* Adds an array [n_sequences][n_columns][width] of these rows, zeros where the mask hides, and a
 * map [n_sequences][heads][n_columns][n_columns] of maps of sequences one after another. */
int forward_add_rows(const struct forward_batch *batch, struct outputs *outputs, const char *name,
                     const float *rows, int64_t width);
int forward_add_maps(const struct forward_batch *batch, struct outputs *outputs, const char *name,
                     const float *maps, int64_t n_heads);

/* Where sequence s begins among the rows. */
int64_t forward_start(const struct forward_batch *batch, int64_t s);

#endif
