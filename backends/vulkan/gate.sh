# SPDX-License-Identifier: BSD-3-Clause
# The step of Vulkan, for scripts/test.sh: runs its tests on lavapipe, with the validation layers on.
gate_step vulkan either 100
vulkan_root="${root}/.cache/vulkan"
delegate_options+=(-DEXECUTORCH_BUILD_VULKAN=ON "-DEXECUTORCH_VULKAN_INCLUDE_DIR=${vulkan_root}/usr/include"
  "-DEXECUTORCH_GLSLC=${vulkan_root}/glslc")
delegate_preparations+=(unpack_vulkan)

# Headers, glslc and other packages that the tests need.
unpack_vulkan() (source backends/vulkan/test/environment.sh)

step_vulkan() (
  build_with_delegates vulkan_backend_test vulkan_device_loss_test vulkan_replay replay_vulkan || return
  source backends/vulkan/test/environment.sh || return
  # Only the tests on the device load lavapipe's libraries. The tests of payloads and of failures have a mock.
  (
    export LD_LIBRARY_PATH=""
    cd "${delegates}/backends/vulkan" || return
    ./vulkan_backend_test --gtest_brief=1 && test/fuzz/vulkan_device_loss_test --gtest_brief=1 || return
    seeds="${root}/backends/vulkan/test/fuzz"
    test/fuzz/replay_vulkan --expect-executed "${seeds}/seeds" && test/fuzz/replay_vulkan "${seeds}/found" || return
    test/fuzz/replay_vulkan --fail-each-call "${seeds}/seeds"
  ) || return
  # A message of the layers fails a test: see test/conftest.py.
  VULKAN_REPLAY="${delegates}/backends/vulkan/vulkan_replay" VK_INSTANCE_LAYERS=VK_LAYER_KHRONOS_validation \
    pytest_with_delegates backends/vulkan/test --ignore backends/vulkan/test/python tests/backends/test_operators.py \
    -k "not test_operator or vulkan"
)
