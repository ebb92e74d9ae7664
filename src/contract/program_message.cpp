#include "contract/program_message.h"

#include "contract/core.pb.h"
#include "contract/enum_table.h"

namespace parhelion::contract {
namespace {

constexpr EnumTable<ir::Symbol, proto::Symbol, ir::kSymbolCount> kSymbolNumbers = {
    {{ir::Symbol::none, proto::SYMBOL_NONE},
     {ir::Symbol::tokens, proto::SYMBOL_TOKENS},
     {ir::Symbol::rows, proto::SYMBOL_ROWS},
     {ir::Symbol::logit_rows, proto::SYMBOL_LOGIT_ROWS},
     {ir::Symbol::documents, proto::SYMBOL_DOCUMENTS},
     {ir::Symbol::pages_per_row, proto::SYMBOL_PAGES_PER_ROW},
     {ir::Symbol::pages, proto::SYMBOL_PAGES}}};

constexpr EnumTable<ir::Kind, proto::Kind, 18> kKindNumbers = {
    {{ir::Kind::f32, proto::KIND_F32},
     {ir::Kind::bf16, proto::KIND_BF16},
     {ir::Kind::f16, proto::KIND_F16},
     {ir::Kind::f64, proto::KIND_F64},
     {ir::Kind::i8, proto::KIND_I8},
     {ir::Kind::u8, proto::KIND_U8},
     {ir::Kind::i32, proto::KIND_I32},
     {ir::Kind::i64, proto::KIND_I64},
     {ir::Kind::u64, proto::KIND_U64},
     {ir::Kind::bool8, proto::KIND_BOOL8},
     {ir::Kind::q8_0, proto::KIND_Q8_0},
     {ir::Kind::q4_0, proto::KIND_Q4_0},
     {ir::Kind::q4_1, proto::KIND_Q4_1},
     {ir::Kind::q5_0, proto::KIND_Q5_0},
     {ir::Kind::q5_1, proto::KIND_Q5_1},
     {ir::Kind::q4_k, proto::KIND_Q4_K},
     {ir::Kind::q5_k, proto::KIND_Q5_K},
     {ir::Kind::q6_k, proto::KIND_Q6_K}}};

constexpr EnumTable<ir::Role, proto::Role, 5> kRoleNumbers = {
    {{ir::Role::input, proto::ROLE_INPUT},
     {ir::Role::parameter, proto::ROLE_PARAMETER},
     {ir::Role::state, proto::ROLE_STATE},
     {ir::Role::constant, proto::ROLE_CONSTANT},
     {ir::Role::output, proto::ROLE_OUTPUT}}};

constexpr EnumTable<ir::Lifetime, proto::Lifetime, 3> kLifetimeNumbers = {
    {{ir::Lifetime::process, proto::LIFETIME_PROCESS},
     {ir::Lifetime::step, proto::LIFETIME_STEP},
     {ir::Lifetime::microbatch, proto::LIFETIME_MICROBATCH}}};

constexpr EnumTable<ir::Phase, proto::Phase, 5> kPhaseNumbers = {
    {{ir::Phase::forward, proto::PHASE_FORWARD},
     {ir::Phase::input_grad, proto::PHASE_INPUT_GRAD},
     {ir::Phase::weight_grad, proto::PHASE_WEIGHT_GRAD},
     {ir::Phase::reduce, proto::PHASE_REDUCE},
     {ir::Phase::update, proto::PHASE_UPDATE}}};

void check_count(std::string_view what, std::int64_t count, std::int64_t most) {
  ensure(count <= most, ErrorKind::corrupt,
         "CORE_CONTRACT_INVALID: there are {} {}, expected at most {}", count, what, most);
}

const std::string& checked_name(const std::string& text) {
  check_count("bytes in a name", std::ssize(text), kMostNameBytes);
  return text;
}

void write_shape(const ir::Shape& shape, proto::Shape& message) {
  for (const ir::Dim& dim : shape) {
    proto::Dim& out = *message.add_dims();
    out.set_base(dim.base);
    out.set_scale(dim.scale);
    if (dim.divisor != 1) out.set_divisor(dim.divisor);
    out.set_symbol(to_file(kSymbolNumbers, dim.symbol));
  }
}

ir::Dim read_dim(const proto::Dim& message) {
  ir::Dim dim;
  dim.base = message.base();
  dim.scale = message.scale();
  dim.divisor = message.divisor() == 0 ? 1 : message.divisor();
  // 0 stands for a plain number here, so it is a row of the table.
  dim.symbol = from_file(kSymbolNumbers, message.symbol(), "the symbol of a dim");
  for (const std::int64_t number : {dim.base, dim.scale, dim.divisor})
    ensure(number >= 0 && number <= kMostExtent, ErrorKind::corrupt,
           "CORE_CONTRACT_INVALID: a dim has the number {}, expected 0 to {}", number, kMostExtent);
  ensure(!dim.is_number() || (dim.scale == 0 && dim.divisor == 1), ErrorKind::corrupt,
         "CORE_CONTRACT_INVALID: a dim has a scale or a divisor, but no symbol");
  return dim;
}

ir::Shape read_shape(const proto::Shape& message) {
  check_count("dims", message.dims_size(), kMostRank);
  ir::Shape shape;
  for (const proto::Dim& dim : message.dims()) shape.push_back(read_dim(dim));
  return shape;
}

/// Writes the alternative that a stored field has.
struct FieldWriter {
  proto::Field& message;
  void operator()(bool value) const { message.set_flag(value); }
  void operator()(std::int64_t value) const { message.set_integer(value); }
  void operator()(double value) const { message.set_number(value); }
  void operator()(const std::string& value) const { message.set_word(value); }
  void operator()(const ir::Shape& value) const { write_shape(value, *message.mutable_shape()); }
};

void write_op(const ir::Op& op, proto::Op& message) {
  const StoredOp stored = store(op);
  message.set_family(stored.family);
  message.set_version(stored.version);
  for (const StoredField& field : stored.fields) {
    proto::Field& out = *message.add_fields();
    out.set_name(field.name);
    std::visit(FieldWriter{out}, field.value);
  }
}

StoredField read_field(const proto::Field& message) {
  StoredField field{.name = checked_name(message.name()), .value = {}};
  switch (message.value_case()) {
    case proto::Field::kFlag:
      field.value = message.flag();
      return field;
    case proto::Field::kInteger:
      field.value = std::int64_t{message.integer()};
      return field;
    case proto::Field::kNumber:
      field.value = message.number();
      return field;
    case proto::Field::kWord:
      field.value = checked_name(message.word());
      return field;
    case proto::Field::kShape:
      field.value = read_shape(message.shape());
      return field;
    case proto::Field::VALUE_NOT_SET:
      break;
  }
  fail(ErrorKind::unsupported, "OP_UNSUPPORTED: field '{}' has a value of an unknown type",
       field.name);
}

ir::Op read_op(const proto::Op& message, std::span<const Upgrade> upgrades) {
  check_count("fields of an op", message.fields_size(), kMostOperands);
  StoredOp stored{.family = message.family(), .version = message.version()};
  for (const proto::Field& field : message.fields()) stored.fields.push_back(read_field(field));
  return restore(std::move(stored), upgrades);
}

void write_buffer(const ir::Buffer& buffer, proto::Buffer& message) {
  message.set_name(buffer.name);
  write_message(buffer.type, *message.mutable_type());
  message.set_role(to_file(kRoleNumbers, buffer.role));
  message.set_lifetime(to_file(kLifetimeNumbers, buffer.lifetime));
  message.set_frozen(!buffer.trainable);
  if (buffer.init) write_op(*buffer.init, *message.mutable_init());
}

ir::Buffer read_buffer(const proto::Buffer& message, std::span<const Upgrade> upgrades) {
  ir::Buffer buffer{
      .name = checked_name(message.name()),
      .type = read_message(message.type()),
      .role = from_file(kRoleNumbers, message.role(), "the role of a buffer"),
      .lifetime = from_file(kLifetimeNumbers, message.lifetime(), "the lifetime of a buffer"),
      .trainable = !message.frozen()};
  if (message.has_init()) buffer.init = read_op(message.init(), upgrades);
  return buffer;
}

void write_node(const ir::OpNode& node, proto::Node& message) {
  write_op(node.op, *message.mutable_op());
  for (const ir::Operand& input : node.inputs) {
    proto::Operand& out = *message.add_inputs();
    out.set_value(input.value.index);
    if (input.shape) write_shape(*input.shape, *out.mutable_shape());
  }
  for (const ir::ValueId output : node.outputs) message.add_outputs(output.index);
  message.set_gate(node.gate.index);
  message.set_phase(to_file(kPhaseNumbers, node.phase));
  message.set_layer(node.layer);
  message.set_label(node.label);
}

ir::OpNode read_node(const proto::Node& message, std::span<const Upgrade> upgrades) {
  check_count("operands of an op", std::max(message.inputs_size(), message.outputs_size()),
              kMostOperands);
  ir::OpNode node{.op = read_op(message.op(), upgrades),
                  .gate = {message.gate()},
                  .phase = from_file(kPhaseNumbers, message.phase(), "the phase of an op"),
                  .layer = message.layer(),
                  .label = message.label()};
  for (const proto::Operand& input : message.inputs()) {
    ir::Operand operand{.value = {input.value()}};
    if (input.has_shape()) operand.shape = read_shape(input.shape());
    node.inputs.push_back(std::move(operand));
  }
  for (const std::uint32_t output : message.outputs()) node.outputs.push_back({output});
  return node;
}

void write_value(const ir::Value& value, proto::Value& message) {
  write_message(value.type, *message.mutable_type());
  message.set_producer(value.producer.index);
  message.set_buffer(value.buffer.index);
  message.set_version(value.version);
}

}  // namespace

void write_message(const ir::TensorType& type, proto::Type& message) {
  message.set_kind(to_file(kKindNumbers, type.kind()));
  write_shape(type.shape, *message.mutable_shape());
}

ir::TensorType read_message(const proto::Type& message) {
  return {from_file(kKindNumbers, message.kind(), "the kind of a type"),
          read_shape(message.shape())};
}

void write_message(const ir::Program& program, proto::Program& message) {
  message.set_name(program.name);
  for (const ir::Buffer& buffer : program.buffers) write_buffer(buffer, *message.add_buffers());
  for (const ir::Value& value : program.values) write_value(value, *message.add_values());
  for (const ir::OpNode& node : program.ops) write_node(node, *message.add_nodes());
  for (const std::string& label : program.labels) message.add_labels(label);
}

ir::Program read_message(const proto::Program& message, std::span<const Upgrade> upgrades) {
  check_count("ops", message.nodes_size(), kMostOps);
  check_count("buffers", message.buffers_size(), kMostOps);
  check_count("values", message.values_size(), 4 * kMostOps);
  check_count("labels", message.labels_size(), kMostOps);
  ir::Program program;
  program.name = checked_name(message.name());
  program.labels.clear();
  for (const proto::Buffer& buffer : message.buffers())
    program.buffers.push_back(read_buffer(buffer, upgrades));
  for (const proto::Value& value : message.values())
    program.values.push_back({.type = read_message(value.type()),
                              .producer = {value.producer()},
                              .buffer = {value.buffer()},
                              .version = value.version()});
  for (const proto::Node& node : message.nodes()) program.ops.push_back(read_node(node, upgrades));
  for (const std::string& label : message.labels()) program.labels.push_back(checked_name(label));
  return program;
}

}  // namespace parhelion::contract
