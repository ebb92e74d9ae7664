#pragma once

#include "text/jinja/syntax.h"
#include "text/template_facts.h"

namespace parhelion::text::jinja {

/// Lists what a template uses.
///
/// Errors: unsupported, by name and line, for methods, functions and names that Jinja has and this
///         engine lacks.
TemplateFacts collect_facts(const Block& block);

}  // namespace parhelion::text::jinja
