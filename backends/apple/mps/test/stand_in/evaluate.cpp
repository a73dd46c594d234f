// SPDX-License-Identifier: BSD-3-Clause
#include "evaluate.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <stdexcept>

namespace stand_in {

namespace {

[[noreturn]] void refuse(const std::string& why) {
  throw std::invalid_argument(why);
}

size_t bytes_of(uint32_t type) {
  return (type & 0xffff) / 8;
}

Sizes strides_of(const Sizes& sizes) {
  Sizes strides(sizes.size());
  long stride = 1;
  for (size_t axis = sizes.size(); axis-- > 0; stride *= sizes[axis]) {
    strides[axis] = stride;
  }
  return strides;
}

/// Calls `function` with the coordinates of every element, in order.
template <typename Function>
void for_each(const Sizes& sizes, Function&& function) {
  Sizes at(sizes.size());
  for (size_t i = count_of(sizes); i > 0; --i) {
    function(static_cast<const Sizes&>(at));
    for (size_t axis = sizes.size(); axis-- > 0 && ++at[axis] == sizes[axis];) {
      at[axis] = 0;
    }
  }
}

/// The position of an element in an array whose dimensions of size 1 are repeated, and whose first dimensions may be
/// missing.
size_t place_of(const Sizes& at, const Sizes& sizes, const Sizes& strides) {
  long place = 0;
  for (size_t i = 0; i < sizes.size(); ++i) {
    place += sizes[i] == 1 ? 0 : at[at.size() - sizes.size() + i] * strides[i];
  }
  return static_cast<size_t>(place);
}

/// An array whose elements `function` computes from their coordinates.
template <typename Function>
Array make(uint32_t type, const Sizes& sizes, Function&& function) {
  Array made{type, sizes, {}};
  made.data.reserve(count_of(sizes));
  for_each(sizes, [&](const Sizes& at) { made.data.push_back(rounded(function(at), type)); });
  return made;
}

Sizes common_sizes(const Sizes& a, const Sizes& b) {
  Sizes made(std::max(a.size(), b.size()), 1);
  for (const Sizes* const each : {&a, &b}) {
    for (size_t i = 1; i <= each->size(); ++i) {
      long& size = made[made.size() - i];
      const long other = (*each)[each->size() - i];
      if (size != 1 && other != 1 && size != other) {
        refuse("the shapes do not broadcast");
      }
      size = other == 1 ? size : other;
    }
  }
  return made;
}

const Array& float_or_refuse(const Array& x) {
  if ((x.type & kFloat) == 0) {
    refuse("the operation is for floats");
  }
  return x;
}

using Unary = double (*)(double);
const std::map<std::string, Unary> kFloatFunctions = {
    {"exponent", std::exp},
    {"exponentBase2", std::exp2},
    {"reciprocal", [](double x) { return 1 / x; }},
    {"squareRoot", std::sqrt},
    {"logarithm", std::log},
    {"logarithmBase10", std::log10},
    {"logarithmBase2", std::log2},
    {"erf", std::erf},
    {"floor", std::floor},
    {"ceil", std::ceil},
    {"sigmoid", [](double x) { return 1 / (1 + std::exp(-x)); }},
    {"sin", std::sin},
    {"cos", std::cos},
    {"tan", std::tan},
    {"asin", std::asin},
    {"acos", std::acos},
    {"atan", std::atan},
    {"sinh", std::sinh},
    {"cosh", std::cosh},
    {"tanh", std::tanh},
    {"asinh", std::asinh},
    {"acosh", std::acosh},
    {"atanh", std::atanh},
    {"rint", std::rint},
    {"reLU", [](double x) { return x > 0 || std::isnan(x) ? x : 0; }},
};
const std::map<std::string, Unary> kNumberFunctions = {
    {"negative", [](double x) { return -x; }},
    {"absolute", [](double x) { return std::fabs(x); }},
    {"sign", [](double x) { return x > 0   ? 1.
                                   : x < 0 ? -1.
                                           : 0.; }},
};

using Binary = double (*)(double, double);
double smaller(double a, double b) {
  return a < b ? a : b;
}
double larger(double a, double b) {
  return a > b ? a : b;
}
double with_nan(double a, double b, Binary function) {
  return std::isnan(a) || std::isnan(b) ? std::numeric_limits<double>::quiet_NaN() : function(a, b);
}
int64_t whole(double x) {
  return static_cast<int64_t>(x);
}
const std::map<std::string, Binary> kArithmetic = {
    {"addition", [](double a, double b) { return a + b; }},
    {"subtraction", [](double a, double b) { return a - b; }},
    {"multiplication", [](double a, double b) { return a * b; }},
    {"division", [](double a, double b) { return a / b; }},
    {"power", [](double a, double b) { return std::pow(a, b); }},
    {"atan2", [](double a, double b) { return std::atan2(a, b); }},
    {"minimum", smaller},
    {"maximum", larger},
    {"minimumWithNaNPropagation", [](double a, double b) { return with_nan(a, b, smaller); }},
    {"maximumWithNaNPropagation", [](double a, double b) { return with_nan(a, b, larger); }},
};
const std::map<std::string, Binary> kBits = {
    {"bitwiseAND", [](double a, double b) { return static_cast<double>(whole(a) & whole(b)); }},
    {"bitwiseOR", [](double a, double b) { return static_cast<double>(whole(a) | whole(b)); }},
    {"bitwiseXOR", [](double a, double b) { return static_cast<double>(whole(a) ^ whole(b)); }},
};
const std::map<std::string, Binary> kLogic = {
    {"logicalAND", [](double a, double b) { return double(a != 0 && b != 0); }},
    {"logicalOR", [](double a, double b) { return double(a != 0 || b != 0); }},
    {"logicalXOR", [](double a, double b) { return double((a != 0) != (b != 0)); }},
};
const std::map<std::string, Binary> kComparisons = {
    {"equal", [](double a, double b) { return double(a == b); }},
    {"notEqual", [](double a, double b) { return double(a != b); }},
    {"greaterThan", [](double a, double b) { return double(a > b); }},
    {"greaterThanOrEqualTo", [](double a, double b) { return double(a >= b); }},
    {"lessThan", [](double a, double b) { return double(a < b); }},
    {"lessThanOrEqualTo", [](double a, double b) { return double(a <= b); }},
};

}  // namespace

size_t count_of(const Sizes& sizes) {
  size_t count = 1;
  for (const long size : sizes) {
    count *= static_cast<size_t>(size);
  }
  return count;
}

double rounded(double value, uint32_t type) {
  if (type == (kFloat | 32)) {
    return static_cast<float>(value);
  }
  if (type == (kFloat | 16)) {
    return static_cast<double>(static_cast<_Float16>(value));
  }
  if (type == kBool) {
    return value != 0;
  }
  const unsigned bits = type & 0xffff;
  if (bits == 64) {
    return std::trunc(value);
  }
  const int64_t low = whole(value) & ((int64_t{1} << bits) - 1);
  return static_cast<double>((type & kSigned) != 0 && (low >> (bits - 1)) != 0 ? low - (int64_t{1} << bits) : low);
}

Array zeros(uint32_t type, const Sizes& sizes) {
  return {type, sizes, std::vector<double>(count_of(sizes))};
}

Array from_bytes(const void* bytes, size_t size, uint32_t type, const Sizes& sizes) {
  Array made = zeros(type, sizes);
  const auto* const from = static_cast<const uint8_t*>(bytes);
  if (type == (kSigned | 4)) {
    for (size_t i = 0; i < made.data.size(); ++i) {
      const int nibble = i % 2 == 0 ? from[i / 2] & 15 : from[i / 2] >> 4;
      made.data[i] = nibble > 7 ? nibble - 16 : nibble;
    }
    return made;
  }
  if (size < made.data.size() * bytes_of(type)) {
    refuse("there are fewer bytes than the elements need");
  }
  const auto read = [&](auto kind) {
    for (size_t i = 0; i < made.data.size(); ++i) {
      std::memcpy(&kind, from + i * sizeof(kind), sizeof(kind));
      made.data[i] = static_cast<double>(kind);
    }
  };
  switch (type) {
    case kFloat | 32:
      read(float());
      break;
    case kFloat | 16:
      read(_Float16());
      break;
    case kSigned | 64:
      read(int64_t());
      break;
    case kSigned | 32:
      read(int32_t());
      break;
    case kSigned | 16:
      read(int16_t());
      break;
    case kSigned | 8:
      read(int8_t());
      break;
    default:
      read(uint8_t());
  }
  return made;
}

void to_bytes(const Array& array, void* bytes, size_t size) {
  if (size != array.data.size() * bytes_of(array.type)) {
    refuse("the buffer of a result has another size");
  }
  const auto write = [&](auto kind) {
    for (size_t i = 0; i < array.data.size(); ++i) {
      kind = static_cast<decltype(kind)>(array.data[i]);
      std::memcpy(static_cast<uint8_t*>(bytes) + i * sizeof(kind), &kind, sizeof(kind));
    }
  };
  switch (array.type) {
    case kFloat | 32:
      write(float());
      break;
    case kFloat | 16:
      write(_Float16());
      break;
    case kSigned | 64:
      write(int64_t());
      break;
    case kSigned | 32:
      write(int32_t());
      break;
    case kSigned | 16:
      write(int16_t());
      break;
    case kSigned | 8:
      write(int8_t());
      break;
    default:
      write(uint8_t());
  }
}

Array unary(const std::string& name, const Array& x) {
  const auto apply = [&](uint32_t type, auto&& function) {
    Array made{type, x.sizes, x.data};
    for (double& value : made.data) {
      value = rounded(function(value), type);
    }
    return made;
  };
  if (name == "identity") {
    return x;
  }
  if (name == "not") {
    if (x.type != kBool) {
      refuse("not is for bool");
    }
    return apply(kBool, [](double v) { return double(v == 0); });
  }
  if (name == "bitwiseNOT") {
    if ((x.type & kFloat) != 0) {
      refuse("bits are those of integers");
    }
    return apply(x.type, [](double v) { return static_cast<double>(~whole(v)); });
  }
  if (name == "isNaN" || name == "isInfinite") {
    const bool nan = name == "isNaN";
    return float_or_refuse(x), apply(kBool, [&](double v) { return double(nan ? std::isnan(v) : std::isinf(v)); });
  }
  if (const auto found = kNumberFunctions.find(name); found != kNumberFunctions.end() && x.type != kBool) {
    return apply(x.type, found->second);
  }
  if (kFloatFunctions.count(name) == 0) {
    refuse("there is no function " + name + " of this data type");
  }
  return float_or_refuse(x), apply(x.type, kFloatFunctions.at(name));
}

Array binary(const std::string& name, const Array& a, const Array& b) {
  if (a.type != b.type) {
    refuse("the operands have different data types");
  }
  const Sizes strides_a = strides_of(a.sizes), strides_b = strides_of(b.sizes);
  const auto apply = [&](uint32_t type, Binary function) {
    return make(type, common_sizes(a.sizes, b.sizes), [&](const Sizes& at) {
      return function(a.data[place_of(at, a.sizes, strides_a)], b.data[place_of(at, b.sizes, strides_b)]);
    });
  };
  if (const auto found = kComparisons.find(name); found != kComparisons.end()) {
    return apply(kBool, found->second);
  }
  const bool is_bool = a.type == kBool, is_float = (a.type & kFloat) != 0;
  if (const auto found = kLogic.find(name); found != kLogic.end() && is_bool) {
    return apply(kBool, found->second);
  }
  if (const auto found = kBits.find(name); found != kBits.end() && !is_bool && !is_float) {
    return apply(a.type, found->second);
  }
  const auto found = kArithmetic.find(name);
  if (found == kArithmetic.end() || is_bool) {
    refuse("there is no " + name + " of this data type");
  }
  return apply(a.type, found->second);
}

Array select(const Array& condition, const Array& a, const Array& b) {
  if (condition.type != kBool || a.type != b.type) {
    refuse("a choice is by bool, between operands of one data type");
  }
  const Sizes strides[] = {strides_of(condition.sizes), strides_of(a.sizes), strides_of(b.sizes)};
  return make(a.type, common_sizes(condition.sizes, common_sizes(a.sizes, b.sizes)), [&](const Sizes& at) {
    return condition.data[place_of(at, condition.sizes, strides[0])] != 0 ? a.data[place_of(at, a.sizes, strides[1])]
                                                                          : b.data[place_of(at, b.sizes, strides[2])];
  });
}

Array matrix_product(const Array& a, const Array& b) {
  const size_t rank_a = a.sizes.size(), rank_b = b.sizes.size();
  if (a.type != float_or_refuse(b).type || rank_a < 2 || rank_b < 2 || a.sizes[rank_a - 1] != b.sizes[rank_b - 2]) {
    refuse("the matrices cannot be multiplied");
  }
  Sizes sizes = common_sizes(Sizes(a.sizes.begin(), a.sizes.end() - 2), Sizes(b.sizes.begin(), b.sizes.end() - 2));
  const size_t rank = sizes.size() + 2;
  sizes.push_back(a.sizes[rank_a - 2]);
  sizes.push_back(b.sizes[rank_b - 1]);
  const Sizes strides_a = strides_of(a.sizes), strides_b = strides_of(b.sizes);
  return make(a.type, sizes, [&](const Sizes& at) {
    Sizes left = at, right = at;
    left[rank - 1] = right[rank - 2] = 0;
    const size_t row = place_of(left, a.sizes, strides_a), column = place_of(right, b.sizes, strides_b);
    double sum = 0;
    for (long k = 0; k < a.sizes[rank_a - 1]; ++k) {
      sum += a.data[row + static_cast<size_t>(k)] * b.data[column + static_cast<size_t>(k * b.sizes[rank_b - 1])];
    }
    return sum;
  });
}

Array reduce(const std::string& kind, const Array& x, const Sizes& axes) {
  Sizes sizes = x.sizes;
  for (const long axis : axes) {
    sizes.at(static_cast<size_t>(axis)) = 1;
  }
  const Sizes strides = strides_of(sizes);
  const bool most = kind == "max";
  std::vector<double> sums(count_of(sizes), most ? -std::numeric_limits<double>::infinity() : 0), squares = sums;
  size_t i = 0;
  float_or_refuse(x);
  for_each(x.sizes, [&](const Sizes& at) {
    const size_t place = place_of(at, sizes, strides);
    const double value = x.data[i++];
    sums[place] = most ? larger(sums[place], value) : sums[place] + value;
    squares[place] += value * value;
  });
  const auto count = static_cast<double>(x.data.size() / sums.size());
  Array made{x.type, sizes, sums};
  for (size_t place = 0; place < sums.size(); ++place) {
    const double mean = sums[place] / count;
    const double result = kind == "mean"       ? mean
                          : kind == "variance" ? squares[place] / count - mean * mean
                                               : sums[place];
    made.data[place] = rounded(result, x.type);
  }
  return made;
}

Array softmax(const Array& x, long axis) {
  const Array most = reduce("max", x, {axis});
  Array wide = x;
  wide.type = kFloat | 32;
  const Array powers = unary("exponent", binary("subtraction", wide, cast(most, wide.type)));
  return cast(binary("division", powers, reduce("sum", powers, {axis})), x.type);
}

Array cast(const Array& x, uint32_t type) {
  Array made{type, x.sizes, x.data};
  for (double& value : made.data) {
    // Rounds towards zero; the tests do not convert values outside of an integer type's range.
    value = rounded((type & kFloat) != 0 || type == kBool ? value : std::trunc(value), type);
  }
  return made;
}

}  // namespace stand_in
