// SPDX-License-Identifier: BSD-3-Clause
// Sums of products, reductions and windows.
#include <limits>
#include <stdexcept>

#include "reference_computation.h"

namespace executorch {
namespace extension {
namespace delegate {

namespace reference {

// --- sums of products ---

/// Adds the bias and stores the sums; `axis` is the axis of the output channels.
static void finish_weighted(Computation& c, const Shape& shape, Elements sums, size_t axis) {
  Elements factors = {1};
  if (c.is_integer()) {
    factors.clear();
    for (const double scale : c.value(c.arg(1)).scales) {
      factors.push_back(c.scale(c.arg(0)) * scale);
    }
  }
  if (c.arg(2).is_ref()) {
    const ReferenceValue& given = c.value(c.arg(2));
    const bool is_stored = c.is_integer() && given.is_quantized;
    const Elements bias = is_stored ? c.operand(c.arg(2)) : c.numbers(c.arg(2));
    const size_t inner = count_of({shape.begin() + axis + 1, shape.end()});
    for (size_t i = 0; i < sums.size(); ++i) {
      const size_t channel = i / inner % bias.size();
      const double unit = factors[factors.size() == 1 ? 0 : channel];
      const double scale = is_stored ? given.scales[given.scales.size() == 1 ? 0 : channel] : 1;
      sums[i] += c.is_integer() ? std::nearbyint(bias[channel] * scale / unit) : bias[channel];
    }
  }
  c.finish_sums(shape, sums, factors, axis);
}

/// Two-dimensional, or one-dimensional with a height of 1.
void convolution(Computation& c) {
  Shape in = c.shape(c.arg(0)), kernel = c.shape(c.arg(1)), out = c.out().shape;
  std::vector<int64_t> stride = c.arg(3).integers(), padding = c.arg(4).integers(), dilation = c.arg(5).integers();
  if (c.arg(6).integer() != 0) {
    throw std::runtime_error("the stand-in has no transposed convolution");
  }
  const Shape result = out;
  if (in.size() == 3) {
    for (Shape* const shape : {&in, &kernel, &out}) {
      shape->insert(shape->begin() + 2, 1);
    }
    stride.insert(stride.begin(), 1);
    padding.insert(padding.begin(), 0);
    dilation.insert(dilation.begin(), 1);
  }
  const Elements x = c.operand(c.arg(0)), w = c.operand(c.arg(1));
  const size_t groups = static_cast<size_t>(c.arg(8).integer()), group_out = out[1] / groups;
  Elements sums(count_of(out));
  size_t at = 0;
  for (size_t n = 0; n < out[0]; ++n) {
    for (size_t o = 0; o < out[1]; ++o) {
      for (size_t i = 0; i < out[2] * out[3]; ++i, ++at) {
        const auto top = static_cast<int64_t>(i / out[3]) * stride[0] - padding[0];
        const auto left = static_cast<int64_t>(i % out[3]) * stride[1] - padding[1];
        for (size_t k = 0; k < kernel[1] * kernel[2] * kernel[3]; ++k) {
          const size_t channel = o / group_out * kernel[1] + k / (kernel[2] * kernel[3]);
          const int64_t row = top + static_cast<int64_t>(k / kernel[3] % kernel[2]) * dilation[0];
          const int64_t column = left + static_cast<int64_t>(k % kernel[3]) * dilation[1];
          if (row >= 0 && row < static_cast<int64_t>(in[2]) && column >= 0 && column < static_cast<int64_t>(in[3])) {
            const size_t place = ((n * in[1] + channel) * in[2] + static_cast<size_t>(row)) * in[3];
            sums[at] += x[place + static_cast<size_t>(column)] * w[o * kernel[1] * kernel[2] * kernel[3] + k];
          }
        }
      }
    }
  }
  finish_weighted(c, result, std::move(sums), 1);
}

void linear(Computation& c) {
  c.rounding = Rounding::Once;  // also in LiteRT, which rounds others twice
  const Elements x = c.operand(c.arg(0)), w = c.operand(c.arg(1));
  const size_t outputs = c.shape(c.arg(1))[0], inputs = c.shape(c.arg(1))[1];
  Elements sums(x.size() / inputs * outputs);
  for (size_t i = 0; i < sums.size(); ++i) {
    for (size_t k = 0; k < inputs; ++k) {
      sums[i] += x[i / outputs * inputs + k] * w[i % outputs * inputs + k];
    }
  }
  finish_weighted(c, c.out().shape, std::move(sums), c.out().shape.size() - 1);
}

void matmul(Computation& c) {
  const Elements a = c.operand(c.arg(0)), b = c.operand(c.arg(1));
  const Shape& second = c.shape(c.arg(1));
  const size_t inner = second[second.size() - 2], columns = second.back();
  const size_t rows = c.shape(c.arg(0))[second.size() - 2];
  Elements sums(a.size() / inner * columns);
  for (size_t i = 0; i < sums.size(); ++i) {
    const size_t batch = i / (rows * columns);
    for (size_t k = 0; k < inner; ++k) {
      sums[i] += a[i / columns * inner + k] * b[(batch * inner + k) * columns + i % columns];
    }
  }
  c.finish_sums(c.out().shape, sums, {c.is_integer() ? c.scale(c.arg(0)) * c.scale(c.arg(1)) : 1});
}

// --- windows and reductions ---

void mean(Computation& c) {
  const Elements x = c.operand(c.arg(0));
  const Shape& shape = c.shape(c.arg(0));
  std::vector<bool> reduced(shape.size(), c.arg(1).is_none() || c.arg(1).list().empty());
  if (!c.arg(1).is_none()) {
    for (const int64_t dim : c.arg(1).integers()) {
      reduced[static_cast<size_t>((dim + static_cast<int64_t>(shape.size())) % static_cast<int64_t>(shape.size()))] =
          true;
    }
  }
  Elements sums(count_of(c.out().shape));
  for (size_t i = 0; i < x.size(); ++i) {
    size_t rest = i, place = 0, step = 1;
    for (size_t d = shape.size(); d-- > 0;) {
      place += reduced[d] ? 0 : rest % shape[d] * step;
      step *= reduced[d] ? 1 : shape[d];
      rest /= shape[d];
    }
    sums[place] += x[i];
  }
  const double count = static_cast<double>(x.size()) / static_cast<double>(sums.size());
  if (!c.is_integer()) {
    for (double& sum : sums) {
      sum /= count;
    }
  }
  c.finish_sums(c.out().shape, sums, {c.is_integer() ? c.scale(c.arg(0)) / count : 1});
}

static int64_t at_or_last(const std::vector<int64_t>& pair, size_t index) {
  return pair.at(std::min(index, pair.size() - 1));
}

struct Window {
  std::vector<int64_t> kernel, stride, padding, dilation;
};

static Window window(const Computation& c) {
  Window w{c.arg(1).integers(), c.arg(1).integers(), c.arg(3).integers(), {1}};
  if (!c.arg(2).is_none() && !c.arg(2).list().empty()) {
    w.stride = c.arg(2).integers();
  }
  return w;
}

/// `visit(sum or largest, element)` for each element of each window, in images with one channel after another.
static void for_windows(const Elements& x, const Shape& in, const Shape& out, const Window& w, Elements& results,
                        void (*visit)(double&, double)) {
  const size_t height = in[in.size() - 2], width = in.back(), out_height = out[out.size() - 2], out_width = out.back();
  for (size_t i = 0; i < results.size(); ++i) {
    const size_t image = i / (out_height * out_width) * height * width;
    for (int64_t k = 0; k < at_or_last(w.kernel, 0) * at_or_last(w.kernel, 1); ++k) {
      const int64_t row = static_cast<int64_t>(i / out_width % out_height) * at_or_last(w.stride, 0) -
                          at_or_last(w.padding, 0) + k / at_or_last(w.kernel, 1) * at_or_last(w.dilation, 0);
      const int64_t column = static_cast<int64_t>(i % out_width) * at_or_last(w.stride, 1) - at_or_last(w.padding, 1) +
                             k % at_or_last(w.kernel, 1) * at_or_last(w.dilation, 1);
      if (row >= 0 && row < static_cast<int64_t>(height) && column >= 0 && column < static_cast<int64_t>(width)) {
        visit(results[i], x[image + static_cast<size_t>(row) * width + static_cast<size_t>(column)]);
      }
    }
  }
}

static void average(Computation& c, const Window& w) {
  Elements sums(count_of(c.out().shape));
  for_windows(c.operand(c.arg(0)), c.shape(c.arg(0)), c.out().shape, w, sums,
              [](double& sum, double element) { sum += element; });
  const double count = static_cast<double>(at_or_last(w.kernel, 0) * at_or_last(w.kernel, 1));
  if (c.is_integer() && c.rounding == Rounding::Twice) {
    // The integers themselves are averaged, with ties away from zero: operand and result have one scale.
    for (double& sum : sums) {
      const double total = sum + count * static_cast<double>(c.value(c.arg(0)).zero_points.at(0));
      sum = std::trunc((total + (total > 0 ? std::floor(count / 2) : -std::floor(count / 2))) / count);
    }
    return c.finish_moved(c.out().shape, sums, c.arg(0));
  }
  if (!c.is_integer()) {
    for (double& sum : sums) {
      sum /= count;
    }
  }
  c.finish_sums(c.out().shape, sums, {c.is_integer() ? c.scale(c.arg(0)) / count : 1});
}

void average_pool(Computation& c) {
  const bool pads = at_or_last(c.arg(3).integers(), 0) != 0 || at_or_last(c.arg(3).integers(), 1) != 0;
  if (c.arg(4).integer() != 0 || (pads && c.arg(5).integer() == 0) || !c.arg(6).is_none()) {
    throw std::runtime_error("the stand-in has average pools with windows of one size only");
  }
  average(c, window(c));
}

void adaptive_average_pool(Computation& c) {
  const Shape &in = c.shape(c.arg(0)), &out = c.out().shape;
  std::vector<int64_t> kernel;
  for (size_t d = 2; d > 0; --d) {
    if (in[in.size() - d] % out[out.size() - d] != 0) {
      throw std::runtime_error("the stand-in has average pools with windows of one size only");
    }
    kernel.push_back(static_cast<int64_t>(in[in.size() - d] / out[out.size() - d]));
  }
  average(c, {kernel, kernel, {0}, {1}});
}

void max_pool(Computation& c) {
  Window w = window(c);
  w.dilation = c.arg(4).integers();
  Elements largest(count_of(c.out().shape), -std::numeric_limits<double>::infinity());
  for_windows(c.movable(c.arg(0)), c.shape(c.arg(0)), c.out().shape, w, largest,
              [](double& most, double element) { most = std::max(most, element); });
  c.finish_moved(c.out().shape, largest, c.arg(0));
}

}  // namespace reference
}  // namespace delegate
}  // namespace extension
}  // namespace executorch
