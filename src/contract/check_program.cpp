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

/// Inputs of every program that takes tokens.
std::vector<Port> token_ports() {
  using ir::Kind;
  using ir::Symbol;
  const auto input = [](std::string_view name, Kind kind, ir::Shape shape) {
    return Port{name, ir::Role::input, ir::TensorType(kind, std::move(shape))};
  };
  return {input("token_ids", Kind::i32, {Symbol::tokens}),
          input("token_source", Kind::i32, {Symbol::tokens}),
          input("positions", Kind::i32, {Symbol::tokens}),
          input("query_indptr", Kind::i32, {ir::Dim(Symbol::rows, 1, 1)}),
          input("kv_length", Kind::i32, {Symbol::rows}),
          input("page_table", Kind::i32, {Symbol::rows, Symbol::pages_per_row}),
          input("write_location", Kind::i64, {Symbol::tokens}),
          input("logit_index", Kind::i32, {Symbol::logit_rows})};
}

std::vector<Port> extend_ports() {
  using ir::Kind;
  const auto row = [](std::string_view name, ir::Role role, Kind kind) {
    return Port{name, role, ir::TensorType(kind, {ir::Symbol::logit_rows})};
  };
  const auto input = [&](std::string_view name, Kind kind) {
    return row(name, ir::Role::input, kind);
  };
  const auto output = [&](std::string_view name, Kind kind) {
    return row(name, ir::Role::output, kind);
  };
  std::vector<Port> ports = token_ports();
  const std::vector<Port> draws = {input("target_ids", Kind::i32),
                                   input("temperature", Kind::f32),
                                   input("top_k", Kind::i32),
                                   input("top_p", Kind::f32),
                                   input("min_p", Kind::f32),
                                   input("seed", Kind::u64),
                                   input("draw_offset", Kind::u64),
                                   input("draw_slot", Kind::i32),
                                   output("log_probability", Kind::f32),
                                   output("sampled_ids", Kind::i32),
                                   output("sampled_log_probability", Kind::f32)};
  ports.insert(ports.end(), draws.begin(), draws.end());
  return ports;
}

/// What `edited` has besides; `edits` is the type of edit_ids.
std::vector<Port> edit_ports(const Contract& contract, const ir::TensorType& edits) {
  using ir::Kind;
  using ir::Symbol;
  const auto input = [](std::string_view name, Kind kind, ir::Shape shape) {
    return Port{name, ir::Role::input, ir::TensorType(kind, std::move(shape))};
  };
  const std::int64_t words = (contract.vocabulary + 31) / 32;
  return {input("edit_indptr", Kind::i32, {ir::Dim(Symbol::logit_rows, 1, 1)}),
          input("edit_ids", Kind::i32, edits.shape),
          input("edit_bias", Kind::f32, edits.shape),
          input("edit_scale", Kind::f32, edits.shape),
          input("edit_subtract", Kind::f32, edits.shape),
          input("token_mask", Kind::i32, {Symbol::logit_rows, words}),
          {"top_ids", ir::Role::output, {Kind::i32, {Symbol::logit_rows, kTopTokens}}},
          {"top_log_probability", ir::Role::output, {Kind::f32, {Symbol::logit_rows, kTopTokens}}}};
}

/// A program of a contract under its name in messages.
struct NamedProgram {
  std::string_view name;
  const ir::Program& program;
};

/// The type of a buffer, or one that no port has.
ir::TensorType type_of(const ir::Program& program, std::string_view name) {
  const ir::BufferId buffer = ir::find_buffer(program, name);
  return buffer ? program.at(buffer).type : ir::TensorType(ir::Kind::f64, {});
}

void check_port(const NamedProgram& entry, const Port& port, Problems& problems) {
  const ir::BufferId buffer = ir::find_buffer(entry.program, port.name);
  const bool there = buffer && entry.program.at(buffer).role == port.role;
  if (!problems.expect(there, "{} has no {} '{}'", entry.name, ir::name(port.role), port.name))
    return;
  const ir::TensorType& type = entry.program.at(buffer).type;
  problems.expect(type == port.type, "{}: {} '{}' is {}, expected {}", entry.name,
                  ir::name(port.role), port.name, ir::to_string(type), ir::to_string(port.type));
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
}

/// Nothing but states grows with pages.
void check_values(const NamedProgram& entry, Problems& problems) {
  for (std::size_t i = 0; i < entry.program.values.size(); ++i) {
    const ir::Value& value = entry.program.values[i];
    problems.expect(value.buffer || !uses_pages(value.type),
                    "{}: value {} is {}, expected no pages outside states", entry.name, i + 1,
                    ir::to_string(value.type));
  }
}

/// Serving has no other phase: only an update may write parameters, and answers must not depend on
/// those before.
void check_phases(const NamedProgram& entry, Problems& problems) {
  for (std::size_t i = 0; i < entry.program.ops.size(); ++i) {
    const ir::Phase phase = entry.program.ops[i].phase;
    problems.expect(phase == ir::Phase::forward, "{}: op {} is of phase {}, expected {}",
                    entry.name, i + 1, ir::name(phase), ir::name(ir::Phase::forward));
  }
}

/// Parameters, states and constants of another entry are those of extend.
void check_shared(const NamedProgram& entry, const ir::Program& extend, Problems& problems) {
  for (const ir::Buffer& buffer : entry.program.buffers) {
    if (buffer.role == ir::Role::input || buffer.role == ir::Role::output) continue;
    const ir::BufferId id = ir::find_buffer(extend, buffer.name);
    problems.expect(id && extend.at(id) == buffer, "{}: {} '{}' is not that of extend", entry.name,
                    ir::name(buffer.role), buffer.name);
  }
}

void check_edited(const Contract& contract, Problems& problems) {
  if (contract.edited.ops.empty()) return;
  const NamedProgram entry{"edited", contract.edited};
  const ir::TensorType edits = type_of(contract.edited, "edit_ids");
  problems.expect(edits.rank() == 1, "edited: input 'edit_ids' is {}, expected i32[edits]",
                  ir::to_string(edits));
  for (const Port& port : extend_ports()) check_port(entry, port, problems);
  for (const Port& port : edit_ports(contract, edits)) check_port(entry, port, problems);
  check_shared(entry, contract.extend, problems);
  check_values(entry, problems);
}

void check_copy_pages(const Contract& contract, Problems& problems) {
  if (contract.copy_pages.ops.empty()) return;
  const NamedProgram entry{"copy_pages", contract.copy_pages};
  const ir::TensorType lanes = type_of(contract.copy_pages, "source_page");
  problems.expect(lanes.rank() == 1 && lanes.shape[0].is_number() && lanes.shape[0].base >= 1,
                  "copy_pages: input 'source_page' is {}, expected i32[lanes] with a lane or more",
                  ir::to_string(lanes));
  for (const char* name : {"source_page", "destination_page"})
    check_port(entry, {name, ir::Role::input, {ir::Kind::i32, lanes.shape}}, problems);
  check_shared(entry, contract.extend, problems);
  check_values(entry, problems);
}

void check_embed(const Contract& contract, Problems& problems) {
  if (contract.embed.ops.empty()) return;
  const NamedProgram entry{"embed", contract.embed};
  for (const Port& port : token_ports()) check_port(entry, port, problems);
  const ir::TensorType vectors = type_of(contract.embed, "embedding");
  const bool has_width = vectors.rank() == 2 && vectors.shape[1].is_number();
  if (problems.expect(has_width, "embed: output 'embedding' is {}, expected f32[logit_rows, width]",
                      ir::to_string(vectors))) {
    const ir::Shape shape = {ir::Symbol::logit_rows, vectors.shape[1]};
    check_port(entry, {"embedding", ir::Role::output, {ir::Kind::f32, shape}}, problems);
  }
  check_shared(entry, contract.extend, problems);
  check_values(entry, problems);
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
  const NamedProgram extend{"extend", contract.extend};
  for (const Port& port : extend_ports()) check_port(extend, port, problems);
  check_drawn_tokens(contract.extend, problems);
  check_buffers(contract, problems);
  check_values(extend, problems);
  check_groups(contract, problems);
  for (const NamedProgram& entry :
       {extend, NamedProgram{"edited", contract.edited},
        NamedProgram{"copy_pages", contract.copy_pages}, NamedProgram{"embed", contract.embed}})
    check_phases(entry, problems);
  check_edited(contract, problems);
  check_copy_pages(contract, problems);
  check_embed(contract, problems);
}

}  // namespace parhelion::contract
