// SPDX-License-Identifier: BSD-3-Clause
// Commands of WebGPU run once: JavaScript keeps what was recorded, and encodes it again for each run.
#include <executorch/runtime/platform/log.h>

#include "gpu/webgpu/device.h"
#include "gpu/webgpu/imports.h"

namespace executorch {
namespace backends {
namespace vulkan {
namespace gpu {

using runtime::Error;
using runtime::Span;

namespace {

constexpr size_t kMostBuffers = 8;
/// The size of the uniform block in build_wgsl.py.
constexpr size_t kMostParameters = 128;

class WebGpuSequence final : public Sequence {
 public:
  explicit WebGpuSequence(std::shared_ptr<WebGpuDevice> device)
      : device_(std::move(device)), handle_(webgpu_sequence(device_->handle())) {}
  ~WebGpuSequence() override { webgpu_free(handle_); }
  WebGpuSequence(const WebGpuSequence&) = delete;
  WebGpuSequence& operator=(const WebGpuSequence&) = delete;

  /// There are no time stamps: `ticks_to_ns` is 0.
  Error begin(bool) override {
    webgpu_begin(handle_);
    return Error::Ok;
  }

  Error copy(Buffer* from, Buffer* to, uint64_t bytes, uint64_t from_offset, uint64_t to_offset) override {
    webgpu_copy(handle_, static_cast<WebGpuBuffer*>(from)->handle(), static_cast<WebGpuBuffer*>(to)->handle(),
                static_cast<uint32_t>(bytes), static_cast<uint32_t>(from_offset), static_cast<uint32_t>(to_offset));
    return Error::Ok;
  }

  Error dispatch(const Shader& shader, Kernel* kernel, Span<Buffer* const> buffers,
                 const std::array<uint32_t, 3>& groups, Span<const int32_t> parameters, uint32_t) override {
    ET_CHECK_OR_RETURN_ERROR(
        buffers.size() == shader.num_buffers && buffers.size() <= kMostBuffers && parameters.size() <= kMostParameters,
        Internal, "Vulkan: %s gets %zu buffers and %zu parameters, which do not fit it", shader.name, buffers.size(),
        parameters.size());
    for (size_t i = 0; i < groups.size(); ++i) {
      ET_CHECK_OR_RETURN_ERROR(groups[i] <= device_->features().max_groups[i], NotSupported,
                               "Vulkan: %s needs %u workgroups in dimension %zu, the device has at most %u",
                               shader.name, groups[i], i, device_->features().max_groups[i]);
    }
    if (groups[0] == 0 || groups[1] == 0 || groups[2] == 0) {
      return Error::Ok;
    }
    int32_t handles[kMostBuffers] = {};
    for (size_t i = 0; i < buffers.size(); ++i) {
      handles[i] = buffers[i] == nullptr ? 0 : static_cast<WebGpuBuffer*>(buffers[i])->handle();
    }
    webgpu_dispatch(handle_, static_cast<WebGpuKernel*>(kernel)->handle(), handles,
                    static_cast<uint32_t>(buffers.size()), groups[0], groups[1], groups[2], parameters.data(),
                    static_cast<uint32_t>(parameters.size()));
    return Error::Ok;
  }

  Error end() override {
    char problem[kProblemBytes] = "";
    return checked(webgpu_end(handle_, problem), problem);
  }

  Error run() override {
    char problem[kProblemBytes] = "";
    return checked(webgpu_run(handle_, problem), problem);
  }

  Error times(std::vector<Time>& times) override {
    times.clear();
    return Error::Ok;
  }

 private:
  Error checked(int32_t succeeded, const char* problem) const {
    ET_CHECK_OR_RETURN_ERROR(succeeded != 0 || !device_->is_lost(), Internal,
                             "Vulkan: the GPU device was lost (%s): load the program again", problem);
    ET_CHECK_OR_RETURN_ERROR(succeeded != 0, Internal, "Vulkan: %s", problem);
    return Error::Ok;
  }

  const std::shared_ptr<WebGpuDevice> device_;
  const int32_t handle_;
};

}  // namespace

std::unique_ptr<Sequence> make_sequence(std::shared_ptr<WebGpuDevice> device) {
  return std::make_unique<WebGpuSequence>(std::move(device));
}

}  // namespace gpu
}  // namespace vulkan
}  // namespace backends
}  // namespace executorch
