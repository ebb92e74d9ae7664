#include "app/http/engine_ports.h"

#include "text/grammar/matcher.h"

#include <algorithm>

namespace parhelion::app {
namespace {

class ReplyStopPort : public serve::StopFilter {
 public:
  ReplyStopPort(const text::Tokenizer& tokenizer, const text::ReplyOptions& options,
                bool at_most_once)
      : reader_(tokenizer, options), at_most_once_(at_most_once) {}

  bool accept(std::int32_t id) override {
    events_.clear();
    reader_.push(id, events_);
    if (reader_.stop()) return true;
    const auto ends_call = [](const text::ReplyEvent& event) {
      return event.part == text::ReplyPart::call_end;
    };
    return at_most_once_ && std::ranges::any_of(events_, ends_call);
  }

 private:
  text::ReplyReader reader_;
  bool at_most_once_;
  text::ReplyEvents events_;
};

class ReplyRulesPort : public serve::TokenMask {
 public:
  ReplyRulesPort(const text::Tokenizer& tokenizer, const text::ReplyOptions& options,
                 const TokenRules& rules)
      : reader_(tokenizer, options), thinking_tokens_(rules.thinking_tokens) {
    if (rules.grammar) matcher_.emplace(rules.grammar, rules.stop_ids);
    if (!rules.calls.empty()) calls_.emplace(rules.calls, rules.stop_ids);
    begun_calls_ = rules.begun_calls;
    stop_ids_ = rules.stop_ids;
    bad_words_ = rules.bad_words;
    if (options.format.reasoning) closing_ = tokenizer.encode(options.format.reasoning->close);
    if (options.format.reasoning && rules.may_open_reasoning)
      opening_ = tokenizer.encode(options.format.reasoning->open);
  }

  void fill(std::span<std::uint32_t> bits) override {
    if (is_closing()) return allow_only(closing_[closed_], bits);
    if (is_opening()) return allow_only(opening_[opened_], bits);
    fill_free(bits);
    if (at_start_) allow_opening(bits);
    for (const std::vector<std::int32_t>& word : bad_words_) ban_end(word, bits);
  }

  void accept(std::int32_t id) override {
    const bool was_thinking = reader_.is_in_reasoning();
    const bool opens = is_opening() || (at_start_ && may_open_ && id == opening_.front());
    at_start_ = false;
    if (opens) ++opened_;
    if (is_closing()) ++closed_;
    if (was_thinking) ++thought_;
    const bool is_answer = !was_thinking && !opens;
    if (is_answer && matcher_) matcher_->accept(id);
    if (is_answer && calls_) calls_->accept(id);
    if (is_answer) follow_begun(id);
    if (!bad_words_.empty()) drawn_.push_back(id);
    events_.clear();
    reader_.push(id, events_);
  }

 private:
  /// What may come next but for bad words.
  void fill_free(std::span<std::uint32_t> bits) {
    if (matcher_ && !reader_.is_in_reasoning()) return matcher_->fill_mask(bits);
    if (calls_ && !reader_.is_in_reasoning()) return calls_->fill(bits);
    if (begun_) return begun_->fill(bits);
    std::ranges::fill(bits, ~std::uint32_t{0});
  }

  /// A call begins in free text with its marker; behind it the text is free again.
  void follow_begun(std::int32_t id) {
    if (!begun_ && !begun_calls_.empty() && id == begun_calls_.front().before.front())
      begun_.emplace(begun_calls_, stop_ids_);
    if (!begun_) return;
    begun_->accept(id);
    if (begun_->is_whole()) begun_.reset();
  }

  /// A reply may begin with reasoning, unless its rules allow the marker's first token as an
  /// answer.
  void allow_opening(std::span<std::uint32_t> bits) {
    if (opening_.empty()) return;
    std::uint32_t& word = bits[static_cast<std::size_t>(opening_.front() / 32)];
    const std::uint32_t bit = std::uint32_t{1} << (opening_.front() % 32);
    may_open_ = (word & bit) == 0;
    word |= bit;
  }

  bool is_opening() const { return opened_ > 0 && opened_ < opening_.size(); }

  /// Bans the last id of a word behind all others.
  void ban_end(const std::vector<std::int32_t>& word, std::span<std::uint32_t> bits) const {
    const std::size_t length = word.size() - 1;
    if (drawn_.size() < length) return;
    const auto tail = drawn_.end() - static_cast<std::ptrdiff_t>(length);
    if (!std::equal(tail, drawn_.end(), word.begin())) return;
    const std::int32_t id = word.back();
    bits[static_cast<std::size_t>(id / 32)] &= ~(std::uint32_t{1} << (id % 32));
  }

  bool is_closing() const {
    return thinking_tokens_ && reader_.is_in_reasoning() && thought_ >= *thinking_tokens_ &&
           closed_ < closing_.size();
  }

  static void allow_only(std::int32_t id, std::span<std::uint32_t> bits) {
    std::ranges::fill(bits, 0);
    bits[static_cast<std::size_t>(id / 32)] = std::uint32_t{1} << (id % 32);
  }

  text::ReplyReader reader_;
  std::optional<text::GrammarMatcher> matcher_;
  std::optional<ForcedCallMask> calls_;
  std::vector<ForcedCallRule> begun_calls_;
  std::vector<std::int32_t> stop_ids_;
  std::optional<ForcedCallMask> begun_;  // a call that is being written
  std::vector<std::vector<std::int32_t>> bad_words_;
  std::vector<std::int32_t> drawn_;  // kept for bad words
  std::optional<std::int64_t> thinking_tokens_;
  std::vector<text::TokenId> opening_;  // the marker with which a reply may begin; may be empty
  bool at_start_ = true;
  bool may_open_ = false;
  std::size_t opened_ = 0;              // of its tokens
  std::vector<text::TokenId> closing_;  // the marker that ends reasoning
  std::size_t closed_ = 0;              // of its tokens, drawn since the budget is used up
  std::int64_t thought_ = 0;
  text::ReplyEvents events_;
};

}  // namespace

std::function<std::unique_ptr<serve::StopFilter>(std::int64_t)> stop_filter_port(
    text::Tokenizer tokenizer, text::ReplyOptions options, bool at_most_once) {
  return
      [tokenizer = std::move(tokenizer), options = std::move(options), at_most_once](std::int64_t) {
        return std::make_unique<ReplyStopPort>(tokenizer, options, at_most_once);
      };
}

std::function<std::unique_ptr<serve::TokenMask>(std::int64_t)> token_mask_port(
    text::Tokenizer tokenizer, text::ReplyOptions options, TokenRules rules) {
  return [tokenizer = std::move(tokenizer), options = std::move(options), rules = std::move(rules)](
             std::int64_t) { return std::make_unique<ReplyRulesPort>(tokenizer, options, rules); };
}

}  // namespace parhelion::app
