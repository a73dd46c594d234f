// SPDX-License-Identifier: BSD-3-Clause
#include "kernels/portable/cpu/pattern/elementwise.h"

#include <algorithm>
#include <cstring>

#include "kernels/portable/cpu/pattern/block_reader.h"
#include "kernels/portable/cpu/pattern/broadcast_loops.h"

namespace torch::executor::native {
namespace {

using executorch::runtime::canCast;
using executorch::runtime::isFloatingType;
using executorch::runtime::isIntegralType;
using executorch::runtime::promoteTypes;
using internal::kMaxOperands;
using internal::TypedOperand;

// bool < integer < floating point < complex
int category(ScalarType dtype) {
  return dtype == ScalarType::Undefined              ? -1
         : executorch::runtime::isComplexType(dtype) ? 3
         : isFloatingType(dtype)                     ? 2
         : dtype == ScalarType::Bool                 ? 0
                                                     : 1;
}

ScalarType scalar_dtype(const Scalar& scalar) {
  return scalar.isBoolean()                         ? ScalarType::Bool
         : scalar.isIntegral(/*includeBool=*/false) ? ScalarType::Long
                                                    : ScalarType::Float;
}

ET_NOINLINE ScalarType promote(ScalarType a, ScalarType b) {
  return a == ScalarType::Undefined ? b : b == ScalarType::Undefined || a == b ? a : promoteTypes(a, b);
}

// The dtype of lower priority counts only if it is of a higher category.
ScalarType combine(ScalarType high, ScalarType low) {
  return category(low) > category(high) ? promote(high, low) : high;
}

// Combines the dtypes of the operands for result_type().
struct Promoted {
  ScalarType dim = ScalarType::Undefined;
  ScalarType zero_dim = ScalarType::Undefined;
  ScalarType number = ScalarType::Undefined;

  void add(const Operand& operand) {
    if (operand.tensor() == nullptr) {
      number = promote(number, scalar_dtype(operand.scalar()));
    } else if (operand.tensor()->dim() == 0) {
      zero_dim = promote(zero_dim, operand.tensor()->scalar_type());
    } else {
      dim = promote(dim, operand.tensor()->scalar_type());
    }
  }

  ScalarType result() const { return combine(dim, combine(zero_dim, number)); }
};

// Makes every block the number, converted to `dtype` if that is an integer: -1 becomes 255 for uint8.
void start_number(BlockReader& reader, const TypedOperand& number, ScalarType dtype, uint64_t* element) {
  const Scalar& scalar = number.operand.scalar();
  if (!kSelectsIntegers || number.type != ComputeType::Int || !isIntegralType(dtype, /*includeBool=*/false)) {
    store_scalar(scalar, number.type, element);
    reader.start_repeating(element, number.type);
  } else {
    store_scalar_as(scalar, dtype, element);
    reader.start(element, dtype, number.type, /*stride=*/0);
  }
}

// Whether `to` holds every value of `from`.
bool holds_all(ScalarType to, ScalarType from) {
  return from == to || from == ScalarType::Bool ||
         (category(from) == category(to) && executorch::runtime::promoteTypes(from, to) == to);
}

// Whether operands must be converted to `dtype` before they are read as `type`. For other dtypes the conversion would
// change nothing.
bool converts_operands(ScalarType dtype, ComputeType type) {
  return dtype != ScalarType::Bool && is_supported_dtype(dtype) && arithmetic_type(dtype) == type;
}

// Whether the operands need neither promotion nor broadcasting.
bool are_alike(const std::initializer_list<Operand>& operands) {
  const Tensor* first = operands.begin()->tensor();
  for (const Operand& operand : operands) {
    const Tensor* tensor = operand.tensor();
    if (first == nullptr || tensor == nullptr || tensor->scalar_type() != first->scalar_type() ||
        !tensor->sizes().equals(first->sizes())) {
      return false;
    }
  }
  return true;
}

bool resize(KernelRuntimeContext& ctx, const char* op, ArrayRef<SizesType> sizes, Tensor& out) {
  ET_KERNEL_CHECK_MSG(ctx, resize_tensor(out, sizes) == Error::Ok, InvalidArgument, false,
                      "%s: the output cannot be resized to the broadcast shape of the inputs", op);
  return true;
}

// Finds the compute type for the promoted dtype of the operands.
bool plan_result(KernelRuntimeContext& ctx, const char* op, ScalarType dtype, Promotion promotion, const Tensor& out,
                 ComputeType* type) {
  ET_KERNEL_CHECK_MSG(ctx, is_supported_dtype(dtype), InvalidArgument, false,
                      "%s: the dtypes of the inputs have no common dtype; convert them before", op);
  if (promotion == Promotion::IntToFloat && isIntegralType(dtype, /*includeBool=*/true)) {
    dtype = ScalarType::Float;
  }
  const ScalarType result = promotion == Promotion::ToBool ? ScalarType::Bool : dtype;
  ET_KERNEL_CHECK_MSG(ctx, is_supported_dtype(out.scalar_type()) && canCast(result, out.scalar_type()), InvalidArgument,
                      false, "%s: the result is %s, which cannot be stored in an output of dtype %s", op,
                      toString(result), toString(out.scalar_type()));
  *type = arithmetic_type(dtype);
  return true;
}

}  // namespace

bool is_same_layout(const Tensor& a, const Tensor& b) {
  const size_t dims = static_cast<size_t>(a.dim());
  return b.dim() == a.dim() && std::equal(a.sizes().begin(), a.sizes().end(), b.sizes().begin()) &&
         (dims < 2 || std::equal(a.dim_order().begin(), a.dim_order().end(), b.dim_order().begin()));
}

ScalarType result_type(std::initializer_list<Operand> operands) {
  Promoted promoted;
  for (const Operand& operand : operands) {
    promoted.add(operand);
  }
  return promoted.result();
}

bool resize_to_broadcast(KernelRuntimeContext& ctx, const char* op, std::initializer_list<Operand> operands,
                         Tensor& out) {
  SizesType sizes[kTensorDimensionLimit];
  size_t dims = 0;
  for (const Operand& operand : operands) {
    if (operand.tensor() != nullptr) {
      dims = std::max(dims, static_cast<size_t>(operand.tensor()->dim()));
    }
  }
  ET_KERNEL_CHECK_MSG(ctx, dims <= kTensorDimensionLimit, InvalidArgument, false,
                      "%s: a tensor has %zu dimensions; at most %zu are supported", op, dims, kTensorDimensionLimit);
  std::fill(sizes, sizes + dims, 1);
  for (const Operand& operand : operands) {
    if (operand.tensor() == nullptr) {
      continue;
    }
    const auto shape = operand.tensor()->sizes();
    const size_t first = dims - shape.size();
    for (size_t d = 0; d < shape.size(); ++d) {
      SizesType& size = sizes[first + d];
      ET_KERNEL_CHECK_MSG(ctx, shape[d] == size || shape[d] == 1 || size == 1, InvalidArgument, false,
                          "%s: the shapes of the inputs do not broadcast: sizes %zd and %zd in dimension %zu of %zu; "
                          "equal sizes, or one of them 1, were expected",
                          op, static_cast<ssize_t>(size), static_cast<ssize_t>(shape[d]), first + d, dims);
      size = shape[d] == 1 ? size : shape[d];
    }
  }
  return resize(ctx, op, ArrayRef<SizesType>(sizes, dims), out);
}

bool plan_elementwise(KernelRuntimeContext& ctx, const char* op, std::initializer_list<Operand> operands,
                      Promotion promotion, Tensor& out, ComputeType* type) {
  const Tensor* first = operands.begin()->tensor();
  if (are_alike(operands) && is_supported_dtype(first->scalar_type())) {
    return plan_result(ctx, op, first->scalar_type(), promotion, out, type) && resize(ctx, op, first->sizes(), out);
  }
  return plan_dtype(ctx, op, operands, promotion, out, type) && resize_to_broadcast(ctx, op, operands, out);
}

bool plan_dtype(KernelRuntimeContext& ctx, const char* op, std::initializer_list<Operand> operands, Promotion promotion,
                const Tensor& out, ComputeType* type) {
  for (const Operand& operand : operands) {
    ET_KERNEL_CHECK_MSG(ctx, operand.tensor() == nullptr || is_supported_dtype(operand.tensor()->scalar_type()),
                        InvalidArgument, false, "%s: inputs of dtype %s are not supported", op,
                        toString(operand.tensor()->scalar_type()));
  }
  return plan_result(ctx, op, result_type(operands), promotion, out, type);
}

bool internal::FlatCall::start(const Tensor& out, ComputeType out_type, const TypedOperand* operands,
                               size_t operand_count) {
  if (!is_same_representation(out.scalar_type(), out_type)) {
    return false;
  }
  const size_t numel = static_cast<size_t>(out.numel());
  operand_count_ = operand_count;
  step_ = numel;
  for (size_t n = 0; n < operand_count; ++n) {
    const Tensor* tensor = operands[n].operand.tensor();
    const size_t size = compute_size(operands[n].type);
    if (tensor == nullptr) {
      store_scalar(operands[n].operand.scalar(), operands[n].type, repeated_[n]);
    } else if (!is_same_representation(tensor->scalar_type(), operands[n].type)) {
      return false;
    } else if (is_same_layout(*tensor, out)) {
      in_[n] = static_cast<const char*>(tensor->const_data_ptr());
      in_bytes_[n] = size;
      continue;
    } else if (tensor->numel() == 1) {
      std::memcpy(repeated_[n], tensor->const_data_ptr(), size);
    } else {
      return false;
    }
    step_ = std::min(numel, kBlock);
    repeat_first(repeated_[n], size, step_);
    in_[n] = repeated_[n];
    in_bytes_[n] = 0;
  }
  out_ = static_cast<char*>(out.mutable_data_ptr());
  out_bytes_ = compute_size(out_type);
  return true;
}

void internal::FlatCall::run(const void* op, ElementwiseLoop loop, size_t begin, size_t end) const {
  for (; begin < end; begin += step_) {
    const void* in[kMaxOperands];
    for (size_t n = 0; n < operand_count_; ++n) {
      in[n] = in_[n] + begin * in_bytes_[n];
    }
    loop(op, out_ + begin * out_bytes_, in, std::min(step_, end - begin));
  }
}

void internal::run_elementwise(const void* op, ElementwiseLoop loop, const Output& output, ComputeType out_type,
                               const TypedOperand* operands, size_t operand_count) {
  constexpr size_t kOut = kMaxOperands;
  const Tensor& out = output.tensor;
  if (out.numel() == 0) {
    return;
  }
  FlatCall flat;
  if (flat.start(out, out_type, operands, operand_count)) {
    flat.run(op, loop, 0, static_cast<size_t>(out.numel()));
    return;
  }
  const Tensor* tensors[kMaxOperands];
  for (size_t n = 0; n < operand_count; ++n) {
    tensors[n] = operands[n].operand.tensor();
  }
  LoopNest<kMaxOperands + 1> nest = broadcast_loops(out, tensors, operand_count);
  int64_t inner_strides[kMaxOperands + 1];
  const size_t inner = static_cast<size_t>(nest.pop(inner_strides));
  if (inner == 1) {
    std::fill(inner_strides, inner_strides + kMaxOperands + 1, 1);  // adjacent elements
  }

  Promoted promoted;
  for (size_t n = 0; n < operand_count; ++n) {
    promoted.add(operands[n].operand);
  }
  const ScalarType dtype = output.dtype == ScalarType::Undefined ? promoted.result() : output.dtype;
  uint64_t numbers[kMaxOperands];
  BlockReader readers[kMaxOperands];
  BlockWriter writer(out, out_type, inner_strides[kOut]);
  if (kRoundsResults && out.scalar_type() != dtype && is_supported_dtype(dtype) && arithmetic_type(dtype) == out_type) {
    writer.round_to(dtype);
  }
  bool all_direct = writer.is_direct();
  for (size_t n = 0; n < operand_count; ++n) {
    const Tensor* in = operands[n].operand.tensor();
    if (in != nullptr) {
      readers[n].start(in->const_data_ptr(), in->scalar_type(), operands[n].type, inner_strides[n]);
    } else {
      start_number(readers[n], operands[n], promoted.result(), &numbers[n]);
    }
    const bool is_float = operands[n].type == ComputeType::Float;
    const bool is_exact = is_float && (output.exact_operands >> n & 1) != 0;
    if (kRoundsResults && !is_exact && converts_operands(dtype, operands[n].type) &&
        (in == nullptr ? is_float : !holds_all(dtype, in->scalar_type()))) {
      readers[n].round_to(dtype);
    }
    all_direct = all_direct && readers[n].is_direct();
  }
  const size_t step = all_direct ? inner : kBlock;
  nest.for_each([&](const int64_t* offsets) {
    for (size_t begin = 0; begin < inner; begin += step) {
      const size_t count = std::min(step, inner - begin);
      const void* in[kMaxOperands];
      for (size_t n = 0; n < operand_count; ++n) {
        in[n] = readers[n].read(offsets[n] + static_cast<int64_t>(begin) * readers[n].stride(), count);
      }
      const int64_t to = offsets[kOut] + static_cast<int64_t>(begin) * writer.stride();
      loop(op, writer.begin(to), in, count);
      writer.commit(to, count);
    }
  });
}

}  // namespace torch::executor::native
