#pragma once

#include "base/json.h"
#include "text/template_traits.h"

namespace parhelion::app {

/// Messages as OpenAI writes them, in the form that a template takes: arguments of calls as text
/// where it joins them to text, and calls without content where it writes only such; a text beside
/// those becomes a message of its own before them.
Json fit_messages(const Json& messages, const text::TemplateTraits& traits);

}  // namespace parhelion::app
