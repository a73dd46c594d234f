// SPDX-License-Identifier: BSD-3-Clause
// SDK_TEST_SHARE selects a part of each C++ sweep, as in Python (conftest.py). The gate runs a different part each day.
#pragma once

#include <cstddef>
#include <cstdio>
#include <cstdlib>

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define EXECUTORCH_SWEEPS_ARE_SLOW
#endif
#endif
// The gate runs what is compiled for 64-bit Arm in an emulator.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || (defined(__aarch64__) && defined(__linux__))
#define EXECUTORCH_SWEEPS_ARE_SLOW
#endif

namespace executorch {
namespace tests {

/// Share `which`, from 0 to `count` - 1, of `count` shares.
struct Share {
  size_t which = 0;
  size_t count = 1;

  bool has(size_t index) const { return index % count == which; }

  /// Reads `K/N`, share K of N; null or an empty text is the whole. Returns whether the text is one of these.
  static bool parse(const char* text, Share& share) {
    char rest = 0;
    share = {};
    return text == nullptr || *text == 0 ||
           (std::sscanf(text, "%zu/%zu%c", &share.which, &share.count, &rest) == 2 && share.which < share.count);
  }
};

/// Whether the input with this index, of many similar inputs, runs now. Without a sanitizer or an emulator, all of
/// them do.
inline bool in_share([[maybe_unused]] size_t index) {
#if defined(EXECUTORCH_SWEEPS_ARE_SLOW)
  static const Share share = [] {
    Share found;
    const char* const text = std::getenv("SDK_TEST_SHARE");
    if (!Share::parse(text, found)) {
      std::fprintf(stderr, "SDK_TEST_SHARE is %s; expected K/N, share K (from 0 to N - 1) of N, such as 2/10\n", text);
      std::abort();
    }
    return found;
  }();
  return share.has(index);
#else
  return true;
#endif
}

}  // namespace tests
}  // namespace executorch
