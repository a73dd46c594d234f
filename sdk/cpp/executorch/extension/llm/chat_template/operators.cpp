// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cmath>

#include "characters.h"
#include "format.h"
#include "interpreter.h"
#include "search.h"

namespace executorch {
namespace extension {
namespace llm {
namespace jinja {

using Type = Value::Type;

namespace {

std::string described(const Value& value) {
  return value.is_undefined() ? value.hint() + ", which is undefined,"
                              : std::string("a value of type ") + value.type_name();
}

Value repeated(Work& work, const Value& part, int64_t count) {
  const auto times = static_cast<uint64_t>(std::max<int64_t>(0, count));
  if (part.is_string()) {
    TextBuilder text(work);
    text.repeat(part.as_text(), times);
    return text.value(part.is_markup());
  }
  ListBuilder items(work);
  for (uint64_t i = 0; i < times && !part.as_list().empty() && items.add_all(part.as_list()); i++) {
  }
  return items.value(part.type());
}

Value joined(Work& work, const Value& left, const Value& right) {
  TextBuilder text(work);
  const bool markup = left.is_markup() || right.is_markup();
  for (const Value* const part : {&left, &right}) {
    markup && !part->is_markup() ? write_escaped(text, part->as_text()) : (void)text.add(part->as_text());
  }
  return text.value(markup);
}

Value real_arithmetic(Work& work, std::string_view sign, double a, double b) {
  if (sign == "+" || sign == "-" || sign == "*" || sign == "/") {
    return Value::real(sign == "+" ? a + b : sign == "-" ? a - b : sign == "*" ? a * b : a / b);
  }
  if (sign == "**") {
    const double power = std::pow(a, b);
    if ((a == 0 && b < 0) || (std::isnan(power) && !std::isnan(a) && !std::isnan(b)) ||
        (std::isinf(power) && std::isfinite(a) && std::isfinite(b))) {
      return work.fail(real_text(a) + " ** " + real_text(b) + " is not a number");
    }
    return Value::real(power);
  }
  // Like in Python, the remainder has the sign of the divisor.
  double rest = std::fmod(a, b);
  double quotient = (a - rest) / b;
  if (rest == 0) {
    rest = std::copysign(0.0, b);
  } else if ((b < 0) != (rest < 0)) {
    rest += b;
    quotient -= 1;
  }
  if (sign == "%") {
    return Value::real(rest);
  }
  const double whole = std::floor(quotient);
  return Value::real(quotient == 0 ? std::copysign(0.0, a / b) : quotient - whole > 0.5 ? whole + 1 : whole);
}

/// Returns false if the result does not fit into 64 bits.
bool power(int64_t base, int64_t exponent, int64_t& result) {
  result = 1;
  if (base == 0 || base == 1 || base == -1) {
    result = exponent == 0 || base == 1 ? 1 : base == 0 ? 0 : exponent % 2 == 0 ? 1 : -1;
    return true;
  }
  for (int64_t i = 0; i < exponent; i++) {
    if (__builtin_mul_overflow(result, base, &result)) {
      return false;
    }
  }
  return true;
}

Value arithmetic(Work& work, std::string_view sign, const Value& left, const Value& right) {
  const bool divides = sign == "/" || sign == "//" || sign == "%";
  if (divides && right.as_real() == 0) {
    return work.fail("division by zero");
  }
  const bool is_integral =
      left.is_integral() && right.is_integral() && sign != "/" && !(sign == "**" && right.as_int() < 0);
  if (!is_integral) {
    return real_arithmetic(work, sign, left.as_real(), right.as_real());
  }
  const int64_t a = left.as_int();
  const int64_t b = right.as_int();
  int64_t result = 0;
  bool fits = true;
  if (sign == "+") {
    fits = !__builtin_add_overflow(a, b, &result);
  } else if (sign == "-") {
    fits = !__builtin_sub_overflow(a, b, &result);
  } else if (sign == "*") {
    fits = !__builtin_mul_overflow(a, b, &result);
  } else if (sign == "**") {
    fits = power(a, b, result);
  } else if (b == -1) {
    fits = sign == "%" || !__builtin_sub_overflow(int64_t{0}, a, &result);
  } else {  // towards minus infinity
    const int64_t rest = a % b;
    const bool adjust = rest != 0 && (rest < 0) != (b < 0);
    result = sign == "%" ? (adjust ? rest + b : rest) : a / b - (adjust ? 1 : 0);
  }
  return fits ? Value::integer(result)
              : work.fail("the result of '" + std::string(sign) + "' does not fit into 64 bits");
}

}  // namespace

Value Interpreter::binary(std::string_view sign, const Value& left, const Value& right) {
  if (failed()) {
    return {};
  }
  if (sign == "+" && left.is_string() && right.is_string()) {
    return joined(*this, left, right);
  }
  const auto is_sequence = [](const Value& value) { return value.is(Type::kList) || value.is(Type::kTuple); };
  if (sign == "+" && is_sequence(left) && left.type() == right.type()) {
    ListBuilder items(*this);
    items.add_all(left.as_list()) && items.add_all(right.as_list());
    return items.value(left.type());
  }
  if (sign == "*" && right.is_integral() && (left.is_string() || is_sequence(left))) {
    return repeated(*this, left, right.as_int());
  }
  if (sign == "*" && left.is_integral() && (right.is_string() || is_sequence(right))) {
    return repeated(*this, right, left.as_int());
  }
  if (sign == "%" && left.is_string()) {
    return format_percent(*this, left, right);
  }
  if (!left.is_number() || !right.is_number()) {
    return fail("'" + std::string(sign) + "' cannot be applied to " + described(left) + " and " + described(right));
  }
  return arithmetic(*this, sign, left, right);
}

bool Interpreter::contains(const Value& container, const Value& item) {
  if (failed()) {
    return false;
  }
  if (container.is_string()) {
    if (!item.is_string()) {
      fail(std::string("'in' a string needs a string, found a value of type ") + item.type_name());
      return false;
    }
    return find_text(*this, container.as_text(), item.as_text(), 0) != std::string::npos;
  }
  if (container.is_dict()) {
    return find(*this, container.as<DictStorage>(), item) != nullptr;
  }
  const Value all = elements(container);
  return !failed() && std::any_of(all.as_list().begin(), all.as_list().end(), [&](const Value& other) {
    return (other.storage() != nullptr && other.storage() == item.storage()) || equal(*this, other, item);
  });
}

namespace {

/// The bounds of a slice. Like in Python, bounds beyond the sequence are cut to its ends.
struct Bounds {
  int64_t start;
  int64_t stop;
  int64_t step;
};

bool find_bounds(Interpreter& in, int64_t count, const Value& start, const Value& stop, const Value& step,
                 Bounds& made) {
  made.step = 1;
  if ((!step.is_none() && !in.integer(step, "the step of a slice", made.step))) {
    return false;
  }
  if (made.step == 0) {
    in.fail("the step of a slice is 0");
    return false;
  }
  made.step = std::clamp<int64_t>(made.step, -INT64_MAX, INT64_MAX);
  const bool forward = made.step > 0;
  const auto place = [&](const Value& bound, int64_t otherwise, int64_t& at) {
    at = otherwise;
    if (bound.is_none()) {
      return true;
    }
    if (!in.integer(bound, "a bound of a slice", at)) {
      return false;
    }
    at = at < 0 ? std::max<int64_t>(at, -count - 1) + count : at;
    at = std::clamp<int64_t>(at, forward ? 0 : -1, forward ? count : count - 1);
    return true;
  };
  return place(start, forward ? 0 : count - 1, made.start) && place(stop, forward ? count : -1, made.stop);
}

template <typename Visit>
void each_place(const Bounds& bounds, int64_t count, Visit visit) {
  for (int64_t i = bounds.start; bounds.step > 0 ? i < bounds.stop : i > bounds.stop; i += bounds.step) {
    if (!visit(static_cast<size_t>(i)) || bounds.step > count || bounds.step < -count) {
      break;
    }
  }
}

Value text_slice(Interpreter& in, const Value& text, const Bounds& bounds) {
  const std::string_view all = text.as_text();
  const auto count = static_cast<int64_t>(text.length());
  TextBuilder made(in);
  in.read(all.size());
  if (bounds.step == 1 || static_cast<size_t>(count) == all.size()) {
    const bool ascii = static_cast<size_t>(count) == all.size();
    const auto offset = [&](int64_t at) {
      return ascii ? static_cast<size_t>(at) : offset_of(all, static_cast<size_t>(at));
    };
    if (bounds.step == 1) {
      const size_t begin = offset(std::min(bounds.start, bounds.stop));
      made.add(bounds.start < bounds.stop ? all.substr(begin, offset(bounds.stop) - begin) : std::string_view());
    } else {
      each_place(bounds, count, [&](size_t i) { return made.add(all[i]); });
    }
    return made.value(text.is_markup());
  }
  const Value characters = in.elements(text);
  if (!in.failed()) {
    each_place(bounds, count, [&](size_t i) { return made.add(characters.as_list()[i].as_text()); });
  }
  return made.value(text.is_markup());
}

}  // namespace

Value Interpreter::slice(const Value& object, const Value& start, const Value& stop, const Value& step) {
  const bool has_slices = object.has_list() && !object.is(Type::kView);
  if (!object.is_string() && !has_slices) {
    return fail(object.is_undefined() ? object.hint() + " is undefined, and has no elements"
                                      : std::string("a value of type ") + object.type_name() + " has no slices");
  }
  const auto count = static_cast<int64_t>(object.is_string() ? object.length() : object.as_list().size());
  Bounds bounds{};
  if (!find_bounds(*this, count, start, stop, step, bounds)) {
    return {};
  }
  if (object.is_string()) {
    return text_slice(*this, object, bounds);
  }
  ListBuilder kept(*this);
  each_place(bounds, count, [&](size_t i) { return kept.add(object.as_list()[i]); });
  if (!object.is(Type::kRange)) {
    return kept.value(object.type());
  }
  const auto& range = object.as<RangeStorage>();
  auto made = std::make_shared<RangeStorage>();
  const auto number_at = [&range](int64_t place, int64_t& number) {
    int64_t distance = 0;
    return !__builtin_mul_overflow(place, range.step, &distance) &&
           !__builtin_add_overflow(range.start, distance, &number);
  };
  if (!number_at(bounds.start, made->start) || !number_at(bounds.stop, made->stop) ||
      __builtin_mul_overflow(range.step, bounds.step, &made->step)) {
    return fail("a bound of this slice of a range does not fit into 64 bits");
  }
  return kept.into(Type::kRange, std::move(made));
}

}  // namespace jinja
}  // namespace llm
}  // namespace extension
}  // namespace executorch
