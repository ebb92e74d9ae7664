#include "text/grammar/json_schema.h"

#include "base/json.h"
#include "text/grammar/automaton.h"
#include "text/grammar/json_formats.h"
#include "text/grammar/json_rules.h"
#include "text/grammar/schema_disjoint.h"
#include "text/grammar/schema_facets.h"

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

namespace parhelion::text {
namespace {

/// Alternatives of oneOf whose pairs are looked at.
constexpr std::size_t kMaxOneOf = 100;

/// Builds the expressions of schemas. Where a $ref was followed, the schemas that then have to hold
/// are a rule, made once; rules wait in a queue, so that references do not nest.
class SchemaBuilder {
 public:
  SchemaBuilder(const Json& schema, const SchemaOptions& options)
      : document_(schema),
        options_(options),
        comparisons_left_(options.limits.comparisons),
        book_("json schema", options.limits),
        json_(book_, options.spaces) {}

  Automaton build() {
    const RuleId root = book_.add_rule("#");
    book_.define(root, build_parts({{&document_.root()}}));
    while (!waiting_.empty()) {
      const auto [rule, parts] = std::move(waiting_.back());
      waiting_.pop_back();
      book_.define(rule, build_flat(parts));
    }
    return compile_automaton(book_);
  }

 private:
  ExpressionId build_parts(const SchemaParts& parts) {
    const FlatSchema flat = flatten_schema(document_, parts);
    if (flat.is_impossible) return book_.nothing();
    if (!flat.follows_reference) return build_flat(flat.parts);
    return rule_of(flat.parts);
  }

  /// The schemas as a rule, which holds them once however often they are used.
  ExpressionId rule_of(const SchemaParts& flat) {
    SchemaParts key = flat;
    std::sort(key.begin(), key.end());
    const auto [known, is_new] = rules_.try_emplace(std::move(key));
    if (is_new) {
      known->second = book_.add_rule("schema " + std::to_string(rules_.size()));
      waiting_.emplace_back(known->second, flat);
    }
    return book_.add(Call{known->second});
  }

  ExpressionId build_flat(const SchemaParts& parts) {
    if (parts.empty()) return json_.any_value();
    const Nesting nesting(*this, *parts.front().schema);
    for (const SchemaPart& part : parts) {
      const Json* any_of = part.without_any_of ? nullptr : part.schema->find("anyOf");
      if (any_of != nullptr)
        return build_alternatives(parts, part, *any_of, &SchemaPart::without_any_of);
      const Json* one_of = part.without_one_of ? nullptr : part.schema->find("oneOf");
      if (one_of == nullptr) continue;
      check_one_of(parts, part, *one_of);
      return build_alternatives(parts, part, *one_of, &SchemaPart::without_one_of);
    }
    return build_facets(*parts.front().schema, read_facets(document_, parts, options_.unsupported));
  }

  const Json::Array& alternatives_of(const Json& value) {
    const bool is_list = value.is_array() && !value.as_array("").empty();
    if (!is_list) document_.refuse(ErrorKind::invalid, value, "expected an array of schemas");
    return value.as_array("");
  }

  /// The parts with one alternative in place of the keyword it is from.
  static SchemaParts choose(const SchemaParts& parts, const SchemaPart& of,
                            bool SchemaPart::*without, const Json& alternative) {
    SchemaParts chosen;
    for (SchemaPart part : parts) {
      if (part == of) part.*without = true;
      add_part(chosen, part);
    }
    add_part(chosen, {&alternative});
    return chosen;
  }

  /// Whether an alternative refers to a schema whose alternatives are being chosen: nothing holds
  /// only because it holds.
  bool leads_back(const SchemaParts& parts, const Json& alternative) {
    const FlatSchema flat = flatten_schema(document_, {{&alternative}});
    return std::any_of(parts.begin(), parts.end(), [&](const SchemaPart& part) {
      return (part.without_any_of || part.without_one_of) &&
             std::any_of(flat.parts.begin(), flat.parts.end(),
                         [&](const SchemaPart& one) { return one.schema == part.schema; });
    });
  }

  ExpressionId build_alternatives(const SchemaParts& parts, const SchemaPart& of, const Json& value,
                                  bool SchemaPart::*without) {
    Choice choice;
    for (const Json& alternative : alternatives_of(value)) {
      const SchemaParts chosen = choose(parts, of, without, alternative);
      if (!leads_back(chosen, alternative)) choice.parts.push_back(build_parts(chosen));
    }
    return book_.add(std::move(choice));
  }

  /// oneOf is read as anyOf, which is right where its alternatives exclude each other.
  void check_one_of(const SchemaParts& parts, const SchemaPart& of, const Json& value) {
    const Json::Array& alternatives = alternatives_of(value);
    if (options_.unsupported == UnsupportedKeywords::ignore) return;
    if (alternatives.size() > kMaxOneOf) {
      document_.refuse(ErrorKind::exhausted, value, "more than {} alternatives", kMaxOneOf);
    }
    for (std::size_t i = 0; i < alternatives.size(); ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        const bool is_known = are_disjoint(
            document_, choose(parts, of, &SchemaPart::without_one_of, alternatives[i]),
            choose(parts, of, &SchemaPart::without_one_of, alternatives[j]), comparisons_left_);
        if (is_known) continue;
        document_.refuse(
            ErrorKind::unsupported, value,
            "alternatives {} and {} may hold at once, as far as can be told; use anyOf", j, i);
      }
    }
  }

  ExpressionId build_facets(const Json& schema, const SchemaFacets& facets) {
    if (facets.values) return build_values(schema, facets);
    if (says_nothing(facets)) return json_.any_value();
    Choice choice;
    const auto add = [&](std::uint8_t types, auto build) {
      if ((facets.types & types) != 0) choice.parts.push_back(build());
    };
    add(json_type::kObject, [&] { return build_object(schema, facets); });
    add(json_type::kArray, [&] { return build_array(facets); });
    add(json_type::kString, [&] { return build_string(schema, facets); });
    add(json_type::kNumber, [&] {
      const bool has_fractions = (facets.types & json_type::kFraction) != 0;
      return has_fractions ? add_numbers(book_, facets.range) : add_integers(book_, facets.range);
    });
    add(json_type::kBoolean, [&] {
      return book_.add(Choice{{book_.bytes("true"), book_.bytes("false")}});
    });
    add(json_type::kNull, [&] { return book_.bytes("null"); });
    return book_.add(std::move(choice));
  }

  static bool says_nothing(const SchemaFacets& facets) {
    return facets.types == json_type::kAll && !facets.range.lower && !facets.range.upper &&
           is_any_string(facets) && is_any_array(facets) && is_any_object(facets);
  }
  static bool is_any_string(const SchemaFacets& facets) {
    return facets.min_length == 0 && !facets.max_length && facets.patterns.empty() &&
           facets.formats.empty();
  }
  static bool is_any_array(const SchemaFacets& facets) {
    return facets.min_items == 0 && !facets.max_items && facets.prefix.empty() &&
           facets.items.empty();
  }
  static bool is_any_object(const SchemaFacets& facets) {
    return facets.properties.empty() && facets.min_properties == 0 && !facets.max_properties &&
           facets.has_other_properties && facets.other_properties.empty();
  }

  ExpressionId build_values(const Json& schema, const SchemaFacets& facets) {
    Choice choice;
    for (const Json* value : *facets.values) {
      const std::uint8_t type = type_of_json(*value);
      if ((type & facets.types) == 0) continue;
      const bool can_tell =
          (type != json_type::kObject || is_any_object(facets)) &&
          (type != json_type::kArray || is_any_array(facets)) &&
          (type != json_type::kString || (facets.patterns.empty() && facets.formats.empty()));
      if (!can_tell && options_.unsupported == UnsupportedKeywords::refuse) {
        document_.refuse(ErrorKind::unsupported, schema,
                         "enum or const beside other keywords for its values");
      }
      if (admits(facets, *value)) choice.parts.push_back(json_.literal(*value));
    }
    return book_.add(std::move(choice));
  }

  /// Whether the bounds of numbers and lengths hold.
  static bool admits(const SchemaFacets& facets, const Json& value) {
    if (value.is_string()) {
      const std::string& text = value.as_string("");
      const auto length = std::count_if(text.begin(), text.end(), [](char c) {
        return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
      });
      return length >= facets.min_length && length <= facets.max_length.value_or(length);
    }
    if (!value.is_number()) return true;
    const std::optional<Decimal> decimal = decimal_of(value);
    const std::optional<Bound>& lower = facets.range.lower;
    const std::optional<Bound>& upper = facets.range.upper;
    if (!decimal) return !lower && !upper;
    const bool is_above =
        !lower || *decimal > lower->value || (*decimal == lower->value && !lower->is_open);
    const bool is_below =
        !upper || *decimal < upper->value || (*decimal == upper->value && !upper->is_open);
    return is_above && is_below;
  }

  ExpressionId build_string(const Json& schema, const SchemaFacets& facets) {
    const std::size_t shapes = facets.patterns.size() + facets.formats.size();
    const bool has_length = facets.min_length > 0 || facets.max_length.has_value();
    if ((shapes > 1 || (shapes == 1 && has_length)) &&
        options_.unsupported == UnsupportedKeywords::refuse) {
      document_.refuse(ErrorKind::unsupported, schema,
                       "pattern, format and bounds of the length beside each other");
    }
    if (!facets.patterns.empty()) return build_pattern(*facets.patterns.front());
    for (const Json* format : facets.formats) {
      const std::optional<std::string> pattern = format_pattern(format->as_string(""));
      if (pattern) return json_.string_of_pattern(*pattern, true);
      if (options_.unsupported == UnsupportedKeywords::refuse) {
        document_.refuse(ErrorKind::unsupported, *format, "format {} is not supported",
                         format->as_string(""));
      }
    }
    return json_.string_of_length(facets.min_length, facets.max_length);
  }

  ExpressionId build_pattern(const Json& pattern) try {
    return json_.string_of_pattern(pattern.as_string(""), false);
  } catch (const Error& error) {
    document_.refuse(error.kind(), pattern, "{}", error.what());
  }

  ExpressionId build_array(const SchemaFacets& facets) {
    std::vector<ListElement> elements;
    if (facets.max_items.value_or(facets.min_items) < facets.min_items) return book_.nothing();
    const auto prefix_size = static_cast<std::int64_t>(facets.prefix.size());
    const std::int64_t max = facets.max_items.value_or(INT64_MAX);
    for (std::int64_t i = 0; i < std::min(prefix_size, max); ++i) {
      const SchemaParts& parts = facets.prefix[static_cast<std::size_t>(i)];
      elements.push_back({.part = build_parts(parts),
                          .min = i < facets.min_items ? 1 : 0,
                          .leave_out = LeaveOut::with_rest});
    }
    ListElement rest{.part = {},
                     .min = std::max<std::int64_t>(facets.min_items - prefix_size, 0),
                     .max = std::nullopt,
                     .leave_out = LeaveOut::with_rest};
    if (facets.max_items) rest.max = std::max<std::int64_t>(max - prefix_size, 0);
    if (rest.max != 0) {
      // An item that is copied is a rule, lest what is in it be copied too.
      const bool is_copied = rest.min > 1 || rest.max.value_or(1) > 1;
      rest.part = is_copied ? build_rule(facets.items) : build_parts(facets.items);
      elements.push_back(rest);
    }
    return json_.array(std::move(elements));
  }

  ExpressionId build_rule(const SchemaParts& parts) {
    const FlatSchema flat = flatten_schema(document_, parts);
    if (flat.is_impossible) return book_.nothing();
    return flat.parts.empty() ? json_.any_value() : rule_of(flat.parts);
  }

  ExpressionId build_object(const Json& schema, const SchemaFacets& facets) {
    const bool counts = facets.min_properties > 0 || facets.max_properties.has_value();
    if (counts && !facets.properties.empty() &&
        options_.unsupported == UnsupportedKeywords::refuse) {
      document_.refuse(ErrorKind::unsupported, schema,
                       "minProperties or maxProperties beside properties or required");
    }
    std::vector<ListElement> members;
    std::vector<std::string> names;
    for (const SchemaProperty& property : facets.properties) {
      members.push_back({.part = json_.member(property.name, build_parts(property.parts)),
                         .min = property.is_required ? 1 : 0});
      names.push_back(property.name);
    }
    if (facets.has_other_properties) members.push_back(build_others(facets, names));
    const bool has_room =
        facets.max_properties.value_or(facets.min_properties) >= facets.min_properties;
    const bool has_members = facets.min_properties == 0 || !members.empty();
    return has_room && has_members ? json_.object(std::move(members)) : book_.nothing();
  }

  ListElement build_others(const SchemaFacets& facets, const std::vector<std::string>& names) {
    ListElement others{.part = {}, .min = 0, .max = std::nullopt};
    if (names.empty()) {
      others.min = facets.min_properties;
      others.max = facets.max_properties;
    }
    const ExpressionId value = build_rule(facets.other_properties);
    others.part = json_.other_member(names, value);
    return others;
  }

  /// Counts how deep schemas are nested.
  class Nesting {
   public:
    Nesting(SchemaBuilder& builder, const Json& schema) : builder_(builder) {
      const std::int64_t limit = builder.options_.limits.depth;
      if (builder.depth_ >= limit) {
        builder.document_.refuse(ErrorKind::exhausted, schema, "nested deeper than {}", limit);
      }
      ++builder_.depth_;
    }
    ~Nesting() { --builder_.depth_; }
    Nesting(const Nesting&) = delete;
    Nesting& operator=(const Nesting&) = delete;

   private:
    SchemaBuilder& builder_;
  };

  SchemaDocument document_;
  const SchemaOptions& options_;
  std::int64_t comparisons_left_;
  RuleBook book_;
  JsonRules json_;
  std::map<SchemaParts, RuleId> rules_;
  std::vector<std::pair<RuleId, SchemaParts>> waiting_;
  std::int64_t depth_ = 0;
};

}  // namespace

Grammar compile_json_schema(const Json& schema, const SchemaOptions& options) {
  return Grammar(std::make_shared<const Automaton>(SchemaBuilder(schema, options).build()));
}

Grammar compile_json_schema_text(std::string_view schema, const SchemaOptions& options) {
  ensure(static_cast<std::int64_t>(schema.size()) <= options.limits.source_bytes,
         ErrorKind::exhausted, "json schema: {} bytes, expected at most {}", schema.size(),
         options.limits.source_bytes);
  const auto depth = static_cast<std::size_t>(options.limits.depth) * 3;
  return compile_json_schema(parse_json(schema, "json schema", {.depth = depth}), options);
}

}  // namespace parhelion::text
