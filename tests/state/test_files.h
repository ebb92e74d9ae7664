#pragma once

#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <string_view>

namespace parhelion::state {

/// A fresh directory for one test.
class StateFiles : public testing::Test {
 protected:
  void SetUp() override {
    std::filesystem::remove_all(directory_);
    std::filesystem::create_directories(directory_);
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }

  /// Writes `text` to a file of the directory and gives its path.
  std::filesystem::path put(std::string_view name, std::string_view text) const {
    std::ofstream(directory_ / name, std::ios::binary) << text;
    return directory_ / name;
  }

  std::filesystem::path directory_ = std::filesystem::path(testing::TempDir()) / "parhelion_state" /
                                     testing::UnitTest::GetInstance()->current_test_info()->name();
};

/// The value's bytes in memory, which are those in a file.
template <class T>
std::string raw(const T& value) {
  std::string text(sizeof value, '\0');
  std::memcpy(text.data(), &value, sizeof value);
  return text;
}

inline std::span<const std::byte> as_bytes(std::string_view text) {
  return std::as_bytes(std::span(text));
}

inline std::string as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// A safetensors file of this header and data.
inline std::string safetensors_file(std::string_view header, std::string_view data) {
  return raw(std::uint64_t{header.size()}) + std::string(header) + std::string(data);
}

/// The path of a golden file.
inline std::filesystem::path golden(std::string_view name) {
  return std::filesystem::path(PARHELION_TEST_DATA) / "state" / name;
}

}  // namespace parhelion::state
