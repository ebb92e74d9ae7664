#pragma once

#include "base/random.h"
#include "exec/cpu/cpu_executor.h"
#include "ir/passes/lower.h"
#include "model/programs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

namespace parhelion::model {

inline constexpr std::int64_t kRunVocabulary = 160;
inline constexpr std::int64_t kRunPageTokens = 16;
inline constexpr std::int64_t kRunSlots = 4;
inline constexpr std::int64_t kRunPages = 9;

/// One row of a step: its new tokens, of which the last draws the next one.
struct RunRow {
  std::vector<std::int32_t> ids;
  std::int32_t source = -1;  ///< the slot that replaces the first id
  std::int32_t slot = -1;    ///< where to keep what is drawn
  std::int64_t position = 0;
  std::vector<std::int32_t> pages;
};

/// What a step drew for each row.
struct RunDraws {
  std::vector<std::int32_t> ids;
  std::vector<float> log_probability;
  bool operator==(const RunDraws&) const = default;
};

/// A random decoder of two layers whose serving programs run on the CPU, two rows a step.
class ExtendRun {
 public:
  ExtendRun() : executor_(exec::make_cpu_executor({.threads = 1})) {
    for (const std::int64_t tokens : {2, 24}) {
      plans_.push_back(plan(build_extend(model_, ir::Kind::f32, kShape), tokens));
      edited_plans_.push_back(plan(build_extend(model_, ir::Kind::f32, kShape, Edits::on), tokens));
    }
    copy_ = plan(build_copy_pages(model_, ir::Kind::f32, kRunPageTokens, 3), 2);
    for (const ir::Buffer& parameter : executor_->parameters()) upload(parameter);
  }

  RunDraws extend(const std::vector<RunRow>& rows) { return run(plans_, rows); }
  RunDraws extend_edited(const std::vector<RunRow>& rows) { return run(edited_plans_, rows); }

  /// Copies pages; -1 and 0 are idle lanes.
  void copy(const std::vector<std::int32_t>& source, const std::vector<std::int32_t>& destination) {
    std::ranges::copy(source, exec::host_span<std::int32_t>(*copy_, "source_page").begin());
    std::ranges::copy(destination,
                      exec::host_span<std::int32_t>(*copy_, "destination_page").begin());
    copy_->run();
  }

  /// An output of the last step.
  template <class T>
  std::vector<T> output(std::string_view name) {
    const auto values = exec::host_span<T>(*last_, name);
    return {values.begin(), values.end()};
  }

  /// Input of the plan with edits for steps of one token a row.
  template <class T>
  std::span<T> edit_input(std::string_view name) {
    return exec::host_span<T>(*edited_plans_.front(), name);
  }

 private:
  using Plans = std::vector<std::unique_ptr<exec::Plan>>;
  static constexpr ExtendShape kShape{.page_tokens = kRunPageTokens, .slots = kRunSlots};

  static Model random_model() {
    const Decoder config{.vocabulary = kRunVocabulary,
                         .hidden = 32,
                         .layers = 2,
                         .attention = {.heads = 4, .kv_heads = 2, .head_dim = 16},
                         .mlp = {.intermediate = 72},
                         .rope = {.positions = 64, .dim = 16}};
    return {.layers = 2, .build = [config](ir::Builder& builder, ir::Kind kind, Context& context) {
              return decoder(builder, kind, config, context);
            }};
  }

  std::unique_ptr<exec::Plan> plan(const ir::Program& program, std::int64_t tokens) {
    ir::Capacities capacities;
    capacities[ir::Symbol::tokens] = tokens;
    capacities[ir::Symbol::rows] = capacities[ir::Symbol::logit_rows] = 2;
    capacities[ir::Symbol::pages_per_row] = 4;
    capacities[ir::Symbol::pages] = kRunPages;
    auto result = executor_->plan(ir::lower(program, capacities), exec::Weights::frozen);
    for (const ir::Buffer& buffer : result->instance().buffers) {
      if (buffer.role == ir::Role::input && buffer.name == "token_mask")
        std::ranges::fill(result->host(buffer.name), std::byte{0xff});
    }
    return result;
  }

  void upload(const ir::Buffer& parameter) {
    executor_->upload(parameter.name, [&](std::span<std::byte> bytes) {
      const std::uint64_t seed = std::hash<std::string>{}(parameter.name);
      for (std::size_t i = 0; i < bytes.size() / sizeof(float); ++i) {
        const float value = 0.3f * normal(seed, 1, i);
        std::memcpy(bytes.data() + i * sizeof value, &value, sizeof value);
      }
    });
  }

  RunDraws run(const Plans& plans, const std::vector<RunRow>& rows) {
    std::size_t tokens = 0;
    for (const RunRow& row : rows) tokens += row.ids.size();
    last_ = plans[tokens > 2 ? 1 : 0].get();
    write(rows);
    last_->run();
    return {output<std::int32_t>("sampled_ids"), output<float>("sampled_log_probability")};
  }

  template <class T>
  std::span<T> idle(std::string_view name, T value) {
    const std::span<T> values = exec::host_span<T>(*last_, name);
    std::ranges::fill(values, value);
    return values;
  }

  void write(const std::vector<RunRow>& rows) {
    const auto ids = idle<std::int32_t>("token_ids", 0);
    const auto source = idle<std::int32_t>("token_source", -1);
    const auto positions = idle<std::int32_t>("positions", 0);
    const auto locations = idle<std::int64_t>("write_location", -1);
    const auto indptr = idle<std::int32_t>("query_indptr", 0);
    const auto lengths = idle<std::int32_t>("kv_length", 0);
    const auto table = idle<std::int32_t>("page_table", 0);
    std::size_t at = 0;
    for (std::size_t r = 0; r < rows.size(); ++r) {
      const RunRow& row = rows[r];
      if (!row.ids.empty()) source[at] = row.source;
      for (std::size_t i = 0; i < row.ids.size(); ++i, ++at) {
        const std::int64_t position = row.position + static_cast<std::int64_t>(i);
        ids[at] = row.ids[i];
        positions[at] = static_cast<std::int32_t>(position);
        const auto page = static_cast<std::size_t>(position / kRunPageTokens);
        locations[at] = row.pages[page] * kRunPageTokens + position % kRunPageTokens;
      }
      std::ranges::fill(indptr.subspan(r + 1), static_cast<std::int32_t>(at));
      lengths[r] =
          static_cast<std::int32_t>(row.position) + static_cast<std::int32_t>(row.ids.size());
      std::ranges::copy(row.pages, table.begin() + static_cast<std::ptrdiff_t>(4 * r));
    }
    write_draws(rows, indptr);
  }

  void write_draws(const std::vector<RunRow>& rows, std::span<const std::int32_t> indptr) {
    const auto index = idle<std::int32_t>("logit_index", -1);
    const auto slot = idle<std::int32_t>("draw_slot", -1);
    const auto seed = idle<std::uint64_t>("seed", 0);
    const auto offset = idle<std::uint64_t>("draw_offset", 0);
    idle<std::int32_t>("target_ids", -1);
    idle<float>("temperature", 1.5f);
    idle<std::int32_t>("top_k", 0);
    idle<float>("top_p", 1);
    idle<float>("min_p", 0);
    for (std::size_t r = 0; r < rows.size(); ++r) {
      index[r] = indptr[r + 1] - 1;
      slot[r] = rows[r].slot;
      seed[r] = 40 + r;
      offset[r] = static_cast<std::uint64_t>(rows[r].position) + rows[r].ids.size();
    }
  }

  Model model_ = random_model();
  std::unique_ptr<exec::Executor> executor_;
  Plans plans_, edited_plans_;  // for steps of one token a row, and for longer ones
  std::unique_ptr<exec::Plan> copy_;
  exec::Plan* last_ = nullptr;
};

}  // namespace parhelion::model
