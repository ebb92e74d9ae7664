#pragma once

#include "text/gguf_vocabulary.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace parhelion::text {

/// The 256 characters of the byte-level alphabet, in the order of their bytes.
inline std::vector<std::string> byte_alphabet() {
  std::vector<std::string> alphabet;
  int next = 256;
  for (int byte = 0; byte < 256; ++byte) {
    const bool is_plain =
        (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
    const int code = is_plain ? byte : next++;
    if (code < 128) {
      alphabet.emplace_back(1, static_cast<char>(code));
    } else {
      alphabet.push_back(
          {static_cast<char>(0xC0 | code >> 6), static_cast<char>(0x80 | (code & 63))});
    }
  }
  return alphabet;
}

/// A GGUF vocabulary of all bytes, where token i is byte i, and the merges given,
/// whose results follow in order.
inline GgufVocabulary byte_vocabulary(const std::string& pre,
                                      std::vector<std::string> merges = {}) {
  GgufVocabulary gguf{.model = "gpt2", .pre = pre, .tokens = byte_alphabet()};
  for (const std::string& merge : merges) {
    const std::size_t space = merge.find(' ');
    const std::string both = merge.substr(0, space) + merge.substr(space + 1);
    const bool is_known =
        std::find(gguf.tokens.begin(), gguf.tokens.end(), both) != gguf.tokens.end();
    if (!is_known) gguf.tokens.push_back(both);
  }
  gguf.merges = std::move(merges);
  gguf.token_types.assign(gguf.tokens.size(), 1);
  return gguf;
}

/// Adds a token of a GGUF type: 3 = control, 4 = user-defined.
inline TokenId add_gguf_token(GgufVocabulary& gguf, const std::string& content, std::int32_t type) {
  gguf.tokens.push_back(content);
  gguf.token_types.push_back(type);
  return static_cast<TokenId>(gguf.tokens.size() - 1);
}

}  // namespace parhelion::text
