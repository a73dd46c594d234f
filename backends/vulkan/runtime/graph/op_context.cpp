// SPDX-License-Identifier: BSD-3-Clause
#include "graph/op_context.h"

#include <algorithm>
#include <cinttypes>
#include <cmath>
#include <cstdio>
#include <cstring>

#include <executorch/runtime/platform/log.h>

#include "graph/host_copy.h"

namespace executorch {
namespace backends {
namespace vulkan {

using runtime::Error;
using runtime::Result;

const char* name_of(Kind kind) {
  return kind == Kind::Float ? "float" : kind == Kind::Half ? "half" : "int";
}

const char* name_of(VkDataType dtype) {
  const char* name = fb_vulkan::EnumNameVkDataType(dtype);
  return name == nullptr ? "unknown" : name;
}

const char* name_of(Value::Type type) {
  constexpr const char* kNames[] = {"null",
                                    "an integer",
                                    "a number",
                                    "a boolean",
                                    "a tensor",
                                    "a list of integers",
                                    "a list of numbers",
                                    "a list of booleans",
                                    "a list of values",
                                    "a text",
                                    "a symbolic integer"};
  return kNames[static_cast<size_t>(type)];
}

uint64_t stored_bytes(VkDataType dtype) {
  switch (dtype) {
    case VkDataType::BOOL:
    case VkDataType::UINT8:
    case VkDataType::INT8:
      return 1;
    case VkDataType::FLOAT16:
      return 2;
    case VkDataType::INT32:
    case VkDataType::FLOAT32:
      return 4;
    case VkDataType::FLOAT64:
    case VkDataType::INT64:
      return 8;
    default:
      return 0;
  }
}

int64_t count_of(const Sizes& sizes) {
  constexpr int64_t kMost = int64_t{1} << 62;
  int64_t count = 1;
  for (const int64_t size : sizes) {
    if (size == 0) {
      return 0;
    }
    if (__builtin_mul_overflow(count, size, &count) || count > kMost) {
      count = kMost;
    }
  }
  return count;
}

bool fit_tensor(const Sizes& sizes) {
  int64_t count = 1;
  for (const int64_t size : sizes) {
    if (size < 0 || size > kMostElements || (count *= std::max<int64_t>(size, 1)) > kMostElements) {
      return false;
    }
  }
  return true;
}

std::string text_of(const Sizes& sizes) {
  std::string text = "[";
  for (size_t i = 0; i < sizes.size(); ++i) {
    text += (i == 0 ? "" : ", ") + std::to_string(sizes[i]);
  }
  return text + "]";
}

Parameters& Parameters::f(double value) {
  const float single = static_cast<float>(value);
  int32_t bits = 0;
  std::memcpy(&bits, &single, sizeof(bits));
  values_.push_back(bits);
  return *this;
}

Parameters& Parameters::array(const std::vector<int64_t>& items, size_t length, int64_t rest) {
  for (size_t j = 0; j < length; ++j) {
    i(j < items.size() ? items[j] : rest);
  }
  return *this;
}

void OpContext::fail(const char* format, ...) {
  if (failed()) {
    return;
  }
  char message[256];
  va_list args;
  va_start(args, format);
  std::vsnprintf(message, sizeof(message), format, args);
  va_end(args);
  ET_LOG(Error, "Vulkan: %s (operator %" PRIu32 "): %s", call_.name, call_.number, message);
  error_ = Error::InvalidProgram;
}

bool OpContext::check(bool condition, const char* format, ...) {
  if (!condition && !failed()) {
    char message[256];
    va_list args;
    va_start(args, format);
    std::vsnprintf(message, sizeof(message), format, args);
    va_end(args);
    fail("%s", message);
  }
  return condition && !failed();
}

bool OpContext::check_iterations(int64_t iterations) {
  return check(iterations <= features().most_iterations,
               "its loops repeat %" PRId64 " times, and the driver '%s' may end them after %" PRId64
               ": use a GPU, or export smaller sizes",
               iterations, features().name.c_str(), features().most_iterations);
}

Value& OpContext::value(int arg) {
  if (failed() || !check(arg >= 0 && arg < num_args(), "it has %d arguments, expected more than %d", num_args(), arg)) {
    return null_;
  }
  return graph_.values_[static_cast<size_t>(call_.args[static_cast<size_t>(arg)])];
}

Tensor& OpContext::tensor(int arg) {
  Value& found = value(arg);
  check(found.type == Value::Type::Tensor, "argument %d is %s, expected a tensor", arg, name_of(found.type));
  return failed() ? nothing_ : *found.tensor;
}

int64_t OpContext::in_32_bits(int64_t number) {
  return check(number >= INT32_MIN && number <= INT32_MAX, "the number %" PRId64 ", expected one of 32 bits", number)
             ? number
             : 0;
}

int64_t OpContext::integer(int arg) {
  return in_32_bits(long_integer(arg));
}

int64_t OpContext::long_integer(int arg) {
  const Value& found = value(arg);
  if (found.type == Value::Type::Double && std::abs(found.real) <= INT32_MAX && found.real == std::trunc(found.real)) {
    return static_cast<int64_t>(found.real);
  }
  check(found.type == Value::Type::Int || found.type == Value::Type::Bool || found.type == Value::Type::SymInt,
        "argument %d is %s, expected an integer", arg, name_of(found.type));
  return failed() ? 0 : found.integer;
}

double OpContext::real(int arg) {
  const Value& found = value(arg);
  return found.type == Value::Type::Double ? found.real : static_cast<double>(long_integer(arg));
}

std::string_view OpContext::text(int arg) {
  const Value& found = value(arg);
  check(found.type == Value::Type::String, "argument %d is %s, expected a text", arg, name_of(found.type));
  return failed() ? std::string_view() : std::string_view(found.text);
}

std::vector<int64_t> OpContext::integers(int arg) {
  const Value& found = value(arg);
  std::vector<int64_t> all;
  switch (found.type) {
    case Value::Type::Null:
      break;
    case Value::Type::Int:
    case Value::Type::SymInt:
      all.push_back(found.integer);
      break;
    case Value::Type::Ints:
    case Value::Type::Bools:
      all = found.integers;
      break;
    case Value::Type::Values:
      for (const int64_t id : found.integers) {
        const Value& item = graph_.values_[static_cast<size_t>(id)];
        check(item.type == Value::Type::Int || item.type == Value::Type::SymInt,
              "argument %d has an item that is %s, expected an integer", arg, name_of(item.type));
        all.push_back(item.integer);
      }
      break;
    default:
      fail("argument %d is %s, expected a list of integers", arg, name_of(found.type));
  }
  check(all.size() <= 64, "argument %d has %zu items, expected at most 64", arg, all.size());
  for (const int64_t number : all) {
    in_32_bits(number);
  }
  return failed() ? std::vector<int64_t>() : all;
}

std::vector<double> OpContext::reals(int arg) {
  const Value& found = value(arg);
  if (found.type == Value::Type::Doubles) {
    return found.reals;
  }
  const std::vector<int64_t> all = integers(arg);
  return std::vector<double>(all.begin(), all.end());
}

std::vector<Tensor*> OpContext::tensors(int arg) {
  const Value& found = value(arg);
  check(found.type == Value::Type::Values, "argument %d is %s, expected a list of tensors", arg, name_of(found.type));
  std::vector<Tensor*> all;
  for (size_t i = 0; !failed() && i < found.integers.size(); ++i) {
    Value& item = graph_.values_[static_cast<size_t>(found.integers[i])];
    check(item.type == Value::Type::Tensor || item.type == Value::Type::Null,
          "argument %d has an item that is %s, expected a tensor", arg, name_of(item.type));
    all.push_back(item.tensor.get());
  }
  return failed() ? std::vector<Tensor*>() : all;
}

int OpContext::wrap(int64_t dim, int rank) {
  const int64_t limit = std::max(rank, 1);
  return check(dim >= -limit && dim < limit, "dimension %" PRId64 " of a tensor with %d dimensions", dim, rank)
             ? static_cast<int>(dim < 0 ? dim + limit : dim)
             : 0;
}

void OpContext::set_integer(int arg, int64_t number) {
  Value& found = value(arg);
  if (check(found.type == Value::Type::SymInt || found.type == Value::Type::Bool || found.type == Value::Type::Int ||
                found.type == Value::Type::Null,
            "argument %d is %s, expected a symbolic integer", arg, name_of(found.type)) &&
      found.type == Value::Type::SymInt) {
    found.integer = number;
  }
}

int64_t OpContext::host_element(int arg, int64_t index) {
  Tensor& source = tensor(arg);
  if (failed()) {
    return 0;
  }
  const int id = call_.args[static_cast<size_t>(arg)];
  for (size_t i = 0; i < graph_.inputs_.size(); ++i) {
    if (graph_.inputs_[i].value != id) {
      continue;
    }
    int64_t number = 0;
    if (!is_loading() &&
        check(index >= 0 && index < source.count(), "element %" PRId64 " of %" PRId64, index, source.count())) {
      check(integer_at(graph_.arguments_[i]->toTensor(), index, &number), "its source holds no integers");
    }
    graph_.host_reads_.push_back({id, index, is_loading() ? INT64_MIN : number});
    return number;
  }
  fail("an integer can be read from inputs of the delegate only, argument %d is computed", arg);
  return 0;
}

bool OpContext::is_loading() const {
  return graph_.arguments_.size() == 0;
}

Sizes OpContext::sizes_of(const Tensor& result, int arg) {
  const Sizes sizes = integers(arg);
  const Value& list = value(arg);
  if (is_loading() && list.type == Value::Type::Values && sizes.size() == result.max_sizes.size()) {
    for (const int64_t id : list.integers) {
      const Value& item = graph_.values_[static_cast<size_t>(id)];
      if (item.type == Value::Type::SymInt && item.integer == 0) {
        return result.max_sizes;
      }
    }
  }
  return sizes;
}

int OpContext::num_uses(const Tensor& tensor) const {
  int uses = 0;
  for (const int id : call_.args) {
    const Value& found = graph_.values_[static_cast<size_t>(id)];
    uses += found.tensor.get() == &tensor ? 1 : 0;
    if (found.type == Value::Type::Values) {
      for (const int64_t item : found.integers) {
        uses += graph_.values_[static_cast<size_t>(item)].tensor.get() == &tensor ? 1 : 0;
      }
    }
  }
  return uses;
}

void OpContext::resize(Tensor& tensor, const Sizes& sizes) {
  // An operator may have computed with the sizes of its arguments.
  if (failed() || tensor.sizes == sizes ||
      !check(num_uses(tensor) <= 1, "its result of sizes %s is also its argument of sizes %s", text_of(sizes).c_str(),
             text_of(tensor.sizes).c_str())) {
    return;
  }
  if (check(sizes.size() <= 8 && fit_tensor(sizes) && count_of(sizes) <= tensor.capacity,
            "its result has the sizes %s, the payload has room for %" PRId64 " elements", text_of(sizes).c_str(),
            tensor.capacity)) {
    tensor.sizes = sizes;
  }
}

Tensor& OpContext::scratch(int number, Kind kind, const Sizes& sizes, int64_t capacity) {
  capacity = std::max(capacity, count_of(sizes));
  auto& all = graph_.scratch_;
  if (failed() || !check(capacity <= kMostElements && fit_tensor(sizes),
                         "it needs %" PRId64 " elements of temporary memory", capacity)) {
    return nothing_;
  }
  if (all.size() <= static_cast<size_t>(number)) {
    all.resize(static_cast<size_t>(number) + 1);
  }
  auto& shared = all[static_cast<size_t>(number)];
  const uint64_t bytes = static_cast<uint64_t>(capacity) * bytes_of(kind);
  if (shared.buffer == nullptr || shared.buffer->size() < bytes) {
    Result<std::unique_ptr<gpu::Buffer>> made = graph_.device_->buffer(bytes, gpu::Device::Use::Gpu);
    if (!made.ok()) {
      fail(made.error());
      return nothing_;
    }
    if (shared.buffer != nullptr) {
      graph_.outgrown_.push_back(std::move(shared.buffer));
    }
    shared.buffer = std::move(made.get());
  }
  temporaries_.push_back(std::make_unique<Tensor>());
  Tensor& tensor = *temporaries_.back();
  tensor.kind = kind;
  tensor.sizes = sizes;
  tensor.max_sizes = sizes;
  tensor.capacity = capacity;
  tensor.buffer = shared.buffer;
  return tensor;
}

gpu::Buffer* OpContext::memory(Tensor& tensor) {
  if (failed()) {
    return nullptr;
  }
  fail_unless_ok(graph_.give_memory(tensor));
  return tensor.buffer.get();
}

void OpContext::run(const std::string& shader_name, std::initializer_list<gpu::Buffer*> buffers,
                    const Parameters& parameters, Threads threads, const std::vector<int32_t>& constants,
                    std::array<uint32_t, 3> local) {
  if (failed()) {
    return;
  }
  const gpu::Shader* shader = find_shader(shader_name);
  if (!check(shader != nullptr, "there is no shader %s for its dtypes", shader_name.c_str())) {
    return;
  }
  std::vector<int32_t> all = {static_cast<int32_t>(local[0]), static_cast<int32_t>(local[1]),
                              static_cast<int32_t>(local[2])};
  all.insert(all.end(), constants.begin(), constants.end());
  Result<gpu::Kernel*> kernel = graph_.device_->kernel(*shader, {all.data(), all.size()});
  if (!kernel.ok()) {
    return fail(kernel.error());
  }
  const int64_t counts[] = {threads.x, threads.y, threads.z};
  std::array<uint32_t, 3> groups{};
  for (size_t i = 0; i < 3; ++i) {
    const int64_t count = (std::max<int64_t>(counts[i], 0) + local[i] - 1) / local[i];
    groups[i] = static_cast<uint32_t>(std::min<int64_t>(count, UINT32_MAX));
  }
  if (linear_) {
    const uint32_t row = 32768;
    if (groups[0] > row) {
      groups[1] = (groups[0] + row - 1) / row;
      groups[0] = row;
    }
  }
  fail_unless_ok(graph_.sequence_->dispatch(*shader, *kernel, {buffers.begin(), buffers.size()}, groups,
                                            {parameters.values().data(), parameters.values().size()}, call_.node_id));
}

}  // namespace vulkan
}  // namespace backends
}  // namespace executorch
