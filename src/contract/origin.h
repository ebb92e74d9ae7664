#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace parhelion::contract {

/// A file that a contract was made from.
struct SourceFile {
  std::string name;
  std::string digest;  ///< such as `xxh128:<32 hexadecimal digits>`
  bool operator==(const SourceFile&) const = default;
};

/// How a contract was made. Shown to people; decides nothing.
struct Provenance {
  std::string source = {};    ///< where the model came from
  std::string revision = {};  ///< which state of it
  std::vector<SourceFile> files = {};
  std::string recipe = {};
  std::string tool = {};                    ///< name and version of what prepared it
  std::vector<std::string> libraries = {};  ///< with versions
  std::string host = {};                    ///< what it was tuned on
  std::int64_t created_unix = 0;  ///< 0 = not given, so that equal inputs give equal bytes
  bool operator==(const Provenance&) const = default;
};

/// What computes.
enum class DeviceKind : std::uint8_t { cpu, cuda };
std::string_view name(DeviceKind device);

/// Which bits are promised; see docs/exec.md.
enum class Numerics : std::uint8_t { exact, invariant, fast };
std::string_view name(Numerics numerics);

/// What a contract was prepared for.
struct Target {
  DeviceKind device = DeviceKind::cpu;
  Numerics numerics = Numerics::exact;
  std::string architecture = {};  ///< processor tier or GPU architecture; empty = any
  std::int64_t memory_bytes = 0;  ///< least memory of the device; 0 = not said
  bool operator==(const Target&) const = default;
};

/// What became of one weight on its way from the source.
struct PrecisionEntry {
  std::string weight;                     ///< a parameter of `extend`
  std::vector<std::string> sources = {};  ///< names in the source
  std::string from = {};                  ///< element kind there
  std::string to = {};                    ///< element kind here
  std::string transform = {};             ///< `identity`, or steps such as `merge+round`
  bool changes_values = false;
  double largest_error = 0;     ///< absolute, over all elements that are finite
  std::int64_t non_finite = 0;  ///< elements that are infinite or no numbers, as in the source
  bool operator==(const PrecisionEntry&) const = default;
};

}  // namespace parhelion::contract
