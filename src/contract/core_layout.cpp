#include "contract/core_layout.h"

#include "base/error.h"
#include "contract/little_endian.h"

#include <algorithm>

namespace parhelion::contract {
namespace {

constexpr std::string_view kHeaderMagic = "PARHCORE";
constexpr std::string_view kTrailerMagic = "PARHCEND";
constexpr std::string_view kManifestText = "parhelion core manifest";
constexpr std::uint32_t kBlake2b = 1;
constexpr std::uint32_t kRequired = 1;
constexpr std::int64_t kMostSections = 1024;
constexpr std::int64_t kLeastFileBytes = kHeaderBytes + kTrailerBytes + kSignatureBytes;

// Places of fields.
constexpr std::size_t kRevisionAt = 8;
constexpr std::size_t kCountAt = 8, kTableAt = 16, kFileBytesAt = 24, kTrailerEnd = 32;
constexpr std::size_t kFlagsAt = 4, kOffsetAt = 8, kBytesAt = 16, kAlignmentAt = 24,
                      kDigestKindAt = 28, kLeafBytesAt = 32, kDigestAt = 40, kEntryEnd = 72;
constexpr std::size_t kKeyAt = 8, kSignatureAt = 24, kSlotEnd = 88;

Bytes part_of(Bytes bytes, std::int64_t offset, std::int64_t count) {
  return bytes.subspan(static_cast<std::size_t>(offset), static_cast<std::size_t>(count));
}

std::string_view text_of(Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

bool is_zero(Bytes bytes) {
  return std::ranges::all_of(bytes, [](std::byte byte) { return byte == std::byte{0}; });
}

void check_zero(Bytes bytes, std::string_view where) {
  ensure(is_zero(bytes), ErrorKind::corrupt,
         "CORE_TRAILING_DATA: {}: expected zeros where nothing lies", where);
}

void pad(std::string& out, std::int64_t bytes) { out.resize(static_cast<std::size_t>(bytes)); }

void check_header(Bytes file) {
  const std::int64_t size = std::ssize(file);
  const bool magic = size >= kHeaderBytes && text_of(file).starts_with(kHeaderMagic);
  ensure(magic, ErrorKind::corrupt, "CORE_MAGIC: is no core file, expected '{}' first",
         kHeaderMagic);
  const std::uint32_t revision = get_u32(file, kRevisionAt);
  ensure(revision == kContainerRevision, ErrorKind::unsupported,
         "CORE_CONTAINER_VERSION: is of revision {}, expected {}", revision, kContainerRevision);
  check_zero(part_of(file, 12, kHeaderBytes - 12), "header");
}

/// Where table and trailer lie.
struct TablePlace {
  std::int64_t offset = 0;
  std::int64_t count = 0;
};

TablePlace read_trailer(Bytes file) {
  const std::int64_t size = std::ssize(file);
  ensure(size >= kLeastFileBytes, ErrorKind::corrupt,
         "CORE_SECTION_RANGE: has {} bytes, expected at least {}", size, kLeastFileBytes);
  const std::int64_t at = size - kSignatureBytes - kTrailerBytes;
  const Bytes trailer = part_of(file, at, kTrailerBytes);
  ensure(text_of(trailer).starts_with(kTrailerMagic), ErrorKind::corrupt,
         "CORE_SECTION_RANGE: has no trailer '{}' at byte {}: the file is cut off or has a tail",
         kTrailerMagic, at);
  const std::int64_t said = get_i64(trailer, kFileBytesAt);
  ensure(said == size, ErrorKind::corrupt,
         "CORE_SECTION_RANGE: has {} bytes, expected {} as its trailer says", size, said);
  check_zero(part_of(trailer, 12, 4), "trailer");
  check_zero(trailer.subspan(kTrailerEnd), "trailer");
  const TablePlace place{.offset = get_i64(trailer, kTableAt),
                         .count = std::int64_t{get_u32(trailer, kCountAt)}};
  ensure(place.count <= kMostSections, ErrorKind::corrupt,
         "CORE_SECTION_RANGE: has {} sections, expected at most {}", place.count, kMostSections);
  ensure(place.offset == at - place.count * kEntryBytes && place.offset >= kHeaderBytes,
         ErrorKind::corrupt, "CORE_SECTION_RANGE: table of {} sections at byte {}, expected at {}",
         place.count, place.offset, at - place.count * kEntryBytes);
  return place;
}

SectionEntry read_entry(Bytes bytes) {
  const std::uint32_t flags = get_u32(bytes, kFlagsAt);
  SectionEntry entry{.kind = get_u32(bytes, 0),
                     .required = flags == kRequired,
                     .offset = get_i64(bytes, kOffsetAt),
                     .bytes = get_i64(bytes, kBytesAt),
                     .alignment = std::int64_t{get_u32(bytes, kAlignmentAt)},
                     .leaf_bytes = get_i64(bytes, kLeafBytesAt)};
  const std::string name = section_name(entry.kind);
  ensure(flags <= kRequired, ErrorKind::unsupported,
         "CORE_CONTAINER_VERSION: {}: has flags {}, expected 0 or 1", name, flags);
  const std::uint32_t digest_kind = get_u32(bytes, kDigestKindAt);
  ensure(digest_kind == kBlake2b, ErrorKind::unsupported,
         "CORE_CONTAINER_VERSION: {}: has a digest of kind {}, expected {}", name, digest_kind,
         kBlake2b);
  const Bytes digest = bytes.subspan(kDigestAt, sizeof(Digest));
  std::ranges::transform(digest, entry.digest.begin(),
                         [](std::byte byte) { return std::to_integer<std::uint8_t>(byte); });
  check_zero(bytes.subspan(kEntryEnd), name);
  return entry;
}

void check_entry(const SectionEntry& entry, std::int64_t end, std::int64_t table_offset) {
  const std::string name = section_name(entry.kind);
  const std::int64_t alignment =
      entry.kind == static_cast<std::uint32_t>(SectionKind::weights) ? kPageBytes : kPlainAlignment;
  ensure(entry.alignment == alignment, ErrorKind::corrupt,
         "CORE_SECTION_RANGE: {}: is aligned to {}, expected {}", name, entry.alignment, alignment);
  ensure(entry.offset == aligned(end, alignment), ErrorKind::corrupt,
         "CORE_SECTION_RANGE: {}: lies at {}, expected {}, where the part before it ends", name,
         entry.offset, aligned(end, alignment));
  const bool inside = entry.bytes >= 0 && entry.offset <= table_offset &&
                      entry.bytes <= table_offset - entry.offset;
  ensure(inside, ErrorKind::corrupt,
         "CORE_SECTION_RANGE: {}: {} bytes at {} pass byte {}, where the table begins", name,
         entry.bytes, entry.offset, table_offset);
  const bool leaves = entry.leaf_bytes == 0 ||
                      (entry.leaf_bytes % kPageBytes == 0 && entry.leaf_bytes >= kPageBytes &&
                       entry.leaf_bytes <= kMostLeafBytes);
  ensure(leaves, ErrorKind::corrupt,
         "CORE_SECTION_RANGE: {}: has leaves of {} bytes, expected a multiple of {} up to {}", name,
         entry.leaf_bytes, kPageBytes, kMostLeafBytes);
}

std::vector<SectionEntry> read_table(Bytes file, const TablePlace& place) {
  std::vector<SectionEntry> sections;
  std::int64_t end = kHeaderBytes;
  for (std::int64_t i = 0; i < place.count; ++i) {
    const SectionEntry entry =
        read_entry(part_of(file, place.offset + i * kEntryBytes, kEntryBytes));
    check_entry(entry, end, place.offset);
    check_zero(part_of(file, end, entry.offset - end),
               fmt::format("before {}", section_name(entry.kind)));
    end = entry.offset + entry.bytes;
    sections.push_back(entry);
  }
  ensure(aligned(end, kPlainAlignment) == place.offset, ErrorKind::corrupt,
         "CORE_SECTION_RANGE: the table lies at {}, expected {}, where sections end", place.offset,
         aligned(end, kPlainAlignment));
  check_zero(part_of(file, end, place.offset - end), "before the table");
  return sections;
}

std::vector<SignatureSlot> read_signatures(Bytes block) {
  std::vector<SignatureSlot> slots;
  for (std::int64_t i = 0; i < kSignatureSlots; ++i) {
    const Bytes bytes = part_of(block, i * kSlotBytes, kSlotBytes);
    if (is_zero(bytes)) continue;
    ensure(std::ssize(slots) == i, ErrorKind::corrupt,
           "SIG_INVALID: signature {} follows an empty place", i + 1);
    SignatureSlot slot{.algorithm = get_u32(bytes, 0)};
    check_zero(part_of(bytes, 4, 4), "signatures");
    check_zero(bytes.subspan(kSlotEnd), "signatures");
    const std::string_view text = text_of(bytes);
    std::copy_n(text.begin() + kKeyAt, slot.key.size(), slot.key.begin());
    std::copy_n(text.begin() + kSignatureAt, slot.signature.size(), slot.signature.begin());
    slots.push_back(slot);
  }
  return slots;
}

}  // namespace

std::string section_name(std::uint32_t kind) {
  switch (static_cast<SectionKind>(kind)) {
    case SectionKind::contract:
      return "contract";
    case SectionKind::tokenizer:
      return "tokenizer";
    case SectionKind::chat_template:
      return "chat_template";
    case SectionKind::asset:
      return "asset";
    case SectionKind::weights:
      return "weights";
    case SectionKind::leaves:
      return "leaves";
  }
  return fmt::format("section {}", kind);
}

std::string header_bytes() {
  std::string out(kHeaderMagic);
  put_u32(out, kContainerRevision);
  pad(out, kHeaderBytes);
  return out;
}

std::string table_bytes(std::span<const SectionEntry> sections, std::int64_t table_offset) {
  std::string out;
  for (const SectionEntry& section : sections) {
    const std::int64_t end = std::ssize(out) + kEntryBytes;
    put_u32(out, section.kind);
    put_u32(out, section.required ? kRequired : 0);
    put_i64(out, section.offset);
    put_i64(out, section.bytes);
    put_u32(out, static_cast<std::uint32_t>(section.alignment));
    put_u32(out, kBlake2b);
    put_i64(out, section.leaf_bytes);
    out.append(section.digest.begin(), section.digest.end());
    pad(out, end);
  }
  const std::int64_t end = std::ssize(out) + kTrailerBytes;
  out += kTrailerMagic;
  put_u32(out, static_cast<std::uint32_t>(sections.size()));
  put_u32(out, 0);
  put_i64(out, table_offset);
  put_i64(out, table_offset + end + kSignatureBytes);
  pad(out, end);
  return out;
}

std::string signature_bytes(std::span<const SignatureSlot> slots) {
  std::string out;
  for (const SignatureSlot& slot : slots) {
    const std::int64_t end = std::ssize(out) + kSlotBytes;
    put_u32(out, slot.algorithm);
    put_u32(out, 0);
    out.append(slot.key.begin(), slot.key.end());
    out.append(slot.signature.begin(), slot.signature.end());
    pad(out, end);
  }
  pad(out, kSignatureBytes);
  return out;
}

std::string manifest_of(std::string_view header, std::string_view table) {
  std::string out(kManifestText);
  put_i64(out, std::ssize(header) + std::ssize(table));
  out += header;
  out += table;
  return out;
}

std::int64_t aligned(std::int64_t offset, std::int64_t alignment) {
  return (offset + alignment - 1) / alignment * alignment;
}

std::int64_t leaf_count(const SectionEntry& section) {
  if (section.leaf_bytes == 0) return 0;
  return (section.bytes + section.leaf_bytes - 1) / section.leaf_bytes;
}

CoreLayout read_layout(Bytes file) {
  check_header(file);
  const TablePlace place = read_trailer(file);
  const std::int64_t end = std::ssize(file) - kSignatureBytes;
  return {.sections = read_table(file, place),
          .signatures = read_signatures(part_of(file, end, kSignatureBytes)),
          .manifest = manifest_of(text_of(part_of(file, 0, kHeaderBytes)),
                                  text_of(part_of(file, place.offset, end - place.offset)))};
}

}  // namespace parhelion::contract
