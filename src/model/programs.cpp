#include "model/programs.h"

#include "base/error.h"
#include "model/mapping.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace parhelion::model {
namespace {

ir::ValueId logit_row_input(ir::Builder& builder, std::string_view name, ir::Kind kind) {
  return builder.input(name, {kind, {ir::Symbol::logit_rows}});
}

/// [logit_rows, hidden], of the tokens that `logit_index` names.
ir::ValueId selected_hidden(ir::Builder& builder, const Backbone& backbone) {
  const ir::ValueId index = logit_row_input(builder, "logit_index", ir::Kind::i32);
  return builder.one(ir::Embedding{}, {index, backbone.hidden});
}

/// f32[logit_rows, vocabulary], of the tokens that `logit_index` names.
ir::ValueId selected_logits(ir::Builder& builder, const Backbone& backbone) {
  return builder.one(ir::MatMul{.transpose_b = true},
                     {selected_hidden(builder, backbone), backbone.head_weight});
}

/// Ids and their log-probabilities.
std::vector<ir::ValueId> add_sample(ir::Builder& builder, ir::ValueId logits) {
  builder.set_label("sample");
  return builder.add(ir::Sample{}, {logits, logit_row_input(builder, "temperature", ir::Kind::f32),
                                    logit_row_input(builder, "top_k", ir::Kind::i32),
                                    logit_row_input(builder, "top_p", ir::Kind::f32),
                                    logit_row_input(builder, "min_p", ir::Kind::f32),
                                    logit_row_input(builder, "seed", ir::Kind::u64),
                                    logit_row_input(builder, "draw_offset", ir::Kind::u64)});
}

/// Draws from the logits as they are.
ir::ValueId add_sampling(ir::Builder& builder, ir::ValueId logits) {
  const std::vector<ir::ValueId> sampled = add_sample(builder, logits);
  builder.output("sampled_ids", sampled[0]);
  builder.output("sampled_log_probability", sampled[1]);
  return sampled[0];
}

/// f32[logit_rows, vocabulary], as requests want them.
ir::ValueId edited_logits(ir::Builder& builder, ir::ValueId logits, std::int64_t free_edits) {
  const std::int64_t words = ir::mask_words(ir::number(builder.type(logits).shape[1]));
  const ir::Shape edits = {{ir::Symbol::logit_rows, kEditsPerLogitRow, free_edits}};
  builder.set_label("edit_logits");
  return builder.one(
      ir::EditLogits{},
      {logits, builder.input("edit_indptr", {ir::Kind::i32, {{ir::Symbol::logit_rows, 1, 1}}}),
       builder.input("edit_ids", {ir::Kind::i32, edits}),
       builder.input("edit_bias", {ir::Kind::f32, edits}),
       builder.input("edit_scale", {ir::Kind::f32, edits}),
       builder.input("edit_subtract", {ir::Kind::f32, edits}),
       builder.input("token_mask", {ir::Kind::i32, {ir::Symbol::logit_rows, words}})});
}

/// Draws from edited logits; what it tells of them is of the logits as they were.
ir::ValueId add_edited_sampling(ir::Builder& builder, ir::ValueId logits, std::int64_t free_edits) {
  builder.set_label("top_log_probability");
  const std::vector<ir::ValueId> top =
      builder.add(ir::TopLogProbabilities{kTopLogProbabilities}, {logits});
  builder.output("top_ids", top[0]);
  builder.output("top_log_probability", top[1]);
  const ir::ValueId ids = add_sample(builder, edited_logits(builder, logits, free_edits))[0];
  builder.output("sampled_ids", ids);
  builder.output("sampled_log_probability", builder.one(ir::LogProbability{}, {logits, ids}));
  return ids;
}

/// Remembers what was drawn, for tokens of later runs.
void keep_tokens(ir::Builder& builder, ir::ValueId sampled, std::int64_t slots) {
  const ir::ValueId slot = logit_row_input(builder, "draw_slot", ir::Kind::i32);
  builder.set_label("keep_tokens");
  builder.one(ir::KeepTokens{}, {sampled, slot, drawn_tokens(builder, slots)});
}

}  // namespace

TrainProgram build_train(const Model& model, ir::Kind kind, Dropout dropout,
                         std::int64_t longest_document) {
  TrainProgram result;
  result.program.name = "train";
  ir::Builder builder(result.program);
  PackedContext context(builder, longest_document);
  const ir::ValueId labels = builder.input("labels", {ir::Kind::i32, {ir::Symbol::tokens}});
  const ir::ValueId weight = builder.input("loss_weight", {ir::Kind::f32, {ir::Symbol::tokens}});
  const Backbone backbone = model.build(builder, kind, context);

  builder.set_label("lm_head");
  const ir::ValueId loss =
      builder.add(ir::LinearCrossEntropy{}, {backbone.hidden, backbone.head_weight, labels})
          .front();
  builder.set_label("total_loss");
  const ir::ValueId weighted =
      builder.one(ir::Binary{ir::BinaryFunction::multiply}, {loss, weight});
  result.total_loss = builder.one(ir::Reduce{ir::ReduceFunction::sum}, {weighted});
  builder.output("loss", loss);
  builder.output("total_loss", result.total_loss);
  if (model.lora) apply_lora(result.program, *model.lora, dropout);
  return result;
}

ir::Program build_extend(const Model& model, ir::Kind kind, const ExtendShape& shape, Edits edits) {
  ir::Program program;
  program.name = edits == Edits::on ? "extend_edited" : "extend";
  ir::Builder builder(program);
  PagedContext context(builder, shape);
  const Backbone backbone = model.build(builder, kind, context);

  builder.set_label("lm_head");
  const ir::ValueId logits = selected_logits(builder, backbone);
  builder.set_label("log_probability");
  const ir::ValueId targets = logit_row_input(builder, "target_ids", ir::Kind::i32);
  builder.output("log_probability", builder.one(ir::LogProbability{}, {logits, targets}));
  const ir::ValueId sampled = edits == Edits::on
                                  ? add_edited_sampling(builder, logits, shape.free_edits)
                                  : add_sampling(builder, logits);
  keep_tokens(builder, sampled, shape.slots);
  if (model.lora) apply_lora(program, *model.lora, Dropout::off);
  return program;
}

ir::Program build_embed(const Model& model, ir::Kind kind, const ExtendShape& shape) {
  ir::Program program;
  program.name = "embed";
  ir::Builder builder(program);
  PagedContext context(builder, shape);
  const Backbone backbone = model.build(builder, kind, context);

  builder.set_label("embedding");
  const ir::ValueId hidden = selected_hidden(builder, backbone);
  builder.output("embedding", builder.one(ir::Cast{ir::Kind::f32}, {hidden}));
  if (model.lora) apply_lora(program, *model.lora, Dropout::off);
  return program;
}

ir::Program build_copy_pages(const Model& model, ir::Kind kind, std::int64_t page_tokens,
                             std::int64_t lanes) {
  const ir::Program extend = build_extend(model, kind, {.page_tokens = page_tokens});
  ir::Program program;
  program.name = "copy_pages";
  ir::Builder builder(program);
  const ir::ValueId source = builder.input("source_page", {ir::Kind::i32, {lanes}});
  const ir::ValueId destination = builder.input("destination_page", {ir::Kind::i32, {lanes}});
  for (const ir::OpNode& node : extend.ops) {
    if (!std::holds_alternative<ir::PageWrite>(node.op)) continue;
    const ir::Buffer& cache = extend.at(extend.at(node.outputs[0]).buffer);
    builder.set_layer(node.layer);
    builder.set_label(cache.name);
    builder.one(ir::CopyPages{}, {source, destination, builder.state(cache.name, cache.type)});
  }
  return program;
}

std::vector<std::string> projections(const Model& model) {
  return projections(build_train(base_of(model), ir::Kind::f32).program);
}

Model with_lora(Model model, Lora lora, const std::function<bool(std::string_view)>& targets) {
  const std::vector<std::string> all = projections(model);
  lora.modules.clear();
  std::ranges::copy_if(all, std::back_inserter(lora.modules), targets);
  ensure(!lora.modules.empty(), ErrorKind::invalid,
         "lora: the targets match none of the model's {} projections, such as '{}'", all.size(),
         all.empty() ? "" : all.front());
  model.lora = std::move(lora);
  build_train(model, ir::Kind::f32);  // refuses what cannot have an adapter
  return model;
}

}  // namespace parhelion::model
