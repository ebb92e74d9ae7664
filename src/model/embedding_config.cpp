#include "model/embedding_config.h"

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"

#include <string>
#include <string_view>

namespace parhelion::model {
namespace {

Json read_module_file(const std::filesystem::path& path) {
  return parse_json(read_file(path), path.string());
}

std::string text_of(const Json& module, std::string_view key, const std::string& where) {
  const Json* value = module.find(key);
  ensure(value != nullptr, ErrorKind::invalid, "{}: a module has no {}", where, key);
  return value->as_string(where + ": " + std::string(key));
}

/// Refuses every way of pooling but that of the last token.
void check_pooling(const std::filesystem::path& path) {
  const Json config = read_module_file(path);
  bool takes_last = false;
  for (const auto& [key, value] : config.as_object(path.string())) {
    if (!key.starts_with("pooling_mode_") || !value.as_bool(path.string() + ": " + key)) continue;
    ensure(key == "pooling_mode_lasttoken", ErrorKind::unsupported,
           "{}: {} is set, expected pooling_mode_lasttoken alone", path.string(), key);
    takes_last = true;
  }
  ensure(takes_last, ErrorKind::unsupported,
         "{}: sets no way of pooling that is known, expected "
         "pooling_mode_lasttoken",
         path.string());
}

}  // namespace

std::optional<EmbeddingConfig> read_embedding_config(const std::filesystem::path& directory) {
  const std::filesystem::path path = directory / "modules.json";
  if (!std::filesystem::exists(path)) return std::nullopt;
  const Json modules = read_module_file(path);
  EmbeddingConfig config;
  bool pools = false;
  for (const Json& module : modules.as_array(path.string())) {
    const std::string type = text_of(module, "type", path.string());
    const std::string name = type.substr(type.rfind('.') + 1);
    if (name == "Transformer") continue;
    if (name == "Normalize") {
      config.normalises = true;
    } else {
      ensure(name == "Pooling", ErrorKind::unsupported,
             "{}: has a module of type {}, expected Transformer, Pooling and Normalize",
             path.string(), type);
      check_pooling(directory / text_of(module, "path", path.string()) / "config.json");
      pools = true;
    }
  }
  ensure(pools, ErrorKind::unsupported, "{}: has no module that pools", path.string());
  return config;
}

}  // namespace parhelion::model
