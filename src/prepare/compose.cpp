#include "prepare/compose.h"

#include "ir/passes/fold_views.h"
#include "ir/passes/fuse.h"
#include "ir/passes/fuse_loss.h"
#include "ir/verify.h"
#include "model/mapping.h"

namespace parhelion::prepare {
namespace {

/// What ir::lower does before capacities are known.
void fuse_program(ir::Program& program) {
  ir::fuse_loss(program);
  ir::fuse(program);
  ir::fold_views(program);
  ir::verify(program);
}

}  // namespace

contract::Contract compose(const model::Model& model, const CoreSettings& settings) {
  contract::Contract contract = make_contract(
      settings.adapter == AdapterUse::merge ? model::base_of(model) : model, settings.shape);
  for (ir::Program* program :
       {&contract.extend, &contract.edited, &contract.copy_pages, &contract.embed})
    fuse_program(*program);
  contract.target = settings.target;
  contract.provenance = settings.provenance;
  contract.provenance.recipe = model.architecture;
  contract.frontend = settings.frontend;
  return contract;
}

}  // namespace parhelion::prepare
