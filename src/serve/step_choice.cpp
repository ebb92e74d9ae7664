#include "serve/step_choice.h"

#include <algorithm>

namespace parhelion::serve {
namespace {

struct StepNeed {
  std::int64_t tokens = 0;
  std::int64_t queries = 0;
  std::int64_t rows = 0;
  std::int64_t edits = 0;
  bool is_decode = false;
};

StepNeed need_of(std::span<const StepRow> rows) {
  StepNeed need{.rows = static_cast<std::int64_t>(rows.size())};
  for (const StepRow& row : rows) {
    need.tokens += static_cast<std::int64_t>(row.tokens.size());
    need.queries += static_cast<std::int64_t>(row.queries.size());
    for (const LogitQuery& query : row.queries)
      if (query.edits != nullptr) need.edits += std::ssize(query.edits->ids);
  }
  need.is_decode =
      std::ranges::all_of(rows, [](const auto& row) { return row.tokens.size() == 1; });
  return need;
}

bool decodes(const ir::Capacities& instance) {
  return instance[ir::Symbol::tokens] == instance[ir::Symbol::rows];
}

bool covers(const ir::Capacities& instance, const StepNeed& need) {
  return instance[ir::Symbol::tokens] >= need.tokens &&
         instance[ir::Symbol::logit_rows] >= need.queries &&
         instance[ir::Symbol::rows] >= need.rows && (need.is_decode || !decodes(instance));
}

}  // namespace

std::optional<std::size_t> covering_instance(const InstanceSet& set,
                                             std::span<const StepRow> rows) {
  const StepNeed need = need_of(rows);
  for (std::size_t i = 0; i < set.catalogue.size(); ++i) {
    if (covers(set.catalogue[i], need) && set.edits[i] >= need.edits) return i;
  }
  return std::nullopt;
}

std::int64_t most_queries(const InstanceSet& instances) {
  std::int64_t most = 0;
  for (const ir::Capacities& instance : instances.catalogue)
    most = std::max(most, instance[ir::Symbol::logit_rows]);
  return most;
}

std::int64_t most_row_tokens(const ir::Capacities& instance) {
  return decodes(instance) ? 1 : instance[ir::Symbol::tokens];
}

}  // namespace parhelion::serve
