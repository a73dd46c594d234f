// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/runtime/executor/test/demo_backends/demo_kernels.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>
#include <vector>

#include <executorch/runtime/core/error.h>
#include <executorch/runtime/platform/log.h>

namespace executorch {
namespace runtime {
namespace testing {

namespace {

using Kind = DemoValue::Kind;

/// The operands and the result of one instruction.
struct Call {
  const DemoInstruction& instruction;
  Span<const DemoValue> operands;
  DemoValue* result;

  /// Operand `i`; an empty value if the program has fewer.
  const DemoValue& operand(size_t i) const {
    static const DemoValue kNone;
    return i < operands.size() ? operands[i] : kNone;
  }

  bool has_tensors(size_t count) const {
    for (size_t i = 0; i < count; ++i) {
      if (operand(i).kind != Kind::kTensor) {
        return false;
      }
    }
    return true;
  }

  /// Sets the sizes of the result; false if its memory is too small.
  bool set_sizes(std::initializer_list<int64_t> sizes) const {
    result->kind = Kind::kTensor;
    result->dim = sizes.size();
    size_t i = 0;
    for (const int64_t size : sizes) {
      if (size < 0 || size > INT32_MAX) {
        return false;
      }
      result->sizes[i++] = static_cast<int32_t>(size);
    }
    return result->numel() <= instruction.numel;
  }
};

/// a * b + c. Integers wrap, as in PyTorch.
template <typename T>
T multiply_add(T a, T b, T c) {
  if constexpr (std::is_integral_v<T>) {
    using Unsigned = std::make_unsigned_t<T>;
    return static_cast<T>(static_cast<Unsigned>(a) * static_cast<Unsigned>(b) + static_cast<Unsigned>(c));
  } else {
    return a * b + c;
  }
}

/// Converts the number to an element; false if an integer type cannot represent it.
template <typename T>
bool to_element(double number, T* element) {
  if constexpr (std::is_integral_v<T>) {
    constexpr double kExact = 9007199254740992;  // 2^53: above, doubles skip integers.
    if (!(std::abs(number) <= kExact && number >= static_cast<double>(std::numeric_limits<T>::min()) &&
          number <= static_cast<double>(std::numeric_limits<T>::max()))) {
      return false;
    }
  }
  *element = static_cast<T>(number);
  return true;
}

double number_or(const DemoValue& value, double otherwise) {
  return value.kind == Kind::kNumber ? value.number : otherwise;
}

/// The broadcast sizes of two operands; false if they do not fit together.
bool broadcast(const DemoValue& a, const DemoValue& b, DemoValue* result) {
  result->kind = Kind::kTensor;
  result->dim = std::max(a.dim, b.dim);
  for (size_t i = 0; i < result->dim; ++i) {
    const int32_t left = a.size_from_end(i);
    const int32_t right = b.size_from_end(i);
    if (left != right && left != 1 && right != 1) {
      return false;
    }
    result->sizes[result->dim - 1 - i] = left == 1 ? right : left;
  }
  return true;
}

/// The element of `value` that broadcasting puts at element `index` of `result`.
size_t broadcast_index(const DemoValue& result, size_t index, const DemoValue& value) {
  size_t found = 0;
  size_t stride = 1;
  for (size_t i = 0; i < value.dim; ++i) {
    const size_t extent = static_cast<size_t>(result.size_from_end(i));
    if (value.size_from_end(i) != 1) {
      found += index % extent * stride;
    }
    stride *= static_cast<size_t>(value.size_from_end(i));
    index /= extent;
  }
  return found;
}

template <typename T, typename Function>
bool elementwise(const Call& call, const Function& function) {
  const DemoValue& a = call.operand(0);
  DemoValue number;  // A tensor without dimensions.
  T held{};
  const DemoValue* b = &call.operand(1);
  if (b->kind == Kind::kNumber) {
    if (!to_element(b->number, &held)) {
      return false;
    }
    number.kind = Kind::kTensor;
    number.data = &held;
    b = &number;
  }
  if (a.kind != Kind::kTensor || b->kind != Kind::kTensor || !broadcast(a, *b, call.result) ||
      call.result->numel() > call.instruction.numel) {
    return false;
  }
  const DemoValue& result = *call.result;
  for (size_t i = 0; i < result.numel(); ++i) {
    static_cast<T*>(result.data)[i] = function(static_cast<const T*>(a.data)[broadcast_index(result, i, a)],
                                               static_cast<const T*>(b->data)[broadcast_index(result, i, *b)]);
  }
  return true;
}

template <typename T>
bool sine(const Call& call) {
  if (!call.has_tensors(1)) {
    return false;
  }
  const DemoValue& x = call.operand(0);
  void* data = call.result->data;
  *call.result = x;
  call.result->data = data;
  if (x.numel() > call.instruction.numel) {
    return false;
  }
  for (size_t i = 0; i < x.numel(); ++i) {
    static_cast<T*>(data)[i] = std::sin(static_cast<const T*>(x.data)[i]);
  }
  return true;
}

/// out[m, n] = sum over k of a[m, k] * b[k, n], or * b[n, k] when `transposed`, + bias[n].
template <typename T>
void multiply(const T* a, const T* b, const T* bias, T* out, size_t m, size_t k, size_t n, bool transposed) {
  if (n == 0) {
    return;
  }
  for (size_t i = 0; i < m; ++i) {
    for (size_t j = 0; j < n; ++j) {
      T sum = bias == nullptr ? T{0} : bias[j];
      for (size_t l = 0; l < k; ++l) {
        sum = multiply_add(a[i * k + l], transposed ? b[j * k + l] : b[l * n + j], sum);
      }
      out[i * n + j] = sum;
    }
  }
}

template <typename T>
bool mm(const Call& call) {
  const DemoValue& a = call.operand(0);
  const DemoValue& b = call.operand(1);
  if (!call.has_tensors(2) || a.dim != 2 || b.dim != 2 || a.sizes[1] != b.sizes[0] ||
      !call.set_sizes({a.sizes[0], b.sizes[1]})) {
    return false;
  }
  multiply(static_cast<const T*>(a.data), static_cast<const T*>(b.data), static_cast<const T*>(nullptr),
           static_cast<T*>(call.result->data), static_cast<size_t>(a.sizes[0]), static_cast<size_t>(a.sizes[1]),
           static_cast<size_t>(b.sizes[1]), false);
  return true;
}

template <typename T>
bool linear(const Call& call) {
  const DemoValue& x = call.operand(0);
  const DemoValue& weight = call.operand(1);
  const DemoValue& bias = call.operand(2);
  if (!call.has_tensors(2) || x.dim == 0 || weight.dim != 2 || x.size_from_end(0) != weight.sizes[1] ||
      (bias.kind == Kind::kTensor && (bias.dim != 1 || bias.sizes[0] != weight.sizes[0]))) {
    return false;
  }
  void* data = call.result->data;
  *call.result = x;
  call.result->data = data;
  call.result->sizes[x.dim - 1] = weight.sizes[0];
  size_t rows = 1;
  for (size_t i = 0; i + 1 < x.dim; ++i) {
    rows *= static_cast<size_t>(x.sizes[i]);
  }
  if (call.result->numel() > call.instruction.numel) {
    return false;
  }
  multiply(static_cast<const T*>(x.data), static_cast<const T*>(weight.data),
           bias.kind == Kind::kTensor ? static_cast<const T*>(bias.data) : nullptr, static_cast<T*>(data), rows,
           static_cast<size_t>(weight.sizes[1]), static_cast<size_t>(weight.sizes[0]), true);
  return true;
}

/// softmax(q k^T * scale) v, without a mask; arguments q, k, v, mask, dropout, is_causal, scale.
template <typename T>
bool attention(const Call& call) {
  const DemoValue& q = call.operand(0);
  const DemoValue& k = call.operand(1);
  const DemoValue& v = call.operand(2);
  if (!call.has_tensors(3) || call.operand(3).kind != Kind::kNone || number_or(call.operand(4), 0) != 0 || q.dim < 2 ||
      k.dim != q.dim || v.dim != q.dim || k.size_from_end(0) != q.size_from_end(0) ||
      v.size_from_end(1) != k.size_from_end(1)) {
    return false;
  }
  size_t batches = 1;
  for (size_t i = 0; i + 2 < q.dim; ++i) {
    if (k.sizes[i] != q.sizes[i] || v.sizes[i] != q.sizes[i]) {
      return false;
    }
    batches *= static_cast<size_t>(q.sizes[i]);
  }
  void* data = call.result->data;
  *call.result = q;
  call.result->data = data;
  call.result->sizes[q.dim - 1] = v.size_from_end(0);
  if (call.result->numel() > call.instruction.numel) {
    return false;
  }
  if (call.result->numel() == 0) {
    return true;
  }
  const auto length = static_cast<size_t>(q.size_from_end(1));
  const auto width = static_cast<size_t>(q.size_from_end(0));
  const auto sources = static_cast<size_t>(k.size_from_end(1));
  const auto values = static_cast<size_t>(v.size_from_end(0));
  const bool causal = number_or(call.operand(5), 0) != 0;
  const T scale = static_cast<T>(number_or(call.operand(6), 1 / std::sqrt(static_cast<double>(width))));
  std::vector<T> weights(sources);
  for (size_t row = 0; row < batches * length; ++row) {
    const size_t batch = row / length;
    const size_t seen = causal ? std::min(sources, row % length + 1) : sources;
    const T* keys = static_cast<const T*>(k.data) + batch * sources * width;
    const T* source = static_cast<const T*>(v.data) + batch * sources * values;
    multiply(static_cast<const T*>(q.data) + row * width, keys, static_cast<const T*>(nullptr), weights.data(), 1,
             width, seen, true);
    const T largest = seen == 0 ? T{0} : *std::max_element(weights.begin(), weights.begin() + seen);
    T total{0};
    for (size_t i = 0; i < seen; ++i) {
      weights[i] = std::exp((weights[i] - largest) * scale);
      total += weights[i];
    }
    std::for_each(weights.begin(), weights.begin() + seen, [total](T& weight) { weight /= total; });
    multiply(weights.data(), source, static_cast<const T*>(nullptr), static_cast<T*>(data) + row * values, 1, seen,
             values, false);
  }
  return true;
}

/// Arguments x (N, C, H, W), output size (H, W) or nothing, scale factors (H, W) or nothing.
template <typename T>
bool upsample_nearest(const Call& call) {
  const DemoValue& x = call.operand(0);
  const DemoValue& size = call.operand(1);
  const DemoValue& factors = call.operand(2);
  const DemoValue& given = size.kind == Kind::kList ? size : factors;
  if (!call.has_tensors(1) || x.dim != 4 || given.kind != Kind::kList || given.list->size() != 2) {
    return false;
  }
  int64_t extents[2];
  double steps[2];
  for (size_t i = 0; i < 2; ++i) {
    const double in = x.sizes[2 + i];
    const double asked = (*given.list)[i];
    const double out = &given == &size ? asked : std::floor(in * asked);
    if (!(out >= 0 && out <= INT32_MAX)) {
      return false;
    }
    extents[i] = static_cast<int64_t>(out);
    steps[i] = &given == &size ? in / out : 1 / asked;
  }
  if (!call.set_sizes({x.sizes[0], x.sizes[1], extents[0], extents[1]})) {
    return false;
  }
  if (x.numel() == 0) {
    return call.result->numel() == 0;
  }
  T* out = static_cast<T*>(call.result->data);
  const int64_t height = x.sizes[2];
  const int64_t width = x.sizes[3];
  for (int64_t plane = 0; plane < int64_t{x.sizes[0]} * x.sizes[1]; ++plane) {
    const T* in = static_cast<const T*>(x.data) + plane * height * width;
    for (int64_t i = 0; i < extents[0]; ++i) {
      const int64_t row = std::min(static_cast<int64_t>(static_cast<double>(i) * steps[0]), height - 1);
      for (int64_t j = 0; j < extents[1]; ++j) {
        *out++ = in[row * width + std::min(static_cast<int64_t>(static_cast<double>(j) * steps[1]), width - 1)];
      }
    }
  }
  return true;
}

template <typename T>
bool run(const Call& call) {
  switch (call.instruction.op) {
    case DemoOp::kAdd: {
      T alpha{};
      return to_element(number_or(call.operand(2), 1), &alpha) &&
             elementwise<T>(call, [alpha](T a, T b) { return multiply_add(alpha, b, a); });
    }
    case DemoOp::kMul:
      return elementwise<T>(call, [](T a, T b) { return multiply_add(a, b, T{0}); });
    case DemoOp::kMm:
      return mm<T>(call);
    default:
      break;
  }
  if constexpr (std::is_floating_point_v<T>) {
    switch (call.instruction.op) {
      case DemoOp::kSin:
        return sine<T>(call);
      case DemoOp::kLinear:
        return linear<T>(call);
      case DemoOp::kAttention:
        return attention<T>(call);
      case DemoOp::kUpsampleNearest:
        return upsample_nearest<T>(call);
      default:
        break;
    }
  }
  return false;
}

}  // namespace

size_t DemoValue::numel() const {
  size_t count = 1;
  for (size_t i = 0; i < dim; ++i) {
    const auto size = static_cast<size_t>(sizes[i]);
    if (size != 0 && count > SIZE_MAX / size) {
      return SIZE_MAX;
    }
    count *= size;
  }
  return count;
}

Error run_demo_instruction(const DemoInstruction& instruction, Span<const DemoValue> operands, DemoValue* result) {
  const Call call{instruction, operands, result};
  bool ok = false;
  switch (instruction.dtype) {
    case aten::ScalarType::Float:
      ok = run<float>(call);
      break;
    case aten::ScalarType::Double:
      ok = run<double>(call);
      break;
    case aten::ScalarType::Int:
      ok = run<int32_t>(call);
      break;
    case aten::ScalarType::Long:
      ok = run<int64_t>(call);
      break;
    default:
      break;
  }
  ET_CHECK_OR_RETURN_ERROR(ok, InvalidArgument,
                           "BackendWithCompilerDemo: the operands of the instruction with debug handle %u do not fit "
                           "its operator, or its result is larger than the %zu elements planned for it",
                           static_cast<unsigned>(instruction.debug_handle), instruction.numel);
  return Error::Ok;
}

}  // namespace testing
}  // namespace runtime
}  // namespace executorch
