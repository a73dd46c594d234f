// SPDX-License-Identifier: BSD-3-Clause
#include "reference_graph.h"

#include <cstring>
#include <limits>
#include <stdexcept>

namespace executorch {
namespace extension {
namespace delegate {

namespace {

constexpr char kMagic[] = "NPUREF01";
constexpr size_t kAlignment = 16;

void check(bool fits, const char* what) {
  if (!fits) {
    throw std::runtime_error(std::string("reference payload: ") + what);
  }
}

class Reader {
 public:
  Reader(const uint8_t* data, size_t size) : data_(data), size_(size) {}

  template <typename T>
  T number() {
    T value;
    std::memcpy(&value, take(sizeof(T)), sizeof(T));
    return value;
  }
  std::string text() {
    const size_t size = number<uint16_t>();
    const auto* const start = reinterpret_cast<const char*>(take(size));
    return {start, size};
  }
  /// Reads a number of elements, each of which takes at least one byte.
  size_t count() {
    const size_t found = number<uint32_t>();
    check(found <= size_ - at_, "it is shorter than it announces");
    return found;
  }
  const uint8_t* take(size_t size) {
    check(size <= size_ - at_, "it is truncated");
    at_ += size;
    return data_ + at_ - size;
  }
  size_t at() const { return at_; }

 private:
  const uint8_t* data_;
  size_t size_;
  size_t at_ = 0;
};

ReferenceValue read_value(Reader& reader) {
  ReferenceValue value;
  const auto type = reader.number<uint8_t>(), rank = reader.number<uint8_t>(), flags = reader.number<uint8_t>();
  check(type <= static_cast<uint8_t>(ReferenceType::Float) && flags < 4, "a value has an unknown type");
  value.type = static_cast<ReferenceType>(type);
  for (size_t i = 0; i < rank; ++i) {
    value.shape.push_back(reader.number<uint32_t>());
  }
  if ((flags & 1) != 0) {
    value.is_quantized = true;
    value.axis = reader.number<int32_t>();
    value.low = reader.number<int64_t>();
    value.high = reader.number<int64_t>();
    const size_t count = reader.count();
    check(count == (value.axis == -1 ? 1 : value.shape.at(static_cast<size_t>(value.axis))), "scales do not fit");
    for (size_t i = 0; i < count; ++i) {
      value.scales.push_back(reader.number<double>());
    }
    for (size_t i = 0; i < count; ++i) {
      value.zero_points.push_back(reader.number<int64_t>());
    }
  }
  if ((flags & 2) != 0) {
    value.is_constant = true;
    value.offset = reader.number<uint64_t>();
    value.size = reader.number<uint64_t>();
    check(value.size == value.bytes(), "a constant does not have the size of its shape");
  }
  return value;
}

ReferenceArgument read_argument(Reader& reader, size_t values, int depth) {
  const auto kind = reader.number<uint8_t>();
  switch (kind) {
    case 0:
      return {};
    case 1:
      return {reader.number<uint8_t>() != 0};
    case 2:
      return {reader.number<int64_t>()};
    case 3:
      return {reader.number<double>()};
    case 4: {
      const ReferenceRef ref = {reader.number<uint32_t>()};
      check(ref.value < values, "an argument is not a value");
      return {ref};
    }
    case 5: {
      check(depth < 4, "lists are nested too deeply");
      ReferenceList list;
      for (size_t count = reader.count(); count > 0; --count) {
        list.push_back(read_argument(reader, values, depth + 1));
      }
      return {list};
    }
    case 6:
      return {static_cast<int64_t>(reader.number<uint8_t>())};
    case 7:
      return {reader.text()};
    default:
      throw std::runtime_error("reference payload: an argument has an unknown kind");
  }
}

ReferenceCall read_call(Reader& reader, size_t values) {
  ReferenceCall call;
  call.name = reader.text();
  check(has_operator(call.name), ("the stand-in has no operator " + call.name).c_str());
  const auto flags = reader.number<uint8_t>();
  call.has_low = (flags & 1) != 0;
  call.has_high = (flags & 2) != 0;
  call.low = reader.number<double>();
  call.high = reader.number<double>();
  call.args = std::get<ReferenceList>(read_argument(reader, values, 0).content);
  for (size_t count = reader.count(); count > 0; --count) {
    call.results.push_back(reader.number<uint32_t>());
    check(call.results.back() < values, "a result is not a value");
  }
  return call;
}

float to_float(uint16_t half) {
  const uint32_t sign = half >> 15, exponent = half >> 10 & 31, fraction = half & 1023;
  check(exponent != 31, "a float16 is not finite");
  const float magnitude = exponent == 0 ? static_cast<float>(fraction) / (1 << 24)
                                        : static_cast<float>(1024 + fraction) / (1 << 25) * (1u << exponent);
  return sign != 0 ? -magnitude : magnitude;
}

template <typename T>
std::vector<double> read_as(const void* data, size_t count) {
  std::vector<T> elements(count);
  if (count > 0) {
    std::memcpy(elements.data(), data, count * sizeof(T));
  }
  return {elements.begin(), elements.end()};
}

template <typename T>
void write_as(const std::vector<double>& elements, void* to) {
  for (size_t i = 0; i < elements.size(); ++i) {
    const T element = static_cast<T>(elements[i]);
    std::memcpy(static_cast<uint8_t*>(to) + i * sizeof(T), &element, sizeof(T));
  }
}

std::vector<double> read_elements(const ReferenceValue& value, const void* data) {
  const size_t count = value.bytes() / size_of(value.type);
  switch (value.type) {
    case ReferenceType::Bool:
    case ReferenceType::Byte:
      return read_as<uint8_t>(data, count);
    case ReferenceType::Char:
      return read_as<int8_t>(data, count);
    case ReferenceType::Short:
      return read_as<int16_t>(data, count);
    case ReferenceType::Int:
      return read_as<int32_t>(data, count);
    case ReferenceType::Long:
      return read_as<int64_t>(data, count);
    case ReferenceType::Float:
      return read_as<float>(data, count);
    case ReferenceType::Half: {
      std::vector<double> elements;
      for (const double bits : read_as<uint16_t>(data, count)) {
        elements.push_back(to_float(static_cast<uint16_t>(bits)));
      }
      return elements;
    }
  }
  return {};
}

void write_elements(const ReferenceValue& value, const std::vector<double>& elements, void* to) {
  check(elements.size() * size_of(value.type) == value.bytes(), "a result has another shape than its value");
  switch (value.type) {
    case ReferenceType::Bool:
    case ReferenceType::Byte:
      return write_as<uint8_t>(elements, to);
    case ReferenceType::Char:
      return write_as<int8_t>(elements, to);
    case ReferenceType::Short:
      return write_as<int16_t>(elements, to);
    case ReferenceType::Int:
      return write_as<int32_t>(elements, to);
    case ReferenceType::Long:
      return write_as<int64_t>(elements, to);
    case ReferenceType::Float:
      return write_as<float>(elements, to);
    case ReferenceType::Half:
      throw std::runtime_error("reference payload: the stand-in writes no float16");
  }
}

}  // namespace

size_t size_of(ReferenceType type) {
  constexpr size_t kSizes[] = {1, 1, 1, 2, 4, 8, 2, 4};
  return kSizes[static_cast<size_t>(type)];
}

size_t ReferenceValue::bytes() const {
  size_t bytes = size_of(type);
  for (const size_t size : shape) {
    check(size == 0 || bytes <= (size_t{1} << 31) / size, "a value is too large");
    bytes *= size;
  }
  return bytes;
}

double ReferenceArgument::number() const {
  if (const auto* const integer = std::get_if<int64_t>(&content)) {
    return static_cast<double>(*integer);
  }
  if (const auto* const flag = std::get_if<bool>(&content)) {
    return *flag ? 1 : 0;
  }
  return std::get<double>(content);
}

std::vector<int64_t> ReferenceArgument::integers() const {
  std::vector<int64_t> found;
  for (const ReferenceArgument& each : list()) {
    found.push_back(each.integer());
  }
  return found;
}

ReferenceGraph::ReferenceGraph(const uint8_t* payload, size_t size, Rounding rounding) : rounding_(rounding) {
  Reader reader(payload, size);
  check(std::memcmp(reader.take(8), kMagic, 8) == 0, "it begins with other letters");
  key_ = reader.text();
  const size_t values = reader.count(), calls = reader.count(), inputs = reader.count(), outputs = reader.count();
  for (size_t i = 0; i < values; ++i) {
    values_.push_back(read_value(reader));
  }
  for (size_t i = 0; i < calls; ++i) {
    calls_.push_back(read_call(reader, values));
  }
  for (size_t i = 0; i < inputs + outputs; ++i) {
    const auto value = reader.number<uint32_t>();
    check(value < values, "an input or output is not a value");
    (i < inputs ? inputs_ : outputs_).push_back(value);
  }
  if (key_.empty()) {
    const size_t start = (reader.at() + kAlignment - 1) / kAlignment * kAlignment;
    check(start <= size, "it is truncated");
    own_constants_.assign(payload + start, payload + size);
  }
}

void ReferenceGraph::run(const std::vector<const void*>& inputs, const std::vector<void*>& outputs,
                         const uint8_t* constants, size_t constants_size) const {
  if (key_.empty()) {
    constants = own_constants_.data();
    constants_size = own_constants_.size();
  }
  check(inputs.size() == inputs_.size() && outputs.size() == outputs_.size(), "it has other inputs or outputs");
  std::vector<ReferenceTensor> tensors(values_.size());
  for (size_t i = 0; i < values_.size(); ++i) {
    const ReferenceValue& value = values_[i];
    if (value.is_constant) {
      check(value.offset <= constants_size && value.size <= constants_size - value.offset, "a constant is missing");
      tensors[i] = {value.shape, read_elements(value, constants + value.offset)};
    }
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    const ReferenceValue& value = values_[inputs_[i]];
    tensors[inputs_[i]] = {value.shape, read_elements(value, inputs[i])};
  }
  for (const ReferenceCall& call : calls_) {
    compute(call, values_, tensors, rounding_);
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    write_elements(values_[outputs_[i]], tensors[outputs_[i]].elements, outputs[i]);
  }
}

}  // namespace delegate
}  // namespace extension
}  // namespace executorch
