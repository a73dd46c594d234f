# SPDX-License-Identifier: BSD-3-Clause
# The step of Neutron, for scripts/test.sh: builds the delegate and the Python extension with it, and runs programs over a
# stand-in of NXP's driver.
gate_step neutron either 60
long_step neutron-sanitizers

step_neutron() (
  cmake -S . -B build/neutron -G Ninja -DCMAKE_BUILD_TYPE=Release -DEXECUTORCH_BUILD_PRESET_FILE=cmake/preset/wheel.cmake \
    -DEXECUTORCH_ENABLE_WERROR=ON -DEXECUTORCH_BUILD_TESTS=ON "-DPython3_EXECUTABLE=${python}" "-DPython_EXECUTABLE=${python}" \
    -DEXECUTORCH_BUILD_NXP_NEUTRON=ON || return
  cmake --build build/neutron --parallel "${jobs}" --target _portable_lib neutron_backend_test || return
  build/neutron/backends/nxp/neutron/neutron_backend_test --gtest_brief=1 || return
  SDK_PORTABLE_LIB="$(find "${root}/build/neutron" -name '_portable_lib*.so')" \
    NEUTRON_STAND_IN="${root}/build/neutron/backends/nxp/neutron/libNeutronDriver.so" \
    "${python}" -m pytest -q -m "$(marks_of_backend)" backends/nxp/neutron/test/test_neutron_runtime.py
)

step_neutron-sanitizers() { backend_with_sanitizers nxp/neutron neutron_backend_test -DEXECUTORCH_BUILD_NXP_NEUTRON=ON; }
