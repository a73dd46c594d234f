// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/devtools/etdump/emitter.h>

#include <type_traits>

namespace surface {

static_assert(std::is_same_v<flatcc_builder_t, struct flatcc_builder>);

inline flatcc_builder_t* passes_pointers_on(flatcc_builder_t* builder) {
  return builder;
}

// The header includes the one that declares the generator.
static_assert(std::is_base_of_v<executorch::runtime::EventTracer, executorch::etdump::ETDumpGen>);

}  // namespace surface
