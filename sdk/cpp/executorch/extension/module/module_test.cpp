// SPDX-License-Identifier: BSD-3-Clause
//
// Runs programs of tests/data/corpus. Expected values come from arithmetic on small inputs, or from eager (in the
// files).
#include <executorch/extension/module/module.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <executorch/extension/data_loader/buffer_data_loader.h>
#include <executorch/extension/data_loader/file_data_loader.h>
#include <executorch/extension/tensor/tensor.h>

#include "paths.h"

using namespace executorch::extension;  // NOLINT: as the documents' samples do
using executorch::aten::ScalarType;
using executorch::runtime::Error;
using executorch::runtime::EValue;
using executorch::tests::kCorpusFolder;
using testing::ElementsAre;
using testing::FloatNear;
using testing::Pointwise;

namespace {

std::string corpus(const std::string& name) {
  return std::string(kCorpusFolder) + "/" + name;
}

std::vector<char> read_bytes(const std::string& name) {
  std::ifstream file(corpus(name), std::ios::binary);
  EXPECT_TRUE(file.is_open()) << name;
  return std::vector<char>(std::istreambuf_iterator<char>(file), {});
}

std::vector<float> read_floats(const std::string& name) {
  const std::vector<char> bytes = read_bytes(name);
  const auto* floats = reinterpret_cast<const float*>(bytes.data());
  return std::vector<float>(floats, floats + bytes.size() / sizeof(float));
}

std::vector<float> values(const EValue& value) {
  const auto& tensor = value.toTensor();
  return std::vector<float>(tensor.const_data_ptr<float>(), tensor.const_data_ptr<float>() + tensor.numel());
}

TensorPtr filled(float value) {
  return full({2, 3}, value);
}

}  // namespace

// MOD-01, MOD-10, MOD-11
TEST(ModuleTest, RunsByName) {
  Module module(corpus("add/model.pte"));
  const auto one = filled(1);
  const auto two = filled(2);
  const auto forward = module.forward({one, two});
  ASSERT_TRUE(forward.ok());
  EXPECT_THAT(values(forward->at(0)), testing::Each(3.0f));
  const auto got = module.get("forward", {two, two});
  ASSERT_TRUE(got.ok());
  EXPECT_THAT(values(got.get()), testing::Each(4.0f));
  EXPECT_EQ(module.execute("backward").error(), Error::InvalidArgument);
}

// MOD-02, MOD-04, MOD-07
TEST(ModuleTest, LoadsOnDemand) {
  Module missing(corpus("no/such/model.pte"));
  EXPECT_FALSE(missing.is_loaded());
  EXPECT_EQ(missing.load(), Error::AccessFailed);
  EXPECT_EQ(missing.forward().error(), Error::AccessFailed);

  Module module(corpus("add/model.pte"));
  EXPECT_FALSE(module.is_loaded());
  ASSERT_EQ(module.load(), Error::Ok);
  EXPECT_TRUE(module.is_loaded());
  const auto program = module.program();
  ASSERT_EQ(module.load(), Error::Ok);
  EXPECT_EQ(module.program(), program) << "loading again does nothing";
}

// MOD-05, MOD-06
TEST(ModuleTest, LoadsAndUnloadsMethods) {
  Module module(corpus("add/model.pte"));
  ASSERT_EQ(module.load_forward(), Error::Ok);
  EXPECT_TRUE(module.is_method_loaded("forward"));
  const auto method = module.method("forward");
  ASSERT_EQ(module.load_method("forward"), Error::Ok);
  EXPECT_EQ(module.method("forward").get(), method.get());
  EXPECT_TRUE(module.unload_forward());
  EXPECT_FALSE(module.unload_forward());
  EXPECT_FALSE(module.is_method_loaded("forward"));
  const auto one = filled(1);
  EXPECT_TRUE(module.forward({one, one}).ok());
}

// MOD-08, MOD-09
TEST(ModuleTest, Metadata) {
  Module module(corpus("multi_method/model.pte"));
  const auto names = module.method_names();
  ASSERT_TRUE(names.ok());
  EXPECT_EQ(names->count("forward"), 1u);
  EXPECT_EQ(names->count("decode"), 1u);
  EXPECT_EQ(module.num_methods().get(), names->size());
  const auto meta = module.method_meta("decode");
  ASSERT_TRUE(meta.ok());
  EXPECT_STREQ(meta->name(), "decode");
  EXPECT_EQ(meta->num_inputs(), 2u);
  const auto input = meta->input_tensor_meta(1);
  ASSERT_TRUE(input.ok());
  EXPECT_EQ(input->scalar_type(), ScalarType::Float);
  EXPECT_EQ(input->sizes().size(), 2u);
  EXPECT_FALSE(module.is_method_loaded("decode"));
  EXPECT_EQ(module.method_meta("missing").error(), Error::InvalidArgument);
  EXPECT_EQ(module.get("get_max_seq_len").get().toInt(), 128);
}

class ModuleLoadModeTest : public testing::TestWithParam<Module::LoadMode> {};

// MOD-03, MOD-25
TEST_P(ModuleLoadModeTest, RunsWithExternalData) {
  Module module(corpus("ptd_portable/model.pte"), corpus("ptd_portable/_default_external_constant.ptd"), GetParam());
  auto input_data = read_floats("ptd_portable/call0_in0.bin");
  const auto input = from_blob(input_data.data(), {2, 16});
  const auto result = module.forward(input);
  ASSERT_TRUE(result.ok());
  EXPECT_THAT(values(result->at(0)), Pointwise(FloatNear(1e-5f), read_floats("ptd_portable/call0_out0.bin")));
}

INSTANTIATE_TEST_SUITE_P(All, ModuleLoadModeTest,
                         testing::Values(Module::LoadMode::File, Module::LoadMode::Mmap,
                                         Module::LoadMode::MmapUseMlockIgnoreErrors, Module::LoadMode::MmapUseMadvise));

TEST(ModuleTest, ExternalDataMustBeThere) {
  Module without(corpus("ptd_portable/model.pte"));
  EXPECT_EQ(without.load(), Error::Ok);
  EXPECT_NE(without.load_forward(), Error::Ok);
  Module wrong(corpus("ptd_portable/model.pte"), corpus("add/model.pte"));
  EXPECT_EQ(wrong.load(), Error::InvalidExternalData);
  const std::string ptd = corpus("ptd_portable/_default_external_constant.ptd");
  Module twice(corpus("ptd_portable/model.pte"), std::vector<std::string>{ptd, ptd});
  EXPECT_EQ(twice.load(), Error::InvalidArgument);
}

TEST(ModuleTest, RunsFromMemoryAndSharesPrograms) {
  const std::vector<char> bytes = read_bytes("add/model.pte");
  auto first = std::make_unique<Module>(std::make_unique<BufferDataLoader>(bytes.data(), bytes.size()));
  ASSERT_EQ(first->load(), Error::Ok);
  Module second(first->program());
  EXPECT_TRUE(second.is_loaded());
  first.reset();
  const auto one = filled(1);
  EXPECT_THAT(values(second.forward({one, one})->at(0)), testing::Each(2.0f));
}

TEST(ModuleTest, DamagedProgramsAreRefused) {
  const std::vector<char> bytes = read_bytes("linear/model.pte");
  for (const size_t size : {size_t{0}, size_t{7}, size_t{63}, bytes.size() / 2, bytes.size() - 1}) {
    const std::vector<char> truncated(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size));
    Module module(std::make_unique<BufferDataLoader>(truncated.data(), truncated.size()));
    EXPECT_NE(module.load(), Error::Ok) << size;
    EXPECT_FALSE(module.is_loaded());
  }
}

// MOD-13 to MOD-17
TEST(ModuleTest, PresetInputs) {
  Module module(corpus("add/model.pte"));
  const auto one = filled(1);
  const auto two = filled(2);
  const auto five = filled(5);
  EXPECT_EQ(module.forward().error(), Error::InvalidArgument) << "nothing is set";
  ASSERT_EQ(module.set_input(two, 1), Error::Ok);
  EXPECT_THAT(values(module.forward(one)->at(0)), testing::Each(3.0f));
  EXPECT_THAT(values(module.forward(five)->at(0)), testing::Each(7.0f)) << "presets stay";
  EXPECT_EQ(module.forward().error(), Error::InvalidArgument) << "what was passed does not";
  ASSERT_EQ(module.set_inputs("forward", {five, five}), Error::Ok);
  EXPECT_THAT(values(module.forward()->at(0)), testing::Each(10.0f));
  ASSERT_EQ(module.set_input(EValue(), 1), Error::Ok);
  EXPECT_EQ(module.forward(one).error(), Error::InvalidArgument) << "cleared";
  EXPECT_EQ(module.set_input(one, 2), Error::InvalidArgument);
  EXPECT_EQ(module.set_inputs({one}), Error::InvalidArgument);
}

TEST(ModuleTest, WrongInputsAreRefused) {
  Module module(corpus("add/model.pte"));
  const auto one = filled(1);
  EXPECT_EQ(module.forward({one, one, one}).error(), Error::InvalidArgument);
  const auto wrong_shape = zeros({2, 4});
  const auto wrong_type = zeros({2, 3}, ScalarType::Int);
  EXPECT_NE(module.forward({one, wrong_shape}).error(), Error::Ok);
  EXPECT_NE(module.forward({one, wrong_type}).error(), Error::Ok);
  EXPECT_NE(module.forward({one, 2.0}).error(), Error::Ok);
  EXPECT_TRUE(module.forward({one, one}).ok()) << "a refused call leaves the module usable";
}

// Compares addresses: the program reads its input in place, and returns it as its first output.
TEST(ModuleTest, InputsOutsideThePlanAreNotCopied) {
  Module module(corpus("../in_place.pte"));
  auto input_data = read_floats("no_planned_io/call0_in0.bin");
  const auto outputs = module.forward(from_blob(input_data.data(), {3, 8}));
  ASSERT_TRUE(outputs.ok());
  EXPECT_EQ(outputs->at(0).toTensor().const_data_ptr(), input_data.data());
  EXPECT_THAT(values(outputs->at(1)), Pointwise(FloatNear(1e-5f), read_floats("no_planned_io/call0_out0.bin")));
}

// MOD-18 to MOD-20
TEST(ModuleTest, OutputsOutsideThePlan) {
  Module module(corpus("no_planned_io/model.pte"));
  auto input_data = read_floats("no_planned_io/call0_in0.bin");
  const auto expected = read_floats("no_planned_io/call0_out0.bin");
  const auto input = from_blob(input_data.data(), {3, 8});
  const auto own_memory = module.forward(input);
  ASSERT_TRUE(own_memory.ok());
  EXPECT_THAT(values(own_memory->at(0)), Pointwise(FloatNear(1e-5f), expected));

  const auto output = zeros({3, 4});
  ASSERT_EQ(module.set_output(output), Error::Ok);
  ASSERT_TRUE(module.forward(input).ok());
  EXPECT_THAT(values(*output), Pointwise(FloatNear(1e-5f), expected));
  EXPECT_EQ(module.get_output()->toTensor().const_data_ptr(), output->const_data_ptr());

  const auto wrong_shape = zeros({4, 3});
  const auto wrong_type = zeros({3, 4}, ScalarType::Int);
  EXPECT_EQ(module.set_output(wrong_shape), Error::InvalidArgument);
  EXPECT_EQ(module.set_output(wrong_type), Error::InvalidArgument);
  EXPECT_EQ(module.set_output(EValue(1.0)), Error::InvalidArgument);
  EXPECT_EQ(module.set_output(output, 1), Error::InvalidArgument);
  Module planned(corpus("add/model.pte"));
  const auto three = filled(3);
  EXPECT_EQ(planned.set_output(three), Error::InvalidArgument) << "memory-planned";
}

// The caller may free all of them after the error.
TEST(ModuleTest, OutputsThatAreRefusedStayOutOfTheMethod) {
  Module module(corpus("../two_outputs.pte"));
  const auto input = filled(3), good = zeros({2, 3});
  EXPECT_EQ(module.set_outputs({good, TensorPtr()}), Error::InvalidArgument);
  EXPECT_EQ(module.set_outputs({good, zeros({3, 2})}), Error::InvalidArgument);
  const auto outputs = module.forward(input);
  ASSERT_TRUE(outputs.ok());
  EXPECT_THAT(values(outputs->at(0)), testing::Each(4));
  EXPECT_THAT(values(outputs->at(1)), testing::Each(6));
  EXPECT_THAT(values(*good), testing::Each(0));
  const auto other = zeros({2, 3});
  ASSERT_EQ(module.set_outputs({good, other}), Error::Ok);
  ASSERT_TRUE(module.forward(input).ok());
  EXPECT_THAT(values(*good), testing::Each(4));
  EXPECT_THAT(values(*other), testing::Each(6));
}

TEST(ModuleTest, StateStaysInTheModule) {
  Module module(corpus("counter/model.pte"));
  for (int call = 0; call < 3; ++call) {
    const std::string prefix = "counter/call" + std::to_string(call);
    auto input_data = read_floats(prefix + "_in0.bin");
    const auto input = from_blob(input_data.data(), {3});
    const auto result = module.forward(input);
    ASSERT_TRUE(result.ok());
    EXPECT_THAT(values(result->at(0)), Pointwise(FloatNear(1e-5f), read_floats(prefix + "_out0.bin")));
    EXPECT_THAT(values(result->at(1)), Pointwise(FloatNear(1e-5f), read_floats(prefix + "_out1.bin")));
  }
}

TEST(ModuleTest, SharedArenas) {
  Module module(corpus("multi_method/model.pte"), Module::LoadMode::File, nullptr, nullptr, nullptr, true);
  auto first_data = read_floats("multi_method/call0_in0.bin");
  const auto first = from_blob(first_data.data(), {2, 4});
  auto decode_data = read_floats("multi_method/call1_in0.bin");
  auto decode_data1 = read_floats("multi_method/call1_in1.bin");
  const auto decode0 = from_blob(decode_data.data(), {2, 4});
  const auto decode1 = from_blob(decode_data1.data(), {2, 4});
  for (int round = 0; round < 2; ++round) {
    const auto forward = module.forward(first);
    ASSERT_TRUE(forward.ok());
    EXPECT_THAT(values(forward->at(0)), Pointwise(FloatNear(1e-5f), read_floats("multi_method/call0_out0.bin")));
    const auto decode = module.execute("decode", {decode0, decode1});
    ASSERT_TRUE(decode.ok());
    EXPECT_THAT(values(decode->at(0)), Pointwise(FloatNear(1e-5f), read_floats("multi_method/call1_out0.bin")));
  }
}

TEST(ModuleTest, MissingBackendIsAnError) {
  Module module(corpus("add_xnn/model.pte"));
  EXPECT_EQ(module.load(), Error::Ok);
  EXPECT_EQ(module.load_forward(), Error::NotFound);
}
