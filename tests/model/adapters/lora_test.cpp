#include "model/adapters/lora.h"

#include "base/error.h"
#include "exec/cpu/cpu_executor.h"
#include "ir/autodiff/differentiate.h"
#include "ir/builder.h"
#include "ir/print.h"
#include "ir/verify.h"
#include "model/parity_run.h"
#include "model/programs.h"
#include "support/conformance/data.h"
#include "support/conformance/gradients.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace parhelion::model {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

/// One projection `a.q` with a weight of a norm before it.
ir::Program one_projection(bool bias = false) {
  ir::Program program;
  program.name = "one";
  ir::Builder builder(program);
  const ir::ValueId x = builder.input("x", {ir::Kind::f32, {5, 4}});
  builder.set_label("a");
  const ir::ValueId norm =
      builder.one(ir::RmsNorm{}, {x, builder.parameter("a.norm.weight", {ir::Kind::f32, {4}})});
  builder.set_label("a.q");
  builder.set_layer(3);
  std::vector<ir::ValueId> operands = {norm,
                                       builder.parameter("a.q.weight", {ir::Kind::f32, {6, 4}})};
  if (bias) operands.push_back(builder.parameter("a.q.bias", {ir::Kind::f32, {6}}));
  builder.output("y", builder.one(ir::MatMul{.transpose_b = true, .bias = bias}, operands));
  return program;
}

const Lora kOneAdapter{.rank = 2, .alpha = 3, .dropout = 0.25, .modules = {"a.q"}};

TEST(ApplyLora, PutsAnAdapterBesideAProjection) {
  ir::Program program = one_projection();
  apply_lora(program, kOneAdapter, Dropout::on);
  ir::verify(program);
  EXPECT_EQ(ir::print(program), R"(program one
buffer x: f32[5, 4] | input, microbatch
buffer a.norm.weight: f32[4] | parameter, process, frozen
buffer a.q.weight: f32[6, 4] | parameter, process, frozen
buffer y: f32[5, 6] | output, microbatch
buffer dropout_seed: u64[] | input, microbatch
buffer a.q.lora_a.weight: f32[2, 4] | parameter, process
buffer a.q.lora_b.weight: f32[6, 2] | parameter, process
1. %3: f32[5, 4] = rms_norm(eps=1e-06) %1 x, %2 a.norm.weight | forward, layer 0, a
2. %6: f32[5, 6] = matmul(transpose_a=false, transpose_b=true, bias=false, accumulate=false, out=f32) %3, %4 a.q.weight | forward, layer 3, a.q
3. %8: f32[5, 4] = dropout(probability=0.25, tag=0) %3, %7 dropout_seed | forward, layer 3, a.q.lora_a
4. %11: f32[5, 2] = matmul(transpose_a=false, transpose_b=true, bias=false, accumulate=false, out=f32) %8, %9 a.q.lora_a.weight | forward, layer 3, a.q.lora_a
5. %12: f32[5, 2] = scale(factor=1.5) %11 | forward, layer 3, a.q.lora_b
6. %13: f32[5, 6] = matmul(transpose_a=false, transpose_b=true, bias=false, accumulate=false, out=f32) %12, %10 a.q.lora_b.weight | forward, layer 3, a.q.lora_b
7. %5 y@1: f32[5, 6] = binary(function=add) %6, %13 | forward, layer 3, a.q
)");
}

TEST(ApplyLora, DropsInputsInTrainingAlone) {
  ir::Program program = one_projection();
  apply_lora(program, kOneAdapter, Dropout::off);
  ir::verify(program);
  EXPECT_FALSE(ir::find_buffer(program, "dropout_seed"));
  EXPECT_EQ(program.ops.size(), 6u);
}

TEST(ApplyLora, RefusesAModuleThatIsNotThereOrHasABias) {
  ir::Program program = one_projection();
  Lora lora = kOneAdapter;
  lora.modules = {"a.norm"};
  EXPECT_THAT([&] { apply_lora(program, lora, Dropout::off); },
              ThrowsMessage<Error>("lora: the model has no projection 'a.norm'"));
  program = one_projection(true);
  EXPECT_THAT(
      [&] { apply_lora(program, kOneAdapter, Dropout::off); },
      ThrowsMessage<Error>("lora: module 'a.q' has a bias, expected a projection without one"));
}

Model golden_model(std::string_view name = "llama_tiny") {
  return open_model(golden_path(name)).model;
}

bool is_query_or_up(std::string_view module) {
  return module.ends_with(".q_proj") || module.ends_with(".up_proj");
}

TEST(WithLora, TakesTheProjectionsThatTargetsAccept) {
  const Model model = with_lora(golden_model(), {.rank = 4}, is_query_or_up);
  EXPECT_THAT(model.lora->modules,
              ElementsAre("model.layers.0.self_attn.q_proj", "model.layers.0.mlp.up_proj",
                          "model.layers.1.self_attn.q_proj", "model.layers.1.mlp.up_proj"));
  EXPECT_EQ(with_lora(model, {}, [](std::string_view) { return true; }).lora->modules.size(), 14u)
      << "the head and the embedding are no projections";
  EXPECT_EQ(base_of(model).lora, std::nullopt);
}

TEST(WithLora, RefusesTargetsThatMatchNothing) {
  EXPECT_THAT(
      [] {
        with_lora(golden_model(), {}, [](std::string_view module) { return module == "lm_head"; });
      },
      ThrowsMessage<Error>("lora: the targets match none of the model's 14 projections, such as "
                           "'model.layers.0.self_attn.q_proj'"));
  EXPECT_THAT([] { with_lora(golden_model("llama_biased"), {}, is_query_or_up); },
              ThrowsMessage<Error>(HasSubstr("q_proj' has a bias")));
}

std::vector<std::string> adapter_names(const ir::Program& program) {
  std::vector<std::string> names;
  for (const ir::Buffer& buffer : program.buffers) {
    if (buffer.role == ir::Role::parameter && buffer.trainable) names.push_back(buffer.name);
  }
  return names;
}

TEST(WithLora, PutsTheSameAdaptersIntoTrainAndExtendAndAdaptsNoHead) {
  const Model model = with_lora(golden_model(), {}, [](std::string_view) { return true; });
  const auto in_train = adapter_names(build_train(model, ir::Kind::f32, Dropout::on).program);
  EXPECT_EQ(in_train.size(), 28u);
  const ir::Program extend = build_extend(model, ir::Kind::f32, {.page_tokens = 16});
  ir::verify(extend);
  EXPECT_EQ(adapter_names(extend), in_train);
}

TEST(WithLora, GivesGradientsToAdaptersAlone) {
  const Model model = with_lora(golden_model(), {.dropout = 0.1}, is_query_or_up);
  TrainProgram train = build_train(model, ir::Kind::bf16, Dropout::on);
  ir::differentiate(train.program, train.total_loss);
  ir::verify(train.program);
  std::vector<std::string> expected, found;
  for (const std::string& name : adapter_names(train.program))
    expected.push_back(ir::gradient_name(name));
  for (const ir::Buffer& buffer : train.program.buffers)
    if (buffer.role == ir::Role::state) found.push_back(buffer.name);
  EXPECT_THAT(found, testing::UnorderedElementsAreArray(expected));
  for (const ir::OpNode& node : train.program.ops)
    EXPECT_FALSE(std::holds_alternative<ir::Fill>(node.op) && node.layer == 3 &&
                 ir::output_types(train.program, node)[0].rank() == 2)
        << "nothing is summed up for a weight that is not trained";
}

/// A small decoder with adapters whose A and B are random, as a scalar loss over two documents.
test::LossProgram adapted_decoder(double dropout) {
  constexpr std::int64_t kTokens = 12, kVocabulary = 13;
  const Decoder form{.vocabulary = kVocabulary,
                     .hidden = 8,
                     .layers = 2,
                     .attention = {.heads = 4, .kv_heads = 2, .head_dim = 4},
                     .mlp = {.intermediate = 12},
                     .rope = {.positions = 64, .dim = 4}};
  const Model plain{.build = [form](ir::Builder& builder, ir::Kind kind, Context& context) {
    return decoder(builder, kind, form, context);
  }};
  const Model model = with_lora(plain, {.rank = 3, .alpha = 4, .dropout = dropout},
                                [](std::string_view) { return true; });
  TrainProgram train = build_train(model, ir::Kind::f32, Dropout::on);
  train.program.at(ir::find_buffer(train.program, "loss")).name = "losses";
  train.program.at(ir::find_buffer(train.program, "total_loss")).name = "loss";
  test::LossProgram made;
  made.name = "adapted decoder";
  made.program = train.program;
  made.loss = train.total_loss;
  made.terms = 1024;
  made.capacities[ir::Symbol::tokens] = kTokens;
  made.capacities[ir::Symbol::documents] = 2;
  std::uint64_t seed = 0;
  for (const ir::Buffer& buffer : made.program.buffers) {
    if (buffer.role != ir::Role::parameter) continue;
    std::vector<std::int64_t> dims;
    for (const ir::Dim& dim : buffer.type.shape) dims.push_back(ir::number(dim));
    made.buffers[buffer.name] = test::normals(ir::Kind::f32, dims, ++seed, 0.5);
  }
  made.buffers["token_ids"] = test::indices(kTokens, 0, kVocabulary, 1);
  made.buffers["labels"] = test::indices(kTokens, 0, kVocabulary, 2);
  made.buffers["loss_weight"] = test::normals(ir::Kind::f32, {kTokens}, 3);
  made.buffers["positions"] = test::listed(ir::Kind::i32, {0, 1, 2, 3, 4, 5, 6, 0, 1, 2, 3, 0});
  made.buffers["document_indptr"] = test::prefix_sums({7, 4});
  if (dropout > 0) made.buffers["dropout_seed"] = {ir::TensorType(ir::Kind::u64, {}), {77}};
  return made;
}

std::unique_ptr<exec::Executor> two_threads() { return exec::make_cpu_executor({.threads = 2}); }

TEST(AdaptedDecoder, HasTheGradientsOfCentralDifferences) {
  for (const double dropout : {0.0, 0.4})
    test::expect_gradients(two_threads, adapted_decoder(dropout));
}

TEST(AdaptedDecoder, DropsTheSameInputsWhereLayersAreComputedAgain) {
  test::expect_same_bits_of_passes(two_threads, adapted_decoder(0.4));
}

/// Losses of a golden model, with adapters whose B is zero and without.
std::vector<float> golden_losses(const Model& model, ir::Kind kind) {
  const OpenedModel opened = open_model(golden_path("llama_tiny"));
  const state::Checkpoint golden =
      state::open_checkpoint(golden_path("llama_tiny") / "golden.safetensors");
  const auto executor = two_threads();
  ir::Capacities capacities;
  capacities[ir::Symbol::tokens] = golden.at("packed.token_ids").shape[0];
  capacities[ir::Symbol::documents] = golden.at("packed.document_indptr").shape[0] - 1;
  const auto plan = executor->plan(ir::lower(build_train(model, kind).program, capacities),
                                   exec::Weights::trained);
  load_parameters(opened, [&](const state::TensorView& tensor) {
    executor->upload(tensor.name, [&](std::span<std::byte> out) {
      state::convert(tensor.kind, tensor.bytes, kind, out);
    });
  });
  for (const ir::Buffer& buffer : plan->instance().buffers) {
    if (buffer.role == ir::Role::input)
      std::ranges::copy(golden.at("packed." + buffer.name).bytes, plan->host(buffer.name).begin());
    if (buffer.name.ends_with(".lora_a.weight"))
      executor->upload(buffer.name, [](auto out) { std::ranges::fill(out, std::byte{0x3d}); });
    if (buffer.name.ends_with(".lora_b.weight"))
      executor->upload(buffer.name, [](auto out) { std::ranges::fill(out, std::byte{0}); });
  }
  plan->run();
  const auto loss = exec::host_span<float>(*plan, "loss");
  return {loss.begin(), loss.end()};
}

TEST(WithLora, ChangesNoBitOfTheOutputWhileBIsZero) {
  const Model plain = golden_model();
  const Model adapted = with_lora(plain, {}, [](std::string_view) { return true; });
  for (const ir::Kind kind : {ir::Kind::f32, ir::Kind::bf16})
    EXPECT_EQ(golden_losses(adapted, kind), golden_losses(plain, kind));
}

}  // namespace
}  // namespace parhelion::model
