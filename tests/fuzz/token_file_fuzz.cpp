// A file of tokens is refused as corrupt, or all of its documents can be read.
#include "base/error.h"
#include "fuzz/fuzz.h"
#include "train/data/token_file.h"

#include <cstdlib>
#include <cstring>
#include <vector>

namespace {

using namespace parhelion;

/// Reads every section that a document has.
std::uint64_t sum_of(const train::TokenFileView& view) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < view.lines.size(); ++i) {
    const std::uint64_t begin = view.begins[i];
    const std::uint64_t end = view.begins[i + 1];
    if (end < begin + 2 || end > view.ids.size()) std::abort();
    for (std::uint64_t at = begin; at < end; ++at) {
      sum += static_cast<std::uint32_t>(view.ids[at]);
      sum += std::to_integer<std::uint64_t>(view.learnt[at / 8]);
    }
    sum += view.lines[i];
  }
  return sum;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) try {
  std::vector<std::uint64_t> words((size + 7) / 8);  // aligned as a mapped file
  if (size > 0) std::memcpy(words.data(), data, size);
  const auto bytes = std::as_bytes(std::span(words)).first(size);
  const train::TokenFileView view = train::parse_token_file(bytes, "fuzz");
  [[maybe_unused]] static volatile std::uint64_t sink = 0;
  sink = sum_of(view);
  describe(view.report, std::vector<std::filesystem::path>(view.file_documents.size(), "f"));
  check_token_file(bytes, view, 1000, "fuzz");
  return 0;
} catch (const Error& error) {
  if (error.kind() != ErrorKind::corrupt) throw;
  return 0;
}
