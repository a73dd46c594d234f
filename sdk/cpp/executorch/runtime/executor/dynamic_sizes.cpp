// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/runtime/executor/dynamic_sizes.h>

#include <executorch/runtime/core/checked_size.h>
#include <executorch/runtime/core/exec_aten/util/tensor_access.h>
#include <executorch/runtime/core/exec_aten/util/tensor_dimension_limit.h>
#include <executorch/runtime/core/exec_aten/util/tensor_shape_to_c_string.h>
#include <executorch/runtime/core/fixed_text.h>
#include <executorch/runtime/executor/program_check.h>
#include <executorch/schema/program_generated.h>

namespace executorch {
namespace runtime {
namespace internal {

using executorch::aten::SizesType;
using executorch::aten::Tensor;
using executorch::aten::TensorShapeDynamism;
using executorch_flatbuffer::ExecutionPlan;

namespace {

using Numbers = flatbuffers::Vector<int32_t>;

constexpr uint32_t kNumbersPerSize = 6;

/// Limits a factor and an offset, so that the products of check_shared_sizes() fit in 64 bits.
constexpr int32_t kLargestTerm = 1 << 30;

/// A dynamic size: factor * n + offset, at least `least`, with the n of entry `first`.
struct DynamicSize {
  ET_NOINLINE DynamicSize(const Numbers& numbers, uint32_t i)
      : input(numbers.Get(kNumbersPerSize * i)),
        dim(numbers.Get(kNumbersPerSize * i + 1)),
        least(numbers.Get(kNumbersPerSize * i + 2)),
        factor(numbers.Get(kNumbersPerSize * i + 3)),
        offset(numbers.Get(kNumbersPerSize * i + 4)),
        first(numbers.Get(kNumbersPerSize * i + 5)) {}

  int32_t input;
  int32_t dim;
  int32_t least;
  int32_t factor;
  int32_t offset;
  int32_t first;
};

uint32_t count_of(const Numbers* numbers) {
  return size_of(numbers) / kNumbersPerSize;
}

/// Whether entry `i` comes before an entry for dimension `dim` of input `input`.
bool is_before(const Numbers& numbers, uint32_t i, int32_t input, int32_t dim) {
  const int32_t own = numbers.Get(kNumbersPerSize * i);
  return own != input ? own < input : numbers.Get(kNumbersPerSize * i + 1) < dim;
}

/// The entry of a dimension, or `count_of(&numbers)`.
uint32_t find(const Numbers& numbers, int32_t input, int32_t dim) {
  uint32_t first = 0;
  uint32_t last = count_of(&numbers);
  while (first < last) {
    const uint32_t middle = first + (last - first) / 2;
    const bool is_later = is_before(numbers, middle, input, dim);
    (is_later ? first : last) = is_later ? middle + 1 : middle;
  }
  const bool is_there = first < count_of(&numbers) && numbers.Get(kNumbersPerSize * first) == input &&
                        numbers.Get(kNumbersPerSize * first + 1) == dim;
  return is_there ? first : count_of(&numbers);
}

bool accepts_size(const Numbers& numbers, int32_t input, int32_t dim, int32_t largest, int32_t found) {
  const uint32_t i = find(numbers, input, dim);
  if (i == count_of(&numbers)) {
    return found == largest;
  }
  const DynamicSize size(numbers, i);
  // Computed in 32 bits, which hold the difference: small processors divide 64-bit numbers with a library function of
  // almost a kilobyte.
  return found >= size.least && found <= largest && found >= size.offset &&
         (static_cast<uint32_t>(found) - static_cast<uint32_t>(size.offset)) % static_cast<uint32_t>(size.factor) == 0;
}

const Numbers& sizes_of(const ExecutionPlan& plan, size_t input) {
  const auto value = static_cast<uint32_t>(plan.inputs()->Get(static_cast<uint32_t>(input)));
  return *plan.values()->Get(value)->val_as_Tensor()->sizes();
}

bool accepts_sizes(const ExecutionPlan& plan, size_t index, const Tensor& input, const Tensor& found) {
  const auto dynamism = shape_dynamism_of(input);
  if (dynamism == TensorShapeDynamism::STATIC || dynamism == TensorShapeDynamism::DYNAMIC_UNBOUND) {
    return dynamism == TensorShapeDynamism::DYNAMIC_UNBOUND || found.sizes().equals(input.sizes());
  }
  const Numbers* const numbers = plan.dynamic_sizes();
  CheckedSize most(1);
  for (size_t dim = 0; dim < found.sizes().size(); ++dim) {
    const int32_t largest = sizes_of(plan, index).Get(static_cast<uint32_t>(dim));
    most = most * CheckedSize(static_cast<uint64_t>(largest));
    if (numbers != nullptr &&
        !accepts_size(*numbers, static_cast<int32_t>(index), static_cast<int32_t>(dim), largest, found.sizes()[dim])) {
      return false;
    }
  }
  return numbers != nullptr || !most.good() || static_cast<uint64_t>(found.numel()) <= most.value();
}

void append(FixedText& text, int32_t number) {
  text.append(number < 0 ? "-" : "");
  text.append_number(static_cast<size_t>(number < 0 ? -int64_t{number} : number));
}

void append(FixedText& text, const DynamicSize& size, int32_t largest) {
  append(text, size.least);
  text.append("..");
  append(text, largest);
  if (size.factor != 1) {
    text.append(" of ");
    append(text, size.factor);
    text.append(size.offset <= 0 ? "n" : "n+");
    if (size.offset != 0) {
      append(text, size.offset);
    }
  }
}

/// The sizes that an input may have, such as "(1..32, 8)".
class ExpectedSizes final {
 public:
  ExpectedSizes(const Numbers& numbers, const Numbers& largest, size_t input) {
    FixedText text(text_, sizeof(text_));
    text.append("(");
    for (uint32_t dim = 0; dim < largest.size(); ++dim) {
      text.append(dim == 0 ? "" : ", ");
      const uint32_t i = find(numbers, static_cast<int32_t>(input), static_cast<int32_t>(dim));
      if (i < count_of(&numbers)) {
        append(text, DynamicSize(numbers, i), largest.Get(dim));
      } else {
        append(text, largest.Get(dim));
      }
    }
    text.append(largest.size() == 1 ? ",)" : ")");
  }

  const char* text() const { return text_; }

 private:
  /// For each dimension a separator and, at most, two sizes, a factor and an offset of 11 characters.
  char text_[kTensorDimensionLimit * 56];
};

void log_refused_sizes(const ExecutionPlan& plan, size_t index, const Tensor& input, const Tensor& found) {
  const Numbers& largest = sizes_of(plan, index);
  const auto found_text = tensor_shape_to_c_string(Span<const SizesType>(found.sizes().data(), found.sizes().size()));
  if (plan.dynamic_sizes() != nullptr && shape_dynamism_of(input) != TensorShapeDynamism::STATIC) {
    const ExpectedSizes expected(*plan.dynamic_sizes(), largest, index);
    ET_LOG(Error,
           "Input %zu must have sizes %s, found %s: export with a dynamic shape of other bounds to give it these",
           index, expected.text(), found_text.data());
    return;
  }
  const bool is_static = shape_dynamism_of(input) == TensorShapeDynamism::STATIC;
  const auto expected = tensor_shape_to_c_string(Span<const int32_t>(largest.data(), largest.size()));
  ET_LOG(Error, "Input %zu must have %s %s, found %s: export with %s to give it these", index,
         is_static ? "sizes" : "at most the sizes", expected.data(), found_text.data(),
         is_static ? "a dynamic shape" : "a larger upper bound");
}

/// The current size to which an entry refers; -1 if the application has replaced the input by another value.
int64_t current_size(const ExecutionPlan& plan, const EValue* values, const DynamicSize& size) {
  const EValue& value = values[plan.inputs()->Get(static_cast<uint32_t>(size.input))];
  if (!value.isTensor() || value.toTensor().dim() <= size.dim) {
    return -1;
  }
  return value.toTensor().sizes()[static_cast<size_t>(size.dim)];
}

}  // namespace

Error validate_dynamic_sizes(const ExecutionPlan& plan) {
  const Numbers* const numbers = plan.dynamic_sizes();
  const char* const name = plan.name()->c_str();
  ET_CHECK_PROGRAM(size_of(numbers) % kNumbersPerSize == 0,
                   "Method '%s': the dynamic sizes are %" PRIu32 " numbers, no multiple of %" PRIu32, name,
                   size_of(numbers), kNumbersPerSize);
  for (uint32_t i = 0; i < count_of(numbers); ++i) {
    const DynamicSize size(*numbers, i);
    const auto input = static_cast<uint32_t>(size.input);
    const auto* tensor = input >= size_of(plan.inputs())
                             ? nullptr
                             : plan.values()->Get(static_cast<uint32_t>(plan.inputs()->Get(input)))->val_as_Tensor();
    const bool is_dimension = tensor != nullptr && static_cast<uint32_t>(size.dim) < size_of(tensor->sizes());
    // Because the entries are sorted, each dimension is unique and is found quickly.
    ET_CHECK_PROGRAM(is_dimension && (i == 0 || is_before(*numbers, i - 1, size.input, size.dim)),
                     "Method '%s': dynamic size %" PRIu32 " is of dimension %" PRId32 " of input %" PRId32
                     ", which is absent or out of order",
                     name, i, size.dim, size.input);
    ET_CHECK_PROGRAM(size.least >= 0 && size.factor > 0 && size.factor <= kLargestTerm &&
                         size.offset >= -kLargestTerm && size.offset <= kLargestTerm &&
                         static_cast<uint32_t>(size.first) <= i,
                     "Method '%s': dynamic size %" PRIu32 " is at least %" PRId32 ", %" PRId32 " * n + %" PRId32
                     " with the n of entry %" PRId32,
                     name, i, size.least, size.factor, size.offset, size.first);
  }
  return Error::Ok;
}

Error check_input_sizes(const ExecutionPlan& plan, size_t index, const Tensor& input, const Tensor& found) {
  if (accepts_sizes(plan, index, input, found)) {
    return Error::Ok;
  }
  if constexpr (ET_LOG_ENABLED) {
    log_refused_sizes(plan, index, input, found);
  }
  return Error::InvalidArgument;
}

Error check_shared_sizes(const ExecutionPlan& plan, const EValue* values) {
  const Numbers* const numbers = plan.dynamic_sizes();
  for (uint32_t i = 0; i < count_of(numbers); ++i) {
    const DynamicSize size(*numbers, i);
    if (static_cast<uint32_t>(size.first) == i) {
      continue;
    }
    const DynamicSize first(*numbers, static_cast<uint32_t>(size.first));
    const int64_t found = current_size(plan, values, size);
    const int64_t known = current_size(plan, values, first);
    ET_CHECK_OR_RETURN_ERROR(
        found < 0 || known < 0 || (found - size.offset) * first.factor == (known - first.offset) * size.factor,
        InvalidArgument,
        "Input %" PRId32 " must have size %" PRId64 " in dimension %" PRId32 ", because input %" PRId32 " has %" PRId64
        " in dimension %" PRId32 " and the model was exported with one dynamic size for both; found %" PRId64,
        size.input, (known - first.offset) / first.factor * size.factor + size.offset, size.dim, first.input, known,
        first.dim, found);
  }
  return Error::Ok;
}

}  // namespace internal
}  // namespace runtime
}  // namespace executorch
