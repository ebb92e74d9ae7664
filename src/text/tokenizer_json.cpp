#include "base/error.h"
#include "base/json.h"
#include "text/json_cursor.h"
#include "text/tokenizer_parts.h"

#include <algorithm>
#include <array>
#include <map>
#include <span>
#include <string>
#include <utility>

namespace parhelion::text {
namespace {

constexpr std::string_view kFile = "tokenizer.json";
constexpr std::string_view kModel = "tokenizer.json: model";

/// The texts of an object's members, by key.
using RawMembers = std::map<std::string, std::string_view, std::less<>>;

constexpr std::string_view kFileMembers[] = {
    "version",       "truncation",     "padding", "added_tokens", "normalizer",
    "pre_tokenizer", "post_processor", "decoder", "model",
};
constexpr std::string_view kModelMembers[] = {
    "type",
    "dropout",
    "unk_token",
    "continuing_subword_prefix",
    "end_of_word_suffix",
    "fuse_unk",
    "byte_fallback",
    "ignore_merges",
    "vocab",
    "merges",
};

/// The members of the file and of its model, cut in one pass.
struct TokenizerSections {
  RawMembers file;
  RawMembers model;
};

/// A place for the text of a member, which must be known and new.
std::string_view& add_member(RawMembers& members, std::string_view key,
                             std::span<const std::string_view> known, std::string_view where) {
  ensure(std::find(known.begin(), known.end(), key) != known.end(), ErrorKind::unsupported,
         "{}: member '{}' is not supported", where, key);
  const auto [place, is_new] = members.emplace(std::string(key), std::string_view());
  ensure(is_new, ErrorKind::corrupt, "{}: key '{}' is repeated", where, key);
  return place->second;
}

TokenizerSections cut_sections(std::string_view json) {
  TokenizerSections sections;
  JsonCursor cursor(json, kFile);
  const auto cut_model_member = [&](std::string_view key) {
    std::string_view& text = add_member(sections.model, key, kModelMembers, kModel);
    text = cursor.raw_value();
  };
  cursor.object([&](std::string_view key) {
    std::string_view& text = add_member(sections.file, key, kFileMembers, kFile);
    if (key == "model") {
      cursor.object(cut_model_member);
    } else {
      text = cursor.raw_value();
    }
  });
  cursor.finish();
  return sections;
}

/// A member as a value; null if it is absent.
Json read_member(const RawMembers& members, std::string_view key, std::string_view where) {
  const auto found = members.find(key);
  if (found == members.end()) return {};
  return parse_json(found->second, fmt::format("{}: {}", where, key));
}

std::string_view need_raw(const RawMembers& members, std::string_view key, std::string_view where) {
  const auto found = members.find(key);
  ensure(found != members.end(), ErrorKind::corrupt, "{}: has no member '{}'", where, key);
  return found->second;
}

std::size_t count_commas(std::string_view text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), ','));
}

void read_vocabulary(std::string_view text, Vocabulary& vocabulary) {
  constexpr std::string_view kWhere = "tokenizer.json: vocab";
  vocabulary = Vocabulary(count_commas(text) + 1);
  JsonCursor cursor(text, kWhere);
  cursor.object([&](std::string_view token) { vocabulary.add(token, cursor.integer(), kWhere); });
  cursor.finish();
}

/// Reads a merge written as an array of two tokens.
void read_merge_pair(JsonCursor& cursor, MergeBuilder& merges, std::string_view where) {
  std::array<std::string, 2> parts;
  std::string storage;
  std::size_t count = 0;
  cursor.array([&] {
    const std::string_view part = cursor.string(storage);
    if (count < parts.size()) parts[count] = part;
    ++count;
  });
  ensure(count == parts.size(), ErrorKind::corrupt, "{}: a merge has {} tokens, expected 2", where,
         count);
  merges.add(parts[0], parts[1]);
}

void read_merges(std::string_view text, TokenizerModel& model) {
  constexpr std::string_view kWhere = "tokenizer.json: merges";
  const bool are_pairs = text.find('[', 1) != std::string_view::npos;
  MergeBuilder merges(model, count_commas(text) / (are_pairs ? 2 : 1) + 1, kWhere);
  JsonCursor cursor(text, kWhere);
  std::string storage;
  cursor.array([&] {
    if (cursor.peek() != '"') return read_merge_pair(cursor, merges, kWhere);
    const std::string_view pair = cursor.string(storage);
    if (!pair.starts_with("#version")) merges.add(pair);
  });
  cursor.finish();
}

void refuse_setting(const Json& value, bool is_off, std::string_view key) {
  ensure(is_off, ErrorKind::unsupported, "{}: {} = {} is not supported", kModel, key,
         write_json(value));
}

void check_model_settings(const RawMembers& members) {
  const Json type = read_member(members, "type", kModel);
  ensure(type.is_null() || type == Json("BPE"), ErrorKind::unsupported,
         "tokenizer.json: model type {} is not supported", write_json(type));
  const Json dropout = read_member(members, "dropout", kModel);
  refuse_setting(dropout, dropout.is_null() || dropout == Json(0.0) || dropout == Json(0),
                 "dropout");
  for (const std::string_view key : {"continuing_subword_prefix", "end_of_word_suffix"}) {
    const Json affix = read_member(members, key, kModel);
    refuse_setting(affix, affix.is_null() || affix == Json(""), key);
  }
}

bool read_model_flag(const RawMembers& members, std::string_view key) {
  const Json flag = read_member(members, key, kModel);
  ensure(flag.is_null() || flag.is_bool(), ErrorKind::corrupt, "{}: {} is {}, expected boolean",
         kModel, key, flag.type_name());
  return flag.is_bool() && flag.as_bool(key);
}

/// What matters only where a byte has no token.
struct MissingByteRules {
  bool falls_back = false;       ///< to tokens like <0x41>
  bool unknown_missing = false;  ///< the unknown token is named but not in the vocabulary
};

MissingByteRules read_model(const RawMembers& members, TokenizerModel& model) {
  check_model_settings(members);
  model.ignores_merges = read_model_flag(members, "ignore_merges");
  model.fuses_unknown = read_model_flag(members, "fuse_unk");
  read_vocabulary(need_raw(members, "vocab", kModel), model.vocabulary);
  read_merges(need_raw(members, "merges", kModel), model);
  const Json unknown = read_member(members, "unk_token", kModel);
  if (!unknown.is_null()) model.unknown = model.vocabulary.find_written(read_text(unknown, kModel));
  return {.falls_back = read_model_flag(members, "byte_fallback"),
          .unknown_missing = !unknown.is_null() && !model.unknown};
}

void check_missing_bytes(const TokenizerModel& model, const MissingByteRules& rules) {
  const auto& ids = model.byte_ids;
  const auto missing = std::find(ids.begin(), ids.end(), -1);
  if (missing == ids.end()) return;
  ensure(!rules.falls_back, ErrorKind::unsupported,
         "{}: byte_fallback is not supported, and byte {} has no token", kModel,
         missing - ids.begin());
  ensure(!rules.unknown_missing, ErrorKind::corrupt, "{}: unk_token is not in the vocabulary",
         kModel);
}

/// The id of a special token which tokenizer_config.json names, as text or as an object.
std::optional<TokenId> read_role(const Json& config, std::string_view role,
                                 const Vocabulary& vocabulary) {
  const std::string where = fmt::format("tokenizer_config.json: {}", role);
  const Json* value = config.find(role);
  if (value == nullptr || value->is_null()) return std::nullopt;
  const Json& content = value->is_object() ? need_member(*value, "content", where) : *value;
  const std::string& written = read_text(content, where);
  const std::optional<TokenId> id = vocabulary.find_written(written);
  ensure(id.has_value(), ErrorKind::corrupt, "{}: '{}' is not in the vocabulary", where, written);
  return id;
}

void read_roles(std::string_view config_text, TokenizerModel& model) {
  if (!config_text.empty()) {
    const Json config = parse_json(config_text, "tokenizer_config.json");
    model.special_ids = {.bos = read_role(config, "bos_token", model.vocabulary),
                         .eos = read_role(config, "eos_token", model.vocabulary),
                         .unk = read_role(config, "unk_token", model.vocabulary),
                         .pad = read_role(config, "pad_token", model.vocabulary)};
  }
  if (!model.special_ids.bos && !model.prefix.empty()) model.special_ids.bos = model.prefix.front();
  if (!model.special_ids.unk) model.special_ids.unk = model.unknown;
}

void refuse_truncation(const RawMembers& members) {
  for (const std::string_view key : {"truncation", "padding"}) {
    const Json value = read_member(members, key, kFile);
    ensure(value.is_null(), ErrorKind::unsupported, "{}: {} is not supported", kFile, key);
  }
}

}  // namespace

Tokenizer load_tokenizer_json(std::string_view json, std::string_view config) {
  const TokenizerSections sections = cut_sections(json);
  const RawMembers& members = sections.file;
  refuse_truncation(members);
  auto model = std::make_shared<TokenizerModel>();
  model->normalizes_nfc = reads_as_nfc(read_member(members, "normalizer", kFile));
  model->stages = read_pre_tokenizer(read_member(members, "pre_tokenizer", kFile));
  check_decoder(read_member(members, "decoder", kFile));
  const MissingByteRules rules = read_model(sections.model, *model);
  const Json added = read_member(members, "added_tokens", kFile);
  complete_model(*model, added.is_null() ? std::vector<AddedToken>() : read_added_tokens(added),
                 "tokenizer.json: added_tokens");
  check_missing_bytes(*model, rules);
  read_post_processor(read_member(members, "post_processor", kFile), *model);
  read_roles(config, *model);
  return Tokenizer(std::move(model));
}

}  // namespace parhelion::text
