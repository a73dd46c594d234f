// SPDX-License-Identifier: BSD-3-Clause
// Recognises drawn digits on a Raspberry Pi Pico 2 and reports over the serial port (115200 baud). The LED
// blinks ten times slowly (500 ms) if all digits were recognised, and ten times quickly (100 ms) after an error.
#include <cstdio>

#include <executorch/extension/data_loader/buffer_data_loader.h>
#include <executorch/runtime/core/hierarchical_allocator.h>
#include <executorch/runtime/core/memory_allocator.h>
#include <executorch/runtime/executor/memory_manager.h>
#include <executorch/runtime/executor/method.h>
#include <executorch/runtime/executor/program.h>
#include <executorch/runtime/platform/runtime.h>
#include <pico/stdlib.h>

#include "digits.h"
#include "model_in_flash.h"

using executorch::aten::ScalarType;
using executorch::aten::Tensor;
using executorch::aten::TensorImpl;
using executorch::extension::BufferDataLoader;
using executorch::runtime::Error;
using executorch::runtime::HierarchicalAllocator;
using executorch::runtime::MemoryAllocator;
using executorch::runtime::MemoryManager;
using executorch::runtime::Method;
using executorch::runtime::Program;
using executorch::runtime::Result;
using executorch::runtime::Span;

namespace {

constexpr int kPixels = 28 * 28;
constexpr int kDigits = 10;
constexpr float kTolerance = 1e-2f;  // scores are up to 1000

alignas(16) uint8_t method_memory[8192];
alignas(16) uint8_t planned_memory[8192];
alignas(16) uint8_t temporary_memory[2048];

void blink(uint32_t milliseconds) {
#ifdef PICO_DEFAULT_LED_PIN
  for (int i = 0; i < 10; ++i) {
    gpio_put(PICO_DEFAULT_LED_PIN, true);
    sleep_ms(milliseconds);
    gpio_put(PICO_DEFAULT_LED_PIN, false);
    sleep_ms(milliseconds);
  }
#else
  sleep_ms(20 * milliseconds);
#endif
}

/// Classifies one drawing. Returns whether the digit and the scores are PyTorch's.
bool recognise(Method& method, const Example& example) {
  float pixels[kPixels];
  int white = 0;
  int next = 0;
  for (const char* c = example.drawing; *c != '\0' && next < kPixels; ++c) {
    if (*c != '\n') {
      pixels[next++] = *c == '#' ? 1.0f : 0.0f;
      white += *c == '#';
    }
  }
  printf("=== Digit %d ===\n%s\nInput stats: %d white pixels out of %d total\n", example.digit, example.drawing, white,
         kPixels);
  executorch::aten::SizesType sizes[] = {1, kPixels};
  executorch::aten::DimOrderType dim_order[] = {0, 1};
  TensorImpl impl(ScalarType::Float, 2, sizes, pixels, dim_order);
  printf("Running neural network inference...\n");
  Error error = method.set_input(Tensor(&impl), 0);
  if (error == Error::Ok) {
    error = method.execute();
  }
  if (error != Error::Ok) {
    printf("FAILED: %s\n", executorch::runtime::error_name(error));
    return false;
  }
  const float* scores = method.get_output(0).toTensor().const_data_ptr<float>();
  int best = 0;
  bool as_expected = true;
  for (int digit = 0; digit < kDigits; ++digit) {
    best = scores[digit] > scores[best] ? digit : best;
    const float difference = scores[digit] - example.scores[digit];
    as_expected = as_expected && difference <= kTolerance && difference >= -kTolerance;
  }
  for (int digit = 0; digit < kDigits; ++digit) {
    printf("  Digit %d: %.3f%s\n", digit, static_cast<double>(scores[digit]), digit == best ? " <- PREDICTED" : "");
  }
  const bool right = best == example.digit && as_expected;
  printf("PREDICTED: %d (expected: %d) %s\n\n", best, example.digit, right ? "CORRECT" : "WRONG");
  return right;
}

bool run_all() {
  BufferDataLoader loader(model_pte, model_pte_size);
  const Result<Program> program = Program::load(&loader, Program::Verification::InternalConsistency);
  if (!program.ok()) {
    printf("The program cannot be loaded: %s\n", executorch::runtime::error_name(program.error()));
    return false;
  }
  MemoryAllocator method_allocator(sizeof(method_memory), method_memory);
  MemoryAllocator temporary_allocator(sizeof(temporary_memory), temporary_memory);
  Span<uint8_t> planned(planned_memory, sizeof(planned_memory));
  HierarchicalAllocator planned_allocator({&planned, 1});
  MemoryManager memory(&method_allocator, &planned_allocator, &temporary_allocator);
  Result<Method> method = program->load_method("forward", &memory);
  if (!method.ok()) {
    // MemoryAllocationFailed: enlarge the arrays above. OperatorMissing: build the firmware from this program.
    printf("The method cannot be loaded: %s\n", executorch::runtime::error_name(method.error()));
    return false;
  }
  bool right = true;
  for (const Example& example : kExamples) {
    right = recognise(*method, example) && right;
  }
  return right;
}

}  // namespace

int main() {
  stdio_init_all();
#ifdef PICO_DEFAULT_LED_PIN
  gpio_init(PICO_DEFAULT_LED_PIN);
  gpio_set_dir(PICO_DEFAULT_LED_PIN, GPIO_OUT);
#endif
  sleep_ms(2000);  // time to connect a terminal
  executorch::runtime::runtime_init();
  for (;;) {
    blink(run_all() ? 500 : 100);
  }
}
