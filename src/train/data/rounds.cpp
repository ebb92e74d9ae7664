#include "train/data/rounds.h"

#include "base/error.h"

#include <algorithm>
#include <atomic>
#include <thread>
#include <utility>

namespace parhelion::train {
namespace {

constexpr std::size_t kRoundBytes = std::size_t{8} << 20;
constexpr std::size_t kRowBytes = 64;  // what a row costs beside its text

std::size_t thread_count(int threads) {
  if (threads > 0) return static_cast<std::size_t>(threads);
  return std::max<std::size_t>(std::thread::hardware_concurrency(), 1);
}

/// A thread ends at its errors, so each is kept with its row.
RowOutcome outcome_of(const RawRow& row, RowTokeniser& tokeniser) noexcept {
  RowOutcome outcome;
  try {
    outcome.row = tokeniser.tokenise(row);
  } catch (const Error& error) {
    const bool is_of_the_row =
        error.kind() == ErrorKind::invalid || error.kind() == ErrorKind::corrupt;
    if (is_of_the_row) outcome.problem = error.what();
    if (!is_of_the_row) outcome.error = std::current_exception();
  } catch (...) {
    outcome.error = std::current_exception();
  }
  return outcome;
}

}  // namespace

RowRounds::RowRounds(std::vector<SourceText> sources, const TokenRules& rules, int threads)
    : reader_(std::move(sources)) {
  for (std::size_t i = 0; i < thread_count(threads); ++i) tokenisers_.emplace_back(rules);
}

bool RowRounds::next() {
  rows_.clear();
  for (std::size_t bytes = 0; bytes < kRoundBytes; bytes += rows_.back().bytes.size() + kRowBytes) {
    const auto row = reader_.next();
    if (!row) break;
    rows_.push_back(*row);
  }
  outcomes_.clear();
  outcomes_.resize(rows_.size());
  std::atomic<std::size_t> next_row = 0;
  const auto work = [&](RowTokeniser& tokeniser) {
    for (std::size_t i = next_row++; i < rows_.size(); i = next_row++) {
      outcomes_[i] = outcome_of(rows_[i], tokeniser);
    }
  };
  std::vector<std::jthread> helpers;
  for (std::size_t i = 1; i < std::min(tokenisers_.size(), rows_.size()); ++i) {
    helpers.emplace_back(work, std::ref(tokenisers_[i]));
  }
  work(tokenisers_.front());
  helpers.clear();
  return !rows_.empty();
}

}  // namespace parhelion::train
