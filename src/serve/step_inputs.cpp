#include "serve/step_inputs.h"

#include <algorithm>
#include <string_view>

namespace parhelion::serve {
namespace {

/// An input of a plan as its element type, first filled with its idle value.
template <class T>
std::span<T> idle_input(exec::Plan& plan, std::string_view name, T idle) {
  const std::span<T> values = exec::host_span<T>(plan, name);
  std::ranges::fill(values, idle);
  return values;
}

void write_tokens(exec::Plan& plan, std::span<const StepRow> rows, std::int64_t page_tokens) {
  const auto ids = idle_input<std::int32_t>(plan, "token_ids", 0);
  const auto source = idle_input<std::int32_t>(plan, "token_source", -1);
  const auto positions = idle_input<std::int32_t>(plan, "positions", 0);
  const auto locations = idle_input<std::int64_t>(plan, "write_location", -1);
  std::size_t at = 0;
  for (const StepRow& row : rows) {
    std::int64_t position = row.position;
    for (const std::int32_t id : row.tokens) {
      ids[at] = id;
      source[at] = row.source_slot;
      positions[at] = static_cast<std::int32_t>(position);
      const std::int64_t page = row.pages[static_cast<std::size_t>(position / page_tokens)];
      locations[at++] = page * page_tokens + position % page_tokens;
      ++position;
    }
  }
}

void write_rows(exec::Plan& plan, std::span<const StepRow> rows) {
  const auto indptr = idle_input<std::int32_t>(plan, "query_indptr", 0);
  const auto lengths = idle_input<std::int32_t>(plan, "kv_length", 0);
  const auto table = idle_input<std::int32_t>(plan, "page_table", 0);
  const std::size_t columns = table.size() / lengths.size();
  for (std::size_t r = 0; r < lengths.size(); ++r) {
    const bool live = r < rows.size();
    indptr[r + 1] = indptr[r] + (live ? static_cast<std::int32_t>(rows[r].tokens.size()) : 0);
    if (!live) continue;
    lengths[r] = static_cast<std::int32_t>(rows[r].position) +
                 static_cast<std::int32_t>(rows[r].tokens.size());
    std::ranges::copy(rows[r].pages, table.begin() + static_cast<std::ptrdiff_t>(r * columns));
  }
}

void write_index(exec::Plan& plan, std::span<const StepRow> rows) {
  const auto index = idle_input<std::int32_t>(plan, "logit_index", -1);
  std::size_t at = 0;
  std::int64_t first_token = 0;
  for (const StepRow& row : rows) {
    for (const LogitQuery& query : row.queries)
      index[at++] = static_cast<std::int32_t>(first_token + query.token);
    first_token += static_cast<std::int64_t>(row.tokens.size());
  }
}

void write_draws(exec::Plan& plan, std::span<const StepRow> rows) {
  const auto target = idle_input<std::int32_t>(plan, "target_ids", -1);
  const auto temperature = idle_input<float>(plan, "temperature", 0);
  const auto top_k = idle_input<std::int32_t>(plan, "top_k", 0);
  const auto top_p = idle_input<float>(plan, "top_p", 1);
  const auto min_p = idle_input<float>(plan, "min_p", 0);
  const auto seed = idle_input<std::uint64_t>(plan, "seed", 0);
  const auto offset = idle_input<std::uint64_t>(plan, "draw_offset", 0);
  const auto slot = idle_input<std::int32_t>(plan, "draw_slot", -1);
  std::size_t at = 0;
  for (const StepRow& row : rows) {
    for (const LogitQuery& query : row.queries) {
      target[at] = query.target;
      slot[at] = query.draw_slot;
      temperature[at] = query.sampling.temperature;
      top_k[at] = query.sampling.top_k;
      top_p[at] = query.sampling.top_p;
      min_p[at] = query.sampling.min_p;
      seed[at] = query.sampling.seed;
      offset[at++] = static_cast<std::uint64_t>(row.position + query.token + 1);
    }
  }
}

}  // namespace

void write_inputs(exec::Plan& plan, std::span<const StepRow> rows, std::int64_t page_tokens,
                  StepKind kind) {
  write_tokens(plan, rows, page_tokens);
  write_rows(plan, rows);
  write_index(plan, rows);
  if (kind != StepKind::embed) write_draws(plan, rows);
}

void write_edits(exec::Plan& plan, std::span<const StepRow> rows) {
  const auto indptr = idle_input<std::int32_t>(plan, "edit_indptr", 0);
  const auto ids = exec::host_span<std::int32_t>(plan, "edit_ids");
  const auto bias = exec::host_span<float>(plan, "edit_bias");
  const auto scale = exec::host_span<float>(plan, "edit_scale");
  const auto subtract = exec::host_span<float>(plan, "edit_subtract");
  const auto masks = idle_input<std::uint32_t>(plan, "token_mask", ~0u);
  const std::size_t words = masks.size() / (indptr.size() - 1);
  std::size_t row = 0;
  std::int32_t count = 0;
  for (const StepRow& each : rows) {
    for (const LogitQuery& query : each.queries) {
      if (query.edits != nullptr) {
        const LogitEditsView& edits = *query.edits;
        std::ranges::copy(edits.ids, ids.begin() + count);
        std::ranges::copy(edits.bias, bias.begin() + count);
        std::ranges::copy(edits.scale, scale.begin() + count);
        std::ranges::copy(edits.subtract, subtract.begin() + count);
        std::ranges::copy(edits.mask, masks.begin() + static_cast<std::ptrdiff_t>(row * words));
        count += static_cast<std::int32_t>(edits.ids.size());
      }
      indptr[++row] = count;
    }
  }
  std::fill(indptr.begin() + static_cast<std::ptrdiff_t>(row) + 1, indptr.end(), count);
}

}  // namespace parhelion::serve
