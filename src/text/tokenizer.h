#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace parhelion::text {

using TokenId = std::int32_t;

/// What special tokens that are written in a text are.
enum class SpecialText : std::uint8_t {
  parse,  ///< tokens
  plain,  ///< ordinary text
};

/// What is put around the tokens of a text.
enum class Frame : std::uint8_t {
  none,
  bos,             ///< a BOS token first, unless the text begins with one
  post_processor,  ///< whatever the tokenizer's post-processor adds
};

struct EncodeOptions {
  SpecialText special_text = SpecialText::parse;
  Frame frame = Frame::none;
  /// Bytes of the text at which no control token begins, ascending; see PromptText.
  std::span<const std::size_t> plain_at = {};
};

/// Whether decoding drops special tokens.
enum class SpecialTokens : std::uint8_t { keep, skip };

/// Ids of tokens with a role, where the tokenizer names them.
struct SpecialIds {
  std::optional<TokenId> bos;
  std::optional<TokenId> eos;
  std::optional<TokenId> unk;
  std::optional<TokenId> pad;
};

struct TokenizerModel;

/// A byte-level BPE tokenizer. A handle to immutable data, cheap to copy.
///
/// Threads: any number may use one tokenizer at a time.
class Tokenizer {
 public:
  explicit Tokenizer(std::shared_ptr<const TokenizerModel> model) : model_(std::move(model)) {}

  /// The tokens of `text`. `Encoder` does the same faster for many short texts.
  ///
  /// Errors: invalid if the text is no UTF-8 or is 2 GiB or more, or if a BOS is asked for which
  /// the tokenizer does not name; exhausted if a regex passes the limits of its engine.
  std::vector<TokenId> encode(std::string_view text, const EncodeOptions& options = {}) const;

  /// The text of `ids`: their bytes, where each maximal ill-formed subsequence is U+FFFD.
  ///
  /// Errors: invalid if an id is not in the vocabulary.
  std::string decode(std::span<const TokenId> ids,
                     SpecialTokens special_tokens = SpecialTokens::keep) const;

  /// One more than the greatest id.
  std::int64_t vocabulary_size() const;
  bool contains(std::int64_t id) const;
  /// The bytes a token stands for.
  ///
  /// Errors: invalid if the id is not in the vocabulary.
  std::string_view token_bytes(TokenId id) const;
  /// Errors: invalid if the id is not in the vocabulary.
  bool is_special(TokenId id) const;
  /// The id of a token as the vocabulary writes it, such as "<|im_end|>" or "\u0120the".
  std::optional<TokenId> find(std::string_view written) const;
  const SpecialIds& special_ids() const;
  /// What a special token is in a text; nothing for none.
  std::optional<std::string> special_text(std::optional<TokenId> id) const;
  /// Whether the model expects a BOS before each text.
  bool adds_bos() const;

  const TokenizerModel& model() const { return *model_; }

 private:
  std::shared_ptr<const TokenizerModel> model_;
};

/// Reads the texts of Hugging Face's `tokenizer.json` and, if not empty, of
/// `tokenizer_config.json`, which names the special tokens.
///
/// Errors: corrupt if a text breaks the format; unsupported, by name, for components this build
/// does not know.
Tokenizer load_tokenizer_json(std::string_view json, std::string_view config = {});

}  // namespace parhelion::text
