// SPDX-License-Identifier: BSD-3-Clause
// Dot products of bytes, for the instruction set of HWY_TARGET, and on Arm for those of ET_LLM_DOTPROD and ET_LLM_I8MM.
// Each source file that includes this has its own copy.
#pragma once

#include <cstring>

#include "kernels/llm/cpu/lowbit/unpack-inl.h"

#ifndef ET_LLM_DOTPROD
#define ET_LLM_DOTPROD 0
#endif
#ifndef ET_LLM_I8MM
#define ET_LLM_I8MM 0
#endif

HWY_BEFORE_NAMESPACE();
namespace torch::executor::native {
namespace {

// NEON's dot products take signed bytes, so 128 is subtracted from 8-bit weights and from their zero point.
constexpr bool kTakesSignedBytes = HWY_ARCH_ARM;
constexpr int32_t zero_point_shift(int bits) {
  return kTakesSignedBytes && bits == 8 ? 128 : 0;
}

// Whether add_signed_dots() exists.
constexpr bool kHasSignedDots = HWY_TARGET == HWY_AVX2;

/// The bits of stored 8-bit weights that are inverted for the dot products.
constexpr uint8_t flipped_bits(const PackedWeights& w) {
  return w.bits == 8 && w.signed_bytes != kTakesSignedBytes ? 0x80 : 0;
}

#if ET_LLM_DOTPROD

// An instruction that the processor of the compilation may lack. Clang's assembler accepts it with .arch_extension.
// GCC's assembler accepts it only if the whole file is for a later architecture, so it gets the encoding, with the
// registers' numbers: Rm from bit 16, Rn from bit 5, Rd from bit 0.
#if HWY_COMPILER_CLANG
#define ET_LLM_ASSEMBLE(extension, text, number) ".arch_extension " extension "\n\t" text
#else
#define ET_LLM_ASSEMBLE(extension, text, number)                                                \
  ".ifndef .Lnumber_v31\n\t.irp "                                                               \
  "n,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31\n\t" \
  ".equ .Lnumber_v\\n,\\n\n\t.endr\n\t.endif\n\t"                                               \
  ".inst " number " + (.Lnumber_%2 << 16) + (.Lnumber_%1 << 5) + .Lnumber_%0"
#endif

/// Up to four groups of four bytes of activations.
using Fours = VecInt8;

template <int kCount>
HWY_INLINE Fours fours_at(const int8_t* from) {
  return kCount >= 4 ? hn::LoadU(TagInt8(), from) : hn::LoadN(TagInt8(), from, kCount * 4);
}

/// sums + the exact dot products of each lane's four weights and group kFour of the activations. kSmall: weights have
/// at most 7 bits. On Arm, weights of 8 bits are signed (zero_point_shift).
template <bool kSmall, int kFour>
HWY_INLINE Vec32 add_dots(VecByte weights, Fours activations, Vec32 sums) {
  // Bits 21 and 11 encode the lane.
  asm(ET_LLM_ASSEMBLE("dotprod", "sdot %0.4s, %1.16b, %2.4b[%c3]", "0x4F80E000 + ((%c3 & 1) << 21) + ((%c3 & 2) << 10)")
      : "+w"(sums.raw)
      : "w"(weights.raw), "w"(activations.raw), "i"(kFour));
  return sums;
}

#if ET_LLM_I8MM
/// The same for eight bytes of each of two rows and of two outputs: `sums` has two outputs of each row.
HWY_INLINE Vec32 add_products(VecInt8 rows, VecByte outputs, Vec32 sums) {
  asm(ET_LLM_ASSEMBLE("i8mm", "smmla %0.4s, %1.16b, %2.16b", "0x4E80A400")
      : "+w"(sums.raw)
      : "w"(rows.raw), "w"(outputs.raw));
  return sums;
}
#endif

#else

using Fours = const int8_t*;

template <int kCount>
HWY_INLINE Fours fours_at(const int8_t* from) {
  return from;
}

template <bool kSmall, int kFour>
HWY_INLINE Vec32 add_dots(VecByte weights, Fours activations, Vec32 sums) {
  [[maybe_unused]] const Tag32 d;
  int32_t bytes;
  std::memcpy(&bytes, activations + kFour * 4, 4);
  const VecInt8 four = hn::BitCast(TagInt8(), hn::Set(d, bytes));
#if HWY_ARCH_ARM
  return hn::SumOfMulQuadAccumulate(d, hn::BitCast(TagInt8(), weights), four, sums);
#else
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
  if constexpr (kSmall) {  // 2 * 127 * 128 fits 16 bits
    const hn::Repartition<int16_t, Tag32> d16;
    const auto pairs = hn::SatWidenMulPairwiseAdd(d16, weights, four);
    return hn::Add(sums, hn::WidenMulPairwiseAdd(d, pairs, hn::Set(d16, int16_t{1})));
  }
#endif
  return hn::SumOfMulQuadAccumulate(d, weights, four, sums);
#endif
}

#endif

/// The same for signed weights and for activations above -128, available if kHasSignedDots: two thirds of the
/// instructions that unsigned weights of 8 bits take.
template <int kFour>
HWY_INLINE Vec32 add_signed_dots([[maybe_unused]] VecByte weights, [[maybe_unused]] const int8_t* activations,
                                 Vec32 sums) {
#if HWY_TARGET == HWY_AVX2
  const Tag32 d;
  const hn::Repartition<int16_t, Tag32> d16;
  int32_t bytes;
  std::memcpy(&bytes, activations + kFour * 4, 4);
  const VecInt8 number = hn::BitCast(TagInt8(), weights), four = hn::BitCast(TagInt8(), hn::Set(d, bytes));
  const VecByte absolute = hn::BitCast(TagByte(), hn::Abs(number));
  // The activations get the weights' signs. 2 * 128 * 127 fits 16 bits.
  const auto pairs = hn::SatWidenMulPairwiseAdd(d16, absolute, hn::IfNegativeThenNegOrUndefIfZero(number, four));
  sums = hn::Add(sums, hn::WidenMulPairwiseAdd(d, pairs, hn::Set(d16, int16_t{1})));
#endif
  return sums;
}

}  // namespace
}  // namespace torch::executor::native
HWY_AFTER_NAMESPACE();
