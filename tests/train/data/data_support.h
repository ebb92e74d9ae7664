#pragma once

#include "base/error.h"
#include "support/test_directory.h"
#include "text/tokenizer_support.h"
#include "train/data/documents.h"
#include "train/data/token_writer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace parhelion::train {

inline constexpr text::TokenId kBos = 256;
inline constexpr text::TokenId kEos = 257;
inline constexpr text::TokenId kTurn = 258;

/// <turn>role:content<eos>, and a line feed that no model would say.
inline constexpr std::string_view kChatTemplate =
    "{% for m in messages %}<turn>{{ m.role }}:{{ m.content }}<eos>\n{% endfor %}"
    "{% if add_generation_prompt %}<turn>assistant:{% endif %}";

enum class Bos : std::uint8_t { absent, expected };

/// One token a byte, and <bos>, <eos> and <turn>.
inline TokenRules byte_rules(Bos bos = Bos::absent) {
  text::GgufVocabulary gguf = text::byte_vocabulary("gpt-2");
  gguf.bos_id = text::add_gguf_token(gguf, "<bos>", 3);
  gguf.eos_id = text::add_gguf_token(gguf, "<eos>", 3);
  text::add_gguf_token(gguf, "<turn>", 3);
  gguf.add_bos = bos == Bos::expected;
  return {.tokenizer = text::load_gguf_vocabulary(gguf),
          .tokenizer_digest = bos == Bos::expected ? "bytes with bos" : "bytes",
          .eos = kEos,
          .vocabulary = 259,
          .chat_template = std::string(kChatTemplate)};
}

/// Bytes as tokens.
inline std::vector<text::TokenId> tokens_of(std::string_view text) {
  std::vector<text::TokenId> ids;
  for (const char byte : text) ids.push_back(static_cast<unsigned char>(byte));
  return ids;
}

/// Tokens as text, where the special ones are {, } and |.
inline std::string text_of_ids(std::span<const text::TokenId> ids) {
  std::string text;
  for (const text::TokenId id : ids) text += id < 256 ? static_cast<char>(id) : "{}|"[id - 256];
  return text;
}

/// Documents of one test.
class DataFiles : public TestDirectory {
 protected:
  /// Documents of these lengths, all learnt. Token i of document d has id (d * 7 + i) % 250.
  std::shared_ptr<const Documents> documents_of(const std::vector<std::int64_t>& lengths) const {
    std::vector<TokenisedRow> rows;
    for (std::size_t d = 0; d < lengths.size(); ++d) {
      TokenisedRow row{.ids = {}, .learnt = {{0, lengths[d]}}};
      for (std::int64_t i = 0; i < lengths[d]; ++i) {
        row.ids.push_back(static_cast<text::TokenId>(
            (std::ssize(row.ids) + std::int64_t{7} * static_cast<std::int64_t>(d)) % 250));
      }
      rows.push_back(row);
    }
    return documents_of(rows);
  }

  /// Documents as they would come from lines 1, 2, ... of rows.jsonl.
  std::shared_ptr<const Documents> documents_of(const std::vector<TokenisedRow>& rows) const {
    TokenWriter writer(directory_ / "rows.tokens", "key", 1);
    DataReport report;
    for (const TokenisedRow& row : rows) {
      writer.add({0, ++report.documents}, row);
      report.tokens += std::ssize(row.ids);
    }
    writer.finish(report);
    return std::make_shared<Documents>(directory_ / "rows.tokens", "key", 259,
                                       std::vector<std::filesystem::path>{"rows.jsonl"});
  }
};

/// The settings of a checked job with one bucket.
inline DataSettings data_settings(std::int64_t sequence_tokens, std::int64_t microbatch_tokens) {
  DataSettings settings;
  settings.sequence_tokens = sequence_tokens;
  settings.microbatch_tokens = microbatch_tokens;
  settings.buckets = {microbatch_tokens};
  settings.shuffle = false;
  return settings;
}

}  // namespace parhelion::train
