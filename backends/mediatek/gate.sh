# SPDX-License-Identifier: BSD-3-Clause
# The step of MediaTek, for scripts/test.sh: runs programs over a stand-in of MediaTek's adapter.
gate_step mediatek either 60
long_step mediatek-sanitizers
neuropilot_sdk="${root}/build/neuropilot"
delegate_options+=(-DEXECUTORCH_BUILD_NEURON=ON "-DNEUROPILOT_SDK_ROOT=${neuropilot_sdk}")
delegate_preparations+=(make_neuropilot_sdk)

# The folder that an SDK would have; packages copy it.
make_neuropilot_sdk() { mkdir -p "${neuropilot_sdk}"; }

step_mediatek() {
  local stand_in="${delegates}/backends/mediatek/libneuronusdk_adapter.mtk.so"
  build_with_delegates neuron_backend_test && "${delegates}/backends/mediatek/neuron_backend_test" --gtest_brief=1 &&
    NEURON_USDK_ADAPTER_LIB="${stand_in}" NEURON_NATIVEWINDOW_LIB="${stand_in}" \
      pytest_with_delegates backends/mediatek/test/test_neuron_runtime.py
}

step_mediatek-sanitizers() {
  make_neuropilot_sdk &&
    backend_with_sanitizers mediatek neuron_backend_test -DEXECUTORCH_BUILD_NEURON=ON "-DNEUROPILOT_SDK_ROOT=${neuropilot_sdk}"
}
