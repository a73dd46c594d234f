// SPDX-License-Identifier: BSD-3-Clause
// Convolutions of 8-bit integers. A block multiplies the windows of several pixels, copied as int16, by the weights of
// several outputs. Convolutions with few outputs in a group add filtered lines of the input, and depthwise convolutions
// with channels last filtered pixels.
#pragma once

#include <cstring>

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
    const int64_t taps = w.kernel[0] * w.kernel[1], depth = taps * w.inputs_of_group();
    if (!is_narrow<T, W>(x_zero, w_zero) || depth > kNarrowSum) {
      return false;
    }
    const bool is_small = has_narrow_results(depth, biases, w.outputs);
    if (w.is_last() && w.inputs_of_group() == 1 && w.outputs_of_group() == 1) {
      if (taps <= kTaps) {
        store_depthwise(is_small);
      }
      return taps <= kTaps;
    }
    const bool has_lines = w.in.x == 1 && line_of(1) <= kLine;
    if (w.outputs_of_group() > kFewOutputs && w.weight.outer == depth && (has_lines || w.is_last())) {
      for (int64_t group = 0; group < w.batch * w.groups; ++group) {
        store_blocks(group / w.groups, group % w.groups, depth, is_small);
      }
      return true;
    }
    if (w.outputs_of_group() <= kFewOutputs && has_lines && w.out.x == 1 && line_of(kLanes) <= kLine &&
        w.weight.x == 1) {
      store_lines(is_small);
      return true;
    }
    return false;
  }

 private:
  static constexpr int64_t kFewOutputs = 3;
  static constexpr int64_t kLine = 256;
  static constexpr int64_t kTile = 4 * kLanes;
  static constexpr int64_t kLines = 4;
  static constexpr int64_t kTaps = 32;
  static constexpr int64_t kChannels = 32;

  bool is_inside(int64_t d, int64_t place) const { return place >= 0 && place < w.sizes[d]; }
  int64_t place(int64_t d, int64_t result, int64_t tap) const {
    return result * w.stride[d] - w.padding[d] + tap * w.dilation[d];
  }
  // The elements of a line of the input that a line of `pixels` results needs.
  int64_t line_of(int64_t pixels) const { return (pixels - 1) * w.stride[1] + (w.kernel[1] - 1) * w.dilation[1] + 1; }
  static int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }
  static int64_t clamp(int64_t value, int64_t low, int64_t high) {
    return value < low ? low : value < high ? value : high;
  }

  T* at(int64_t n, int64_t y, int64_t x, int64_t output) const {
    return results + n * w.out.outer + y * w.out.y + x * w.out.x + output * w.out.channel;
  }

  // Adjacent results are the rows of a block: pixels if channels are first, outputs if they are last.
  void store_blocks(int64_t n, int64_t group, int64_t depth, bool is_small) const {
    const bool has_adjacent_pixels = w.out.x == 1;
    const int64_t pixels = w.results[0] * w.results[1], outputs = w.outputs_of_group();
    const int64_t rows = has_adjacent_pixels ? pixels : outputs, columns = has_adjacent_pixels ? outputs : pixels;
    const T* const image = input + n * w.in.outer + group * w.inputs_of_group() * w.in.channel;
    const int64_t first_output = group * outputs;
    const int32_t zero = static_cast<int32_t>(w_zero);
    Block block;
    for (int64_t row = 0; row < rows; row += Block::kRows) {
      const int64_t row_count = smaller(rows - row, Block::kRows);
      for (int64_t column = 0; column < columns; column += Block::kColumns) {
        const int64_t column_count = smaller(columns - column, Block::kColumns);
        const auto copy_weights = [&](int64_t output, int64_t start, int64_t count, int16_t* to) {
          less_zero_point(weights + (first_output + output) * depth + start, 1, zero, count, to);
        };
        if (has_adjacent_pixels) {
          block.multiply(
              row_count, column_count, depth,
              [&](int64_t start, int64_t count, int16_t* to) { copy_windows(image, row, row_count, start, count, to); },
              [&](int64_t output, int64_t start, int64_t count, int16_t* to) {
                copy_weights(column + output, start, count, to);
              });
          for (int64_t c = 0; c < column_count; ++c) {
            const int64_t output = first_output + column + c;
            const int32_t bias = biases[output];
            store_sums(
                quantize, block.sums(c), [=](int64_t) { return bias; }, is_small, bias_scale, row_count,
                at(n, 0, row, output));
          }
          continue;
        }
        block.multiply(
            row_count, column_count, depth,
            [&](int64_t start, int64_t count, int16_t* to) {
              for (int64_t r = 0; r < row_count; ++r) {
                copy_weights(row + r, start, count, to + r * Block::kDepth);
              }
            },
            [&](int64_t pixel, int64_t start, int64_t count, int16_t* to) {
              copy_windows(image, column + pixel, 1, start, count, to);
            });
        const int32_t* const first_bias = biases + first_output + row;
        for (int64_t c = 0; c < column_count; ++c) {
          store_sums(
              quantize, block.sums(c), [=](int64_t i) { return first_bias[i]; }, is_small, bias_scale, row_count,
              at(n, 0, column + c, first_output + row));
        }
      }
    }
  }

  // Copies a part of the windows of adjacent results to rows, in the order of the weights.
  void copy_windows(const T* image, int64_t pixel, int64_t pixels, int64_t start, int64_t count, int16_t* to) const {
    int64_t y = pixel / w.results[1], x = pixel % w.results[1];
    while (pixels > 0) {
      int64_t done = 1;
      if (w.is_last()) {
        copy_window(image, y, x, start, count, to);
      } else {
        done = smaller(smaller(pixels, w.results[1] - x), (kLine - line_of(1)) / w.stride[1] + 1);
        copy_lines(image, y, x, done, start, count, to);
      }
      to += done * Block::kDepth;
      pixels -= done;
      x += done;
      if (x == w.results[1]) {
        x = 0;
        ++y;
      }
    }
  }

  // A window of an image with channels last: runs of channels.
  void copy_window(const T* image, int64_t y, int64_t x, int64_t start, int64_t count, int16_t* to) const {
    const int64_t run = w.inputs_of_group();
    int64_t skipped = start % run, ky = start / run / w.kernel[1], kx = start / run % w.kernel[1];
    for (int64_t done = 0; done < count;) {
      const int64_t size = smaller(run - skipped, count - done);
      const int64_t in_y = place(0, y, ky), in_x = place(1, x, kx);
      if (is_inside(0, in_y) && is_inside(1, in_x)) {
        less_zero_point(image + in_y * w.in.y + in_x * w.in.x + skipped, 1, static_cast<int32_t>(x_zero), size,
                        to + done);
      } else {
        fill_zeros(to + done, size);
      }
      done += size;
      skipped = 0;
      if (++kx == w.kernel[1]) {
        kx = 0;
        ++ky;
      }
    }
  }

  // The windows of adjacent pixels of an image with channels first: they share lines.
  void copy_lines(const T* image, int64_t y, int64_t x, int64_t pixels, int64_t start, int64_t count,
                  int16_t* to) const {
    int16_t line[kLine + kLanes];
    int64_t kx = start % w.kernel[1];
    int64_t ky = start / w.kernel[1] % w.kernel[0], channel = start / w.kernel[1] / w.kernel[0];
    const int64_t step = w.stride[1];
    for (int64_t done = 0; done < count;) {
      const int64_t end = smaller(w.kernel[1], kx + count - done);
      copy_line(image + channel * w.in.channel, place(0, y, ky), place(1, x, 0), line_of(pixels), line);
      for (; kx < end; ++kx, ++done) {
        const int16_t* const values = line + kx * w.dilation[1];
        for (int64_t pixel = 0; pixel < pixels; ++pixel) {
          to[pixel * Block::kDepth + done] = values[pixel * step];
        }
      }
      kx = 0;
      if (++ky == w.kernel[0]) {
        ky = 0;
        ++channel;
      }
    }
  }

  // A part of a line of the input, with zeros for the padding. `line` has room for kLanes elements more, so that short
  // paddings are filled without a loop.
  void copy_line(const T* plane, int64_t in_y, int64_t in_x, int64_t count, int16_t* line) const {
    const int64_t first = is_inside(0, in_y) ? clamp(-in_x, 0, count) : count;
    const int64_t last = clamp(w.sizes[1] - in_x, first, count);
    fill_padding(line, first);
    if (first < last) {
      less_zero_point(plane + in_y * w.in.y + in_x + first, 1, static_cast<int32_t>(x_zero), last - first,
                      line + first);
    }
    fill_padding(line + last, count - last);
  }

  static void fill_padding(int16_t* to, int64_t count) {
    if (count > kLanes) {
      fill_zeros(to, count);
    } else if (count > 0) {
      fill_zeros(to, kLanes);
    }
  }

  // Channels first: tiles of a line of results, of all outputs of a group.
  void store_lines(bool is_small) const {
    int64_t tile = kTile;
    while (line_of(tile) > kLine) {
      tile -= kLanes;
    }
    for (int64_t n = 0; n < w.batch; ++n) {
      for (int64_t group = 0; group < w.groups; ++group) {
        for (int64_t y = 0; y < w.results[0]; y += kLines) {
          for (int64_t x = 0; x < w.results[1]; x += tile) {
            store_tile(n, group, y, x, smaller(w.results[1] - x, tile), is_small);
          }
        }
      }
    }
  }

  // Up to kLines lines of results. Each line of the input is copied once for all of them.
  void store_tile(int64_t n, int64_t group, int64_t y, int64_t x, int64_t pixels, bool is_small) const {
    const int64_t inputs = w.inputs_of_group(), outputs = w.outputs_of_group();
    const int64_t padded = (pixels + kLanes - 1) / kLanes * kLanes;  // whole vectors, of which some are not used
    const int64_t lines = smaller(w.results[0] - y, kLines);
    const int64_t first = place(0, y, 0), last = place(0, y + lines - 1, w.kernel[0] - 1);
    int16_t line[kLine + kLanes];
    int32_t sums[kFewOutputs * kLines * kTile];
    for (int64_t i = 0; i < outputs * kLines * kTile; ++i) {
      sums[i] = 0;
    }
    for (int64_t channel = 0; channel < inputs; ++channel) {
      const T* const plane = input + n * w.in.outer + (group * inputs + channel) * w.in.channel;
      for (int64_t in_y = first > 0 ? first : 0; in_y <= last && in_y < w.sizes[0]; ++in_y) {
        bool is_copied = false;
        for (int64_t l = 0; l < lines; ++l) {
          const int64_t offset = in_y - place(0, y + l, 0);
          const int64_t ky = w.dilation[0] == 1 ? offset : offset / w.dilation[0];
          if (offset < 0 || ky >= w.kernel[0] || ky * w.dilation[0] != offset) {
            continue;
          }
          if (!is_copied) {
            copy_line(plane, in_y, place(1, x, 0), line_of(padded), line);
            is_copied = true;
          }
          for (int64_t o = 0; o < outputs; ++o) {
            const W* const taps =
                weights + (group * outputs + o) * w.weight.outer + channel * w.weight.channel + ky * w.weight.y;
            add_filtered_line(line, w.stride[1], taps, static_cast<int32_t>(w_zero), w.kernel[1], w.dilation[1], padded,
                              sums + (o * kLines + l) * kTile);
          }
        }
      }
    }
    T rounded[kTile];
    for (int64_t o = 0; o < outputs; ++o) {
      const int32_t bias = biases[group * outputs + o];
      for (int64_t l = 0; l < lines; ++l) {
        store_sums(
            quantize, sums + (o * kLines + l) * kTile, [=](int64_t) { return bias; }, is_small, bias_scale, padded,
            rounded);
        std::memcpy(at(n, y + l, x, group * outputs + o), rounded, static_cast<size_t>(pixels) * sizeof(T));
      }
    }
  }

  // Channels last: blocks of channels.
  void store_depthwise(bool is_small) const {
    const int64_t taps = w.kernel[0] * w.kernel[1];
    int16_t filters[kTaps][kChannels];
    for (int64_t first = 0; first < w.outputs; first += kChannels) {
      const int64_t count = smaller(w.outputs - first, kChannels);
      for (int64_t tap = 0; tap < taps; ++tap) {
        const int64_t offset = tap / w.kernel[1] * w.weight.y + tap % w.kernel[1] * w.weight.x;
        less_zero_point(weights + first * w.weight.outer + offset, w.weight.outer, static_cast<int32_t>(w_zero), count,
                        filters[tap]);
      }
      for (int64_t n = 0; n < w.batch; ++n) {
        for (int64_t y = 0; y < w.results[0]; ++y) {
          for (int64_t x = 0; x < w.results[1]; ++x) {
            store_channels(n, y, x, first, count, filters, is_small);
          }
        }
      }
    }
  }

  void store_channels(int64_t n, int64_t y, int64_t x, int64_t first, int64_t count,
                      const int16_t (&filters)[kTaps][kChannels], bool is_small) const {
    const T* pixels[kTaps];
    const int16_t* chosen[kTaps];
    int64_t taps = 0;
    for (int64_t ky = 0; ky < w.kernel[0]; ++ky) {
      const int64_t in_y = place(0, y, ky);
      for (int64_t kx = 0; kx < w.kernel[1] && is_inside(0, in_y); ++kx) {
        const int64_t in_x = place(1, x, kx);
        if (is_inside(1, in_x)) {
          pixels[taps] = input + n * w.in.outer + in_y * w.in.y + in_x * w.in.x + first;
          chosen[taps++] = filters[ky * w.kernel[1] + kx];
        }
      }
    }
    int32_t sums[kChannels] = {};
    add_filtered_pixels(pixels, chosen, taps, static_cast<int16_t>(x_zero), count, sums);
    const int32_t* const first_bias = biases + first;
    store_sums(
        quantize, sums, [=](int64_t i) { return first_bias[i]; }, is_small, bias_scale, count, at(n, y, x, first));
  }
};

}  // namespace torch::executor::native::cadence
