// SPDX-License-Identifier: BSD-3-Clause
#include "weights.h"

#include <algorithm>
#include <array>
#include <utility>

#include <executorch/runtime/platform/log.h>

namespace executorch {
namespace backends {
namespace ethosu {

using runtime::Error;
using runtime::Result;

namespace {

constexpr uint32_t kEndOfStream = 7;   // a value of the field for a slice's divisor of zero runs
constexpr uint32_t kNoZeroRuns = 6;    // another value of this field
constexpr uint32_t kUncompressed = 7;  // a value of the field for the divisor of weights
constexpr uint32_t kMostDivisor = 5;
constexpr int32_t kMostSymbol = 511;
constexpr int kChunk = 12;                  // symbols of a chunk
constexpr int32_t kMostQuotient = 1 << 24;  // only damaged streams exceed it; more would overflow

class BitReader final {
 public:
  BitReader(const uint8_t* data, size_t size) : data_(data), end_(size * 8) {}

  /// The next bits, the first one lowest; 0 beyond the end.
  uint32_t take(uint32_t count) {
    uint32_t value = 0;
    for (uint32_t i = 0; i < count; ++i, ++at_) {
      if (at_ < end_) {
        value |= static_cast<uint32_t>(data_[at_ / 8] >> (at_ % 8) & 1) << i;
      }
    }
    return value;
  }
  void align() { at_ = (at_ + 7) / 8 * 8; }
  bool is_past_end() const { return at_ > end_; }
  bool is_at_end() const { return at_ >= end_; }

 private:
  const uint8_t* data_;
  size_t end_;
  size_t at_ = 0;
};

/// The palette, which a slice may take over from the previous one.
struct Palette {
  std::array<int32_t, 32> values = {};
  int32_t size = 0;
  int32_t offset = 0;  // of a symbol beyond the palette
  uint32_t bits = 0;
};

/// One of the two sequences of a slice. The quotients of a chunk precede the remainders of the previous chunk.
struct Sequence {
  size_t length;
  uint32_t divisor;
  std::vector<int32_t> symbols;
  size_t quotients = 0;  // read so far
  int32_t carry = 0;
  std::vector<int32_t> pending = {};  // the quotients of the last chunk

  void add_quotient(std::vector<int32_t>& chunk) {
    chunk.push_back(carry);
    carry = 0;
    ++quotients;
  }
  void take_remainders(BitReader& bits) {
    for (const int32_t quotient : pending) {
      if (symbols.size() == length) {
        break;
      }
      symbols.push_back(quotient * (1 << divisor) + static_cast<int32_t>(bits.take(divisor)));
    }
    pending.clear();
  }
};

std::vector<int32_t> take_zero_quotients(BitReader& bits, Sequence& zeros) {
  const uint32_t length = zeros.divisor < 3 ? 12 : 8;
  const uint32_t unary = bits.take(length);
  std::vector<int32_t> chunk;
  for (uint32_t i = 0; i < length; ++i) {
    if ((unary >> i & 1) != 0) {
      zeros.carry = std::min(zeros.carry + 1, kMostQuotient);
    } else {
      zeros.add_quotient(chunk);
    }
  }
  return chunk;
}

/// A symbol of a chunk adds 0, 1 or 2 to its quotient: the first word says which add something, the second which of
/// these add 2. A 2 is continued by the next symbol, unless quotients are truncated.
std::vector<int32_t> take_weight_quotients(BitReader& bits, Sequence& weights, uint32_t first, bool is_truncated,
                                           int symbols) {
  uint32_t ones = 0;
  for (int i = 0; i < symbols; ++i) {
    ones += first >> i & 1;
  }
  uint32_t second = bits.take(ones);
  std::vector<int32_t> chunk;
  for (int i = 0; i < symbols; ++i) {
    int32_t added = 0;
    if ((first >> i & 1) != 0) {
      added = 1 + static_cast<int32_t>(second & 1);
      second >>= 1;
    }
    weights.carry = std::min(weights.carry + added, kMostQuotient);
    if (added < 2 || is_truncated) {
      weights.add_quotient(chunk);
    }
  }
  return chunk;
}

uint32_t bits_of_index(int32_t size) {
  uint32_t bits = 0;
  while ((1 << bits) < size) {
    ++bits;
  }
  return bits;
}

Palette take_palette(BitReader& bits) {
  Palette palette;
  palette.offset = static_cast<int32_t>(bits.take(5));
  palette.size = static_cast<int32_t>(bits.take(5));
  palette.size += palette.size > 0 ? 1 : 0;
  palette.bits = bits.take(3) + 2;
  for (int32_t i = 0; i < palette.size; ++i) {
    palette.values[static_cast<size_t>(i)] = static_cast<int32_t>(bits.take(palette.bits));
  }
  return palette;
}

/// The value of a symbol: its magnitude and, in the lowest bit, its sign.
int16_t value_of(const Palette& palette, int32_t symbol) {
  const int32_t coded =
      symbol < palette.size ? palette.values[static_cast<size_t>(symbol)] : symbol - palette.size + palette.offset;
  const int32_t magnitude = coded >> 1;
  return static_cast<int16_t>((coded & 1) != 0 ? -magnitude : magnitude);
}

/// Reads both sequences of a slice. Neither may be more than eight symbols ahead of the other.
void take_sequences(BitReader& bits, Sequence& weights, Sequence& zeros, bool has_zero_runs, bool is_uncompressed,
                    bool is_truncated) {
  const int symbols = is_uncompressed && weights.divisor > 5 ? 8 : kChunk;
  bool goes_on = true;
  while (goes_on && !bits.is_past_end()) {
    const auto ahead =
        has_zero_runs ? static_cast<int64_t>(weights.quotients) - static_cast<int64_t>(zeros.quotients) : 0;
    const bool takes_weights = ahead < 8 && weights.quotients < weights.length;
    const bool takes_zeros = has_zero_runs && ahead >= 0 && zeros.quotients < zeros.length;
    const uint32_t first = takes_weights && !is_uncompressed ? bits.take(kChunk) : 0;
    std::vector<int32_t> zero_chunk, weight_chunk;
    if (takes_zeros) {
      zero_chunk = take_zero_quotients(bits, zeros);
    }
    if (takes_weights) {
      weight_chunk = take_weight_quotients(bits, weights, first, is_truncated, symbols);
    }
    weights.take_remainders(bits);
    zeros.take_remainders(bits);
    weights.pending = std::move(weight_chunk);
    zeros.pending = std::move(zero_chunk);
    goes_on = takes_weights || takes_zeros;
  }
}

/// Calls `visit(output channel of the core, y, x, input channel)` for each element of the stream, in its order.
/// Elements that only fill a block have coordinates outside of the layout.
template <typename Visit>
void visit_weights(const WeightLayout& layout, int32_t core, const Visit& visit) {
  const int32_t channels = (layout.output_channels + layout.cores - 1 - core) / layout.cores;
  const int32_t block = std::max<int32_t>(1, (layout.output_block_depth + layout.cores - 1 - core) / layout.cores);
  const int32_t inputs = layout.is_depthwise ? 1 : layout.input_channels;
  const int32_t input_block = layout.part_kernel_first || layout.input_bits == 16 ? 16 : 32;
  const int32_t round = layout.is_depthwise ? 4 : !layout.part_kernel_first ? 1 : layout.input_bits == 16 ? 2 : 4;
  const int32_t part_y = 8 / layout.dilation_y, part_x = 8 / layout.dilation_x;
  for (int32_t output = 0; output < channels; output += block) {
    const int32_t outputs = std::min(block, channels - output);
    for (int32_t input = 0; input < inputs; input += input_block) {
      // Depth first: whole blocks of input channels for each element of the kernel. Part kernel first: all elements of
      // the kernel for a few channels.
      const int32_t deep = layout.is_depthwise        ? layout.input_unit_depth
                           : layout.part_kernel_first ? std::min(input_block, inputs - input)
                                                      : input_block;
      const int32_t outer = layout.part_kernel_first ? deep : 1, inner = layout.part_kernel_first ? 1 : deep;
      for (int32_t y = 0; y < layout.height; y += part_y) {
        const int32_t rows = std::min(part_y, layout.height - y);
        for (int32_t x = 0; x < layout.width; x += part_x) {
          const int32_t columns = std::min(part_x, layout.width - x);
          const int32_t elements = (rows * columns + round - 1) / round * round;
          for (int32_t outer_at = 0; outer_at < outer; outer_at += layout.input_unit_depth) {
            for (int32_t unit = 0; unit < outputs; unit += layout.output_unit_depth) {
              for (int32_t element = 0; element < elements; ++element) {
                const int32_t row = element / columns;
                const int32_t kernel_y = row < rows ? y + row : layout.height;
                for (int32_t inner_at = 0; inner_at < inner; inner_at += layout.input_unit_depth) {
                  for (int32_t out = 0; out < layout.output_unit_depth; ++out) {
                    for (int32_t in = 0; in < (layout.is_depthwise ? 1 : layout.input_unit_depth); ++in) {
                      visit(output + unit + out, kernel_y, x + element % columns, input + outer_at + inner_at + in);
                    }
                  }
                }
              }
            }
          }
        }
      }
    }
  }
}

}  // namespace

Result<std::vector<int16_t>> decode_weights(const uint8_t* data, size_t size, size_t count) {
  BitReader bits(data, size);
  std::vector<int16_t> values;
  Palette palette;
  bool is_first = true;
  while (values.size() < count) {
    const uint32_t zero_divisor = bits.take(3);
    if (zero_divisor == kEndOfStream) {
      bits.align();
      is_first = true;
      ET_CHECK_OR_RETURN_ERROR(!bits.is_at_end(), InvalidProgram, "weights end after %zu of %zu elements",
                               values.size(), count);
      continue;
    }
    const bool has_zero_runs = zero_divisor != kNoZeroRuns;
    const size_t length = bits.take(15) + 1;
    uint32_t divisor = bits.take(3);
    const bool is_truncated = bits.take(1) != 0;
    const bool is_new = bits.take(1) != 0;
    const bool is_uncompressed = divisor == kUncompressed;
    ET_CHECK_OR_RETURN_ERROR(
        (zero_divisor <= 3 || !has_zero_runs) && (divisor <= kMostDivisor || is_uncompressed) && (is_new || !is_first),
        InvalidProgram, "the slice of weights behind element %zu has a damaged header", values.size());
    is_first = false;
    if (is_new) {
      palette = take_palette(bits);
    }
    if (is_uncompressed) {
      divisor = palette.size > 0 ? bits_of_index(palette.size) : palette.bits;
    }
    Sequence weights{length, divisor, {}};
    Sequence zeros{length + (is_new ? 1 : 0), has_zero_runs ? zero_divisor : 0, {}};
    take_sequences(bits, weights, zeros, has_zero_runs, is_uncompressed, is_truncated);
    ET_CHECK_OR_RETURN_ERROR(!bits.is_past_end() && weights.symbols.size() == length &&
                                 (!has_zero_runs || zeros.symbols.size() == zeros.length),
                             InvalidProgram, "weights end in a slice behind %zu of %zu elements", values.size(), count);
    // With a new palette, zeros may come before the first weight.
    size_t run = 0;
    const auto add_zeros = [&] {
      if (has_zero_runs) {
        const auto more = static_cast<size_t>(zeros.symbols[run++]);
        values.resize(std::min(count, values.size() + more));
      }
    };
    if (is_new) {
      add_zeros();
    }
    for (const int32_t symbol : weights.symbols) {
      ET_CHECK_OR_RETURN_ERROR(symbol <= kMostSymbol, InvalidProgram, "a weight has the number %d; expected at most %d",
                               static_cast<int>(symbol), static_cast<int>(kMostSymbol));
      if (values.size() == count) {
        break;
      }
      values.push_back(value_of(palette, symbol));
      add_zeros();
    }
  }
  return values;
}

size_t count_weights(const WeightLayout& layout, int32_t core) {
  size_t count = 0;
  visit_weights(layout, core, [&](int32_t, int32_t, int32_t, int32_t) { ++count; });
  return count;
}

void place_weights(const WeightLayout& layout, int32_t core, const std::vector<int16_t>& stream,
                   std::vector<int16_t>& weights) {
  size_t at = 0;
  visit_weights(layout, core, [&](int32_t output, int32_t y, int32_t x, int32_t input) {
    const int16_t value = stream[at++];
    const int32_t channel = output * layout.cores + core;
    if (channel < layout.output_channels && y < layout.height && input < layout.input_channels) {
      const auto row = static_cast<size_t>(channel) * static_cast<size_t>(layout.height) + static_cast<size_t>(y);
      const auto pixel = row * static_cast<size_t>(layout.width) + static_cast<size_t>(x);
      weights[pixel * static_cast<size_t>(layout.input_channels) + static_cast<size_t>(input)] = value;
    }
  });
}

}  // namespace ethosu
}  // namespace backends
}  // namespace executorch
