#pragma once

#include "app/http/api.h"
#include "app/http/http_server.h"
#include "base/file.h"
#include "base/json.h"
#include "support/null_server.h"

#include <gtest/gtest.h>

#include <mutex>
#include <netinet/in.h>
#include <string>
#include <sys/socket.h>
#include <unistd.h>
#include <vector>

namespace parhelion::app {

/// What a server sent back.
struct Received {
  int status = 0;
  std::string head;  ///< with its empty line
  std::string body;  ///< without the chunks' frames

  Json json() const { return parse_json(body, "reply"); }
  /// The value of a field of the head, in one line.
  std::string field(const std::string& name) const {
    const std::size_t at = head.find("\r\n" + name + ": ");
    if (at == std::string::npos) return {};
    const std::size_t first = at + name.size() + 4;
    return head.substr(first, head.find("\r\n", first) - first);
  }
  std::string code() const {
    const Json whole = json();
    const Json* error = whole.find("error");
    return error == nullptr ? "no error: " + body : error->find("code")->as_string("code");
  }
};

/// A socket to a server at this machine. Everything that takes longer than ten seconds fails.
class RawClient {
 public:
  explicit RawClient(std::uint16_t port, int receive_bytes = 0) {
    descriptor_ = ::socket(AF_INET, SOCK_STREAM, 0);
    const timeval limit{.tv_sec = 10, .tv_usec = 0};
    ::setsockopt(descriptor_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    ::setsockopt(descriptor_, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
    if (receive_bytes > 0)
      ::setsockopt(descriptor_, SOL_SOCKET, SO_RCVBUF, &receive_bytes, sizeof(receive_bytes));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(descriptor_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)),
              0);
  }
  ~RawClient() { close(); }
  RawClient(const RawClient&) = delete;
  RawClient& operator=(const RawClient&) = delete;

  void close() {
    if (descriptor_ >= 0) ::close(descriptor_);
    descriptor_ = -1;
  }
  /// Sends all, or as much as the server takes.
  void send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(descriptor_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return;
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
  }
  /// Reads until `text` is there; gives all up to its end, and keeps the rest.
  std::string read_through(std::string_view text) {
    while (unread_.find(text) == std::string::npos) {
      if (!read_more()) return {};
    }
    return take(unread_.find(text) + text.size());
  }
  std::string read_bytes(std::size_t count) {
    while (unread_.size() < count) {
      if (!read_more()) return take(unread_.size());
    }
    return take(count);
  }
  /// All until the server closes.
  std::string read_all() {
    while (read_more()) {
    }
    return take(unread_.size());
  }
  Received receive() {
    Received received;
    received.head = read_through("\r\n\r\n");
    if (received.head.size() < 12) return received;
    received.status = std::stoi(received.head.substr(9, 3));
    if (const std::string length = received.field("content-length"); !length.empty()) {
      received.body = read_bytes(std::stoul(length));
    } else if (received.field("transfer-encoding") == "chunked") {
      read_chunks(received.body);
    } else {
      received.body = read_all();
    }
    return received;
  }

 private:
  bool read_more() {
    std::array<char, 65536> bytes{};
    const ssize_t count = ::recv(descriptor_, bytes.data(), bytes.size(), 0);
    if (count <= 0) return false;
    unread_.append(bytes.data(), static_cast<std::size_t>(count));
    return true;
  }
  void read_chunks(std::string& body) {
    for (;;) {
      const std::string size = read_through("\r\n");
      if (size.empty()) return;
      const std::size_t count = std::stoul(size, nullptr, 16);
      body += read_bytes(count);
      read_bytes(2);
      if (count == 0) return;
    }
  }
  std::string take(std::size_t count) {
    std::string taken = unread_.substr(0, count);
    unread_.erase(0, count);
    return taken;
  }

  int descriptor_ = -1;
  std::string unread_;
};

inline std::string post_text(const std::string& path, const std::string& body,
                             const std::string& fields = {}) {
  return "POST " + path + " HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n" + fields +
         "content-length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

/// The payloads of a stream's events, in order.
inline std::vector<std::string> events_of(const std::string& body) {
  std::vector<std::string> events;
  for (std::size_t at = 0; (at = body.find("data: ", at)) != std::string::npos;) {
    const std::size_t end = body.find("\n\n", at);
    events.push_back(body.substr(at + 6, end - at - 6));
    at = end;
  }
  return events;
}

inline ServedModel tiny_model() {
  const std::string directory = std::string(PARHELION_TEST_DATA) + "/model/llama_tiny/";
  const std::string config = read_file(directory + "tokenizer_config.json");
  const Json json = parse_json(config, "config");
  ServedModel model{
      .id = "tiny",
      .created = 1700000000,
      .fingerprint = "fp_test",
      .tokenizer = text::load_tokenizer_json(read_file(directory + "tokenizer.json"), config)};
  const std::string& source = json.find("chat_template")->as_string("chat_template");
  model.chat_template.emplace(source);
  model.reply_format = text::detect_reply_format(source);
  model.vocabulary = 320;
  model.context_tokens = 512;
  model.stop_ids = {2};
  model.most_sequences = 8;
  return model;
}

/// The same model with a template that shows tools, and replies that think and call.
inline ServedModel calling_model() {
  ServedModel model = tiny_model();
  model.chat_template.emplace(
      "{% for tool in tools or [] %}{{ tool.function.name }} {% endfor %}{% for message in "
      "messages %}"
      "{{ message.role }}: {{ message.content }}{% for call in message.tool_calls %}"
      "{{ call.function.name }}({{ call.function.arguments.a }}){% endfor %}\n{% endfor %}"
      "{% if enable_thinking %}<think>{% endif %}");
  model.reply_format = {.reasoning = text::reasoning_format("think"),
                        .tools = text::tool_format("tool_call")};
  return model;
}

/// The API over a server without a model, which draws the tokens of `text` and then stops.
class HttpTest : public testing::Test {
 protected:
  /// Starts with what was set.
  void start() {
    model_.vocabulary = 320;
    model_.context_tokens = served_.context_tokens;
    model_.stop_ids = {2};
    if (!model_.draw)
      model_.draw = [this](const serve::Request&, std::int64_t, std::int64_t index) {
        return index < std::ssize(script_) ? script_[static_cast<std::size_t>(index)] : 2;
      };
    engine_ = std::make_unique<test::NullServer>(model_);
    options_.log = [this](std::string_view line) {
      const std::lock_guard lock(log_mutex_);
      log_.emplace_back(line);
    };
    options_.version = "test";
    api_ = std::make_unique<Api>(served_, *engine_, options_);
    server_ = std::make_unique<HttpServer>(http_, *api_);
  }
  void TearDown() override {
    if (engine_) engine_->resume();
    server_.reset();
    api_.reset();  // its answers in the background need the engine
    engine_.reset();
  }
  void say(std::string_view text) { script_ = tiny_model().tokenizer.encode(text); }

  Received request(const std::string& bytes) const {
    RawClient client(server_->port());
    client.send(bytes);
    return client.receive();
  }
  Received post(const std::string& path, const std::string& body) const {
    return request(post_text(path, body));
  }
  Received get(const std::string& path) const {
    return request("GET " + path + " HTTP/1.1\r\nhost: x\r\n\r\n");
  }
  /// Waits until `holds`; false if it takes ten seconds.
  template <class Condition>
  static bool eventually(Condition holds) {
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (!holds()) {
      if (std::chrono::steady_clock::now() > limit) return false;
      std::this_thread::yield();
    }
    return true;
  }
  bool has_metric(const std::string& line) const {
    return get("/metrics").body.find(line) != std::string::npos;
  }

  std::vector<std::int32_t> script_;
  ServedModel served_ = tiny_model();
  test::NullModel model_;
  ApiOptions options_;
  HttpOptions http_;
  std::mutex log_mutex_;
  std::vector<std::string> log_;  // guarded by log_mutex_
  std::unique_ptr<test::NullServer> engine_;
  std::unique_ptr<Api> api_;
  std::unique_ptr<HttpServer> server_;
};

}  // namespace parhelion::app
