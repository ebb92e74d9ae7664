#include "prepare/make_contract.h"

#include "ir/passes/lower.h"
#include "model/open.h"

#include <gtest/gtest.h>

namespace parhelion::prepare {
namespace {

/// Edits that a step of one row has room for.
std::int64_t room_of_one_row(std::int64_t vocabulary, std::int64_t context_tokens) {
  model::Model model = model::open_model(PARHELION_TEST_DATA "/model/llama_tiny").model;
  model.vocabulary = vocabulary;
  const std::vector<ir::Capacities> catalogue = {one_row(32, 1)};
  const contract::Contract contract = make_contract(
      model,
      {.context_tokens = context_tokens, .catalogue = catalogue, .edited_catalogue = catalogue});
  const ir::BufferId ids = ir::find_buffer(contract.edited, "edit_ids");
  return ir::evaluate(contract.edited.at(ids).type.shape[0], catalogue.front());
}

TEST(MakeContract, HasRoomForTheEditsOfAWholeContext) {
  EXPECT_GE(room_of_one_row(150'000, 131'072), 131'072 + 1'024);
  EXPECT_GE(room_of_one_row(32'000, 131'072), 32'000);
  EXPECT_EQ(room_of_one_row(150'000, 1'024), 4'096 + 512);
}

}  // namespace
}  // namespace parhelion::prepare
