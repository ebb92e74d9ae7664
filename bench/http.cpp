// Token events over HTTP, without a model.
//   bench_http serve MODEL_DIRECTORY STEP_MICROSECONDS   serves a null model; prints its port, ends
//   with its input bench_http load PORT CLIENTS TOKENS SECONDS [PID]     streams chats from any
//   server at this machine
// Each client sends its next request when the last has ended. Prints one JSON object: events/s,
// time to the first event, and the processor time that process PID spent on an event.

#include "app/http/api.h"
#include "app/http/http_server.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "support/null_server.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace parhelion {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

app::ServedModel null_model(const std::string& directory) {
  const std::string config = read_file(directory + "/tokenizer_config.json");
  app::ServedModel model{
      .id = "null",
      .tokenizer = text::load_tokenizer_json(read_file(directory + "/tokenizer.json"), config)};
  const Json json = parse_json(config, "config");
  model.chat_template.emplace(json.find("chat_template")->as_string("chat_template"));
  model.vocabulary = model.tokenizer.vocabulary_size();
  model.context_tokens = 1 << 20;
  return model;
}

void serve_null(const std::string& directory, std::int64_t step_microseconds) {
  app::ServedModel model = null_model(directory);
  const std::int32_t id = model.tokenizer.encode("a").front();
  test::NullServer engine(
      {.vocabulary = static_cast<std::int32_t>(model.vocabulary),
       .draw = [id](const serve::Request&, std::int64_t, std::int64_t) { return id; },
       .step = std::chrono::microseconds(step_microseconds)});
  app::Api api(std::move(model), engine, {.joins_from = 1 << 20});  // an event for each token
  app::HttpServer server({.threads = 1}, api);
  std::printf("%d\n", server.port());
  std::fflush(stdout);
  while (std::getchar() != EOF) {
  }
}

/// Seconds of processor time that a process has had.
double processor_seconds(const std::string& pid) {
  std::ifstream stat("/proc/" + pid + "/stat");
  std::string word;
  double ticks = 0;
  for (int field = 1; stat >> word && field <= 15; ++field) {
    if (field == 14 || field == 15) ticks += std::atof(word.c_str());
  }
  return ticks / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

/// One connection that streams chats one after the other.
class Client {
 public:
  Client(std::uint16_t port, std::string request) : request_(std::move(request)) {
    descriptor_ = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const auto* where = reinterpret_cast<const sockaddr*>(&address);
    ensure(::connect(descriptor_, where, sizeof(address)) == 0, ErrorKind::invalid,
           "port {}: nobody listens", port);
    send();
  }
  ~Client() { ::close(descriptor_); }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  int descriptor() const { return descriptor_; }

  void receive(std::int64_t& events, std::vector<double>& first) {
    std::array<char, 65536> bytes{};
    const ssize_t count = ::recv(descriptor_, bytes.data(), bytes.size(), 0);
    ensure(count > 0, ErrorKind::invalid, "the server has closed a connection");
    text_.append(bytes.data(), static_cast<std::size_t>(count));
    constexpr std::string_view kContent = "\"content\": \"a\"";
    constexpr std::string_view kTight = "\"content\":\"a\"";
    std::size_t at = 0;
    for (std::size_t end = 0; (end = text_.find("\n\n", at)) != std::string::npos; at = end + 2) {
      const std::string_view event = std::string_view(text_).substr(at, end - at);
      const bool is_token = event.find(kTight) != std::string_view::npos ||
                            event.find(kContent) != std::string_view::npos;
      if (is_token && !has_first_) first.push_back(seconds_since(sent_));
      has_first_ = has_first_ || is_token;
      events += is_token ? 1 : 0;
      if (event.find("[DONE]") != std::string_view::npos) is_done_ = true;
    }
    text_.erase(0, at);
    if (!is_done_ || text_.find("0\r\n\r\n") == std::string::npos) return;
    text_.clear();
    send();
  }

 private:
  void send() {
    is_done_ = has_first_ = false;
    sent_ = Clock::now();
    [[maybe_unused]] const ssize_t sent =
        ::send(descriptor_, request_.data(), request_.size(), MSG_NOSIGNAL);
  }

  std::string request_;
  int descriptor_ = -1;
  std::string text_;
  bool is_done_ = false;
  bool has_first_ = false;
  Clock::time_point sent_;
};

void load(std::uint16_t port, int clients, int tokens, double seconds, const std::string& pid) {
  const std::string body = fmt::format(
      R"({{"messages":[{{"role":"user","content":"hi"}}],"stream":true,"max_tokens":{}}})", tokens);
  const std::string request = fmt::format(
      "POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n"
      "content-length: {}\r\n\r\n{}",
      body.size(), body);
  std::vector<std::unique_ptr<Client>> all;
  std::vector<pollfd> polled;
  const double spent = pid.empty() ? 0 : processor_seconds(pid);
  const auto begin = Clock::now();
  for (int i = 0; i < clients; ++i) {
    all.push_back(std::make_unique<Client>(port, request));
    polled.push_back({.fd = all.back()->descriptor(), .events = POLLIN, .revents = 0});
  }
  std::int64_t events = 0;
  std::vector<double> first;
  while (seconds_since(begin) < seconds) {
    ::poll(polled.data(), polled.size(), 100);
    for (std::size_t i = 0; i < polled.size(); ++i) {
      if (polled[i].revents != 0) all[i]->receive(events, first);
    }
  }
  const double took = seconds_since(begin);
  std::ranges::sort(first);
  Json::Object result = {{"clients", clients},
                         {"events", events},
                         {"events_per_second", static_cast<double>(events) / took},
                         {"requests", std::ssize(first)}};
  if (!first.empty()) result.emplace_back("first_event_seconds_p50", first[first.size() / 2]);
  if (!pid.empty() && events > 0)
    result.emplace_back("server_microseconds_per_event",
                        (processor_seconds(pid) - spent) * 1e6 / static_cast<double>(events));
  std::printf("%s\n", write_json(result).c_str());
}

}  // namespace
}  // namespace parhelion

int main(int argc, char** argv) {
  using namespace parhelion;
  const std::string_view mode = argc > 1 ? argv[1] : "";
  if (mode == "serve" && argc == 4) {
    serve_null(argv[2], std::atoll(argv[3]));
  } else if (mode == "load" && (argc == 6 || argc == 7)) {
    load(static_cast<std::uint16_t>(std::atoi(argv[2])), std::atoi(argv[3]), std::atoi(argv[4]),
         std::atof(argv[5]), argc == 7 ? argv[6] : "");
  } else {
    std::fprintf(stderr,
                 "usage: bench_http serve MODEL_DIRECTORY STEP_MICROSECONDS\n"
                 "       bench_http load PORT CLIENTS TOKENS SECONDS [PID]\n");
    return 2;
  }
  return 0;
}
