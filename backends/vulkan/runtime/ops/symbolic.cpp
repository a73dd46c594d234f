// SPDX-License-Identifier: BSD-3-Clause
// Arithmetic of symbolic integers, which the processor does when shapes change.
#include <cinttypes>

#include "ops/tables.h"
#include "ops/views.h"

namespace executorch {
namespace backends {
namespace vulkan {

namespace {

enum class Symbolic { Add, Sub, Mul, FloorDiv, Mod, Lt, Gt, Ge, Le, Eq, Ne, Max, Min, Pow };

template <Symbolic kOp>
void compute(OpContext& c) {
  const int64_t a = c.long_integer(0);
  const int64_t b = c.long_integer(1);
  int64_t result = 0;
  bool overflows = false;
  switch (kOp) {
    case Symbolic::Add:
      overflows = __builtin_add_overflow(a, b, &result);
      break;
    case Symbolic::Sub:
      overflows = __builtin_sub_overflow(a, b, &result);
      break;
    case Symbolic::Mul:
      overflows = __builtin_mul_overflow(a, b, &result);
      break;
    case Symbolic::FloorDiv:
    case Symbolic::Mod:
      if (c.check(b != 0 && !(b == -1 && a == INT64_MIN), "division of %" PRId64 " by %" PRId64, a, b)) {
        // The quotient is rounded down.
        const bool is_above = a % b != 0 && (a % b < 0) != (b < 0);
        result = kOp == Symbolic::Mod ? a % b + (is_above ? b : 0) : a / b - (is_above ? 1 : 0);
      }
      break;
    case Symbolic::Lt:
      result = a < b;
      break;
    case Symbolic::Gt:
      result = a > b;
      break;
    case Symbolic::Ge:
      result = a >= b;
      break;
    case Symbolic::Le:
      result = a <= b;
      break;
    case Symbolic::Eq:
      result = a == b;
      break;
    case Symbolic::Ne:
      result = a != b;
      break;
    case Symbolic::Max:
      result = a > b ? a : b;
      break;
    case Symbolic::Min:
      result = a < b ? a : b;
      break;
    case Symbolic::Pow:
      result = 1;
      c.check(b >= 0 && b < 64, "the power %" PRId64, b);
      for (int64_t i = 0; !c.failed() && i < b; ++i) {
        overflows = overflows || __builtin_mul_overflow(result, a, &result);
      }
      break;
  }
  c.check(!overflows, "%" PRId64 " and %" PRId64 " overflow 64 bits", a, b);
  c.set_integer(c.num_args() - 1, result);
}

void sym_size(OpContext& c) {
  const Tensor& tensor = c.tensor(0);
  c.set_integer(c.num_args() - 1, tensor.size(c.dim(1, tensor.rank())));
}

void sym_numel(OpContext& c) {
  c.set_integer(c.num_args() - 1, c.tensor(0).count());
}

void select_as_symint(OpContext& c) {
  const Tensor& tensor = c.tensor(0);
  const int dim = c.dim(1, tensor.rank());
  int64_t index = c.integer(2);
  const int64_t length = tensor.size(dim);
  index = index < 0 ? index + length : index;
  c.check(index >= 0 && index < length, "index %" PRId64 " of %" PRId64, index, length);
  // The other dimensions have one element.
  c.check(tensor.count() == length, "a tensor of %" PRId64 " elements, expected %" PRId64, tensor.count(), length);
  c.set_integer(c.num_args() - 1, c.host_element(0, index));
}

void local_scalar(OpContext& c) {
  c.set_integer(c.num_args() - 1, c.host_element(0, 0));
}

void nothing(OpContext&) {}

constexpr Operator kOperators[] = {
    {"add", compute<Symbolic::Add>},
    {"sub", compute<Symbolic::Sub>},
    {"mul", compute<Symbolic::Mul>},
    {"floordiv", compute<Symbolic::FloorDiv>},
    {"mod", compute<Symbolic::Mod>},
    {"lt", compute<Symbolic::Lt>},
    {"gt", compute<Symbolic::Gt>},
    {"ge", compute<Symbolic::Ge>},
    {"le", compute<Symbolic::Le>},
    {"eq", compute<Symbolic::Eq>},
    {"ne", compute<Symbolic::Ne>},
    {"sym_max", compute<Symbolic::Max>},
    {"sym_min", compute<Symbolic::Min>},
    {"pow", compute<Symbolic::Pow>},
    {"sym_size.int", sym_size},
    {"aten.sym_size.int", sym_size},
    {"sym_numel.default", sym_numel},
    {"aten.sym_numel.default", sym_numel},
    {"et_vk.select_as_symint.default", select_as_symint},
    {"_local_scalar_dense.default", local_scalar},
    {"aten._local_scalar_dense.default", local_scalar},
    {"_assert_scalar.default", nothing},
    {"aten._assert_scalar.default", nothing},
    {"sym_constrain_range_for_size.default", nothing},
    {"aten.sym_constrain_range_for_size.default", nothing},
    {"aten.sym_constrain_range.default", nothing},
};

}  // namespace

Operators symbolic_operators() {
  return {kOperators, sizeof(kOperators) / sizeof(kOperators[0])};
}

}  // namespace vulkan
}  // namespace backends
}  // namespace executorch
