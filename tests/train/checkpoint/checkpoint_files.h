#pragma once

#include "base/file.h"
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

/// A fresh directory for one test, and small checkpoints.
class CheckpointFiles : public testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::remove_all(directory_);
    std::filesystem::create_directories(directory_);
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  void put(const std::filesystem::path& path, std::string_view text) const {
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary | std::ios::trunc) << text;
  }
  /// Names in a directory, sorted.
  std::vector<std::string> listing(const std::filesystem::path& directory) const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(directory))
      names.push_back(entry.path().filename().string());
    std::ranges::sort(names);
    return names;
  }
  CheckpointStore store(std::int64_t keep = 0) const {
    return {.directory = directory_, .keep = keep, .model_files = {{"config.json", "{\"a\":1}"}}};
  }

  std::filesystem::path directory_ = std::filesystem::path(testing::TempDir()) / "parhelion_train" /
                                     testing::UnitTest::GetInstance()->current_test_info()->name();
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
