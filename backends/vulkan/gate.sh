# SPDX-License-Identifier: BSD-3-Clause
# The step of Vulkan, for scripts/test.sh: builds the Python extension with the backend and runs its tests on lavapipe, with the
# validation layers on.
gate_step vulkan either 100

step_vulkan() (
  source backends/vulkan/test/environment.sh || return
  # The options of the package, so that ccache has most object files.
  cmake -S . -B build/vulkan -G Ninja -DCMAKE_BUILD_TYPE=Release -DEXECUTORCH_BUILD_PRESET_FILE=cmake/preset/wheel.cmake \
    -DEXECUTORCH_ENABLE_WERROR=ON -DEXECUTORCH_BUILD_TESTS=ON \
    "-DPython3_EXECUTABLE=${python}" "-DPython_EXECUTABLE=${python}" -DEXECUTORCH_BUILD_VULKAN=ON \
    -DEXECUTORCH_VULKAN_INCLUDE_DIR="${vulkan_root}/usr/include" -DEXECUTORCH_GLSLC="${vulkan_root}/glslc" || return
  cmake --build build/vulkan --parallel "${jobs}" \
    --target _portable_lib vulkan_backend_test vulkan_device_loss_test vulkan_replay replay_vulkan || return
  # Lavapipe's libraries are for the tests on the device. Those of payloads and of failures have a mock.
  (
    export LD_LIBRARY_PATH=""
    cd build/vulkan/backends/vulkan || return
    ./vulkan_backend_test --gtest_brief=1 && test/fuzz/vulkan_device_loss_test --gtest_brief=1 || return
    seeds="${root}/backends/vulkan/test/fuzz"
    test/fuzz/replay_vulkan --expect-executed "${seeds}/seeds" && test/fuzz/replay_vulkan "${seeds}/found" || return
    test/fuzz/replay_vulkan --fail-each-call "${seeds}/seeds"
  ) || return
  # A message of the layers fails a test: see test/conftest.py.
  SDK_PORTABLE_LIB="$(find "${root}/build/vulkan" -name '_portable_lib*.so')" \
    VULKAN_REPLAY="${root}/build/vulkan/backends/vulkan/vulkan_replay" \
    VK_INSTANCE_LAYERS=VK_LAYER_KHRONOS_validation "${python}" -m pytest -q -m "$(marks_of_backend)" backends/vulkan/test \
    --ignore backends/vulkan/test/python tests/backends/test_operators.py -k "not test_operator or vulkan"
)
