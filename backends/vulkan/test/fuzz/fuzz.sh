# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2034,SC2154 # tests/fuzz/run, which sources this, sets and reads the variables
# The driver of Vulkan is a mock; the shaders are compiled as for a GPU.
pushd "$root" > /dev/null
source backends/vulkan/test/environment.sh
popd > /dev/null
LD_LIBRARY_PATH=""  # lavapipe's libraries are for programs that use it
options+=(-DEXECUTORCH_BUILD_VULKAN=ON "-DEXECUTORCH_VULKAN_INCLUDE_DIR=$vulkan_root/usr/include"
  "-DEXECUTORCH_GLSLC=$vulkan_root/glslc")
tenths+=(fuzz_vulkan)
targets+=(fuzz_vulkan)
seeders+=(seed_vulkan)

seed_vulkan() {
  seed fuzz_vulkan "$root"/backends/vulkan/test/fuzz/{seeds,found}/*.payload
}
