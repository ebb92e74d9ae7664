#pragma once

#include "base/json.h"
#include "contract/policy.h"
#include "text/chat_template.h"
#include "text/reply/reply_format.h"
#include "text/tokenizer.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace parhelion::app {

/// What the API knows of the model that is served.
struct ServedModel {
  std::string id;                         ///< what clients call it
  std::vector<std::string> aliases = {};  ///< other names for it
  std::int64_t created = 0;               ///< seconds since 1970
  std::string fingerprint = {};           ///< changes with weights and numerics
  text::Tokenizer tokenizer;
  std::optional<text::ChatTemplate> chat_template = {};
  text::ReplyFormat reply_format = {};  ///< how it marks reasoning and calls
  std::int64_t vocabulary = 0;
  std::int64_t context_tokens = 0;  ///< the longest sequence
  contract::SamplingPolicy sampling = {};
  std::vector<std::int32_t> stop_ids = {};                  ///< that end an answer
  std::int64_t most_sequences = 128;                        ///< of one request
  std::optional<contract::EmbeddingPolicy> embedding = {};  ///< nothing: it gives no vectors
  std::int64_t embedding_width = 0;
  /// What else /v1/core tells: device, numerics, digest, signature; /health tells the last.
  Json facts = Json::Object{};
};

}  // namespace parhelion::app
