/* Attention layers out of model files: config.json and safetensors files as the Hugging Face hub
 * keeps them. A model is opened once; every layer of it becomes a headwise_mha with the attention
 * options that belong to it.
 *
 *     headwise_checkpoint_open(&model, "TinyLlama", NULL);
 *     headwise_checkpoint_layer_create(&layer, model, context, NULL, 0);
 *     call.options = headwise_checkpoint_layer_options(layer); // beside call.x and call.y
 *     headwise_mha_forward(context, headwise_checkpoint_layer_mha(layer), &call);
 *
 * Families: BERT, RoBERTa, ELECTRA, MPNet, ModernBERT, NomicBERT, DistilBERT, GPT-2, Llama,
 * Mistral, Qwen 2 and 3, Gemma 1 to 3, Granite, SmolLM3, StableLM, StarCoder 2, Phi-2 and 3, OPT,
 * GPT-NeoX, Falcon, Bloom, T5, Whisper, ViT, CLIP, gpt-oss, minGPT and PaddleOCR's SVTR.
 * docs/models.md lists names, layouts and what was tested.
 *
 * Only names, shapes and numbers of the file are trusted: a tensor that is missing, has another
 * shape than the rest of the layer asks for, or is not known in a layer of that family (a bias that
 * config.json denies, a scale of quantised weights) is an error that names the tensor, the shape
 * found and the shape expected. Nothing is skipped but buffers that carry no weights. */
#ifndef HEADWISE_IO_CHECKPOINT_H
#define HEADWISE_IO_CHECKPOINT_H

#include <headwise/headwise.h>

#include "safetensors.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Which components a rotary layer turns together. */
enum headwise_checkpoint_rotary {
    HEADWISE_CHECKPOINT_ROTARY_AUTO = 0,       /* as the file's "rope" metadata begins, else HALF */
    HEADWISE_CHECKPOINT_ROTARY_HALF = 1,       /* j and j + half: Hugging Face's files */
    HEADWISE_CHECKPOINT_ROTARY_INTERLEAVED = 2 /* 2j and 2j + 1: Meta's Llama, llama2.c, GGUF */
};

/* The type in which layers keep their matrices: packed_dtype and dynamic_int8 of struct
 * headwise_mha_config, which says what each of them means. */
enum headwise_checkpoint_weights {
    HEADWISE_CHECKPOINT_WEIGHTS_F32 = 0,
    HEADWISE_CHECKPOINT_WEIGHTS_STORED = 1, /* F16 or BF16 where all four are stored so, else F32 */
    HEADWISE_CHECKPOINT_WEIGHTS_F16 = 2,
    HEADWISE_CHECKPOINT_WEIGHTS_BF16 = 3,
    HEADWISE_CHECKPOINT_WEIGHTS_I8 = 4,
    HEADWISE_CHECKPOINT_WEIGHTS_DYNAMIC = 5,    /* I8, and dynamic_int8 set */
    HEADWISE_CHECKPOINT_WEIGHTS_DYNAMIC_128 = 6 /* likewise, and dynamic_group 128 */
};

/* What the caller knows better than the files. Zero in every field but size asks the files. */
struct headwise_checkpoint_options {
    size_t size; /* sizeof(struct headwise_checkpoint_options) */

    /* A name as headwise_checkpoint_family() returns it, instead of config.json's model_type; with
     * neither, the names of the tensors tell, where they can: a Mistral or Gemma 1 file without
     * config.json looks like a Llama. */
    const char *family;

    /* config.json of a model that is given as one file. NULL: the config.json in the file's folder,
     * where there is one. "": none, only the file's metadata. Ignored for a folder. */
    const char *config;

    /* JSON object whose keys come before those of config.json, as in "{\"rope_theta\": 500000}".
     * In the nested form of a model of several parts too: {"text_config": {...}}. Rope settings may
     * be given in the form before or since version 5 of the transformers library (rope_scaling,
     * rope_theta, rotary_emb_base, rotary_pct; rope_parameters), whichever the file has: each
     * source is brought to one form first. null as rope_scaling or rope_parameters: no scaling. */
    const char *overrides;

    /* Shapes alone do not tell how a width divides into heads. 0: from config.json, overrides or
     * the file's metadata; the last two from the shapes as well. Apply to every part. */
    int64_t n_heads;
    int64_t n_kv_heads;
    int64_t head_dim;

    /* Positions that rotary tables hold; 0: max_position_embeddings of config.json, at most 131072,
     * and 4096 where it has none. A table takes 4 bytes per position and rotated component, and
     * longrope chooses its factors by this number. */
    int64_t n_positions;

    enum headwise_checkpoint_rotary rotary;

    enum headwise_checkpoint_weights weights;

    /* Files are read into memory when the model is opened, in place of being mapped: a file that is
     * cut while the model is open cannot raise SIGBUS then. Costs the size of all files. */
    bool read_files;
};

typedef struct headwise_checkpoint headwise_checkpoint;

/* Opens the model at path and stores it in *model. path is a folder with config.json and
 * model.safetensors.index.json and its shards, or model.safetensors (where a folder has both, the
 * index counts); or one safetensors file; or an index file. Headers are checked and the family is
 * found: by model_type, else by the first of architectures that is known ("MistralForCausalLM"),
 * else by the names of tensors. Names may have "module.", "_orig_mod.", "base_model.model." and
 * "language_model." in front, as training scripts leave them; the functions below take names
 * without them. Weights are read when a layer is made.
 *
 * What nobody needs does not matter: values of config.json of any kind under keys that are not
 * asked for, tensors that cannot be used (headwise_safetensors_require() says which those are),
 * entries of an index that are in no file, in another one or in two, and shards that cannot be
 * opened, as long as one can. What is needed and cannot be used is an error of the function that
 * needs it, which names file, key or tensor, and value. Of a repeated key the last value counts.
 *
 * Limits: config.json 8,000,000 bytes, an index 200,000,000 bytes, 512 levels in both.
 *
 * HEADWISE_ERR_IO: a file cannot be opened, read or mapped. HEADWISE_ERR_FORMAT: a file is
 * malformed, has no model_type or architectures that is known, an index names something else than a
 * plain file name, no tensor belongs to a layer of the family. HEADWISE_ERR_INVALID: an argument is
 * NULL, an option is out of range, overrides is no JSON object, family is not known.
 * HEADWISE_ERR_NO_MEMORY. On failure *model is unchanged and headwise_io_last_error() says what was
 * found where and what was expected.
 *
 * A model is used by one thread at a time. */
HEADWISE_API enum headwise_status
headwise_checkpoint_open(headwise_checkpoint **model, const char *path,
                         const struct headwise_checkpoint_options *options);

/* Closes the files. Layers made from the model stay usable. NULL is allowed. */
HEADWISE_API void headwise_checkpoint_close(headwise_checkpoint *model);

/* The family: "bert", "distilbert", "gpt2", "mingpt", "llama", ... Static storage. model must not
 * be NULL, nor in the functions below that return no status. */
HEADWISE_API const char *headwise_checkpoint_family(const headwise_checkpoint *model);

/* Names of families, index 0, 1, ...; NULL beyond the last. */
HEADWISE_API const char *headwise_checkpoint_family_name(size_t index);

/* Parts are stacks of layers: "self" in a model with one stack, "encoder", "decoder" and "cross"
 * (the decoder's view of the encoder) in T5 and Whisper, "text" and "vision" in CLIP, "self" and
 * "cross" in a GPT-2 with cross attention. Only parts with a tensor in the files count. The name of
 * part number index; NULL beyond the last. There is at least one. */
HEADWISE_API const char *headwise_checkpoint_part_name(const headwise_checkpoint *model,
                                                       size_t index);

/* Number of layers of the part called part, or of the first part where part is NULL: as config.json
 * says, or as many as have tensors without a gap. 0 where the model has no such part. */
HEADWISE_API int64_t headwise_checkpoint_n_layers(const headwise_checkpoint *model,
                                                  const char *part);

typedef struct headwise_checkpoint_layer headwise_checkpoint_layer;

/* Reads layer number index (from 0) of the part called part (NULL: the first) and packs it for the
 * context's tier, as headwise_mha_create() does, in the type that options->weights asks for. Tables
 * of positions are shared between the layers of a model: they come from the allocator of the
 * context that the first of them was made with, which must stay usable until model and layers are
 * gone.
 *
 * HEADWISE_ERR_FORMAT: a tensor is missing, unknown, or does not have the shape expected, heads do
 * not divide it, a value of config.json is missing, out of range, or asks for arithmetic that is
 * not supported (the message says which key and value), a weight does not fit the type asked for.
 * HEADWISE_ERR_INVALID: an argument is NULL, no such part or layer. HEADWISE_ERR_NO_MEMORY. On
 * failure *layer is unchanged. */
HEADWISE_API enum headwise_status
headwise_checkpoint_layer_create(headwise_checkpoint_layer **layer, headwise_checkpoint *model,
                                 headwise_context *context, const char *part, int64_t index);

/* Reads a layer without packing it, for callers that change, prune or pack the matrices themselves:
 * the context is used for rotary tables only. F32, F16 and BF16 matrices keep their type where all
 * four have the same; others become f32. */
HEADWISE_API enum headwise_status headwise_checkpoint_layer_read(headwise_checkpoint_layer **layer,
                                                                 headwise_checkpoint *model,
                                                                 headwise_context *context,
                                                                 const char *part, int64_t index);

/* NULL is allowed. */
HEADWISE_API void headwise_checkpoint_layer_destroy(headwise_checkpoint_layer *layer);

/* The packed layer; NULL after headwise_checkpoint_layer_read(). Lives as long as the layer object.
 * layer must not be NULL, here and in the next three. */
HEADWISE_API const headwise_mha *
headwise_checkpoint_layer_mha(const headwise_checkpoint_layer *layer);

/* Sizes, norms and rotary table, and after headwise_checkpoint_layer_read() the matrices, as
 * [out][in], with their biases: what headwise_mha_create() takes. After
 * headwise_checkpoint_layer_create() the pointers to matrices, biases and norms are NULL. */
HEADWISE_API const struct headwise_mha_config *
headwise_checkpoint_layer_config(const headwise_checkpoint_layer *layer);

/* The options of the layer's calls: causal mask, window, scale, softcap, sinks, ALiBi slopes,
 * relative bias. Copy the struct to add masks, lengths, a probe. What it points to lives as long as
 * the layer and is never written to. */
HEADWISE_API const struct headwise_attention_options *
headwise_checkpoint_layer_options(const headwise_checkpoint_layer *layer);

/* Whether the layer reads keys and values from a memory, the encoder's output. */
HEADWISE_API bool headwise_checkpoint_layer_is_cross(const headwise_checkpoint_layer *layer);

/* Writes the model to a folder of its own without some heads of layer number index of the part
 * called part (NULL: the first): their rows of q, k, v and of a sink, and their inputs of o, are
 * left out, a kv head's where none of its heads stays; everything else, of all files, is copied bit
 * for bit into folder/model.safetensors. pruned_heads, in its metadata and in folder/config.json
 * (config.json with the overrides and sizes that the model was opened with; none where it had
 * neither), lists the heads that are missing by layer number, as BERT models of the transformers
 * library have it: {"2": [1, 3]}; in a part that is not the family's first {"cross.2": [1, 3]}.
 * headwise_checkpoint_open() reads that for every family; a layer it has pruned may be pruned
 * again. options as in headwise_mha_prune(), with the heads' numbers in the layer as it was
 * trained; at least one head must stay. With merge_into the sums are rounded to the type of o. The
 * folder is made where it does not exist, and must hold no model yet.
 *
 * HEADWISE_ERR_INVALID: an argument is NULL, no such part or layer, a number names no head of the
 * layer or comes twice, merge_into names a head that is not there or goes too, no head would stay.
 * Rope settings that were overridden, or that the file has in both forms, are written as one
 * rope_parameters. HEADWISE_ERR_FORMAT as in headwise_checkpoint_layer_create(), or the files have
 * something that cannot be copied: a tensor or metadata that cannot be used. HEADWISE_ERR_IO: the
 * folder holds a model or cannot be made, a file cannot be written. HEADWISE_ERR_NO_MEMORY (one
 * copy of the layer's tensors). On failure there is no model in the folder. */
HEADWISE_API enum headwise_status
headwise_checkpoint_write_pruned(headwise_checkpoint *model, const char *folder, const char *part,
                                 int64_t index, const struct headwise_prune_options *options);

/* The path of the file, or of the index, that the model was opened from: for messages. */
HEADWISE_API const char *headwise_checkpoint_path(const headwise_checkpoint *model);

/* Gives back the memory of the files as far as they were read; they stay open, and are read again
 * when they are needed. Of no effect with read_files. NULL is allowed. */
HEADWISE_API void headwise_checkpoint_release(headwise_checkpoint *model);

/* Names of all tensors, index 0, 1, ... in no order that means anything; NULL beyond the last. Also
 * of those that cannot be used. They are what headwise_checkpoint_tensor() takes. */
HEADWISE_API const char *headwise_checkpoint_tensor_name(const headwise_checkpoint *model,
                                                         size_t index);

/* Names of the tensors that the layer was made from, index 0, 1, ...; NULL beyond the last. A fused
 * tensor comes once. Valid until the model is closed. */
HEADWISE_API const char *
headwise_checkpoint_layer_tensor_name(const headwise_checkpoint_layer *layer, size_t index);

/* The tensor called name in any of the files, NULL where there is none. Valid until the model is
 * closed. */
HEADWISE_API const struct headwise_file_tensor *
headwise_checkpoint_tensor(const headwise_checkpoint *model, const char *name);

/* Reads the tensor called name into dst as f32, as headwise_safetensors_read_f32() does, where it
 * has exactly this shape. HEADWISE_ERR_FORMAT: there is none, or it has another shape; dst is then
 * untouched. HEADWISE_ERR_INVALID: an argument is NULL. */
HEADWISE_API enum headwise_status headwise_checkpoint_read_f32(float *dst,
                                                               const headwise_checkpoint *model,
                                                               const char *name, int rank,
                                                               const int64_t *shape);

/* The number that config.json (or overrides, or the metadata of a single file) has under key, the
 * first present of several keys separated by '|'. HEADWISE_ERR_FORMAT, *value unchanged: the key is
 * missing or null, or its value is no number (for _integer: no integer). */
HEADWISE_API enum headwise_status headwise_checkpoint_number(const headwise_checkpoint *model,
                                                             const char *key, double *value);
HEADWISE_API enum headwise_status headwise_checkpoint_integer(const headwise_checkpoint *model,
                                                              const char *key, int64_t *value);

/* The JSON text of the value that config.json (or overrides, or the metadata of a single file) has
 * under key, the first present of several separated by '|', for the part called part (NULL: the
 * first); *size bytes without a NUL. NULL where there is none. Valid until the model is closed. */
HEADWISE_API const char *headwise_checkpoint_value(const headwise_checkpoint *model,
                                                   const char *part, const char *key, size_t *size);

#ifdef __cplusplus
}
#endif
#endif
