// SPDX-License-Identifier: BSD-3-Clause
#include "payload.h"

#include <cinttypes>
#include <cstring>

#include <executorch/runtime/platform/log.h>

#include "NeutronBackend.h"

namespace executorch {
namespace backends {
namespace neutron {

using runtime::Error;
using runtime::Span;

namespace {

constexpr uint32_t kMagic = 0x64434D6E, kReferenceMagic = 0x4E525054;
constexpr size_t kWords = 15;  // of the microcode that are read

constexpr uint64_t aligned(uint64_t size) {
  return (size + kAlignment - 1) / kAlignment * kAlignment;
}

/// Whether all of some bytes are smaller than a limit.
bool are_below(const uint8_t* bytes, size_t count, size_t limit) {
  for (size_t i = 0; i < count; ++i) {
    if (bytes[i] >= limit) {
      return false;
    }
  }
  return true;
}

Error read_header(Span<const uint8_t> bytes, Payload& payload, uint8_t& version) {
  const size_t size = bytes.size() < 3 ? 4 : 4 + 2 * (static_cast<size_t>(bytes[0]) + bytes[1]);
  ET_CHECK_OR_RETURN_ERROR(bytes.size() >= aligned(size) + kWords * sizeof(uint32_t), InvalidProgram,
                           "%s: the payload has %zu bytes, its header and microcode need %zu: export the program again",
                           neutron_backend_key, bytes.size(),
                           static_cast<size_t>(aligned(size) + kWords * sizeof(uint32_t)));
  payload.inputs = bytes[0];
  payload.outputs = bytes[1];
  payload.arguments = bytes[2];
  payload.input_is_last = bytes.data() + 3;
  payload.output_is_last = payload.input_is_last + payload.inputs;
  payload.argument_of = payload.output_is_last + payload.outputs;
  payload.output_of = payload.argument_of + payload.inputs;
  version = payload.output_of[payload.outputs];
  ET_CHECK_OR_RETURN_ERROR(
      payload.outputs > 0 && version <= 1 && are_below(payload.input_is_last, payload.inputs + payload.outputs, 2) &&
          are_below(payload.argument_of, payload.inputs, payload.arguments) &&
          are_below(payload.output_of, payload.outputs, payload.outputs),
      InvalidProgram,
      "%s: the payload of version %u has a damaged header for %zu inputs and %zu outputs, expected version 0 or 1: "
      "export the program again",
      neutron_backend_key, static_cast<unsigned>(version), payload.inputs, payload.outputs);
  return Error::Ok;
}

}  // namespace

Error read_payload(Span<const uint8_t> bytes, Payload& payload) {
  uint8_t version = 0;
  ET_CHECK_OK_OR_RETURN_ERROR(read_header(bytes, payload, version));
  const size_t start = aligned(4 + 2 * (payload.inputs + payload.outputs));
  uint32_t words[kWords];
  std::memcpy(words, bytes.data() + start, sizeof(words));
  payload.is_reference = words[0] == kReferenceMagic;
  ET_CHECK_OR_RETURN_ERROR(words[0] == kMagic || payload.is_reference, InvalidProgram,
                           "%s: the microcode begins with 0x%08" PRIX32 ", expected 0x%08" PRIX32
                           ": export the program again",
                           neutron_backend_key, words[0], kMagic);
  const uint64_t microcode_size = aligned(words[6]), weights_size = aligned(words[7]);
  ET_CHECK_OR_RETURN_ERROR(
      words[6] >= sizeof(words) && microcode_size + weights_size <= bytes.size() - start, InvalidProgram,
      "%s: the payload has %zu bytes, its microcode and weights need %" PRIu64 ": export the program again",
      neutron_backend_key, bytes.size() - start, microcode_size + weights_size);
  const bool has_profile = version == 1;
  const uint32_t* const counts = words + (has_profile ? 13 : 11);
  ET_CHECK_OR_RETURN_ERROR(counts[0] == payload.inputs && counts[1] == payload.outputs, InvalidProgram,
                           "%s: the microcode has %" PRIu32 " inputs and %" PRIu32
                           " outputs, its header %zu and %zu: "
                           "export the program again",
                           neutron_backend_key, counts[0], counts[1], payload.inputs, payload.outputs);
  payload.scratch_size = words[9];
  payload.profile_size = has_profile ? words[10] & 0x7FFFFFFF : 0;  // the highest bit has another meaning
  payload.debug_size = has_profile ? words[11] : 0;
  payload.weights_scratch_size = words[has_profile ? 12 : 10];
  payload.microcode = bytes.data() + start;
  payload.weights = payload.microcode + microcode_size;
  payload.kernels = payload.weights + weights_size;
  return Error::Ok;
}

}  // namespace neutron
}  // namespace backends
}  // namespace executorch
