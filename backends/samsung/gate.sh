# SPDX-License-Identifier: BSD-3-Clause
# The step of Samsung, for scripts/test.sh: builds the delegate and the Python extension with it, and runs programs over a
# stand-in of Samsung's library.
gate_step samsung either 60
long_step samsung-sanitizers

step_samsung() (
  cmake -S . -B build/samsung -G Ninja -DCMAKE_BUILD_TYPE=Release -DEXECUTORCH_BUILD_PRESET_FILE=cmake/preset/wheel.cmake \
    -DEXECUTORCH_ENABLE_WERROR=ON -DEXECUTORCH_BUILD_TESTS=ON "-DPython3_EXECUTABLE=${python}" "-DPython_EXECUTABLE=${python}" \
    -DEXECUTORCH_BUILD_EXYNOS=ON || return
  cmake --build build/samsung --parallel "${jobs}" --target _portable_lib enn_backend_test || return
  build/samsung/backends/samsung/enn_backend_test --gtest_brief=1 || return
  SDK_PORTABLE_LIB="$(find "${root}/build/samsung" -name '_portable_lib*.so')" \
    ENN_PUBLIC_API_LIB="${root}/build/samsung/backends/samsung/libenn_public_api_cpp.so" \
    "${python}" -m pytest -q -m "$(marks_of_backend)" backends/samsung/test/test_enn_runtime.py backends/samsung/test/test_enn_compiler.py
)

step_samsung-sanitizers() { backend_with_sanitizers samsung enn_backend_test -DEXECUTORCH_BUILD_ENN=ON; }
