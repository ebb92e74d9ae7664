#include "support/conformance/cases.h"

#include <algorithm>
#include <iterator>

namespace parhelion::test {

std::string in_words(const Wide& tensor) { return ir::to_string(tensor.type); }

Cases all_cases() {
  Cases result;
  for (const auto& list :
       {mat_mul_cases, gate_up_cases, cross_entropy_cases, attention_cases, paged_cases, norm_cases,
        gather_cases, elementwise_cases, reduce_cases, sample_cases, serving_cases, update_cases}) {
    Cases cases = list();
    std::move(cases.begin(), cases.end(), std::back_inserter(result));
  }
  return result;
}

}  // namespace parhelion::test
