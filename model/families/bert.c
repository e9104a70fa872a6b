/* Encoders with absolute positions: BERT, RoBERTa and XLM-R, ELECTRA, DistilBERT, MPNet. */
#include "families/families.h"
#include "families/settings.h"

#define HEADS(array) .heads = array, .n_heads = sizeof array / sizeof *array
#define NORM                                                                                       \
    { .norm = HEADWISE_NORM_LAYER, .eps = 1e-12, .has_bias = true }
#define LINEAR(name) .linear = name, .has_bias = true

/* A row is easier to read in lines than in columns. */
/* clang-format off */
#define BERT_BLOCK \
    { \
        .attention_sum = "attention.output.LayerNorm", .mlp_sum = "output.LayerNorm", \
        .up = "intermediate.dense", .down = "output.dense", .up_has_bias = true, \
        .down_has_bias = true, .activation = HEADWISE_ACTIVATION_GELU, \
    }

#define BERT_EMBEDDINGS                                                                            \
    .word = "embeddings.word_embeddings", .position = "embeddings.position_embeddings",            \
    .type = "embeddings.token_type_embeddings", .norm = "embeddings.LayerNorm", .pad_id = -1

#define POOLER                                                                                     \
    { LINEAR("pooler.dense"), .activation = HEADWISE_ACTIVATION_TANH }
#define POOLER_TENSORS "pooler.dense.weight|pooler.dense.bias"

static const struct headwise_head_form bert_heads[] = {
    {.mark = "/cls.predictions.transform.dense.weight",
     .steps = {{LINEAR("/cls.predictions.transform.dense"), .acts_as_block = true,
                .norm = "/cls.predictions.transform.LayerNorm"},
               {LINEAR("/cls.predictions.decoder"), .bias = "/cls.predictions.bias",
                .tied = "embeddings.word_embeddings"}},
     .n_steps = 2, .gives_logits = true,
     .passed_over = POOLER_TENSORS "|/cls.seq_relationship.weight|/cls.seq_relationship.bias|"
                    "/cls.predictions.decoder.bias"},
    {.mark = "/cls.seq_relationship.weight", .rows = HEADWISE_HEAD_FIRST,
     .steps = {POOLER, {LINEAR("/cls.seq_relationship")}}, .n_steps = 2, .pooled_step = 1,
     .gives_logits = true},
    {.mark = "/classifier.weight", .architecture = "TokenClassification",
     .steps = {{LINEAR("/classifier")}}, .n_steps = 1, .gives_logits = true,
     .passed_over = POOLER_TENSORS},
    {.mark = "/qa_outputs.weight", .steps = {{LINEAR("/qa_outputs")}}, .n_steps = 1,
     .gives_logits = true, .passed_over = POOLER_TENSORS},
    {.mark = "/classifier.weight", .rows = HEADWISE_HEAD_FIRST,
     .steps = {POOLER, {LINEAR("/classifier")}}, .n_steps = 2, .pooled_step = 1,
     .gives_logits = true},
    {.mark = "pooler.dense.weight", .rows = HEADWISE_HEAD_FIRST, .steps = {POOLER}, .n_steps = 1,
     .pooled_step = 1},
};

/* classifier.dense and classifier.out_proj, on the first token. */
#define CLASSIFICATION(act)                                                                        \
    {.mark = "/classifier.dense.weight", .rows = HEADWISE_HEAD_FIRST,                              \
     .steps = {{LINEAR("/classifier.dense"), .activation = act},                                   \
               {LINEAR("/classifier.out_proj")}},                                                  \
     .n_steps = 2, .gives_logits = true, .passed_over = POOLER_TENSORS}
#define TOKEN_CLASSIFICATION                                                                       \
    {.mark = "/classifier.weight", .steps = {{LINEAR("/classifier")}}, .n_steps = 1,               \
     .gives_logits = true, .passed_over = POOLER_TENSORS}
#define QUESTIONS                                                                                  \
    {.mark = "/qa_outputs.weight", .steps = {{LINEAR("/qa_outputs")}}, .n_steps = 1,               \
     .gives_logits = true, .passed_over = POOLER_TENSORS}
#define JUST_POOLER                                                                                \
    {.mark = "pooler.dense.weight", .rows = HEADWISE_HEAD_FIRST, .steps = {POOLER}, .n_steps = 1,  \
     .pooled_step = 1}
/* lm_head.dense, its norm, and the table of words turned round. */
#define MASKED_WORDS                                                                               \
    {.mark = "/lm_head.dense.weight",                                                              \
     .steps = {{LINEAR("/lm_head.dense"), .activation = HEADWISE_ACTIVATION_GELU,                  \
                .norm = "/lm_head.layer_norm"},                                                    \
               {LINEAR("/lm_head.decoder"), .bias = "/lm_head.bias",                               \
                .tied = "embeddings.word_embeddings"}},                                            \
     .n_steps = 2, .gives_logits = true, .passed_over = POOLER_TENSORS "|/lm_head.decoder.bias"}

static const struct headwise_head_form roberta_heads[] = {
    MASKED_WORDS, CLASSIFICATION(HEADWISE_ACTIVATION_TANH), TOKEN_CLASSIFICATION, QUESTIONS,
    JUST_POOLER};
static const struct headwise_head_form electra_heads[] = {
    {.mark = "/generator_predictions.dense.weight",
     .steps = {{LINEAR("/generator_predictions.dense"), .activation = HEADWISE_ACTIVATION_GELU,
                .norm = "/generator_predictions.LayerNorm"},
               {LINEAR("/generator_lm_head"), .tied = "embeddings.word_embeddings"}},
     .n_steps = 2, .gives_logits = true},
    {.mark = "/discriminator_predictions.dense.weight",
     .steps = {{LINEAR("/discriminator_predictions.dense"), .acts_as_block = true},
               {LINEAR("/discriminator_predictions.dense_prediction")}},
     .n_steps = 2, .gives_logits = true},
    CLASSIFICATION(HEADWISE_ACTIVATION_GELU), TOKEN_CLASSIFICATION, QUESTIONS};
static const struct headwise_head_form mpnet_heads[] = {
    MASKED_WORDS, CLASSIFICATION(HEADWISE_ACTIVATION_TANH), TOKEN_CLASSIFICATION, QUESTIONS,
    JUST_POOLER};
static const struct headwise_head_form distilbert_heads[] = {
    {.mark = "/vocab_transform.weight",
     .steps = {{LINEAR("/vocab_transform"), .acts_as_block = true,
                .norm = "/vocab_layer_norm"},
               {LINEAR("/vocab_projector"), .tied = "embeddings.word_embeddings"}},
     .n_steps = 2, .gives_logits = true},
    {.mark = "/pre_classifier.weight", .rows = HEADWISE_HEAD_FIRST,
     .steps = {{LINEAR("/pre_classifier"), .activation = HEADWISE_ACTIVATION_RELU},
               {LINEAR("/classifier")}},
     .n_steps = 2, .gives_logits = true},
    TOKEN_CLASSIFICATION, QUESTIONS};

static enum headwise_status settle_bert(struct headwise_description *d,
                                        const headwise_checkpoint *checkpoint) {
    return headwise_setting_must_be(d, checkpoint, "add_cross_attention", false);
}

/* Positions are counted from pad_token_id + 1, and tokens of that id are not. */
static enum headwise_status count_from_pad(struct headwise_description *d,
                                           const headwise_checkpoint *checkpoint) {
    d->embeddings.pad_id = 1;
    enum headwise_status status =
        headwise_setting_integer(d, checkpoint, "pad_token_id", 0, &d->embeddings.pad_id);
    d->embeddings.position_offset = d->embeddings.pad_id + 1;
    return status;
}

static enum headwise_status settle_roberta(struct headwise_description *d,
                                           const headwise_checkpoint *checkpoint) {
    enum headwise_status status = settle_bert(d, checkpoint);
    return status ? status : count_from_pad(d, checkpoint);
}

static const struct headwise_family rows[] = {
    {.name = "bert", .model_types = "bert", .prefixes = "bert.|", .stem = "encoder.layer.{i}.",
     .form = {.norm = NORM, .embeddings = {BERT_EMBEDDINGS}, .block = BERT_BLOCK},
     HEADS(bert_heads), .passed_over = "position_ids", .settle = settle_bert},
    {.name = "roberta", .model_types = "roberta|xlm-roberta|camembert",
     .prefixes = "roberta.|", .stem = "encoder.layer.{i}.",
     .form = {.norm = {HEADWISE_NORM_LAYER, 1e-12, false, true}, .embeddings = {BERT_EMBEDDINGS},
              .block = BERT_BLOCK},
     HEADS(roberta_heads), .passed_over = "position_ids", .settle = settle_roberta},
    {.name = "electra", .model_types = "electra", .prefixes = "electra.|",
     .stem = "encoder.layer.{i}.",
     .form = {.norm = NORM,
              .embeddings = {BERT_EMBEDDINGS, .project = "embeddings_project"},
              .block = BERT_BLOCK},
     HEADS(electra_heads), .passed_over = "position_ids", .settle = settle_bert},
    {.name = "mpnet", .model_types = "mpnet", .prefixes = "mpnet.|", .stem = "encoder.layer.{i}.",
     .form = {.norm = NORM,
              .embeddings = {.word = "embeddings.word_embeddings",
                             .position = "embeddings.position_embeddings",
                             .norm = "embeddings.LayerNorm"},
              .block = {.attention_sum = "attention.LayerNorm", .mlp_sum = "output.LayerNorm",
                        .up = "intermediate.dense", .down = "output.dense", .up_has_bias = true,
                        .down_has_bias = true, .activation = HEADWISE_ACTIVATION_GELU}},
     HEADS(mpnet_heads), .passed_over = "position_ids", .settle = count_from_pad},
    {.name = "distilbert", .model_types = "distilbert", .prefixes = "distilbert.|",
     .stem = "transformer.layer.{i}.",
     .form = {.norm = NORM,
              .embeddings = {.word = "embeddings.word_embeddings",
                             .position = "embeddings.position_embeddings",
                             .norm = "embeddings.LayerNorm", .pad_id = -1},
              .block = {.attention_sum = "sa_layer_norm", .mlp_sum = "output_layer_norm",
                        .up = "ffn.lin1", .down = "ffn.lin2", .up_has_bias = true,
                        .down_has_bias = true, .activation = HEADWISE_ACTIVATION_GELU}},
     HEADS(distilbert_heads), .passed_over = "position_ids"},
};
/* clang-format on */

const struct headwise_families headwise_families_bert = {rows, sizeof rows / sizeof *rows};
