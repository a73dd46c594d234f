// SPDX-License-Identifier: BSD-3-Clause
#include "kernel_driver.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <deque>
#include <limits>
#include <string>
#include <vector>

#include <executorch/runtime/core/evalue.h>
#include <executorch/runtime/core/exec_aten/util/scalar_type_util.h>
#include <executorch/runtime/core/memory_allocator.h>
#include <executorch/runtime/kernel/operator_registry.h>
#include <executorch/runtime/platform/platform.h>

#include "exact_buffer.h"

namespace executorch {
namespace fuzz {
namespace {

using aten::ArrayRef;
using aten::ScalarType;
using aten::Tensor;
using aten::TensorImpl;
using runtime::BoxedEvalueList;
using runtime::Error;
using runtime::EValue;
using runtime::Kernel;
using runtime::KernelRuntimeContext;
using runtime::Span;
using runtime::Tag;

constexpr size_t kMaxArguments = 24;
constexpr size_t kMaxElements = 1024;

struct Argument {
  Tag tag;
  bool optional;
};

struct Signature {
  const Kernel* kernel;
  std::vector<Argument> arguments;
  /// Tensors that the program names after the arguments as what is returned, the last arguments; kList for all of the
  /// last one, a list.
  size_t outputs = 0;
};

constexpr size_t kList = 100;

std::string last_message;

void keep_message(et_timestamp_t, et_pal_log_level_t, const char*, const char*, size_t, const char* message,
                  size_t length) {
  last_message.assign(message, length);
}

bool tag_of(const char* name, Tag* tag) {
  for (int candidate = 0; candidate < 16; ++candidate) {
    *tag = static_cast<Tag>(candidate);
    if (std::strcmp(runtime::tag_to_string(*tag), name) == 0) {
      return true;
    }
  }
  return false;
}

/// The bytes that decide; zeros after the end.
class Choices {
 public:
  Choices(const uint8_t* data, size_t size) : data_(data), end_(data + size) {}
  uint8_t byte() { return data_ == end_ ? 0 : *data_++; }
  size_t below(size_t bound) { return byte() % bound; }
  bool one_in(size_t n) { return below(n) == n - 1; }

 private:
  const uint8_t* data_;
  const uint8_t* end_;
};

/// Owns everything that the arguments of one call point to.
class Arguments {
 public:
  explicit Arguments(Choices& choices) : choices_(choices) {}

  EValue* make(Tag tag) {
    switch (tag) {
      case Tag::Tensor:
        return keep(EValue(tensor()));
      case Tag::Int:
        return keep(EValue(integer()));
      case Tag::Double:
        return choices_.one_in(2) ? keep(EValue(integer())) : keep(EValue(real()));
      case Tag::Bool:
        return keep(EValue(choices_.one_in(2)));
      case Tag::String:
        return string();
      case Tag::ListInt:
        return list<int64_t>([this] { return keep(EValue(integer())); });
      case Tag::ListTensor:
        return list<Tensor>([this] { return keep(EValue(tensor())); });
      case Tag::ListOptionalTensor:
        return list<std::optional<Tensor>>([this] { return choices_.one_in(3) ? nullptr : keep(EValue(tensor())); });
      case Tag::ListBool:
        return bools();
      case Tag::ListDouble:
        return doubles();
      default:
        return keep(EValue());
    }
  }

  /// Appends what the executor passes after the arguments.
  void return_outputs(std::vector<EValue*>& stack, size_t outputs) {
    if (outputs == kList) {
      stack.push_back(stack.back());
    } else if (outputs > 1) {
      returned_.assign(stack.end() - static_cast<ptrdiff_t>(outputs), stack.end());
      stack.push_back(list_of_values<Tensor>(returned_));
    }
  }

 private:
  EValue* keep(EValue value) {
    values_.push_back(value);
    return &values_.back();
  }

  int64_t integer() {
    constexpr int64_t kHostile[] = {std::numeric_limits<int64_t>::min(),
                                    std::numeric_limits<int64_t>::max(),
                                    std::numeric_limits<int32_t>::min(),
                                    std::numeric_limits<int32_t>::max(),
                                    int64_t(1) << 30,
                                    -(int64_t(1) << 40),
                                    int64_t(1) << 62,
                                    255};
    return choices_.one_in(6) ? kHostile[choices_.below(8)] : static_cast<int64_t>(choices_.below(10)) - 3;
  }

  double real() {
    constexpr double kHostile[] = {std::numeric_limits<double>::quiet_NaN(),
                                   std::numeric_limits<double>::infinity(),
                                   -std::numeric_limits<double>::infinity(),
                                   1e300,
                                   -1e-300,
                                   9.3e18};
    return choices_.one_in(6) ? kHostile[choices_.below(6)] : (static_cast<double>(choices_.below(32)) - 12) / 4;
  }

  EValue* string() {
    static const char* const kTexts[] = {"none",  "tanh",  "sum",  "mean",  "prod", "amax", "amin",
                                         "floor", "trunc", "left", "right", "",     "x"};
    const char* const text = kTexts[choices_.below(sizeof(kTexts) / sizeof(kTexts[0]))];
    texts_.emplace_back(const_cast<char*>(text), std::strlen(text));
    return keep(EValue(&texts_.back()));
  }

  template <typename T, typename Make>
  EValue* list(const Make& make_element) {
    pointers_.emplace_back();
    std::vector<EValue*>& pointers = pointers_.back();
    for (size_t size = choices_.below(5); size > 0; --size) {
      pointers.push_back(make_element());
    }
    return list_of_values<T>(pointers);
  }

  template <typename T>
  EValue* list_of_values(std::vector<EValue*>& pointers) {
    auto& lists = list_of<T>();
    lists.push_back({std::vector<T>(pointers.size(), empty<T>()), {}});
    auto& entry = lists.back();
    entry.second = BoxedEvalueList<T>(pointers.data(), entry.first.data(), static_cast<int>(pointers.size()));
    return keep(EValue(&entry.second));
  }

  EValue* bools() {
    bools_.emplace_back(new bool[4]);
    const size_t size = choices_.below(5);
    for (size_t i = 0; i < size; ++i) {
      bools_.back()[i] = choices_.one_in(2);
    }
    bool_lists_.emplace_back(bools_.back().get(), size);
    return keep(EValue(&bool_lists_.back()));
  }

  EValue* doubles() {
    doubles_.emplace_back();
    for (size_t size = choices_.below(5); size > 0; --size) {
      doubles_.back().push_back(real());
    }
    double_lists_.emplace_back(doubles_.back().data(), doubles_.back().size());
    return keep(EValue(&double_lists_.back()));
  }

  /// Sizes of at most kMaxElements elements; without elements some may be huge.
  std::vector<int32_t> shape() {
    constexpr int32_t kSizes[] = {1, 2, 3, 4, 5, 7, 1, 2, 0, 130};
    std::vector<int32_t> sizes(choices_.one_in(8) ? choices_.below(9) : choices_.below(5));
    size_t elements = 1;
    for (int32_t& size : sizes) {
      size = kSizes[choices_.below(10)];
      size = elements * static_cast<size_t>(size) > kMaxElements ? 1 : size;
      elements *= static_cast<size_t>(size);
    }
    if (elements == 0 && choices_.one_in(4)) {
      sizes[choices_.below(sizes.size())] = std::numeric_limits<int32_t>::max();
      if (std::find(sizes.begin(), sizes.end(), 0) == sizes.end()) {
        sizes.assign(1, 0);
      }
    }
    return sizes;
  }

  Tensor tensor() {
    if (!impls_.empty() && choices_.one_in(16)) {
      return Tensor(&impls_[choices_.below(impls_.size())]);  // the same memory twice
    }
    // As a rule the arguments of a call agree.
    if (shapes_.empty() || choices_.one_in(3)) {
      shapes_.push_back(shape());
    } else {
      shapes_.push_back(shapes_.back());
    }
    if (impls_.empty() || choices_.one_in(3)) {
      constexpr ScalarType kDtypes[] = {
          ScalarType::Float, ScalarType::Long,   ScalarType::Float,        ScalarType::Double, ScalarType::Half,
          ScalarType::Bool,  ScalarType::Int,    ScalarType::BFloat16,     ScalarType::Byte,   ScalarType::Char,
          ScalarType::Short, ScalarType::UInt16, ScalarType::UInt32,       ScalarType::UInt64, ScalarType::ComplexFloat,
          ScalarType::Long,  ScalarType::Float,  ScalarType::ComplexDouble};
      dtype_ = kDtypes[choices_.below(sizeof(kDtypes) / sizeof(kDtypes[0]))];
    }
    std::vector<int32_t>& sizes = shapes_.back();
    const size_t dims = sizes.size();
    orders_.emplace_back(dims);
    std::vector<uint8_t>& order = orders_.back();
    for (size_t d = 0; d < dims; ++d) {
      order[d] = static_cast<uint8_t>(d);
    }
    if (dims >= 3 && choices_.one_in(4)) {
      std::rotate(order.begin() + 1, order.begin() + 2, order.end());  // channels last
    } else if (dims >= 2 && choices_.one_in(8)) {
      std::swap(order[choices_.below(dims)], order[choices_.below(dims)]);
    }
    strides_.emplace_back(dims);
    size_t elements = 1;
    int32_t stride = 1;
    for (size_t i = dims; i-- > 0;) {
      strides_.back()[order[i]] = stride;
      stride *= std::max(1, sizes[order[i]] > 65536 ? 1 : sizes[order[i]]);
    }
    for (const int32_t size : sizes) {
      elements *= static_cast<size_t>(size);
    }
    buffers_.emplace_back(elements * runtime::elementSize(dtype_));
    fill(buffers_.back());
    impls_.emplace_back(
        dtype_, static_cast<ssize_t>(dims), sizes.data(), buffers_.back().data.get(), order.data(),
        strides_.back().data(),
        choices_.one_in(4) ? aten::TensorShapeDynamism::STATIC : aten::TensorShapeDynamism::DYNAMIC_BOUND);
    return Tensor(&impls_.back());
  }

  // Small whole numbers, which are good indices, or any bytes.
  void fill(ExactBuffer& buffer) {
    const bool is_small = !choices_.one_in(4);
    const size_t size = runtime::elementSize(dtype_);
    uint32_t state = choices_.byte();
    for (size_t i = 0; i < buffer.bytes; i += size) {
      state = state * 1664525u + 1013904223u;
      uint8_t* element = buffer.data.get() + i;
      if (!is_small) {
        for (size_t j = 0; j < size; ++j) {
          element[j] = static_cast<uint8_t>(state >> (8 * (j % 4)));
        }
      } else if (dtype_ == ScalarType::Float) {
        const float value = static_cast<float>(state >> 29) - 2;
        std::memcpy(element, &value, size);
      } else {
        element[0] = static_cast<uint8_t>(state >> 30);
      }
    }
  }

  template <typename T>
  auto& list_of() {
    if constexpr (std::is_same_v<T, int64_t>) {
      return int_lists_;
    } else if constexpr (std::is_same_v<T, Tensor>) {
      return tensor_lists_;
    } else {
      return optional_tensor_lists_;
    }
  }
  template <typename T>
  T empty() {
    if constexpr (std::is_same_v<T, Tensor>) {
      return Tensor(nullptr);
    } else {
      return T();
    }
  }

  template <typename T>
  using Lists = std::deque<std::pair<std::vector<T>, BoxedEvalueList<T>>>;

  Choices& choices_;
  ScalarType dtype_ = ScalarType::Float;
  std::deque<EValue> values_;
  std::deque<std::vector<int32_t>> shapes_;
  std::deque<std::vector<int32_t>> strides_;
  std::deque<std::vector<uint8_t>> orders_;
  std::deque<ExactBuffer> buffers_;
  std::deque<TensorImpl> impls_;
  std::deque<std::vector<EValue*>> pointers_;
  std::vector<EValue*> returned_;
  std::deque<ArrayRef<char>> texts_;
  std::deque<std::unique_ptr<bool[]>> bools_;
  std::deque<ArrayRef<bool>> bool_lists_;
  std::deque<std::vector<double>> doubles_;
  std::deque<ArrayRef<double>> double_lists_;
  Lists<int64_t> int_lists_;
  Lists<Tensor> tensor_lists_;
  Lists<std::optional<Tensor>> optional_tensor_lists_;
};

/// Asks a kernel what it takes: its complaints name one argument after the other.
bool learn(const Kernel& kernel, Signature* signature) {
  signature->kernel = &kernel;
  const uint8_t nothing = 0;
  for (size_t attempt = 0; attempt <= 2 * kMaxArguments; ++attempt) {
    Choices choices(&nothing, 0);
    Arguments arguments(choices);
    std::vector<EValue*> stack;
    for (const Argument& argument : signature->arguments) {
      stack.push_back(arguments.make(argument.tag));
    }
    EValue wrong;
    wrong.tag = static_cast<Tag>(127);  // the type of no argument
    size_t count = 0, position = 0;
    char tag[32] = {};
    last_message.clear();
    KernelRuntimeContext context;
    if (signature->arguments.empty()) {
      kernel.op_(context, Span<EValue*>());
      if (std::sscanf(last_message.c_str(), "The operator takes %zu arguments", &count) != 1 || count > kMaxArguments) {
        return false;
      }
      signature->arguments.assign(count, {Tag::None, false});
      continue;
    }
    for (EValue*& value : stack) {
      value = value->isNone() ? &wrong : value;
    }
    arguments.return_outputs(stack, signature->outputs);
    kernel.op_(context, {stack.data(), stack.size()});
    if (last_message.find("does not name what the operator returns") != std::string::npos) {
      const bool has_more = signature->outputs < std::min<size_t>(8, signature->arguments.size());
      signature->outputs = has_more ? signature->outputs + 1 : kList;
      continue;
    }
    if (std::sscanf(last_message.c_str(), "Argument %zu of the operator must be %31[A-Za-z]", &position, tag) != 2) {
      return true;
    }
    Argument& argument = signature->arguments[position];
    argument.optional = last_message.find(" or None") != std::string::npos;
    if (!tag_of(tag, &argument.tag)) {
      return false;
    }
  }
  return true;
}

const std::vector<Signature>& signatures() {
  static const auto* const kSignatures = [] {
    (void)runtime::register_pal(runtime::PalImpl::create(keep_message, __FILE__));
    auto* const result = new std::vector<Signature>;
    for (const Kernel& kernel : runtime::get_registered_kernels()) {
      Signature signature;
      if (learn(kernel, &signature)) {
        result->push_back(std::move(signature));
      }
    }
    return result;
  }();
  return *kSignatures;
}

bool names = false;

}  // namespace

bool call_kernel(const uint8_t* data, size_t size) {
  if (signatures().empty()) {
    return false;
  }
  Choices choices(data, size);
  const size_t number = choices.byte() * size_t(256);
  const Signature& signature = signatures()[(number + choices.byte()) % signatures().size()];
  if (names) {
    std::fprintf(stderr, "%s\n", signature.kernel->name_);
  }
  Arguments arguments(choices);
  std::vector<EValue*> stack;
  for (const Argument& argument : signature.arguments) {
    const bool is_missing = argument.optional && choices.one_in(2);
    stack.push_back(arguments.make(is_missing ? Tag::None : argument.tag));
  }
  ExactBuffer temporary(1 << 14);
  runtime::MemoryAllocator allocator(static_cast<uint32_t>(temporary.bytes), temporary.data.get());
  KernelRuntimeContext context(nullptr, &allocator);
  arguments.return_outputs(stack, signature.outputs);
  signature.kernel->op_(context, {stack.data(), stack.size()});
  return context.failure_state() == Error::Ok;
}

size_t known_kernels() {
  return signatures().size();
}

void name_kernels() {
  names = true;
}

}  // namespace fuzz
}  // namespace executorch
