// Completions of random prompts over HTTP, from any server at this machine that speaks OpenAI's
// API.
//   bench_http_load PORT CLIENTS PROMPT_TOKENS NEW_TOKENS REQUESTS VOCABULARY [SHARED_TOKENS
//   [SEED]]
// Each client sends its next request when the last has ended. The first SHARED_TOKENS of every
// prompt are the same. Prints one JSON object: output tokens/s, time to the first token and between
// tokens.

#include "base/error.h"
#include "base/json.h"
#include "base/random.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <netinet/in.h>
#include <optional>
#include <poll.h>
#include <string>
#include <sys/socket.h>
#include <unistd.h>
#include <vector>

namespace parhelion {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

struct Load {
  std::int64_t clients = 1, prompt = 0, fresh = 0, requests = 0, vocabulary = 0, shared = 0;
  std::uint64_t seed = 1;
};

struct Times {
  std::vector<double> first, between;
  std::int64_t tokens = 0, ended = 0;
};

Json percentiles(std::vector<double> values) {
  if (values.empty()) return Json();
  std::ranges::sort(values);
  return Json::Object{{"p50", values[values.size() / 2]},
                      {"p99", values[values.size() * 99 / 100]}};
}

std::string request_text(const Load& load, std::int64_t number) {
  std::string ids;
  for (std::int64_t i = 0; i < load.prompt; ++i) {
    const std::uint64_t of = i < load.shared ? 0 : static_cast<std::uint64_t>(number) + 1;
    const std::uint64_t draw = philox(load.seed, of, static_cast<std::uint64_t>(i))[0];
    ids +=
        fmt::format("{}{}", i == 0 ? "" : ",", draw % static_cast<std::uint64_t>(load.vocabulary));
  }
  const std::string body = fmt::format(
      R"({{"prompt":[{}],"max_tokens":{},"temperature":0,"ignore_eos":true,"stream":true,)"
      R"("stream_options":{{"include_usage":true}}}})",
      ids, load.fresh);
  return fmt::format(
      "POST /v1/completions HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n"
      "content-length: {}\r\n\r\n{}",
      body.size(), body);
}

/// The number behind `"name":`, if it is there.
std::optional<std::int64_t> number_in(std::string_view text, std::string_view name) {
  const std::size_t at = text.find(name);
  if (at == std::string_view::npos) return std::nullopt;
  return std::atoll(text.data() + at + name.size());
}

int connect_to(std::uint16_t port) {
  const int descriptor = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const auto* where = reinterpret_cast<const sockaddr*>(&address);
  ensure(::connect(descriptor, where, sizeof(address)) == 0, ErrorKind::invalid,
         "port {}: nobody listens", port);
  return descriptor;
}

/// A connection for each request: some servers close it behind a stream.
class Client {
 public:
  Client(std::uint16_t port, Times& times) : port_(port), times_(times) {}
  ~Client() { close(); }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  int descriptor() const { return descriptor_; }  ///< -1: it has no request under way

  void send(const std::string& request) {
    has_first_ = false;
    text_.clear();
    last_ = Clock::now();
    descriptor_ = connect_to(port_);
    const auto size = static_cast<ssize_t>(request.size());
    ensure(::send(descriptor_, request.data(), request.size(), MSG_NOSIGNAL) == size,
           ErrorKind::invalid, "the server takes no more of a request");
  }

  void receive() {
    std::array<char, 65536> bytes{};
    const ssize_t count = ::recv(descriptor_, bytes.data(), bytes.size(), 0);
    ensure(count > 0, ErrorKind::invalid, "the server has closed a connection; it said: {}", text_);
    text_.append(bytes.data(), static_cast<std::size_t>(count));
    std::size_t at = 0;
    for (std::size_t end = 0; (end = text_.find("\n\n", at)) != std::string::npos; at = end + 2)
      take_event(std::string_view(text_).substr(at, end - at));
    text_.erase(0, at);
    ensure(!text_.starts_with("HTTP/1.1 4") && !text_.starts_with("HTTP/1.1 5"), ErrorKind::invalid,
           "the server refuses: {}", text_);
  }

 private:
  void close() {
    if (descriptor_ >= 0) ::close(descriptor_);
    descriptor_ = -1;
  }

  void take_event(std::string_view event) {
    constexpr std::string_view kText = "\"text\":\"";
    const std::size_t at = event.find(kText);
    if (at != std::string_view::npos && event.substr(at + kText.size(), 1) != "\"") {
      (has_first_ ? times_.between : times_.first).push_back(seconds_since(last_));
      has_first_ = true;
      last_ = Clock::now();
    }
    if (event.find("[DONE]") != std::string_view::npos) {
      ++times_.ended;
      close();
    }
    if (const auto tokens = number_in(event, "\"completion_tokens\":")) times_.tokens += *tokens;
  }

  std::uint16_t port_;
  Times& times_;
  int descriptor_ = -1;
  std::string text_;
  bool has_first_ = false;
  Clock::time_point last_;
};

void run(std::uint16_t port, const Load& load) {
  Times times;
  std::vector<std::string> requests;
  for (std::int64_t i = 0; i < load.requests; ++i) requests.push_back(request_text(load, i));
  std::vector<std::unique_ptr<Client>> clients;
  std::vector<pollfd> polled(static_cast<std::size_t>(load.clients));
  for (std::size_t i = 0; i < polled.size(); ++i)
    clients.push_back(std::make_unique<Client>(port, times));
  const auto begin = Clock::now();
  std::size_t sent = 0;
  while (times.ended < load.requests) {
    for (std::size_t i = 0; i < polled.size(); ++i) {
      if (clients[i]->descriptor() < 0 && sent < requests.size())
        clients[i]->send(requests[sent++]);
      polled[i] = {.fd = clients[i]->descriptor(), .events = POLLIN, .revents = 0};
    }
    ::poll(polled.data(), polled.size(), 1000);
    for (std::size_t i = 0; i < polled.size(); ++i) {
      if (polled[i].revents != 0) clients[i]->receive();
    }
  }
  const double seconds = seconds_since(begin);
  const Json result =
      Json::Object{{"clients", load.clients},
                   {"output_tokens", times.tokens},
                   {"output_tokens_per_second", static_cast<double>(times.tokens) / seconds},
                   {"first_token_seconds", percentiles(times.first)},
                   {"between_tokens_seconds", percentiles(times.between)}};
  std::printf("%s\n", write_json(result).c_str());
}

}  // namespace
}  // namespace parhelion

int main(int argc, char** argv) {
  using namespace parhelion;
  if (argc < 7 || argc > 9) {
    std::fprintf(stderr,
                 "usage: bench_http_load PORT CLIENTS PROMPT_TOKENS NEW_TOKENS REQUESTS VOCABULARY "
                 "[SHARED_TOKENS [SEED]]\n");
    return 2;
  }
  try {
    run(static_cast<std::uint16_t>(std::atoi(argv[1])),
        {.clients = std::atoll(argv[2]),
         .prompt = std::atoll(argv[3]),
         .fresh = std::atoll(argv[4]),
         .requests = std::atoll(argv[5]),
         .vocabulary = std::atoll(argv[6]),
         .shared = argc > 7 ? std::atoll(argv[7]) : 0,
         .seed = argc > 8 ? std::strtoull(argv[8], nullptr, 10) : 1});
  } catch (const Error& error) {
    std::fprintf(stderr, "bench_http_load: %s\n", error.what());
    return 1;
  }
  return 0;
}
