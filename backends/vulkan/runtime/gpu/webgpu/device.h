// SPDX-License-Identifier: BSD-3-Clause
/**
 * @file
 * A GPU through WebGPU. Its calls are JavaScript (../../../web), which imports.h declares. Results arrive in
 * JavaScript's event loop, so that the calls that open a device, end a recording or run it suspend the WebAssembly
 * stack (JSPI).
 */
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "gpu/gpu.h"

namespace executorch {
namespace backends {
namespace vulkan {
namespace gpu {

struct DeviceChoice {
  bool fp16_storage = true;  ///< false: as if the device had no shader-f16
  int least_threads = 0;     ///< of a kernel; 0: by the kind of device

  bool operator==(const DeviceChoice& other) const {
    return fp16_storage == other.fp16_storage && least_threads == other.least_threads;
  }
};

class WebGpuDevice final : public Device, public std::enable_shared_from_this<WebGpuDevice> {
 public:
  /// Whether a device can be opened during this call; in `problem`, why not.
  static bool can_open(Problem& problem);
  /// Opens a device. Null, with the reason in `problem`, if none can be opened.
  static std::shared_ptr<WebGpuDevice> open(const DeviceChoice& choice, Problem& problem);
  /// WebGPU does not list devices: none, with that as the problem.
  static std::vector<std::string> describe_all(Problem& problem);

  explicit WebGpuDevice(int32_t handle) : handle_(handle) {}
  ~WebGpuDevice() override;
  WebGpuDevice(const WebGpuDevice&) = delete;
  WebGpuDevice& operator=(const WebGpuDevice&) = delete;

  runtime::Result<std::unique_ptr<Buffer>> buffer(uint64_t bytes, Use use) override;
  runtime::Error upload(Buffer& to, const void* from, uint64_t bytes) override;
  runtime::Result<Kernel*> kernel(const Shader& shader, runtime::Span<const int32_t> constants) override;
  runtime::Result<std::unique_ptr<Sequence>> sequence() override;
  /// The browser keeps them.
  void save_kernels() override {}

  int32_t handle() const { return handle_; }
  /// The most bytes that buffers of the GPU had at one time.
  uint64_t peak_memory() const { return peak_memory_; }
  bool is_lost() const;
  /// A buffer of the GPU was freed.
  void note_freed(uint64_t bytes) { memory_ -= bytes; }

 private:
  const int32_t handle_;
  uint64_t memory_ = 0, peak_memory_ = 0;
  std::mutex mutex_;
  std::map<std::pair<const char*, std::vector<int32_t>>, std::unique_ptr<Kernel>> kernels_;
};

/// Makes a sequence of the device.
std::unique_ptr<Sequence> make_sequence(std::shared_ptr<WebGpuDevice> device);

/// Memory of the GPU, or of the module for copies from and to the GPU.
class WebGpuBuffer final : public Buffer {
 public:
  WebGpuBuffer(std::shared_ptr<WebGpuDevice> device, int32_t handle, uint64_t size, void* mapped)
      : device_(std::move(device)), handle_(handle) {
    size_ = size;
    mapped_ = mapped;
  }
  ~WebGpuBuffer() override;
  WebGpuBuffer(const WebGpuBuffer&) = delete;
  WebGpuBuffer& operator=(const WebGpuBuffer&) = delete;
  int32_t handle() const { return handle_; }

 private:
  const std::shared_ptr<WebGpuDevice> device_;
  const int32_t handle_;
};

class WebGpuKernel final : public Kernel {
 public:
  explicit WebGpuKernel(int32_t handle) : handle_(handle) {}
  ~WebGpuKernel() override;
  WebGpuKernel(const WebGpuKernel&) = delete;
  WebGpuKernel& operator=(const WebGpuKernel&) = delete;
  int32_t handle() const { return handle_; }

 private:
  const int32_t handle_;
};

}  // namespace gpu
}  // namespace vulkan
}  // namespace backends
}  // namespace executorch
