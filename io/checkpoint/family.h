/* The families: what their tensors are called, how they lie, and which numbers of config.json their
 * attention uses. Everything that differs between families is a row of a table; the code that reads
 * the rows is in the other files. */
#ifndef HEADWISE_IO_CHECKPOINT_FAMILY_H
#define HEADWISE_IO_CHECKPOINT_FAMILY_H

#include "headwise/common.h"

/* Where the d rows of a head of q, k and v are, n = H / Hkv:
 *   SEPARATE  q, k and v have a tensor each
 *   PLAIN     one tensor: H of q, then Hkv of k, then Hkv of v
 *   GROUPED   one tensor: for each kv head its n of q, one of k, one of v. With Hkv = H these are
 *             GPT-NeoX's triples, with Hkv = 1 "all of q, then one k, one v"
 *   PAIR      q has its own tensor; k and v share one: Hkv of k, then Hkv of v */
enum headwise_io_fusion {
    HEADWISE_IO_SEPARATE = 0,
    HEADWISE_IO_PLAIN,
    HEADWISE_IO_GROUPED,
    HEADWISE_IO_PAIR
};

/* Sets of matrices. Of a fused tensor all of q, k and v are in the set or none. */
enum {
    HEADWISE_IO_Q = 1,
    HEADWISE_IO_K = 2,
    HEADWISE_IO_V = 4,
    HEADWISE_IO_O = 8,
    HEADWISE_IO_QKV = 7,
    HEADWISE_IO_QKVO = 15
};

/* Which layers see a window only: none; all; all but every n-th; all but the first of every n;
 * those from number max_window_layers on, where use_sliding_window says so. layer_types overrides
 * the last three. */
enum headwise_io_windows {
    HEADWISE_IO_NO_WINDOWS = 0,
    HEADWISE_IO_ALL_LAYERS,
    HEADWISE_IO_ALTERNATING,
    HEADWISE_IO_BUT_FIRST,
    HEADWISE_IO_UPPER_LAYERS
};

/* Positions: none of the layer's concern; rotary; ALiBi; ALiBi where "alibi" is true, else rotary;
 * T5's relative bias. */
enum headwise_io_positions {
    HEADWISE_IO_NO_POSITIONS = 0,
    HEADWISE_IO_ROTARY,
    HEADWISE_IO_ALIBI,
    HEADWISE_IO_ROTARY_OR_ALIBI,
    HEADWISE_IO_RELATIVE
};

/* A stack of layers. Its tensors are called prefix + stem (the layer's number for {i}) + q, ... +
 * ".weight" or ".bias". Keys are those of config.json, alternatives separated by '|'. */
struct headwise_io_part {
    const char *name;
    const char *section; /* the object with this part's keys, where there is one; NULL: the root */
    const char *stem;
    enum headwise_io_fusion fusion;
    const char *q, *k, *v, *o; /* q is the fused tensor, k that of a PAIR */
    const char *relative;      /* after the prefix: T5's table, in block 0 of the stack; or NULL */
    int64_t
        n_heads; /* where config.json does not say, as a part of a larger one need not; 0: none */
    const char *layers_key, *heads_key; /* NULL: HEADWISE_IO_LAYERS_KEY, HEADWISE_IO_HEADS_KEY */
    bool cross;                         /* keys and values come from a memory */
    bool causal;
    const char *causal_key; /* causal where this is true; NULL */
};

#define HEADWISE_IO_LAYERS_KEY "num_hidden_layers|n_layer|n_layers|num_layers"
#define HEADWISE_IO_KV_HEADS_KEY "num_key_value_heads|num_kv_heads|n_head_kv"
#define HEADWISE_IO_HEADS_KEY "num_attention_heads|n_head|num_heads|n_heads"

/* Numbers hold where config.json has none; what is 0 or NULL the family does not have. */
struct headwise_io_family {
    const char *name;
    const char *model_types; /* values of model_type, separated by '|' */
    const char *prefixes;    /* what may come before the stem, separated by '|' */
    const char *marks;       /* tensors after the prefix, separated by '|', that all files of the
                              * family have and no family below it in the table has */
    const struct headwise_io_part *parts;
    size_t n_parts;
    const char *buffers; /* after the stem, separated by '|': tensors that carry no weights of the
                          * layer and are passed over */

    bool conv1d;          /* matrices are [in][out] */
    const char *twin;     /* the family with the same names whose matrices are [out][in] */
    bool grouped_heads;   /* num_key_value_heads may be less than the heads */
    bool multi_query_key; /* new_decoder_architecture and multi_query tell the kv heads: Falcon */

    unsigned biases;      /* matrices that have one */
    const char *bias_key; /* where this is true those of key_biases have one too */
    unsigned key_biases;
    bool key_default;
    unsigned maybe_biases; /* matrices that may have one */

    const char *q_norm, *k_norm; /* after the stem */
    const char *norm_key;        /* they are there where this is true; NULL: always */
    bool norm_is_layer;          /* layer norm with bias; else RMS */
    bool norm_adds_one;          /* multiplies by 1 + weight */
    const char *sinks;           /* after the stem: one logit per head */

    enum headwise_io_positions positions;
    double rope_base;
    double rope_local_base; /* of layers with a window, where it is another one */
    double rotary_factor;   /* share of the head that is turned */
    bool always_longrope;   /* every rope type but "default" is longrope */
    bool slopes_scaled;     /* ALiBi is added before the scale */

    enum headwise_io_windows windows;
    int64_t window;                /* keys in sight, the query's own included */
    int64_t window_pattern;        /* ALTERNATING, BUT_FIRST: one of n layers sees all */
    const char *window_key;        /* NULL: sliding_window */
    const char *rotary_layers_key; /* a list with 0 for each layer that has no rotary positions */
    int64_t rotary_pattern;        /* without the list: every n-th layer has none; 0: all have */

    bool unscaled;         /* scale = 1; else 1 / sqrt(head_dim) */
    double query_scalar;   /* query_pre_attn_scalar: scale = 1 / sqrt(query_scalar) */
    const char *scale_key; /* scale = this number, or 1 */
    bool capped;           /* attn_logit_softcapping is read */
    double softcap;
    const char *scaled_key;  /* scale = 1 where this is false */
    const char *inverse_key; /* where this is true the scale is divided by the layer's number + 1 */
    const char *both_ways_key; /* not causal where this is true */
    bool window_halved;        /* and the window then holds half of it to each side */
    const char *must_key;      /* must have this text where it is present */
    const char *must_value;
};

extern const struct headwise_io_family headwise_io_families[];
extern const size_t headwise_io_n_families;

/* NULL: none. */
const struct headwise_io_family *headwise_io_family_by_name(const char *name);
const struct headwise_io_family *headwise_io_family_by_type(const char *model_type);

/* Names, or model types, in one line for messages, cut to size. */
void headwise_io_family_list(char *text, size_t size, bool types);

/* Steps through a list separated by '|': returns the length of the element at *at and moves *next
 * beyond it; -1 at the end. *at is the beginning of the list, then *next. */
int headwise_io_list_next(const char **at, const char **next);

#endif
