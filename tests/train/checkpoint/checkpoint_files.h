#pragma once

#include "base/file.h"
#include "support/test_directory.h"
#include "train/checkpoint/write_checkpoint.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <string_view>
#include <sys/resource.h>
#include <vector>

namespace parhelion::train {

/// Small checkpoints of one test.
class CheckpointFiles : public TestDirectory {
 protected:
  CheckpointStore store(std::int64_t keep = 0) const {
    return {.directory = directory_, .keep = keep, .model_files = {{"config.json", "{\"a\":1}"}}};
  }
};

/// Values of a job at one step: each tensor is filled with the step.
class JobAtStep {
 public:
  explicit JobAtStep(std::int64_t step, std::int64_t elements = 4)
      : step_(step), values_(static_cast<std::size_t>(elements), static_cast<float>(step)) {}

  CheckpointContent content() const {
    return {.parameters = {tensor("w"), tensor("b")},
            .optimizer = {tensor("w.first_moment"), tensor("w.second_moment")},
            .facts = {.step = step_,
                      .tokens_seen = 100 * step_,
                      .seed = 7,
                      .job_digest = "d1",
                      .job = Json::Object{{"optimizer", Json::Object{{"lr", 1e-3}}}},
                      .data_position = Json::Object{{"epoch", 0}, {"microbatch", step_}},
                      .metrics = Json::Object{{"loss", 0.1}}}};
  }
  std::span<float> values() { return values_; }

 private:
  state::TensorView tensor(std::string name) const {
    return {.name = std::move(name),
            .kind = ir::Kind::f32,
            .shape = {static_cast<std::int64_t>(values_.size())},
            .bytes = std::as_bytes(std::span(values_)),
            .storage = nullptr};
  }

  std::int64_t step_ = 0;
  std::vector<float> values_;
};

/// Limits the size of files this process writes, as a disk would that fills up at this byte.
class FullDisk {
 public:
  explicit FullDisk(std::size_t bytes) {
    handler_ = std::signal(SIGXFSZ, SIG_IGN);
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FullDisk() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }
  FullDisk(const FullDisk&) = delete;
  FullDisk& operator=(const FullDisk&) = delete;

 private:
  rlimit before_{};
  void (*handler_)(int) = nullptr;
};

}  // namespace parhelion::train
