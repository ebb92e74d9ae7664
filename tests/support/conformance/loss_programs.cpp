#include "support/conformance/loss_programs.h"

#include "ir/builder.h"
#include "ir/transformer_program.h"
#include "support/conformance/data.h"

#include <numeric>

namespace parhelion::test {
namespace {

using ir::ValueId;

/// Builds a program together with the content of its buffers.
class LossBuilder {
 public:
  explicit LossBuilder(std::string name) : builder_(made_.program) { made_.name = std::move(name); }

  ValueId parameter(const std::string& name, const std::vector<std::int64_t>& dims) {
    made_.buffers[name] = normals(kF32, dims, ++seed_, 0.7);
    return builder_.parameter(name, made_.buffers[name].type);
  }
  /// An activation whose elements are those of a parameter: its rows, looked up in order.
  ValueId activation(const std::string& name, const std::vector<std::int64_t>& dims) {
    const std::int64_t columns = dims.back();
    std::int64_t rows = 1;
    for (std::size_t i = 0; i + 1 < dims.size(); ++i) rows *= dims[i];
    std::vector<double> ids(static_cast<std::size_t>(rows));
    std::iota(ids.begin(), ids.end(), 0.0);
    const ValueId table = parameter(name, {rows, columns});
    const ValueId order = input(name + ".rows", listed(ir::Kind::i32, ids));
    return one(ir::Reshape{shape_of(dims)}, {one(ir::Embedding{}, {order, table})});
  }
  ValueId input(const std::string& name, const Wide& content) {
    made_.buffers[name] = content;
    return builder_.input(name, content.type);
  }
  ValueId one(const ir::Op& op, const std::vector<ValueId>& inputs) {
    return builder_.add(op, inputs).front();
  }
  const ir::TensorType& type(ValueId value) const { return builder_.type(value); }

  /// loss = sum(weights * y).
  LossProgram finish(ValueId y) {
    std::vector<std::int64_t> dims;
    for (const ir::Dim& dim : type(y).shape) dims.push_back(dim.base);
    const ValueId weights = input("weights", normals(kF32, dims, ++seed_));
    const ValueId product = one(ir::Binary{ir::BinaryFunction::multiply}, {y, weights});
    made_.loss = one(ir::Reduce{ir::ReduceFunction::sum, 0}, {product});
    builder_.output("loss", made_.loss);
    return made_;
  }

 private:
  LossProgram made_;
  ir::Builder builder_;
  std::uint64_t seed_ = 0;
};

LossProgram mat_mul_program(const ir::MatMul& op) {
  LossBuilder make(to_string(ir::Op(op)));
  using Dims = std::vector<std::int64_t>;
  const ValueId a = make.activation("a", op.transpose_a ? Dims{5, 4} : Dims{4, 5});
  const ValueId b = make.parameter("b", op.transpose_b ? Dims{3, 5} : Dims{5, 3});
  if (!op.bias) return make.finish(make.one(op, {a, b}));
  return make.finish(make.one(op, {a, b, make.parameter("bias", {3})}));
}

/// An op whose operands are all parameters of one shape.
LossProgram elementwise_program(const ir::Op& op, std::size_t operands) {
  LossBuilder make(to_string(op));
  std::vector<ValueId> inputs;
  for (std::size_t i = 0; i < operands; ++i) {
    inputs.push_back(make.activation("x" + std::to_string(i), {3, 4}));
  }
  return make.finish(make.one(op, inputs));
}

LossProgram dropout_program() {
  LossBuilder make("dropout");
  const ValueId x = make.activation("x", {3, 4});
  const ValueId seed = make.input("seed", filled(ir::Kind::u64, {}, 77));
  return make.finish(make.one(ir::Dropout{.probability = 0.4, .tag = 2}, {x, seed}));
}

/// Reduces to rows or one number, then repeats, so that the loss has a rank.
LossProgram reduce_program(ir::ReduceFunction function, std::int64_t axis, bool mean) {
  LossBuilder make("reduce, broadcast");
  const ValueId x = make.activation("x", {3, 4, 2});
  const ValueId y = make.one(ir::Reduce{function, axis}, {x});
  return make.finish(make.one(ir::Broadcast{.shape = {5}, .mean = mean}, {y}));
}

LossProgram rms_norm_program() {
  LossBuilder make("rms_norm");
  const ValueId x = make.activation("x", {3, 6});
  return make.finish(make.one(ir::RmsNorm{1e-3}, {x, make.parameter("w", {6})}));
}

/// A residual sum that is read by a norm and after it: what fusion joins.
LossProgram residual_program() {
  LossBuilder make("residual and norm");
  const ValueId x = make.activation("x", {3, 6}), r = make.activation("r", {3, 6});
  const ir::Op add = ir::Binary{ir::BinaryFunction::add};
  const ValueId sum = make.one(add, {x, r});
  const ValueId y = make.one(ir::RmsNorm{1e-3}, {sum, make.parameter("w", {6})});
  return make.finish(make.one(add, {sum, y}));
}

/// Two projections that meet in a Swiglu: what fusion joins.
LossProgram gate_up_program() {
  LossBuilder make("gate and up");
  const ValueId x = make.activation("x", {3, 5});
  const ir::Op linear = ir::MatMul{.transpose_b = true};
  const ValueId gate = make.one(linear, {x, make.parameter("gate", {4, 5})});
  const ValueId up = make.one(linear, {x, make.parameter("up", {4, 5})});
  return make.finish(make.one(ir::Swiglu{}, {gate, up}));
}

LossProgram embedding_program() {
  LossBuilder make("embedding");
  const ValueId ids = make.input("ids", listed(ir::Kind::i32, {2, 0, -1, 2, 7, 4}));
  return make.finish(make.one(ir::Embedding{}, {ids, make.parameter("table", {5, 3})}));
}

LossProgram rope_program(bool inverse) {
  LossBuilder make("rope");
  const ValueId x = make.activation("x", {3, 2, 6});
  const ValueId positions = make.input("positions", listed(ir::Kind::i32, {0, 7, 3}));
  const ValueId table = make.input("table", normals(kF32, {8, 6}, 50));
  return make.finish(make.one(ir::Rope{inverse}, {x, positions, table}));
}

LossProgram attention_program(std::int64_t window) {
  LossBuilder make("attention");
  const ValueId q = make.activation("q", {9, 4, 3});
  const ValueId k = make.activation("k", {9, 2, 3});
  const ValueId v = make.activation("v", {9, 2, 3});
  const ValueId indptr = make.input("document_indptr", prefix_sums({5, 2}));
  return make.finish(make.one(ir::Attention{.scale = 0.6, .window = window}, {q, k, v, indptr}));
}

LossProgram cross_entropy_program() {
  LossBuilder make("linear_cross_entropy");
  const ValueId hidden = make.activation("hidden", {4, 3});
  const ValueId weight = make.parameter("weight", {6, 3});
  const ValueId labels = make.input("labels", listed(ir::Kind::i32, {5, -100, 0, 2}));
  return make.finish(make.one(ir::LinearCrossEntropy{}, {hidden, weight, labels}));
}

/// A table that is read as an embedding and as the head.
LossProgram tied_program() {
  LossBuilder make("tied table");
  const ValueId table = make.parameter("table", {6, 3});
  const ValueId ids = make.input("ids", listed(ir::Kind::i32, {1, 5, 1, 0}));
  const ValueId labels = make.input("labels", listed(ir::Kind::i32, {5, 1, 0, -100}));
  const ValueId x = make.one(ir::Embedding{}, {ids, table});
  return make.finish(make.one(ir::LinearCrossEntropy{}, {x, table, labels}));
}

/// A matrix that is applied twice, once through a reshaped activation.
LossProgram repeated_program() {
  LossBuilder make("matrix used twice");
  const ValueId w = make.parameter("w", {4, 4}), x = make.activation("x", {3, 4});
  const ValueId y = make.one(ir::MatMul{.transpose_b = true}, {x, w});
  const ValueId square = make.one(ir::Binary{ir::BinaryFunction::multiply}, {y, y});
  const ValueId folded = make.one(ir::Reshape{{3, 4}}, {make.one(ir::Reshape{{12}}, {square})});
  return make.finish(make.one(ir::MatMul{}, {folded, w}));
}

std::vector<LossProgram> mat_mul_programs() {
  std::vector<LossProgram> result;
  for (const bool transpose_a : {false, true}) {
    for (const bool transpose_b : {false, true}) {
      result.push_back(mat_mul_program({.transpose_a = transpose_a, .transpose_b = transpose_b}));
    }
  }
  result.push_back(mat_mul_program({.transpose_b = true, .bias = true}));
  return result;
}

constexpr std::int64_t kVocabulary = 13;

ir::TransformerSize decoder_size(ir::Kind kind) {
  return {.layers = 2,
          .hidden = 8,
          .heads = 4,
          .kv_heads = 2,
          .head_dim = 4,
          .inner = 12,
          .vocabulary = kVocabulary,
          .kind = kind};
}

/// Random parameters and state.
void fill_buffers(FilledProgram& made) {
  std::uint64_t seed = 10;
  for (const ir::Buffer& buffer : made.program.buffers) {
    if (buffer.role != ir::Role::parameter && buffer.role != ir::Role::state) continue;
    std::vector<std::int64_t> dims;
    for (const ir::Dim& dim : ir::evaluate(buffer.type.shape, made.capacities)) {
      dims.push_back(dim.base);
    }
    made.buffers[buffer.name] = normals(buffer.type.kind(), dims, ++seed, 0.5);
  }
}

}  // namespace

std::vector<LossProgram> loss_programs() {
  std::vector<LossProgram> result = mat_mul_programs();
  const auto mean = ir::ReduceFunction::mean, sum = ir::ReduceFunction::sum;
  for (LossProgram& each :
       std::vector<LossProgram>{elementwise_program(ir::Swiglu{}, 2),
                                elementwise_program(ir::Binary{ir::BinaryFunction::add}, 2),
                                elementwise_program(ir::Binary{ir::BinaryFunction::multiply}, 2),
                                elementwise_program(ir::Cast{kF32}, 1),
                                elementwise_program(ir::Scale{.factor = 1.5}, 1),
                                dropout_program(),
                                elementwise_program(ir::Reshape{{2, 6}}, 1),
                                reduce_program(sum, 0, true),
                                reduce_program(sum, 2, false),
                                reduce_program(mean, 1, true),
                                rms_norm_program(),
                                residual_program(),
                                gate_up_program(),
                                embedding_program(),
                                rope_program(false),
                                rope_program(true),
                                attention_program(0),
                                attention_program(2),
                                cross_entropy_program(),
                                tied_program(),
                                repeated_program(),
                                decoder_program(kF32)}) {
    result.push_back(std::move(each));
  }
  return result;
}

LossProgram decoder_program(ir::Kind kind) {
  constexpr std::int64_t kTokens = 12;
  LossProgram made;
  made.name = made.program.name = "decoder";
  made.terms = 1024;
  made.loss = ir::TransformerProgram(made.program, decoder_size(kind)).add_train();
  made.capacities[ir::Symbol::tokens] = kTokens;
  made.capacities[ir::Symbol::documents] = 2;
  fill_buffers(made);
  made.buffers["ids"] = indices(kTokens, 0, kVocabulary, 1);
  made.buffers["labels"] = indices(kTokens, 0, kVocabulary, 2);
  made.buffers["labels"][3] = made.buffers["labels"][kTokens - 1] = -100;
  made.buffers["positions"] = listed(ir::Kind::i32, {0, 1, 2, 3, 4, 5, 6, 0, 1, 2, 3, 0});
  made.buffers["document_indptr"] = prefix_sums({7, 4});
  return made;
}

FilledProgram extend_program(ir::Kind kind) {
  constexpr std::int64_t kTokens = 9;
  FilledProgram made;
  made.name = made.program.name = "extend";
  made.terms = 1024;
  ir::TransformerProgram(made.program, decoder_size(kind)).add_extend();
  made.capacities[ir::Symbol::tokens] = kTokens;
  made.capacities[ir::Symbol::rows] = made.capacities[ir::Symbol::logit_rows] = 2;
  made.capacities[ir::Symbol::pages_per_row] = 2;
  made.capacities[ir::Symbol::pages] = 4;
  fill_buffers(made);
  made.buffers["ids"] = indices(kTokens, 0, kVocabulary, 1);
  made.buffers["positions"] = listed(ir::Kind::i32, {0, 1, 2, 3, 4, 5, 6, 7, 16});
  made.buffers["query_indptr"] = prefix_sums({8, 1});
  made.buffers["kv_length"] = listed(ir::Kind::i32, {8, 17});
  made.buffers["page_table"] = {ir::TensorType(ir::Kind::i32, {2, 2}), {1, 0, 2, 3}};
  made.buffers["write_location"] = listed(ir::Kind::i64, {16, 17, 18, 19, 20, 21, 22, 23, 48});
  made.buffers["logit_index"] = listed(ir::Kind::i32, {7, 8});
  return made;
}

}  // namespace parhelion::test
