// SPDX-License-Identifier: BSD-3-Clause
#include <vector>

#include <executorch/runtime/executor/test/method_fixture.h>

using executorch::aten::ScalarType;
using executorch::aten::Tensor;
using executorch::aten::TensorImpl;
using executorch::extension::BufferDataLoader;
using executorch::runtime::Error;
using executorch::runtime::EValue;
using executorch::runtime::Method;
using executorch::runtime::Program;
using namespace executorch::runtime::testing;  // NOLINT: test helpers
using ::testing::ElementsAre;
using ::testing::HasSubstr;

namespace {

using MethodTest = MethodFixture;

TEST_F(MethodTest, ExecutesAgainAndAgain) {
  ProgramBuilder b;
  const int32_t x = b.tensor(at(0));
  const int32_t y = b.tensor(at(16));
  const int32_t out = b.tensor(at(32));
  b.inputs = {x, y};
  b.outputs = {out};
  b.call(b.op("test::add", "out"), {x, y, out, out});
  auto method = load(b);
  ASSERT_TRUE(method.ok());
  for (const float start : {1.0f, 10.0f}) {
    std::vector<float> left{start, start + 1};
    std::vector<float> right{5, 6};
    ASSERT_EQ(set_inputs(*method, {EValue(tensor(left, {2})), EValue(tensor(right, {2}))}), Error::Ok);
    ASSERT_EQ(method->execute(), Error::Ok);
    EXPECT_EQ(read(method->get_output(0)), (std::vector<float>{start + 5, start + 7}));
  }
  EValue outputs[2];
  ASSERT_EQ(method->get_outputs(outputs, 2), Error::Ok);
  EXPECT_TRUE(outputs[0].isTensor());
  EXPECT_TRUE(outputs[1].isNone());
  EXPECT_EQ(method->get_outputs(outputs, 0), Error::InvalidArgument);
}

TEST_F(MethodTest, AMethodThatWasMovedFromSaysSo) {
  ProgramBuilder b;
  const int32_t x = b.tensor(at(0));
  const int32_t out = b.tensor(at(16));
  b.inputs = {x};
  b.outputs = {out};
  b.call(b.op("test::add", "out"), {x, x, out, out});
  b.call(b.op("test::add", "out"), {out, x, out, out});
  auto loaded = load(b);
  ASSERT_TRUE(loaded.ok());
  std::vector<float> data{1, 2};
  const EValue input(tensor(data, {2}));
  ASSERT_EQ(loaded->set_input(input, 0), Error::Ok);
  ASSERT_EQ(loaded->step(), Error::Ok);
  Method method(std::move(*loaded));
  Method& old = *loaded;  // NOLINT(bugprone-use-after-move): that is what is tested

  EValue values[1];
  float result[2];
  EXPECT_EQ(old.execute(), Error::InvalidState);
  EXPECT_THAT(log(), HasSubstr("Method 'forward' was moved from: use the Method that it was moved to"));
  EXPECT_EQ(old.step(), Error::InvalidState);
  EXPECT_EQ(old.reset_execution(), Error::InvalidState);
  EXPECT_EQ(old.set_input(input, 0), Error::InvalidState);
  EXPECT_EQ(old.set_inputs({&input, 1}), Error::InvalidState);
  EXPECT_EQ(old.set_output_data_ptr(result, sizeof(result), 0), Error::InvalidState);
  EXPECT_EQ(old.get_inputs(values, 1), Error::InvalidState);
  EXPECT_EQ(old.get_outputs(values, 1), Error::InvalidState);
  EXPECT_EQ(old.get_attribute("buffer").error(), Error::InvalidState);
  EXPECT_FALSE(old.in_progress());
  old.set_interrupt(nullptr);
  EXPECT_EQ(old.get_event_tracer(), nullptr);
  EXPECT_STREQ(old.method_meta().name(), "forward");
  EXPECT_EQ(old.inputs_size(), 1u);
  EXPECT_EQ(old.outputs_size(), 1u);
  EXPECT_DEATH((void)old.get_input(0), "");
  EXPECT_DEATH((void)old.get_output(0), "");

  EXPECT_TRUE(method.in_progress());
  ASSERT_EQ(method.step(), Error::Ok);
  EXPECT_EQ(read(method.get_output(0)), (std::vector<float>{3, 6}));
}

TEST_F(MethodTest, UnplannedOutputsNeedMemory) {
  ProgramBuilder b;
  const int32_t x = b.tensor(unplanned());
  const int32_t out = b.tensor(unplanned());
  b.inputs = {x};
  b.outputs = {out};
  b.call(b.op("test::add", "out"), {x, x, out, out});
  auto method = load(b);
  ASSERT_TRUE(method.ok());
  std::vector<float> data{1, 2};
  ASSERT_EQ(method->set_input(EValue(tensor(data, {2})), 0), Error::Ok);
  EXPECT_EQ(method->execute(), Error::InvalidState);
  EXPECT_THAT(log(), HasSubstr("call set_output_data_ptr() first"));
  float result[2] = {};
  EXPECT_EQ(method->set_output_data_ptr(result, 7, 0), Error::InvalidArgument);
  EXPECT_EQ(method->set_output_data_ptr(nullptr, 8, 0), Error::InvalidArgument);
  EXPECT_EQ(method->set_output_data_ptr(result, 8, 1), Error::InvalidArgument);
  ASSERT_EQ(method->set_output_data_ptr(result, sizeof(result), 0), Error::Ok);
  ASSERT_EQ(method->execute(), Error::Ok);
  EXPECT_EQ(result[0], 2);
  EXPECT_EQ(result[1], 4);
}

// MEM-09: an output that is the next call's input, in one buffer of the caller's, without a copy.
TEST_F(MethodTest, AnOutputMayBeTheNextInput) {
  ProgramBuilder b;
  const int32_t x = b.tensor(unplanned());
  const int32_t out = b.tensor(unplanned());
  b.inputs = {x};
  b.outputs = {out};
  b.call(b.op("test::add", "out"), {x, x, out, out});
  auto method = load(b);
  ASSERT_TRUE(method.ok());
  std::vector<float> state{1, -3};
  ASSERT_EQ(method->set_input(EValue(tensor(state, {2})), 0), Error::Ok);
  ASSERT_EQ(method->set_output_data_ptr(state.data(), state.size() * sizeof(float), 0), Error::Ok);
  for (const float factor : {2.0f, 4.0f, 8.0f}) {
    ASSERT_EQ(method->execute(), Error::Ok);
    EXPECT_EQ(state, (std::vector<float>{factor, -3 * factor}));
  }
  EXPECT_EQ(method->get_output(0).toTensor().const_data_ptr(), state.data());
}

TEST_F(MethodTest, JumpsAndMovesFollowTheCondition) {
  ProgramBuilder b;
  TensorSpec flag = at(64, {});
  flag.type = fb::ScalarType::BOOL;
  const int32_t condition = b.tensor(flag);
  const int32_t x = b.tensor(at(0));
  const int32_t doubled = b.tensor(at(16));
  const int32_t out = b.tensor(at(32));
  const int32_t never = b.boolean(false);
  b.inputs = {condition, x};
  b.outputs = {out};
  b.jump_false(condition, 4);
  b.call(b.op("test::add", "out"), {x, x, doubled, doubled});
  b.move(doubled, out);
  b.jump_false(never, 5);
  b.move(x, out);
  auto method = load(b);
  ASSERT_TRUE(method.ok());
  std::vector<float> data{1, 2};
  for (const bool taken : {true, false, true}) {
    bool element = taken;
    TensorImpl impl(ScalarType::Bool, 0, nullptr, &element);
    ASSERT_EQ(set_inputs(*method, {EValue(Tensor(&impl)), EValue(tensor(data, {2}))}), Error::Ok);
    ASSERT_EQ(method->execute(), Error::Ok);
    EXPECT_EQ(read(method->get_output(0)), taken ? (std::vector<float>{2, 4}) : data);
    // The output keeps its own planned memory.
    EXPECT_EQ(method->get_output(0).toTensor().const_data_ptr(), arena() + 32);
  }
}

TEST_F(MethodTest, StepsThroughInstructions) {
  ProgramBuilder b;
  const int32_t x = b.tensor(at(0));
  const int32_t out = b.tensor(at(16));
  const int32_t add = b.op("test::add", "out");
  b.inputs = {x};
  b.outputs = {out};
  b.call(add, {x, x, out, out});
  b.call(add, {out, out, out, out});
  auto method = load(b);
  ASSERT_TRUE(method.ok());
  std::vector<float> data{1, 2};
  ASSERT_EQ(method->set_input(EValue(tensor(data, {2})), 0), Error::Ok);
  EXPECT_FALSE(method->in_progress());
  ASSERT_EQ(method->step(), Error::Ok);
  EXPECT_TRUE(method->in_progress());
  EXPECT_EQ(method->reset_execution(), Error::InvalidState);
  EXPECT_EQ(read(method->get_output(0)), (std::vector<float>{2, 4}));
  ASSERT_EQ(method->step(), Error::Ok);
  EXPECT_EQ(read(method->get_output(0)), (std::vector<float>{4, 8}));
  EXPECT_FALSE(method->in_progress()) << "no instruction is left";
  EXPECT_EQ(method->step(), Error::EndOfMethod);
  EXPECT_EQ(method->step(), Error::EndOfMethod) << "it does not begin again by itself";
  ASSERT_EQ(method->reset_execution(), Error::Ok);
  EXPECT_FALSE(method->in_progress());
  ASSERT_EQ(method->step(), Error::Ok);
  EXPECT_EQ(read(method->get_output(0)), (std::vector<float>{2, 4}));
}

TEST_F(MethodTest, ExecuteDoesNotInterruptSteps) {
  ProgramBuilder b;
  const int32_t x = b.tensor(at(0));
  const int32_t out = b.tensor(at(16));
  const int32_t add = b.op("test::add", "out");
  b.inputs = {x};
  b.outputs = {out};
  b.call(add, {x, x, out, out});
  b.call(add, {out, x, out, out});
  auto method = load(b);
  ASSERT_TRUE(method.ok());
  std::vector<float> data{1, 2};
  ASSERT_EQ(method->set_input(EValue(tensor(data, {2})), 0), Error::Ok);
  ASSERT_EQ(method->step(), Error::Ok);
  logged.clear();
  EXPECT_EQ(method->execute(), Error::InvalidState);
  EXPECT_THAT(log(), HasSubstr("is at instruction 1 of an execution by step(): step to its end first"));
  EXPECT_EQ(read(method->get_output(0)), (std::vector<float>{2, 4})) << "nothing ran";
  ASSERT_EQ(method->step(), Error::Ok);
  EXPECT_EQ(read(method->get_output(0)), (std::vector<float>{3, 6}));
  EXPECT_EQ(method->execute(), Error::Ok) << "at the end, without a reset";
  EXPECT_EQ(read(method->get_output(0)), (std::vector<float>{3, 6}));
}

TEST_F(MethodTest, AJumpToTheStartDoesNotBeginAgain) {
  ProgramBuilder b;
  const int32_t x = b.tensor(at(0));
  const int32_t out = b.tensor(at(16));
  const int32_t never = b.boolean(false);
  b.inputs = {x};
  b.outputs = {out};
  b.call(b.op("test::add", "out"), {x, x, out, out});
  b.jump_false(never, 0);
  auto method = load(b);
  ASSERT_TRUE(method.ok());
  std::vector<float> data{1, 2};
  ASSERT_EQ(method->set_input(EValue(tensor(data, {2})), 0), Error::Ok);
  for (int turn = 0; turn < 2; ++turn) {
    ASSERT_EQ(method->step(), Error::Ok);
    ASSERT_EQ(method->step(), Error::Ok) << "the jump";
    EXPECT_TRUE(method->in_progress());
    EXPECT_EQ(method->reset_execution(), Error::InvalidState);
    logged.clear();
    EXPECT_EQ(method->execute(), Error::InvalidState);
    EXPECT_THAT(log(), HasSubstr("is at instruction 0 of an execution by step(): step to its end first"));
  }
}

TEST_F(MethodTest, AllThatIsMissingIsNamedAtOnce) {
  ProgramBuilder b;
  b.call(b.op("test::absent_one", "out"), {});
  b.call(b.op("test::add", "out"), {});
  b.call(b.op("test::absent_two", ""), {});
  EXPECT_EQ(load(b).error(), Error::OperatorMissing);
  EXPECT_THAT(logged,
              ElementsAre("Method 'forward' needs 2 operators that are not registered for its dtypes and memory "
                          "orders; link a kernel library that has them (with a selective build, add them to "
                          "its list): test::absent_one.out, test::absent_two"));
}

// The list that the caller gives is searched, so the log tells of it, whatever the registry has.
TEST_F(MethodTest, AKernelForOtherTensorsInTheCallersListIsNamed) {
  const auto nothing = [](executorch::runtime::KernelRuntimeContext&, executorch::runtime::Span<EValue*>) {};
  static const bool is_registered =
      executorch::runtime::register_kernel(executorch::runtime::Kernel("test::listed.out", nothing)) == Error::Ok;
  ASSERT_TRUE(is_registered);
  const executorch::runtime::Kernel list[] = {
      executorch::runtime::Kernel("test::listed.out", "dtypes/000100000000000000000000000000", nothing)};
  ProgramBuilder b;
  const int32_t x = b.tensor(at(0));
  b.call(b.op("test::listed", "out"), {x, x});
  EXPECT_EQ(load(b, nullptr, nullptr, executorch::runtime::Span<const executorch::runtime::Kernel>(list)).error(),
            Error::OperatorMissing);
  EXPECT_THAT(log(), HasSubstr("kernel 'test::listed.out' is not registered for these tensors (dtype Float"));
}

TEST_F(MethodTest, AFailingKernelIsNamedAndTheMethodGoesOn) {
  ProgramBuilder b;
  const int32_t x = b.tensor(at(0));
  b.outputs = {x};
  b.call(b.op("test::fail", "out"), {x, x});
  auto method = load(b);
  ASSERT_TRUE(method.ok());
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(method->execute(), Error::NotSupported);
    EXPECT_THAT(log(), HasSubstr("test::fail"));
    EXPECT_FALSE(method->in_progress());
  }
}

TEST_F(MethodTest, KernelsMayNotWriteToConstants) {
  ProgramBuilder b;
  b.constants = {std::vector<uint8_t>(8)};
  TensorSpec constant = unplanned();
  constant.data_buffer_idx = 1;
  const int32_t c = b.tensor(constant);
  b.call(b.op("test::add", "out"), {c, c, c, c});
  EXPECT_EQ(load(b).error(), Error::InvalidProgram);

  ProgramBuilder hidden;
  hidden.constants = {std::vector<uint8_t>(8)};
  const int32_t k = hidden.tensor(constant);
  const int32_t out = hidden.tensor(at(0));
  hidden.call(hidden.op("test::add", "out"), {k, k, k, out});
  EXPECT_EQ(load(hidden).error(), Error::InvalidProgram) << "the output argument is not what is returned";

  const executorch::runtime::Kernel copy[] = {executorch::runtime::Kernel("test::copy_", add_kernel)};
  ProgramBuilder in_place;
  in_place.constants = {std::vector<uint8_t>(8)};
  const int32_t fixed = in_place.tensor(constant);
  const int32_t source = in_place.tensor(at(0));
  in_place.call(in_place.op("test::copy_", ""), {fixed, source, in_place.boolean(false)});
  EXPECT_EQ(load(in_place, nullptr, nullptr, {copy, 1}).error(), Error::InvalidProgram) << "nothing is returned";
  EXPECT_THAT(log(), HasSubstr("which is not its first argument"));

  ProgramBuilder training;
  training.constants = {std::vector<uint8_t>(8)};
  const int32_t statistic = training.tensor(constant);
  const int32_t results[] = {training.tensor(at(0)), training.tensor(at(8)), training.tensor(at(16))};
  const int32_t none = training.null();
  const int32_t list = training.tensor_list({results[0], results[1], results[2]});
  training.call(
      training.op("aten::_native_batch_norm_legit", "out"),
      {results[0], none, none, statistic, statistic, none, none, none, results[0], results[1], results[2], list});
  EXPECT_EQ(load(training).error(), Error::InvalidProgram) << "running statistics, which are not returned";
  EXPECT_THAT(log(), HasSubstr("writes to value"));
}

TEST_F(MethodTest, ATensorWithoutMemoryIsNoArgument) {
  ProgramBuilder b;
  const int32_t x = b.tensor(unplanned());
  const int32_t out = b.tensor(at(0));
  b.outputs = {out};
  b.call(b.op("test::add", "out"), {x, x, out, out});
  auto method = load(b);
  ASSERT_TRUE(method.ok());
  EXPECT_EQ(method->execute(), Error::InvalidProgram);
}

TEST_F(MethodTest, MetadataSaysWhatTheMethodNeeds) {
  ProgramBuilder b;
  const int32_t x = b.tensor(at(0, {2, 3}));
  const int32_t n = b.null();
  b.inputs = {x, n};
  b.outputs = {x};
  b.payloads = {{1, 2, 3}};
  b.backend("Missing");
  ProgramBytes bytes = b.finish();
  BufferDataLoader loader(bytes.data(), bytes.size());
  // The backend is not registered; the metadata does not need it.
  auto program = Program::load(&loader);
  ASSERT_TRUE(program.ok());
  EXPECT_EQ(program->method_meta("backward").error(), Error::InvalidArgument);
  EXPECT_THAT(log(), HasSubstr("'forward'")) << "the methods that exist are named";
  const auto meta = program->method_meta("forward");
  ASSERT_TRUE(meta.ok());
  EXPECT_STREQ(meta->name(), "forward");
  EXPECT_EQ(meta->num_inputs(), 2u);
  EXPECT_EQ(*meta->input_tag(0), executorch::runtime::Tag::Tensor);
  EXPECT_EQ(*meta->input_tag(1), executorch::runtime::Tag::None);
  EXPECT_EQ(meta->input_tag(2).error(), Error::InvalidArgument);
  EXPECT_EQ(meta->input_tensor_meta(0)->nbytes(), 24u);
  EXPECT_TRUE(meta->input_tensor_meta(0)->is_memory_planned());
  EXPECT_EQ(meta->input_tensor_meta(1).error(), Error::InvalidArgument);
  EXPECT_EQ(meta->num_memory_planned_buffers(), 1u);
  EXPECT_EQ(*meta->memory_planned_buffer_size(0), 256);
  EXPECT_EQ(meta->memory_planned_buffer_size(1).error(), Error::InvalidArgument);
  EXPECT_TRUE(meta->uses_backend("Missing"));
  EXPECT_FALSE(meta->uses_backend("Other"));
  EXPECT_FALSE(meta->uses_backend(nullptr));
  EXPECT_EQ(meta->num_backends(), 1u);
  EXPECT_STREQ(*meta->get_backend_name(0), "Missing");
}

TEST_F(MethodTest, MemoryThatIsTooSmallIsAnError) {
  ProgramBuilder b;
  b.planned_sizes = {0, 512};
  b.tensor(at(300));
  EXPECT_EQ(load(b).error(), Error::MemoryAllocationFailed);
}

/// Allocates more than half of the temporary memory, which is released after the call.
void wasteful_kernel(executorch::runtime::KernelRuntimeContext& context, executorch::runtime::Span<EValue*> /*args*/) {
  const auto memory = context.allocate_temp(600);
  if (!memory.ok()) {
    context.fail(memory.error());
  }
}

TEST_F(MethodTest, TemporaryMemoryIsFreeAgainAfterEachInstruction) {
  ProgramBuilder b;
  const int32_t out = b.tensor(at(0));
  b.outputs = {out};
  const int32_t op = b.op("test::wasteful", "out");
  b.call(op, {out, out});
  b.call(op, {out, out});
  const ProgramBytes bytes = b.finish();
  BufferDataLoader loader(bytes.data(), bytes.size());
  auto program = Program::load(&loader);
  ASSERT_TRUE(program.ok());
  alignas(16) static uint8_t method_memory[4096], planned_memory[256], temporary_memory[1000];
  executorch::runtime::MemoryAllocator method_allocator(sizeof(method_memory), method_memory);
  executorch::runtime::MemoryAllocator temporary(sizeof(temporary_memory), temporary_memory);
  executorch::runtime::Span<uint8_t> planned(planned_memory, sizeof(planned_memory));
  executorch::runtime::HierarchicalAllocator planned_allocator({&planned, 1});
  executorch::runtime::MemoryManager memory(&method_allocator, &planned_allocator, &temporary);
  const executorch::runtime::Kernel kernels[] = {executorch::runtime::Kernel("test::wasteful.out", wasteful_kernel)};
  auto method = program->load_method("forward", &memory, nullptr, nullptr, nullptr, {kernels, 1});
  ASSERT_TRUE(method.ok());
  EXPECT_EQ(method->execute(), Error::Ok);
  EXPECT_EQ(method->execute(), Error::Ok);
  EXPECT_EQ(temporary.used_size(), 0u);
  // step() releases the memory, too.
  while (method->step() == Error::Ok) {
  }
  EXPECT_EQ(temporary.used_size(), 0u);
}

}  // namespace
