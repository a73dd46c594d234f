// SPDX-License-Identifier: BSD-3-Clause
#include <executorch/runtime/executor/test/demo_backends/demo_backends.h>

namespace executorch {
namespace runtime {
namespace testing {

Error register_demo_backends() {
  const Backend backends[] = {
      {"BackendWithCompilerDemo", &backend_with_compiler_demo()},
      {"BackendWithDelegateMappingDemo", &backend_with_delegate_mapping_demo()},
      {"ExecutorBackend", &executor_backend()},
  };
  for (const Backend& backend : backends) {
    ET_CHECK_OK_OR_RETURN_ERROR(register_backend(backend));
  }
  return Error::Ok;
}

}  // namespace testing
}  // namespace runtime
}  // namespace executorch
