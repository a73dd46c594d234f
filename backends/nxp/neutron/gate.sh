# SPDX-License-Identifier: BSD-3-Clause
# The step of Neutron, for scripts/test.sh: runs programs over a stand-in of NXP's driver, and the models that NXP's converter gets in
# LiteRT.
gate_step neutron either 70
long_step neutron-sanitizers
needs_network neutron
delegate_options+=(-DEXECUTORCH_BUILD_NXP_NEUTRON=ON)

step_neutron() {
  local litert="${root}/.cache/backends/litert-2.3.0"
  [[ -e "${litert}/ai_edge_litert" ]] ||
    "${python}" -m pip install --quiet --no-deps --target "${litert}" ai-edge-litert==2.3.0 || return
  build_with_delegates neutron_backend_test && "${delegates}/backends/nxp/neutron/neutron_backend_test" --gtest_brief=1 &&
    NEUTRON_STAND_IN="${delegates}/backends/nxp/neutron/libNeutronDriver.so" \
      PYTHONPATH="${litert}" pytest_with_delegates backends/nxp/neutron/test/test_neutron_runtime.py \
      backends/nxp/neutron/test/python/test_neutron_{operators,writer}.py -k "runtime or litert or integers or channels_last"
}

step_neutron-sanitizers() { backend_with_sanitizers nxp/neutron neutron_backend_test -DEXECUTORCH_BUILD_NXP_NEUTRON=ON; }
