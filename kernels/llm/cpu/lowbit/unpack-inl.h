// SPDX-License-Identifier: BSD-3-Clause
// Packed weights as vectors. Included once for each instruction set.
#include "hwy/highway.h"
#include "kernels/llm/cpu/lowbit/packed.h"
#if HWY_TARGET == HWY_NEON_BF16
#include <arm_neon.h>
#endif

#if defined(ET_LLM_LOWBIT_UNPACK_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef ET_LLM_LOWBIT_UNPACK_INL_H
#undef ET_LLM_LOWBIT_UNPACK_INL_H
#else
#define ET_LLM_LOWBIT_UNPACK_INL_H
#endif

HWY_BEFORE_NAMESPACE();
namespace torch::executor::native::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// A lane of 32 bits is an output: four columns of it, a sum or a scale. kTileVectors32 vectors are a tile.
using Tag32 = hn::CappedTag<int32_t, kTileOutputs>;
using TagFloat = hn::Rebind<float, Tag32>;
using TagByte = hn::Repartition<uint8_t, Tag32>;
using Vec32 = hn::Vec<Tag32>;
using VecFloat = hn::Vec<TagFloat>;
using VecByte = hn::Vec<TagByte>;
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

// Part kPart of each byte of a plane of kPlaneBits, from bit 0 on.
template <int kPlaneBits, int kPart>
HWY_INLINE VecByte part_of(VecByte plane) {
  const hn::Repartition<uint16_t, Tag32> d16;
  const VecByte mask = hn::Set(TagByte(), static_cast<uint8_t>((1 << kPlaneBits) - 1));
  constexpr int kShift = kPlaneBits * kPart;
  return kPart == 0 ? hn::And(plane, mask)
                    : hn::And(hn::BitCast(TagByte(), hn::ShiftRight<kShift>(hn::BitCast(d16, plane))), mask);
}

template <int kShift>
HWY_INLINE VecByte shifted_up(VecByte small) {
  const hn::Repartition<uint16_t, Tag32> d16;
  return hn::BitCast(TagByte(), hn::ShiftLeft<kShift>(hn::BitCast(d16, small)));
}

/// Four columns, from column 4 kColumns of a unit on, of the outputs whose bytes begin at `unit`.
template <int kBits, int kColumns>
HWY_INLINE VecByte weights_at(const uint8_t* unit) {
  const TagByte d;
  if constexpr (kBits == 8) {
    return hn::LoadU(d, unit);
  } else {
    constexpr int kAboveTwos = (kBits & 4) != 0 ? 4 : 0;
    VecByte result = hn::Zero(d);
    if constexpr ((kBits & 4) != 0) {
      result = part_of<4, kColumns % 2>(hn::LoadU(d, unit + kBlock * (kColumns / 2)));
    }
    if constexpr ((kBits & 2) != 0) {
      const VecByte twos =
          part_of<2, kColumns % 4>(hn::LoadU(d, unit + bytes_before_twos<kBits>() + kBlock * (kColumns / 4)));
      result = hn::Or(result, shifted_up<kAboveTwos>(twos));
    }
    if constexpr ((kBits & 1) != 0) {
      constexpr int kAboveOnes = kAboveTwos + ((kBits & 2) != 0 ? 2 : 0);
      const VecByte ones =
          part_of<1, kColumns % 8>(hn::LoadU(d, unit + bytes_before_ones<kBits>() + kBlock * (kColumns / 8)));
      result = hn::Or(result, shifted_up<kAboveOnes>(ones));
    }
    return result;
  }
}

// NEON's dot products take signed bytes: 8-bit weights are then 128 less, and so is their zero point.
constexpr int32_t zero_point_shift(int bits) {
  return HWY_ARCH_ARM && bits == 8 ? 128 : 0;
}

/// sums + the dot products of the four unsigned weights and four signed activations of each lane. Exact.
template <int kBits>
HWY_INLINE Vec32 dot4(VecByte weights, hn::Vec<hn::Repartition<int8_t, Tag32>> activations, Vec32 sums) {
  const Tag32 d;
  const hn::Repartition<int8_t, Tag32> di8;
#if HWY_ARCH_ARM
  const auto weights_i8 = hn::BitCast(di8, kBits == 8 ? hn::Xor(weights, hn::Set(TagByte(), uint8_t{0x80})) : weights);
#if HWY_TARGET == HWY_NEON_BF16
  return Vec32(vdotq_s32(sums.raw, weights_i8.raw, activations.raw));
#else
  return hn::SumOfMulQuadAccumulate(d, weights_i8, activations, sums);
#endif
#elif HWY_ARCH_X86 && (HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3)
  if constexpr (kBits <= 7) {  // 2 * 127 * 128 fits 16 bits
    const hn::Repartition<int16_t, Tag32> d16;
    const auto pairs = hn::SatWidenMulPairwiseAdd(d16, weights, activations);
    return hn::Add(sums, hn::WidenMulPairwiseAdd(d, pairs, hn::Set(d16, int16_t{1})));
  } else {
    return hn::SumOfMulQuadAccumulate(d, weights, activations, sums);
  }
#else
  (void)di8;
  return hn::SumOfMulQuadAccumulate(d, weights, activations, sums);
#endif
}

/// Numbers in float16 of the outputs of a vector, which is number `vector` of a tile.
HWY_INLINE VecFloat halves_at(const uint8_t* from, int vector) {
  const hn::Rebind<hwy::float16_t, TagFloat> d16;
  const hn::Repartition<uint8_t, decltype(d16)> d8;
  return hn::PromoteTo(TagFloat(), hn::BitCast(d16, hn::LoadU(d8, from + vector * kLanes32 * 2)));
}

/// Scales or minima of the outputs of a vector. `factor`: that of their block, where kFactors says that there is one.
template <bool kFactors>
HWY_INLINE VecFloat parameters_at(const PackedWeights& weights, const uint8_t* from, int vector, VecFloat factor) {
  const TagFloat d;
  if constexpr (kFactors) {
    const hn::Rebind<int8_t, Tag32> d8;
    const auto numbers = hn::LoadU(d8, reinterpret_cast<const int8_t*>(from) + vector * kLanes32);
    return hn::Mul(hn::ConvertTo(d, hn::PromoteTo(Tag32(), numbers)), factor);
  } else if (weights.wide_scales) {
    return hn::BitCast(d, hn::LoadU(TagByte(), from + vector * kLanes32 * 4));
  }
  return halves_at(from, vector);
}

}  // namespace torch::executor::native::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif
