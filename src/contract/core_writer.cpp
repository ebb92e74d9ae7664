#include "contract/core_writer.h"

#include "base/error.h"

#include <algorithm>
#include <google/protobuf/stubs/common.h>
#include <sodium.h>

namespace parhelion::contract {
namespace {

Bytes bytes_of_text(std::string_view text) { return std::as_bytes(std::span(text)); }

SignatureSlot signature_slot(std::string_view manifest, const SecretKey& secret) {
  return {.algorithm = kEd25519,
          .key = key_id(public_key(secret)),
          .signature = sign(bytes_of_text(manifest), secret)};
}

}  // namespace

std::vector<std::string> library_versions() {
  return {"protobuf " + google::protobuf::internal::VersionString(GOOGLE_PROTOBUF_VERSION),
          std::string("libsodium ") + ::sodium_version_string()};
}

CoreWriter::CoreWriter(const std::filesystem::path& path, CoreOptions options)
    : file_(path), options_(std::move(options)), leaves_(options_.leaf_bytes) {
  ensure(options_.leaf_bytes >= kPageBytes && options_.leaf_bytes % kPageBytes == 0 &&
             options_.leaf_bytes <= kMostLeafBytes,
         ErrorKind::invalid, "core: leaves of {} bytes, expected a multiple of {} up to {}",
         options_.leaf_bytes, kPageBytes, kMostLeafBytes);
  ensure(std::ssize(options_.keys) <= kSignatureSlots, ErrorKind::invalid,
         "core: {} keys, expected at most {}", options_.keys.size(), kSignatureSlots);
  put(header_bytes());
  pad_to(kPageBytes);
}

void CoreWriter::put(std::string_view bytes) {
  file_.write(bytes);
  end_ += std::ssize(bytes);
}

void CoreWriter::pad_to(std::int64_t alignment) {
  put(std::string(static_cast<std::size_t>(aligned(end_, alignment) - end_), '\0'));
}

void CoreWriter::close_weight() {
  ensure(missing_bytes_ == 0, ErrorKind::invalid, "core: weight '{}' lacks {} bytes",
         weights_.empty() ? "" : weights_.back().name, missing_bytes_);
  const std::string zeros(static_cast<std::size_t>(aligned(end_, kWeightAlignment) - end_), '\0');
  leaves_.append(bytes_of_text(zeros));
  put(zeros);
}

void CoreWriter::weight(std::string_view name, const ir::TensorType& type) {
  close_weight();
  missing_bytes_ = ir::byte_count(type);
  weights_.push_back({.name = std::string(name),
                      .type = type,
                      .offset = end_ - kPageBytes,
                      .bytes = missing_bytes_});
}

void CoreWriter::append(std::span<const std::byte> bytes) {
  ensure(std::ssize(bytes) <= missing_bytes_, ErrorKind::invalid,
         "core: weight '{}' got {} bytes, expected at most {} more",
         weights_.empty() ? "" : weights_.back().name, bytes.size(), missing_bytes_);
  leaves_.append(bytes);
  file_.write(bytes);
  end_ += std::ssize(bytes);
  missing_bytes_ -= std::ssize(bytes);
}

void CoreWriter::share(std::string_view name, const ir::TensorType& type, std::string_view with) {
  close_weight();
  const auto at = std::ranges::find(weights_, with, &WeightPlace::name);
  ensure(at != weights_.end() && at->type == type, ErrorKind::invalid,
         "core: weight '{}' is to share the bytes of '{}', which is not there as {}", name, with,
         ir::to_string(type));
  WeightPlace place = *at;
  place.name = name;
  weights_.push_back(std::move(place));
}

void CoreWriter::section(SectionKind kind, std::string_view bytes) {
  pad_to(kPlainAlignment);
  const auto number = static_cast<std::uint32_t>(kind);
  sections_.push_back(
      {.kind = number,
       .offset = end_,
       .bytes = std::ssize(bytes),
       .digest = section_digest(number, std::ssize(bytes), 0, bytes_of_text(bytes))});
  put(bytes);
}

void CoreWriter::finish(const Contract& contract) {
  close_weight();
  const std::int64_t weights_bytes = end_ - kPageBytes;
  const EncodedContract encoded{.contract = contract, .weights = weights_};
  check_encoded(encoded, weights_bytes);
  const std::string leaves = leaves_.finish();
  const auto weights_number = static_cast<std::uint32_t>(SectionKind::weights);
  sections_.push_back({.kind = weights_number,
                       .offset = kPageBytes,
                       .bytes = weights_bytes,
                       .alignment = kPageBytes,
                       .leaf_bytes = options_.leaf_bytes,
                       .digest = section_digest(weights_number, weights_bytes, options_.leaf_bytes,
                                                bytes_of_text(leaves))});
  section(SectionKind::contract, encode(contract, weights_));
  const Frontend& frontend = contract.frontend;
  if (!frontend.tokenizer.empty()) section(SectionKind::tokenizer, frontend.tokenizer);
  if (!frontend.chat_template.empty()) section(SectionKind::chat_template, frontend.chat_template);
  for (const Asset& asset : frontend.assets) section(SectionKind::asset, asset.bytes);
  section(SectionKind::leaves, leaves);
  pad_to(kPlainAlignment);
  const std::string table = table_bytes(sections_, end_);
  put(table);
  const std::string manifest = manifest_of(header_bytes(), table);
  std::vector<SignatureSlot> slots;
  for (const SecretKey& key : options_.keys) slots.push_back(signature_slot(manifest, key));
  put(signature_bytes(slots));
  file_.commit();
}

void write_core(const std::filesystem::path& path, const Contract& contract,
                std::span<const WeightBytes> weights, const CoreOptions& options) {
  CoreWriter writer(path, options);
  for (const WeightBytes& weight : weights) {
    writer.weight(weight.name, weight.type);
    writer.append(weight.bytes);
  }
  writer.finish(contract);
}

}  // namespace parhelion::contract
