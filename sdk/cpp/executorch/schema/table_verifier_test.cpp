// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/schema/table_verifier.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <executorch/schema/extended_header.h>
#include <executorch/schema/flat_tensor_tables.h>
#include <executorch/schema/program_tables.h>

#include "paths.h"
#include "share.h"

using executorch::runtime::ExtendedHeader;
using executorch::runtime::internal::kTablesPerByte;
using executorch::runtime::internal::verify_tables;
using executorch::tests::in_share;
using executorch::tests::kCorpusFolder;

namespace {

using Bytes = std::vector<uint8_t>;

/// The flatbuffers of all programs of the corpus, without their segments.
std::vector<Bytes> corpus_programs() {
  std::vector<Bytes> programs;
  for (const auto& folder : std::filesystem::directory_iterator(kCorpusFolder)) {
    std::ifstream file(folder.path() / "model.pte", std::ios::binary);
    Bytes bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    if (bytes.size() < ExtendedHeader::kNumHeadBytes) {
      continue;
    }
    const auto header = ExtendedHeader::Parse(bytes.data(), ExtendedHeader::kNumHeadBytes);
    if (header.ok()) {
      bytes.resize(header->program_size);
    }
    programs.push_back(bytes);
  }
  return programs;
}

/// The verdict of the code that flatc generated, within the limits of verify_tables().
bool generated_verdict(const Bytes& bytes) {
  flatbuffers::Verifier::Options options;
  options.max_depth = 32;
  options.max_tables = static_cast<flatbuffers::uoffset_t>(bytes.size() * kTablesPerByte);
  flatbuffers::Verifier verifier(bytes.data(), bytes.size(), options);
  return executorch_flatbuffer::VerifyProgramBuffer(verifier);
}

bool verdict(const Bytes& bytes) {
  return verify_tables(executorch_flatbuffer::kProgramSchema, bytes.data(), bytes.size(),
                       executorch_flatbuffer::ProgramIdentifier());
}

TEST(TableVerifierTest, AcceptsTheCorpus) {
  const auto programs = corpus_programs();
  ASSERT_GT(programs.size(), 40u);
  for (const Bytes& program : programs) {
    EXPECT_TRUE(generated_verdict(program));
    EXPECT_TRUE(verdict(program));
  }
}

TEST(TableVerifierTest, AgreesWithTheGeneratedCodeOnDamagedPrograms) {
  std::mt19937 random(0);
  size_t checked = 0, refused = 0;
  for (const Bytes& program : corpus_programs()) {
    for (int round = 0; round < 1000; ++round) {
      Bytes damaged = program;
      for (auto changes = 1 + random() % 3; changes > 0; --changes) {
        // Small numbers, large ones, and the extremes, because offsets, counts and types are in all these ranges.
        const auto any = static_cast<uint32_t>(random());
        const uint32_t values[] = {any % 8, any, 0x7fffffffu, 0x80000000u, 0xffffffffu};
        const uint32_t value = values[random() % 5];
        const size_t size = size_t{1} << (random() % 3);
        const size_t position = random() % (damaged.size() - size);
        std::memcpy(&damaged[position], &value, size);
      }
      if (!in_share(static_cast<size_t>(round))) {
        continue;
      }
      ++checked;
      const bool expected = generated_verdict(damaged);
      ASSERT_EQ(verdict(damaged), expected) << "round " << round << " of a program of " << program.size() << " bytes";
      refused += !expected;
    }
  }
  EXPECT_GT(refused, checked / 40);
}

TEST(TableVerifierTest, AgreesWithTheGeneratedCodeOnProgramsThatAreCutOff) {
  for (const Bytes& program : corpus_programs()) {
    for (size_t size = 0; size < program.size(); size += 1 + size / 16) {
      Bytes cut(program.begin(), program.begin() + static_cast<std::ptrdiff_t>(size));
      ASSERT_EQ(verdict(cut), size >= 10 && generated_verdict(cut)) << size << " bytes";
    }
  }
}

TEST(TableVerifierTest, RefusesAnotherIdentifier) {
  Bytes program = corpus_programs().front();
  program[7] ^= 1;
  EXPECT_FALSE(verdict(program));
  EXPECT_TRUE(verify_tables(executorch_flatbuffer::kProgramSchema, program.data(), program.size(), nullptr));
}

/// A program whose method has `plans` plans, which are all the same table with the same chain of `count` instructions.
Bytes program_of_shared_parts(size_t plans, size_t count) {
  namespace format = executorch_flatbuffer;
  flatbuffers::FlatBufferBuilder builder;
  const auto call = format::CreateKernelCall(builder, 0, builder.CreateVector(std::vector<int32_t>{0, 0}));
  const auto instruction = format::CreateInstruction(builder, format::InstructionArguments::KernelCall, call.Union());
  const auto instructions = builder.CreateVector(std::vector(count, instruction));
  const auto chain = format::CreateChain(builder, 0, 0, instructions);
  const auto chains = builder.CreateVector(std::vector{chain});
  const auto plan = format::CreateExecutionPlan(builder, builder.CreateString("forward"), 0, 0, 0, 0, chains);
  const auto all_plans = builder.CreateVector(std::vector(plans, plan));
  builder.Finish(format::CreateProgram(builder, 0, all_plans), format::ProgramIdentifier());
  return {builder.GetBufferPointer(), builder.GetBufferPointer() + builder.GetSize()};
}

TEST(TableVerifierTest, ReadsEqualInstructionsThatAreOneTable) {
  EXPECT_TRUE(verdict(program_of_shared_parts(1, 1000)));
  EXPECT_TRUE(verdict(program_of_shared_parts(4, 1000)));
}

TEST(TableVerifierTest, DoesNotReadForever) {
  // A million instructions in 8 kB, because parts are shared.
  EXPECT_FALSE(verdict(program_of_shared_parts(1000, 1000)));
}

/// A program with enough values and instructions of few kinds that the verifier caches their layouts.
Bytes program_of_many_alike() {
  namespace format = executorch_flatbuffer;
  flatbuffers::FlatBufferBuilder builder;
  const auto shared = builder.CreateVector(std::vector<int32_t>{2, 3});
  std::vector<flatbuffers::Offset<format::EValue>> values;
  std::vector<flatbuffers::Offset<format::Instruction>> instructions;
  for (int i = 0; i < 40; ++i) {
    const auto sizes = i % 3 == 0 ? builder.CreateVector(std::vector<int32_t>{i, 3}) : shared;
    const auto order = builder.CreateVector(std::vector<uint8_t>{0, 1});
    const auto place = i % 4 == 0 ? 0 : format::CreateAllocationDetails(builder, 1, static_cast<uint32_t>(i));
    const auto tensor =
        format::CreateTensor(builder, executorch_flatbuffer::ScalarType::FLOAT, 0, sizes, order, false, 0, place);
    const auto list = format::CreateTensorList(builder, i % 2 == 0 ? shared : sizes);
    const bool is_list = i % 7 == 6;
    values.push_back(format::CreateEValue(builder,
                                          is_list ? format::KernelTypes::TensorList : format::KernelTypes::Tensor,
                                          is_list ? list.Union() : tensor.Union()));
    const auto args = builder.CreateVector(std::vector<int32_t>(static_cast<size_t>(i % 5), i));
    const auto call = format::CreateKernelCall(builder, i % 6, i % 11 == 10 ? shared : args);
    const auto move = format::CreateMoveCall(builder, i, i + 1);
    const bool is_move = i % 8 == 7;
    instructions.push_back(format::CreateInstruction(
        builder, is_move ? format::InstructionArguments::MoveCall : format::InstructionArguments::KernelCall,
        is_move ? move.Union() : call.Union()));
  }
  const auto chain = format::CreateChain(builder, 0, 0, builder.CreateVector(instructions));
  const auto plan =
      format::CreateExecutionPlan(builder, builder.CreateString("forward"), 0, builder.CreateVector(values), 0, 0,
                                  builder.CreateVector(std::vector{chain}));
  builder.Finish(format::CreateProgram(builder, 0, builder.CreateVector(std::vector{plan})),
                 format::ProgramIdentifier());
  return {builder.GetBufferPointer(), builder.GetBufferPointer() + builder.GetSize()};
}

TEST(TableVerifierTest, AgreesWithTheGeneratedCodeOnEveryDamageToTablesThatAreAlike) {
  const Bytes program = program_of_many_alike();
  ASSERT_TRUE(verdict(program));
  size_t checked = 0, refused = 0;
  const auto size = static_cast<uint32_t>(program.size());
  for (uint32_t position = 0; position + sizeof(uint32_t) <= size; ++position) {
    if (!in_share(position)) {
      continue;
    }
    ++checked;
    uint32_t before;
    std::memcpy(&before, &program[position], sizeof(before));
    const uint32_t to_end = size - position;
    for (const uint32_t value : {0u, 1u, before + 1, before + 2, before + 4, before - 4, before ^ 0x80u, to_end - 4,
                                 to_end - 8, size, 0x7fffffffu, 0x80000000u, 0xffffffffu}) {
      Bytes damaged = program;
      std::memcpy(&damaged[position], &value, sizeof(value));
      const bool expected = generated_verdict(damaged);
      ASSERT_EQ(verdict(damaged), expected) << "byte " << position << ": " << before << " became " << value;
      refused += !expected;
    }
  }
  EXPECT_GT(refused, checked);
  for (uint32_t cut = 10; cut < size; ++cut) {
    if (in_share(cut)) {
      const Bytes bytes(program.begin(), program.begin() + cut);
      ASSERT_EQ(verdict(bytes), generated_verdict(bytes)) << cut << " bytes";
    }
  }
}

TEST(TableVerifierTest, KnowsThePtdFormat) {
  flatbuffers::FlatBufferBuilder builder;
  const std::vector<int32_t> sizes = {2, 3};
  const std::vector<uint8_t> dim_order = {0, 1};
  const auto layout = flat_tensor_flatbuffer::CreateTensorLayoutDirect(
      builder, executorch_flatbuffer::ScalarType::FLOAT, &sizes, &dim_order);
  const std::vector named = {flat_tensor_flatbuffer::CreateNamedDataDirect(builder, "weight", 0, layout)};
  const std::vector segments = {flat_tensor_flatbuffer::CreateDataSegment(builder, 0, 24)};
  builder.Finish(flat_tensor_flatbuffer::CreateFlatTensorDirect(builder, 0, &segments, &named),
                 flat_tensor_flatbuffer::FlatTensorIdentifier());
  const Bytes whole(builder.GetBufferPointer(), builder.GetBufferPointer() + builder.GetSize());
  const auto& schema = flat_tensor_flatbuffer::kFlatTensorSchema;
  EXPECT_TRUE(verify_tables(schema, whole.data(), whole.size(), flat_tensor_flatbuffer::FlatTensorIdentifier()));
  for (size_t position = 0; position < whole.size(); ++position) {
    for (const int change : {1, 2, 0x80, 0xff}) {
      Bytes damaged = whole;
      damaged[position] = static_cast<uint8_t>(damaged[position] ^ change);
      flatbuffers::Verifier::Options options;
      options.max_depth = 32;
      options.max_tables = static_cast<flatbuffers::uoffset_t>(damaged.size() * kTablesPerByte);
      flatbuffers::Verifier verifier(damaged.data(), damaged.size(), options);
      ASSERT_EQ(verify_tables(schema, damaged.data(), damaged.size(), flat_tensor_flatbuffer::FlatTensorIdentifier()),
                flat_tensor_flatbuffer::VerifyFlatTensorBuffer(verifier))
          << "byte " << position << " changed by " << change;
    }
  }
}

}  // namespace
