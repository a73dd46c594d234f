// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/runtime/core/portable_type/complex.h>

#include "signatures.h"

namespace surface {

using namespace etensor;  // NOLINT

static_assert(std::is_same_v<complex<float>, ::c10::complex<float>>);

}  // namespace surface
