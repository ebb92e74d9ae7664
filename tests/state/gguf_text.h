#pragma once

#include "state/gguf_metadata.h"
#include "state/test_files.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace parhelion::state {

inline std::string gguf_string(std::string_view text) {
  return raw(std::uint64_t{text.size()}) + std::string(text);
}

/// One metadata entry; `value` is the bytes of the value.
inline std::string gguf_entry(std::string_view key, std::uint32_t type, std::string_view value) {
  return gguf_string(key) + raw(type) + std::string(value);
}

inline std::string gguf_entry(std::string_view key, MetadataType type, std::string_view value) {
  return gguf_entry(key, static_cast<std::uint32_t>(type), value);
}

/// The bytes of an array value.
inline std::string gguf_array(MetadataType type, std::uint64_t count, std::string_view values) {
  return raw(static_cast<std::uint32_t>(type)) + raw(count) + std::string(values);
}

/// One tensor's header entry; `dims` has the innermost first, as in the file.
inline std::string gguf_tensor(std::string_view name, const std::vector<std::uint64_t>& dims,
                               std::uint32_t type, std::uint64_t offset) {
  std::string text = gguf_string(name) + raw(static_cast<std::uint32_t>(dims.size()));
  for (const std::uint64_t dim : dims) text += raw(dim);
  return text + raw(type) + raw(offset);
}

/// A file of these entries and tensors, whose data begins at a multiple of 32.
inline std::string gguf_file(const std::vector<std::string>& entries,
                             const std::vector<std::string>& tensors, std::string_view data) {
  std::string text = "GGUF" + raw(std::uint32_t{3}) + raw(std::uint64_t{tensors.size()}) +
                     raw(std::uint64_t{entries.size()});
  for (const std::string& entry : entries) text += entry;
  for (const std::string& tensor : tensors) text += tensor;
  text.resize((text.size() + 31) / 32 * 32, '\0');
  return text + std::string(data);
}

}  // namespace parhelion::state
