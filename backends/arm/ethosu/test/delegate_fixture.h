// SPDX-License-Identifier: BSD-3-Clause
// Loads payloads by the registered backend and runs them, without a program.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <vector>

#include <executorch/extension/tensor/tensor.h>
#include <executorch/runtime/backend/interface.h>
#include <executorch/runtime/core/memory_allocator.h>
#include <executorch/runtime/platform/runtime.h>

#include "payload_builder.h"

namespace executorch {
namespace backends {
namespace ethosu {

class DelegateFixture : public ::testing::Test {
 protected:
  void SetUp() override {
    runtime::runtime_init();
    backend_ = runtime::get_backend_class("EthosUBackend");
    ASSERT_NE(backend_, nullptr);
  }
  void TearDown() override { unload(); }

  /// Loads a copy of the payload whose address is `remainder` modulo 16.
  runtime::Error load(const Bytes& payload, size_t remainder = 0) {
    unload();
    // Ends at the end of its allocation, so that a sanitizer reports reads beyond it.
    memory_.reset(new (std::align_val_t{16}) uint8_t[remainder + payload.size()]);
    uint8_t* const start = memory_.get() + remainder;
    std::memcpy(start, payload.data(), payload.size());
    runtime::MemoryAllocator allocator(sizeof(delegate_), delegate_);
    runtime::BackendInitContext context(&allocator);
    runtime::FreeableBuffer buffer(start, payload.size(), nullptr);
    const auto handle = backend_->init(context, &buffer, {});
    handle_ = handle.ok() ? *handle : nullptr;
    return handle.error();
  }

  runtime::Error run(std::vector<runtime::EValue> values, size_t scratch = 256) {
    std::vector<runtime::EValue*> arguments;
    for (runtime::EValue& value : values) {
      arguments.push_back(&value);
    }
    std::unique_ptr<uint8_t[]> memory(new uint8_t[scratch]);
    runtime::MemoryAllocator allocator(static_cast<uint32_t>(scratch), memory.get());
    runtime::BackendExecutionContext context(nullptr, &allocator, "forward");
    return backend_->execute(context, handle_, {arguments.data(), arguments.size()});
  }

  static extension::TensorPtr bytes(std::vector<aten::SizesType> sizes, std::vector<aten::DimOrderType> order = {}) {
    size_t count = 1;
    for (const auto size : sizes) {
      count *= static_cast<size_t>(size);
    }
    std::vector<int8_t> data(count);
    for (size_t i = 0; i < count; ++i) {
      data[i] = static_cast<int8_t>(i + 1);
    }
    return extension::make_tensor_ptr(std::move(sizes), std::move(data), std::move(order));
  }

  struct Release {
    void operator()(uint8_t* memory) const { operator delete[](memory, std::align_val_t{16}); }
  };

  runtime::BackendInterface* backend_ = nullptr;
  runtime::DelegateHandle* handle_ = nullptr;

 private:
  void unload() {
    backend_->destroy(handle_);
    handle_ = nullptr;
  }

  std::unique_ptr<uint8_t[], Release> memory_;
  alignas(16) uint8_t delegate_[512] = {};
};

}  // namespace ethosu
}  // namespace backends
}  // namespace executorch
