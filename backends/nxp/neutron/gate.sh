# SPDX-License-Identifier: BSD-3-Clause
# The step of Neutron, for scripts/test.sh: runs programs over a stand-in of NXP's driver.
gate_step neutron either 60
long_step neutron-sanitizers
delegate_options+=(-DEXECUTORCH_BUILD_NXP_NEUTRON=ON)

step_neutron() {
  build_with_delegates neutron_backend_test && "${delegates}/backends/nxp/neutron/neutron_backend_test" --gtest_brief=1 &&
    NEUTRON_STAND_IN="${delegates}/backends/nxp/neutron/libNeutronDriver.so" \
      pytest_with_delegates backends/nxp/neutron/test/test_neutron_runtime.py
}

step_neutron-sanitizers() { backend_with_sanitizers nxp/neutron neutron_backend_test -DEXECUTORCH_BUILD_NXP_NEUTRON=ON; }
