// Every line of a JSONL file becomes a document of sound ids and ranges, or is refused as bad
// input.
#include "base/error.h"
#include "fuzz/fuzz.h"
#include "text/tokenizer_support.h"
#include "train/data/tokenise.h"

#include <cstdlib>
#include <string_view>

namespace {

using namespace parhelion;

train::TokenRules byte_rules() {
  text::GgufVocabulary gguf = text::byte_vocabulary("gpt-2");
  const text::TokenId eos = text::add_gguf_token(gguf, "<eos>", 3);
  gguf.eos_id = eos;
  return {
      .tokenizer = text::load_gguf_vocabulary(gguf),
      .tokenizer_digest = "bytes",
      .eos = eos,
      .vocabulary = eos + 1,
      .chat_template =
          "{% for t in tools %}{{ t }}{% endfor %}{% for m in messages %}{{ m.role }}:"
          "{{ m.content }}<eos>\n{% endfor %}{% if add_generation_prompt %}assistant:{% endif %}"};
}

void check_row(const train::TokenisedRow& row) {
  for (const text::TokenId id : row.ids) {
    if (id < 0 || id > 256) std::abort();
  }
  std::int64_t end = 0;
  for (const train::TokenRange& range : row.learnt) {
    if (range.begin < end || range.end < range.begin) std::abort();
    end = range.end;
  }
  if (end > std::ssize(row.ids)) std::abort();
}

void tokenise_or_refuse(train::RowTokeniser& tokeniser, const train::RawRow& raw) try {
  check_row(tokeniser.tokenise(raw));
} catch (const Error& error) {
  if (error.kind() != ErrorKind::corrupt && error.kind() != ErrorKind::invalid) throw;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  train::RowTokeniser tokeniser(byte_rules());
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  train::RowReader reader({{bytes, train::DataFormat::jsonl}});
  while (const auto raw = reader.next()) tokenise_or_refuse(tokeniser, *raw);
  return 0;
}
