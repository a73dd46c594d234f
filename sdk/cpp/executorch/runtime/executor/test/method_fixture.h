// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <executorch/extension/data_loader/buffer_data_loader.h>
#include <executorch/extension/memory_allocator/malloc_memory_allocator.h>
#include <executorch/extension/tensor/tensor_ptr.h>
#include <executorch/runtime/executor/method.h>
#include <executorch/runtime/executor/program.h>
#include <executorch/runtime/executor/test/program_builder.h>
#include <executorch/runtime/platform/platform.h>
#include <executorch/runtime/platform/runtime.h>

namespace executorch {
namespace runtime {
namespace testing {

/// The log lines of the runtime since the test began.
inline std::vector<std::string> logged;

inline void keep_log(et_timestamp_t, et_pal_log_level_t, const char*, const char*, size_t, const char* text,
                     size_t length) {
  logged.emplace_back(text, length);
}

/// test::add.out(Tensor a, Tensor b, Tensor(a!) out), elementwise on floats of one size.
inline void add_kernel(KernelRuntimeContext& context, Span<EValue*> args) {
  if (args.size() != 4) {
    return context.fail(Error::InvalidProgram);
  }
  const auto& a = args[0]->toTensor();
  const auto& b = args[1]->toTensor();
  const auto& out = args[2]->toTensor();
  for (ssize_t i = 0; i < out.numel(); ++i) {
    out.mutable_data_ptr<float>()[i] = a.const_data_ptr<float>()[i] + b.const_data_ptr<float>()[i];
  }
}

inline void failing_kernel(KernelRuntimeContext& context, Span<EValue*>) {
  context.fail(Error::NotSupported);
}

inline const Kernel kTestKernels[] = {Kernel("test::add.out", add_kernel), Kernel("test::fail.out", failing_kernel)};

/// Loads and runs programs made in a test, in planned memory that is full of 0xFF.
class MethodFixture : public ::testing::Test {
 protected:
  static constexpr size_t kArenaBytes = 256;

  void SetUp() override {
    runtime_init();
    static const bool registered = register_pal(PalImpl::create(keep_log, __FILE__));
    ASSERT_TRUE(registered);
    logged.clear();
  }

  /// Loads "forward" of the program, with the kernels of the tests or with these.
  Result<Method> load(ProgramBuilder& builder, const NamedDataMap* external_data = nullptr,
                      const LoadBackendOptionsMap* backend_options = nullptr,
                      Span<const Kernel> kernels = Span<const Kernel>(kTestKernels)) {
    kernels_ = kernels;
    bytes_ = std::make_unique<ProgramBytes>(builder.finish());
    loader_ = std::make_unique<extension::BufferDataLoader>(bytes_->data(), bytes_->size());
    auto program = Program::load(loader_.get(), Program::Verification::InternalConsistency, limits_);
    if (!program.ok()) {
      return program.error();
    }
    program_ = std::make_unique<Program>(std::move(*program));
    return load_again(external_data, backend_options);
  }

  /// Loads "forward" of the present program, in fresh memory.
  Result<Method> load_again(const NamedDataMap* external_data = nullptr,
                            const LoadBackendOptionsMap* backend_options = nullptr) {
    arena_.resize(kArenaBytes / sizeof(std::max_align_t));
    std::memset(arena_.data(), 0xFF, kArenaBytes);
    planned_[0] = Span<uint8_t>(reinterpret_cast<uint8_t*>(arena_.data()), kArenaBytes);
    planned_memory_ = std::make_unique<HierarchicalAllocator>(Span<Span<uint8_t>>(planned_, 1));
    planned_memory_->set_zeroed(claim_zeroed_);
    memory_ = std::make_unique<MemoryManager>(&method_allocator_, planned_memory_.get());
    return program_->load_method("forward", memory_.get(), nullptr, external_data, backend_options, kernels_);
  }

  /// A tensor over `data`, which must outlive it.
  aten::Tensor tensor(std::vector<float>& data, std::vector<int32_t> sizes,
                      aten::ScalarType type = aten::ScalarType::Float, std::vector<uint8_t> dim_order = {}) {
    tensors_.push_back(extension::make_tensor_ptr({sizes.begin(), sizes.end()}, static_cast<void*>(data.data()),
                                                  std::move(dim_order), {}, type));
    return *tensors_.back();
  }

  static Error set_inputs(Method& method, const std::vector<EValue>& values) {
    return method.set_inputs(aten::ArrayRef<EValue>(values.data(), values.size()));
  }

  static std::vector<float> read(const EValue& value) {
    const auto& t = value.toTensor();
    return std::vector<float>(t.const_data_ptr<float>(), t.const_data_ptr<float>() + t.numel());
  }

  /// All of the log.
  static std::string log() {
    std::string all;
    for (const auto& line : logged) {
      all += line + "\n";
    }
    return all;
  }

  /// What load() has loaded.
  const Program& program() const { return *program_; }

  const uint8_t* arena() const { return reinterpret_cast<const uint8_t*>(arena_.data()); }

  /// Claims that the arena is zeroed, although it is not.
  bool claim_zeroed_ = false;

  /// What load() allows.
  ResourceLimits limits_;

 private:
  std::vector<std::max_align_t> arena_;
  Span<uint8_t> planned_[1];
  extension::MallocMemoryAllocator method_allocator_;
  std::unique_ptr<ProgramBytes> bytes_;
  std::unique_ptr<extension::BufferDataLoader> loader_;
  std::unique_ptr<Program> program_;
  std::unique_ptr<HierarchicalAllocator> planned_memory_;
  std::unique_ptr<MemoryManager> memory_;
  std::vector<extension::TensorPtr> tensors_;
  Span<const Kernel> kernels_;
};

/// A float tensor at `offset` of the arena.
inline TensorSpec at(uint32_t offset, std::vector<int32_t> sizes = {2}) {
  TensorSpec spec{std::move(sizes)};
  spec.offset = offset;
  return spec;
}

/// A float tensor without planned memory.
inline TensorSpec unplanned(std::vector<int32_t> sizes = {2}) {
  TensorSpec spec{std::move(sizes)};
  spec.planned = false;
  return spec;
}

/// The bytes of floats, for segments and constants.
inline std::vector<uint8_t> bytes_of(const std::vector<float>& values) {
  const auto* bytes = reinterpret_cast<const uint8_t*>(values.data());
  return std::vector<uint8_t>(bytes, bytes + values.size() * sizeof(float));
}

}  // namespace testing
}  // namespace runtime
}  // namespace executorch
