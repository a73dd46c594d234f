// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/extension/file_cache/sha256.h>

#include <cstring>

#if defined(__x86_64__) && defined(__GNUC__)
#define ET_SHA256_X86 1
#include <cpuid.h>
#include <immintrin.h>
#elif defined(__aarch64__) && (defined(__ARM_FEATURE_SHA2) || !defined(__clang__))
#define ET_SHA256_ARM 1
#include <arm_neon.h>
#if defined(__linux__)
#include <sys/auxv.h>
#endif
#endif

namespace executorch {
namespace extension {

namespace {

constexpr size_t kBlock = 64;

using State = std::array<uint32_t, 8>;
/// Hashes `count` blocks.
using Compress = void (*)(State& state, const uint8_t* data, size_t count);

constexpr State kInitial = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                            0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};

alignas(16) constexpr uint32_t kRound[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

uint32_t rotate(uint32_t word, int count) {
  return word >> count | word << (32 - count);
}

void compress_portable(State& state, const uint8_t* data, size_t count) {
  for (; count > 0; --count, data += kBlock) {
    uint32_t words[64];
    for (size_t i = 0; i < 16; ++i) {
      words[i] = uint32_t{data[4 * i]} << 24 | uint32_t{data[4 * i + 1]} << 16 | uint32_t{data[4 * i + 2]} << 8 |
                 uint32_t{data[4 * i + 3]};
    }
    for (size_t i = 16; i < 64; ++i) {
      const uint32_t a = words[i - 15];
      const uint32_t b = words[i - 2];
      words[i] = words[i - 16] + words[i - 7] + (rotate(a, 7) ^ rotate(a, 18) ^ a >> 3) +
                 (rotate(b, 17) ^ rotate(b, 19) ^ b >> 10);
    }
    auto [a, b, c, d, e, f, g, h] = state;
    for (size_t i = 0; i < 64; ++i) {
      const uint32_t first =
          h + (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) + ((e & f) ^ (~e & g)) + kRound[i] + words[i];
      const uint32_t second = (rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
      h = g, g = f, f = e, e = d + first, d = c, c = b, b = a, a = first + second;
    }
    const State added = {a, b, c, d, e, f, g, h};
    for (size_t i = 0; i < state.size(); ++i) {
      state[i] += added[i];
    }
  }
}

#if defined(ET_SHA256_X86)

using Words = __m128i;
#define ET_SHA256_TARGET __attribute__((target("sha,ssse3,sse4.1")))

/// Computes the next four words of the message schedule, which replace the oldest four of the last sixteen.
ET_SHA256_TARGET inline void extend(__m128i& w0, __m128i w1, __m128i w2, __m128i w3) {
  const __m128i sum = _mm_add_epi32(_mm_sha256msg1_epu32(w0, w1), _mm_alignr_epi8(w3, w2, 4));
  w0 = _mm_sha256msg2_epu32(sum, w3);
}

/// Four rounds. The instructions expect the eight numbers of the state as (a, b, e, f) and (c, d, g, h).
ET_SHA256_TARGET inline void four_rounds(__m128i& abef, __m128i& cdgh, __m128i words, size_t round) {
  const __m128i sum = _mm_add_epi32(words, _mm_load_si128(reinterpret_cast<const __m128i*>(kRound + round)));
  cdgh = _mm_sha256rnds2_epu32(cdgh, abef, sum);
  abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(sum, 0x0E));
}

ET_SHA256_TARGET inline void all_rounds(Words& half, Words& other_half, Words w0, Words w1, Words w2, Words w3);

ET_SHA256_TARGET void compress_here(State& state, const uint8_t* data, size_t count) {
  auto* numbers = reinterpret_cast<__m128i*>(state.data());
  const __m128i cdab = _mm_shuffle_epi32(_mm_loadu_si128(numbers), 0xB1);
  const __m128i efgh = _mm_shuffle_epi32(_mm_loadu_si128(numbers + 1), 0x1B);
  __m128i abef = _mm_alignr_epi8(cdab, efgh, 8);
  __m128i cdgh = _mm_blend_epi16(efgh, cdab, 0xF0);
  const __m128i big_endian = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
  for (; count > 0; --count, data += kBlock) {
    const __m128i abef_before = abef;
    const __m128i cdgh_before = cdgh;
    const auto* block = reinterpret_cast<const __m128i*>(data);
    __m128i w0 = _mm_shuffle_epi8(_mm_loadu_si128(block), big_endian);
    __m128i w1 = _mm_shuffle_epi8(_mm_loadu_si128(block + 1), big_endian);
    __m128i w2 = _mm_shuffle_epi8(_mm_loadu_si128(block + 2), big_endian);
    __m128i w3 = _mm_shuffle_epi8(_mm_loadu_si128(block + 3), big_endian);
    all_rounds(abef, cdgh, w0, w1, w2, w3);
    abef = _mm_add_epi32(abef, abef_before);
    cdgh = _mm_add_epi32(cdgh, cdgh_before);
  }
  const __m128i feba = _mm_shuffle_epi32(abef, 0x1B);
  const __m128i dchg = _mm_shuffle_epi32(cdgh, 0xB1);
  _mm_storeu_si128(numbers, _mm_blend_epi16(feba, dchg, 0xF0));
  _mm_storeu_si128(numbers + 1, _mm_alignr_epi8(dchg, feba, 8));
}

bool has_instructions() {
  constexpr unsigned kSsse3 = 1u << 9, kSse41 = 1u << 19, kSha = 1u << 29;
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid(1, &a, &b, &c, &d) == 0 || (c & kSsse3) == 0 || (c & kSse41) == 0) {
    return false;
  }
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (b & kSha) != 0;
}

#elif defined(ET_SHA256_ARM)

using Words = uint32x4_t;
#if defined(__ARM_FEATURE_SHA2)
#define ET_SHA256_TARGET
#else
#define ET_SHA256_TARGET __attribute__((target("+crypto")))
#endif

/// Computes the next four words of the message schedule, which replace the oldest four of the last sixteen.
ET_SHA256_TARGET inline void extend(uint32x4_t& w0, uint32x4_t w1, uint32x4_t w2, uint32x4_t w3) {
  w0 = vsha256su1q_u32(vsha256su0q_u32(w0, w1), w2, w3);
}

ET_SHA256_TARGET inline void four_rounds(uint32x4_t& abcd, uint32x4_t& efgh, uint32x4_t words, size_t round) {
  const uint32x4_t sum = vaddq_u32(words, vld1q_u32(kRound + round));
  const uint32x4_t before = abcd;
  abcd = vsha256hq_u32(abcd, efgh, sum);
  efgh = vsha256h2q_u32(efgh, before, sum);
}

ET_SHA256_TARGET inline uint32x4_t big_endian_words(const uint8_t* data) {
  return vreinterpretq_u32_u8(vrev32q_u8(vld1q_u8(data)));
}

ET_SHA256_TARGET inline void all_rounds(Words& half, Words& other_half, Words w0, Words w1, Words w2, Words w3);

ET_SHA256_TARGET void compress_here(State& state, const uint8_t* data, size_t count) {
  uint32x4_t abcd = vld1q_u32(state.data());
  uint32x4_t efgh = vld1q_u32(state.data() + 4);
  for (; count > 0; --count, data += kBlock) {
    const uint32x4_t abcd_before = abcd;
    const uint32x4_t efgh_before = efgh;
    uint32x4_t w0 = big_endian_words(data);
    uint32x4_t w1 = big_endian_words(data + 16);
    uint32x4_t w2 = big_endian_words(data + 32);
    uint32x4_t w3 = big_endian_words(data + 48);
    all_rounds(abcd, efgh, w0, w1, w2, w3);
    abcd = vaddq_u32(abcd, abcd_before);
    efgh = vaddq_u32(efgh, efgh_before);
  }
  vst1q_u32(state.data(), abcd);
  vst1q_u32(state.data() + 4, efgh);
}

bool has_instructions() {
#if defined(__ARM_FEATURE_SHA2)
  return true;
#elif defined(__linux__)
  constexpr unsigned long kSha2 = 1ul << 6;  // HWCAP_SHA2
  return (getauxval(AT_HWCAP) & kSha2) != 0;
#else
  return false;
#endif
}

#else

constexpr Compress compress_here = compress_portable;

bool has_instructions() {
  return false;
}

#endif

#if defined(ET_SHA256_TARGET)

/// Hashes a block, on the two halves of the state. `w0` to `w3` are the block's sixteen words.
ET_SHA256_TARGET inline void all_rounds(Words& half, Words& other_half, Words w0, Words w1, Words w2, Words w3) {
  for (size_t round = 0;; round += 16) {
    four_rounds(half, other_half, w0, round);
    four_rounds(half, other_half, w1, round + 4);
    four_rounds(half, other_half, w2, round + 8);
    four_rounds(half, other_half, w3, round + 12);
    if (round == 48) {
      return;
    }
    extend(w0, w1, w2, w3);
    extend(w1, w2, w3, w0);
    extend(w2, w3, w0, w1);
    extend(w3, w0, w1, w2);
  }
}

#endif

Sha256 digest(Compress compress, const void* data, size_t size) {
  State state = kInitial;
  const auto* bytes = static_cast<const uint8_t*>(data);
  const size_t blocks = size / kBlock;
  if (blocks > 0) {
    compress(state, bytes, blocks);
  }
  // The padding (a one bit, zeros, and the length of the message in bits) fills the last block or two.
  uint8_t last[2 * kBlock] = {};
  const size_t rest = size % kBlock;
  if (rest > 0) {
    std::memcpy(last, bytes + blocks * kBlock, rest);
  }
  last[rest] = 0x80;
  const size_t count = rest + 9 <= kBlock ? 1 : 2;
  const uint64_t bits = uint64_t{size} * 8;
  for (size_t i = 0; i < 8; ++i) {
    last[count * kBlock - 1 - i] = static_cast<uint8_t>(bits >> (8 * i));
  }
  compress(state, last, count);
  Sha256 result{};
  for (size_t i = 0; i < result.size(); ++i) {
    result[i] = static_cast<uint8_t>(state[i / 4] >> (24 - 8 * (i % 4)));
  }
  return result;
}

}  // namespace

Sha256 sha256(const void* data, size_t size) {
  static const bool is_native = has_instructions();
  return digest(is_native ? compress_here : compress_portable, data, size);
}

Sha256 sha256_portable(const void* data, size_t size) {
  return digest(compress_portable, data, size);
}

std::optional<Sha256> read_sha256(std::string_view text) {
  Sha256 result{};
  if (text.size() != 2 * result.size()) {
    return std::nullopt;
  }
  for (size_t i = 0; i < text.size(); ++i) {
    const char digit = text[i];
    const bool is_letter = digit >= 'a' && digit <= 'f';
    if (!is_letter && (digit < '0' || digit > '9')) {
      return std::nullopt;
    }
    const int value = is_letter ? digit - 'a' + 10 : digit - '0';
    result[i / 2] = static_cast<uint8_t>(result[i / 2] << 4 | value);
  }
  return result;
}

}  // namespace extension
}  // namespace executorch
