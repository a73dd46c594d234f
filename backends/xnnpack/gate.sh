# SPDX-License-Identifier: BSD-3-Clause
# The steps of XNNPACK, for scripts/test.sh.
xnnpack_tools=("aarch64-linux-gnu-g++=g++-aarch64-linux-gnu" "qemu-aarch64=qemu-user")
gate_step aarch64-xnnpack 1 110 "${xnnpack_tools[@]}"
long_step aarch64-xnnpack-all "${xnnpack_tools[@]}" "clang++-19=clang-19"
long_step xnnpack-sweep "${xnnpack_tools[@]}"

# xnnpack_on_aarch64 CPU...: runs the tests on each of these emulated processors, because the processor decides which
# kernels are used. Before that, looks for tiles that do not fit in the registers, and for the instructions of
# float16 and int8 that four processors execute.
xnnpack_on_aarch64() {
  build_for_aarch64 xnnpack_backend_test xnnpack_sweep_test || return
  local cpu test status=0 sweep=build/linux-aarch64/backends/xnnpack/xnnpack_sweep_test
  kernels/simd/test/spills build/linux-aarch64/backends/xnnpack/xnnpack_backend_test gemm_tile depthwise half_depthwise \
    float_product half_product row_product || status=1
  kernels/simd/test/executed "${sweep}" XnnpackMatmulSweep.Float16 cortex-a53= a55=fmla.8h a76=fmla.8h max=fmla.8h || status=1
  kernels/simd/test/executed "${sweep}" Types/XnnpackLinearSweep.EachNumberOfRows/qd8_f32_qc8w \
    cortex-a53= a55=sdot a76=sdot max=smmla || status=1
  for cpu; do
    for test in xnnpack_backend_test xnnpack_sweep_test; do
      echo "--- ${cpu}: ${test}"
      qemu-aarch64 -cpu "${cpu}" -L /usr/aarch64-linux-gnu "build/linux-aarch64/backends/xnnpack/${test}" || status=1
    done
  done
  return "${status}"
}
# Runs with all extensions of the emulated processor, and with none. A long step runs all tests on a processor that has only dot
# products.
step_aarch64-xnnpack() {
  xnnpack_on_aarch64 max cortex-a53 && build_for_aarch64 executor_runner || return
  # The conformance suite on this processor.
  local runner="qemu-aarch64 -cpu max -L /usr/aarch64-linux-gnu build/linux-aarch64/examples/portable/executor_runner/executor_runner"
  SDK_OTHER_PROCESSOR="aarch64=${runner}" \
    "${python}" -m pytest -q -m "not slow" -n "${jobs}" --dist worksteal tests/backends/test_operators.py -k aarch64
}
# Also runs kernels that Clang compiled, because applications for phones are compiled by Clang.
step_aarch64-xnnpack-all() {
  xnnpack_on_aarch64 cortex-a76 || return
  local program
  program=$(kernels/simd/test/with_clang build/linux-aarch64 backends/xnnpack/xnnpack_backend_test \
    runtime/kernels/{depthwise,half_depthwise,float_products,half_products,row_products}_neon.cpp runtime/steps/{rows,winograd_products}.cpp) &&
    kernels/simd/test/spills "${program}" gemm_tile float_product half_product row_product || return
  kernels/simd/test/executed "${program}" "XnnpackNeonProducts/Half.*" cortex-a53= a55=fmla.8h a76=fmla.8h max=fmla.8h &&
    kernels/simd/test/executed "${program}" "*" cortex-a53 a55 a76 x2 max-sve &&
    kernels/simd/test/executed build/linux-aarch64/backends/xnnpack/xnnpack_backend_test "*" a55 x2 max-sve
}

# All sizes of the sweeps over XNNPACK's kernels and ours. The steps cpp and aarch64-xnnpack run a part of them.
step_xnnpack-sweep() {
  build_for_aarch64 xnnpack_sweep_test && cmake --build build/release --parallel "${jobs}" --target xnnpack_sweep_test || return
  local status=0
  EXECUTORCH_SWEEP=all build/release/backends/xnnpack/xnnpack_sweep_test || status=1
  EXECUTORCH_SWEEP=all qemu-aarch64 -cpu max -L /usr/aarch64-linux-gnu \
    build/linux-aarch64/backends/xnnpack/xnnpack_sweep_test || status=1
  return "${status}"
}
