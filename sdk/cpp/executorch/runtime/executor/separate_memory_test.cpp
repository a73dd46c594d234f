// SPDX-License-Identifier: BSD-3-Clause
// The memory that an application gives to a method: each part has separate bytes.
#include <executorch/runtime/executor/test/method_fixture.h>

using executorch::runtime::Error;
using executorch::runtime::HierarchicalAllocator;
using executorch::runtime::MemoryAllocator;
using executorch::runtime::MemoryManager;
using executorch::runtime::Program;
using executorch::runtime::Span;
using namespace executorch::runtime::testing;  // NOLINT: test helpers
using ::testing::ElementsAre;

namespace {

class SeparateMemoryTest : public MethodFixture {
 protected:
  void SetUp() override {
    MethodFixture::SetUp();
    ProgramBuilder b;
    b.planned_sizes = {0, 64, 64};
    TensorSpec second = at(0);
    second.memory_id = 2;
    const int32_t x = b.tensor(at(0));
    const int32_t y = b.tensor(second);
    b.inputs = {x};
    b.outputs = {y};
    b.call(b.op("test::add", "out"), {x, x, y, y});
    ASSERT_TRUE(load_program(b));
    logged.clear();
  }

  bool load_program(ProgramBuilder& b) {
    bytes_ = std::make_unique<ProgramBytes>(b.finish());
    loader_ = std::make_unique<executorch::extension::BufferDataLoader>(bytes_->data(), bytes_->size());
    auto program = Program::load(loader_.get());
    if (program.ok()) {
      program_ = std::make_unique<Program>(std::move(*program));
    }
    return program.ok();
  }

  Error load(MemoryAllocator* method, MemoryAllocator* temp, uint8_t* first, uint8_t* second, size_t size = 64) {
    Span<uint8_t> buffers[] = {{first, size}, {second, size}};
    HierarchicalAllocator planned(Span<Span<uint8_t>>(buffers, 2));
    return load_with(method, temp, &planned);
  }

  Error load_with(MemoryAllocator* method, MemoryAllocator* temp, HierarchicalAllocator* planned) {
    MemoryManager memory(method, planned, temp);
    return program_
        ->load_method("forward", &memory, nullptr, nullptr, nullptr,
                      Span<const executorch::runtime::Kernel>(kTestKernels))
        .error();
  }

  alignas(16) uint8_t pool_[16384];
  alignas(16) uint8_t scratch_[1024];
  alignas(16) uint8_t buffers_[256];

 private:
  std::unique_ptr<ProgramBytes> bytes_;
  std::unique_ptr<executorch::extension::BufferDataLoader> loader_;
  std::unique_ptr<Program> program_;
};

TEST_F(SeparateMemoryTest, OneAllocatorForBothIsRefused) {
  MemoryAllocator method(sizeof(pool_), pool_);
  EXPECT_EQ(load(&method, &method, buffers_, buffers_ + 64), Error::InvalidArgument);
  EXPECT_THAT(logged, ElementsAre("Method 'forward' was given one allocator for its own memory and for temporary "
                                  "memory, which is reset after each instruction: give it two, or null for temporary "
                                  "memory"));
  EXPECT_EQ(method.used_size(), 0u);
}

TEST_F(SeparateMemoryTest, APlannedBufferThatIsNullIsNamed) {
  MemoryAllocator method(sizeof(pool_), pool_);
  // The constructor that takes a size checks this in debug builds.
  uint8_t* const end = reinterpret_cast<uint8_t*>(uintptr_t{64});
  Span<uint8_t> buffers[] = {{buffers_, 64}, Span<uint8_t>(static_cast<uint8_t*>(nullptr), end)};
  HierarchicalAllocator planned(Span<Span<uint8_t>>(buffers, 2));
  EXPECT_EQ(load_with(&method, nullptr, &planned), Error::InvalidArgument);
  EXPECT_THAT(logged, ElementsAre("Method 'forward': planned buffer 1 of 64 bytes is null: give it memory"));
  EXPECT_EQ(method.used_size(), 0u);
}

TEST_F(SeparateMemoryTest, PartsThatOverlapAreNamed) {
  const auto refuses = [&](MemoryAllocator* temp, uint8_t* first, uint8_t* second, const char* names) {
    MemoryAllocator method(sizeof(pool_), pool_);
    logged.clear();
    EXPECT_EQ(load(&method, temp, first, second), Error::InvalidArgument) << names;
    EXPECT_THAT(logged,
                ElementsAre(std::string("Method 'forward': ") + names + " share memory: give each separate bytes"));
  };
  MemoryAllocator scratch(sizeof(scratch_), scratch_);
  MemoryAllocator same_bytes(sizeof(pool_), pool_);
  MemoryAllocator end_of_pool(64, pool_ + sizeof(pool_) - 64);
  refuses(&same_bytes, buffers_, buffers_ + 64, "the method allocator and the temporary allocator");
  refuses(&end_of_pool, buffers_, buffers_ + 64, "the method allocator and the temporary allocator");
  refuses(&scratch, buffers_, buffers_, "planned buffer 0 and planned buffer 1");
  refuses(&scratch, buffers_ + 48, buffers_, "planned buffer 0 and planned buffer 1");
  refuses(&scratch, pool_ + 128, buffers_, "the method allocator and planned buffer 0");
  refuses(nullptr, buffers_, pool_ + sizeof(pool_) - 64, "the method allocator and planned buffer 1");
  refuses(&scratch, buffers_, scratch_ + 64, "the temporary allocator and planned buffer 1");
}

TEST_F(SeparateMemoryTest, NeighboursAndMemoryOfTheMethodAllocatorAreAccepted) {
  MemoryAllocator method(sizeof(pool_), pool_);
  MemoryAllocator scratch(sizeof(scratch_), scratch_);
  EXPECT_EQ(load(&method, &scratch, buffers_, buffers_ + 64), Error::Ok);
  method.reset();
  // Memory that the allocator has handed out is not checked as its own.
  auto* first = static_cast<uint8_t*>(method.allocate(64, 16));
  auto* second = static_cast<uint8_t*>(method.allocate(64, 16));
  MemoryAllocator inside(256, static_cast<uint8_t*>(method.allocate(256, 16)));
  EXPECT_EQ(load(&method, &inside, first, second), Error::Ok);
  method.reset();
  EXPECT_EQ(load(&method, nullptr, buffers_, buffers_ + 64, 192), Error::Ok) << "the plan needs 64 bytes of the 192";
}

TEST_F(SeparateMemoryTest, AnAllocatorWithoutABufferHasNoBytes) {
  MemoryAllocator none(64, nullptr);
  EXPECT_THAT(logged, ElementsAre("a MemoryAllocator of 64 bytes was given no buffer: it has 0 bytes"));
  EXPECT_EQ(none.size(), 0u);
  EXPECT_EQ(none.free_size(), 0u);
  EXPECT_EQ(none.allocate(1), nullptr);
  EXPECT_EQ(load(&none, nullptr, buffers_, buffers_ + 64), Error::MemoryAllocationFailed);
}

}  // namespace
