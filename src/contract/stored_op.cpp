#include "contract/stored_op.h"

#include "base/error.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>

namespace parhelion::contract {
namespace {

using StoredFieldValue = decltype(StoredField::value);

StoredFieldValue stored_value(bool value) { return value; }
StoredFieldValue stored_value(std::int64_t value) { return value; }
StoredFieldValue stored_value(double value) { return value; }
StoredFieldValue stored_value(const ir::Shape& value) { return value; }
template <class Enum>
requires std::is_enum_v<Enum> StoredFieldValue stored_value(Enum value) {
  return std::string(name(value));
}

/// The enumerator of that name, or none. Enumerators count from 0 without gaps.
template <class Enum>
std::optional<Enum> enumerator_named(std::string_view text) {
  for (std::underlying_type_t<Enum> i = 0; name(static_cast<Enum>(i)) != "unknown"; ++i)
    if (name(static_cast<Enum>(i)) == text) return static_cast<Enum>(i);
  return std::nullopt;
}
template <>
std::optional<ir::Kind> enumerator_named<ir::Kind>(std::string_view text) {
  return ir::kind_from_name(text);
}

/// What the file gives for a member of that type.
template <class Member>
const Member& stored_as(const std::string& where, const StoredField& field) {
  const Member* value = std::get_if<Member>(&field.value);
  ensure(value != nullptr, ErrorKind::corrupt, "{}: field '{}' is of another type", where,
         field.name);
  return *value;
}

template <class Member>
void restore_member(Member& member, const std::string& where, const StoredField& field) {
  if constexpr (std::is_enum_v<Member>) {
    const std::string& text = stored_as<std::string>(where, field);
    const std::optional<Member> value = enumerator_named<Member>(text);
    ensure(value.has_value(), ErrorKind::unsupported,
           "OP_UNSUPPORTED: {}: field '{}' is '{}', which this build does not know", where,
           field.name, text);
    member = *value;
  } else {
    member = stored_as<Member>(where, field);
  }
  if constexpr (std::is_same_v<Member, double>)
    ensure(std::isfinite(member), ErrorKind::corrupt, "{}: field '{}' is {}, expected a number",
           where, field.name, member);
}

const StoredField& only_field(const StoredOp& stored, const std::string& where,
                              std::string_view name) {
  const auto at = std::ranges::find(stored.fields, name, &StoredField::name);
  ensure(at != stored.fields.end(), ErrorKind::corrupt, "{}: field '{}' is missing", where, name);
  ensure(std::ranges::count(stored.fields, name, &StoredField::name) == 1, ErrorKind::corrupt,
         "{}: field '{}' is there twice", where, name);
  return *at;
}

template <class OpStruct>
ir::Op restore_as(const StoredOp& stored) {
  const std::string where = fmt::format("op {}", traits(OpStruct{}).name);
  OpStruct op;
  std::apply(
      [&](const auto&... each) {
        (restore_member(op.*(each.member), where, only_field(stored, where, each.name)), ...);
        const auto known = [&](const StoredField& field) {
          return ((field.name == each.name) || ...);
        };
        const auto other = std::ranges::find_if_not(stored.fields, known);
        if (other != stored.fields.end())
          fail(ErrorKind::unsupported, "OP_UNSUPPORTED: {}: field '{}' is not known to this build",
               where, other->name);
      },
      fields(static_cast<const OpStruct*>(nullptr)));
  return op;
}

/// One row a family of this build.
struct FamilyRow {
  std::uint32_t family;
  std::uint32_t version;
  ir::Op (*restore)(const StoredOp& stored);
};

template <std::size_t... Index>
std::vector<FamilyRow> family_rows(std::index_sequence<Index...>) {
  return {FamilyRow{traits(std::variant_alternative_t<Index, ir::Op>{}).family,
                    traits(std::variant_alternative_t<Index, ir::Op>{}).version,
                    &restore_as<std::variant_alternative_t<Index, ir::Op>>}...};
}

FamilyRow row_of(const StoredOp& stored) {
  const std::vector<FamilyRow> rows =
      family_rows(std::make_index_sequence<std::variant_size_v<ir::Op>>());
  const auto row = std::ranges::find(rows, stored.family, &FamilyRow::family);
  ensure(row != rows.end(), ErrorKind::unsupported,
         "OP_UNSUPPORTED: op family {} is not known to this build", stored.family);
  return *row;
}

}  // namespace

std::span<const Upgrade> family_upgrades() {
  return {};  // every family is in its first version
}

StoredOp store(const ir::Op& op) {
  const ir::Traits facts = ir::traits(op);
  StoredOp stored{.family = facts.family, .version = facts.version};
  std::visit(
      [&](const auto& each) {
        std::apply(
            [&](const auto&... field) {
              (stored.fields.push_back(
                   {std::string(field.name), stored_value(each.*(field.member))}),
               ...);
            },
            fields(&each));
      },
      op);
  return stored;
}

ir::Op restore(StoredOp stored, std::span<const Upgrade> upgrades) {
  const FamilyRow row = row_of(stored);
  while (stored.version != row.version) {
    const auto upgrade = std::ranges::find_if(upgrades, [&](const Upgrade& each) {
      return each.family == stored.family && each.from == stored.version;
    });
    ensure(upgrade != upgrades.end(), ErrorKind::unsupported,
           "OP_UNSUPPORTED: op family {} is of version {}, this build knows {}", stored.family,
           stored.version, row.version);
    const std::uint32_t next = stored.version + 1;
    stored = upgrade->next(std::move(stored));
    stored.version = next;
  }
  return row.restore(stored);
}

}  // namespace parhelion::contract
