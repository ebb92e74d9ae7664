#include "text/template_facts.h"

#include "base/error.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string_view>

namespace parhelion::text {
namespace {

constexpr std::string_view kGivenVariables[] = {"messages",  "tools",     "documents",
                                                "bos_token", "eos_token", "add_generation_prompt"};

bool is_given_variable(std::string_view name) {
  return std::find(std::begin(kGivenVariables), std::end(kGivenVariables), name) !=
         std::end(kGivenVariables);
}

}  // namespace

std::vector<std::string> settable_variables(const TemplateFacts& facts) {
  std::vector<std::string> names;
  std::copy_if(facts.variables.begin(), facts.variables.end(), std::back_inserter(names),
               [](const std::string& name) { return !is_given_variable(name); });
  return names;
}

void check_template_variables(const TemplateFacts& facts, const Json& variables) {
  const std::vector<std::string> known = settable_variables(facts);
  for (const auto& [name, value] : variables.as_object("chat template variables")) {
    const bool is_known = std::binary_search(known.begin(), known.end(), name);
    ensure(is_known, ErrorKind::invalid,
           "chat template variable '{}' is not one that the template reads: {}", name,
           known.empty() ? "it reads none" : fmt::format("{}", fmt::join(known, ", ")));
  }
}

}  // namespace parhelion::text
