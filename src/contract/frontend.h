#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace parhelion::contract {

/// Bytes that belong to a model and are understood elsewhere.
struct Asset {
  std::string name;  ///< such as `tokenizer_config.json`
  std::string bytes;
  bool operator==(const Asset&) const = default;
};

/// What turns text into ids and back, opaque here.
struct Frontend {
  std::string tokenizer_format = {};  ///< such as `tokenizer.json`; empty: no tokenizer
  std::string tokenizer = {};         ///< in that format
  std::string chat_template = {};     ///< empty: none
  std::vector<Asset> assets = {};     ///< by unique names
  std::string reasoning_format = {};  ///< empty: none
  std::string tool_format = {};       ///< empty: none
  std::optional<std::int32_t> bos_id = {};
  std::optional<std::int32_t> pad_id = {};
  std::optional<std::int32_t> unknown_id = {};
  std::vector<std::int32_t> special_ids = {};
  bool add_bos = false;  ///< a prompt that is not a chat begins with bos_id
  bool operator==(const Frontend&) const = default;
};

}  // namespace parhelion::contract
