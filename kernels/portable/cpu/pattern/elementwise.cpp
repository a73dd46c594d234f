// SPDX-License-Identifier: BSD-3-Clause
#include "kernels/portable/cpu/pattern/elementwise.h"

#include <algorithm>
#include <cstring>

#include "kernels/portable/cpu/pattern/loop_nest.h"

namespace torch::executor::native {
namespace {

using executorch::runtime::canCast;
using executorch::runtime::elementSize;
using executorch::runtime::isFloatingType;
using executorch::runtime::isIntegralType;
using executorch::runtime::promoteTypes;
using internal::kMaxOperands;
using internal::TypedOperand;

// bool < integer < floating point
int category(ScalarType dtype) {
  return dtype == ScalarType::Undefined ? -1 : isFloatingType(dtype) ? 2 : dtype == ScalarType::Bool ? 0 : 1;
}

ScalarType scalar_dtype(const Scalar& scalar) {
  return scalar.isBoolean()                            ? ScalarType::Bool
         : scalar.isIntegral(/*includeBool=*/false) ? ScalarType::Long
                                                       : ScalarType::Float;
}

ScalarType promote(ScalarType a, ScalarType b) {
  return a == ScalarType::Undefined ? b : b == ScalarType::Undefined ? a : promoteTypes(a, b);
}

// The lower-priority dtype counts only if it is of a higher category.
ScalarType combine(ScalarType high, ScalarType low) {
  return category(low) > category(high) ? promote(high, low) : high;
}

// Elements a block may hold when operands have to be converted or broadcast: four buffers of it live on the stack.
constexpr size_t kBlock = 128;

void gather(void* dst, const char* src, int64_t stride, size_t element_size, size_t count) {
  const auto copy = [&](auto tag) {
    using T = decltype(tag);
    T* to = static_cast<T*>(dst);
    const T* from = reinterpret_cast<const T*>(src);
    for (size_t i = 0; i < count; ++i) {
      to[i] = from[static_cast<int64_t>(i) * stride];
    }
  };
  switch (element_size) {
    case 1:
      return copy(uint8_t{});
    case 2:
      return copy(uint16_t{});
    case 4:
      return copy(uint32_t{});
    default:
      return copy(uint64_t{});
  }
}

void scatter(char* dst, int64_t stride, const void* src, size_t element_size, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    std::memcpy(dst + static_cast<int64_t>(i) * stride * static_cast<int64_t>(element_size),
                static_cast<const char*>(src) + i * element_size, element_size);
  }
}

void fill(void* dst, size_t element_size, size_t count) {
  const auto repeat = [&](auto tag) {
    auto* to = static_cast<decltype(tag)*>(dst);
    std::fill(to + 1, to + count, to[0]);
  };
  switch (element_size) {
    case 1:
      return repeat(uint8_t{});
    case 4:
      return repeat(uint32_t{});
    default:
      return repeat(uint64_t{});
  }
}

// One operand on its way into the loop.
struct Source {
  const char* data = nullptr;
  size_t element_size = 0;
  size_t value_size = 0;
  int64_t stride = 0;
  ConvertFn convert = nullptr;  // null: the representation is the compute type's
  const char* filled_from = nullptr;
  alignas(64) char values[kBlock * sizeof(int64_t)];

  bool is_direct() const { return stride == 1 && convert == nullptr; }

  // The `count` values that begin at `from`; `raw` is scratch space for a block.
  const void* load(const char* from, size_t count, char* raw) {
    if (is_direct()) {
      return from;
    }
    if (stride == 0) {
      if (filled_from != from) {
        convert != nullptr ? convert(values, from, 1) : void(std::memcpy(values, from, value_size));
        fill(values, value_size, count);  // the first block of a run is its longest
        filled_from = from;
      }
      return values;
    }
    if (convert == nullptr) {
      gather(values, from, stride, element_size, count);
    } else if (stride == 1) {
      convert(values, from, count);
    } else {
      gather(raw, from, stride, element_size, count);
      convert(values, raw, count);
    }
    return values;
  }
};

}  // namespace

ScalarType result_type(std::initializer_list<Operand> operands) {
  ScalarType dim = ScalarType::Undefined;
  ScalarType zero_dim = ScalarType::Undefined;
  ScalarType number = ScalarType::Undefined;
  for (const Operand& operand : operands) {
    if (operand.tensor() == nullptr) {
      number = promote(number, scalar_dtype(operand.scalar()));
    } else if (operand.tensor()->dim() == 0) {
      zero_dim = promote(zero_dim, operand.tensor()->scalar_type());
    } else {
      dim = promote(dim, operand.tensor()->scalar_type());
    }
  }
  return combine(dim, combine(zero_dim, number));
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
  ET_KERNEL_CHECK_MSG(ctx, resize_tensor(out, ArrayRef<SizesType>(sizes, dims)) == Error::Ok, InvalidArgument, false,
                      "%s: the output cannot be resized to the broadcast shape of the inputs", op);
  return true;
}

bool plan_elementwise(KernelRuntimeContext& ctx, const char* op, std::initializer_list<Operand> operands,
                      Promotion promotion, Tensor& out, ComputeType* type) {
  for (const Operand& operand : operands) {
    ET_KERNEL_CHECK_MSG(ctx, operand.tensor() == nullptr || is_supported_dtype(operand.tensor()->scalar_type()),
                        InvalidArgument, false, "%s: inputs of dtype %s are not supported", op,
                        toString(operand.tensor()->scalar_type()));
  }
  ScalarType dtype = result_type(operands);
  if (promotion == Promotion::IntToFloat && isIntegralType(dtype, /*includeBool=*/true)) {
    dtype = ScalarType::Float;
  }
  const ScalarType result = promotion == Promotion::ToBool ? ScalarType::Bool : dtype;
  ET_KERNEL_CHECK_MSG(ctx, is_supported_dtype(out.scalar_type()) && canCast(result, out.scalar_type()),
                      InvalidArgument, false, "%s: the result is %s, which cannot be stored in an output of dtype %s", op,
                      toString(result), toString(out.scalar_type()));
  *type = arithmetic_type(dtype);
  return resize_to_broadcast(ctx, op, operands, out);
}

void internal::run_elementwise(const void* op, ElementwiseLoop loop, const Tensor& out, ComputeType out_type,
                               const TypedOperand* operands, size_t operand_count) {
  constexpr size_t kOut = kMaxOperands;
  if (out.numel() == 0) {
    return;
  }
  LoopNest<kMaxOperands + 1> nest;
  const size_t dims = static_cast<size_t>(out.dim());
  for (size_t i = 0; i < dims; ++i) {
    const size_t d = out.dim_order()[i];
    int64_t strides[kMaxOperands + 1] = {};
    for (size_t n = 0; n < operand_count; ++n) {
      const Tensor* in = operands[n].operand.tensor();
      const size_t leading = in == nullptr ? dims : dims - static_cast<size_t>(in->dim());
      if (d >= leading && in->sizes()[d - leading] != 1) {
        strides[n] = in->strides()[d - leading];
      }
    }
    strides[kOut] = out.strides()[d];
    nest.push(out.sizes()[d], strides);
  }
  int64_t inner_strides[kMaxOperands + 1];
  const size_t inner = static_cast<size_t>(nest.pop(inner_strides));

  Source sources[kMaxOperands];
  bool all_direct = true;
  for (size_t n = 0; n < operand_count; ++n) {
    Source& source = sources[n];
    source.value_size = compute_size(operands[n].type);
    source.stride = inner_strides[n];
    if (const Tensor* in = operands[n].operand.tensor()) {
      source.data = static_cast<const char*>(in->const_data_ptr());
      source.element_size = static_cast<size_t>(in->element_size());
      if (!is_same_representation(in->scalar_type(), operands[n].type)) {
        source.convert = load_fn(in->scalar_type(), operands[n].type);
      }
    } else {
      store_scalar(operands[n].operand.scalar(), operands[n].type, source.values);
      fill(source.values, source.value_size, kBlock);
      source.data = source.filled_from = source.values;
    }
    all_direct = all_direct && source.is_direct();
  }

  char* out_data = static_cast<char*>(out.mutable_data_ptr());
  const size_t out_size = static_cast<size_t>(out.element_size());
  const int64_t out_stride = inner == 1 ? 1 : inner_strides[kOut];
  const bool out_converts = !(is_same_representation(out.scalar_type(), out_type) ||
                              (out.scalar_type() == ScalarType::Bool && out_type == ComputeType::Bool));
  const ConvertFn store = out_converts ? store_fn(out_type, out.scalar_type()) : nullptr;
  const bool out_direct = out_stride == 1 && store == nullptr;
  const size_t step = all_direct && out_direct ? inner : kBlock;
  alignas(64) char out_values[kBlock * sizeof(int64_t)];
  alignas(64) char raw[kBlock * sizeof(int64_t)];

  nest.for_each([&](const int64_t* offsets) {
    for (size_t begin = 0; begin < inner; begin += step) {
      const size_t count = std::min(step, inner - begin);
      const void* in[kMaxOperands];
      for (size_t n = 0; n < operand_count; ++n) {
        Source& source = sources[n];
        const int64_t offset = offsets[n] + static_cast<int64_t>(begin) * source.stride;
        in[n] = source.load(source.data + offset * static_cast<int64_t>(source.element_size), count, raw);
      }
      char* to = out_data + (offsets[kOut] + static_cast<int64_t>(begin) * out_stride) * static_cast<int64_t>(out_size);
      if (out_direct) {
        loop(op, to, in, count);
        continue;
      }
      loop(op, out_values, in, count);
      if (out_stride == 1) {
        store(to, out_values, count);
      } else {
        const void* result = out_values;
        if (store != nullptr) {
          store(raw, out_values, count);
          result = raw;
        }
        scatter(to, out_stride, result, out_size, count);
      }
    }
  });
}

}  // namespace torch::executor::native
