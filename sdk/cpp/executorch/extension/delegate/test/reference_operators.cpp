// SPDX-License-Identifier: BSD-3-Clause
// Operators that compute element by element or move elements, and the table of all operators.
#include <limits>
#include <map>
#include <string>

#include "reference_computation.h"

namespace executorch {
namespace extension {
namespace delegate {

using reference::Computation;
using reference::count_of;
using reference::Elements;
using reference::Shape;

namespace {

// --- element by element ---

/// The elements of an operand, repeated to the shape of the result.
Elements spread(const Elements& elements, const Shape& from, const Shape& to) {
  Elements results(count_of(to));
  for (size_t i = 0; i < results.size(); ++i) {
    size_t rest = i, place = 0, step = 1;
    for (size_t d = 0; d < to.size(); ++d) {
      const size_t index = rest % to[to.size() - 1 - d];
      rest /= to[to.size() - 1 - d];
      if (d < from.size()) {
        const size_t size = from[from.size() - 1 - d];
        place += (size == 1 ? 0 : index) * step;
        step *= size;
      }
    }
    results[i] = elements[place];
  }
  return results;
}

void product(Computation& c) {
  const Shape& shape = c.out().shape;
  Elements a = spread(c.operand(c.arg(0)), c.shape(c.arg(0)), shape);
  const Elements b = spread(c.operand(c.arg(1)), c.shape(c.arg(1)), shape);
  std::transform(a.begin(), a.end(), b.begin(), a.begin(), std::multiplies<double>());
  c.finish_sums(shape, a, {c.is_integer() ? c.scale(c.arg(0)) * c.scale(c.arg(1)) : 1});
}

void sum_of_two(Computation& c, double sign) {
  constexpr int kAligned = 20;
  const Shape& shape = c.out().shape;
  const double factor = sign * c.arg(2).number();
  Elements a = spread(c.operand(c.arg(0)), c.shape(c.arg(0)), shape);
  const Elements b = spread(c.operand(c.arg(1)), c.shape(c.arg(1)), shape);
  if (!c.is_integer()) {
    for (size_t i = 0; i < a.size(); ++i) {
      a[i] += factor * b[i];
    }
    return c.finish_numbers(shape, a);
  }
  const double first = c.scale(c.arg(0)), second = c.scale(c.arg(1)) * factor;
  const double unit = 2 * std::max(std::abs(first), std::abs(second));
  const auto aligned = [&](double element, double scale) {
    return static_cast<double>(c.rescaled(static_cast<int64_t>(element) * (1 << kAligned), scale / unit));
  };
  for (size_t i = 0; i < a.size(); ++i) {
    a[i] = aligned(a[i], first) + aligned(b[i], second);
  }
  c.finish_sums(shape, a, {unit / (1 << kAligned)});
}

void limit(Computation& c) {
  const bool is_relu = c.call.args.size() == 1;
  Elements x = c.movable(c.arg(0));
  if (c.is_integer()) {
    x = c.requantized(x, c.arg(0));
  }
  const auto bound = [&](size_t index, double otherwise) {
    if (is_relu || c.arg(index).is_none()) {
      return is_relu && index == 1 ? (c.is_integer() ? c.limit(0) : 0.0) : otherwise;
    }
    return c.is_integer() ? c.limit(c.arg(index).number()) : c.arg(index).number();
  };
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const double low = bound(1, -kInfinity), high = bound(2, kInfinity);
  for (double& each : x) {
    each = std::min(std::max(each, low), high);
  }
  if (!c.is_integer()) {
    return c.finish_numbers(c.out().shape, x);
  }
  for (double& each : x) {
    each = std::clamp(each, static_cast<double>(c.out().low), static_cast<double>(c.out().high));
  }
  c.store(0, c.out().shape, std::move(x));
}

void unary(Computation& c, double (*function)(double)) {
  Elements x = c.numbers(c.arg(0));
  std::transform(x.begin(), x.end(), x.begin(), function);
  c.finish_numbers(c.out().shape, x);
}

void softmax(Computation& c) {
  Elements x = c.numbers(c.arg(0));
  const Shape& shape = c.shape(c.arg(0));
  const auto rank = static_cast<int64_t>(shape.size());
  const size_t axis = static_cast<size_t>((c.arg(1).integer() + rank) % rank), size = shape[axis];
  const size_t inner = count_of({shape.begin() + axis + 1, shape.end()});
  for (size_t line = 0; line < x.size() / size; ++line) {
    const size_t start = line / inner * inner * size + line % inner;
    double largest = x[start], total = 0;
    for (size_t i = 0; i < size; ++i) {
      largest = std::max(largest, x[start + i * inner]);
    }
    for (size_t i = 0; i < size; ++i) {
      x[start + i * inner] = std::exp(x[start + i * inner] - largest);
      total += x[start + i * inner];
    }
    for (size_t i = 0; i < size; ++i) {
      x[start + i * inner] /= total;
    }
  }
  c.finish_numbers(c.out().shape, x);
}

// --- moves ---

void reshape(Computation& c) {
  c.finish_moved(c.out().shape, c.movable(c.arg(0)), c.arg(0));
}

void permute(Computation& c) {
  const Elements x = c.movable(c.arg(0));
  const Shape& in = c.shape(c.arg(0));
  const std::vector<int64_t> order = c.arg(1).integers();
  Shape strides(in.size(), 1), out, steps;
  for (size_t d = in.size(); d-- > 1;) {
    strides[d - 1] = strides[d] * in[d];
  }
  for (const int64_t dim : order) {
    const auto from = static_cast<size_t>((dim + static_cast<int64_t>(in.size())) % static_cast<int64_t>(in.size()));
    out.push_back(in[from]);
    steps.push_back(strides[from]);
  }
  Elements moved(x.size());
  for (size_t i = 0; i < moved.size(); ++i) {
    size_t rest = i, place = 0;
    for (size_t d = out.size(); d-- > 0;) {
      place += rest % out[d] * steps[d];
      rest /= out[d];
    }
    moved[i] = x[place];
  }
  c.finish_moved(out, moved, c.arg(0));
}

void slice(Computation& c) {
  const Elements x = c.movable(c.arg(0));
  const Shape &in = c.shape(c.arg(0)), &out = c.out().shape;
  const auto rank = static_cast<int64_t>(in.size());
  const auto axis = static_cast<size_t>((c.arg(1).integer() + rank) % rank);
  int64_t start = c.arg(2).is_none() ? 0 : c.arg(2).integer();
  const auto size = static_cast<int64_t>(in[axis]), step = c.arg(4).integer();
  start = std::clamp(start < 0 ? start + size : start, int64_t{0}, size);
  const size_t inner = count_of({in.begin() + axis + 1, in.end()});
  Elements moved(count_of(out));
  for (size_t i = 0; i < moved.size(); ++i) {
    const size_t index = i / inner % out[axis], outer = i / inner / out[axis];
    moved[i] =
        x[(outer * in[axis] + static_cast<size_t>(start + static_cast<int64_t>(index) * step)) * inner + i % inner];
  }
  c.finish_moved(out, moved, c.arg(0));
}

void cat(Computation& c) {
  const Shape& out = c.out().shape;
  const auto rank = static_cast<int64_t>(out.size());
  const auto axis = static_cast<size_t>((c.arg(1).integer() + rank) % rank);
  const size_t inner = count_of({out.begin() + axis + 1, out.end()});
  Elements joined(count_of(out));
  size_t before = 0;
  for (const ReferenceArgument& part : c.arg(0).list()) {
    Elements x = c.movable(part);
    if (c.is_integer()) {
      x = c.requantized(x, part);
    }
    const size_t own = c.shape(part)[axis] * inner;
    for (size_t i = 0; i < x.size(); ++i) {
      joined[i / own * out[axis] * inner + before + i % own] = x[i];
    }
    before += own;
  }
  if (!c.is_integer()) {
    return c.finish_numbers(out, joined);
  }
  c.store(0, out, std::move(joined));
}

const std::map<std::string, std::function<void(Computation&)>>& operators() {
  static const std::map<std::string, std::function<void(Computation&)>> all = {
      {"quantize", [](Computation& c) { c.finish_numbers(c.out().shape, c.numbers(c.arg(0))); }},
      {"dequantize", [](Computation& c) { c.finish_numbers(c.out().shape, c.numbers(c.arg(0))); }},
      {"assume", [](Computation& c) { c.store(0, c.out().shape, c.stored(c.arg(0))); }},
      {"aten.convolution.default", reference::convolution},
      {"aten.linear.default", reference::linear},
      {"aten.bmm.default", reference::matmul},
      {"aten.mm.default", reference::matmul},
      {"aten.add.Tensor", [](Computation& c) { sum_of_two(c, 1); }},
      {"aten.sub.Tensor", [](Computation& c) { sum_of_two(c, -1); }},
      {"aten.mul.Tensor", product},
      {"aten.relu.default", limit},
      {"aten.hardtanh.default", limit},
      {"aten.clamp.default", limit},
      {"aten.sigmoid.default", [](Computation& c) { unary(c, [](double x) { return 1 / (1 + std::exp(-x)); }); }},
      {"aten.tanh.default", [](Computation& c) { unary(c, [](double x) { return std::tanh(x); }); }},
      {"aten._softmax.default", softmax},
      {"aten.mean.dim", reference::mean},
      {"aten.avg_pool2d.default", reference::average_pool},
      {"aten._adaptive_avg_pool2d.default", reference::adaptive_average_pool},
      {"aten.max_pool2d_with_indices.default", reference::max_pool},
      {"aten.view_copy.default", reshape},
      {"aten.squeeze_copy.dims", reshape},
      {"aten.unsqueeze_copy.default", reshape},
      {"aten.clone.default", reshape},
      {"aten.permute_copy.default", permute},
      {"aten.slice_copy.Tensor", slice},
      {"aten.cat.default", cat},
  };
  return all;
}

}  // namespace

bool has_operator(const std::string& name) {
  return operators().count(name) != 0;
}

void compute(const ReferenceCall& call, const std::vector<ReferenceValue>& values,
             std::vector<ReferenceTensor>& tensors, Rounding rounding) {
  Computation computation(call, values, tensors, rounding);
  operators().at(call.name)(computation);
}

}  // namespace delegate
}  // namespace extension
}  // namespace executorch
