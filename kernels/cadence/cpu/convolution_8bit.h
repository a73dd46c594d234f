// SPDX-License-Identifier: BSD-3-Clause
// Convolutions of 8-bit integers: several outputs multiply one window of the input, which is copied to a row of int16,
// and depthwise convolutions with channels last compute a block of channels at a time.
#pragma once

#include "kernels/cadence/cpu/dot_products.h"
#include "kernels/cadence/cpu/window.h"

namespace torch::executor::native::cadence {

template <typename T, typename W>
struct Convolution8bit {
  const Window& w;
  const T* input;
  const W* weights;
  int64_t x_zero;
  int64_t w_zero;
  const int32_t* biases;
  float bias_scale;
  const Quantizer<T>& quantize;
  T* results;

  /// Returns false for convolutions that these loops do not accelerate or support.
  bool store() const {
    if (!is_narrow<T, W>(x_zero, w_zero)) {
      return false;
    }
    const int64_t taps = w.kernel[0] * w.kernel[1];
    if (w.is_last() && w.inputs_of_group() == 1 && w.outputs_of_group() == 1) {
      if (taps <= kTaps) {
        store_depthwise();
      }
      return taps <= kTaps;
    }
    const bool is_row = w.weight.outer == taps * w.inputs_of_group();
    if (!is_row || w.outputs_of_group() < kFewOutputs) {
      return false;
    }
    for_each_pixel([&](int64_t n, int64_t y, int64_t x) {
      for (int64_t first = 0; first < w.outputs; first += kOutputs) {
        store_outputs(n, y, x, first);
      }
    });
    return true;
  }

 private:
  // Copying a window costs as much as multiplying it a few times.
  static constexpr int64_t kFewOutputs = 4;
  static constexpr int64_t kOutputs = 64;
  static constexpr int64_t kChunk = 1024;
  static constexpr int64_t kTaps = 32;
  static constexpr int64_t kChannels = 32;

  template <typename Pixel>
  void for_each_pixel(const Pixel& pixel) const {
    for (int64_t n = 0; n < w.batch; ++n) {
      for (int64_t y = 0; y < w.results[0]; ++y) {
        for (int64_t x = 0; x < w.results[1]; ++x) {
          pixel(n, y, x);
        }
      }
    }
  }

  bool is_inside(int64_t d, int64_t place) const { return place >= 0 && place < w.sizes[d]; }
  int64_t place(int64_t d, int64_t result, int64_t tap) const {
    return result * w.stride[d] - w.padding[d] + tap * w.dilation[d];
  }

  float real(int64_t sum, int64_t output) const { return static_cast<float>(sum + biases[output]) * bias_scale; }

  T* at(int64_t n, int64_t y, int64_t x, int64_t output) const {
    return results + n * w.out.outer + y * w.out.y + x * w.out.x + output * w.out.channel;
  }

  // Up to kOutputs outputs of one pixel, in groups that each have their own window.
  void store_outputs(int64_t n, int64_t y, int64_t x, int64_t first) const {
    const int64_t of_group = w.outputs_of_group();
    const int64_t end = first + kOutputs < w.outputs ? first + kOutputs : w.outputs;
    int16_t window[kChunk];
    int64_t sums[kOutputs];
    for (int64_t begin = first; begin < end;) {
      const int64_t next = (begin / of_group + 1) * of_group;
      const int64_t stop = next < end ? next : end;
      sum_group(n, y, x, begin, stop, window, sums + (begin - first));
      begin = stop;
    }
    for (int64_t o = first; o < end; ++o) {
      *at(n, y, x, o) = quantize(real(sums[o - first], o));
    }
  }

  // The sums of outputs of one group.
  void sum_group(int64_t n, int64_t y, int64_t x, int64_t first, int64_t end, int16_t* window, int64_t* sums) const {
    const int64_t length = w.weight.outer;
    const T* const image = input + n * w.in.outer + first / w.outputs_of_group() * w.inputs_of_group() * w.in.channel;
    for (int64_t o = first; o < end; ++o) {
      sums[o - first] = 0;
    }
    for (int64_t start = 0; start < length; start += kChunk) {
      const int64_t count = length - start < kChunk ? length - start : kChunk;
      copy_window(image, y, x, start, count, window);
      for (int64_t o = first; o < end; ++o) {
        sums[o - first] += dot_product(window, weights + o * length + start, static_cast<int32_t>(w_zero), count);
      }
    }
  }

  // Copies a part of the window in the order of the weights, with zeros for the padding: runs of channels where they
  // are last, else runs of columns.
  void copy_window(const T* image, int64_t y, int64_t x, int64_t start, int64_t count, int16_t* window) const {
    const int32_t zero = static_cast<int32_t>(x_zero);
    const int64_t left = place(1, x, 0), room = w.sizes[1] - left;
    const int64_t columns[2] = {left < 0 ? (-left + w.dilation[1] - 1) / w.dilation[1] : 0,
                                room < 0 ? 0 : (room + w.dilation[1] - 1) / w.dilation[1]};
    const int64_t run = w.is_last() ? w.inputs_of_group() : w.kernel[1];
    for (int64_t done = 0; done < count;) {
      const int64_t index = (start + done) / run, skipped = (start + done) % run;
      const int64_t size = run - skipped < count - done ? run - skipped : count - done;
      int16_t* const to = window + done;
      done += size;
      const int64_t in_y = place(0, y, w.is_last() ? index / w.kernel[1] : index % w.kernel[0]);
      const bool has_row = is_inside(0, in_y);
      if (w.is_last()) {
        const int64_t in_x = place(1, x, index % w.kernel[1]);
        if (has_row && is_inside(1, in_x)) {
          less_zero_point(image + in_y * w.in.y + in_x * w.in.x + skipped, 1, zero, size, to);
        } else {
          fill_zeros(to, size);
        }
        continue;
      }
      // The columns inside the image: [first, last).
      const int64_t end = skipped + size;
      const int64_t first = has_row ? clamp(columns[0], skipped, end) : end;
      const int64_t last = has_row ? clamp(columns[1], first, end) : end;
      const int64_t offset = index / w.kernel[0] * w.in.channel + in_y * w.in.y + left + first * w.dilation[1];
      fill_zeros(to, first - skipped);
      less_zero_point(image + (first < last ? offset : 0), w.dilation[1], zero, last - first, to + (first - skipped));
      fill_zeros(to + (last - skipped), end - last);
    }
  }

  static int64_t clamp(int64_t value, int64_t low, int64_t high) {
    return value < low ? low : value < high ? value : high;
  }

  static void fill_zeros(int16_t* to, int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
      to[i] = 0;
    }
  }

  void store_depthwise() const {
    const int64_t taps = w.kernel[0] * w.kernel[1];
    int16_t filters[kTaps][kChannels];
    for (int64_t first = 0; first < w.outputs; first += kChannels) {
      const int64_t count = w.outputs - first < kChannels ? w.outputs - first : kChannels;
      for (int64_t tap = 0; tap < taps; ++tap) {
        const int64_t offset = tap / w.kernel[1] * w.weight.y + tap % w.kernel[1] * w.weight.x;
        less_zero_point(weights + first * w.weight.outer + offset, w.weight.outer, static_cast<int32_t>(w_zero), count,
                        filters[tap]);
      }
      for_each_pixel([&](int64_t n, int64_t y, int64_t x) { store_channels(n, y, x, first, count, filters); });
    }
  }

  void store_channels(int64_t n, int64_t y, int64_t x, int64_t first, int64_t count,
                      const int16_t (&filters)[kTaps][kChannels]) const {
    const int16_t zero = static_cast<int16_t>(x_zero);
    int32_t sums[kChannels] = {};
    for (int64_t ky = 0; ky < w.kernel[0]; ++ky) {
      for (int64_t kx = 0; kx < w.kernel[1]; ++kx) {
        const int64_t in_y = place(0, y, ky), in_x = place(1, x, kx);
        if (!is_inside(0, in_y) || !is_inside(1, in_x)) {
          continue;
        }
        const T* const pixel = input + n * w.in.outer + in_y * w.in.y + in_x * w.in.x + first;
        const int16_t* const filter = filters[ky * w.kernel[1] + kx];
        for (int64_t c = 0; c < count; ++c) {
          const int16_t value = static_cast<int16_t>(pixel[c] - zero);
          sums[c] += static_cast<int32_t>(value) * static_cast<int32_t>(filter[c]);
        }
      }
    }
    T* const place_of_result = at(n, y, x, first);
    for (int64_t c = 0; c < count; ++c) {
      place_of_result[c * w.out.channel] = quantize(real(sums[c], first + c));
    }
  }
};

}  // namespace torch::executor::native::cadence
