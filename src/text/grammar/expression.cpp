#include "text/grammar/expression.h"

#include "base/error.h"

#include <utility>

namespace parhelion::text {

ExpressionId RuleBook::add(Expression expression) {
  ensure(static_cast<std::int64_t>(expressions_.size()) < limits_.expressions, ErrorKind::exhausted,
         "{}: more than {} expressions", where_, limits_.expressions);
  expressions_.push_back(std::move(expression));
  return {static_cast<std::int32_t>(expressions_.size() - 1)};
}

RuleId RuleBook::add_rule(std::string_view name) {
  ensure(static_cast<std::int64_t>(rules_.size()) < limits_.rules, ErrorKind::exhausted,
         "{}: more than {} rules", where_, limits_.rules);
  rules_.push_back({std::string(name), {}});
  return {static_cast<std::int32_t>(rules_.size() - 1)};
}

void RuleBook::define(RuleId rule, ExpressionId body) {
  rules_[static_cast<std::size_t>(rule.index)].body = body;
}

}  // namespace parhelion::text
