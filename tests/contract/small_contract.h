#pragma once

#include "contract/contract.h"
#include "ir/builder.h"

#include <string>
#include <utility>
#include <vector>

namespace parhelion::contract {

inline constexpr std::int64_t kSmallVocabulary = 11;
inline constexpr std::int64_t kSmallWidth = 8;  // two query heads of 4, one key head
inline constexpr std::int64_t kSmallPageTokens = 16;

/// Appends one decoder layer of 2 query heads to a program.
class SmallLayer {
 public:
  SmallLayer(ir::Builder& builder, std::int64_t layer) : builder_(builder), layer_(layer) {
    builder.set_layer(static_cast<std::int32_t>(layer));
    builder.set_label("layers." + std::to_string(layer));
  }

  ir::ValueId attend(ir::ValueId x) {
    const ir::ValueId positions =
        builder_.input("positions", {ir::Kind::i32, {ir::Symbol::tokens}});
    const ir::ValueId table = builder_.constant("rope", ir::RopeTable{.positions = 32, .dim = 4});
    const ir::ValueId query = builder_.one(ir::Rope{}, {heads(x, "q", 2), positions, table});
    const ir::ValueId key = builder_.one(ir::Rope{}, {heads(x, "k", 1), positions, table});
    const ir::ValueId keys = write(key, "key");
    const ir::ValueId values = write(heads(x, "v", 1), "value");
    const ir::ValueId page_table = builder_.input(
        "page_table", {ir::Kind::i32, {ir::Symbol::rows, ir::Symbol::pages_per_row}});
    const ir::ValueId indptr =
        builder_.input("query_indptr", {ir::Kind::i32, {ir::Dim(ir::Symbol::rows, 1, 1)}});
    const ir::ValueId length = builder_.input("kv_length", {ir::Kind::i32, {ir::Symbol::rows}});
    const ir::ValueId mixed = builder_.one(ir::PagedAttention{.scale = 0.5},
                                           {query, keys, values, page_table, indptr, length});
    const ir::ValueId flat = builder_.one(ir::Reshape{{ir::Symbol::tokens, kSmallWidth}}, {mixed});
    return builder_.one(ir::Binary{}, {x, project(flat, "o", kSmallWidth)});
  }

  ir::ValueId feed(ir::ValueId x) {
    const ir::ValueId scale = builder_.parameter(path("norm"), {ir::Kind::f32, {kSmallWidth}});
    const ir::ValueId y = builder_.one(ir::RmsNorm{}, {x, scale});
    const ir::ValueId hidden =
        builder_.one(ir::Swiglu{}, {project(y, "gate", 12), project(y, "up", 12)});
    return builder_.one(ir::Binary{}, {x, project(hidden, "down", kSmallWidth)});
  }

 private:
  std::string path(const std::string& name) const {
    return "layers." + std::to_string(layer_) + "." + name;
  }

  ir::ValueId project(ir::ValueId x, const std::string& name, std::int64_t width) {
    const ir::Dim from = builder_.type(x).shape[1];
    return builder_.one(ir::MatMul{.transpose_b = true},
                        {x, builder_.parameter(path(name), {ir::Kind::f32, {width, from}})});
  }

  ir::ValueId heads(ir::ValueId x, const std::string& name, std::int64_t count) {
    return builder_.one(ir::Reshape{{ir::Symbol::tokens, count, 4}}, {project(x, name, count * 4)});
  }

  ir::ValueId write(ir::ValueId x, const std::string& what) {
    const ir::ValueId location =
        builder_.input("write_location", {ir::Kind::i64, {ir::Symbol::tokens}});
    const ir::ValueId pages = builder_.state(
        path("cache." + what), {ir::Kind::f32, {ir::Symbol::pages, kSmallPageTokens, 1, 4}});
    return builder_.one(ir::PageWrite{}, {x, location, pages});
  }

  ir::Builder& builder_;
  std::int64_t layer_;
};

inline ir::ValueId small_query(ir::Builder& builder, const char* name, ir::Kind kind) {
  return builder.input(name, {kind, {ir::Symbol::logit_rows}});
}

/// The draw of a program: of the logits as they are, or edited.
enum class SmallEdits : std::uint8_t { off, on };

inline ir::ValueId edit_small(ir::Builder& builder, ir::ValueId logits) {
  const std::vector<ir::ValueId> top = builder.add(ir::TopLogProbabilities{kTopTokens}, {logits});
  builder.output("top_ids", top[0]);
  builder.output("top_log_probability", top[1]);
  const ir::Shape edits = {ir::Dim(ir::Symbol::logit_rows, 4, 8)};
  return builder.one(
      ir::EditLogits{},
      {logits,
       builder.input("edit_indptr", {ir::Kind::i32, {ir::Dim(ir::Symbol::logit_rows, 1, 1)}}),
       builder.input("edit_ids", {ir::Kind::i32, edits}),
       builder.input("edit_bias", {ir::Kind::f32, edits}),
       builder.input("edit_scale", {ir::Kind::f32, edits}),
       builder.input("edit_subtract", {ir::Kind::f32, edits}),
       builder.input("token_mask", {ir::Kind::i32, {ir::Symbol::logit_rows, 1}})});
}

/// Copies pages of the caches of small_extend.
inline ir::Program small_copy_pages() {
  ir::Program program;
  program.name = "copy_pages";
  ir::Builder builder(program);
  const ir::ValueId from = builder.input("source_page", {ir::Kind::i32, {2}});
  const ir::ValueId to = builder.input("destination_page", {ir::Kind::i32, {2}});
  for (const char* cache :
       {"layers.0.cache.key", "layers.0.cache.value", "layers.1.cache.key", "layers.1.cache.value"})
    builder.one(
        ir::CopyPages{},
        {from, to,
         builder.state(cache, {ir::Kind::f32, {ir::Symbol::pages, kSmallPageTokens, 1, 4}})});
  return program;
}

/// Appends a decoder of two layers, up to the hidden states that `logit_index` names.
inline ir::ValueId small_hidden(ir::Builder& builder, ir::ValueId table) {
  const ir::TensorType tokens(ir::Kind::i32, {ir::Symbol::tokens});
  const ir::TensorType slots(ir::Kind::i32, {4});
  const ir::ValueId fed = builder.one(
      ir::FeedTokens{}, {builder.input("token_ids", tokens), builder.input("token_source", tokens),
                         builder.state("drawn_tokens", slots)});
  ir::ValueId x = builder.one(ir::Embedding{}, {fed, table});
  for (std::int64_t i = 0; i < 2; ++i) {
    SmallLayer layer(builder, i);
    x = layer.feed(layer.attend(x));
  }
  builder.set_label("head");
  return builder.one(ir::Embedding{}, {small_query(builder, "logit_index", ir::Kind::i32), x});
}

inline ir::ValueId small_table(ir::Builder& builder) {
  return builder.parameter("table", {ir::Kind::f32, {kSmallVocabulary, kSmallWidth}});
}

/// The same decoder with every input and the output of an embed entry.
inline ir::Program small_embed() {
  ir::Program program;
  program.name = "embed";
  ir::Builder builder(program);
  builder.output("embedding", small_hidden(builder, small_table(builder)));
  return program;
}

/// A decoder of two layers with every input and output of an extend entry.
inline ir::Program small_extend(SmallEdits edits = SmallEdits::off) {
  ir::Program program;
  program.name = "extend";
  ir::Builder builder(program);
  const ir::ValueId table = small_table(builder);
  const ir::TensorType slots(ir::Kind::i32, {4});
  const ir::ValueId chosen = small_hidden(builder, table);
  ir::ValueId logits = builder.one(ir::MatMul{.transpose_b = true}, {chosen, table});
  builder.output("log_probability",
                 builder.one(ir::LogProbability{},
                             {logits, small_query(builder, "target_ids", ir::Kind::i32)}));
  if (edits == SmallEdits::on) logits = edit_small(builder, logits);
  const std::vector<ir::ValueId> sampled = builder.add(
      ir::Sample{},
      {logits, small_query(builder, "temperature", ir::Kind::f32),
       small_query(builder, "top_k", ir::Kind::i32), small_query(builder, "top_p", ir::Kind::f32),
       small_query(builder, "min_p", ir::Kind::f32), small_query(builder, "seed", ir::Kind::u64),
       small_query(builder, "draw_offset", ir::Kind::u64)});
  builder.output("sampled_ids", sampled[0]);
  builder.output("sampled_log_probability", sampled[1]);
  builder.one(ir::KeepTokens{}, {sampled[0], small_query(builder, "draw_slot", ir::Kind::i32),
                                 builder.state("drawn_tokens", slots)});
  return program;
}

inline ir::Capacities small_capacities(std::int64_t tokens, std::int64_t rows) {
  ir::Capacities capacities;
  capacities[ir::Symbol::tokens] = tokens;
  capacities[ir::Symbol::rows] = rows;
  capacities[ir::Symbol::logit_rows] = rows;
  return capacities;
}

/// The least that a server can run.
inline Contract small_contract() {
  const SamplingValue off{.standard = 0, .lowest = 0, .highest = 1};
  return {.model = "small",
          .extend = small_extend(),
          .catalogue = {small_capacities(1, 1), small_capacities(8, 2)},
          .vocabulary = kSmallVocabulary,
          .cache = {.page_tokens = kSmallPageTokens, .context_tokens = 32},
          .sampling = {.temperature = off, .top_k = off, .top_p = off, .min_p = off},
          .stop_ids = {}};
}

/// A contract in which no field is empty, kernels included.
inline Contract full_contract() {
  Contract contract = small_contract();
  contract.cache.groups = {{.buffers = {"layers.0.cache.key", "layers.0.cache.value"}},
                           {.scheme = CacheScheme::sliding_window,
                            .window_tokens = 8,
                            .buffers = {"layers.1.cache.key", "layers.1.cache.value"}}};
  contract.sampling.temperature = {.standard = 0.7, .lowest = 0, .highest = 2};
  contract.sampling.repetition_penalty = {.standard = 1.1, .lowest = 0.5, .highest = 2};
  contract.sampling.max_tokens = 20;
  contract.sampling.stop_strings = {"\n\n", "END"};
  contract.stop_ids = {2, 5};
  contract.provenance = {.source = "made for tests",
                         .revision = "1",
                         .files = {{.name = "model.safetensors", .digest = "sha256:00"}},
                         .recipe = "decoder",
                         .tool = "parhelion 0",
                         .libraries = {"none 1.0"},
                         .host = "any",
                         .created_unix = 1};
  contract.target = {.device = DeviceKind::cuda,
                     .numerics = Numerics::invariant,
                     .architecture = "sm_90a",
                     .memory_bytes = 1 << 20};
  contract.limits = {.rows = 2,
                     .step_tokens = 8,
                     .prompt_tokens = 31,
                     .output_tokens = 16,
                     .request_sequences = 4,
                     .queued_requests = 100};
  contract.frontend = {.tokenizer_format = "tokenizer.json",
                       .tokenizer = "{\"version\": \"1.0\"}",
                       .chat_template = "{{ messages }}",
                       .assets = {{.name = "config.json", .bytes = "{}"}},
                       .reasoning_format = "markers",
                       .tool_format = "json",
                       .bos_id = 1,
                       .pad_id = 0,
                       .unknown_id = 3,
                       .special_ids = {0, 1, 2},
                       .add_bos = true};
  contract.edited = small_extend(SmallEdits::on);
  contract.edited_catalogue = {small_capacities(2, 1)};
  contract.copy_pages = small_copy_pages();
  contract.embed = small_embed();
  contract.embed_catalogue = {small_capacities(8, 2)};
  contract.embedding = {.normalises = false, .dimensions = {2, 4}};
  plan_instances(contract);
  for (InstancePlan& plan : contract.plans)
    for (std::size_t i = 0; i < contract.extend.ops.size(); ++i)
      plan.kernels.push_back({.kernel = i % 2 == 0 ? "plain" : "packed",
                              .numerics = "f32",
                              .parameters = std::string("\0\xff", 2)});
  contract.precision = {{.weight = "table",
                         .sources = {"model.embed_tokens.weight"},
                         .from = "bf16",
                         .to = "f32",
                         .transform = "widen",
                         .changes_values = false,
                         .largest_error = 0.5,
                         .non_finite = 3}};
  contract.golden = {
      .tolerance = 0.5,
      .dtype = "f32",
      .numerics = "exact",
      .host = "any",
      .probes = {{.name = "drawn",
                  .prompt = {1, 2},
                  .prompt_log_probabilities = {-2.5F},
                  .temperature = 0.5,
                  .seed = 7,
                  .tokens = {{.id = 3, .log_probability = -1.5F, .is_firm = true}, {.id = 4}}}}};
  contract.completion_tokens = 4;
  contract.verify_tokens = 3;
  return contract;
}

}  // namespace parhelion::contract
