// SPDX-License-Identifier: BSD-3-Clause
// The same as module_faults_test.cpp for applications that use Program and Method with their own loaders and memory.
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <executorch/extension/flat_tensor/flat_tensor_data_map.h>
#include <executorch/runtime/executor/memory_manager.h>
#include <executorch/runtime/executor/method.h>
#include <executorch/runtime/executor/program.h>
#include <executorch/runtime/platform/runtime.h>

#include "corpus_programs.h"
#include "faults.h"

using executorch::aten::ArrayRef;
using executorch::extension::FlatTensorDataMap;
using executorch::runtime::DataLoader;
using executorch::runtime::Error;
using executorch::runtime::EValue;
using executorch::runtime::FreeableBuffer;
using executorch::runtime::HierarchicalAllocator;
using executorch::runtime::MemoryAllocator;
using executorch::runtime::MemoryManager;
using executorch::runtime::Program;
using executorch::runtime::Result;
using executorch::runtime::Span;
using faults::Kind;

namespace {

/// A file in memory. Each load gives a separate heap block, so that sanitizers detect reading past its end.
class BlockLoader final : public DataLoader {
 public:
  explicit BlockLoader(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    bytes_.assign(std::istreambuf_iterator<char>(file), {});
    EXPECT_FALSE(bytes_.empty()) << path;
  }

  Result<FreeableBuffer> load(size_t offset, size_t size, const SegmentInfo&) const override {
    if (offset > bytes_.size() || size > bytes_.size() - offset) {
      return Error::InvalidArgument;
    }
    if (faults::due(Kind::kRead)) {
      return Error::AccessFailed;
    }
    const size_t given = faults::due(Kind::kShortRead) ? size / 2 : size;
    void* block = std::malloc(given);
    if (block == nullptr) {
      return Error::MemoryAllocationFailed;
    }
    std::memcpy(block, bytes_.data() + offset, given);
    return FreeableBuffer(block, given, [](void*, void* data, size_t) { std::free(data); });
  }

  Error load_into(size_t offset, size_t size, const SegmentInfo&, void* buffer) const override {
    if (offset > bytes_.size() || size > bytes_.size() - offset) {
      return Error::InvalidArgument;
    }
    if (faults::due(Kind::kRead) || faults::due(Kind::kShortRead)) {
      return Error::AccessFailed;
    }
    std::memcpy(buffer, bytes_.data() + offset, size);
    return Error::Ok;
  }

  Result<size_t> size() const override {
    if (faults::due(Kind::kRead)) {
      return Error::AccessFailed;
    }
    return bytes_.size();
  }

 private:
  std::string bytes_;
};

/// Memory of the application, which may be exhausted.
class FullAllocator final : public MemoryAllocator {
 public:
  FullAllocator(uint32_t size, uint8_t* base) : MemoryAllocator(size, base) {}

  void* allocate(size_t size, size_t alignment) override {
    return faults::due(Kind::kAllocation) ? nullptr : MemoryAllocator::allocate(size, alignment);
  }
};

struct Case {
  std::string program;
  Kind kind;
};

class ProgramFaultsTest : public ::testing::TestWithParam<Case> {
 protected:
  static constexpr size_t kPoolBytes = 4 << 20;

  void SetUp() override {
    executorch::runtime::runtime_init();
    manifest_ = corpus::read_manifest(GetParam().program);
    program_loader_ = std::make_unique<BlockLoader>(manifest_.program_path);
    if (!manifest_.data_paths.empty()) {
      data_loader_ = std::make_unique<BlockLoader>(manifest_.data_paths.at(0));
    }
    inputs_ = std::make_unique<corpus::Inputs>(manifest_.calls.at(0).inputs);
    outputs_.resize(manifest_.calls.at(0).outputs.size());
    for (auto* pool : {&method_pool_, &temp_pool_, &planned_pool_}) {
      pool->resize(kPoolBytes / sizeof(std::max_align_t));
    }
  }

  static uint8_t* start(std::vector<std::max_align_t>& pool) { return reinterpret_cast<uint8_t*>(pool.data()); }

  /// Loads the program and runs its first call; the results are in `results_` when there is no fault armed.
  Error load_and_run() {
    auto program = Program::load(program_loader_.get());
    if (!program.ok()) {
      return program.error();
    }
    std::optional<FlatTensorDataMap> data_map;
    if (data_loader_ != nullptr) {
      auto loaded = FlatTensorDataMap::load(data_loader_.get());
      if (!loaded.ok()) {
        return loaded.error();
      }
      data_map.emplace(std::move(*loaded));
    }
    const char* name = manifest_.calls.at(0).method.c_str();
    const auto meta = program->method_meta(name);
    if (!meta.ok()) {
      return meta.error();
    }
    Span<uint8_t> planned[8];
    size_t used = 0;
    const size_t num_planned = meta->num_memory_planned_buffers();
    for (size_t i = 0; i < num_planned && i < 8; ++i) {
      const auto size = static_cast<size_t>(*meta->memory_planned_buffer_size(i));
      planned[i] = Span<uint8_t>(start(planned_pool_) + used, size);
      used += (size + 63) / 64 * 64;
    }
    // State without an initial value in the program begins with the content of the memory.
    std::memset(planned_pool_.data(), 0, used);
    HierarchicalAllocator planned_memory(Span<Span<uint8_t>>(planned, num_planned));
    FullAllocator method_allocator(kPoolBytes, start(method_pool_));
    FullAllocator temp_allocator(kPoolBytes, start(temp_pool_));
    MemoryManager memory(&method_allocator, &planned_memory, own_temp_memory_ ? &temp_allocator : nullptr);
    auto method = program->load_method(name, &memory, nullptr, data_map.has_value() ? &*data_map : nullptr);
    if (!method.ok()) {
      return method.error();
    }
    const auto& inputs = inputs_->evalues();
    Error error = method->set_inputs(ArrayRef<EValue>(inputs.data(), inputs.size()));
    for (size_t i = 0; error == Error::Ok && i < method->outputs_size(); ++i) {
      const auto info = meta->output_tensor_meta(i);
      if (info.ok() && !info->is_memory_planned() && method->get_output(i).toTensor().const_data_ptr() == nullptr) {
        used = (used + 63) / 64 * 64;
        error = method->set_output_data_ptr(start(planned_pool_) + used, info->nbytes(), i);
        used += info->nbytes();
      }
    }
    error = error == Error::Ok ? method->execute() : error;
    error = error == Error::Ok ? method->get_outputs(outputs_.data(), outputs_.size()) : error;
    if (error == Error::Ok && keep_results_) {
      results_ = faults::snapshot(outputs_);
    }
    return error;
  }

  void any_one_operation_fails() {
    ASSERT_EQ(load_and_run(), Error::Ok);
    const std::vector<std::string> expected = results_;
    size_t n = 0;
    for (bool met = true; met; ++n) {
      const long before = faults::live_blocks();
      keep_results_ = false;
      faults::arm(GetParam().kind, n);
      const Error error = load_and_run();
      met = faults::disarm();
      ASSERT_EQ(faults::live_blocks(), before) << "operation " << n << " leaks";
      ASSERT_EQ(error == Error::Ok, !met) << "operation " << n;
      keep_results_ = true;
      ASSERT_EQ(load_and_run(), Error::Ok) << "after operation " << n << " failed";
      ASSERT_EQ(results_, expected) << "after operation " << n << " failed";
    }
    EXPECT_GT(n, 1u);
  }

  bool own_temp_memory_ = true;

 private:
  corpus::Manifest manifest_;
  std::unique_ptr<BlockLoader> program_loader_;
  std::unique_ptr<BlockLoader> data_loader_;
  std::unique_ptr<corpus::Inputs> inputs_;
  std::vector<EValue> outputs_;
  std::vector<std::string> results_;
  std::vector<std::max_align_t> method_pool_;
  std::vector<std::max_align_t> temp_pool_;
  std::vector<std::max_align_t> planned_pool_;
  bool keep_results_ = true;
};

TEST_P(ProgramFaultsTest, AnyOneOperationFails) {
  any_one_operation_fails();
}

TEST_P(ProgramFaultsTest, AnyOneOperationFailsWithTheMemoryOfThePlatform) {
  own_temp_memory_ = false;
  any_one_operation_fails();
}

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const char* program : faults::kPrograms) {
    for (const Kind kind : {Kind::kAllocation, Kind::kRead, Kind::kShortRead}) {
      all.push_back({program, kind});
    }
  }
  return all;
}

std::string name_of(const ::testing::TestParamInfo<Case>& info) {
  static const char* const kKinds[] = {"_allocation", "_read", "_short_read"};
  return info.param.program + kKinds[static_cast<int>(info.param.kind)];
}

INSTANTIATE_TEST_SUITE_P(All, ProgramFaultsTest, ::testing::ValuesIn(cases()), name_of);

}  // namespace
