#include "base/error.h"
#include "text/jinja/runtime.h"

#include <utility>

namespace parhelion::text::jinja {

Renderer::Renderer(const TemplateLimits& limits, std::optional<std::tm> now)
    : limits_(limits), now_(now), steps_left_(limits.steps), scope_(std::make_shared<Scope>()) {
  add_builtins(*this);
}

Renderer::~Renderer() {
  for (const NamespaceRef& names : namespaces_) names->members.clear();
}

void Renderer::set(std::string_view name, Value value) {
  scope_->values.insert_or_assign(std::string(name), std::move(value));
}

NamespaceRef Renderer::make_namespace() {
  namespaces_.push_back(std::make_shared<NamespaceData>());
  return namespaces_.back();
}

void Renderer::charge(std::size_t bytes) {
  steps_left_ -= 1 + static_cast<std::int64_t>(bytes / 32);
  ensure(steps_left_ >= 0, ErrorKind::invalid, "chat template line {}: takes more than {} steps",
         line_, limits_.steps);
}

void Renderer::charge_walk(const Value& value) {
  charge(static_cast<std::size_t>(weight_of(value)) * 32);
}

std::string Renderer::text_of(const Value& value) {
  charge_walk(value);
  return to_text(value);
}

bool Renderer::is_equal(const Value& a, const Value& b) {
  charge_walk(weight_of(a) < weight_of(b) ? a : b);
  return are_equal(a, b);
}

void Renderer::fail_here(std::string_view message) const {
  fail(ErrorKind::invalid, "chat template line {}: {}", line_, message);
}

void Renderer::fail_unsupported(std::string_view what) const {
  fail(ErrorKind::unsupported, "chat template line {}: {} is not supported", line_, what);
}

std::string Renderer::render(const Block& block) {
  run(block);
  return std::move(out_);
}

void Renderer::write(std::string_view text) {
  charge(text.size());
  const auto size = static_cast<std::int64_t>(out_.size() + text.size());
  ensure(size <= limits_.output_bytes, ErrorKind::invalid,
         "chat template line {}: gives more than {} bytes", line_, limits_.output_bytes);
  out_ += text;
}

std::string Renderer::capture(const Block& block) {
  std::string outer = std::exchange(out_, {});
  run(block);
  return std::exchange(out_, std::move(outer));
}

Renderer::Flow Renderer::run(const Block& block) {
  for (const Statement& statement : block) {
    line_ = statement.line;
    const Flow flow = std::visit([this](const auto& node) { return run(node); }, statement.node);
    if (flow != Flow::next) return flow;
  }
  return Flow::next;
}

Renderer::Flow Renderer::run(const TextStatement& statement) {
  write(statement.text);
  return Flow::next;
}

Renderer::Flow Renderer::run(const PrintStatement& statement) {
  write(text_of(evaluate(*statement.value)));
  return Flow::next;
}

Renderer::Flow Renderer::run(const IfStatement& statement) {
  for (const auto& [condition, block] : statement.branches) {
    if (is_true(evaluate(*condition))) return run(block);
  }
  return run(statement.otherwise);
}

void Renderer::bind_targets(const std::vector<std::string>& targets, const Value& value) {
  if (targets.size() == 1) return set(targets.front(), value);
  const Values items = iterate(*this, value);
  if (items.size() != targets.size()) {
    fail_here(fmt::format("{} values for {} names", items.size(), targets.size()));
  }
  for (std::size_t i = 0; i < items.size(); ++i) set(targets[i], items[i]);
}

Values Renderer::collect_items(const ForStatement& statement) {
  Values items = iterate(*this, evaluate(*statement.items));
  if (statement.condition == nullptr) return items;
  Values kept;
  for (Value& item : items) {
    bind_targets(statement.targets, item);
    if (is_true(evaluate(*statement.condition))) kept.push_back(std::move(item));
  }
  return kept;
}

Renderer::Flow Renderer::run(const ForStatement& statement) {
  const std::shared_ptr<Scope> outer = scope_;
  const auto enter_scope = [&] {
    scope_ = std::make_shared<Scope>();
    scope_->parent = outer;
  };
  enter_scope();
  const Value list = make_list(collect_items(statement));
  const auto count = static_cast<std::int64_t>(list.items()->size());
  Flow flow = Flow::next;
  if (count == 0) flow = run(statement.otherwise);
  for (std::int64_t i = 0; i < count && flow != Flow::leave_loop; ++i) {
    enter_scope();
    set("loop", std::make_shared<const LoopData>(LoopData{*list.get<ListRef>(), i}));
    bind_targets(statement.targets, (*list.items())[static_cast<std::size_t>(i)]);
    flow = run(statement.body);
  }
  scope_ = outer;
  return count == 0 ? flow : Flow::next;
}

void Renderer::set_attribute(const SetStatement& statement, Value value) {
  const Value object = evaluate(NameExpression{statement.targets.front()});
  const auto* names = object.get<NamespaceRef>();
  if (names == nullptr || statement.targets.size() != 1) {
    fail_here("cannot assign attribute on non-namespace object");
  }
  (*names)->members.insert_or_assign(statement.attribute, std::move(value));
}

Renderer::Flow Renderer::run(const SetStatement& statement) {
  Value value = evaluate(*statement.value);
  if (statement.attribute.empty()) {
    bind_targets(statement.targets, value);
  } else {
    set_attribute(statement, std::move(value));
  }
  return Flow::next;
}

Renderer::Flow Renderer::run(const MacroStatement& statement) {
  set(statement.macro->name,
      std::make_shared<const Function>(Function{BoundMacro{statement.macro, scope_}, 1}));
  return Flow::next;
}

Renderer::Flow Renderer::run(const CallStatement& statement) {
  const Value function = evaluate(*statement.callee);
  Arguments arguments = evaluate(statement.arguments);
  arguments.named.emplace_back("caller", std::make_shared<const Function>(
                                             Function{BoundMacro{statement.caller, scope_}, 1}));
  write(text_of(call(function, arguments)));
  return Flow::next;
}

Renderer::Flow Renderer::run(const BreakStatement&) { return Flow::leave_loop; }
Renderer::Flow Renderer::run(const ContinueStatement&) { return Flow::next_item; }

}  // namespace parhelion::text::jinja
