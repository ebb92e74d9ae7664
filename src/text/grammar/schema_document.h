#pragma once

#include "base/error.h"
#include "base/json.h"

#include <string>
#include <string_view>

namespace parhelion::text {

/// A JSON Schema and the places in it. The schema must outlive it.
class SchemaDocument {
 public:
  explicit SchemaDocument(const Json& root) : root_(root) {}

  const Json& root() const { return root_; }
  /// The schema that `$ref` of `from` names.
  ///
  /// Errors: unsupported if it is not within this document; invalid if nothing is there.
  const Json& resolve(const Json& from, const Json& reference) const;
  /// Where a part lies, as #/properties/a.
  std::string path_of(const Json& part) const;

  template <class... Args>
  [[noreturn]] void refuse(ErrorKind kind, const Json& part, fmt::format_string<Args...> format,
                           Args&&... args) const {
    fail(kind, "json schema: {}: {}", path_of(part),
         fmt::format(format, std::forward<Args>(args)...));
  }

 private:
  const Json& root_;
};

}  // namespace parhelion::text
