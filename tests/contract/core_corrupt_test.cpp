#include "base/error.h"
#include "contract/small_core.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

namespace parhelion::contract {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Property;
using testing::StartsWith;
using testing::Throws;

auto refuses_file(ErrorKind kind, const std::string& message) {
  return Throws<Error>(AllOf(Property(&Error::kind, kind),
                             Property(&Error::what, StartsWith("m: ")),
                             Property(&Error::what, HasSubstr(message))));
}

auto reading(const std::string& file) {
  return [&file] { read_core(as_bytes(file), "m", trust_in_any()); };
}

/// The part of a small core that has a byte.
std::string part_at(const CoreLayout& layout, std::size_t at) {
  for (const SectionEntry& section : layout.sections)
    if (static_cast<std::int64_t>(at) < section.offset + section.bytes)
      return section_name(section.kind);
  return "end";
}

bool is_named(const Error& error) {
  const std::string text = error.what();
  return text.starts_with("m: CORE_") || text.starts_with("m: SIG_") || text.starts_with("m: OP_");
}

/// Expects that a changed file is refused by a named error.
void expect_noticed(const std::string& file, const Trust& trust, const std::string& where) {
  try {
    read_core(as_bytes(file), "m", trust);
  } catch (const Error& error) {
    EXPECT_TRUE(is_named(error)) << where << ": " << error.what();
    return;
  }
  ADD_FAILURE() << where << ": was read";
}

TEST(CorruptCore, EveryTruncationIsNoticed) {
  const std::string file = small_core();
  for (std::size_t size = 0; size < file.size(); size += size < 4000 ? 97 : 61)
    expect_noticed(file.substr(0, size), trust_in_any(), std::to_string(size));
}

TEST(CorruptCore, ATruncationAtEachSectionIsNoticed) {
  const std::string file = small_core();
  for (const SectionEntry& section : read_layout(as_bytes(file)).sections) {
    for (const std::int64_t end :
         {section.offset - 1, section.offset, section.offset + 1, section.offset + section.bytes}) {
      const std::string part = file.substr(0, static_cast<std::size_t>(end));
      EXPECT_THAT(reading(part), refuses_file(ErrorKind::corrupt, "CORE_SECTION_RANGE: "));
    }
  }
}

TEST(CorruptCore, ATailIsNoticed) {
  const std::string file = small_core() + '\0';
  EXPECT_THAT(reading(file), refuses_file(ErrorKind::corrupt, "CORE_SECTION_RANGE: "));
}

// Several bits of each byte of header, table, trailer and signature, one bit of every fifth byte of
// the rest.
TEST(CorruptCore, EveryFlippedByteIsNoticed) {
  const std::string file = small_core();
  const CoreLayout layout = read_layout(as_bytes(file));
  const std::size_t tail = static_cast<std::size_t>(std::ssize(layout.manifest) + kSignatureBytes);
  const std::size_t empty_places =
      file.size() - static_cast<std::size_t>(kSignatureBytes - kSlotBytes);
  for (std::size_t at = 0; at < empty_places; ++at) {
    const bool dense = at < 64 || at + tail > file.size();
    if (!dense && at % 5 != 0) continue;
    for (int bit = dense ? 0 : static_cast<int>(at % 8); bit < 8; bit += dense ? 3 : 8) {
      std::string changed = file;
      changed[at] = static_cast<char>(changed[at] ^ (1 << bit));
      expect_noticed(changed, trust_in(kSmallSecret),
                     fmt::format("byte {} bit {} in {}", at, bit, part_at(layout, at)));
    }
  }
}

TEST(CorruptCore, AFlippedByteInAnEmptyPlaceForASignatureChangesNoContent) {
  const std::string file = small_core();
  const Core core = read_core(as_bytes(file), "m", trust_in(kSmallSecret));
  for (std::size_t at = file.size() - static_cast<std::size_t>(kSignatureBytes - kSlotBytes);
       at < file.size(); ++at) {
    std::string changed = file;
    changed[at] = 1;
    try {
      EXPECT_EQ(read_core(as_bytes(changed), "m", trust_in(kSmallSecret)).digest, core.digest);
    } catch (const Error& error) {
      EXPECT_TRUE(is_named(error)) << at << ": " << error.what();
    }
  }
}

TEST(CorruptCore, AFlippedByteOfUnsignedContentIsNoticed) {
  const std::string file = small_core({});
  const std::size_t end = file.size() - static_cast<std::size_t>(kSignatureBytes);
  for (std::size_t at = 3; at < end; at += 37) {
    std::string changed = file;
    changed[at] = static_cast<char>(changed[at] ^ 16);
    expect_noticed(changed, trust_in_any(), std::to_string(at));
  }
}

TEST(CorruptCore, ABrokenLeafIsNamed) {
  std::string file = small_core();
  const SectionEntry weights = read_layout(as_bytes(file)).sections.front();
  ASSERT_GT(weights.bytes, kPageBytes);
  file[static_cast<std::size_t>(weights.offset + kPageBytes + 5)] ^= 1;
  EXPECT_THAT(reading(file),
              refuses_file(ErrorKind::corrupt,
                           "CORE_LEAF_DIGEST: weights: leaf 2 of 2, at byte 8192, has another "
                           "digest than was written"));
}

TEST(CorruptCore, AnotherMagicIsNamed) {
  std::string file = small_core();
  file[0] = 'p';
  EXPECT_THAT(reading(file), refuses_file(ErrorKind::corrupt, "CORE_MAGIC: is no core file"));
  const std::string empty;
  EXPECT_THAT(reading(empty), refuses_file(ErrorKind::corrupt, "CORE_MAGIC: is no core file"));
}

TEST(CorruptCore, AnotherContainerIsNotSupported) {
  std::string file = small_core();
  file[8] = 1;
  EXPECT_THAT(reading(file), refuses_file(ErrorKind::unsupported,
                                          "CORE_CONTAINER_VERSION: is of revision 1, expected 0"));
}

/// The file with its table made of `sections`, each as it is.
std::string with_table(const std::string& file, const std::vector<SectionEntry>& sections) {
  const CoreLayout layout = read_layout(as_bytes(file));
  const SectionEntry& last = layout.sections.back();
  const std::int64_t table = aligned(last.offset + last.bytes, kPlainAlignment);
  return file.substr(0, static_cast<std::size_t>(table)) + table_bytes(sections, table) +
         signature_bytes({});
}

TEST(CorruptCore, SectionsThatOverlapAreRefused) {
  const std::string file = small_core();
  std::vector<SectionEntry> sections = read_layout(as_bytes(file)).sections;
  sections[2].offset -= kPlainAlignment;
  const std::string changed = with_table(file, sections);
  EXPECT_THAT(reading(changed),
              refuses_file(ErrorKind::corrupt, "CORE_SECTION_RANGE: tokenizer: lies at"));
}

TEST(CorruptCore, SectionsOutsideTheFileAreRefused) {
  const std::string file = small_core();
  for (const std::int64_t bytes : {std::int64_t{-1}, std::int64_t{1} << 40, INT64_MAX}) {
    std::vector<SectionEntry> sections = read_layout(as_bytes(file)).sections;
    sections[1].bytes = bytes;
    const std::string changed = with_table(file, sections);
    EXPECT_THAT(reading(changed),
                refuses_file(ErrorKind::corrupt, "CORE_SECTION_RANGE: contract: "));
  }
}

TEST(CorruptCore, AnOddAlignmentIsRefused) {
  const std::string file = small_core();
  std::vector<SectionEntry> sections = read_layout(as_bytes(file)).sections;
  sections[0].alignment = 0;
  const std::string changed = with_table(file, sections);
  EXPECT_THAT(reading(changed),
              refuses_file(ErrorKind::corrupt,
                           "CORE_SECTION_RANGE: weights: is aligned to 0, expected 4096"));
}

TEST(CorruptCore, LeavesOfOddSizeAreRefused) {
  const std::string file = small_core();
  for (const std::int64_t leaf : {std::int64_t{-4096}, std::int64_t{1}, std::int64_t{1} << 31}) {
    std::vector<SectionEntry> sections = read_layout(as_bytes(file)).sections;
    sections[0].leaf_bytes = leaf;
    const std::string changed = with_table(file, sections);
    EXPECT_THAT(reading(changed),
                refuses_file(ErrorKind::corrupt, "CORE_SECTION_RANGE: weights: has leaves of"));
  }
}

TEST(CorruptCore, AnOversizedCountOfSectionsIsRefused) {
  std::string file = small_core();
  const std::size_t trailer =
      file.size() - static_cast<std::size_t>(kSignatureBytes + kTrailerBytes);
  for (std::size_t i = 0; i < 4; ++i) file[trailer + 8 + i] = '\xff';
  EXPECT_THAT(reading(file),
              refuses_file(ErrorKind::corrupt, "CORE_SECTION_RANGE: has 4294967295 sections"));
}

TEST(CorruptCore, BytesBetweenSectionsAreZero) {
  std::string file = small_core();
  file[100] = 1;
  EXPECT_THAT(reading(file),
              refuses_file(ErrorKind::corrupt, "CORE_TRAILING_DATA: before weights"));
}

TEST(CorruptCore, ASectionThatIsMissingIsNamed) {
  const std::string file = small_core();
  const std::array<std::string, 3> needed = {"weights", "contract", "leaves"};
  for (const std::string& name : needed) {
    CoreParts parts = take_apart(file);
    for (std::size_t i = 0; i < parts.sections.size(); ++i) {
      if (section_name(parts.sections[i].kind) != name) continue;
      parts.sections.erase(parts.sections.begin() + static_cast<std::ptrdiff_t>(i));
      parts.contents.erase(parts.contents.begin() + static_cast<std::ptrdiff_t>(i));
    }
    const std::string changed = put_together(parts);
    EXPECT_THAT(reading(changed), refuses_file(ErrorKind::corrupt, "CORE_SECTION_RANGE: ")) << name;
  }
}

TEST(CorruptCore, ASectionOfWhichThereIsOneIsNotThereTwice) {
  CoreParts parts = take_apart(small_core());
  parts.sections.push_back(parts.sections[1]);
  parts.contents.push_back(parts.contents[1]);
  const std::string changed = put_together(parts);
  EXPECT_THAT(reading(changed),
              refuses_file(ErrorKind::corrupt, "CORE_SECTION_RANGE: contract: there are 2"));
}

TEST(CorruptCore, AnUnknownSectionIsPassedOverUnlessItIsRequired) {
  CoreParts parts = take_apart(small_core());
  parts.sections.push_back({.kind = 77, .required = false});
  parts.contents.push_back("later");
  const std::string optional = put_together(parts);
  EXPECT_NO_THROW(read_core(as_bytes(optional), "m", trust_in_any()));
  parts.sections.back().required = true;
  const std::string required = put_together(parts);
  EXPECT_THAT(reading(required),
              refuses_file(ErrorKind::unsupported, "CORE_FEATURE_UNKNOWN: needs section 77"));
}

TEST(CorruptCore, AContractThatIsNoneIsNamed) {
  CoreParts parts = take_apart(small_core());
  parts.contents[1] = "no contract";
  const std::string changed = put_together(parts);
  EXPECT_THAT(reading(changed), refuses_file(ErrorKind::corrupt, "CORE_CONTRACT_PARSE: "));
}

TEST(CorruptCore, AMissingAssetIsNamed) {
  CoreParts parts = take_apart(small_core());
  ASSERT_EQ(section_name(parts.sections[4].kind), "asset");
  parts.sections.erase(parts.sections.begin() + 4);
  parts.contents.erase(parts.contents.begin() + 4);
  const std::string changed = put_together(parts);
  EXPECT_THAT(reading(changed), refuses_file(ErrorKind::corrupt,
                                             "CORE_SECTION_RANGE: asset: there are 0, expected 1"));
}

TEST(CorruptCore, AChangedContractIsCheckedAsAWhole) {
  CoreParts parts = take_apart(small_core());
  Contract contract = full_contract();
  const EncodedContract good = decode(as_bytes(parts.contents[1]));
  contract.catalogue[0][ir::Symbol::rows] = 1 << 30;
  parts.contents[1] = encode(contract, good.weights);
  const std::string changed = put_together(parts);
  EXPECT_THAT(reading(changed),
              refuses_file(ErrorKind::corrupt, "CORE_CONTRACT_INVALID: extend, instance 1: "));
}

}  // namespace
}  // namespace parhelion::contract
