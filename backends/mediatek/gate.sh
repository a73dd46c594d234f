# SPDX-License-Identifier: BSD-3-Clause
# The step of MediaTek, for scripts/test.sh: builds the delegate and the Python extension with it, and runs programs over a
# stand-in of MediaTek's adapter.
gate_step mediatek either 60
long_step mediatek-sanitizers

step_mediatek() (
  # What an SDK would have; packages copy it.
  mkdir -p build/mediatek/sdk || return
  cmake -S . -B build/mediatek -G Ninja -DCMAKE_BUILD_TYPE=Release -DEXECUTORCH_BUILD_PRESET_FILE=cmake/preset/wheel.cmake \
    -DEXECUTORCH_ENABLE_WERROR=ON -DEXECUTORCH_BUILD_TESTS=ON "-DPython3_EXECUTABLE=${python}" "-DPython_EXECUTABLE=${python}" \
    -DEXECUTORCH_BUILD_NEURON=ON "-DNEUROPILOT_SDK_ROOT=${root}/build/mediatek/sdk" || return
  cmake --build build/mediatek --parallel "${jobs}" --target _portable_lib neuron_backend_test || return
  build/mediatek/backends/mediatek/neuron_backend_test --gtest_brief=1 || return
  stand_in="${root}/build/mediatek/backends/mediatek/libneuronusdk_adapter.mtk.so"
  SDK_PORTABLE_LIB="$(find "${root}/build/mediatek" -name '_portable_lib*.so')" \
    NEURON_USDK_ADAPTER_LIB="${stand_in}" NEURON_NATIVEWINDOW_LIB="${stand_in}" \
    "${python}" -m pytest -q -m "$(marks_of_backend)" backends/mediatek/test/test_neuron_runtime.py
)

step_mediatek-sanitizers() {
  mkdir -p build/mediatek/sdk &&
    backend_with_sanitizers mediatek neuron_backend_test -DEXECUTORCH_BUILD_NEURON=ON "-DNEUROPILOT_SDK_ROOT=${root}/build/mediatek/sdk"
}
