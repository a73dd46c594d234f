# SPDX-License-Identifier: BSD-3-Clause
# The step of Samsung, for scripts/test.sh: runs programs over a stand-in of Samsung's library.
gate_step samsung either 60
long_step samsung-sanitizers
delegate_options+=(-DEXECUTORCH_BUILD_EXYNOS=ON)

step_samsung() {
  build_with_delegates enn_backend_test && "${delegates}/backends/samsung/enn_backend_test" --gtest_brief=1 &&
    ENN_PUBLIC_API_LIB="${delegates}/backends/samsung/libenn_public_api_cpp.so" \
      pytest_with_delegates backends/samsung/test/test_enn_runtime.py backends/samsung/test/test_enn_compiler.py
}

step_samsung-sanitizers() { backend_with_sanitizers samsung enn_backend_test -DEXECUTORCH_BUILD_ENN=ON; }
