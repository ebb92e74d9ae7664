#include "app/tokenizer_files.h"

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"

namespace parhelion::app {
namespace {

constexpr std::string_view kTemplateKey = "tokenizer.chat_template";

std::vector<std::string> owned(const std::vector<std::string_view>& views) {
  return {views.begin(), views.end()};
}

std::optional<std::int64_t> integer_if_there(const state::GgufMetadata& metadata,
                                             std::string_view key) {
  if (metadata.find(key) == nullptr) return std::nullopt;
  return metadata.integer(key);
}

std::optional<bool> flag_if_there(const state::GgufMetadata& metadata, std::string_view key) {
  if (metadata.find(key) == nullptr) return std::nullopt;
  return metadata.boolean(key);
}

std::string read_if_there(const std::filesystem::path& path) {
  return std::filesystem::exists(path) ? read_file(path) : std::string();
}

/// A template alone, or the one named `default` of a list.
std::optional<std::string> template_of_config(const Json& config, const std::string& where) {
  const Json* found = config.find("chat_template");
  if (found == nullptr || found->is_null()) return std::nullopt;
  if (found->is_string()) return found->as_string(where);
  for (const Json& each : found->as_array(where + ": chat_template")) {
    const Json* name = each.find("name");
    const Json* text = each.find("template");
    if (name == nullptr || text == nullptr || name->as_string(where) != "default") continue;
    return text->as_string(where + ": chat_template");
  }
  return std::nullopt;
}

}  // namespace

text::GgufVocabulary gguf_vocabulary(const state::GgufMetadata& metadata) {
  text::GgufVocabulary vocabulary{
      .model = std::string(metadata.string("tokenizer.ggml.model")),
      .pre = std::string(metadata.string("tokenizer.ggml.pre")),
      .tokens = owned(metadata.strings("tokenizer.ggml.tokens")),
      .token_types = {},
      .merges = owned(metadata.strings("tokenizer.ggml.merges")),
      .bos_id = integer_if_there(metadata, "tokenizer.ggml.bos_token_id"),
      .eos_id = integer_if_there(metadata, "tokenizer.ggml.eos_token_id"),
      .unk_id = integer_if_there(metadata, "tokenizer.ggml.unknown_token_id"),
      .pad_id = integer_if_there(metadata, "tokenizer.ggml.padding_token_id"),
      .add_bos = flag_if_there(metadata, "tokenizer.ggml.add_bos_token"),
      .add_eos = flag_if_there(metadata, "tokenizer.ggml.add_eos_token")};
  for (const std::int64_t type : metadata.integers("tokenizer.ggml.token_type")) {
    vocabulary.token_types.push_back(static_cast<std::int32_t>(type));
  }
  return vocabulary;
}

const state::GgufMetadata& gguf_metadata(const state::Checkpoint& checkpoint) {
  ensure(checkpoint.metadata() != nullptr, ErrorKind::invalid,
         "{}: expected a GGUF file or a directory with tokenizer.json", checkpoint.where());
  return *checkpoint.metadata();
}

text::Tokenizer load_tokenizer(const std::filesystem::path& model) {
  if (std::filesystem::is_directory(model)) {
    return text::load_tokenizer_json(read_file(model / "tokenizer.json"),
                                     read_if_there(model / "tokenizer_config.json"));
  }
  const state::Checkpoint checkpoint = state::open_checkpoint(model);
  return text::load_gguf_vocabulary(gguf_vocabulary(gguf_metadata(checkpoint)));
}

std::optional<std::string> load_chat_template(const std::filesystem::path& model) {
  if (std::filesystem::is_directory(model)) {
    const std::filesystem::path separate = model / "chat_template.jinja";
    if (std::filesystem::exists(separate)) return read_file(separate);
    const std::filesystem::path config = model / "tokenizer_config.json";
    if (!std::filesystem::exists(config)) return std::nullopt;
    return template_of_config(parse_json(read_file(config), config.string()), config.string());
  }
  const state::Checkpoint checkpoint = state::open_checkpoint(model);
  const state::GgufMetadata& metadata = gguf_metadata(checkpoint);
  if (metadata.find(kTemplateKey) == nullptr) return std::nullopt;
  return std::string(metadata.string(kTemplateKey));
}

}  // namespace parhelion::app
