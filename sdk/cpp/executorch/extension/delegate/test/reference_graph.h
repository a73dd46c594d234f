// SPDX-License-Identifier: BSD-3-Clause
// Computes the reference payloads of sdk.backends.npu, for stand-ins of vendors' libraries in tests: the operators that
// the tests' models have. Slow and simple; tensors are vectors of doubles, which hold float32 and the integers exactly.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace executorch {
namespace extension {
namespace delegate {

/// Numbered as in payloads.
enum class ReferenceType : uint8_t { Bool, Byte, Char, Short, Int, Long, Half, Float };

size_t size_of(ReferenceType type);

struct ReferenceTensor {
  std::vector<size_t> shape;
  std::vector<double> elements;  ///< in the order in which they are stored
};

struct ReferenceValue {
  ReferenceType type = ReferenceType::Float;
  std::vector<size_t> shape;
  bool is_quantized = false;
  int axis = -1;
  int64_t low = 0;
  int64_t high = 0;
  std::vector<double> scales;
  std::vector<int64_t> zero_points;
  bool is_constant = false;
  uint64_t offset = 0;
  uint64_t size = 0;

  size_t bytes() const;
};

struct ReferenceRef {
  uint32_t value;
};
struct ReferenceArgument;
using ReferenceList = std::vector<ReferenceArgument>;
struct ReferenceArgument {
  std::variant<std::monostate, bool, int64_t, double, ReferenceRef, ReferenceList, std::string> content;

  bool is_none() const { return std::holds_alternative<std::monostate>(content); }
  bool is_ref() const { return std::holds_alternative<ReferenceRef>(content); }
  uint32_t ref() const { return std::get<ReferenceRef>(content).value; }
  double number() const;
  int64_t integer() const { return static_cast<int64_t>(number()); }
  const ReferenceList& list() const { return std::get<ReferenceList>(content); }
  std::vector<int64_t> integers() const;
};

struct ReferenceCall {
  std::string name;
  bool has_low = false;
  bool has_high = false;
  double low = 0;
  double high = 0;
  ReferenceList args;
  std::vector<uint32_t> results;
};

/// The rounding of products with fixed-point factors: sdk.backends.npu.rescale.
enum class Rounding { Once, Twice };

class ReferenceGraph {
 public:
  /// Throws std::runtime_error for bytes that are not a reference payload, or with an operator that is not here.
  ReferenceGraph(const uint8_t* payload, size_t size, Rounding rounding = Rounding::Once);

  /// The key of the named data with the constants; "" if the payload contains them.
  const std::string& key() const { return key_; }
  const ReferenceValue& input(size_t index) const { return values_.at(inputs_.at(index)); }
  const ReferenceValue& output(size_t index) const { return values_.at(outputs_.at(index)); }
  size_t input_count() const { return inputs_.size(); }
  size_t output_count() const { return outputs_.size(); }

  /// Reads the bytes of the inputs and writes those of the outputs. `constants` is the named data of key(), or null.
  /// Throws std::runtime_error.
  void run(const std::vector<const void*>& inputs, const std::vector<void*>& outputs, const uint8_t* constants,
           size_t constants_size) const;

 private:
  std::string key_;
  std::vector<ReferenceValue> values_;
  std::vector<ReferenceCall> calls_;
  std::vector<uint32_t> inputs_;
  std::vector<uint32_t> outputs_;
  std::vector<uint8_t> own_constants_;
  Rounding rounding_;
};

/// Whether compute() has an operator.
bool has_operator(const std::string& name);

/// Computes a call. `tensors` are the values, which must include the operands; stores the results there. Throws
/// std::runtime_error.
void compute(const ReferenceCall& call, const std::vector<ReferenceValue>& values,
             std::vector<ReferenceTensor>& tensors, Rounding rounding);

}  // namespace delegate
}  // namespace extension
}  // namespace executorch
