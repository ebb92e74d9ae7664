#include "train/checkpoint/manifest.h"

#include "base/error.h"
#include "base/hash.h"

#include <algorithm>
#include <set>
#include <span>
#include <utility>

namespace parhelion::train {
namespace {

constexpr std::string_view kManifestFormat = "parhelion-training-checkpoint";
constexpr std::int64_t kManifestVersion = 1;
constexpr std::string_view kManifestHashKey = "xxh128";

/// The members of one JSON object of a manifest, each read once and in any order.
class ManifestMembers {
 public:
  ManifestMembers(const Json& object, std::string where)
      : object_(object), where_(std::move(where)) {
    ensure(object.is_object(), ErrorKind::corrupt, "{}: is {}, expected object", where_,
           object.type_name());
  }

  const Json& any(std::string_view key) {
    read_.insert(key);
    const Json* value = object_.find(key);
    ensure(value != nullptr, ErrorKind::corrupt, "{}: {} is missing", where_, key);
    return *value;
  }
  std::int64_t size(std::string_view key) {
    const Json& value = any(key);
    const bool fits =
        value.is_integer() && value.as_double(key) >= 0 && value.as_double(key) < 0x1p63;
    ensure(fits, ErrorKind::corrupt, "{}: {} is {}, expected an integer in [0, 2^63)", where_, key,
           write_json(value));
    return value.as_int64(key);
  }
  const std::string& text(std::string_view key) {
    const Json& value = any(key);
    ensure(value.is_string(), ErrorKind::corrupt, "{}: {} is {}, expected string", where_, key,
           value.type_name());
    return value.as_string(key);
  }
  const Json::Array& array(std::string_view key) {
    const Json& value = any(key);
    ensure(value.is_array(), ErrorKind::corrupt, "{}: {} is {}, expected array", where_, key,
           value.type_name());
    return value.as_array(key);
  }
  void finish() const {
    for (const auto& [key, value] : object_.as_object(where_))
      ensure(read_.contains(key), ErrorKind::corrupt, "{}: member '{}' is unknown", where_, key);
  }

 private:
  const Json& object_;
  std::string where_;
  std::set<std::string_view> read_;
};

std::string manifest_hash(const Json::Object& members) {
  const std::string text = write_json(members);
  return hex(hash128(std::as_bytes(std::span(text))));
}

/// All members but the hash, in the order of the file.
Json::Object said_members(const Json& manifest, std::string_view where) {
  Json::Object members;
  for (const Json::Member& member : manifest.as_object(where)) {
    if (member.first != kManifestHashKey) members.push_back(member);
  }
  return members;
}

Json file_record_json(const FileRecord& file) {
  return Json::Object{{"name", file.name}, {"bytes", file.bytes}, {"xxh128", file.xxh128}};
}

FileRecord parse_file_record(const Json& json, std::string_view where) {
  ManifestMembers members(json, fmt::format("{}: files", where));
  FileRecord file{.name = members.text("name"),
                  .bytes = members.size("bytes"),
                  .xxh128 = members.text("xxh128")};
  members.finish();
  ensure(is_plain_file_name(file.name) && file.name != kManifestName, ErrorKind::corrupt,
         "{}: files: {} is no name of a file in the checkpoint's own directory", where,
         write_json(file.name));
  return file;
}

std::vector<FileRecord> parse_file_records(const Json::Array& array, std::string_view where) {
  std::vector<FileRecord> files;
  std::set<std::string> names;
  for (const Json& json : array) {
    files.push_back(parse_file_record(json, where));
    ensure(names.insert(files.back().name).second, ErrorKind::corrupt,
           "{}: files: '{}' comes twice", where, files.back().name);
  }
  return files;
}

/// The hash first: what is damaged is no manifest of another version.
void check_manifest_form(ManifestMembers& members, const Json& json, std::string_view where) {
  const std::string& format = members.text("format");
  ensure(members.text(kManifestHashKey) == manifest_hash(said_members(json, where)),
         ErrorKind::corrupt, "{}: its hash does not fit what it says", where);
  ensure(format == kManifestFormat, ErrorKind::unsupported, "{}: format is '{}', expected '{}'",
         where, format, kManifestFormat);
  const std::int64_t version = members.size("version");
  ensure(version == kManifestVersion, ErrorKind::unsupported,
         "{}: version is {}, this program reads version {}", where, version, kManifestVersion);
}

}  // namespace

bool is_plain_file_name(std::string_view name) {
  return !name.empty() && name != "." && name != ".." &&
         name.find_first_of(std::string_view("/\0", 2)) == std::string_view::npos;
}

std::string manifest_text(const Manifest& manifest) {
  const CheckpointFacts& facts = manifest.facts;
  Json::Array files;
  for (const FileRecord& file : manifest.files) files.push_back(file_record_json(file));
  Json::Object members{{"format", kManifestFormat}, {"version", kManifestVersion},
                       {"step", facts.step},        {"tokens_seen", facts.tokens_seen},
                       {"seed", facts.seed},        {"job_digest", facts.job_digest},
                       {"job", facts.job},          {"data_position", facts.data_position},
                       {"metrics", facts.metrics},  {"files", std::move(files)}};
  std::string hash = manifest_hash(members);
  members.emplace_back(kManifestHashKey, std::move(hash));
  return write_json(members) + "\n";
}

Manifest parse_manifest(std::string_view text, std::string_view where) {
  const Json json = parse_json(text, where);
  ManifestMembers members(json, std::string(where));
  check_manifest_form(members, json, where);
  Manifest manifest{.facts = {.step = members.size("step"),
                              .tokens_seen = members.size("tokens_seen"),
                              .seed = members.size("seed"),
                              .job_digest = members.text("job_digest"),
                              .job = members.any("job"),
                              .data_position = members.any("data_position"),
                              .metrics = members.any("metrics")},
                    .files = parse_file_records(members.array("files"), where)};
  members.finish();
  return manifest;
}

}  // namespace parhelion::train
