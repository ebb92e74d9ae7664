// A manifest.json as it stands, then with a hash that fits what it says, so that members are read
// too: read, or refused as bad input; never a crash or an error of our own. What is read names no
// file outside its directory and is written back as the same manifest.

#include "base/error.h"
#include "base/hash.h"
#include "base/json.h"
#include "fuzz/fuzz.h"
#include "train/checkpoint/manifest.h"

#include <cstdlib>
#include <span>
#include <string>
#include <string_view>

namespace {

using parhelion::Error;
using parhelion::ErrorKind;
using parhelion::Json;

/// The same members with the hash that fits them.
std::string seal(std::string_view text) {
  const Json json = parhelion::parse_json(text, "manifest.json");
  if (!json.is_object()) return std::string(text);
  Json::Object members;
  for (const Json::Member& member : json.as_object("manifest.json"))
    if (member.first != "xxh128") members.push_back(member);
  const std::string said = parhelion::write_json(members);
  members.emplace_back("xxh128", hex(parhelion::hash128(std::as_bytes(std::span(said)))));
  return parhelion::write_json(members);
}

void read_manifest(std::string_view text) try {
  namespace train = parhelion::train;
  const train::Manifest manifest = train::parse_manifest(text, "manifest.json");
  for (const train::FileRecord& file : manifest.files)
    if (file.name.find('/') != std::string::npos || file.name == "..") std::abort();
  const std::string written = train::manifest_text(manifest);
  if (train::manifest_text(train::parse_manifest(written, "written")) != written) std::abort();
} catch (const Error& error) {
  if (error.kind() != ErrorKind::corrupt && error.kind() != ErrorKind::unsupported) throw;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  read_manifest(text);
  std::string sealed;
  try {
    sealed = seal(text);
  } catch (const Error&) {
    return 0;  // no JSON, which the first reading refused
  }
  read_manifest(sealed);
  return 0;
}
