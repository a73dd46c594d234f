// SPDX-License-Identifier: BSD-3-Clause
// The payload of a delegate, as sdk.backends.nxp.neutron.payload describes it.
#pragma once

#include <cstddef>
#include <cstdint>

#include <executorch/runtime/core/error.h>
#include <executorch/runtime/core/span.h>

namespace executorch {
namespace backends {
namespace neutron {

/// All parts are at multiples of this.
constexpr size_t kAlignment = 16;

/// Views into the bytes of a payload.
struct Payload {
  size_t inputs = 0;
  size_t outputs = 0;
  size_t arguments = 0;                     ///< how many of the delegate's arguments are inputs
  const uint8_t* input_is_last = nullptr;   ///< whether each input has channels last
  const uint8_t* output_is_last = nullptr;  ///< whether each output has channels last
  const uint8_t* argument_of = nullptr;     ///< the argument that each input is
  const uint8_t* output_of = nullptr;       ///< the output of the delegate that each output is
  bool is_reference = false;                ///< whether only the stand-in of the tests can run it
  uint32_t scratch_size = 0;                ///< bytes for intermediate results
  uint32_t profile_size = 0;
  uint32_t debug_size = 0;
  uint32_t weights_scratch_size = 0;  ///< bytes for weights that are fetched from flash memory
  const uint8_t* microcode = nullptr;
  const uint8_t* weights = nullptr;
  const uint8_t* kernels = nullptr;
};

/// InvalidProgram (logged) for bytes that are not a payload. Every view lies inside of the bytes.
runtime::Error read_payload(runtime::Span<const uint8_t> bytes, Payload& payload);

}  // namespace neutron
}  // namespace backends
}  // namespace executorch
