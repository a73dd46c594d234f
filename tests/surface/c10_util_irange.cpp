// SPDX-License-Identifier: BSD-3-Clause
#include <c10/util/irange.h>

#include "signatures.h"

namespace surface {

constexpr int sum() {
  int total = 0;
  for (const auto i : c10::irange(2, 5)) {
    total += i;
  }
  for (const auto i : c10::irange(3u)) {
    total += static_cast<int>(i);
  }
  return total;
}
static_assert(sum() == 2 + 3 + 4 + 0 + 1 + 2);

}  // namespace surface
