// SPDX-License-Identifier: BSD-3-Clause
/**
 * @file
 * The calls of WebGPU, which web/index.ts implements. Objects are numbers above 0. Functions that are said to wait
 * suspend the module's stack until JavaScript has the result; call them only if webgpu_can_wait() returns true.
 */
#pragma once

#include <cstddef>
#include <cstdint>

#define WEBGPU_IMPORT(name) extern "C" __attribute__((import_module("webgpu"), import_name(#name)))

namespace executorch {
namespace backends {
namespace vulkan {
namespace gpu {

/// The size of the text that describes a problem, with its NUL.
constexpr size_t kProblemBytes = 512;

/// What open() writes.
struct WebGpuLimits {
  uint32_t max_buffer_bytes;
  uint32_t max_threads;
  uint32_t shared_bytes;
  uint32_t max_groups;
  uint32_t has_fp16;
  uint32_t is_processor;
  char name[128];
};

/// Whether the current call can wait; if not, `problem` says why.
WEBGPU_IMPORT(can_wait) int32_t webgpu_can_wait(char* problem);
/// Waits. Returns 0, with the problem, if there is no device.
WEBGPU_IMPORT(open) int32_t webgpu_open(int32_t with_fp16, WebGpuLimits* limits, char* problem);
WEBGPU_IMPORT(is_lost) int32_t webgpu_is_lost(int32_t device);
/// Frees an object of any kind.
WEBGPU_IMPORT(free) void webgpu_free(int32_t object);

/// Memory of the GPU. If `host` is given, a buffer for copies between that memory of the module and the GPU.
WEBGPU_IMPORT(buffer) int32_t webgpu_buffer(int32_t device, uint32_t bytes, void* host);
WEBGPU_IMPORT(upload) void webgpu_upload(int32_t buffer, const void* from, uint32_t bytes);
WEBGPU_IMPORT(kernel)
int32_t webgpu_kernel(int32_t device, const char* name, const void* code, uint32_t code_bytes, const int32_t* constants,
                      uint32_t count);

WEBGPU_IMPORT(sequence) int32_t webgpu_sequence(int32_t device);
WEBGPU_IMPORT(begin) void webgpu_begin(int32_t sequence);
WEBGPU_IMPORT(copy)
void webgpu_copy(int32_t sequence, int32_t from, int32_t to, uint32_t bytes, uint32_t from_offset, uint32_t to_offset);
/// `buffers` are numbers, 0 for those that the kernel does not use.
WEBGPU_IMPORT(dispatch)
void webgpu_dispatch(int32_t sequence, int32_t kernel, const int32_t* buffers, uint32_t count, uint32_t x, uint32_t y,
                     uint32_t z, const int32_t* parameters, uint32_t parameter_count);
/// Waits. Returns whether all that was made and recorded is valid; if not, with the problem.
WEBGPU_IMPORT(end) int32_t webgpu_end(int32_t sequence, char* problem);
/// Waits for the end of a run. Returns 0, with the problem, if it fails.
WEBGPU_IMPORT(run) int32_t webgpu_run(int32_t sequence, char* problem);

}  // namespace gpu
}  // namespace vulkan
}  // namespace backends
}  // namespace executorch
