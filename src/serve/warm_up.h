#pragma once

#include "serve/step.h"

#include <cstdint>
#include <vector>

namespace parhelion::serve {

/// What an instance is warmed with.
enum class WarmLoad : std::uint8_t {
  full,  ///< all its rows, and as many of its tokens as the pages hold
  one,   ///< one row of one token
  none,  ///< no row: every page stays as it is
};

/// Rows that are nobody's, for a step before any request.
class WarmRows {
 public:
  /// For an instance of `capacities` over pages 1 to `pages`, of `page_tokens` tokens each.
  WarmRows(const ir::Capacities& capacities, WarmLoad load, std::int64_t pages,
           std::int64_t page_tokens);
  WarmRows(const WarmRows&) = delete;
  WarmRows& operator=(const WarmRows&) = delete;

  std::span<const StepRow> rows() const { return rows_; }
  /// Pages 1 to this one are written.
  std::int64_t last_page() const { return std::ssize(pages_); }

 private:
  void add_row(std::int64_t first_page, std::int64_t page_count, std::int64_t tokens, bool asks);

  std::vector<std::int32_t> pages_, tokens_;
  LogitQuery query_;
  std::vector<StepRow> rows_;
};

}  // namespace parhelion::serve
