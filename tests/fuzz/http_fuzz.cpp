// Whatever a client sends, as a head and a body, is answered: with a status that is documented and
// a body that is JSON, a page, metrics or events, over a server without a model.
#include "app/http/api.h"
#include "app/http/wire.h"
#include "base/error.h"
#include "base/file.h"
#include "fuzz/fuzz.h"
#include "support/null_server.h"

#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

namespace {

using namespace parhelion::app;
using parhelion::ensure;
using parhelion::ErrorKind;
using parhelion::Json;
namespace http = boost::beast::http;

class SilentBell : public Bell {
 public:
  void ring() noexcept override {}
};

ServedModel fuzz_model() {
  const std::string directory = std::string(PARHELION_TEST_DATA) + "/model/llama_tiny/";
  const std::string config = parhelion::read_file(directory + "tokenizer_config.json");
  const std::string tokenizer = parhelion::read_file(directory + "tokenizer.json");
  ServedModel model{.id = "tiny",
                    .tokenizer = parhelion::text::load_tokenizer_json(tokenizer, config)};
  model.chat_template.emplace(
      "{{ tools }}{% for m in messages %}{{ m.role }}: {{ m.content }}{{ m.tool_calls }}\n"
      "{% endfor %}{% if enable_thinking %}<think>{% endif %}");
  model.reply_format = {.reasoning = parhelion::text::reasoning_format("think"),
                        .tools = parhelion::text::tool_format("tool_call")};
  model.vocabulary = 320;
  model.context_tokens = 128;
  model.stop_ids = {2};
  model.most_sequences = 4;
  return model;
}

/// The API, made once.
struct FuzzApi {
  parhelion::test::NullServer server{{.vocabulary = 320, .context_tokens = 128, .stop_ids = {2}}};
  Api api{
      fuzz_model(), server, {.cors_origins = {"*"}, .stored = {.responses = 8, .bytes = 1 << 16}}};
};

/// The request that the bytes are, as a connection reads it.
std::optional<HttpRequest> read_request(std::string_view bytes) {
  http::request_parser<http::string_body> parser;
  parser.eager(true);
  parser.body_limit(1 << 20);
  boost::system::error_code code;
  parser.put(boost::asio::buffer(bytes.data(), bytes.size()), code);
  if (code || !parser.is_header_done()) return std::nullopt;
  const auto& message = parser.get();
  const auto target = parse_target({message.target().data(), message.target().size()});
  if (!target) return std::nullopt;
  HttpRequest request;
  request.method = std::string(message.method_string());
  request.path = target->path;
  request.query = target->query;
  for (const auto& field : message)
    request.fields.emplace_back(std::string(field.name_string()), std::string(field.value()));
  request.body = message.body();
  return request;
}

void check_reply(const HttpReply& reply, bool is_stream) {
  constexpr std::array kStatuses = {200, 204, 400, 401, 403, 404, 405, 408,
                                    409, 411, 413, 415, 429, 431, 500, 503};
  ensure(std::ranges::find(kStatuses, reply.status) != kStatuses.end(), ErrorKind::bug,
         "status {} is none that is documented", reply.status);
  for (const HttpField& field : reply.fields)
    ensure(field.second.find_first_of("\r\n") == std::string::npos, ErrorKind::bug,
           "field {} breaks its line", field.first);
  if (!is_stream && reply.content_type == "application/json")
    parhelion::parse_json(reply.body, "reply");
}

void answer_request(Api& api, HttpRequest request) {
  if (const auto early = api.refuse_early(request)) return check_reply(*early, false);
  HandlerReply made = api.handle(request, std::make_shared<SilentBell>());
  if (!made.source) return check_reply(made.reply, false);
  while (made.source->pull(made.reply) == Pull::waiting) std::this_thread::yield();
  while (!made.source->is_released()) std::this_thread::yield();
  check_reply(made.reply, made.source->streams());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static FuzzApi fuzzed;
  const auto request = read_request({reinterpret_cast<const char*>(data), size});
  if (request) answer_request(fuzzed.api, *request);
  return 0;
}
