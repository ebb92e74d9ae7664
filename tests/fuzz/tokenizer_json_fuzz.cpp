// A tokenizer.json that loads encodes any text, and its ids decode alike in one piece and one by
// one; anything else is refused by name.
#include "base/error.h"
#include "fuzz/fuzz.h"
#include "text/detokenizer.h"
#include "text/tokenizer.h"

#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace {

using parhelion::Error;
using parhelion::ErrorKind;
using parhelion::text::TokenId;
using parhelion::text::Tokenizer;

bool is_refusal(ErrorKind kind) {
  return kind == ErrorKind::corrupt || kind == ErrorKind::invalid || kind == ErrorKind::unsupported;
}

std::optional<Tokenizer> load_or_refuse(std::string_view json) try {
  return parhelion::text::load_tokenizer_json(json);
} catch (const Error& error) {
  if (!is_refusal(error.kind())) throw;
  return std::nullopt;
}

/// The ids of a text that may be no UTF-8 and whose regex may be too slow.
std::vector<TokenId> encode_or_refuse(const Tokenizer& tokenizer, std::string_view text) try {
  return tokenizer.encode(text, {.frame = parhelion::text::Frame::post_processor});
} catch (const Error& error) {
  if (error.kind() != ErrorKind::invalid && error.kind() != ErrorKind::exhausted) throw;
  return {};
}

std::string decode_one_by_one(const Tokenizer& tokenizer, const std::vector<TokenId>& ids) {
  parhelion::text::Detokenizer detokenizer(tokenizer);
  std::string text;
  for (const TokenId id : ids) text += detokenizer.push(id);
  return text + detokenizer.flush();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::optional<Tokenizer> tokenizer = load_or_refuse(input);
  if (!tokenizer) return 0;
  for (const std::string_view text :
       {std::string_view("It's  a caf\u00e9 123\n\n<s> e\u0301 \U0001f600"), input.substr(0, 256),
        input.substr(size / 2, 256)}) {
    const std::vector<TokenId> ids = encode_or_refuse(*tokenizer, text);
    if (tokenizer->decode(ids) != decode_one_by_one(*tokenizer, ids)) std::abort();
  }
  return 0;
}
