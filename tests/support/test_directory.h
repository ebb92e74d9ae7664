#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <unistd.h>
#include <vector>

namespace parhelion {

/// A fresh directory for one test, which no other process uses.
class TestDirectory : public testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::remove_all(directory_);
    std::filesystem::create_directories(directory_);
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  /// Writes a file, and gives its path; a relative one begins at the directory.
  std::filesystem::path put(const std::filesystem::path& path, std::string_view text) const {
    std::filesystem::path whole = directory_ / path;
    std::filesystem::create_directories(whole.parent_path());
    std::ofstream(whole, std::ios::binary | std::ios::trunc) << text;
    return whole;
  }
  /// Names in a directory, sorted.
  std::vector<std::string> listing(const std::filesystem::path& directory) const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(directory))
      names.push_back(entry.path().filename().string());
    std::ranges::sort(names);
    return names;
  }

  std::filesystem::path directory_ =
      std::filesystem::path(testing::TempDir()) / ("parhelion_test_" + std::to_string(::getpid()));
};

}  // namespace parhelion
