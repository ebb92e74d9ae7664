#pragma once

#include "model/blocks/context.h"
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

/// Whether requests may change logits before a token is drawn.
enum class Edits : std::uint8_t { off, on };

/// Edits that one step has room for by each row that draws; ExtendShape says how many beside them.
inline constexpr std::int64_t kEditsPerLogitRow = 512;
/// Most probable tokens that a step with edits tells of.
inline constexpr std::int64_t kTopLogProbabilities = 20;

/// The serving program: extends each row by its new tokens, of which some give logits.
///
/// Inputs:  `token_ids` i32[tokens], `token_source` i32[tokens] (the slot whose drawn token to take
///          instead; idle -1), `positions` i32[tokens], `query_indptr` i32[rows + 1],
///          `kv_length` i32[rows], `page_table` i32[rows, pages_per_row],
///          `write_location` i64[tokens], `logit_index` i32[logit_rows] (which tokens give logits),
///          `target_ids` i32[logit_rows], what ir::Sample reads, [logit_rows] each:
///          `temperature` f32, `top_k` i32, `top_p` f32, `min_p` f32, `seed` u64, `draw_offset`
///          u64, and `draw_slot` i32[logit_rows] (where to keep the drawn token; idle -1)
/// States:  `cache.layers.<layer>.key` and `.value` of `kind` [pages, page_tokens, kv_heads,
///          head_dim]; `drawn_tokens` i32[slots]
/// Outputs: `log_probability` f32[logit_rows] of `target_ids`, `sampled_ids` i32[logit_rows],
///          `sampled_log_probability` f32[logit_rows]
///
/// With `edits` the program is `extend_edited`, and tokens are drawn from edited logits. All
/// log-probabilities remain those of the model's own distribution; that of a row without a drawn
/// token (`sampled_ids` -1) is then 0, and where a mask hides a NaN it is NaN.
///
/// Inputs:  besides, what ir::EditLogits reads, with e = free_edits + 512 logit_rows: `edit_indptr`
///          i32[logit_rows + 1], `edit_ids` i32[e], `edit_bias`, `edit_scale`, `edit_subtract`
///          f32[e], `token_mask` i32[logit_rows, ceil(vocabulary / 32)]; idle rows have no edits
///          and every bit
/// Outputs: besides, `top_ids` i32[logit_rows, 20], `top_log_probability` f32[logit_rows, 20]
ir::Program build_extend(const Model& model, ir::Kind kind, const ExtendShape& shape,
                         Edits edits = Edits::off);

/// The program of embeddings: extends rows as build_extend does, and gives the final hidden states,
/// normed, of the tokens that `logit_index` names. It draws nothing.
///
/// Inputs:  those of build_extend up to `logit_index`
/// States:  those of build_extend
/// Outputs: `embedding` f32[logit_rows, hidden]; 0 in idle rows
ir::Program build_embed(const Model& model, ir::Kind kind, const ExtendShape& shape);

/// Copies pages of every cache that the serving program has, as ir::CopyPages does.
///
/// Inputs:  `source_page` i32[lanes] (idle -1), `destination_page` i32[lanes] (idle 0)
/// States:  the caches of build_extend
ir::Program build_copy_pages(const Model& model, ir::Kind kind, std::int64_t page_tokens,
                             std::int64_t lanes);

/// The paths of the model's projections, each of which may have an adapter.
std::vector<std::string> projections(const Model& model);

/// The model with `lora` at each projection whose path `targets` accepts, in place of
/// `lora.modules`.
///
/// Errors: invalid if it accepts none, naming what there is; as apply_lora.
Model with_lora(Model model, Lora lora, const std::function<bool(std::string_view)>& targets);

}  // namespace parhelion::model
