// SPDX-License-Identifier: BSD-3-Clause
/**
 * @file
 * The graph executor's interface to a GPU: memory, kernels, and sequences of dispatches that are recorded once and
 * submitted many times. gpu/vulkan implements it, and gpu/webgpu in browsers; gpu/device.h chooses one.
 */
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <executorch/runtime/core/error.h>
#include <executorch/runtime/core/result.h>
#include <executorch/runtime/core/span.h>

namespace executorch {
namespace backends {
namespace vulkan {
namespace gpu {

/// Why no device can be used; an empty text if one can.
struct Problem {
  std::string text;
  /// NotSupported, or MemoryAllocationFailed: then another attempt may succeed.
  runtime::Error error = runtime::Error::NotSupported;
};

/// The properties by which kernels are chosen.
struct Features {
  std::string name;               ///< the device, for messages
  uint64_t max_buffer_bytes = 0;  ///< the limit of one binding
  uint32_t max_threads = 0;       ///< of a workgroup
  uint32_t shared_bytes = 0;      ///< of a workgroup
  std::array<uint32_t, 3> max_groups{};
  bool has_fp16_storage = false;
  bool is_processor = false;  ///< a driver that computes on the CPU, such as lavapipe
  int64_t least_threads = 1;  ///< a kernel with fewer does not use the whole GPU
  /// The total iterations of a thread's loops after which the driver may end them without an error.
  int64_t most_iterations = INT64_MAX;
  double ticks_to_ns = 0;  ///< of time stamps; 0 if the device has none
};

/// Memory of the GPU.
class Buffer {
 public:
  virtual ~Buffer() = default;
  uint64_t size() const { return size_; }
  /// The address for the processor; null if it cannot access the memory. Coherent while no submission runs.
  void* mapped() const { return mapped_; }

 protected:
  uint64_t size_ = 0;
  void* mapped_ = nullptr;
};

/// A compiled shader with its specialisation constants.
class Kernel {
 public:
  virtual ~Kernel() = default;
};

/// A compute shader as the build generated it.
struct Shader {
  const char* name;
  const void* code;  ///< SPIR-V, at an address for 32-bit numbers; for WebGPU the text of WGSL
  size_t code_bytes;
  uint8_t num_buffers;  ///< they have the bindings 0, 1, ...; the parameters follow
  uint8_t written;      ///< bit i: the shader writes binding i
};

/// A sequence of copies and dispatches; each sees the results of the earlier ones.
class Sequence {
 public:
  virtual ~Sequence() = default;
  /// Clears the recording. No submission may be running.
  virtual runtime::Error begin(bool with_timestamps) = 0;
  /// Copies `bytes` bytes; the number and the offsets are multiples of 4.
  virtual runtime::Error copy(Buffer* from, Buffer* to, uint64_t bytes, uint64_t from_offset = 0,
                              uint64_t to_offset = 0) = 0;
  /**
   * Adds a dispatch of `groups` workgroups.
   *
   * @param buffers The buffers of the shader's bindings, in order; null for a binding that it does not use.
   * @param parameters Copied.
   * @param tag Identifies the dispatch in the time stamps.
   */
  virtual runtime::Error dispatch(const Shader& shader, Kernel* kernel, runtime::Span<Buffer* const> buffers,
                                  const std::array<uint32_t, 3>& groups, runtime::Span<const int32_t> parameters,
                                  uint32_t tag) = 0;
  virtual runtime::Error end() = 0;
  /// Runs it and waits for its end.
  virtual runtime::Error run() = 0;

  struct Time {
    const char* name;
    uint32_t tag;
    uint64_t start_ns, end_ns;
  };
  /// The times of the dispatches of the last run; empty unless recorded with time stamps.
  virtual runtime::Error times(std::vector<Time>& times) = 0;
};

/// A GPU. Thread-safe; submissions of all sequences run one after another.
class Device {
 public:
  virtual ~Device() = default;
  const Features& features() const { return features_; }

  enum class Use {
    Gpu,      ///< preferably fast for the GPU; mapped if that costs nothing
    Staging,  ///< mapped
  };
  /// A buffer of zeros. Error::MemoryAllocationFailed (logged) if there is not enough.
  virtual runtime::Result<std::unique_ptr<Buffer>> buffer(uint64_t bytes, Use use) = 0;
  /// Copies bytes into a buffer that no submission uses.
  virtual runtime::Error upload(Buffer& to, const void* from, uint64_t bytes) = 0;

  /// The kernel of a shader, made once for each combination of constants (0, 1, ... in order; the first three are the
  /// size of a workgroup). Lives as long as the device.
  virtual runtime::Result<Kernel*> kernel(const Shader& shader, runtime::Span<const int32_t> constants) = 0;
  virtual runtime::Result<std::unique_ptr<Sequence>> sequence() = 0;
  /// Writes compiled kernels to the file that the device was opened with.
  virtual void save_kernels() = 0;

 protected:
  Features features_;
};

}  // namespace gpu
}  // namespace vulkan
}  // namespace backends
}  // namespace executorch
