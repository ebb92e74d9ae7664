#pragma once

#include "base/json.h"

#include <string>
#include <vector>

namespace parhelion::text {

/// What a chat template uses, known before any conversation. Names are sorted, each is there once.
struct TemplateFacts {
  std::vector<std::string> statements;
  std::vector<std::string> filters;
  std::vector<std::string> tests;
  std::vector<std::string> functions;  ///< of those the engine has
  std::vector<std::string> methods;    ///< names of members that are called
  std::vector<std::string> variables;  ///< read where the template itself has not surely set them
  /// Filters that Jinja has not either: using one is an error of the template.
  std::vector<std::string> unknown_filters;

  bool operator==(const TemplateFacts&) const = default;
};

/// The variables that a caller may set: those which the template reads and no option of
/// `ChatOptions` gives.
std::vector<std::string> settable_variables(const TemplateFacts& facts);

/// Errors: invalid, with the name, if `variables` has one that the template does not read or that
/// an
///         option gives.
void check_template_variables(const TemplateFacts& facts, const Json& variables);

}  // namespace parhelion::text
