#include "text/tokenizer_parts.h"

#include "base/error.h"
#include "text/utf8.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

namespace parhelion::text {
namespace {

constexpr int kMaxSequenceDepth = 8;

[[noreturn]] void refuse_component(std::string_view what, std::string_view type) {
  fail(ErrorKind::unsupported, "tokenizer.json: {} type '{}' is not supported", what, type);
}

const Json::Array& read_list(const Json& json, std::string_view where) {
  ensure(json.is_array(), ErrorKind::corrupt, "{}: is {}, expected array", where, json.type_name());
  return json.as_array(where);
}

SplitBehavior read_behavior(const std::string& name) {
  constexpr std::array<std::pair<std::string_view, SplitBehavior>, 5> kNames = {{
      {"Removed", SplitBehavior::removed},
      {"Isolated", SplitBehavior::isolated},
      {"MergedWithPrevious", SplitBehavior::merged_with_previous},
      {"MergedWithNext", SplitBehavior::merged_with_next},
      {"Contiguous", SplitBehavior::contiguous},
  }};
  for (const auto& [known, behavior] : kNames) {
    if (known == name) return behavior;
  }
  fail(ErrorKind::unsupported, "tokenizer.json: Split behavior '{}' is not supported", name);
}

/// The scanners match every character, so keeping the matches is all that these do.
bool keeps_matches(SplitBehavior behavior, bool inverted) {
  return behavior == SplitBehavior::isolated || (behavior == SplitBehavior::removed && inverted);
}

SplitStage read_split(const Json& json) {
  constexpr std::string_view kWhere = "tokenizer.json: Split";
  check_members(json, {"type", "pattern", "behavior", "invert"}, kWhere);
  const Json& pattern = need_member(json, "pattern", kWhere);
  const SplitBehavior behavior =
      read_behavior(read_text(need_member(json, "behavior", kWhere), kWhere));
  const bool inverted = read_flag(json, "invert", false, kWhere);
  if (const Json* literal = pattern.find("String")) {
    return RegexSplit{Regex(read_text(*literal, kWhere), RegexSyntax::literal, kWhere), behavior,
                      inverted};
  }
  const std::string& expression = read_text(need_member(pattern, "Regex", kWhere), kWhere);
  const std::optional<SplitStage> scanner = find_scanner(expression);
  if (scanner && keeps_matches(behavior, inverted)) return *scanner;
  return RegexSplit{Regex(expression, RegexSyntax::expression, kWhere), behavior, inverted};
}

void read_byte_level(const Json& json, std::vector<SplitStage>& stages) {
  constexpr std::string_view kWhere = "tokenizer.json: ByteLevel";
  check_members(json, {"type", "add_prefix_space", "trim_offsets", "use_regex"}, kWhere);
  if (read_flag(json, "add_prefix_space", true, kWhere)) stages.push_back(PrefixSpace{});
  if (read_flag(json, "use_regex", true, kWhere)) stages.push_back(Gpt2Words{});
}

/// Appends the stages of one pre-tokeniser; says whether its pieces are bytes, which ends the list.
bool read_stages(const Json& json, std::vector<SplitStage>& stages, int depth) {
  constexpr std::string_view kWhere = "tokenizer.json: pre_tokenizer";
  ensure(depth < kMaxSequenceDepth, ErrorKind::unsupported, "{}: sequences are nested too deep",
         kWhere);
  const std::string type = component_type(json, kWhere);
  if (type == "ByteLevel") {
    read_byte_level(json, stages);
    return true;
  }
  if (type == "Split") {
    stages.push_back(read_split(json));
  } else if (type == "Digits") {
    check_members(json, {"type", "individual_digits"}, "tokenizer.json: Digits");
    stages.push_back(DigitRuns{read_flag(json, "individual_digits", false, kWhere)});
  } else if (type != "Sequence") {
    refuse_component("pre_tokenizer", type);
  }
  if (type != "Sequence") return false;
  check_members(json, {"type", "pretokenizers"}, kWhere);
  bool in_bytes = false;
  for (const Json& item : read_list(need_member(json, "pretokenizers", kWhere), kWhere)) {
    ensure(!in_bytes, ErrorKind::unsupported, "{}: a stage behind ByteLevel is not supported",
           kWhere);
    in_bytes = read_stages(item, stages, depth + 1);
  }
  return in_bytes;
}

TokenId read_id(const Json& json, const TokenizerModel& model, std::string_view where) {
  ensure(json.is_integer(), ErrorKind::corrupt, "{}: is {}, expected integer", where,
         json.type_name());
  const std::int64_t id = json.as_int64(where);
  ensure(model.vocabulary.contains(id), ErrorKind::corrupt, "{}: id {} is not in the vocabulary",
         where, id);
  return static_cast<TokenId>(id);
}

void read_template(const Json& json, TokenizerModel& model) {
  constexpr std::string_view kWhere = "tokenizer.json: TemplateProcessing";
  check_members(json, {"type", "single", "pair", "special_tokens"}, kWhere);
  const Json& special = need_member(json, "special_tokens", kWhere);
  bool is_behind = false;
  for (const Json& piece : read_list(need_member(json, "single", kWhere), kWhere)) {
    if (piece.find("Sequence") != nullptr) {
      ensure(!is_behind, ErrorKind::unsupported, "{}: the text twice is not supported", kWhere);
      is_behind = true;
      continue;
    }
    const Json& token = need_member(piece, "SpecialToken", kWhere);
    const std::string& name = read_text(need_member(token, "id", kWhere), kWhere);
    const Json& ids = need_member(need_member(special, name, kWhere), "ids", kWhere);
    for (const Json& id : read_list(ids, kWhere)) {
      (is_behind ? model.suffix : model.prefix).push_back(read_id(id, model, kWhere));
    }
  }
  ensure(is_behind, ErrorKind::unsupported, "{}: a template without the text is not supported",
         kWhere);
}

/// Says whether it held a template.
bool read_processor(const Json& json, TokenizerModel& model, int depth) {
  constexpr std::string_view kWhere = "tokenizer.json: post_processor";
  ensure(depth < kMaxSequenceDepth, ErrorKind::unsupported, "{}: sequences are nested too deep",
         kWhere);
  const std::string type = component_type(json, kWhere);
  if (type == "ByteLevel") return false;  // moves offsets only
  if (type == "TemplateProcessing") {
    read_template(json, model);
    return true;
  }
  if (type != "Sequence") refuse_component("post_processor", type);
  bool has_template = false;
  for (const Json& item : read_list(need_member(json, "processors", kWhere), kWhere)) {
    const bool is_template = read_processor(item, model, depth + 1);
    ensure(!is_template || !has_template, ErrorKind::unsupported,
           "{}: more than one template is not supported", kWhere);
    has_template = has_template || is_template;
  }
  return has_template;
}

AddedToken read_added_token(const Json& json) {
  constexpr std::string_view kWhere = "tokenizer.json: added_tokens";
  check_members(json, {"id", "content", "single_word", "lstrip", "rstrip", "normalized", "special"},
                kWhere);
  const Json& id = need_member(json, "id", kWhere);
  ensure(id.is_integer(), ErrorKind::corrupt, "{}: id is {}, expected integer", kWhere,
         id.type_name());
  const std::int64_t value = id.as_int64(kWhere);
  ensure(value >= 0 && value <= INT32_MAX, ErrorKind::corrupt,
         "{}: id is {}, expected 0 to 2^31 - 1", kWhere, value);
  return {.content = read_text(need_member(json, "content", kWhere), kWhere),
          .id = static_cast<TokenId>(value),
          .special = read_flag(json, "special", false, kWhere),
          .strips_left = read_flag(json, "lstrip", false, kWhere),
          .strips_right = read_flag(json, "rstrip", false, kWhere),
          .single_word = read_flag(json, "single_word", false, kWhere),
          .normalized = read_flag(json, "normalized", false, kWhere)};
}

}  // namespace

const Json& need_member(const Json& json, std::string_view key, std::string_view where) {
  const Json* member = json.find(key);
  ensure(member != nullptr, ErrorKind::corrupt, "{}: has no member '{}'", where, key);
  return *member;
}

const std::string& read_text(const Json& json, std::string_view where) {
  ensure(json.is_string(), ErrorKind::corrupt, "{}: is {}, expected string", where,
         json.type_name());
  return json.as_string(where);
}

std::string component_type(const Json& json, std::string_view where) {
  return json.is_null() ? "null" : read_text(need_member(json, "type", where), where);
}

bool read_flag(const Json& json, std::string_view key, bool absent, std::string_view where) {
  const Json* member = json.find(key);
  if (member == nullptr) return absent;
  ensure(member->is_bool(), ErrorKind::corrupt, "{}: {} is {}, expected boolean", where, key,
         member->type_name());
  return member->as_bool(where);
}

void check_members(const Json& json, std::initializer_list<std::string_view> known,
                   std::string_view where) {
  ensure(json.is_object(), ErrorKind::corrupt, "{}: is {}, expected object", where,
         json.type_name());
  for (const auto& [key, value] : json.as_object(where)) {
    ensure(std::find(known.begin(), known.end(), key) != known.end(), ErrorKind::unsupported,
           "{}: member '{}' is not supported", where, key);
  }
}

std::vector<SplitStage> read_pre_tokenizer(const Json& json) {
  std::vector<SplitStage> stages;
  ensure(read_stages(json, stages, 0), ErrorKind::unsupported,
         "tokenizer.json: a pre_tokenizer without ByteLevel at its end is not supported");
  return stages;
}

bool reads_as_nfc(const Json& json) {
  constexpr std::string_view kWhere = "tokenizer.json: normalizer";
  if (json.is_null()) return false;
  const std::string type = component_type(json, kWhere);
  if (type == "NFC") return true;
  if (type != "Sequence") refuse_component("normalizer", type);
  bool is_nfc = false;
  for (const Json& item : read_list(need_member(json, "normalizers", kWhere), kWhere)) {
    const std::string part = component_type(item, kWhere);
    if (part != "NFC") refuse_component("normalizer", part);
    is_nfc = true;
  }
  return is_nfc;
}

void read_post_processor(const Json& json, TokenizerModel& model) {
  if (!json.is_null()) read_processor(json, model, 0);
}

void check_decoder(const Json& json) {
  const std::string type = component_type(json, "tokenizer.json: decoder");
  if (type != "ByteLevel") refuse_component("decoder", type);
}

std::vector<AddedToken> read_added_tokens(const Json& json) {
  std::vector<AddedToken> tokens;
  for (const Json& item : read_list(json, "tokenizer.json: added_tokens")) {
    tokens.push_back(read_added_token(item));
  }
  return tokens;
}

}  // namespace parhelion::text
