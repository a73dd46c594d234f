// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "evaluate.h"

namespace stand_in {

namespace {

void check(bool holds, const char* what) {
  if (!holds) {
    throw std::invalid_argument(what);
  }
}

/// The number of an element of an array.
size_t number_of(const Sizes& at, const Sizes& sizes) {
  long number = 0;
  for (size_t axis = 0; axis < sizes.size(); ++axis) {
    check(at[axis] >= 0 && at[axis] < sizes[axis], "an index lies outside of the array");
    number = number * sizes[axis] + at[axis];
  }
  return static_cast<size_t>(number);
}

/// The coordinates of an element.
Sizes coordinates(size_t number, const Sizes& sizes) {
  Sizes at(sizes.size());
  for (size_t axis = sizes.size(); axis-- > 0;) {
    at[axis] = static_cast<long>(number) % sizes[axis];
    number /= static_cast<size_t>(sizes[axis]);
  }
  return at;
}

/// Returns an array whose elements are those of `x` at the coordinates that `function` returns.
template <typename Function>
Array moved(const Array& x, const Sizes& sizes, Function&& function) {
  Array made = zeros(x.type, sizes);
  for (size_t i = 0; i < made.data.size(); ++i) {
    made.data[i] = x.data[number_of(function(coordinates(i, sizes)), x.sizes)];
  }
  return made;
}

/// The range of a window's elements that are inside of the input.
struct Reach {
  long start, dilation, kernel, size;
  template <typename Function>
  void for_each(Function&& function) const {
    for (long k = 0; k < kernel; ++k) {
      const long place = start + k * dilation;
      if (place >= 0 && place < size) {
        function(k, place);
      }
    }
  }
};

long places(const Window& w, size_t axis, long size) {
  const long before = w.paddings[axis == 0 ? 2 : 0], after = w.paddings[axis == 0 ? 3 : 1];
  const long room = size + before + after - (w.kernel[axis] - 1) * w.dilations[axis] - 1;
  check(room >= 0, "the window is larger than the array");
  long count = room / w.strides[axis] + 1;
  if (w.ceil_mode && room % w.strides[axis] != 0 && count * w.strides[axis] < size + before) {
    ++count;
  }
  return count;
}

Reach reach(const Window& w, size_t axis, long place, long size) {
  return {place * w.strides[axis] - w.paddings[axis == 0 ? 2 : 0], w.dilations[axis], w.kernel[axis], size};
}

}  // namespace

Array reshape(const Array& x, const Sizes& sizes) {
  check(count_of(sizes) == x.data.size(), "a shape has another number of elements");
  return {x.type, sizes, x.data};
}

Array transpose(const Array& x, long a, long b) {
  const auto rank = static_cast<long>(x.sizes.size());
  const auto first = static_cast<size_t>(a < 0 ? a + rank : a), second = static_cast<size_t>(b < 0 ? b + rank : b);
  Sizes sizes = x.sizes;
  std::swap(sizes.at(first), sizes.at(second));
  return moved(x, sizes, [&](Sizes at) {
    std::swap(at[first], at[second]);
    return at;
  });
}

Array broadcast(const Array& x, const Sizes& sizes) {
  check(sizes.size() == x.sizes.size(), "a broadcast keeps the rank");
  for (size_t axis = 0; axis < sizes.size(); ++axis) {
    check(x.sizes[axis] == 1 || x.sizes[axis] == sizes[axis], "the shapes do not broadcast");
  }
  return moved(x, sizes, [&](Sizes at) {
    for (size_t axis = 0; axis < at.size(); ++axis) {
      at[axis] = x.sizes[axis] == 1 ? 0 : at[axis];
    }
    return at;
  });
}

Array concatenate(const Operands& parts, long axis) {
  Sizes sizes = parts.at(0)->sizes;
  const auto dim = static_cast<size_t>(axis);
  sizes.at(dim) = 0;
  std::vector<std::pair<const Array*, long>> owners;
  for (const Array* const part : parts) {
    check(part->type == parts[0]->type && part->sizes.size() == sizes.size(), "parts have one data type and rank");
    for (long i = 0; i < part->sizes[dim]; ++i) {
      owners.emplace_back(part, i);
    }
    sizes[dim] += part->sizes[dim];
  }
  Array made = zeros(parts[0]->type, sizes);
  for (size_t i = 0; i < made.data.size(); ++i) {
    Sizes at = coordinates(i, sizes);
    const auto [part, place] = owners[static_cast<size_t>(at[dim])];
    at[dim] = place;
    made.data[i] = part->data[number_of(at, part->sizes)];
  }
  return made;
}

Array slice(const Array& x, const Sizes& starts, const Sizes& ends, const Sizes& strides) {
  Sizes sizes(x.sizes.size());
  for (size_t axis = 0; axis < sizes.size(); ++axis) {
    sizes[axis] = (ends.at(axis) - starts.at(axis) + strides.at(axis) - 1) / strides[axis];
    check(sizes[axis] > 0, "a slice has elements");
  }
  return moved(x, sizes, [&](Sizes at) {
    for (size_t axis = 0; axis < at.size(); ++axis) {
      at[axis] = starts[axis] + at[axis] * strides[axis];
    }
    return at;
  });
}

Array pad(const Array& x, const Sizes& before, const Sizes& after, double value) {
  Sizes sizes = x.sizes;
  for (size_t axis = 0; axis < sizes.size(); ++axis) {
    sizes[axis] += before.at(axis) + after.at(axis);
  }
  Array made = zeros(x.type, sizes);
  std::fill(made.data.begin(), made.data.end(), rounded(value, x.type));
  for (size_t i = 0; i < x.data.size(); ++i) {
    Sizes at = coordinates(i, x.sizes);
    for (size_t axis = 0; axis < at.size(); ++axis) {
      at[axis] += before[axis];
    }
    made.data[number_of(at, sizes)] = x.data[i];
  }
  return made;
}

Array pixel_shuffle(const Array& x, long block) {
  check(x.sizes.size() == 4, "an image has rank 4");
  const Sizes sizes{x.sizes[0], x.sizes[1] / (block * block), x.sizes[2] * block, x.sizes[3] * block};
  return moved(x, sizes, [&](const Sizes& at) {
    const long channel = (at[1] * block + at[2] % block) * block + at[3] % block;
    return Sizes{at[0], channel, at[2] / block, at[3] / block};
  });
}

Array gather(const Array& x, const Array& index, long axis) {
  check(index.type == (kSigned | 32), "indices are int32");
  const auto dim = static_cast<size_t>(axis);
  Sizes sizes(x.sizes.begin(), x.sizes.begin() + axis);
  sizes.insert(sizes.end(), index.sizes.begin(), index.sizes.end());
  sizes.insert(sizes.end(), x.sizes.begin() + axis + 1, x.sizes.end());
  return moved(x, sizes, [&](const Sizes& at) {
    const auto end = at.begin() + axis + static_cast<long>(index.sizes.size());
    Sizes source(at.begin(), at.begin() + axis);
    source.push_back(static_cast<long>(index.data[number_of(Sizes(at.begin() + axis, end), index.sizes)]));
    source.insert(source.end(), end, at.end());
    return check(dim < x.sizes.size(), "an axis is one of the array"), source;
  });
}

Array scatter(const Array& x, const Array& updates, const Array& index, long axis) {
  const auto dim = static_cast<size_t>(axis);
  Sizes expected = x.sizes;
  expected.at(dim) = static_cast<long>(index.data.size());
  check(index.type == (kSigned | 32) && index.sizes.size() == 1, "indices are a list of int32");
  check(updates.type == x.type && updates.sizes == expected, "updates have the shape of what they replace");
  Array made = x;
  for (size_t i = 0; i < updates.data.size(); ++i) {
    Sizes at = coordinates(i, updates.sizes);
    at[dim] = static_cast<long>(index.data[static_cast<size_t>(at[dim])]);
    made.data[number_of(at, x.sizes)] = updates.data[i];
  }
  return made;
}

Array scatter_along(const Array& x, const Array& updates, const Array& index, long axis) {
  check(index.type == (kSigned | 32) && index.sizes == updates.sizes, "each update has an index of int32");
  check(updates.type == x.type && updates.sizes.size() == x.sizes.size(), "updates have the array's rank");
  Array made = x;
  for (size_t i = 0; i < updates.data.size(); ++i) {
    Sizes at = coordinates(i, updates.sizes);
    at.at(static_cast<size_t>(axis)) = static_cast<long>(index.data[i]);
    made.data[number_of(at, x.sizes)] = updates.data[i];
  }
  return made;
}

Array dequantize(const Array& x, const Array& scales) {
  check(x.type == (kSigned | 4) && x.sizes.size() == 2 && scales.sizes.size() == 2, "weights are a matrix of int4");
  const long group = x.sizes[1] / scales.sizes[1];
  Array made = zeros(kFloat | 16, x.sizes);
  for (size_t i = 0; i < made.data.size(); ++i) {
    const Sizes at = coordinates(i, x.sizes);
    made.data[i] = rounded(x.data[i] * scales.data[number_of({at[0], at[1] / group}, scales.sizes)], made.type);
  }
  return made;
}

Array convolve(const Array& x, const Array& weight, const Window& given) {
  check(x.type == weight.type && x.sizes.size() == 4 && weight.sizes.size() == 4, "a convolution has rank 4");
  check(x.sizes[1] == weight.sizes[1] * given.groups && weight.sizes[0] % given.groups == 0, "channels fit the groups");
  Window w = given;
  w.kernel = {weight.sizes[2], weight.sizes[3]};
  Array made = zeros(x.type, {x.sizes[0], weight.sizes[0], places(w, 0, x.sizes[2]), places(w, 1, x.sizes[3])});
  for (size_t i = 0; i < made.data.size(); ++i) {
    const Sizes at = coordinates(i, made.sizes);
    const long first = at[1] / (weight.sizes[0] / w.groups) * weight.sizes[1];
    double sum = 0;
    for (long channel = 0; channel < weight.sizes[1]; ++channel) {
      reach(w, 0, at[2], x.sizes[2]).for_each([&](long ky, long y) {
        reach(w, 1, at[3], x.sizes[3]).for_each([&](long kx, long column) {
          sum += x.data[number_of({at[0], first + channel, y, column}, x.sizes)] *
                 weight.data[number_of({at[1], channel, ky, kx}, weight.sizes)];
        });
      });
    }
    made.data[i] = rounded(sum, made.type);
  }
  return made;
}

Array pool(const std::string& what, const Array& x, const Window& w) {
  check(x.sizes.size() == 4 && (x.type & kFloat) != 0, "a pooling is of floats of rank 4");
  const Sizes sizes{x.sizes[0], x.sizes[1], places(w, 0, x.sizes[2]), places(w, 1, x.sizes[3])};
  Array made = zeros(what == "place" ? kSigned | 32 : x.type, sizes);
  for (size_t i = 0; i < made.data.size(); ++i) {
    const Sizes at = coordinates(i, sizes);
    double most = -std::numeric_limits<double>::infinity(), sum = 0;
    long place = 0, count = 0;
    reach(w, 0, at[2], x.sizes[2]).for_each([&](long, long y) {
      reach(w, 1, at[3], x.sizes[3]).for_each([&](long, long column) {
        const double value = x.data[number_of({at[0], at[1], y, column}, x.sizes)];
        place = value > most ? y * x.sizes[3] + column : place;
        most = std::max(most, value);
        sum += value;
        ++count;
      });
    });
    const auto divisor = static_cast<double>(w.counts_padding ? w.kernel[0] * w.kernel[1] : count);
    made.data[i] = what == "max" ? most : what == "place" ? static_cast<double>(place) : rounded(sum / divisor, x.type);
  }
  return made;
}

}  // namespace stand_in
