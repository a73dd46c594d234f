// SPDX-License-Identifier: BSD-3-Clause
//
// What ETDumpGen writes, read back with the schema's own reader. Data sinks are tested in data_sinks_test.cpp.
#include <executorch/devtools/etdump/etdump_flatcc.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <executorch/devtools/etdump/etdump_filter.h>
#include <executorch/runtime/core/exec_aten/testing_util/tensor_factory.h>
#include <executorch/runtime/platform/runtime.h>
#include <executorch/schema/etdump_generated.h>

using executorch::aten::ScalarType;
using executorch::aten::Tensor;
using executorch::etdump::ETDumpFilter;
using executorch::etdump::ETDumpGen;
using executorch::etdump::ETDumpResult;
using executorch::runtime::Error;
using executorch::runtime::EValue;
using executorch::runtime::EventTracerEntry;
using executorch::runtime::kUnsetDelegateDebugIntId;
using executorch::runtime::LoggedEValueType;
using executorch::runtime::Span;
using executorch::runtime::testing::TensorFactory;

namespace {

/// A dump with its root, which is verified.
class Dump {
 public:
  explicit Dump(ETDumpGen& etdump) : result_(etdump.get_etdump_data()), is_static_(etdump.is_static_etdump()) {
    if (result_.buf != nullptr) {
      flatbuffers::Verifier verifier(static_cast<const uint8_t*>(result_.buf), result_.size);
      EXPECT_TRUE(::etdump::VerifySizePrefixedETDumpBuffer(verifier));
      root_ = ::etdump::GetSizePrefixedETDump(result_.buf);
    }
  }
  Dump(const Dump&) = delete;
  Dump& operator=(const Dump&) = delete;
  ~Dump() {
    if (!is_static_) {
      std::free(result_.buf);
    }
  }
  const ETDumpResult& result() const { return result_; }
  const ::etdump::RunData* block(uint32_t i) const { return root_->run_data()->Get(i); }
  const ::etdump::Event* event(uint32_t i) const { return block(0)->events()->Get(i); }
  const ::etdump::ETDump* operator->() const { return root_; }

 private:
  ETDumpResult result_;
  bool is_static_;
  const ::etdump::ETDump* root_ = nullptr;
};

class ETDumpTest : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    executorch::runtime::runtime_init();
    memory_.resize(GetParam() ? 1 << 16 : 0);
    etdump_ = std::make_unique<ETDumpGen>(Span<uint8_t>(memory_.data(), memory_.size()));
    ASSERT_EQ(etdump_->is_static_etdump(), GetParam());
  }
  std::vector<uint8_t> memory_;
  std::unique_ptr<ETDumpGen> etdump_;
};

/// Writes the name of a kernel, whose address is the name itself.
void copy_name(const void* op, char* name, size_t size) {
  std::snprintf(name, size, "%s", static_cast<const char*>(op));
}

std::vector<int64_t> numbers(const flatbuffers::Vector<int64_t>* vector) {
  return {vector->begin(), vector->end()};
}

}  // namespace

INSTANTIATE_TEST_SUITE_P(OnTheHeapAndInABuffer, ETDumpTest, testing::Bool());

TEST_P(ETDumpTest, IsNothingWithoutEvents) {  // ETD-07
  const ETDumpResult result = etdump_->get_etdump_data();
  EXPECT_EQ(result.buf, nullptr);
  EXPECT_EQ(result.size, 0u);
  EXPECT_EQ(etdump_->get_num_blocks(), 0u);
}

TEST_P(ETDumpTest, WritesBlocksWithEvents) {  // ETD-04
  etdump_->create_event_block("Default");
  etdump_->set_bundled_input_index(3);
  etdump_->create_event_block("Execute");
  const EventTracerEntry outer = etdump_->start_profiling("Method::execute");
  etdump_->set_chain_debug_handle(2, 7);
  const EventTracerEntry inner = etdump_->start_profiling("OPERATOR_CALL");
  etdump_->end_profiling(inner);
  etdump_->end_profiling(etdump_->start_profiling("OPERATOR_CALL", 4, 9));
  etdump_->end_profiling(outer);
  EXPECT_EQ(etdump_->track_allocator("planned"), 1u);
  EXPECT_EQ(etdump_->track_allocator("temporary"), 2u);
  etdump_->track_allocation(2, 4096);
  EXPECT_EQ(etdump_->get_num_blocks(), 2u);

  const Dump dump(*etdump_);
  ASSERT_NE(dump.result().buf, nullptr);
  uint32_t prefix = 0;
  std::memcpy(&prefix, dump.result().buf, sizeof(prefix));
  EXPECT_EQ(prefix + sizeof(prefix), dump.result().size);
  EXPECT_EQ(std::memcmp(static_cast<const char*>(dump.result().buf) + 8, "ED00", 4), 0);
  EXPECT_EQ(dump->version(), 0u);
  ASSERT_EQ(dump->run_data()->size(), 2u);
  EXPECT_EQ(dump.block(0)->name()->str(), "Default");
  EXPECT_EQ(dump.block(0)->bundled_input_index(), -1);
  EXPECT_EQ(dump.block(0)->events(), nullptr);
  const auto* block = dump.block(1);
  EXPECT_EQ(block->name()->str(), "Execute");
  EXPECT_EQ(block->bundled_input_index(), 3);
  ASSERT_EQ(block->allocators()->size(), 2u);
  EXPECT_EQ(block->allocators()->Get(1)->name()->str(), "temporary");
  ASSERT_EQ(block->events()->size(), 4u);
  // Events are in the order in which they ended.
  const auto* first = block->events()->Get(0)->profile_event();
  EXPECT_EQ(first->name()->str(), "OPERATOR_CALL");
  EXPECT_EQ(first->chain_index(), 2);
  EXPECT_EQ(first->instruction_id(), 7);
  EXPECT_EQ(first->start_time(), inner.start_time);
  EXPECT_GE(first->end_time(), first->start_time());
  EXPECT_EQ(first->delegate_debug_id_int(), -1);
  EXPECT_EQ(first->delegate_debug_id_str(), nullptr);
  const auto* second = block->events()->Get(1)->profile_event();
  EXPECT_EQ(second->chain_index(), 4);
  EXPECT_EQ(second->instruction_id(), 9);
  EXPECT_EQ(second->name(), first->name());  // the text is stored once
  EXPECT_EQ(block->events()->Get(2)->profile_event()->name()->str(), "Method::execute");
  EXPECT_EQ(block->events()->Get(3)->profile_event(), nullptr);
  EXPECT_EQ(block->events()->Get(3)->allocation_event()->allocator_id(), 2);
  EXPECT_EQ(block->events()->Get(3)->allocation_event()->allocation_size(), 4096u);
}

// The clock is read once for each kernel: both of its events have the same times, and the next kernel begins when it
// ends, unless something happens in between.
TEST_P(ETDumpTest, KernelsFollowEachOther) {
  etdump_->create_event_block("Execute");
  ASSERT_TRUE(etdump_->times_kernels());
  const auto run = [&](uint32_t instruction, const char* kernel) {
    etdump_->set_chain_debug_handle(0, instruction);
    etdump_->start_kernel();
    etdump_->end_kernel(kernel, copy_name);
    etdump_->set_chain_debug_handle(executorch::runtime::kUnsetChainId, 0);
  };
  const auto wait = [] {
    const auto start = executorch::runtime::pal_current_ticks();
    while (executorch::runtime::pal_current_ticks() < start + 1000) {
    }
  };
  run(3, "native_call_add.out");
  wait();
  run(4, "native_call_mul.out");
  wait();
  run(6, "native_call_add.out");  // 5 was not a kernel
  wait();
  etdump_->track_allocation(1, 8);
  run(7, "native_call_add.out");
  const Dump dump(*etdump_);
  ASSERT_EQ(dump.block(0)->events()->size(), 9u);
  const uint32_t first_of[] = {0, 2, 4, 7};
  const uint32_t instructions[] = {3, 4, 6, 7};
  uint64_t before = 0;
  for (int i = 0; i < 4; ++i) {
    const auto* kernel = dump.event(first_of[i])->profile_event();
    const auto* call = dump.event(first_of[i] + 1)->profile_event();
    EXPECT_EQ(kernel->name()->str(), i == 1 ? "native_call_mul.out" : "native_call_add.out");
    EXPECT_EQ(call->name()->str(), "OPERATOR_CALL");
    EXPECT_EQ(kernel->instruction_id(), static_cast<int32_t>(instructions[i]));
    EXPECT_EQ(call->instruction_id(), static_cast<int32_t>(instructions[i]));
    EXPECT_EQ(kernel->start_time(), call->start_time());
    EXPECT_EQ(kernel->end_time(), call->end_time());
    EXPECT_GE(kernel->end_time(), kernel->start_time());
    if (i == 1) {
      EXPECT_EQ(kernel->start_time(), before);
    } else if (i > 1) {
      EXPECT_GE(kernel->start_time(), before + 1000);
    }
    before = kernel->end_time();
  }
}

// An address identifies an operator only within a block: in the next block another program may have the address.
// Kernels beyond the capacity of the name table keep correct names.
TEST_P(ETDumpTest, NamesKernelsAnewInEachBlock) {
  char texts[100][16];
  for (int block = 0; block < 2; ++block) {
    etdump_->create_event_block("Execute");
    for (uint32_t i = 0; i < 200; ++i) {
      std::snprintf(texts[i % 100], sizeof(texts[0]), "%d of %u", block, i % 100);
      etdump_->set_chain_debug_handle(0, i);
      etdump_->start_kernel();
      etdump_->end_kernel(texts[i % 100], copy_name);
    }
  }
  const Dump dump(*etdump_);
  uint32_t count = 0;
  for (uint32_t block = 0; block < etdump_->get_num_blocks(); ++block) {
    const auto* events = dump.block(block)->events();
    for (uint32_t i = 0; events != nullptr && i < events->size(); ++i, ++count) {
      const auto* event = events->Get(i)->profile_event();
      const std::string name = std::to_string(block) + " of " + std::to_string(i / 2 % 100);
      EXPECT_EQ(event->name()->str(), i % 2 == 0 ? name : "OPERATOR_CALL");
      EXPECT_EQ(event->instruction_id(), static_cast<int32_t>(i / 2));
    }
  }
  EXPECT_EQ(count == 800, !GetParam());  // the buffer is full before
  EXPECT_GE(count, 200u);
}

TEST_P(ETDumpTest, WritesEventsInsideDelegates) {  // DBG-10, DBG-11, DBG-12
  etdump_->create_event_block("Execute");
  const char metadata[] = "words of the delegate";
  etdump_->end_profiling_delegate(etdump_->start_profiling_delegate("conv", kUnsetDelegateDebugIntId), metadata,
                                  sizeof(metadata));
  etdump_->end_profiling_delegate(etdump_->start_profiling_delegate(nullptr, 5), nullptr, 0);
  etdump_->log_profiling_delegate(nullptr, 0, 10, 20, metadata, 5);
  const Dump dump(*etdump_);
  const auto* named = dump.event(0)->profile_event();
  EXPECT_EQ(named->delegate_debug_id_str()->str(), "conv");
  EXPECT_EQ(named->delegate_debug_id_int(), -1);
  EXPECT_EQ(named->name(), nullptr);
  EXPECT_STREQ(reinterpret_cast<const char*>(named->delegate_debug_metadata()->data()), metadata);
  EXPECT_EQ(dump.event(1)->profile_event()->delegate_debug_id_int(), 5);
  EXPECT_EQ(dump.event(1)->profile_event()->delegate_debug_metadata(), nullptr);
  const auto* logged = dump.event(2)->profile_event();
  EXPECT_EQ(logged->delegate_debug_id_int(), 0);
  EXPECT_EQ(logged->start_time(), 10u);
  EXPECT_EQ(logged->end_time(), 20u);
  EXPECT_EQ(logged->delegate_debug_metadata()->size(), 5u);
}

TEST_P(ETDumpTest, LogsValues) {  // MDB-01
  alignas(64) uint8_t buffer[256];
  TensorFactory<ScalarType::Float> floats;
  const Tensor tensor = floats.make({2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(etdump_->log_evalue(EValue(tensor)).error(), Error::InvalidState);
  ASSERT_TRUE(etdump_->set_debug_buffer(Span<uint8_t>(buffer, sizeof(buffer))).ok());
  etdump_->reset();
  etdump_->create_event_block("Execute");
  etdump_->set_chain_debug_handle(0, 11);
  EXPECT_TRUE(etdump_->log_evalue(EValue(tensor)).get());
  EXPECT_TRUE(etdump_->log_evalue(EValue(tensor), LoggedEValueType::kProgramOutput).get());
  EXPECT_TRUE(etdump_->log_evalue(EValue(int64_t{-5})).get());
  EXPECT_TRUE(etdump_->log_evalue(EValue(0.25)).get());
  EXPECT_TRUE(etdump_->log_evalue(EValue(true)).get());
  EXPECT_FALSE(etdump_->log_evalue(EValue()).get());
  EValue* unset = nullptr;
  Tensor place = tensor;
  executorch::runtime::BoxedEvalueList<Tensor> list(&unset, &place, 1);
  EXPECT_EQ(etdump_->log_evalue(EValue(&list)).error(), Error::InvalidState);
  const Tensor both[] = {tensor, floats.make({}, {8})};
  EXPECT_TRUE(etdump_->log_intermediate_output_delegate("pair", -1, executorch::aten::ArrayRef<Tensor>(both, 2)).get());
  EXPECT_EQ(etdump_->log_evalue(EValue(floats.zeros({64}))).error(), Error::OutOfResources);

  const Dump dump(*etdump_);
  ASSERT_EQ(dump.block(0)->events()->size(), 6u);
  const auto value = [&](uint32_t i) { return dump.event(i)->debug_event()->debug_entry(); };
  EXPECT_EQ(dump.event(0)->debug_event()->instruction_id(), 11);
  ASSERT_EQ(value(0)->val(), ::etdump::ValueType::Tensor);
  EXPECT_EQ(value(0)->output(), nullptr);
  const auto* logged = value(1)->tensor();
  EXPECT_TRUE(value(1)->output()->bool_val());
  EXPECT_EQ(logged->scalar_type(), executorch_flatbuffer::ScalarType::FLOAT);
  EXPECT_EQ(numbers(logged->sizes()), (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(numbers(logged->strides()), (std::vector<int64_t>{3, 1}));
  EXPECT_EQ(value(0)->tensor()->offset(), 0);
  EXPECT_EQ(logged->offset(), 64);
  EXPECT_EQ(std::memcmp(buffer + 64, tensor.const_data_ptr(), tensor.nbytes()), 0);
  EXPECT_EQ(value(2)->int_value()->int_val(), -5);
  EXPECT_EQ(value(3)->double_value()->double_val(), 0.25);
  EXPECT_TRUE(value(4)->bool_value()->bool_val());
  ASSERT_EQ(value(5)->val(), ::etdump::ValueType::TensorList);
  EXPECT_EQ(dump.event(5)->debug_event()->delegate_debug_id_str()->str(), "pair");
  ASSERT_EQ(value(5)->tensor_list()->tensors()->size(), 2u);
  EXPECT_EQ(value(5)->tensor_list()->tensors()->Get(0)->offset(), 128);
  EXPECT_EQ(value(5)->tensor_list()->tensors()->Get(1)->offset(), 192);
  EXPECT_EQ(value(5)->tensor_list()->tensors()->Get(1)->sizes()->size(), 0u);
}

// The numbers are those of Python's zlib.crc32() over the same bytes.
TEST_P(ETDumpTest, IdentifiesTheInputsOfARun) {
  TensorFactory<ScalarType::Float> floats;
  const Tensor tensor = floats.make({1, 2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8});
  const auto run = [&](const std::vector<EValue>& inputs) {
    etdump_->create_event_block("Execute");
    for (size_t i = 0; i < inputs.size(); ++i) {
      etdump_->log_input(i, inputs[i]);
    }
  };
  run({});
  run({EValue(tensor), EValue(int64_t{-5}), EValue(0.25), EValue(true), EValue()});
  // The same elements in another order of memory.
  run({EValue(floats.make({1, 2, 2, 2}, {1, 5, 2, 6, 3, 7, 4, 8}, {8, 1, 4, 2})), EValue(int64_t{-5}), EValue(0.25),
       EValue(true), EValue()});
  run({EValue(floats.make({1, 2, 4}, {1, 2, 3, 4, 5, 6, 7, 8}))});
  const bool flags[] = {true};
  executorch::aten::ArrayRef<bool> list(flags, 1);
  run({EValue(&list)});
  // After two executions in a block, the digest is that of the second one.
  etdump_->create_event_block("Default");
  etdump_->log_input(0, EValue(int64_t{1}));
  etdump_->log_input(0, EValue(int64_t{2}));

  const Dump dump(*etdump_);
  EXPECT_EQ(dump.block(0)->inputs_digest(), 0u);
  EXPECT_EQ(dump.block(1)->inputs_digest(), 0x5DAC80EDB5BD0C31u);
  EXPECT_EQ(dump.block(2)->inputs_digest(), 0x5DAC80EDB5BD0C31u);
  EXPECT_EQ(dump.block(3)->inputs_digest(), 0x766D2F9AD8B164FBu);
  EXPECT_EQ(dump.block(4)->inputs_digest(), 0u);
  EXPECT_EQ(dump.block(5)->inputs_digest(), 0xE66C36712707D814u);
}

TEST_P(ETDumpTest, LeavesOutTensorsInTheMemoryOfADevice) {
  alignas(64) uint8_t buffer[64];
  ASSERT_TRUE(etdump_->set_debug_buffer(Span<uint8_t>(buffer, sizeof(buffer))).ok());
  etdump_->create_event_block("Execute");
  using executorch::runtime::etensor::DeviceType;
  using executorch::runtime::etensor::TensorImpl;
  TensorImpl::SizesType size = 4;
  // The CPU would fault at this address.
  TensorImpl impl(ScalarType::Float, 1, &size, reinterpret_cast<void*>(16), nullptr, nullptr,
                  executorch::aten::TensorShapeDynamism::STATIC, DeviceType::CUDA);
  const auto logged = etdump_->log_evalue(EValue(Tensor(&impl)));
  ASSERT_TRUE(logged.ok());
  EXPECT_FALSE(logged.get());
  etdump_->log_input(0, EValue(int64_t{1}));
  etdump_->log_input(1, EValue(Tensor(&impl)));
  const Dump dump(*etdump_);
  EXPECT_EQ(dump.block(0)->inputs_digest(), 0u);
}

TEST_P(ETDumpTest, FiltersOutputsOfDelegates) {
  ETDumpFilter filter;
  ASSERT_TRUE(filter.add_regex("conv.*").get());
  ASSERT_TRUE(filter.set_debug_handle_range(10, 20).get());
  etdump_->set_delegation_intermediate_output_filter(&filter);
  EXPECT_TRUE(etdump_->log_intermediate_output_delegate("conv2d", -1, 1.5).get());
  EXPECT_FALSE(etdump_->log_intermediate_output_delegate("a_conv2d", -1, 2.5).get());
  EXPECT_TRUE(etdump_->log_intermediate_output_delegate(nullptr, 10, 3).get());
  EXPECT_FALSE(etdump_->log_intermediate_output_delegate(nullptr, 20, true).get());
  EXPECT_EQ(etdump_->log_intermediate_output_delegate("conv2d", 1, 1).error(), Error::InvalidArgument);
  EXPECT_EQ(etdump_->log_intermediate_output_delegate(nullptr, -1, 1).error(), Error::InvalidArgument);
  etdump_->set_delegation_intermediate_output_filter(nullptr);
  EXPECT_TRUE(etdump_->log_intermediate_output_delegate("a_conv2d", -1, true).get());
  const Dump dump(*etdump_);
  EXPECT_EQ(dump.block(0)->name()->str(), "Default");
  ASSERT_EQ(dump.block(0)->events()->size(), 3u);
  EXPECT_EQ(dump.event(0)->debug_event()->debug_entry()->double_value()->double_val(), 1.5);
  EXPECT_EQ(dump.event(1)->debug_event()->delegate_debug_id_int(), 10);
  EXPECT_TRUE(dump.event(2)->debug_event()->debug_entry()->bool_value()->bool_val());
}

TEST_P(ETDumpTest, BeginsANewDumpAfterEach) {
  etdump_->create_event_block("one");
  const EventTracerEntry open = etdump_->start_profiling("open");
  {
    const Dump dump(*etdump_);
    EXPECT_EQ(dump->run_data()->size(), 1u);
    const Dump again(*etdump_);
    EXPECT_EQ(again.result().size, dump.result().size);
  }
  etdump_->end_profiling(open);  // the event belongs to a dump that was fetched
  etdump_->create_event_block("two");
  etdump_->end_profiling(open);
  etdump_->end_profiling(etdump_->start_profiling("event"));
  const Dump dump(*etdump_);
  ASSERT_EQ(dump->run_data()->size(), 1u);
  EXPECT_EQ(dump.block(0)->name()->str(), "two");
  ASSERT_EQ(dump.block(0)->events()->size(), 1u);
  etdump_->reset();
  EXPECT_EQ(etdump_->get_etdump_data().buf, nullptr);
}

TEST_P(ETDumpTest, KeepsAThousandEventsOrWhatFits) {
  etdump_->create_event_block("Execute");
  for (int i = 0; i < 1000; ++i) {
    etdump_->end_profiling(etdump_->start_profiling(("operator " + std::to_string(i)).c_str()));
  }
  const Dump dump(*etdump_);
  ASSERT_NE(dump.result().buf, nullptr);
  const auto* events = dump.block(0)->events();
  ASSERT_EQ(GetParam(), events->size() < 1000u);
  EXPECT_GE(events->size(), 90u);  // in 64 KB
  for (uint32_t i = 0; i < events->size(); ++i) {
    EXPECT_EQ(events->Get(i)->profile_event()->name()->str(), "operator " + std::to_string(i));
  }
}

// With a buffer of any size and alignment, the dump holds the events that fit, and nothing outside is written.
TEST(ETDumpBufferTest, HoldsWhatFits) {
  executorch::runtime::runtime_init();
  TensorFactory<ScalarType::Int> ints;
  const Tensor tensors[] = {ints.ones({1, 2, 3, 4}), ints.ones({2}), ints.ones({})};
  std::vector<uint8_t> debug(1 << 16);
  size_t most = 0;
  for (size_t size = 0; size < 17000; size += 61) {
    auto memory = std::make_unique<uint8_t[]>(size + 1);  // the exact size lets the sanitizers detect overruns
    ETDumpGen etdump(Span<uint8_t>(memory.get() + 1, size));
    ASSERT_TRUE(etdump.set_debug_buffer(Span<uint8_t>(debug.data(), debug.size())).ok());
    for (int i = 0; i < 4; ++i) {
      etdump.create_event_block(std::string(static_cast<size_t>(i) * 7, 'b').c_str());
      etdump.track_allocator("allocator");
      etdump.end_profiling_delegate(etdump.start_profiling_delegate("an event inside a delegate", -1), debug.data(),
                                    static_cast<size_t>(i) * 5);
      (void)etdump.log_evalue(EValue(tensors[0]));
      (void)etdump.log_intermediate_output_delegate(nullptr, i, executorch::aten::ArrayRef<Tensor>(tensors, 3));
      (void)etdump.log_evalue(EValue(1.0), LoggedEValueType::kProgramOutput);
      etdump.start_kernel();
      etdump.end_kernel("kernel", copy_name);
    }
    const Dump dump(etdump);
    ASSERT_EQ(dump.result().buf == nullptr, etdump.get_num_blocks() == 0);
    size_t count = 0;
    for (uint32_t i = 0; i < etdump.get_num_blocks(); ++i) {
      count += dump.block(i)->events() == nullptr ? 0 : dump.block(i)->events()->size();
    }
    ASSERT_GE(count, most);
    most = count;
  }
  EXPECT_EQ(most, 24u);
}
