// SPDX-License-Identifier: BSD-3-Clause
// Packed weights as vectors, for the instruction set of HWY_TARGET. Each source file that includes this has a copy.
#pragma once

#include <algorithm>

#include "hwy/highway.h"
#include "kernels/llm/cpu/lowbit/packed.h"

HWY_BEFORE_NAMESPACE();
namespace torch::executor::native {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

// A lane of 32 bits belongs to an output: four columns, a sum or a scale. kVectorsOfTile vectors are a tile.
using Tag32 = hn::CappedTag<int32_t, kTileOutputs>;
using TagFloat = hn::Rebind<float, Tag32>;
using TagByte = hn::Repartition<uint8_t, Tag32>;
using TagInt8 = hn::Repartition<int8_t, Tag32>;
using Vec32 = hn::Vec<Tag32>;
using VecFloat = hn::Vec<TagFloat>;
using VecByte = hn::Vec<TagByte>;
using VecInt8 = hn::Vec<TagInt8>;
constexpr int kLanes32 = static_cast<int>(hn::MaxLanes(Tag32()));
constexpr int kVectorsOfTile = static_cast<int>(kTileOutputs) / kLanes32;

// Bytes of a unit before its planes of 2 bits and of 1 bit.
constexpr int kBlock = 64;
template <int kBits>
constexpr int bytes_before_twos() {
  return (kBits & 4) != 0 ? kBlock * static_cast<int>(unit_of(kBits)) / 8 : 0;
}
template <int kBits>
constexpr int bytes_before_ones() {
  return bytes_before_twos<kBits>() + ((kBits & 2) != 0 ? kBlock * static_cast<int>(unit_of(kBits)) / 16 : 0);
}

// Adds bits to bytes: from bit kTo on, part kPart of each byte of a plane of kPlaneBits. The bytes of `below` are less
// than 2^kTo.
template <int kPlaneBits, int kPart, int kTo>
HWY_INLINE VecByte with_part(VecByte below, VecByte plane) {
  constexpr int kShift = kPlaneBits * kPart - kTo;
  if constexpr (HWY_ARCH_ARM && kTo == 0 && kShift + kPlaneBits == 8) {  // Arm has shifts of bytes
    return hn::ShiftRight<kShift>(plane);
  }
  const hn::Repartition<uint16_t, Tag32> d16;
  const auto words = hn::BitCast(d16, plane);
  const VecByte mask = hn::Set(TagByte(), static_cast<uint8_t>(((1 << kPlaneBits) - 1) << kTo));
  if constexpr (kShift > 0) {
    plane = hn::BitCast(TagByte(), hn::ShiftRight<kShift>(words));
  } else if constexpr (kShift < 0) {
    plane = hn::BitCast(TagByte(), hn::ShiftLeft<-kShift>(words));
  }
  if constexpr (HWY_ARCH_ARM && kTo > 0) {  // Arm has an instruction for this
    return hn::BitwiseIfThenElse(mask, plane, below);
  }
  return kTo == 0 ? hn::And(plane, mask) : hn::Or(below, hn::And(plane, mask));
}

/// Four columns, from column 4 * kColumns of a unit on, of the outputs whose bytes begin at `unit`.
template <int kBits, int kColumns>
HWY_INLINE VecByte weights_at(const uint8_t* unit) {
  const TagByte d;
  if constexpr (kBits == 8) {
    return hn::LoadU(d, unit);
  } else {
    constexpr int kTwos = (kBits & 4) != 0 ? 4 : 0, kOnes = kTwos + ((kBits & 2) != 0 ? 2 : 0);  // their first bits
    VecByte result = hn::Zero(d);
    if constexpr ((kBits & 4) != 0) {
      result = with_part<4, kColumns % 2, 0>(result, hn::LoadU(d, unit + kBlock * (kColumns / 2)));
    }
    if constexpr ((kBits & 2) != 0) {
      const auto plane = hn::LoadU(d, unit + bytes_before_twos<kBits>() + kBlock * (kColumns / 4));
      result = with_part<2, kColumns % 4, kTwos>(result, plane);
    }
    if constexpr ((kBits & 1) != 0) {
      const auto plane = hn::LoadU(d, unit + bytes_before_ones<kBits>() + kBlock * (kColumns / 8));
      result = with_part<1, kColumns % 8, kOnes>(result, plane);
    }
    return result;
  }
}

/// Loads vector `vector` of a tile from a row that begins at `row`; 0 past the end of the row.
HWY_INLINE VecFloat load_outputs(const PackedWeights& w, int64_t tile, int vector, const float* row) {
  const int64_t first = tile * kTileOutputs + vector * kLanes32, left = w.rows - first;
  if (left >= kLanes32) {
    return hn::LoadU(TagFloat(), row + first);
  }
  return left > 0 ? hn::LoadN(TagFloat(), row + first, static_cast<size_t>(left)) : hn::Zero(TagFloat());
}

HWY_INLINE void store_outputs(const PackedWeights& w, int64_t tile, int vector, VecFloat numbers, float* row) {
  const int64_t first = tile * kTileOutputs + vector * kLanes32, left = w.rows - first;
  if (left >= kLanes32) {
    hn::StoreU(numbers, TagFloat(), row + first);
  } else if (left > 0) {
    hn::StoreN(numbers, TagFloat(), row + first, static_cast<size_t>(left));
  }
}

/// Subtracts the part of a total that comes from the activations' zero point.
HWY_INLINE VecFloat without_offset(const PackedWeights& w, int64_t tile, int vector, float offset, VecFloat total) {
  if (!w.row_activations) {
    return total;
  }
  const TagFloat df;
  const VecFloat sums = hn::BitCast(df, hn::LoadU(TagByte(), w.tile(tile) + vector * kLanes32 * 4));
  return hn::NegMulAdd(sums, hn::Set(df, offset), total);
}

/// Loads the float16 of vector `vector` of a tile.
HWY_INLINE VecFloat halves_at(const uint8_t* from, int vector) {
  const hn::Rebind<hwy::float16_t, TagFloat> d16;
  const hn::Repartition<uint8_t, decltype(d16)> d8;
  return hn::PromoteTo(TagFloat(), hn::BitCast(d16, hn::LoadU(d8, from + vector * kLanes32 * 2)));
}

/// Loads the float16 of a tile.
HWY_INLINE void load_halves(const uint8_t* from, VecFloat (&to)[kVectorsOfTile]) {
  for (int v = 0; v < kVectorsOfTile; ++v) {
    to[v] = halves_at(from, v);
  }
}

/// Loads the int8 of a tile, and multiplies them by the factors of its block.
HWY_INLINE void load_products(const uint8_t* from, const VecFloat (&factors)[kVectorsOfTile],
                              VecFloat (&to)[kVectorsOfTile]) {
  const hn::Rebind<int8_t, Tag32> d8;
  for (int v = 0; v < kVectorsOfTile; ++v) {
    const auto numbers = hn::LoadU(d8, reinterpret_cast<const int8_t*>(from) + v * kLanes32);
    to[v] = hn::Mul(hn::ConvertTo(TagFloat(), hn::PromoteTo(Tag32(), numbers)), factors[v]);
  }
}

/// Loads the scales or minima of a group of a tile. `factors` are their block's, if it has factors.
HWY_INLINE void load_parameters(const PackedWeights& w, const uint8_t* from, const VecFloat (&factors)[kVectorsOfTile],
                                VecFloat (&to)[kVectorsOfTile]) {
  const TagFloat d;
  if (HWY_LIKELY(w.scale_bytes == kTileOutputs * 2)) {
    load_halves(from, to);
  } else if (w.block_factors) {
    load_products(from, factors, to);
  } else {
    for (int v = 0; v < kVectorsOfTile; ++v) {
      to[v] = hn::BitCast(d, hn::LoadU(TagByte(), from + v * kLanes32 * 4));
    }
  }
}

/// Loads the factors of a block, which begin with those of the scales at `from`.
HWY_INLINE void load_factors(const PackedWeights& w, const uint8_t* from, VecFloat (&scales)[kVectorsOfTile],
                             VecFloat (&minima)[kVectorsOfTile]) {
  for (int v = 0; v < kVectorsOfTile; ++v) {
    scales[v] = halves_at(from, v);
    if (w.has_minima) {
      minima[v] = halves_at(from + kTileOutputs * 2, v);
    }
  }
}

/// Walks the groups of a tile.
struct GroupsOfTile {
  const uint8_t* at;       ///< the scales of a group, after enter()
  const uint8_t* factors;  ///< of its block
  int64_t left_in_block;

  GroupsOfTile(const PackedWeights& w, int64_t tile) : at(w.blocks_of(tile)), factors(at), left_in_block(0) {}
  /// Returns whether a block begins.
  bool enter(const PackedWeights& w) {
    if (left_in_block != 0) {
      return false;
    }
    factors = at;
    at += w.factor_bytes;
    left_in_block = w.block_groups;
    return true;
  }
  const uint8_t* minima(const PackedWeights& w) const { return at + w.scale_bytes; }
  const uint8_t* weights(const PackedWeights& w) const { return at + w.scale_bytes * (w.has_minima ? 2 : 1); }
  void leave(const PackedWeights& w) {
    at += w.group_bytes;
    --left_in_block;
  }
};

// The columns of a tile that are unpacked at a time, for all rows of activations. They stay in the L1 cache.
constexpr int64_t kPanelColumns = 1024;
constexpr int64_t kPanelGroups = 32;
static_assert(kPanelColumns >= kMaxGroup, "a panel has at least a group");

/// Groups of a tile with a byte for each weight and floats for scales and minima.
struct Panel {
  int64_t first;                                            ///< group
  int64_t groups;                                           ///< up to kPanelGroups
  HWY_ALIGN uint8_t weights[kPanelColumns * kTileOutputs];  ///< [column / 4][output][4]
  HWY_ALIGN float scales[kPanelGroups * kTileOutputs];      ///< [group][output]
  HWY_ALIGN float minima[kPanelGroups * kTileOutputs];
};

template <int kBits, int kColumns>
HWY_INLINE void unpack_unit(const uint8_t* unit, uint8_t flipped, uint8_t* to) {
  if constexpr (kColumns < unit_of(kBits) / 4) {
    const TagByte d;
    for (int v = 0; v < kVectorsOfTile; ++v) {
      VecByte weights = weights_at<kBits, kColumns>(unit + v * kLanes32 * 4);
      if constexpr (kBits == 8) {
        weights = hn::Xor(weights, hn::Set(d, flipped));
      }
      hn::StoreU(weights, d, to + kColumns * kBlock + v * kLanes32 * 4);
    }
    unpack_unit<kBits, kColumns + 1>(unit, flipped, to);
  }
}

template <int kBits>
HWY_NOINLINE void unpack_columns(const uint8_t* from, int64_t columns, uint8_t flipped, uint8_t* to) {
  constexpr int64_t kUnit = unit_of(kBits);
  for (int64_t k = 0; k < columns; k += kUnit) {
    unpack_unit<kBits, 0>(from, flipped, to);
    from += kUnit * kTileOutputs * kBits / 8;
    to += kUnit * kTileOutputs;
  }
}

/// Unpacks the next groups of a tile. `flipped`: bits of 8-bit weights that are inverted.
HWY_INLINE void unpack_panel(const PackedWeights& w, uint8_t flipped, GroupsOfTile& from, Panel& panel) {
  constexpr decltype(&unpack_columns<1>) kUnpack[] = {unpack_columns<1>, unpack_columns<2>, unpack_columns<3>,
                                                      unpack_columns<4>, unpack_columns<5>, unpack_columns<6>,
                                                      unpack_columns<7>, unpack_columns<8>};
  const TagFloat df;
  VecFloat factors[kVectorsOfTile], minimum_factors[kVectorsOfTile], scales[kVectorsOfTile], minima[kVectorsOfTile];
  for (int v = 0; v < kVectorsOfTile; ++v) {
    factors[v] = minimum_factors[v] = minima[v] = hn::Zero(df);
  }
  panel.groups = std::min({w.groups - panel.first, kPanelColumns / w.group, kPanelGroups});
  for (int64_t g = 0; g < panel.groups; ++g, from.leave(w)) {
    from.enter(w);
    if (w.block_factors) {
      load_factors(w, from.factors, factors, minimum_factors);
    }
    load_parameters(w, from.at, factors, scales);
    if (w.has_minima) {
      load_parameters(w, from.minima(w), minimum_factors, minima);
    }
    for (int v = 0; v < kVectorsOfTile; ++v) {
      hn::StoreU(scales[v], df, panel.scales + g * kTileOutputs + v * kLanes32);
      hn::StoreU(minima[v], df, panel.minima + g * kTileOutputs + v * kLanes32);
    }
    kUnpack[w.bits - 1](from.weights(w), w.group, flipped, panel.weights + g * w.group * kTileOutputs);
  }
}

}  // namespace
}  // namespace torch::executor::native
HWY_AFTER_NAMESPACE();
