#include "base/error.h"
#include "text/jinja/runtime.h"

#include <array>

namespace parhelion::text::jinja {
namespace {

std::int64_t integer_argument(Renderer& renderer, const Value& value) {
  if (const auto* number = value.get<std::int64_t>()) return *number;
  renderer.fail_here("range() needs integers");
}

Value call_range(Renderer& renderer, const Arguments& arguments) {
  const Values& bounds = arguments.positional;
  if (bounds.empty() || bounds.size() > 3)
    renderer.fail_here("range() needs one to three arguments");
  const std::int64_t start = bounds.size() > 1 ? integer_argument(renderer, bounds[0]) : 0;
  const std::int64_t stop = integer_argument(renderer, bounds[bounds.size() > 1 ? 1 : 0]);
  const std::int64_t step = bounds.size() > 2 ? integer_argument(renderer, bounds[2]) : 1;
  if (step == 0) renderer.fail_here("range() arg 3 must not be zero");
  Values out;
  for (std::int64_t at = start; step > 0 ? at < stop : at > stop;) {
    renderer.charge(32);
    out.emplace_back(at);
    if (__builtin_add_overflow(at, step, &at)) break;
  }
  return make_list(std::move(out));
}

Value call_namespace(Renderer& renderer, const Arguments& arguments) {
  const NamespaceRef names = renderer.make_namespace();
  for (const Value& value : arguments.positional) {
    if (value.dict() == nullptr) renderer.fail_here("namespace() needs a mapping");
    for (const auto& [key, item] : value.dict()->items)
      names->members.insert_or_assign(renderer.text_of(key), item);
  }
  for (const auto& [name, value] : arguments.named) names->members.insert_or_assign(name, value);
  return names;
}

Value call_dict(Renderer& renderer, const Arguments& arguments) {
  DictData dict;
  for (const Value& value : arguments.positional) {
    if (value.dict() == nullptr)
      renderer.fail_unsupported("dict() of something else than a mapping");
    dict = *value.dict();
  }
  for (const auto& [name, value] : arguments.named) dict.set(Value(name), value);
  renderer.charge(dict.items.size() * 32);
  return make_dict(std::move(dict));
}

Value call_raise_exception(Renderer& renderer, const Arguments& arguments) {
  fail(ErrorKind::invalid, "chat template: {}", renderer.text_of(arguments.get(0, "message", "")));
}

Value call_strftime_now(Renderer& renderer, const Arguments& arguments) {
  const std::string format = renderer.text_of(arguments.get(0, "format", ""));
  std::array<char, 1024> buffer{};
  const std::size_t size =
      std::strftime(buffer.data(), buffer.size(), format.c_str(), &*renderer.now());
  if (size == 0 && !format.empty()) renderer.fail_here("strftime_now: the text is too long");
  return std::string(buffer.data(), size);
}

void add_builtin(Renderer& renderer, std::string_view name,
                 Value (*call)(Renderer&, const Arguments&)) {
  renderer.set(name, std::make_shared<const Function>(Function{Builtin{name, call}, 1}));
}

}  // namespace

void add_builtins(Renderer& renderer) {
  add_builtin(renderer, "range", call_range);
  add_builtin(renderer, "namespace", call_namespace);
  add_builtin(renderer, "dict", call_dict);
  add_builtin(renderer, "raise_exception", call_raise_exception);
  if (renderer.now()) add_builtin(renderer, "strftime_now", call_strftime_now);
}

}  // namespace parhelion::text::jinja
