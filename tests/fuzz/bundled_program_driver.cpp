// SPDX-License-Identifier: BSD-3-Clause
#include "bundled_program_driver.h"

#include <algorithm>

#include <executorch/runtime/platform/runtime.h>
#include <executorch/schema/bundled_program_generated.h>
#include <executorch/schema/bundled_program_verifier.h>

#include "exact_buffer.h"

namespace executorch {
namespace fuzz {

namespace {

namespace format = bundled_program_flatbuffer;

/// Several cases may share their values, so not every value is read.
constexpr size_t kMaxReadValues = 1 << 12;

void read_values(const flatbuffers::Vector<flatbuffers::Offset<format::Value>>* values, size_t* budget) {
  for (uint32_t i = 0; values != nullptr && i < values->size() && *budget > 0; ++i, --*budget) {
    const auto* tensor = values->Get(i)->val_as_Tensor();
    if (tensor != nullptr && tensor->data() != nullptr) {
      read_all(tensor->data()->data(), tensor->data()->size());
    }
  }
}

}  // namespace

Outcome run_bundled_program(const uint8_t* data, size_t size) {
  executorch::runtime::runtime_init();
  const ExactBuffer bytes(data, size);
  const auto bundled = executorch::runtime::internal::verify_bundled_program(bytes.data.get(), bytes.bytes);
  if (!bundled.ok()) {
    return Outcome::Refused;
  }
  size_t budget = kMaxReadValues;
  const auto* suites = bundled.get()->method_test_suites();
  for (uint32_t i = 0; suites != nullptr && i < suites->size() && budget > 0; ++i, --budget) {
    const auto* cases = suites->Get(i)->test_cases();
    const auto* name = suites->Get(i)->method_name();
    read_all(name->data(), name->size() + 1);  // with its terminator
    for (uint32_t j = 0; cases != nullptr && j < cases->size() && budget > 0; ++j, --budget) {
      read_values(cases->Get(j)->inputs(), &budget);
      budget = std::max<size_t>(budget, 1);
      read_values(cases->Get(j)->expected_outputs(), &budget);
      budget = std::max<size_t>(budget, 1);
    }
  }
  const auto* program = bundled.get()->program();
  return std::max(run_program(program->data(), program->size()), Outcome::Loaded);
}

}  // namespace fuzz
}  // namespace executorch
