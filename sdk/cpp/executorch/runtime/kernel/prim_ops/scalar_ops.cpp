// SPDX-License-Identifier: BSD-3-Clause
#include <cmath>
#include <cstdint>
#include <limits>

#include <executorch/runtime/core/evalue.h>
#include <executorch/runtime/core/result.h>
#include <executorch/runtime/kernel/kernel_runtime_context.h>
#include <executorch/runtime/kernel/prim_ops/prim_ops.h>

namespace executorch {
namespace runtime {
namespace prim_ops {

namespace {

/// A Python number: an int of 64 bits or a float. A bool is an int.
struct Number {
  bool is_int;
  int64_t integer;
  double real;  ///< the value as a float, also for an int
};

Number make_int(int64_t value) {
  return {true, value, static_cast<double>(value)};
}

Number make_real(double value) {
  return {false, 0, value};
}

/// 2^63, the first float above all ints: 2^63 - 1 is not a double.
constexpr double kBound = 9223372036854775808.0;

/// The result of an operation.
using Outcome = Result<EValue>;

Outcome out_of_range(const char* name) {
  ET_LOG(Error, "%s: the result is not a 64-bit integer", name);
  return Error::InvalidArgument;
}

Outcome divided_by_zero(const char* name) {
  ET_LOG(Error, "%s: division by zero", name);
  return Error::InvalidArgument;
}

Outcome to_integer(double value, const char* name) {
  if (!(value >= -kBound && value < kBound)) {
    return out_of_range(name);
  }
  return EValue(static_cast<int64_t>(value));
}

Outcome add(const Number& a, const Number& b) {
  int64_t result = 0;
  if (!a.is_int || !b.is_int) {
    return EValue(a.real + b.real);
  }
  if (__builtin_add_overflow(a.integer, b.integer, &result)) {
    return out_of_range("add");
  }
  return EValue(result);
}

Outcome sub(const Number& a, const Number& b) {
  int64_t result = 0;
  if (!a.is_int || !b.is_int) {
    return EValue(a.real - b.real);
  }
  if (__builtin_sub_overflow(a.integer, b.integer, &result)) {
    return out_of_range("sub");
  }
  return EValue(result);
}

Outcome mul(const Number& a, const Number& b) {
  int64_t result = 0;
  if (!a.is_int || !b.is_int) {
    return EValue(a.real * b.real);
  }
  if (__builtin_mul_overflow(a.integer, b.integer, &result)) {
    return out_of_range("mul");
  }
  return EValue(result);
}

/// Python's divmod of floats: a % b has the sign of b, and a // b is exact where a / b would round up to an integer.
void real_divmod(double a, double b, double* quotient, double* remainder) {
  double mod = std::fmod(a, b);
  double div = (a - mod) / b;
  if (mod == 0) {
    mod = std::copysign(0.0, b);
  } else if ((b < 0) != (mod < 0)) {
    mod += b;
    div -= 1;
  }
  const double down = std::floor(div);
  *quotient = div == 0 ? std::copysign(0.0, a / b) : div - down > 0.5 ? down + 1 : down;
  *remainder = mod;
}

Outcome floordiv(const Number& a, const Number& b) {
  if (b.real == 0) {
    return divided_by_zero("floordiv");
  }
  if (!a.is_int || !b.is_int) {
    double quotient, remainder;
    real_divmod(a.real, b.real, &quotient, &remainder);
    return EValue(quotient);
  }
  if (a.integer == std::numeric_limits<int64_t>::min() && b.integer == -1) {
    return out_of_range("floordiv");
  }
  const int64_t quotient = a.integer / b.integer;
  const bool round_down = a.integer % b.integer != 0 && (a.integer < 0) != (b.integer < 0);
  return EValue(round_down ? quotient - 1 : quotient);
}

Outcome mod(const Number& a, const Number& b) {
  if (b.real == 0) {
    return divided_by_zero("mod");
  }
  if (!a.is_int || !b.is_int) {
    double quotient, remainder;
    real_divmod(a.real, b.real, &quotient, &remainder);
    return EValue(remainder);
  }
  if (b.integer == -1) {
    // The processor's division traps on the smallest integer.
    return EValue(int64_t{0});
  }
  const int64_t result = a.integer % b.integer;
  return EValue(result != 0 && (result < 0) != (b.integer < 0) ? result + b.integer : result);
}

Outcome truediv(const Number& a, const Number& b) {
  if (b.real == 0) {
    return divided_by_zero("truediv");
  }
  return EValue(a.real / b.real);
}

/// A float without its fraction; the nearest limit outside of the range.
int64_t whole(double value) {
  if (!(value < kBound)) {
    return INT64_MAX;
  }
  return value > -kBound ? static_cast<int64_t>(value) : INT64_MIN;
}

/// -1, 0 or 1 if `a` is less than, equal to or greater than `b`, and 2 if one of them is NaN. Exact, as in Python:
/// 2^53 + 1 is greater than the float 2^53, although it becomes that float.
int order(const Number& a, const Number& b) {
  if (!(a.real == b.real)) {
    return a.real < b.real ? -1 : a.real > b.real ? 1 : 2;
  }
  const int64_t x = a.is_int ? a.integer : whole(a.real);
  const int64_t y = b.is_int ? b.integer : whole(b.real);
  if (x != y) {
    return x > y ? 1 : -1;
  }
  return a.real < kBound ? 0
                         : static_cast<int>(b.is_int) - static_cast<int>(a.is_int);  // floats from 2^63 on exceed ints
}

Outcome eq(const Number& a, const Number& b) {
  return EValue(order(a, b) == 0);
}

Outcome gt(const Number& a, const Number& b) {
  return EValue(order(a, b) == 1);
}

Outcome lt(const Number& a, const Number& b) {
  return gt(b, a);
}

Outcome ge(const Number& a, const Number& b) {
  const int found = order(a, b);
  return EValue(found == 0 || found == 1);
}

Outcome le(const Number& a, const Number& b) {
  return ge(b, a);
}

Outcome sym_max(const Number& a, const Number& b) {
  if (a.is_int && b.is_int) {
    return EValue(a.integer > b.integer ? a.integer : b.integer);
  }
  return EValue(b.real > a.real ? b.real : a.real);
}

Outcome sym_min(const Number& a, const Number& b) {
  if (a.is_int && b.is_int) {
    return EValue(a.integer < b.integer ? a.integer : b.integer);
  }
  return EValue(b.real < a.real ? b.real : a.real);
}

Outcome neg(const Number& a) {
  if (a.is_int) {
    return sub(make_int(0), a);
  }
  return EValue(-a.real);
}

Outcome ceil(const Number& a) {
  if (a.is_int) {
    return EValue(a.integer);
  }
  return to_integer(std::ceil(a.real), "ceil");
}

/// Rounds ties to even, like Python's round().
Outcome round(const Number& a) {
  if (a.is_int) {
    return EValue(a.integer);
  }
  const double down = std::floor(a.real);
  const double rest = a.real - down;
  const bool up = rest > 0.5 || (rest == 0.5 && std::fmod(down, 2.0) != 0);
  return to_integer(up ? down + 1 : down, "round");
}

Outcome trunc(const Number& a) {
  if (a.is_int) {
    return EValue(a.integer);
  }
  return to_integer(std::trunc(a.real), "trunc");
}

Outcome sym_float(const Number& a) {
  return EValue(a.real);
}

Outcome sym_not(const Number& a) {
  return EValue(a.real == 0);
}

bool read_number(const EValue& value, Number* number) {
  if (value.isInt()) {
    *number = make_int(value.toInt());
  } else if (value.isDouble()) {
    *number = make_real(value.toDouble());
  } else if (value.isBool()) {
    *number = make_int(value.toBool() ? 1 : 0);
  } else {
    return false;
  }
  return true;
}

bool check_args(KernelRuntimeContext& context, Span<EValue*> args, size_t expected) {
  if (args.size() != expected) {
    ET_LOG(Error, "A scalar operator was given %zu arguments, expected %zu", args.size(), expected);
    context.fail(Error::InvalidProgram);
    return false;
  }
  for (size_t i = 0; i < expected; ++i) {
    // The last argument is the result, which has no value the first time.
    const bool is_result = i + 1 == expected;
    if (!args[i]->isScalar() && !(is_result && args[i]->isNone())) {
      ET_LOG(Error, "Argument %zu of a scalar operator is of type %s; Int, Double or Bool is expected", i,
             tag_to_string(args[i]->tag));
      context.fail(Error::InvalidProgram);
      return false;
    }
  }
  return true;
}

void finish(KernelRuntimeContext& context, const Outcome& outcome, EValue* out) {
  if (!outcome.ok()) {
    context.fail(outcome.error());
    return;
  }
  *out = *outcome;
}

template <Outcome (*operation)(const Number&, const Number&)>
void binary(KernelRuntimeContext& context, Span<EValue*> args) {
  if (args.size() == 3 && args[0]->isInt() && args[1]->isInt() && args[2]->isInt()) {
    // Arithmetic on sizes, which most programs have.
    return finish(context, operation(make_int(args[0]->toInt()), make_int(args[1]->toInt())), args[2]);
  }
  Number a, b;
  if (check_args(context, args, 3) && read_number(*args[0], &a) && read_number(*args[1], &b)) {
    finish(context, operation(a, b), args[2]);
  }
}

template <Outcome (*operation)(const Number&)>
void unary(KernelRuntimeContext& context, Span<EValue*> args) {
  Number a;
  if (check_args(context, args, 2) && read_number(*args[0], &a)) {
    finish(context, operation(a), args[1]);
  }
}

/// condition ? a : b. The result has the type of the selected value.
void sym_ite(KernelRuntimeContext& context, Span<EValue*> args) {
  Number condition;
  if (check_args(context, args, 4) && read_number(*args[0], &condition)) {
    *args[3] = condition.real != 0 ? *args[1] : *args[2];
  }
}

constexpr Kernel kKernels[] = {
    Kernel("executorch_prim::add.Scalar", binary<add>),
    Kernel("executorch_prim::sub.Scalar", binary<sub>),
    Kernel("executorch_prim::mul.Scalar", binary<mul>),
    Kernel("executorch_prim::floordiv.Scalar", binary<floordiv>),
    Kernel("executorch_prim::floordiv.int", binary<floordiv>),
    Kernel("executorch_prim::truediv.Scalar", binary<truediv>),
    Kernel("executorch_prim::mod.Scalar", binary<mod>),
    Kernel("executorch_prim::mod.int", binary<mod>),
    Kernel("executorch_prim::eq.Scalar", binary<eq>),
    Kernel("executorch_prim::gt.Scalar", binary<gt>),
    Kernel("executorch_prim::lt.Scalar", binary<lt>),
    Kernel("executorch_prim::ge.Scalar", binary<ge>),
    Kernel("executorch_prim::le.Scalar", binary<le>),
    Kernel("executorch_prim::sym_max.Scalar", binary<sym_max>),
    Kernel("executorch_prim::sym_min.Scalar", binary<sym_min>),
    Kernel("executorch_prim::neg.Scalar", unary<neg>),
    Kernel("executorch_prim::ceil.Scalar", unary<ceil>),
    Kernel("executorch_prim::round.Scalar", unary<round>),
    Kernel("executorch_prim::trunc.Scalar", unary<trunc>),
    Kernel("executorch_prim::sym_int.Scalar", unary<trunc>),
    Kernel("executorch_prim::sym_float.Scalar", unary<sym_float>),
    Kernel("executorch_prim::sym_not.Scalar", unary<sym_not>),
    Kernel("executorch_prim::sym_ite.Scalar", sym_ite),
};

}  // namespace

Span<const Kernel> scalar_kernels() {
  return Span<const Kernel>(kKernels);
}

}  // namespace prim_ops
}  // namespace runtime
}  // namespace executorch
