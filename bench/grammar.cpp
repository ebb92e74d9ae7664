// Measures constrained texts over a vocabulary, or samples texts for a check by another validator.
//
//   bench_grammar speed VOCABULARY            JSON: ms to compile, us for a mask, for each grammar
//   bench_grammar sample VOCABULARY SCHEMAS COUNT
//                                             COUNT random texts of each schema of a JSON array,
//                                             one line each: [schema index, text or null]
//
// VOCABULARY is a tokenizer.json. Times are of this thread's processor time.

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/random.h"
#include "text/grammar/json_schema.h"
#include "text/grammar/matcher.h"
#include "text/tokenizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <functional>
#include <string>
#include <vector>

namespace parhelion::bench {
namespace {

using text::Grammar;
using text::GrammarMatcher;
using text::TokenGrammar;
using text::TokenId;
using text::TokenTable;

double thread_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

constexpr const char* kWeather = R"({"type":"object","properties":{
  "location":{"type":"string"},"unit":{"enum":["celsius","fahrenheit"]},"days":{"type":"integer",
  "minimum":1,"maximum":14}},"required":["location"],"additionalProperties":false})";

constexpr const char* kOrder = R"({"type":"object","$defs":{"item":{"type":"object","properties":{
  "sku":{"type":"string","pattern":"^[A-Z]{3}-[0-9]{4}$"},"quantity":{"type":"integer","minimum":1},
  "price":{"type":"number","minimum":0},"tags":{"type":"array","items":{"type":"string"}}},
  "required":["sku","quantity","price"],"additionalProperties":false}},"properties":{
  "id":{"type":"string","format":"uuid"},"created":{"type":"string","format":"date-time"},
  "customer":{"type":"object","properties":{"name":{"type":"string","maxLength":80},
  "email":{"type":"string","format":"email"},"address":{"type":"object","properties":{
  "street":{"type":"string"},"city":{"type":"string"},"country":{"type":"string"}},
  "required":["street","city"],"additionalProperties":false}},"required":["name","email"],
  "additionalProperties":false},"items":{"type":"array","items":{"$ref":"#/$defs/item"},
  "minItems":1},"note":{"anyOf":[{"type":"string"},{"type":"null"}]}},
  "required":["id","created","customer","items"],"additionalProperties":false})";

constexpr const char* kTree = R"({"$ref":"#/$defs/node","$defs":{"node":{"type":"object",
  "properties":{"name":{"type":"string"},"kind":{"enum":["file","folder"]},"children":{
  "type":"array","items":{"$ref":"#/$defs/node"}}},"required":["name","kind"],
  "additionalProperties":false}}})";

struct GrammarCase {
  std::string name;
  std::function<Grammar()> compile;
  std::string sample;  // a text of it
};

std::vector<GrammarCase> grammar_cases() {
  const std::string value =
      R"({"name": "Ada Lovelace", "born": 1815, "tags": ["mathematics", "poetry", "machines"], )"
      R"("works": [{"title": "Notes on the Analytical Engine", "year": 1843, "ratio": -0.25}], )"
      R"("quote": "I am more than ever now the bride of science.\nReligion to me is science."})";
  return {
      {"json", [] { return text::compile_json(text::JsonRoot::object); }, value},
      {"weather", [] { return text::compile_json_schema_text(kWeather); },
       R"({"location": "San Francisco, California", "unit": "celsius", "days": 12})"},
      {"order", [] { return text::compile_json_schema_text(kOrder); },
       R"({"id": "123e4567-e89b-12d3-a456-426614174000", "created": "2024-02-29T10:00:00Z", )"
       R"("customer": {"name": "Ada Lovelace", "email": "ada@example.org", "address": {"street": )"
       R"("12 St James's Square", "city": "London"}}, "items": [{"sku": "ABC-1234", "quantity": )"
       R"(2, "price": 19.99, "tags": ["gift", "fragile"]}], "note": "Leave it at the door."})"},
      {"tree", [] { return text::compile_json_schema_text(kTree); },
       R"({"name": "root", "kind": "folder", "children": [{"name": "notes.txt", "kind": "file"}, )"
       R"({"name": "pictures", "kind": "folder", "children": []}]})"},
      {"regex", [] { return text::compile_regex("([A-Z][a-z]+ )*[A-Z][a-z]+, [0-9]{4}"); },
       "San Francisco California, 2024"},
  };
}

double percentile(std::vector<double> values, double part) {
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(static_cast<double>(values.size() - 1) * part)];
}

struct MaskTimes {
  std::vector<double> first;  // us of each mask in a new grammar
  std::vector<double> again;  // of the same ones once its states are known
  std::vector<double> accept;
};

/// Walks along the tokens of a text and times each mask.
void walk(GrammarMatcher& matcher, const std::vector<TokenId>& tokens,
          std::vector<std::uint32_t>& bits, std::vector<double>& mask_us,
          std::vector<double>& accept_us) {
  for (const TokenId token : tokens) {
    const double start = thread_seconds();
    matcher.fill_mask(bits);
    const double middle = thread_seconds();
    ensure(matcher.accept(token), ErrorKind::bug, "the sample has no such token {}", token);
    mask_us.push_back((middle - start) * 1e6);
    accept_us.push_back((thread_seconds() - middle) * 1e6);
  }
  ensure(matcher.is_finished(), ErrorKind::bug, "the sample is no whole text");
}

std::string measure_case(const GrammarCase& one, const text::Tokenizer& tokenizer,
                         const std::shared_ptr<const TokenTable>& table) {
  const std::vector<TokenId> tokens = tokenizer.encode(one.sample);
  std::vector<std::uint32_t> bits(static_cast<std::size_t>(tokenizer.vocabulary_size() + 31) / 32);
  std::vector<double> compile_ms;
  MaskTimes times;
  std::int64_t states = 0;
  std::int64_t memory = 0;
  for (int round = 0; round < 5; ++round) {
    const double start = thread_seconds();
    const auto grammar = std::make_shared<const TokenGrammar>(one.compile(), table);
    compile_ms.push_back((thread_seconds() - start) * 1e3);
    std::vector<double> unused;
    GrammarMatcher matcher(grammar, {});
    walk(matcher, tokens, bits, times.first, unused);
    for (int again = 0; again < 4; ++again) {
      GrammarMatcher next(grammar, {});
      walk(next, tokens, bits, times.again, times.accept);
    }
    states = grammar->grammar().state_count();
    memory = grammar->memory_bytes();
  }
  return fmt::format(
      R"({{"grammar":"{}","states":{},"memory_kib":{},"tokens":{},"compile_ms":{:.2f},)"
      R"("first_mask_us_p50":{:.1f},"first_mask_us_p99":{:.1f},"mask_us_p50":{:.1f},)"
      R"("mask_us_p99":{:.1f},"accept_us_p50":{:.2f}}})",
      one.name, states, memory / 1024, tokens.size(), percentile(compile_ms, 0.5),
      percentile(times.first, 0.5), percentile(times.first, 0.99), percentile(times.again, 0.5),
      percentile(times.again, 0.99), percentile(times.accept, 0.5));
}

void measure(const text::Tokenizer& tokenizer) {
  const double start = thread_seconds();
  const auto table = text::make_token_table(tokenizer);
  const double table_ms = (thread_seconds() - start) * 1e3;
  fmt::print("{{\"vocabulary\":{},\"table_ms\":{:.1f},\"cases\":[\n", tokenizer.vocabulary_size(),
             table_ms);
  const std::vector<GrammarCase> cases = grammar_cases();
  for (const GrammarCase& one : cases) {
    const char* end = &one == &cases.back() ? "" : ",";
    fmt::print("{}{}\n", measure_case(one, tokenizer, table), end);
  }
  fmt::print("]}}\n");
}

/// Draws tokens that are allowed, each with the same chance, until the text may end and a coin says
/// so; nothing if that takes too long.
std::optional<std::string> sample_text(const std::shared_ptr<const TokenGrammar>& grammar,
                                       std::uint64_t seed) {
  constexpr std::uint64_t kMostTokens = 300;
  GrammarMatcher matcher(grammar, {});
  std::vector<std::uint32_t> bits(static_cast<std::size_t>(grammar->table().token_id_end() + 31) /
                                  32);
  std::string sampled;
  for (std::uint64_t step = 0; step < kMostTokens; ++step) {
    matcher.fill_mask(bits);
    std::vector<TokenId> allowed;
    for (std::size_t i = 0; i < bits.size() * 32; ++i) {
      if ((bits[i / 32] >> (i % 32) & 1) != 0) allowed.push_back(static_cast<TokenId>(i));
    }
    if (allowed.empty()) return matcher.is_finished() ? std::optional(sampled) : std::nullopt;
    if (matcher.is_finished() && noise16(seed, 1, step) % 2 == 0) return sampled;
    const double draw = static_cast<double>(uniform(seed, 2, step));
    const TokenId token =
        allowed[static_cast<std::size_t>(draw * static_cast<double>(allowed.size()))];
    ensure(matcher.accept(token), ErrorKind::bug, "token {} is in the mask and refused", token);
    sampled += grammar->table().bytes(token);
  }
  return std::nullopt;
}

void sample(const text::Tokenizer& tokenizer, const std::string& schemas, int count) {
  const auto table = text::make_token_table(tokenizer);
  const Json parsed = parse_json(read_file(schemas), schemas);
  std::uint64_t seed = 0;
  for (std::size_t i = 0; i < parsed.as_array("schemas").size(); ++i) {
    const auto grammar = std::make_shared<const TokenGrammar>(
        text::compile_json_schema(parsed.as_array("schemas")[i]), table);
    for (int n = 0; n < count; ++n) {
      const std::optional<std::string> text = sample_text(grammar, seed++);
      fmt::print("[{},{}]\n", i, text ? write_json(Json(*text)) : "null");
    }
  }
}

int run(const std::vector<std::string>& arguments) {
  ensure(arguments.size() >= 3, ErrorKind::invalid,
         "usage: bench_grammar speed|sample VOCABULARY [SCHEMAS COUNT]");
  const text::Tokenizer tokenizer = text::load_tokenizer_json(read_file(arguments[2]));
  if (arguments[1] == "sample") {
    ensure(arguments.size() == 5, ErrorKind::invalid, "sample takes SCHEMAS and COUNT");
    sample(tokenizer, arguments[3], std::stoi(arguments[4]));
  } else {
    measure(tokenizer);
  }
  return 0;
}

}  // namespace
}  // namespace parhelion::bench

int main(int count, char** values) {
  try {
    return parhelion::bench::run({values, values + count});
  } catch (const std::exception& error) {
    fmt::print(stderr, "bench_grammar: {}\n", error.what());
    return 2;
  }
}
