#include "train/data/token_file.h"

#include "base/error.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <iterator>

namespace parhelion::train {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr std::size_t kHeadBytes = 16;
constexpr std::size_t kHashBytes = 16;
constexpr std::size_t kTailBytes = 8 + kHashBytes;

std::uint64_t read_word(std::span<const std::byte> bytes, std::size_t at) {
  std::uint64_t word = 0;
  std::memcpy(&word, bytes.data() + at, sizeof word);
  return word;
}

std::string_view text_of_bytes(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// Hands out the sections of a token file in order.
struct TokenSections {
  std::span<const std::byte> left;
  std::string_view where;

  /// `count` elements, and the zeros that fill a multiple of 8 bytes.
  template <class T>
  std::span<const T> take(std::uint64_t count) {
    ensure(count <= left.size() / sizeof(T), ErrorKind::corrupt,
           "{}: a section of {} elements does not fit in {} bytes", where, count, left.size());
    const std::size_t bytes = static_cast<std::size_t>(count) * sizeof(T);
    const std::span<const T> section(reinterpret_cast<const T*>(left.data()),
                                     static_cast<std::size_t>(count));
    left = left.subspan(std::min((bytes + 7) / 8 * 8, left.size()));
    return section;
  }
};

/// The text before the tail.
std::span<const std::byte> index_text(std::span<const std::byte> bytes, std::string_view where) {
  ensure(
      bytes.size() >= kHeadBytes + kTailBytes && text_of_bytes(bytes).starts_with(kTokenFileMagic),
      ErrorKind::corrupt, "{}: is no file of tokens", where);
  ensure(read_word(bytes, 8) == kTokenFileVersion, ErrorKind::corrupt,
         "{}: has version {}, expected {}", where, read_word(bytes, 8), kTokenFileVersion);
  const std::size_t end = bytes.size() - kTailBytes;
  const std::uint64_t size = read_word(bytes, end);
  ensure(size <= end - kHeadBytes, ErrorKind::corrupt, "{}: is cut off", where);
  return bytes.subspan(end - static_cast<std::size_t>(size), static_cast<std::size_t>(size));
}

/// Rewords what is wrong with the index.
void read_index(std::span<const std::byte> text, std::string_view where, TokenFileView& view) try {
  const Json index = parse_json(text_of_bytes(text), "index");
  const Json* key = index.find("key");
  const Json* files = index.find("files");
  const Json* report = index.find("report");
  ensure(key != nullptr && files != nullptr && report != nullptr, ErrorKind::corrupt,
         "index: has no key, files or report");
  view.key = key->as_string("key");
  for (const Json& count : files->as_array("files")) {
    view.file_documents.push_back(count.as_int64("files"));
  }
  view.report = read_data_report(*report);
} catch (const Error& error) {
  fail(ErrorKind::corrupt, "{}: {}", where, error.what());
}

void check_documents(const TokenFileView& view, std::string_view where) {
  bool are_ascending = view.begins.front() == 0 && view.begins.back() == view.ids.size();
  for (std::size_t i = 0; i + 1 < view.begins.size(); ++i) {
    are_ascending = are_ascending && view.begins[i] <= view.ids.size() &&
                    view.begins[i + 1] >= view.begins[i] + 2;
  }
  ensure(are_ascending, ErrorKind::corrupt, "{}: documents do not lie one after another", where);
  std::uint64_t documents = 0;
  for (const std::int64_t count : view.file_documents) {
    ensure(count >= 0 && static_cast<std::uint64_t>(count) <= view.lines.size() - documents,
           ErrorKind::corrupt, "{}: its files have other documents than it", where);
    documents += static_cast<std::uint64_t>(count);
  }
  ensure(documents == view.lines.size(), ErrorKind::corrupt,
         "{}: its files have {} documents, it has {}", where, documents, view.lines.size());
  for (const SkippedRow& row : view.report.skipped) {
    ensure(row.origin.file < std::ssize(view.file_documents), ErrorKind::corrupt,
           "{}: skipped a row of file {}, it has {}", where, row.origin.file,
           view.file_documents.size());
  }
}

}  // namespace

Hash128 chain_hash(const Hash128& before, std::span<const std::byte> block) {
  const Hash128 hash = hash128(block);
  const std::array<std::uint64_t, 4> link = {before.high, before.low, hash.high, hash.low};
  return hash128(std::as_bytes(std::span(link)));
}

TokenFileView parse_token_file(std::span<const std::byte> bytes, std::string_view where) {
  TokenFileView view;
  const auto index = index_text(bytes, where);
  read_index(index, where, view);
  const auto documents = static_cast<std::uint64_t>(view.report.documents);
  const auto tokens = static_cast<std::uint64_t>(view.report.tokens);
  TokenSections sections{
      bytes.subspan(kHeadBytes, bytes.size() - kHeadBytes - kTailBytes - index.size()), where};
  view.ids = sections.take<std::int32_t>(tokens);
  view.begins = sections.take<std::uint64_t>(documents + 1);
  view.lines = sections.take<std::uint64_t>(documents);
  view.learnt = sections.take<std::byte>((tokens + 7) / 8);
  ensure(sections.left.empty(), ErrorKind::corrupt, "{}: has {} bytes too many", where,
         sections.left.size());
  check_documents(view, where);
  return view;
}

void check_token_file(std::span<const std::byte> bytes, const TokenFileView& view,
                      std::int64_t vocabulary, std::string_view where) {
  const std::size_t end = bytes.size() - kHashBytes;
  Hash128 hash;
  for (std::size_t at = 0; at < end; at += kTokenFileBlockBytes) {
    hash = chain_hash(hash, bytes.subspan(at, std::min(kTokenFileBlockBytes, end - at)));
  }
  const Hash128 written{.high = read_word(bytes, end), .low = read_word(bytes, end + 8)};
  ensure(hash == written, ErrorKind::corrupt, "{}: its hash is {}, expected {}", where, hex(hash),
         hex(written));
  for (const std::int32_t id : view.ids) {
    ensure(id >= 0 && id < vocabulary, ErrorKind::corrupt,
           "{}: token id {} is outside the model's vocabulary of {}", where, id, vocabulary);
  }
}

}  // namespace parhelion::train
