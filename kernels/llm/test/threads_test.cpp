// SPDX-License-Identifier: BSD-3-Clause
// Results do not depend on the number of threads, to the bit.
#include <kernels/llm/NativeFunctions.h>

#include <unistd.h>

#include <cstring>

#include "kernels/llm/test/attention_reference.h"
#include "kernels/portable/test/kernel_test.h"

#ifdef ET_USE_THREADPOOL
#include <executorch/extension/threadpool/threadpool.h>

namespace torch::executor::native {
namespace {

using ::executorch::extension::threadpool::get_threadpool;

class LlmThreadsTest : public KernelTest {
 protected:
  TensorFactory<ScalarType::Float> tf;

  // A test whose threads wait for each other for ever is killed.
  LlmThreadsTest() { alarm(300); }
  ~LlmThreadsTest() override {
    get_threadpool()->_unsafe_reset_threadpool(0);
    alarm(0);
  }

  Tensor random(std::vector<int32_t> sizes, uint32_t seed) {
    return tf.make(sizes, Rows::random(sizes[0], sizes[1], sizes[2], sizes[3], seed).data);
  }
};

TEST_F(LlmThreadsTest, Attention) {
  const struct {
    int32_t queries, heads, key_heads, positions, width;
  } cases[] = {
      {1, 32, 8, 2048, 64}, {1, 4, 1, 3000, 128}, {130, 9, 3, 200, 64}, {300, 1, 1, 300, 80}, {3, 2, 2, 2000, 20}};
  for (const auto& c : cases) {
    const Tensor q = random({1, c.queries, c.heads, c.width}, 1), k = random({1, c.positions, c.key_heads, c.width}, 2),
                 v = random({1, c.positions, c.key_heads, c.width}, 3);
    Tensor one = tf.zeros({1, c.queries, c.heads, c.width});
    for (const uint32_t threads : {1u, 2u, 3u, 8u}) {
      ASSERT_TRUE(get_threadpool()->_unsafe_reset_threadpool(threads));
      Tensor out = tf.full({1, c.queries, c.heads, c.width}, kNaN);
      custom_sdpa_out(ctx, q, k, v, c.positions - c.queries, std::nullopt, 0.0, true, std::nullopt,
                      threads == 1 ? one : out);
      ASSERT_EQ(threads != 1 && std::memcmp(one.const_data_ptr(), out.const_data_ptr(), one.nbytes()) != 0, false)
          << threads << " threads, " << c.positions << " positions";
    }
  }
}

}  // namespace
}  // namespace torch::executor::native
#endif
