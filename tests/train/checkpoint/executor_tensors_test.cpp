#include "train/checkpoint/executor_tensors.h"

#include "base/error.h"
#include "exec/cpu/cpu_executor.h"
#include "ir/autodiff/differentiate.h"
#include "ir/passes/lower.h"
#include "model/open.h"
#include "model/programs.h"
#include "train/checkpoint/checkpoint_files.h"
#include "train/checkpoint/open_checkpoint.h"

#include <gmock/gmock.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace parhelion::train {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

/// The buffers of a small model's training program that have this role.
std::vector<ir::Buffer> buffers_of(const exec::Plan& plan, ir::Role role) {
  std::vector<ir::Buffer> found;
  for (const ir::Buffer& buffer : plan.instance().buffers)
    if (buffer.role == role) found.push_back(buffer);
  return found;
}

class ExecutorTensorsTest : public CheckpointFiles {
 protected:
  ExecutorTensorsTest() {
    const model::OpenedModel opened =
        model::open_model(std::filesystem::path(PARHELION_TEST_DATA) / "model" / "llama_tiny");
    model::TrainProgram train = model::build_train(opened.model, ir::Kind::bf16);
    ir::differentiate(train.program, train.total_loss);
    ir::Capacities capacities;
    capacities[ir::Symbol::tokens] = 4;
    capacities[ir::Symbol::documents] = 1;
    plan_ = executor_->plan(ir::lower(train.program, capacities), exec::Weights::trained);
    parameters_ = buffers_of(*plan_, ir::Role::parameter);
    states_ = buffers_of(*plan_, ir::Role::state);
  }
  /// Gives every buffer bytes of its own, which `salt` changes.
  void fill(std::size_t salt) {
    for (const auto* buffers : {&parameters_, &states_}) {
      for (const ir::Buffer& buffer : *buffers) {
        executor_->upload(buffer.name, [&](std::span<std::byte> out) {
          for (std::size_t i = 0; i < out.size(); ++i)
            out[i] = static_cast<std::byte>(i * 7 + salt + buffer.name.size());
        });
      }
    }
  }
  /// All bytes of the executor's buffers.
  std::string bytes() {
    std::string all;
    for (const auto* buffers : {&parameters_, &states_})
      for (const ir::Buffer& buffer : *buffers) {
        const auto content = executor_->download(buffer.name);
        all.append(reinterpret_cast<const char*>(content.data()), content.size());
      }
    return all;
  }
  Snapshot snapshot() {
    return {.parameters = buffer_snapshots(*executor_, parameters_),
            .optimizer = buffer_snapshots(*executor_, states_),
            .memory = [&](std::int64_t count) { return executor_->snapshot_memory(count); }};
  }
  TrainCheckpoint save() {
    std::shared_ptr<std::byte> block;
    const CheckpointContent content = take(snapshot(), block);
    return open_train_checkpoint(write_checkpoint(content, store()).directory, Verify::contents);
  }

  std::unique_ptr<exec::Executor> executor_ = exec::make_cpu_executor({.threads = 1});
  std::unique_ptr<exec::Plan> plan_;
  std::vector<ir::Buffer> parameters_, states_;
};

TEST_F(ExecutorTensorsTest, RestoresEveryByte) {
  fill(1);
  const std::string before = bytes();
  const TrainCheckpoint saved = save();
  fill(2);
  ASSERT_NE(bytes(), before);
  restore_buffers(saved_parameters(saved), parameters_, *executor_);
  restore_buffers(saved_optimizer(saved), states_, *executor_);
  EXPECT_EQ(bytes(), before);
}

TEST_F(ExecutorTensorsTest, ACopyStaysWhenTheBuffersChange) {
  fill(1);
  const std::string before = bytes();
  std::shared_ptr<std::byte> block;
  const CheckpointContent content = take(snapshot(), block);
  fill(2);
  std::string copied;
  for (const auto* tensors : {&content.parameters, &content.optimizer})
    for (const state::TensorView& tensor : *tensors)
      copied.append(reinterpret_cast<const char*>(tensor.bytes.data()), tensor.bytes.size());
  EXPECT_EQ(copied, before);
  EXPECT_EQ(content.parameters.front().kind, ir::Kind::bf16);
}

/// Copies of every buffer of an executor.
class HostCopies final : public exec::KeptBuffers {
 public:
  void add(const std::string& name, std::span<const std::byte> bytes) {
    copies_[name].assign(bytes.begin(), bytes.end());
  }
  void copy_out(std::string_view name, std::span<std::byte> out) override {
    std::ranges::copy(copies_.at(std::string(name)), out.begin());
  }

 private:
  std::map<std::string, std::vector<std::byte>> copies_;
};

TEST_F(ExecutorTensorsTest, TakesWhatTheDeviceKeptAndNotWhatRunsHaveMadeOfIt) {
  fill(1);
  const std::string before = bytes();
  const auto kept = std::make_shared<HostCopies>();
  for (const auto* buffers : {&parameters_, &states_})
    for (const ir::Buffer& buffer : *buffers)
      kept->add(buffer.name, executor_->download(buffer.name));
  fill(2);
  Snapshot late = snapshot();
  late.parameters = buffer_snapshots(*executor_, parameters_, kept);
  late.optimizer = buffer_snapshots(*executor_, states_, kept);
  std::shared_ptr<std::byte> block;
  const CheckpointContent content = take(late, block);
  std::string copied;
  for (const auto* tensors : {&content.parameters, &content.optimizer})
    for (const state::TensorView& tensor : *tensors)
      copied.append(reinterpret_cast<const char*>(tensor.bytes.data()), tensor.bytes.size());
  EXPECT_EQ(copied, before);
}

TEST_F(ExecutorTensorsTest, KeepsNothingWhereTheDeviceHasNoRoom) {
  EXPECT_EQ(keep_buffers(*executor_, parameters_, states_), nullptr);
}

TEST_F(ExecutorTensorsTest, RefusesTensorsOfAnotherJobBeforeItChangesAny) {
  fill(1);
  const TrainCheckpoint saved = save();
  fill(2);
  const std::string before = bytes();
  std::vector<ir::Buffer> wider = parameters_;
  wider.back().type = ir::TensorType(ir::Kind::f32, wider.back().type.shape);
  EXPECT_THAT(
      [&] { restore_buffers(saved_parameters(saved), wider, *executor_); },
      ThrowsMessage<Error>(HasSubstr(fmt::format("tensor '{}' is bf16 ", wider.back().name))));
  const std::vector<ir::Buffer> fewer(parameters_.begin() + 1, parameters_.end());
  EXPECT_THAT([&] { restore_buffers(saved_parameters(saved), fewer, *executor_); },
              ThrowsMessage<Error>(HasSubstr("'" + parameters_.front().name + "'")));
  std::vector<ir::Buffer> more = parameters_;
  more.push_back(states_.front());
  EXPECT_THAT([&] { restore_buffers(saved_parameters(saved), more, *executor_); },
              ThrowsMessage<Error>(HasSubstr("lacks 1 of the tensors")));
  EXPECT_EQ(bytes(), before);
}

}  // namespace
}  // namespace parhelion::train
