// SPDX-License-Identifier: BSD-3-Clause
// Macros with which the files of this folder state signatures. Each of them includes one public header before this one.
#pragma once

#include <type_traits>
#include <utility>

namespace executorch {
namespace runtime {
namespace etensor {}
}  // namespace runtime
namespace aten {}
namespace extension {}
}  // namespace executorch

namespace surface {

// Signatures are written as the documents write them.
using namespace ::executorch::runtime;    // NOLINT
using namespace ::executorch::extension;  // NOLINT
namespace runtime = ::executorch::runtime;
namespace aten = ::executorch::aten;

/// True if the function, or one of its overloads, has the type Pointer.
template <typename Pointer>
constexpr bool is(Pointer) {
  return true;
}

/// A value of type T for expressions that are never evaluated.
template <typename T>
T make();

}  // namespace surface
