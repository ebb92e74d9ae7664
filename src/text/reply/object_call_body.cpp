#include "base/error.h"
#include "text/reply/call_body.h"
#include "text/reply/json_scanner.h"

#include <optional>
#include <utility>

namespace parhelion::text {
namespace {

constexpr std::size_t kMostPart = std::size_t{1} << 16;  // bytes of a part that does not stream

bool is_body_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

std::optional<Json> parse_body_part(std::string_view text) try {
  return parse_json(text, "tool call");
} catch (const Error&) {
  return std::nullopt;
}

/// {"name": ..., "arguments": {...}}, with its members in any order.
class ObjectBody : public CallBody {
 public:
  explicit ObjectBody(const ToolFormat& format) : format_(format) {}

  BodyStep push(char c, CallSink& sink, ReplyEvents& events) override {
    if (state_ == State::key || state_ == State::value) return push_part(c, sink, events);
    if (is_body_space(c)) return BodyStep::more;
    switch (state_) {
      case State::start:
        return c == '{' ? go(State::first_key) : BodyStep::failed;
      case State::first_key:
        if (c == '}') return finish(sink, events);
        return c == '"' ? begin_part(State::key, c, sink, events) : BodyStep::failed;
      case State::next_key:
        return c == '"' ? begin_part(State::key, c, sink, events) : BodyStep::failed;
      case State::colon:
        return c == ':' ? go(State::before_value) : BodyStep::failed;
      case State::before_value:
        return begin_part(State::value, c, sink, events);
      case State::after_value:
        if (c == '}') return finish(sink, events);
        return c == ',' ? go(State::next_key) : BodyStep::failed;
      case State::key:
      case State::value:
        break;
    }
    return BodyStep::failed;
  }

 private:
  enum class State : std::uint8_t {
    start,
    first_key,
    next_key,
    key,
    colon,
    before_value,
    value,
    after_value,
  };
  enum class Role : std::uint8_t { name, arguments, other };

  BodyStep go(State state) {
    state_ = state;
    return BodyStep::more;
  }

  BodyStep begin_part(State state, char c, CallSink& sink, ReplyEvents& events) {
    scanner_ = {};
    part_.clear();
    state_ = state;
    const bool is_arguments = state == State::value && role_ == Role::arguments;
    streams_ = is_arguments && c == '{' && name_.has_value() && !sink.is_begun();
    if (streams_) sink.begin(*name_, events);
    return push_part(c, sink, events);
  }

  BodyStep push_part(char c, CallSink& sink, ReplyEvents& events) {
    const ScanStep step = scanner_.push(c);
    if (step == ScanStep::failed || part_.size() > kMostPart) return BodyStep::failed;
    if (step != ScanStep::done_before) keep(c, sink, events);
    if (step == ScanStep::more) return BodyStep::more;
    const bool is_good = state_ == State::key ? end_key() : end_value(sink, events);
    if (!is_good) return BodyStep::failed;
    return step == ScanStep::done_before ? push(c, sink, events) : BodyStep::more;
  }

  void keep(char c, CallSink& sink, ReplyEvents& events) {
    if (streams_) {
      sink.add(std::string_view(&c, 1), events);
    } else {
      part_ += c;
    }
  }

  bool end_key() {
    state_ = State::colon;
    const std::optional<Json> key = parse_body_part(part_);
    if (!key) return false;
    const std::string& text = key->as_string("key");
    role_ = text == format_.name_key        ? Role::name
            : text == format_.arguments_key ? Role::arguments
                                            : Role::other;
    const bool repeats =
        (role_ == Role::name && name_) || (role_ == Role::arguments && has_arguments_);
    return !repeats;
  }

  bool end_value(CallSink& sink, ReplyEvents& events) {
    state_ = State::after_value;
    if (role_ == Role::other) return true;
    if (role_ == Role::name) return end_name(sink, events);
    has_arguments_ = true;
    if (streams_) return true;
    if (!read_arguments()) return false;
    if (name_) tell_waiting(sink, events);
    return true;
  }

  bool end_name(CallSink& sink, ReplyEvents& events) {
    const std::optional<Json> name = parse_body_part(part_);
    if (!name || !name->is_string() || name->as_string("name").empty()) return false;
    name_ = name->as_string("name");
    if (has_arguments_) tell_waiting(sink, events);
    return true;
  }

  /// Takes arguments that did not stream: an object, the text of one, or null.
  bool read_arguments() {
    std::optional<Json> value = parse_body_part(part_);
    waiting_ = part_;
    if (value && value->is_string()) {
      waiting_ = value->as_string("arguments");
      value = parse_body_part(waiting_);
    }
    if (value && value->is_null()) waiting_ = "{}";
    return value && (value->is_object() || value->is_null());
  }

  void tell_waiting(CallSink& sink, ReplyEvents& events) {
    sink.begin(*name_, events);
    sink.add(waiting_, events);
  }

  BodyStep finish(CallSink& sink, ReplyEvents& events) {
    if (!name_ || (!has_arguments_ && format_.is_bare)) return BodyStep::failed;
    if (!has_arguments_) {
      waiting_ = "{}";
      tell_waiting(sink, events);
    }
    sink.end(events);
    return BodyStep::done;
  }

  const ToolFormat& format_;
  State state_ = State::start;
  Role role_ = Role::other;
  JsonScanner scanner_;
  std::string part_;      // the key or value that is read
  bool streams_ = false;  // the value that is read goes on as it comes
  std::optional<std::string> name_;
  bool has_arguments_ = false;
  std::string waiting_;  // arguments that came whole
};

/// [object, object, ...]
class ListBody : public CallBody {
 public:
  explicit ListBody(const ToolFormat& format) : format_(format) {}

  BodyStep push(char c, CallSink& sink, ReplyEvents& events) override {
    if (object_ != nullptr) return push_object(c, sink, events);
    if (is_body_space(c)) return BodyStep::more;
    if (state_ == State::start) {
      state_ = State::first;
      return c == '[' ? BodyStep::more : BodyStep::failed;
    }
    if (c == ']' && state_ != State::next) return BodyStep::done;
    if (c == ',' && state_ == State::after) {
      state_ = State::next;
      return BodyStep::more;
    }
    if (c != '{' || state_ == State::after) return BodyStep::failed;
    object_ = make_object_body(format_);
    return push_object(c, sink, events);
  }

 private:
  enum class State : std::uint8_t { start, first, next, after };

  BodyStep push_object(char c, CallSink& sink, ReplyEvents& events) {
    const BodyStep step = object_->push(c, sink, events);
    if (step != BodyStep::done) return step;
    object_ = nullptr;
    state_ = State::after;
    return BodyStep::more;
  }

  const ToolFormat& format_;
  State state_ = State::start;
  std::unique_ptr<CallBody> object_;
};

/// A name, its end, then an object.
class NamedBody : public CallBody {
 public:
  explicit NamedBody(const ToolFormat& format) : format_(format) {}

  BodyStep push(char c, CallSink& sink, ReplyEvents& events) override {
    if (!name_) return push_name(c);
    if (!sink.is_begun()) {
      if (is_body_space(c)) return BodyStep::more;
      if (c != '{') return BodyStep::failed;
      sink.begin(*name_, events);
    }
    const ScanStep step = scanner_.push(c);
    if (step == ScanStep::failed) return BodyStep::failed;
    sink.add(std::string_view(&c, 1), events);
    if (step == ScanStep::more) return BodyStep::more;
    sink.end(events);
    return BodyStep::done;
  }

 private:
  BodyStep push_name(char c) {
    constexpr std::size_t kMostName = 512;
    header_ += c;
    if (header_.size() > kMostName) return BodyStep::failed;
    if (!header_.ends_with(format_.name_end)) return BodyStep::more;
    std::string_view name = header_;
    name.remove_suffix(format_.name_end.size());
    if (name.starts_with(format_.name_prefix)) name.remove_prefix(format_.name_prefix.size());
    std::size_t size = 0;
    while (size < name.size() && is_call_name(name[size])) ++size;
    if (size == 0) return BodyStep::failed;
    name_ = name.substr(0, size);
    return BodyStep::more;
  }

  const ToolFormat& format_;
  std::string header_;
  std::optional<std::string> name_;
  JsonScanner scanner_;
};

}  // namespace

bool is_call_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-' || c == '.';
}

std::unique_ptr<CallBody> make_object_body(const ToolFormat& format) {
  return std::make_unique<ObjectBody>(format);
}
std::unique_ptr<CallBody> make_list_body(const ToolFormat& format) {
  return std::make_unique<ListBody>(format);
}
std::unique_ptr<CallBody> make_named_body(const ToolFormat& format) {
  return std::make_unique<NamedBody>(format);
}

std::unique_ptr<CallBody> make_call_body(const ToolFormat& format, const Json& tools) {
  switch (format.kind) {
    case ToolCallKind::json_object:
      return make_object_body(format);
    case ToolCallKind::json_list:
      return make_list_body(format);
    case ToolCallKind::named_json:
      return make_named_body(format);
    case ToolCallKind::parameters:
      return make_parameter_body(format, tools);
  }
  fail(ErrorKind::bug, "tool call kind {} is none", static_cast<int>(format.kind));
}

}  // namespace parhelion::text
