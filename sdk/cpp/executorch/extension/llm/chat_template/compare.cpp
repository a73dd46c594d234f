// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cmath>
#include <functional>

#include "work.h"

namespace executorch {
namespace extension {
namespace llm {
namespace jinja {

using Type = Value::Type;

namespace {

bool same(Work& work, const Value& a, const Value& b) {
  return (a.storage() != nullptr && a.storage() == b.storage() && a.type() == b.type()) || equal(work, a, b);
}

bool same_items(Work& work, const List& a, const List& b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(),
                                            [&work](const Value& x, const Value& y) { return same(work, x, y); });
}

bool same_entries(Work& work, const DictStorage& a, const DictStorage& b) {
  return a.entries.size() == b.entries.size() &&
         std::all_of(a.entries.begin(), a.entries.end(), [&](const Entry& entry) {
           const Value* const found = find(work, b, entry.key);
           return found != nullptr && same(work, *found, entry.value);
         });
}

int sign_of(double a, double b) {
  return a < b ? -1 : a > b ? 1 : 0;
}

}  // namespace

bool equal(Work& work, const Value& a, const Value& b) {
  if (!work.step()) {
    return false;
  }
  if (a.is_number() && b.is_number()) {
    return a.is_integral() && b.is_integral() ? a.as_int() == b.as_int() : a.as_real() == b.as_real();
  }
  if (a.type() != b.type()) {
    return false;
  }
  switch (a.type()) {
    case Type::kUndefined:
    case Type::kNone:
      return true;
    case Type::kString:
      return a.as_text().size() == b.as_text().size() && work.read(a.as_text().size()) && a.as_text() == b.as_text();
    case Type::kList:
    case Type::kTuple:
    case Type::kRange:
      return a.storage() == b.storage() || same_items(work, a.as_list(), b.as_list());
    case Type::kDict:
      return a.storage() == b.storage() || same_entries(work, a.as<DictStorage>(), b.as<DictStorage>());
    case Type::kView:
      return a.storage() == b.storage();
    case Type::kMethod:
      return a.as<MethodStorage>().method == b.as<MethodStorage>().method &&
             same(work, a.as<MethodStorage>().self, b.as<MethodStorage>().self);
    case Type::kGlobal:
      return a.name() == b.name();
    default:
      return a.object() == b.object();
  }
}

bool ordered(Work& work, std::string_view sign, const Value& a, const Value& b) {
  if (!work.step()) {
    return false;
  }
  int order = 0;
  const auto is_sequence = [](const Value& value) { return value.is(Type::kList) || value.is(Type::kTuple); };
  if (a.is_number() && b.is_number()) {
    if (std::isnan(a.as_real()) || std::isnan(b.as_real())) {
      return false;
    }
    order = !a.is_integral() || !b.is_integral() ? sign_of(a.as_real(), b.as_real())
            : a.as_int() < b.as_int()            ? -1
                                                 : (a.as_int() > b.as_int() ? 1 : 0);
  } else if (a.is_string() && b.is_string()) {
    work.read(std::min(a.as_text().size(), b.as_text().size()));
    order = a.as_text().compare(b.as_text());  // bytes of UTF-8 have the order of their characters
  } else if (is_sequence(a) && a.type() == b.type()) {
    const List& left = a.as_list();
    const List& right = b.as_list();
    for (size_t i = 0; i < std::min(left.size(), right.size()); i++) {
      if (!same(work, left[i], right[i])) {
        return ordered(work, sign, left[i], right[i]);
      }
    }
    order = left.size() < right.size() ? -1 : left.size() > right.size() ? 1 : 0;
  } else if (a.is_undefined() || b.is_undefined()) {
    work.fail((a.is_undefined() ? a : b).hint() + " is undefined, and cannot be compared");
    return false;
  } else {
    work.fail(std::string("values of types ") + a.type_name() + " and " + b.type_name() + " have no order");
    return false;
  }
  return sign == "<" ? order < 0 : sign == ">" ? order > 0 : sign == "<=" ? order <= 0 : order >= 0;
}

namespace {

/// A container whose elements may change, or whose equality depends on such elements.
bool is_never_a_key(const Value& value) {
  return value.is(Type::kList) || value.is_dict() ||
         (value.is(Type::kView) && value.type_name() != std::string_view("dict_values"));
}

}  // namespace

bool is_hashable(Work& work, const Value& key) {
  if (key.is(Type::kTuple)) {
    return std::all_of(key.as_list().begin(), key.as_list().end(),
                       [&work](const Value& item) { return work.step() && is_hashable(work, item); });
  }
  return !is_never_a_key(key);
}

uint64_t hash(Work& work, const Value& key) {
  if (!work.step()) {
    return 0;
  }
  if (is_never_a_key(key)) {
    work.fail(std::string("a value of type ") + key.type_name() + " cannot be a key");
    return 0;
  }
  switch (key.type()) {
    case Type::kString:
      return work.read(key.as_text().size()) ? std::hash<std::string_view>()(key.as_text()) : 0;
    case Type::kBool:
    case Type::kInt:
      return std::hash<int64_t>()(key.as_int());
    case Type::kFloat: {
      const double number = key.as_real();  // equal numbers have equal hashes
      const bool is_integral = std::floor(number) == number && std::fabs(number) < 9e18;
      return is_integral ? std::hash<int64_t>()(static_cast<int64_t>(number)) : std::hash<double>()(number);
    }
    case Type::kTuple:
    case Type::kRange: {
      uint64_t all = 7;
      for (const Value& item : key.as_list()) {
        all = all * 1000003 + hash(work, item);
      }
      return all;
    }
    default:
      return static_cast<uint64_t>(key.type());
  }
}

}  // namespace jinja
}  // namespace llm
}  // namespace extension
}  // namespace executorch
