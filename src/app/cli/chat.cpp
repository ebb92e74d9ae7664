#include "app/cli/command.h"
#include "app/cli/trust_options.h"
#include "app/http/generation.h"
#include "app/model_files.h"
#include "app/served_engine.h"
#include "base/error.h"
#include "base/log.h"
#include "text/prompt_text.h"
#include "text/reply/reply_format.h"

#include <CLI/CLI.hpp>

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <iostream>
#include <memory>
#include <mutex>
#include <random>
#include <unistd.h>

namespace parhelion::app {
namespace {

using ChatClock = std::chrono::steady_clock;

struct ChatCommand {
  RunOptions run;
  TrustOptions trust;
  ServingChoice choice;
  std::string system;
  std::int64_t max_tokens = 0;
  std::optional<double> temperature;
  std::optional<double> top_p;
  std::optional<std::uint64_t> seed;
};

/// Lets the terminal's thread wait for events.
class WaitingBell : public Bell {
 public:
  void ring() noexcept override {
    const std::lock_guard lock(mutex_);
    has_rung_ = true;
    rung_.notify_one();
  }
  void wait() {
    std::unique_lock lock(mutex_);
    rung_.wait(lock, [this] { return has_rung_; });
    has_rung_ = false;
  }

 private:
  std::mutex mutex_;
  std::condition_variable rung_;
  bool has_rung_ = false;  // guarded by mutex_
};

/// A conversation with a model.
class Conversation {
 public:
  Conversation(const ChatCommand& command, ServedEngine& served)
      : command_(command), served_(served), tickets_(*served.engine) {
    if (!command.system.empty())
      messages_.push_back(Json::Object{{"role", "system"}, {"content", command.system}});
  }

  /// Answers a message, and shows the answer as it comes.
  void answer(const std::string& message) {
    messages_.push_back(Json::Object{{"role", "user"}, {"content", message}});
    GenerationPlan plan = plan_answer();
    const auto bell = std::make_shared<WaitingBell>();
    const auto begin = ChatClock::now();
    Generation generation(served_.model, tickets_, std::move(plan), bell);
    std::string text;
    std::vector<Delta> deltas;
    while (!generation.is_complete()) {
      bell->wait();
      deltas.clear();
      generation.read(deltas);
      for (const Delta& delta : deltas) show(delta, text);
    }
    while (!generation.is_released()) {
    }
    print("\n");
    messages_.push_back(Json::Object{{"role", "assistant"}, {"content", text}});
    tell_speed(generation.usage(), std::chrono::duration<double>(ChatClock::now() - begin).count());
  }

 private:
  GenerationPlan plan_answer() const {
    const text::Tokenizer& tokenizer = served_.model.tokenizer;
    const text::PromptText prompt = text::render_prompt(*served_.model.chat_template, tokenizer,
                                                        messages_, text::prompt_options(tokenizer));
    serve::Request request;
    request.prompt = tokenizer.encode(prompt.text, {.plain_at = prompt.plain_at});
    const std::int64_t room = served_.model.context_tokens - std::ssize(request.prompt);
    ensure(room > 0, ErrorKind::invalid, "chat: the conversation fills the context of {} tokens",
           served_.model.context_tokens);
    request.max_tokens = command_.max_tokens == 0 ? room : std::min(room, command_.max_tokens);
    request.temperature = command_.temperature;
    request.top_p = command_.top_p;
    request.seed = command_.seed ? *command_.seed : std::random_device{}();
    GenerationPlan plan;
    plan.choices.reply.format.reasoning = served_.model.reply_format.reasoning;
    const auto& reasoning = plan.choices.reply.format.reasoning;
    if (reasoning && text::opens_reasoning(prompt.text, *reasoning))
      plan.choices.reply.reasoning_start = text::ReasoningStart::opened;
    plan.prompts.push_back({.request = std::move(request)});
    return plan;
  }

  static void show(const Delta& delta, std::string& text) {
    ensure(delta.kind != DeltaKind::finish || delta.end < ChoiceEnd::numeric_failure,
           ErrorKind::device, "chat: the engine could not go on");
    if (delta.kind != DeltaKind::finish) print(delta.text);
    if (delta.kind == DeltaKind::text) text += delta.text;
  }

  static void tell_speed(const Usage& usage, double seconds) {
    if (::isatty(STDERR_FILENO) == 0) return;
    std::fprintf(stderr, "(%lld tokens, %.1f tokens/s)\n",
                 static_cast<long long>(usage.completion_tokens),
                 static_cast<double>(usage.completion_tokens) / seconds);
  }

  const ChatCommand& command_;
  ServedEngine& served_;
  ActiveTickets tickets_;
  Json::Array messages_;
};

void run_chat(const ChatCommand& command) {
  ServingChoice choice = command.choice;
  choice.rows = 1;
  ServedEngine served = start_engine(
      choice, [](std::string_view why) { log(LogLevel::error, "the engine has ended: {}", why); });
  ensure(served.model.chat_template.has_value(), ErrorKind::invalid,
         "{}: has no chat template, expected one for chat", choice.model.string());
  Conversation conversation(command, served);
  const bool is_terminal = ::isatty(STDIN_FILENO) != 0;
  std::string line;
  for (;;) {
    if (is_terminal) print("> ");
    if (!std::getline(std::cin, line)) break;
    if (!line.empty()) conversation.answer(line);
  }
}

}  // namespace

void add_chat(CLI::App& app) {
  auto command = std::make_shared<ChatCommand>();
  CLI::App* chat = app.add_subcommand("chat", "Talk with a model, a line a message");
  add_core_options(*chat, command->run, command->trust);
  chat->add_option("--system", command->system, "what the model is told first");
  chat->add_option("--max-tokens", command->max_tokens, "most tokens of an answer; 0 = the context")
      ->check(CLI::Range(0, 1 << 24))
      ->capture_default_str();
  chat->add_option("--temperature", command->temperature, "0 is greedy; the model's own if absent");
  chat->add_option("--top-p", command->top_p,
                   "keep the likeliest tokens whose probability reaches P");
  chat->add_option("--seed", command->seed, "of the draws; random if absent");
  chat->callback([command, chat] {
    command->run.model = resolve_model(command->run.model);
    take_core_options(*chat, command->run, command->trust, command->choice);
    run_chat(*command);
  });
}

}  // namespace parhelion::app
