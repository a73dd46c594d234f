// SPDX-License-Identifier: BSD-3-Clause
// The computation of one call of a reference graph, which the files with the operators use.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "reference_graph.h"

namespace executorch {
namespace extension {
namespace delegate {

namespace reference {

using Elements = std::vector<double>;
using Shape = std::vector<size_t>;

inline size_t count_of(const Shape& shape) {
  return std::accumulate(shape.begin(), shape.end(), size_t{1}, std::multiplies<size_t>());
}

/// sdk.backends.npu.rescale: a factor is multiplier * 2 ** -shift.
struct FixedPoint {
  int64_t multiplier;
  int shift;
};

inline FixedPoint fixed_point(double factor) {
  constexpr int64_t kOne = int64_t{1} << 31;
  int exponent = 0;
  int64_t multiplier = std::llrint(std::frexp(std::abs(factor), &exponent) * static_cast<double>(kOne));
  int shift = 31 - exponent;
  if (multiplier == kOne) {
    multiplier >>= 1;
    --shift;
  }
  if (shift > 62) {
    multiplier >>= std::min(shift - 62, 31);
    shift = 62;
  } else if (shift < 1) {
    multiplier = kOne - 1;
    shift = 1;
  }
  return {factor < 0 ? -multiplier : multiplier, shift};
}

inline int64_t rescaled_once(int64_t sum, double factor) {
  const FixedPoint fixed = fixed_point(factor);
  const int64_t limit = int64_t{1} << (fixed.shift < 24 ? 31 : 47);
  const auto product = static_cast<__int128>(std::clamp(sum, -limit, limit)) * fixed.multiplier;
  return static_cast<int64_t>((product + (static_cast<__int128>(1) << (fixed.shift - 1))) >> fixed.shift);
}

inline int64_t rescaled_twice(int64_t sum, double factor) {
  constexpr int64_t kLow = std::numeric_limits<int32_t>::min(), kHigh = std::numeric_limits<int32_t>::max();
  const FixedPoint fixed = fixed_point(factor);
  const int left = std::max(31 - fixed.shift, 0), right = std::max(fixed.shift - 31, 0);
  const int64_t shifted = std::clamp(std::clamp(sum, kLow, kHigh) * (int64_t{1} << left), kLow, kHigh);
  const int64_t product = shifted * fixed.multiplier;
  const int64_t half = int64_t{1} << 30;
  const int64_t upper = (product + (product < 0 ? 1 - half : half)) / (int64_t{1} << 31);
  const int64_t mask = (int64_t{1} << right) - 1, threshold = (mask >> 1) + (upper < 0 ? 1 : 0);
  return (upper >> right) + ((upper & mask) > threshold ? 1 : 0);
}

/// A call with its operands: as integers if the call is computed in integers, otherwise as real numbers.
class Computation {
 public:
  Computation(const ReferenceCall& call, const std::vector<ReferenceValue>& values,
              std::vector<ReferenceTensor>& tensors, Rounding rounding)
      : call(call), rounding(rounding), values_(values), tensors_(tensors), is_integer_(uses_integers()) {}

  const ReferenceCall& call;
  Rounding rounding;

  int64_t rescaled(int64_t sum, double factor) const {
    return rounding == Rounding::Once ? rescaled_once(sum, factor) : rescaled_twice(sum, factor);
  }
  bool is_integer() const { return is_integer_; }
  const ReferenceArgument& arg(size_t index) const { return call.args.at(index); }
  const ReferenceValue& value(const ReferenceArgument& argument) const { return values_[argument.ref()]; }
  const ReferenceValue& out() const { return values_[call.results.at(0)]; }
  const Shape& shape(const ReferenceArgument& argument) const { return tensors_[argument.ref()].shape; }
  const Elements& stored(const ReferenceArgument& argument) const { return tensors_[argument.ref()].elements; }
  double scale(const ReferenceArgument& argument) const { return value(argument).scales.at(0); }

  /// The integers minus their zero points, or the real numbers.
  Elements operand(const ReferenceArgument& argument) const {
    return is_integer_ ? centred(argument, 0) : numbers(argument);
  }
  /// The real numbers, in float32.
  Elements numbers(const ReferenceArgument& argument) const {
    return value(argument).is_quantized ? centred(argument, 1) : stored(argument);
  }
  /// The elements for operators that only move them: the integers or the real numbers.
  Elements movable(const ReferenceArgument& argument) const {
    return is_integer_ ? stored(argument) : numbers(argument);
  }

  /// Stores sums times `factors`, which are one factor or a factor for each index of `axis`.
  void finish_sums(const Shape& shape, const Elements& sums, const Elements& factors, size_t axis = 0) {
    if (!is_integer_) {
      return finish_numbers(shape, sums);
    }
    const size_t inner = factors.size() == 1 ? sums.size() : count_of({shape.begin() + axis + 1, shape.end()});
    Elements results(sums.size());
    for (size_t i = 0; i < sums.size(); ++i) {
      const double factor = factors[factors.size() == 1 ? 0 : i / inner % factors.size()] / out().scales.at(0);
      results[i] = static_cast<double>(rescaled(static_cast<int64_t>(sums[i]), factor) + out().zero_points.at(0));
    }
    store(0, shape, limited(results));
  }
  /// Stores real numbers, limited and quantized as the call requires.
  void finish_numbers(const Shape& shape, Elements numbers) {
    for (double& number : numbers) {
      number = static_cast<float>(number);
      number = call.has_low ? std::max(number, call.low) : number;
      number = call.has_high ? std::min(number, call.high) : number;
    }
    store(0, shape, out().is_quantized ? quantized(numbers) : numbers);
  }
  /// Stores the moved elements of an operand: integers or real numbers.
  void finish_moved(const Shape& shape, const Elements& moved, const ReferenceArgument& source) {
    if (!is_integer_) {
      return finish_numbers(shape, moved);
    }
    store(0, shape, limited(requantized(moved, source)));
  }
  Elements requantized(const Elements& moved, const ReferenceArgument& source) const {
    const ReferenceValue& from = value(source);
    if (from.scales == out().scales && from.zero_points == out().zero_points) {
      return moved;
    }
    Elements results;
    for (const double each : moved) {
      const int64_t centred = static_cast<int64_t>(each) - from.zero_points.at(0);
      results.push_back(
          static_cast<double>(rescaled(centred, from.scales.at(0) / out().scales.at(0)) + out().zero_points.at(0)));
    }
    return results;
  }
  void store(size_t result, const Shape& shape, Elements elements) {
    tensors_[call.results.at(result)] = {shape, std::move(elements)};
  }
  double limit(double number) const {
    return std::clamp(std::nearbyint(number / out().scales.at(0)) + static_cast<double>(out().zero_points.at(0)),
                      static_cast<double>(out().low), static_cast<double>(out().high));
  }

 private:
  /// sdk.backends.npu.integer.rule_of.
  bool uses_integers() const {
    static const char* const kInFloats[] = {"quantize",          "dequantize",           "assume",
                                            "aten.tanh.default", "aten.sigmoid.default", "aten._softmax.default"};
    for (const char* const name : kInFloats) {
      if (call.name == name) {
        return false;
      }
    }
    const bool has_weight = call.name == "aten.convolution.default" || call.name == "aten.linear.default";
    bool all = out().is_quantized;
    const auto look = [&](const ReferenceArgument& argument, size_t position) {
      if (argument.is_ref() && !(has_weight && position == 2)) {
        const ReferenceValue& operand = value(argument);
        all = all && operand.is_quantized && (operand.axis == -1 || (has_weight && position == 1 && operand.axis == 0));
      }
    };
    for (size_t i = 0; i < call.args.size(); ++i) {
      look(call.args[i], i);
      if (const auto* const list = std::get_if<ReferenceList>(&call.args[i].content)) {
        for (const ReferenceArgument& each : *list) {
          look(each, i);
        }
      }
    }
    return all;
  }

  Elements centred(const ReferenceArgument& argument, int as_numbers) const {
    const ReferenceValue& given = value(argument);
    const Elements& elements = stored(argument);
    const Shape& sizes = shape(argument);
    const size_t inner = given.axis == -1 ? 1 : count_of({sizes.begin() + given.axis + 1, sizes.end()});
    Elements results(elements.size());
    for (size_t i = 0; i < elements.size(); ++i) {
      const size_t channel = given.axis == -1 ? 0 : i / inner % given.scales.size();
      results[i] = elements[i] - static_cast<double>(given.zero_points[channel]);
      if (as_numbers != 0) {
        results[i] = static_cast<float>(results[i]) * static_cast<float>(given.scales[channel]);
      }
    }
    return results;
  }
  Elements limited(Elements results) const {
    const double low = call.has_low ? limit(call.low) : static_cast<double>(out().low);
    const double high = call.has_high ? limit(call.high) : static_cast<double>(out().high);
    for (double& each : results) {
      each = std::clamp(each, low, high);
    }
    return results;
  }
  Elements quantized(Elements numbers) const {
    const auto inverse = static_cast<float>(1.0 / out().scales.at(0));
    for (double& each : numbers) {
      const float rounded = std::nearbyintf(static_cast<float>(each) * inverse);
      each = std::clamp(rounded + static_cast<double>(out().zero_points.at(0)), static_cast<double>(out().low),
                        static_cast<double>(out().high));
    }
    return numbers;
  }

  const std::vector<ReferenceValue>& values_;
  std::vector<ReferenceTensor>& tensors_;
  bool is_integer_;
};

// The operators of reference_sums.cpp.
void convolution(Computation& c);
void linear(Computation& c);
void matmul(Computation& c);
void mean(Computation& c);
void average_pool(Computation& c);
void adaptive_average_pool(Computation& c);
void max_pool(Computation& c);

}  // namespace reference
}  // namespace delegate
}  // namespace extension
}  // namespace executorch
