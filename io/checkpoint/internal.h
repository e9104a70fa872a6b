/* The inside of an open model, and the plan of one of its layers. */
#ifndef HEADWISE_IO_CHECKPOINT_INTERNAL_H
#define HEADWISE_IO_CHECKPOINT_INTERNAL_H

#include "checkpoint/config.h"
#include "checkpoint/family.h"
#include "checkpoint/files.h"
#include "headwise-io/checkpoint.h"

/* Rotary tables made so far; rotary.h. */
typedef struct headwise_io_tables headwise_io_tables;

struct headwise_checkpoint {
    struct headwise_io_files files;
    char *overrides, *metadata; /* JSON, or NULL */
    struct headwise_io_map config;
    char *config_path;
    struct headwise_io_config settings;
    bool has_config; /* config.json or overrides were given, so that its defaults hold */
    const struct headwise_io_family *family;
    struct headwise_checkpoint_options options; /* its pointers are not kept */
    headwise_io_tables *tables;
};

/* Longest tensor name that the tables can make, with its end. */
enum { HEADWISE_IO_NAME = 160 };

/* Which of a layer's heads are left; pruned.c. NULL in a layer that has lost none. */
struct headwise_io_heads {
    int64_t n_all, n_all_kv; /* before pruning */
    int64_t *numbers;        /* [n_heads], increasing */
    int64_t *kv_numbers;     /* [n_kv_heads]: those that one of them reads */
    int64_t *group_sizes;    /* [n_kv_heads] */
    int64_t *ends;           /* [n_kv_heads]: heads that read this kv head or one before it */
};

/* What a layer is, filled in from top to bottom. */
struct headwise_io_plan {
    headwise_checkpoint *checkpoint;
    const struct headwise_io_family *family;
    const struct headwise_io_part *part;
    int64_t index;
    struct headwise_io_config settings; /* of the part */

    /* names.c; tensor is NULL where there is none */
    char stem[HEADWISE_IO_NAME]; /* prefix and stem */
    char prefix[HEADWISE_IO_NAME];
    struct headwise_io_tensor w[4], b[4]; /* q, k, v, o; fused: the same tensor more than once */
    struct headwise_io_tensor q_norm, k_norm, q_norm_bias, k_norm_bias, sinks;

    /* sizes.c */
    int64_t n_heads, n_kv_heads, head_dim, d_model, d_memory, d_out;
    struct headwise_io_heads heads; /* those that n_heads counts */

    /* options.c */
    bool sliding; /* the layer has a window */
};

/* parts.c: part number index of those with tensors in the files; the one called name (NULL:
 * the first); NULL where there is none. Its settings. */
const struct headwise_io_part *headwise_io_part_at(const headwise_checkpoint *checkpoint,
                                                   size_t index);
const struct headwise_io_part *headwise_io_part_called(const headwise_checkpoint *checkpoint,
                                                       const char *name);
struct headwise_io_config headwise_io_part_settings(const headwise_checkpoint *checkpoint,
                                                    const struct headwise_io_part *part);

/* Changes a family for its twin where the shapes are the twin's. */
void headwise_io_settle_twin(headwise_checkpoint *checkpoint);

/* names.c: prefix + stem of a layer; whether any tensor of the files begins so. */
void headwise_io_stem(char stem[HEADWISE_IO_NAME], const char *prefix, int prefix_length,
                      const struct headwise_io_part *part, int64_t index);
bool headwise_io_has_stem(const headwise_checkpoint *checkpoint, const char *stem);

/* Sets stem, prefix and the tensors; fails where one is missing that must be there, or there is one
 * that the family does not know. */
enum headwise_status headwise_io_plan_names(struct headwise_io_plan *plan);

/* architecture.c: the family by architectures in config.json, where there is such a key; *family is
 * left where there is none. */
enum headwise_status headwise_io_family_by_architecture(const headwise_checkpoint *checkpoint,
                                                        const struct headwise_io_family **family);

/* The family by the names of the tensors; NULL: none fits. */
const struct headwise_io_family *headwise_io_family_by_names(const headwise_checkpoint *checkpoint);

/* sizes.c: sets the sizes from options, config.json and shapes, and checks every shape. */
enum headwise_status headwise_io_plan_sizes(struct headwise_io_plan *plan);

/* Fails with the tensor's name, the shape found and the shape expected. */
enum headwise_status headwise_io_expect_shape(const headwise_checkpoint *checkpoint,
                                              const struct headwise_io_tensor *tensor, int rank,
                                              const int64_t *shape, const char *why);

/* pruned.c: the value of pruned_heads, which is in *copy where it is a text of metadata: to be
 * freed, also after a failure. */
enum headwise_status headwise_io_pruned_lists(const struct headwise_io_plan *plan,
                                              struct headwise_json_slice *lists, char **copy);

/* pruned.c: the heads that pruned_heads in config.json or the metadata takes from the layer:
 * *n of them; *flags [n_all] is new and true for each, or NULL where there are none. */
enum headwise_status headwise_io_pruned_flags(const struct headwise_io_plan *plan, int64_t n_all,
                                              bool **flags, int64_t *n);

/* Sets n_heads, n_kv_heads and heads to what is left of n_all heads on n_all_kv kv heads. flags
 * NULL: all. At least one must be left. */
enum headwise_status headwise_io_plan_keep(struct headwise_io_plan *plan, int64_t n_all,
                                           int64_t n_all_kv, const bool *flags);
void headwise_io_heads_free(struct headwise_io_heads *heads);

/* The layer's key in pruned_heads: its number, after the part's name where that is not the
 * family's first: "3", "cross.0". */
void headwise_io_pruned_key(char key[48], const struct headwise_io_plan *plan);

/* layer.c: part, names and sizes of a layer. Free plan->heads, also after a failure. */
enum headwise_status headwise_io_plan_make(struct headwise_io_plan *plan,
                                           headwise_checkpoint *checkpoint, const char *part,
                                           int64_t index);

/* weights.c: the first row of head h's head_dim rows of matrix m (0 q, 1 k, 2 v) in its
 * tensor. */
int64_t headwise_io_first_row(const struct headwise_io_plan *plan, int m, int64_t h);

/* weights.c: contiguous [out][in] matrices and f32 biases of the layer, to be freed. */
struct headwise_io_weights {
    enum headwise_dtype dtype; /* of all four */
    void *w[4];
    float *b[4];
    float *q_norm, *k_norm, *q_norm_bias, *k_norm_bias;
};
enum headwise_status headwise_io_plan_weights(const struct headwise_io_plan *plan,
                                              struct headwise_io_weights *weights);
void headwise_io_weights_free(struct headwise_io_weights *weights);

#endif
