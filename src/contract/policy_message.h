#pragma once

#include "contract/contract.h"

namespace parhelion::contract {

namespace proto {
class CachePolicy;
class EmbeddingPolicy;
class Frontend;
class Golden;
class Limits;
class PrecisionEntry;
class Provenance;
class SamplingPolicy;
class Target;
}  // namespace proto

/// Structs that consist of plain fields, and their messages.
void write_message(const SamplingPolicy& policy, proto::SamplingPolicy& message);
void write_message(const CachePolicy& policy, proto::CachePolicy& message);
void write_message(const EmbeddingPolicy& policy, proto::EmbeddingPolicy& message);
void write_message(const Limits& limits, proto::Limits& message);
void write_message(const Frontend& frontend, proto::Frontend& message);
void write_message(const Provenance& provenance, proto::Provenance& message);
void write_message(const Target& target, proto::Target& message);
void write_message(const PrecisionEntry& entry, proto::PrecisionEntry& message);
void write_message(const Golden& golden, proto::Golden& message);

/// Errors: corrupt or unsupported for an enumerator that is none or not known.
SamplingPolicy read_message(const proto::SamplingPolicy& message);
CachePolicy read_message(const proto::CachePolicy& message);
EmbeddingPolicy read_message(const proto::EmbeddingPolicy& message);
Limits read_message(const proto::Limits& message);
Frontend read_message(const proto::Frontend& message);
Provenance read_message(const proto::Provenance& message);
Target read_message(const proto::Target& message);
PrecisionEntry read_message(const proto::PrecisionEntry& message);
/// Errors: corrupt if a probe has not one log-probability for each id.
Golden read_message(const proto::Golden& message);

}  // namespace parhelion::contract
