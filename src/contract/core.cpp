#include "contract/core.h"

#include "base/error.h"
#include "base/in_context.h"
#include "contract/core_layout.h"
#include "contract/encoding.h"

#include <algorithm>
#include <cstring>
#include <map>

namespace parhelion::contract {
namespace {

constexpr std::size_t kMagicBytes = 8;

Bytes content_of(Bytes file, const SectionEntry& section) {
  return file.subspan(static_cast<std::size_t>(section.offset),
                      static_cast<std::size_t>(section.bytes));
}

std::string text_of_section(Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// The sections of one kind.
std::vector<const SectionEntry*> sections_of(const CoreLayout& layout, SectionKind kind) {
  std::vector<const SectionEntry*> result;
  for (const SectionEntry& section : layout.sections)
    if (section.kind == static_cast<std::uint32_t>(kind)) result.push_back(&section);
  return result;
}

const SectionEntry* section_if_there(const CoreLayout& layout, SectionKind kind) {
  const std::vector<const SectionEntry*> found = sections_of(layout, kind);
  ensure(found.size() <= 1, ErrorKind::corrupt,
         "CORE_SECTION_RANGE: {}: there are {}, expected one",
         section_name(static_cast<std::uint32_t>(kind)), found.size());
  return found.empty() ? nullptr : found.front();
}

const SectionEntry& only_section(const CoreLayout& layout, SectionKind kind) {
  const SectionEntry* found = section_if_there(layout, kind);
  ensure(found != nullptr, ErrorKind::corrupt, "CORE_SECTION_RANGE: {}: is missing",
         section_name(static_cast<std::uint32_t>(kind)));
  return *found;
}

void check_kinds(const CoreLayout& layout) {
  for (const SectionEntry& section : layout.sections) {
    const bool known = section.kind >= static_cast<std::uint32_t>(SectionKind::contract) &&
                       section.kind <= static_cast<std::uint32_t>(SectionKind::leaves);
    ensure(known || !section.required, ErrorKind::unsupported,
           "CORE_FEATURE_UNKNOWN: needs {}, which this build does not know",
           section_name(section.kind));
  }
}

/// What the signatures of a core say to who trusts some keys.
struct Verdict {
  Signed state = Signed::by_nobody;
  std::string signer = {};
  bool revoked = false;
  bool other_algorithm = false;
};

/// A key that is revoked anywhere in the trust store is not trusted by another line of it.
void judge_signature(const SignatureSlot& slot, const Trust& trust, Bytes manifest,
                     Verdict& verdict) {
  const TrustedKey* trusted = nullptr;
  for (const TrustedKey& key : trust.keys) {
    if (key_id(key.key) != slot.key) continue;
    if (trusted == nullptr || key.revoked) trusted = &key;
  }
  if (trusted == nullptr) return;
  if (trusted->revoked) {
    verdict.revoked = true;
    return;
  }
  ensure(is_signature(slot.signature, manifest, trusted->key), ErrorKind::corrupt,
         "SIG_INVALID: the signature of key {} is not one of this file", hex(slot.key));
  verdict.state = Signed::by_trusted_key;
  verdict.signer = trusted->label;
}

Verdict judge_signatures(const CoreLayout& layout, const Trust& trust) {
  Verdict verdict;
  for (const SignatureSlot& slot : layout.signatures) {
    if (verdict.state == Signed::by_nobody) verdict.state = Signed::by_other_key;
    if (slot.algorithm != kEd25519) {
      verdict.other_algorithm = true;
      continue;
    }
    const bool twice = std::ranges::count(layout.signatures, slot.key, &SignatureSlot::key) > 1;
    ensure(!twice, ErrorKind::corrupt, "SIG_INVALID: key {} signs twice", hex(slot.key));
    judge_signature(slot, trust, std::as_bytes(std::span(layout.manifest)), verdict);
  }
  return verdict;
}

void check_trust(const Verdict& verdict, const Trust& trust) {
  if (verdict.state == Signed::by_trusted_key || trust.allow_unsigned) return;
  ensure(verdict.state != Signed::by_nobody, ErrorKind::invalid,
         "SIG_MISSING: has no signature, expected one of a trusted key");
  ensure(!verdict.revoked, ErrorKind::invalid, "SIG_REVOKED: is signed by a revoked key");
  ensure(!verdict.other_algorithm, ErrorKind::unsupported,
         "SIG_ALGORITHM_UNKNOWN: is signed by an algorithm that this build does not know");
  fail(ErrorKind::invalid, "SIG_UNTRUSTED_KEY: is signed, but by none of {} trusted keys",
       trust.keys.size());
}

/// The digest of a section; that of one with leaves covers their digests.
void check_digest(const SectionEntry& section, Bytes content, Bytes leaves) {
  const Bytes covered = section.leaf_bytes == 0 ? content : leaves;
  const Digest digest = section_digest(section.kind, section.bytes, section.leaf_bytes, covered);
  ensure(digest == section.digest, ErrorKind::corrupt,
         "CORE_LEAF_DIGEST: {} at byte {}: its content has another digest than the table says",
         section_name(section.kind), section.offset);
  if (section.leaf_bytes == 0) return;
  const std::vector<std::int64_t> broken = broken_leaves(content, section.leaf_bytes, leaves);
  if (broken.empty()) return;
  fail(ErrorKind::corrupt,
       "CORE_LEAF_DIGEST: {}: leaf {} of {}, at byte {}, has another digest than was written",
       section_name(section.kind), broken.front() + 1, leaf_count(section),
       section.offset + broken.front() * section.leaf_bytes);
}

void check_digests(Bytes file, const CoreLayout& layout) {
  const SectionEntry& leaves = only_section(layout, SectionKind::leaves);
  const auto leaf_digest_bytes = static_cast<std::int64_t>(sizeof(Digest));
  std::int64_t needed = 0;
  for (const SectionEntry& section : layout.sections)
    needed += leaf_count(section) * leaf_digest_bytes;
  ensure(leaves.bytes == needed && leaves.leaf_bytes == 0, ErrorKind::corrupt,
         "CORE_SECTION_RANGE: leaves: has {} bytes, expected {}", leaves.bytes, needed);
  check_digest(leaves, content_of(file, leaves), {});
  Bytes rest = content_of(file, leaves);
  for (const SectionEntry& section : layout.sections) {
    if (&section == &leaves) continue;
    const auto own = static_cast<std::size_t>(leaf_count(section) * leaf_digest_bytes);
    check_digest(section, content_of(file, section), rest.first(own));
    rest = rest.subspan(own);
  }
}

void read_assets(Bytes file, const CoreLayout& layout, Frontend& frontend) {
  if (const SectionEntry* found = section_if_there(layout, SectionKind::tokenizer))
    frontend.tokenizer = text_of_section(content_of(file, *found));
  if (const SectionEntry* found = section_if_there(layout, SectionKind::chat_template))
    frontend.chat_template = text_of_section(content_of(file, *found));
  const std::vector<const SectionEntry*> assets = sections_of(layout, SectionKind::asset);
  ensure(assets.size() == frontend.assets.size(), ErrorKind::corrupt,
         "CORE_SECTION_RANGE: asset: there are {}, expected {}", assets.size(),
         frontend.assets.size());
  for (std::size_t i = 0; i < assets.size(); ++i)
    frontend.assets[i].bytes = text_of_section(content_of(file, *assets[i]));
}

std::vector<WeightView> weight_views(const EncodedContract& encoded, Bytes section) {
  std::map<std::string_view, const WeightPlace*> places;
  for (const WeightPlace& place : encoded.weights) places[place.name] = &place;
  std::vector<WeightView> views;
  for (const ir::Buffer& buffer : encoded.contract.extend.buffers) {
    if (buffer.role != ir::Role::parameter) continue;
    const WeightPlace& place = *places.at(buffer.name);
    views.push_back({.name = buffer.name,
                     .type = buffer.type,
                     .bytes = section.subspan(static_cast<std::size_t>(place.offset),
                                              static_cast<std::size_t>(place.bytes))});
  }
  return views;
}

std::string digest_text(const CoreLayout& layout) {
  return hex(digest_of(std::as_bytes(std::span(layout.manifest))));
}

Core read_checked(Bytes file, const Trust& trust) {
  const CoreLayout layout = read_layout(file);
  check_kinds(layout);
  const Verdict verdict = judge_signatures(layout, trust);
  check_trust(verdict, trust);
  check_digests(file, layout);
  const SectionEntry& weights = only_section(layout, SectionKind::weights);
  EncodedContract encoded = decode(content_of(file, only_section(layout, SectionKind::contract)));
  read_assets(file, layout, encoded.contract.frontend);
  check_encoded(encoded, weights.bytes);
  Core core{.contract = {},
            .weights = weight_views(encoded, content_of(file, weights)),
            .sections = {},
            .digest = digest_text(layout),
            .signature = verdict.state,
            .signer = verdict.signer,
            .revision = encoded.revision,
            .file = {}};
  core.contract = std::move(encoded.contract);
  for (const SectionEntry& section : layout.sections)
    core.sections.push_back({.name = section_name(section.kind),
                             .offset = section.offset,
                             .bytes = content_of(file, section)});
  return core;
}

}  // namespace

std::string_view name(Signed state) {
  switch (state) {
    case Signed::by_trusted_key:
      return "signed by a trusted key";
    case Signed::by_other_key:
      return "signed, but by no trusted key";
    case Signed::by_nobody:
      return "unsigned";
  }
  return "unknown";
}

bool is_core(const std::filesystem::path& path) {
  if (!std::filesystem::is_regular_file(path)) return false;
  if (path.extension() == ".core") return true;
  const MappedFile file(path);
  const std::string magic = header_bytes().substr(0, kMagicBytes);
  return file.bytes().size() >= kMagicBytes &&
         std::memcmp(file.bytes().data(), magic.data(), kMagicBytes) == 0;
}

Core read_core(std::span<const std::byte> file, std::string_view where, const Trust& trust) {
  return in_context(where, [&] { return read_checked(file, trust); });
}

Core read_core(const std::filesystem::path& path, const Trust& trust) {
  const auto file = std::make_shared<const MappedFile>(path);
  Core core = read_core(file->bytes(), path.string(), trust);
  core.file = file;
  return core;
}

void sign_core(const std::filesystem::path& path, const SecretKey& secret) {
  const Core core = read_core(path, {.allow_unsigned = true});
  const Bytes file = core.file->bytes();
  CoreLayout layout = read_layout(file);
  const KeyId key = key_id(public_key(secret));
  std::erase_if(layout.signatures, [&](const SignatureSlot& slot) { return slot.key == key; });
  ensure(std::ssize(layout.signatures) < kSignatureSlots, ErrorKind::invalid,
         "{}: has {} signatures, expected a free place", path.string(), kSignatureSlots);
  layout.signatures.push_back(
      {.algorithm = kEd25519,
       .key = key,
       .signature = sign(std::as_bytes(std::span(layout.manifest)), secret)});
  AtomicFile out(path);
  out.write(file.first(file.size() - static_cast<std::size_t>(kSignatureBytes)));
  out.write(signature_bytes(layout.signatures));
  out.commit();
}

}  // namespace parhelion::contract
