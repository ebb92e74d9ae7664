#pragma once

#include "train/data/source.h"
#include "train/data/tokenise.h"

#include <exception>
#include <span>
#include <string>
#include <vector>

namespace parhelion::train {

/// What became of a row: tokens, or why it is broken, or an error that is not the row's.
struct RowOutcome {
  TokenisedRow row;
  std::string problem;
  std::exception_ptr error;
};

/// Tokenises the rows of files on several threads, some megabytes at a time. Rows keep their order,
/// and what becomes of one does not depend on the threads.
class RowRounds {
 public:
  /// `threads` 0 = as many as the machine has. The bytes of `sources` must outlive the rounds.
  RowRounds(std::vector<SourceText> sources, const TokenRules& rules, int threads);

  /// Reads and tokenises the next rows; false if there are none.
  bool next();

  std::span<const RawRow> rows() const { return rows_; }
  std::span<const RowOutcome> outcomes() const { return outcomes_; }

 private:
  RowReader reader_;
  std::vector<RowTokeniser> tokenisers_;  // one a thread
  std::vector<RawRow> rows_;
  std::vector<RowOutcome> outcomes_;
};

}  // namespace parhelion::train
