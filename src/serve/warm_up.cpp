#include "serve/warm_up.h"

#include "serve/step_choice.h"

#include <algorithm>
#include <numeric>

namespace parhelion::serve {

WarmRows::WarmRows(const ir::Capacities& capacities, WarmLoad load, std::int64_t pages,
                   std::int64_t page_tokens)
    : tokens_(static_cast<std::size_t>(capacities[ir::Symbol::tokens]), 0) {
  if (load == WarmLoad::none) return;
  const bool is_one = load == WarmLoad::one;
  const std::int64_t tokens = is_one ? 1 : capacities[ir::Symbol::tokens];
  const std::int64_t rows = is_one ? 1 : std::min({capacities[ir::Symbol::rows], tokens, pages});
  const std::int64_t most =
      std::min(most_row_tokens(capacities), capacities[ir::Symbol::pages_per_row] * page_tokens);
  const std::int64_t row_pages =
      std::min(pages / rows, (std::min(tokens / rows, most) + page_tokens - 1) / page_tokens);
  const std::int64_t row_tokens = std::min({tokens / rows, most, row_pages * page_tokens});
  pages_.resize(static_cast<std::size_t>(rows * row_pages));
  std::iota(pages_.begin(), pages_.end(), 1);
  for (std::int64_t row = 0; row < rows; ++row)
    add_row(row * row_pages, row_pages, row_tokens, row < capacities[ir::Symbol::logit_rows]);
}

void WarmRows::add_row(std::int64_t first_page, std::int64_t page_count, std::int64_t tokens,
                       bool asks) {
  query_.token = tokens - 1;
  rows_.push_back({.tokens = std::span(tokens_).first(static_cast<std::size_t>(tokens)),
                   .position = 0,
                   .pages = std::span(pages_).subspan(static_cast<std::size_t>(first_page),
                                                      static_cast<std::size_t>(page_count)),
                   .queries = std::span(&query_, asks ? 1 : 0)});
}

}  // namespace parhelion::serve
