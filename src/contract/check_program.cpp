#include "contract/check_program.h"

#include <algorithm>
#include <map>
#include <string_view>

namespace parhelion::contract {
namespace {

/// A buffer that a server writes or reads.
struct Port {
  std::string_view name;
  ir::Role role;
  ir::TensorType type;
};

std::vector<Port> ports() {
  using ir::Kind;
  using ir::Symbol;
  const auto input = [](std::string_view name, Kind kind, ir::Shape shape) {
    return Port{name, ir::Role::input, ir::TensorType(kind, std::move(shape))};
  };
  const auto output = [](std::string_view name, Kind kind) {
    return Port{name, ir::Role::output, ir::TensorType(kind, {Symbol::logit_rows})};
  };
  return {input("token_ids", Kind::i32, {Symbol::tokens}),
          input("token_source", Kind::i32, {Symbol::tokens}),
          input("positions", Kind::i32, {Symbol::tokens}),
          input("query_indptr", Kind::i32, {ir::Dim(Symbol::rows, 1, 1)}),
          input("kv_length", Kind::i32, {Symbol::rows}),
          input("page_table", Kind::i32, {Symbol::rows, Symbol::pages_per_row}),
          input("write_location", Kind::i64, {Symbol::tokens}),
          input("logit_index", Kind::i32, {Symbol::logit_rows}),
          input("target_ids", Kind::i32, {Symbol::logit_rows}),
          input("temperature", Kind::f32, {Symbol::logit_rows}),
          input("top_k", Kind::i32, {Symbol::logit_rows}),
          input("top_p", Kind::f32, {Symbol::logit_rows}),
          input("min_p", Kind::f32, {Symbol::logit_rows}),
          input("seed", Kind::u64, {Symbol::logit_rows}),
          input("draw_offset", Kind::u64, {Symbol::logit_rows}),
          input("draw_slot", Kind::i32, {Symbol::logit_rows}),
          output("log_probability", Kind::f32),
          output("sampled_ids", Kind::i32),
          output("sampled_log_probability", Kind::f32)};
}

void check_port(const ir::Program& program, const Port& port, Problems& problems) {
  const ir::BufferId buffer = ir::find_buffer(program, port.name);
  if (!problems.expect(buffer && program.at(buffer).role == port.role, "extend has no {} '{}'",
                       ir::name(port.role), port.name))
    return;
  problems.expect(program.at(buffer).type == port.type, "extend: {} '{}' is {}, expected {}",
                  ir::name(port.role), port.name, ir::to_string(program.at(buffer).type),
                  ir::to_string(port.type));
}

/// The state that is no cache: the token that each slot drew last.
constexpr std::string_view kDrawnTokens = "drawn_tokens";

void check_drawn_tokens(const ir::Program& program, Problems& problems) {
  const ir::BufferId id = ir::find_buffer(program, kDrawnTokens);
  if (!problems.expect(id && program.at(id).role == ir::Role::state, "extend has no state '{}'",
                       kDrawnTokens))
    return;
  const ir::TensorType& type = program.at(id).type;
  const bool is_list = type.kind() == ir::Kind::i32 && type.rank() == 1 &&
                       type.shape[0].is_number() && type.shape[0].base >= 1;
  problems.expect(is_list, "extend: state '{}' is {}, expected i32[slots] with a slot or more",
                  kDrawnTokens, ir::to_string(type));
}

bool is_cache(const ir::Buffer& buffer) {
  return buffer.role == ir::Role::state && buffer.name != kDrawnTokens;
}

bool uses_pages(const ir::TensorType& type) {
  return std::ranges::any_of(type.shape,
                             [](const ir::Dim& dim) { return dim.symbol == ir::Symbol::pages; });
}

void check_cache(const ir::Buffer& buffer, std::int64_t page_tokens, Problems& problems) {
  const ir::Shape& shape = buffer.type.shape;
  const bool paged = shape.size() >= 2 && shape[0] == ir::Dim(ir::Symbol::pages) &&
                     shape[1] == ir::Dim(page_tokens);
  problems.expect(paged, "extend: state '{}' is {}, expected [pages, {}, ...]", buffer.name,
                  ir::to_string(buffer.type), page_tokens);
}

void check_buffers(const Contract& contract, Problems& problems) {
  for (const ir::Buffer& buffer : contract.extend.buffers) {
    if (is_cache(buffer)) check_cache(buffer, contract.cache.page_tokens, problems);
    if (buffer.role != ir::Role::parameter) continue;
    problems.expect(std::ranges::all_of(buffer.type.shape, &ir::Dim::is_number),
                    "extend: parameter '{}' is {}, expected numbers", buffer.name,
                    ir::to_string(buffer.type));
  }
  for (std::size_t i = 0; i < contract.extend.values.size(); ++i) {
    const ir::Value& value = contract.extend.values[i];
    problems.expect(value.buffer || !uses_pages(value.type),
                    "extend: value {} is {}, expected no pages outside states", i + 1,
                    ir::to_string(value.type));
  }
}

void check_groups(const Contract& contract, Problems& problems) {
  if (contract.cache.groups.empty()) return;
  std::map<std::string_view, std::int64_t> uses;
  for (const ir::Buffer& buffer : contract.extend.buffers)
    if (is_cache(buffer)) uses[buffer.name] = 0;
  for (const CacheGroup& group : contract.cache.groups) {
    problems.expect((group.scheme == CacheScheme::sliding_window) == (group.window_tokens > 0) &&
                        group.window_tokens >= 0,
                    "cache group of scheme {} has a window of {} tokens", name(group.scheme),
                    group.window_tokens);
    for (const std::string& buffer : group.buffers) {
      const auto at = uses.find(buffer);
      if (problems.expect(at != uses.end(), "cache group names '{}', which is no cache", buffer))
        ++at->second;
    }
  }
  for (const auto& [buffer, count] : uses)
    problems.expect(count == 1, "state '{}' is in {} cache groups, expected 1", buffer, count);
}

}  // namespace

void check_program(const Contract& contract, Problems& problems) {
  for (const Port& port : ports()) check_port(contract.extend, port, problems);
  check_drawn_tokens(contract.extend, problems);
  check_buffers(contract, problems);
  check_groups(contract, problems);
}

}  // namespace parhelion::contract
