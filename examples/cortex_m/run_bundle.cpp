// SPDX-License-Identifier: BSD-3-Clause
// A bundled program is in flash: its cases are run and their outputs compared.
#include <executorch/devtools/bundled_program/bundled_program.h>
#include <executorch/schema/bundled_program_generated.h>

#include "firmware.h"
#include "model_in_flash.h"

using executorch::runtime::Error;
using executorch::runtime::Method;

namespace firmware {

// Nothing writes to the bundle or to the program in it.
Error find_program(const void** program, size_t* size) {
  return executorch::bundled_program::get_program_data(const_cast<unsigned char*>(model_pte), model_pte_size, program,
                                                       size);
}

/// Runs all cases of the first method that has some.
int run(Method& method) {
  void* const bundle = const_cast<unsigned char*>(model_pte);
  const auto* suites = bundled_program_flatbuffer::GetBundledProgram(bundle)->method_test_suites();
  const auto* cases = suites == nullptr || suites->size() == 0 ? nullptr : suites->Get(0)->test_cases();
  if (cases == nullptr || cases->size() == 0) {
    return fail("the bundled program has no test cases", Error::InvalidArgument);
  }
  for (uint32_t i = 0; i < cases->size(); ++i) {
    Error error = executorch::bundled_program::load_bundled_input(method, bundle, i);
    if (error != Error::Ok) {
      return fail("loading a bundled input", error);
    }
    error = method.execute();
    if (error != Error::Ok) {
      return fail("running the method", error);
    }
    error = executorch::bundled_program::verify_method_outputs(method, bundle, i, kTolerance, kTolerance);
    if (error != Error::Ok) {
      return fail("comparing the outputs", error);
    }
  }
  write("Model verified successfully: ");
  write_number(cases->size());
  write(" cases\n");
  return 0;
}

}  // namespace firmware
