#include "ir/passes/fold_views.h"

#include "ir/passes/relink.h"

namespace parhelion::ir {

void fold_views(Program& program) {
  std::vector<Operand> source(program.values.size() + 1);  // of folded values
  std::vector<OpNode> kept;
  for (OpNode& node : program.ops) {
    for (Operand& input : node.inputs) {
      const Operand& folded = source[input.value.index];
      if (!folded.value) continue;
      input = {folded.value, input.shape ? input.shape : folded.shape};
    }
    const bool is_view =
        std::holds_alternative<Reshape>(node.op) && !program.at(node.outputs[0]).buffer;
    if (!is_view) {
      kept.push_back(std::move(node));
      continue;
    }
    source[node.outputs[0].index] = {node.inputs[0].value, program.at(node.outputs[0]).type.shape};
  }
  program.ops = std::move(kept);
  relink(program);
}

}  // namespace parhelion::ir
