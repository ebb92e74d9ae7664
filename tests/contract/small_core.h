#pragma once

#include "base/file.h"
#include "contract/core.h"
#include "contract/core_writer.h"
#include "contract/small_contract.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <numeric>
#include <string>
#include <unistd.h>
#include <vector>

namespace parhelion::contract {

inline constexpr SecretKey kSmallSecret = {1, 2, 3};
inline constexpr SecretKey kOtherSecret = {4, 5, 6};

inline Bytes as_bytes(const std::string& text) { return std::as_bytes(std::span(text)); }

inline Trust trust_in(const SecretKey& secret) {
  return {.keys = {{.key = public_key(secret), .label = "test"}}};
}
inline Trust trust_in_any() { return {.allow_unsigned = true}; }

/// Weights of a contract, the bytes of each counting up from its place.
class SmallWeights {
 public:
  explicit SmallWeights(const Contract& contract) {
    for (const ir::Buffer& buffer : contract.extend.buffers) {
      if (buffer.role != ir::Role::parameter) continue;
      std::vector<unsigned char> bytes(static_cast<std::size_t>(ir::byte_count(buffer.type)));
      std::iota(bytes.begin(), bytes.end(), static_cast<unsigned char>(storage_.size()));
      storage_.push_back(std::move(bytes));
      weights_.push_back({.name = buffer.name, .type = buffer.type, .bytes = {}});
    }
    for (std::size_t i = 0; i < weights_.size(); ++i)
      weights_[i].bytes = std::as_bytes(std::span(storage_[i]));
  }
  const std::vector<WeightBytes>& all() const { return weights_; }

 private:
  std::vector<std::vector<unsigned char>> storage_;
  std::vector<WeightBytes> weights_;
};

/// An empty directory of this process.
class ScratchDirectory : public TemporaryDirectory {
 public:
  explicit ScratchDirectory(const std::string& name = "test")
      : TemporaryDirectory(std::filesystem::path(testing::TempDir()) /
                           ("parhelion_core_" + name + "_" + std::to_string(::getpid()))) {}
};

/// The bytes of a core file of the full contract, with leaves of one page.
inline std::string small_core(const std::vector<SecretKey>& keys = {kSmallSecret}) {
  const ScratchDirectory directory("small");
  const Contract contract = full_contract();
  write_core(directory.path() / "small.core", contract, SmallWeights(contract).all(),
             {.keys = keys, .leaf_bytes = kPageBytes});
  return read_file(directory.path() / "small.core");
}

/// A core file in parts that can be changed and put together again, digests and places right.
struct CoreParts {
  std::vector<SectionEntry> sections;
  std::vector<std::string> contents;
};

inline CoreParts take_apart(const std::string& file) {
  CoreParts parts{.sections = read_layout(as_bytes(file)).sections, .contents = {}};
  for (const SectionEntry& section : parts.sections)
    parts.contents.push_back(file.substr(static_cast<std::size_t>(section.offset),
                                         static_cast<std::size_t>(section.bytes)));
  return parts;
}

/// Digests of leaves are those of `leaves` sections as they are.
inline std::string put_together(CoreParts parts) {
  std::string file = header_bytes();
  const auto pad_to = [&](std::int64_t alignment) {
    file.resize(static_cast<std::size_t>(aligned(std::ssize(file), alignment)));
  };
  for (std::size_t i = 0; i < parts.sections.size(); ++i) {
    SectionEntry& section = parts.sections[i];
    pad_to(section.alignment);
    section.offset = std::ssize(file);
    section.bytes = std::ssize(parts.contents[i]);
    if (section.leaf_bytes == 0)
      section.digest = section_digest(section.kind, section.bytes, 0, as_bytes(parts.contents[i]));
    file += parts.contents[i];
  }
  pad_to(kPlainAlignment);
  return file + table_bytes(parts.sections, std::ssize(file)) + signature_bytes({});
}

}  // namespace parhelion::contract
