// SPDX-License-Identifier: BSD-3-Clause
/**
 * @file
 * The part of Samsung's C interface that the delegate calls, loaded at run time. Nothing is linked and none of
 * Samsung's headers is included: these are our own declarations, after these public ones:
 *
 * - ExecuTorch, backends/samsung/runtime: enn_type.h and enn_api_implementation.h (BSD);
 * - LiteRT, litert/vendors/samsung/dispatch: enn_manager.cc, the library's name (Apache 2.0).
 */
#pragma once

#include <cstddef>
#include <cstdint>

#include <executorch/extension/delegate/shared_library.h>
#include <executorch/runtime/core/error.h>
#include <executorch/runtime/core/result.h>

namespace executorch {
namespace backends {
namespace enn {

using ModelId = uint64_t;

/// EnnBuffer: memory that the NPU shares.
struct Buffer {
  void* data;
  uint32_t size;
  uint32_t offset;
};
static_assert(sizeof(void*) != 8 ||
                  (sizeof(Buffer) == 16 && offsetof(Buffer, size) == 8 && offsetof(Buffer, offset) == 12),
              "the layout of the interface");

/// NumberOfBuffersInfo.
struct BufferCounts {
  uint32_t inputs;
  uint32_t outputs;
};
static_assert(sizeof(BufferCounts) == 8, "the layout of the interface");

constexpr int kOutOfMemory = 6;

/// The functions of the library. A return value of 0 is success.
struct Api {
  int (*initialize)();
  int (*deinitialize)();
  int (*open_model_from_memory)(const char* network, uint32_t size, ModelId* model);
  int (*close_model)(ModelId model);
  /// Makes the buffers of all inputs and, after them, outputs.
  int (*allocate_all_buffers)(ModelId model, Buffer*** buffers, BufferCounts* counts, int session, bool commit);
  int (*release_buffers)(Buffer** buffers, int32_t count);
  int (*execute_model)(ModelId model);
};

/**
 * The functions, loaded by the first call that finds them; never unloaded.
 *
 * @retval Error::NotFound (logged in one line, which says where the library is) there is no library.
 * @retval Error::NotSupported (logged) it lacks a function.
 */
runtime::Result<const Api*> api();

/// Error::Ok for the code 0. Otherwise logs the function, its code and the step, and returns MemoryAllocationFailed for
/// the library's code of failed allocations, else `error`.
inline runtime::Error answer(int code, const char* function, const char* step, runtime::Error error) {
  return extension::delegate::check_call("Samsung", code, function, step,
                                         code == kOutOfMemory ? runtime::Error::MemoryAllocationFailed : error);
}

/// The library is initialised while sessions exist: by the first one, until the last one ends.
class Session final {
 public:
  explicit Session(const Api& api) : api_(api) {}
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  ~Session();

  runtime::Error open();

 private:
  const Api& api_;
  bool is_open_ = false;
};

}  // namespace enn
}  // namespace backends
}  // namespace executorch
