#include "base/error.h"
#include "text/reply/call_body.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

namespace parhelion::text {
namespace {

/// What the schema of a function says an argument may be.
struct ArgumentType {
  bool is_string = false;   ///< nothing but a string
  bool is_boolean = false;  ///< among others
};

const Json* find_member(const Json* json, std::string_view key) {
  return json == nullptr ? nullptr : json->find(key);
}

/// The parameters of function `name` in a list of tools.
const Json* find_parameters(const Json& tools, std::string_view name) {
  if (!tools.is_array()) return nullptr;
  for (const Json& tool : tools.as_array("tools")) {
    const Json* function = tool.find("function");
    if (function == nullptr) function = &tool;
    const Json* known = function->find("name");
    const bool is_it = known != nullptr && known->is_string() && known->as_string("name") == name;
    if (is_it) return function->find("parameters");
  }
  return nullptr;
}

ArgumentType type_of(const Json& tools, std::string_view function, std::string_view key) {
  const Json* schema =
      find_member(find_member(find_parameters(tools, function), "properties"), key);
  const Json* type = find_member(schema, "type");
  if (type == nullptr) return {};
  const auto is = [](const Json& json, std::string_view name) {
    return json.is_string() && json.as_string("type") == name;
  };
  if (!type->is_array())
    return {.is_string = is(*type, "string"), .is_boolean = is(*type, "boolean")};
  const Json::Array& types = type->as_array("type");
  return {.is_boolean = std::any_of(types.begin(), types.end(),
                                    [&](const Json& item) { return is(item, "boolean"); })};
}

void append_escaped(char c, std::string& out) {
  constexpr std::string_view kPlain = "\"\\\b\f\n\r\t";
  constexpr std::string_view kEscapes = "\"\\bfnrt";
  const std::size_t at = kPlain.find(c);
  if (at != std::string_view::npos) {
    out += '\\';
    out += kEscapes[at];
  } else if (static_cast<unsigned char>(c) < 0x20) {
    out += fmt::format("\\u{:04x}", static_cast<unsigned char>(c));
  } else {
    out += c;
  }
}

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) append_escaped(c, out);
  return out;
}

std::string_view trim_value(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  const std::size_t first = text.find_first_not_of(kSpace);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kSpace) + 1 - first);
}

/// A value that is no mere string, as JSON: as it stands if it is JSON, else as a string.
std::string value_as_json(std::string_view value, const ArgumentType& type) try {
  const std::string_view trimmed = trim_value(value);
  if (type.is_boolean && trimmed == "True") return "true";
  if (type.is_boolean && trimmed == "False") return "false";
  if (trimmed == "None") return "null";
  parse_json(trimmed, "argument", {.depth = 64});
  return std::string(trimmed);
} catch (const Error&) {
  return quote_json(value);
}

/// A name, then each argument as a key and a value between markers.
class ParameterBody : public CallBody {
 public:
  ParameterBody(const ToolFormat& format, const Json& tools) : format_(format), tools_(tools) {}

  BodyStep push(char c, CallSink& sink, ReplyEvents& events) override {
    switch (state_) {
      case State::name:
        return push_name(c, sink, events);
      case State::between:
        return push_between(c, sink, events);
      case State::key:
        return push_key(c, sink, events);
      case State::value_open:
        return push_value_open(c, sink, events);
      case State::value:
        return push_value(c, sink, events);
    }
    return BodyStep::failed;
  }

  std::string break_off(CallSink& sink, ReplyEvents& events) override {
    if (state_ != State::value) return held_;
    sink.add(type_.is_string ? escaped(held_) : held_, events);
    return {};
  }

 private:
  enum class State : std::uint8_t { name, between, key, value_open, value };
  static constexpr std::size_t kMostHeader = 512;

  BodyStep push_name(char c, CallSink& sink, ReplyEvents& events) {
    const bool ends_itself = format_.name_end.empty();
    if (ends_itself && !is_call_name(c)) {
      name_ = trim_value(held_);
      if (name_.empty()) return held_.empty() && c == '\n' ? BodyStep::more : BodyStep::failed;
      go(State::between);
      return push_between(c, sink, events);
    }
    held_ += c;
    if (held_.size() > kMostHeader) return BodyStep::failed;
    if (ends_itself || !held_.ends_with(format_.name_end)) return BodyStep::more;
    name_ = held_.substr(0, held_.size() - format_.name_end.size());
    const bool is_name = !name_.empty() && std::all_of(name_.begin(), name_.end(), is_call_name);
    if (!is_name) return BodyStep::failed;
    return go(State::between);
  }

  BodyStep go(State state) {
    held_.clear();
    state_ = state;
    return BodyStep::more;
  }

  /// A key, or the end of the call, behind white space.
  BodyStep push_between(char c, CallSink& sink, ReplyEvents& events) {
    const bool is_space = c == ' ' || c == '\t' || c == '\n' || c == '\r';
    if (is_space && held_.empty()) return BodyStep::more;
    const std::string next = held_ + c;
    if (next == format_.close) return end_call(sink, events);
    if (next == format_.key_open) {
      begin_once(sink, events);
      return go(State::key);
    }
    if (!format_.close.starts_with(next) && !format_.key_open.starts_with(next)) {
      return BodyStep::failed;
    }
    held_ = next;
    return BodyStep::more;
  }

  void begin_once(CallSink& sink, ReplyEvents& events) {
    if (sink.is_begun()) return;
    sink.begin(name_, events);
    sink.add("{", events);
  }

  BodyStep end_call(CallSink& sink, ReplyEvents& events) {
    begin_once(sink, events);
    sink.add("}", events);
    sink.end(events);
    return BodyStep::done;
  }

  BodyStep push_key(char c, CallSink& sink, ReplyEvents& events) {
    held_ += c;
    if (held_.size() > kMostHeader) return BodyStep::failed;
    if (!held_.ends_with(format_.key_end)) return BodyStep::more;
    std::string_view key = held_;
    key.remove_suffix(format_.key_end.size());
    const bool is_marked = !format_.string_sign.empty();
    const std::size_t end = is_marked ? std::min(key.find('"'), key.size()) : key.size();
    type_ = type_of(tools_, name_, key.substr(0, end));
    if (is_marked && key.find(format_.string_sign) != std::string_view::npos) {
      type_ = {.is_string = true};
    }
    key_ = key.substr(0, end);
    if (key_.empty() || keys_.size() > kMostHeader || has_key(key_)) return BodyStep::failed;
    keys_.push_back(key_);
    if (!format_.value_open.empty()) return go(State::value_open);
    return begin_value(sink, events);
  }

  bool has_key(const std::string& key) const {
    return std::find(keys_.begin(), keys_.end(), key) != keys_.end();
  }

  BodyStep push_value_open(char c, CallSink& sink, ReplyEvents& events) {
    const bool is_space = c == ' ' || c == '\t' || c == '\n' || c == '\r';
    if (is_space && held_.empty()) return BodyStep::more;
    held_ += c;
    if (held_ == format_.value_open) return begin_value(sink, events);
    return format_.value_open.starts_with(held_) ? BodyStep::more : BodyStep::failed;
  }

  BodyStep begin_value(CallSink& sink, ReplyEvents& events) {
    sink.add(fmt::format("{}{}: ", keys_.size() > 1 ? ", " : "", quote_json(key_)), events);
    if (type_.is_string) sink.add("\"", events);
    is_first_ = true;
    return go(State::value);
  }

  BodyStep push_value(char c, CallSink& sink, ReplyEvents& events) {
    const bool is_dropped = is_first_ && c == '\n' && format_.trims_newlines;
    is_first_ = false;
    if (is_dropped) return BodyStep::more;
    held_ += c;
    if (held_.ends_with(format_.value_close)) {
      held_.resize(held_.size() - format_.value_close.size());
      return end_value(sink, events);
    }
    if (type_.is_string) stream_string(sink, events);
    return BodyStep::more;
  }

  /// Gives what of a string can be no part of its end.
  void stream_string(CallSink& sink, ReplyEvents& events) {
    std::size_t ready = held_.size() - std::min(held_.size(), format_.value_close.size() - 1);
    while (ready < held_.size() &&
           !format_.value_close.starts_with(std::string_view(held_).substr(ready))) {
      ++ready;
    }
    if (ready > 0 && held_[ready - 1] == '\n' && format_.trims_newlines) --ready;
    sink.add(escaped(std::string_view(held_).substr(0, ready)), events);
    held_.erase(0, ready);
  }

  BodyStep end_value(CallSink& sink, ReplyEvents& events) {
    if (held_.ends_with('\n') && format_.trims_newlines) held_.pop_back();
    if (type_.is_string) {
      sink.add(escaped(held_) + '"', events);
    } else {
      sink.add(value_as_json(held_, type_), events);
    }
    return go(State::between);
  }

  const ToolFormat& format_;
  const Json& tools_;
  State state_ = State::name;
  std::string held_;
  std::string name_;
  std::string key_;
  std::vector<std::string> keys_;
  ArgumentType type_;
  bool is_first_ = false;  // no character of the value has come
};

}  // namespace

std::string quote_json(std::string_view text) { return '"' + escaped(text) + '"'; }

std::unique_ptr<CallBody> make_parameter_body(const ToolFormat& format, const Json& tools) {
  return std::make_unique<ParameterBody>(format, tools);
}

}  // namespace parhelion::text
