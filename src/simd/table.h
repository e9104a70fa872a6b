/* The kernels of the tier whose vec.h includes this: a kernel is written once, as TIER(its name),
 * in simd/, in x86/ or in the tier's folder. */
#ifndef HEADWISE_TABLE_H
#define HEADWISE_TABLE_H

#include "kernels/kernels.h"

headwise_scores_fn TIER(headwise_scores_f32), TIER(headwise_scores_f16), TIER(headwise_scores_bf16),
    TIER(headwise_scores_i8);
headwise_scores_fn TIER(headwise_scores_in_place);
headwise_values_fn TIER(headwise_values_f32), TIER(headwise_values_f16), TIER(headwise_values_bf16),
    TIER(headwise_values_i8);
headwise_project_fn TIER(headwise_project_f32), TIER(headwise_project_f16),
    TIER(headwise_project_bf16), TIER(headwise_project_i8);
headwise_pack_rows_fn TIER(headwise_pack_rows);
headwise_pack_transposed_fn TIER(headwise_pack_transposed);
headwise_pack_columns_fn TIER(headwise_pack_columns);
headwise_softmax_fn TIER(headwise_softmax);
headwise_merge_fn TIER(headwise_merge);
headwise_finish_fn TIER(headwise_finish);
headwise_factors_fn TIER(headwise_factors);
headwise_normalize_fn TIER(headwise_normalize);
headwise_row_stats_fn TIER(headwise_row_stats);
headwise_softcap_fn TIER(headwise_softcap);
headwise_alibi_fn TIER(headwise_alibi);
headwise_add_mask_fn TIER(headwise_add_mask);
headwise_hide_fn TIER(headwise_hide);
headwise_add_fn TIER(headwise_add);
headwise_rotate_fn TIER(headwise_rotate_half);
headwise_rotate_fn TIER(headwise_rotate_interleaved);
headwise_norm_fn TIER(headwise_norm_rms);
headwise_norm_fn TIER(headwise_norm_layer);
headwise_activate_fn TIER(headwise_activate_none), TIER(headwise_activate_relu),
    TIER(headwise_activate_gelu), TIER(headwise_activate_gelu_tanh),
    TIER(headwise_activate_gelu_quick), TIER(headwise_activate_silu), TIER(headwise_activate_tanh);
headwise_widen_fn TIER(headwise_widen_f32), TIER(headwise_widen_f16), TIER(headwise_widen_bf16),
    TIER(headwise_widen_i8);
headwise_narrow_fn TIER(headwise_narrow_f32), TIER(headwise_narrow_f16), TIER(headwise_narrow_bf16);
headwise_quantize_i8_fn TIER(headwise_quantize_i8);
headwise_measure_rows_fn TIER(headwise_measure_rows);
headwise_round_rows_fn TIER(headwise_round_rows);
headwise_widen_keys_i8_fn TIER(headwise_widen_keys_i8);
headwise_widen_values_i8_fn TIER(headwise_widen_values_i8);

#endif
