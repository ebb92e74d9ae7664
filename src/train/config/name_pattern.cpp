#include "train/config/name_pattern.h"

#include "base/error.h"

namespace parhelion::train {
namespace {

text::Regex compile_whole(std::string_view pattern, std::string_view where) try {
  // Alone first: what is inside of ^(?: )$ could close the bracket.
  [[maybe_unused]] const text::Regex alone(pattern, text::RegexSyntax::expression, where);
  return {fmt::format("^(?:{})$", pattern), text::RegexSyntax::expression, where};
} catch (const Error& error) {
  throw Error(ErrorKind::invalid, error.what());
}

}  // namespace

NamePattern::NamePattern(std::string_view pattern, std::string_view where)
    : regex_(compile_whole(pattern, where)) {}

bool NamePattern::matches(std::string_view name) const {
  return text::RegexSearch(regex_, name).next().has_value();
}

}  // namespace parhelion::train
