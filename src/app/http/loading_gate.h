#pragma once

#include "app/http/api.h"

#include <atomic>
#include <chrono>
#include <memory>
#include <string>

namespace parhelion::app {

/// Listens before there is a model: answers health and version, and refuses all else with 503
/// `loading`. Once opened it hands every request to the API.
///
/// Threads: any.
class LoadingGate : public HttpHandler {
 public:
  /// `version` is what /version tells.
  explicit LoadingGate(std::string version) : version_(std::move(version)) {}

  /// `api` outlives the gate. Only once.
  void open(Api& api) { api_ = &api; }
  /// The server stops without having been opened.
  void give_up() { is_stopping_ = true; }

  std::unique_ptr<HttpReply> refuse_early(HttpRequest& head) override;
  HandlerReply handle(const HttpRequest& request, std::shared_ptr<Bell> bell) override;
  HttpReply refuse(int status, std::string_view code, std::string_view message,
                   HttpRequest& head) override;
  void finished(const HttpRequest& request, int status, std::int64_t bytes,
                std::string_view reason) override;

 private:
  HttpReply closed_reply(const HttpRequest& head) const;

  std::string version_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  std::atomic<bool> is_stopping_ = false;
  std::atomic<Api*> api_ = nullptr;
};

}  // namespace parhelion::app
