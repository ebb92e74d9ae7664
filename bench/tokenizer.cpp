// Measures the tokenizer, or encodes texts for a comparison with another tokenizer.
//
//   bench_tokenizer speed VOCABULARY FILE [RUNS]    ms to load, and MB/s of each run, by CPU time
//   bench_tokenizer ids VOCABULARY FILE [plain]     ids of each text of FILE, one line per text
//
// VOCABULARY is a tokenizer.json, or the tokenizer metadata of a GGUF file written as JSON (see
// tokenizer_parity.py). The texts of FILE for `ids` are JSON strings in one array.

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "text/encoder.h"
#include "text/gguf_vocabulary.h"

#include <fmt/format.h>

#include <cstdio>
#include <ctime>
#include <string>
#include <vector>

namespace parhelion::bench {
namespace {

/// Seconds of this process on a processor: other processes do not count.
double cpu_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

std::optional<std::int64_t> find_id(const Json& metadata, std::string_view key) {
  const Json* id = metadata.find(key);
  return id == nullptr ? std::nullopt : std::optional(id->as_int64(key));
}

text::Tokenizer load_metadata(const Json& metadata) {
  text::GgufVocabulary gguf;
  gguf.model = metadata.find("model")->as_string("model");
  gguf.pre = metadata.find("pre")->as_string("pre");
  for (const Json& token : metadata.find("tokens")->as_array("tokens")) {
    gguf.tokens.push_back(token.as_string("token"));
  }
  for (const Json& merge : metadata.find("merges")->as_array("merges")) {
    gguf.merges.push_back(merge.as_string("merge"));
  }
  for (const Json& type : metadata.find("token_type")->as_array("token_type")) {
    gguf.token_types.push_back(static_cast<std::int32_t>(type.as_int64("type")));
  }
  gguf.bos_id = find_id(metadata, "bos_token_id");
  return text::load_gguf_vocabulary(gguf);
}

text::Tokenizer load_vocabulary(const std::string& path) {
  const std::string json = read_file(path);
  if (!path.ends_with(".gguf.json")) return text::load_tokenizer_json(json);
  return load_metadata(parse_json(json, path));
}

void measure_speed(const std::vector<std::string>& arguments) {
  const double load_start = cpu_seconds();
  const text::Tokenizer tokenizer = load_vocabulary(arguments[2]);
  fmt::print("load_ms {:.1f}\n", (cpu_seconds() - load_start) * 1e3);
  const std::string file = read_file(arguments[3]);
  const int runs = arguments.size() > 4 ? std::stoi(arguments[4]) : 5;
  for (int run = 0; run < runs; ++run) {
    const double start = cpu_seconds();
    const std::vector<text::TokenId> ids = tokenizer.encode(file);
    const double seconds = cpu_seconds() - start;
    fmt::print("encode_mb_per_s {:.2f} tokens {}\n",
               static_cast<double>(file.size()) / 1e6 / seconds, ids.size());
  }
}

void print_ids(const std::vector<std::string>& arguments) {
  const text::Tokenizer tokenizer = load_vocabulary(arguments[2]);
  text::Encoder encoder(tokenizer);
  text::EncodeOptions options;
  if (arguments.size() > 4) options.special_text = text::SpecialText::plain;
  const Json texts = parse_json(read_file(arguments[3]), arguments[3]);
  for (const Json& item : texts.as_array("texts")) {
    std::vector<text::TokenId> ids;
    encoder.encode(item.as_string("text"), options, ids);
    fmt::print("{}\n", fmt::join(ids, " "));
  }
}

int run(const std::vector<std::string>& arguments) {
  ensure(arguments.size() >= 4, ErrorKind::invalid,
         "usage: bench_tokenizer speed|ids VOCABULARY FILE [RUNS|plain]");
  if (arguments[1] == "ids") {
    print_ids(arguments);
  } else {
    measure_speed(arguments);
  }
  return 0;
}

}  // namespace
}  // namespace parhelion::bench

int main(int count, char** values) {
  try {
    return parhelion::bench::run({values, values + count});
  } catch (const std::exception& error) {
    fmt::print(stderr, "bench_tokenizer: {}\n", error.what());
    return 2;
  }
}
