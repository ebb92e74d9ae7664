#pragma once

#include "model/model.h"

#include <cstdint>

namespace parhelion::model {

/// The training entry before differentiation.
struct TrainProgram {
  ir::Program program;
  ir::ValueId total_loss;  ///< what to differentiate
};

/// The forward program over packed documents. The model's adapters drop inputs only where
/// `dropout` is on. A `longest_document` > 0 promises that no document has more tokens.
///
/// Inputs:  `token_ids`, `positions`, `labels` i32[tokens], `document_indptr` i32[documents + 1],
///          `loss_weight` f32[tokens]
/// Outputs: `loss` f32[tokens], 0 where the label is -100; `total_loss` f32[], the sum of
///          loss * loss_weight
TrainProgram build_train(const Model& model, ir::Kind kind, Dropout dropout = Dropout::off,
                         std::int64_t longest_document = 0);

/// The serving program: extends each row by its new tokens, of which some give logits.
///
/// Inputs:  `token_ids`, `positions` i32[tokens], `query_indptr` i32[rows + 1],
///          `kv_length` i32[rows], `page_table` i32[rows, pages_per_row],
///          `write_location` i64[tokens], `logit_index` i32[logit_rows] (which tokens give logits),
///          `target_ids` i32[logit_rows], and what ir::Sample reads, [logit_rows] each:
///          `temperature` f32, `top_k` i32, `top_p` f32, `min_p` f32, `seed` u64, `draw_offset` u64
/// States:  `cache.layers.<layer>.key` and `.value` of `kind` [pages, page_tokens, kv_heads,
///          head_dim]
/// Outputs: `log_probability` f32[logit_rows] of `target_ids`, `sampled_ids` i32[logit_rows],
///          `sampled_log_probability` f32[logit_rows]
ir::Program build_extend(const Model& model, ir::Kind kind, std::int64_t page_tokens);

/// The paths of the model's projections, each of which may have an adapter.
std::vector<std::string> projections(const Model& model);

/// The model with `lora` at each projection whose path `targets` accepts, in place of
/// `lora.modules`.
///
/// Errors: invalid if it accepts none, naming what there is; as apply_lora.
Model with_lora(Model model, Lora lora, const std::function<bool(std::string_view)>& targets);

}  // namespace parhelion::model
