#pragma once

#include "ir/op.h"
#include "support/reference/wide.h"

#include <string>
#include <vector>

namespace parhelion::test {

/// One op with operands: legal, and rounded to their kinds.
struct Case {
  std::string name;
  ir::Op op;
  std::vector<Wide> inputs;
  std::int64_t terms = 1;                 ///< of the longest sum that makes an output
  std::vector<std::size_t> weights = {};  ///< inputs that a program may hold as parameters
  ir::Kind between = ir::Kind::f32;       ///< what results on the way to outputs are rounded to
  bool stochastic = false;                ///< bf16 outputs may be rounded away from the nearest
};
using Cases = std::vector<Case>;

Cases mat_mul_cases();
Cases gate_up_cases();
Cases cross_entropy_cases();
Cases attention_cases();
Cases paged_cases();
Cases norm_cases();
Cases gather_cases();
Cases elementwise_cases();
Cases reduce_cases();
Cases sample_cases();
Cases serving_cases();
Cases update_cases();

/// The cases of every family.
Cases all_cases();

/// Such as `f32[3, 7]`, for names.
std::string in_words(const Wide& tensor);

}  // namespace parhelion::test
