// SPDX-License-Identifier: BSD-3-Clause
#include "gpu/webgpu/device.h"

#include <algorithm>
#include <cinttypes>
#include <cstdlib>
#include <cstring>

#include <executorch/runtime/platform/log.h>

#include "gpu/webgpu/imports.h"

namespace executorch {
namespace backends {
namespace vulkan {
namespace gpu {

using runtime::Error;
using runtime::Result;
using runtime::Span;

namespace {

/// The size of a buffer that can be bound: at least that of a vector, and a multiple of 4 for copies.
constexpr uint64_t kAlignment = 16;

}  // namespace

bool WebGpuDevice::can_open(Problem& problem) {
  char found[kProblemBytes] = "";
  const bool can = webgpu_can_wait(found) != 0;
  problem.text = found;
  return can;
}

std::shared_ptr<WebGpuDevice> WebGpuDevice::open(const DeviceChoice& choice, Problem& problem) {
  WebGpuLimits limits{};
  char found[kProblemBytes] = "";
  const int32_t handle = webgpu_open(choice.fp16_storage ? 1 : 0, &limits, found);
  if (handle == 0) {
    problem.text = found;
    return nullptr;
  }
  auto device = std::make_shared<WebGpuDevice>(handle);
  Features& features = device->features_;
  features.name = limits.name;
  features.max_buffer_bytes = limits.max_buffer_bytes;
  features.max_threads = limits.max_threads;
  features.shared_bytes = limits.shared_bytes;
  features.max_groups = {limits.max_groups, limits.max_groups, limits.max_groups};
  features.has_fp16_storage = limits.has_fp16 != 0;
  features.is_processor = limits.is_processor != 0;
  // WebGPU does not report whether a GPU is integrated: these are the Vulkan device's values for integrated GPUs.
  features.least_threads = choice.least_threads > 0 ? choice.least_threads : features.is_processor ? 1 : 1 << 12;
  return device;
}

std::vector<std::string> WebGpuDevice::describe_all(Problem& problem) {
  problem.text = "WebGPU does not list its devices";
  return {};
}

WebGpuDevice::~WebGpuDevice() {
  kernels_.clear();
  webgpu_free(handle_);
}

bool WebGpuDevice::is_lost() const {
  return webgpu_is_lost(handle_) != 0;
}

WebGpuBuffer::~WebGpuBuffer() {
  webgpu_free(handle_);
  if (mapped_ != nullptr) {
    std::free(mapped_);
  } else {
    device_->note_freed(size_);
  }
}

WebGpuKernel::~WebGpuKernel() {
  webgpu_free(handle_);
}

Result<std::unique_ptr<Buffer>> WebGpuDevice::buffer(uint64_t bytes, Use use) {
  ET_CHECK_OR_RETURN_ERROR(bytes <= features_.max_buffer_bytes, MemoryAllocationFailed,
                           "Vulkan: a tensor needs %" PRIu64 " bytes, a buffer of '%s' has at most %" PRIu64, bytes,
                           features_.name.c_str(), features_.max_buffer_bytes);
  const uint64_t size = (std::max<uint64_t>(bytes, 1) + kAlignment - 1) / kAlignment * kAlignment;
  void* mapped = nullptr;
  if (use == Use::Staging) {
    mapped = std::aligned_alloc(kAlignment, size);
    ET_CHECK_OR_RETURN_ERROR(mapped != nullptr, MemoryAllocationFailed,
                             "Vulkan: there is no memory of %" PRIu64 " bytes", size);
    std::memset(mapped, 0, size);
  } else {
    memory_ += size;
    peak_memory_ = std::max(peak_memory_, memory_);
  }
  const int32_t made = webgpu_buffer(handle_, static_cast<uint32_t>(size), mapped);
  return std::unique_ptr<Buffer>(std::make_unique<WebGpuBuffer>(shared_from_this(), made, size, mapped));
}

Error WebGpuDevice::upload(Buffer& to, const void* from, uint64_t bytes) {
  const auto& buffer = static_cast<WebGpuBuffer&>(to);
  if (bytes % 4 == 0) {
    webgpu_upload(buffer.handle(), from, static_cast<uint32_t>(bytes));
    return Error::Ok;
  }
  std::vector<uint8_t> padded((bytes + 3) / 4 * 4);
  std::memcpy(padded.data(), from, bytes);
  webgpu_upload(buffer.handle(), padded.data(), static_cast<uint32_t>(padded.size()));
  return Error::Ok;
}

Result<Kernel*> WebGpuDevice::kernel(const Shader& shader, Span<const int32_t> constants) {
  const std::lock_guard<std::mutex> lock(mutex_);
  auto& found = kernels_[{shader.name, std::vector<int32_t>(constants.begin(), constants.end())}];
  if (found == nullptr) {
    found = std::make_unique<WebGpuKernel>(webgpu_kernel(handle_, shader.name, shader.code,
                                                         static_cast<uint32_t>(shader.code_bytes), constants.data(),
                                                         static_cast<uint32_t>(constants.size())));
  }
  return found.get();
}

Result<std::unique_ptr<Sequence>> WebGpuDevice::sequence() {
  return make_sequence(shared_from_this());
}

}  // namespace gpu
}  // namespace vulkan
}  // namespace backends
}  // namespace executorch
