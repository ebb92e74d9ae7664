#pragma once

#include "exec/cpu/cpu_executor.h"
#include "ir/autodiff/differentiate.h"
#include "ir/passes/lower.h"
#include "model/checkpoint_test_support.h"
#include "model/programs.h"
#include "state/convert.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace parhelion::model {

/// A golden model run by the CPU executor on the cases of its `golden.safetensors`.
class ParityRun {
 public:
  ParityRun(std::string_view name, ir::Kind kind)
      : kind_(kind),
        opened_(open_model(golden_path(name))),
        golden_(state::open_checkpoint(golden_path(name) / "golden.safetensors")) {}

  const Model& model() const { return opened_.model; }

  /// A golden tensor as f32.
  std::vector<float> golden(const std::string& name) const {
    const state::TensorView& tensor = golden_.at(name);
    std::vector<float> result(static_cast<std::size_t>(*state::element_count(tensor.shape)));
    state::convert(tensor.kind, tensor.bytes, ir::Kind::f32,
                   std::as_writable_bytes(std::span(result)));
    return result;
  }

  /// Per-token losses; gradients are then in the executor.
  std::vector<float> losses(const std::string& example) {
    TrainProgram train = build_train(model(), kind_);
    ir::differentiate(train.program, train.total_loss);
    run(train.program, example, exec::Weights::trained);
    return read(plan_->host("loss"));
  }

  /// After `losses`: the one weighted sum.
  std::vector<float> total_loss() { return read(plan_->host("total_loss")); }

  std::vector<float> gradient(const std::string& parameter) {
    return read(executor_->download(ir::gradient_name(parameter)));
  }

  /// Logits of the first document.
  std::vector<float> logits(const std::string& example) {
    ir::Program program;
    ir::Builder builder(program);
    PackedContext context(builder);
    const Backbone backbone = model().build(builder, kind_, context);
    builder.output("logits", builder.one(ir::MatMul{.transpose_b = true},
                                         {backbone.hidden, backbone.head_weight}));
    run(program, example, exec::Weights::frozen);
    std::vector<float> result = read(plan_->host("logits"));
    result.resize(golden("f32." + example + ".logits").size());
    return result;
  }

 private:
  static std::vector<float> read(std::span<const std::byte> bytes) {
    std::vector<float> result(bytes.size() / sizeof(float));
    std::memcpy(result.data(), bytes.data(), bytes.size());
    return result;
  }

  ir::Capacities capacities(const std::string& example) const {
    ir::Capacities result;
    result[ir::Symbol::tokens] = golden_.at(example + ".token_ids").shape[0];
    result[ir::Symbol::documents] = golden_.at(example + ".document_indptr").shape[0] - 1;
    return result;
  }

  void run(const ir::Program& program, const std::string& example, exec::Weights weights) {
    executor_ = exec::make_cpu_executor({.threads = 1});
    plan_ = executor_->plan(ir::lower(program, capacities(example)), weights);
    load_parameters(opened_, [this](const state::TensorView& tensor) {
      executor_->upload(tensor.name, [&](std::span<std::byte> out) {
        state::convert(tensor.kind, tensor.bytes, kind_, out);
      });
    });
    for (const ir::Buffer& buffer : plan_->instance().buffers) {
      if (buffer.role == ir::Role::state) executor_->clear(buffer.name);
      if (buffer.role == ir::Role::input) write(buffer.name, example);
    }
    plan_->run();
  }

  void write(const std::string& input, const std::string& example) {
    const std::span<const std::byte> bytes = golden_.at(example + "." + input).bytes;
    ASSERT_EQ(plan_->host(input).size(), bytes.size()) << input;
    std::ranges::copy(bytes, plan_->host(input).begin());
  }

  ir::Kind kind_;
  OpenedModel opened_;
  state::Checkpoint golden_;
  std::unique_ptr<exec::Executor> executor_;
  std::unique_ptr<exec::Plan> plan_;
};

}  // namespace parhelion::model
