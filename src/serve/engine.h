#pragma once

#include "serve/cache/page_cache.h"
#include "serve/cache/page_copies.h"
#include "serve/request.h"
#include "serve/sequence.h"
#include "serve/step.h"
#include "serve/step_budget.h"
#include "serve/step_plan.h"
#include "serve/waiting_queue.h"

#include <chrono>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace parhelion::serve {

/// What an engine does in its life, in this order.
enum class Phase : std::uint8_t {
  load,     ///< its instances are planned; parameters are uploaded
  warm,     ///< runs every instance
  serve,    ///< frozen: no step allocates, plans or compiles
  drain,    ///< takes no more requests, ends those it has
  stopped,  ///< every sequence has ended
};
std::string_view name(Phase phase);

/// How pages are kept for a sequence that is admitted.
enum class Reserve : std::uint8_t {
  worst_case,  ///< as many as it can ever need: it never has to give way
  grow,        ///< as it goes on: the last admitted gives way when none is left, and begins again
};

struct EngineSettings {
  exec::Weights weights = exec::Weights::frozen;
  std::int64_t pages = 0;  ///< of the cache; 0: as many as one sequence of the whole context needs
  std::int64_t queue_sequences = 1024;  ///< the most that wait
  std::int64_t step_tokens = 0;         ///< the most of one step; 0: as many as an instance has
  Reserve reserve = Reserve::worst_case;
  bool shares_prefixes = true;
  /// Prepares and starts a step before the results of the last one are known, where no sequence
  /// needs them on the host. Worth it where a device runs by itself.
  bool overlaps = false;
  std::chrono::duration<double> step_target{0.25};  ///< of a step beside sequences that decode
  std::chrono::duration<double> ageing{10};         ///< one priority class for so much waiting
  std::int64_t audit_every = 0;                     ///< steps; 0: never
};

/// Runs a contract: many sequences at a time, each step over all that have something to do.
/// A sequence's tokens do not depend on the others, nor on chunks, cached prefixes or preemption,
/// as far as the executor's numerics promise it.
///
/// Threads: one thread uses an engine; sequences may be made on any.
class Engine {
 public:
  /// Plans every instance of the contract. Upload the parameters to `executor` afterwards; trained
  /// ones which other plans of it have are read in place, as they are at each step.
  ///
  /// Errors: invalid if the contract has no instance for a row, or the pages hold no sequence.
  Engine(contract::Contract contract, exec::Executor& executor, const EngineSettings& settings);

  /// The sequences of a request, checked.
  ///
  /// Errors: invalid, naming the value; unsupported if the contract cannot do what is asked.
  /// Threads: any.
  std::vector<std::unique_ptr<Sequence>> sequences_of(Request request, Ticket ticket,
                                                      Sink& sink) const;

  /// Runs the instances once with all their rows, with one and with none, the smallest first until
  /// `limit` has passed, and measures how long each takes. No page keeps a trace of it. Then the
  /// engine serves. Returns how many instances had no turn. Call it before the first step, or
  /// never.
  ///
  /// Errors: bug if a step was run; as exec::Plan::start.
  std::int64_t warm_up(std::chrono::duration<double> limit);

  /// Queues them. Errors: peer if the engine drains or has stopped.
  void add(std::vector<std::unique_ptr<Sequence>> sequences);

  void cancel(Ticket ticket);

  /// Admits who has room and runs one step. False: there was nothing to do. The first one freezes
  /// the engine: from then on no step allocates memory, but for what ports and sinks do.
  bool step();

  /// Takes no more requests; steps go on.
  void drain();

  /// Ends every sequence, and the engine.
  void end_all(FinishReason reason);

  /// Drops cached prefixes that no sequence uses.
  void reset_cache() {
    cache_.reset();
    may_admit_ = true;
  }

  /// Forgets what has run, for a server whose first request is yet to come: cached prefixes and
  /// counts.
  void forget();

  /// Errors: bug if a page is lost or held twice.
  void audit() const;

  ServerCounts counts() const;
  Phase phase() const { return phase_; }
  std::int64_t waiting_count() const { return std::ssize(queue_.all()); }
  const contract::Contract& contract() const { return contract_; }
  const Stepper& stepper() const { return stepper_; }
  const EngineSettings& settings() const { return settings_; }

 private:
  void warm_instance(StepKind kind, std::size_t instance);
  StepBudget& budget_of(StepKind kind);
  StepKind next_kind() const;
  void drop_cancelled();
  void admit();
  bool admit_one(WaitingQueue::Clock::time_point now);
  bool try_admit(Sequence& sequence);
  void start_running(Sequence& sequence, WaitingQueue::Clock::time_point now);
  void copy_pages();
  void make_rows();
  std::span<Sequence* const> running_in_turn();
  bool plan_step();
  bool grow_parts();
  bool needs_results() const;
  void give_way();
  void preempt(Sequence& sequence);
  void ask_edits();
  std::span<const LogitAnswer> wait_for_step();
  void start_step();
  void land();
  void commit(std::span<const Part> parts, std::span<const LogitAnswer> answers);
  void commit_part(const Part& part, std::span<const LogitAnswer> answers);
  void report_prompt(Sequence& sequence, std::span<const LogitAnswer> answers);
  void take_draw(Sequence& sequence, const LogitAnswer& answer);
  void finish(Sequence& sequence, FinishReason reason, std::int32_t stop_id = -1,
              std::span<const float> embedding = {});
  void give_up(Sequence& sequence);
  void publish_known(Sequence& sequence);
  void release_pages(Sequence& sequence);
  void release_late(Sequence& sequence, bool is_finite);
  void remove_ended();

  Phase phase_ = Phase::load;
  contract::Contract contract_;
  EngineSettings settings_;
  Stepper stepper_;
  std::int64_t most_rows_;
  PageCache cache_;
  WaitingQueue queue_;
  StepBudget plain_budget_, edited_budget_, embed_budget_;
  std::vector<std::unique_ptr<Sequence>> running_;
  std::vector<std::int32_t> free_slots_;
  bool may_admit_ = true;  // something may have made room since the last one that had none
  std::int64_t steps_without_admission_ = 0;
  PageCopies copies_;               // before the next step
  std::vector<Part> parts_;         // of the step that is planned
  std::vector<Part> flying_parts_;  // of the step that was started; empty: none was
  std::vector<StepRow> rows_;
  std::vector<LogitQuery> queries_;
  std::vector<Sequence*> turn_order_;  // of those that run
  Turns turns_;
  StepKind step_kind_ = StepKind::plain;  // of the step that is planned
  std::chrono::steady_clock::time_point step_began_ = {};
  std::chrono::duration<double> device_time_{0};  // of this call of step
  ServerCounts counts_;
};

}  // namespace parhelion::serve
