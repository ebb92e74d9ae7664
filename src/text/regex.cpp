#define PCRE2_CODE_UNIT_WIDTH 8  // the library's own switch, read by its header

#include "text/regex.h"

#include "base/error.h"

#include <pcre2.h>

#include <string>

namespace parhelion::text {

/// Frees what PCRE2 made.
struct PcreDelete {
  void operator()(pcre2_code* code) const { pcre2_code_free(code); }
  void operator()(pcre2_match_data* data) const { pcre2_match_data_free(data); }
  void operator()(pcre2_match_context* context) const { pcre2_match_context_free(context); }
  void operator()(pcre2_jit_stack* stack) const { pcre2_jit_stack_free(stack); }
};

namespace {

std::string pcre_message(int code) {
  PCRE2_UCHAR buffer[256] = {};
  pcre2_get_error_message(code, buffer, sizeof buffer);
  return reinterpret_cast<const char*>(buffer);
}

PCRE2_SPTR pcre_text(std::string_view text) { return reinterpret_cast<PCRE2_SPTR>(text.data()); }

}  // namespace

struct RegexCode {
  std::string name;
  std::unique_ptr<pcre2_code, PcreDelete> code;
};

struct RegexScratch {
  std::unique_ptr<pcre2_match_data, PcreDelete> data;
  std::unique_ptr<pcre2_match_context, PcreDelete> context;
  std::unique_ptr<pcre2_jit_stack, PcreDelete> stack;
};

Regex::Regex(std::string_view pattern, RegexSyntax syntax, std::string_view where) {
  auto made = std::make_shared<RegexCode>();
  made->name = std::string(where) + ": regex '" + std::string(pattern) + "'";
  const bool is_literal = syntax == RegexSyntax::literal;
  const std::string source = is_literal ? std::string(pattern) : translate_regex(pattern, where);
  const std::uint32_t options =
      PCRE2_UTF | (is_literal ? std::uint32_t{PCRE2_LITERAL} : std::uint32_t{PCRE2_UCP});
  int code = 0;
  PCRE2_SIZE offset = 0;
  made->code.reset(
      pcre2_compile(pcre_text(source), source.size(), options, &code, &offset, nullptr));
  ensure(made->code != nullptr, ErrorKind::corrupt, "{}: {}", made->name, pcre_message(code));
  pcre2_jit_compile(made->code.get(), PCRE2_JIT_COMPLETE);  // if it fails the interpreter matches
  code_ = std::move(made);
}

RegexSearch::RegexSearch(const Regex& regex, std::string_view text)
    : code_(regex.code_), text_(text), scratch_(std::make_unique<RegexScratch>()) {
  constexpr std::size_t kStackBytes = std::size_t{16} << 20;  // reserved, taken only when needed
  scratch_->data.reset(pcre2_match_data_create_from_pattern(code_->code.get(), nullptr));
  scratch_->context.reset(pcre2_match_context_create(nullptr));
  scratch_->stack.reset(pcre2_jit_stack_create(std::size_t{32} << 10, kStackBytes, nullptr));
  ensure(scratch_->data != nullptr && scratch_->context != nullptr, ErrorKind::exhausted,
         "{}: no memory to match", code_->name);
  pcre2_jit_stack_assign(scratch_->context.get(), nullptr, scratch_->stack.get());
}

RegexSearch::~RegexSearch() = default;

std::optional<RegexMatch> RegexSearch::match_from(std::size_t at) {
  const int code = pcre2_match(code_->code.get(), pcre_text(text_), text_.size(), at,
                               PCRE2_NO_UTF_CHECK, scratch_->data.get(), scratch_->context.get());
  if (code == PCRE2_ERROR_NOMATCH) return std::nullopt;
  ensure(code >= 0, ErrorKind::exhausted, "{}: {}", code_->name, pcre_message(code));
  const PCRE2_SIZE* bounds = pcre2_get_ovector_pointer(scratch_->data.get());
  return RegexMatch{bounds[0], bounds[1]};
}

std::optional<RegexMatch> RegexSearch::next() {
  while (at_ <= text_.size()) {
    const std::optional<RegexMatch> match = match_from(at_);
    if (!match) break;
    const bool is_empty = match->begin == match->end;
    at_ = match->end;
    if (is_empty) {  // step over one character
      do ++at_;
      while (at_ < text_.size() && (static_cast<unsigned char>(text_[at_]) & 0xC0) == 0x80);
    }
    if (is_empty && last_end_ == match->end) continue;
    last_end_ = match->end;
    return match;
  }
  at_ = text_.size() + 1;
  return std::nullopt;
}

}  // namespace parhelion::text
