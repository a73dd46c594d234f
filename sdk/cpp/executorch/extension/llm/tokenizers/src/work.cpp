// SPDX-License-Identifier: BSD-3-Clause
#include "work.h"

#include "failure.h"

namespace tokenizers::detail {
namespace {

/// The limits of small inputs, and the increments for each unit of the input.
constexpr uint64_t kFewSteps = 1U << 24;
constexpr uint64_t kFewBytes = 1U << 24;

struct PerUnit {
  uint64_t steps;
  uint64_t bytes;
};

constexpr PerUnit per_unit(Work::Kind kind) {
  switch (kind) {
    case Work::Kind::kLoad:
      return {256, 128};
    case Work::Kind::kEncode:
      // NFKC turns a byte into up to 11 bytes, and byte-pair encoding takes 160 bytes of memory for each of them.
      return {1024, 2048};
    case Work::Kind::kDecode:
      break;
  }
  return {1U << 16, 1U << 12};
}

/// few + each * count; UINT64_MAX if that overflows.
constexpr uint64_t limit(uint64_t few, uint64_t each, uint64_t count) {
  return count > (UINT64_MAX - few) / each ? UINT64_MAX : few + each * count;
}

}  // namespace

Work::Work(Kind kind, size_t input)
    : kind_(kind),
      most_steps_(limit(kFewSteps, per_unit(kind).steps, input)),
      most_bytes_(limit(kFewBytes, per_unit(kind).bytes, input)),
      budget_(most_steps_, most_bytes_) {}

Error Work::too_much(const char* what, uint64_t most) const {
  const bool loads = kind_ == Kind::kLoad, decodes = kind_ == Kind::kDecode;
  return fail(loads     ? Error::LoadFailure
              : decodes ? Error::DecodeFailure
                        : Error::EncodeFailure,
              "%s takes more than %llu %s, the limit for its size: the tokenizer's file asks for too much",
              loads     ? "loading this tokenizer"
              : decodes ? "decoding these tokens"
                        : "encoding this text",
              static_cast<unsigned long long>(most), what);
}

}  // namespace tokenizers::detail
