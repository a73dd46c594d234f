# SPDX-License-Identifier: BSD-3-Clause
# The step of Arm's backends, for scripts/test.sh. The tests of VGF and its column of the conformance suite run on lavapipe with the ML
# emulation layers; some tests of VGF run in the original's environment, too. The tests of the Ethos-U run on the model of the NPU and
# in firmware for an emulated board. The C++ tests of this model run with sanitizers.
gate_step arm either 250 "arm-none-eabi-g++=gcc-arm-none-eabi" "/usr/lib/arm-none-eabi/newlib/libc.a=libnewlib-arm-none-eabi" \
  "/usr/lib/arm-none-eabi/newlib/libstdc++.a=libstdc++-arm-none-eabi-newlib" "qemu-system-arm=qemu-system-arm"
needs_network arm
vulkan_headers="${root}/.cache/vulkan/usr/include"
delegate_options+=(-DEXECUTORCH_BUILD_VGF=ON "-DEXECUTORCH_VULKAN_INCLUDE_DIR=${vulkan_headers}")
delegate_preparations+=(unpack_vulkan_headers)

unpack_vulkan_headers() (source backends/vulkan/test/environment.sh)

# The packages are installed beside the environment, so that the other steps run without them.
step_arm() (
  local folder="${root}/.cache/arm-packages" requirements="${root}/backends/arm/requirements.txt" layers
  local stamp="${folder}/.$(sha256sum < "${requirements}" | cut -c1-16)"
  if [[ ! -e "${stamp}" ]]; then
    rm -rf "${folder}"
    "${python}" -m pip install --quiet --no-deps --target "${folder}" -r "${requirements}" && touch "${stamp}" || return
  fi
  source backends/vulkan/test/environment.sh || return
  source backends/arm/scripts/emulation_layers.sh || return
  layers="$(emulation_layers "${folder}" "${root}/.cache/arm-layers")" || return
  eval "${layers}"
  build_with_delegates executor_runner || return
  delegates_with_sanitizers || return
  local other="${root}/.cache/arm-vela-5.2.0"
  [[ -e "${other}/ethosu" ]] || "${python}" -m pip install --quiet --no-deps --target "${other}" ethos-u-vela==5.2.0 || return
  "${python}" tests/interop/make_oracle.py || return
  # lavapipe compiles shaders without LLVM's optimisations: compiling takes longer than running them.
  export GALLIVM_PERF=nopt
  export PYTHONPATH="${folder}"
  # One run, in which each worker imports PyTorch once.
  SDK_OTHER_VELA="${other}" SDK_EXECUTOR_RUNNER="${delegates}/examples/portable/executor_runner/executor_runner" \
    pytest_with_delegates -n "${jobs}" --dist worksteal backends/arm tests/backends/test_operators.py -k "vgf or not test_operators.py"
)

# With the options of the step asan, whose object files ccache has.
delegates_with_sanitizers() {
  local build="${root}/build/arm-asan"
  cmake -S . -B "${build}" -G Ninja "${sanitized[@]}" -DEXECUTORCH_BUILD_BACKENDS=none -DEXECUTORCH_BUILD_ARM_ETHOSU_DELEGATE=ON \
    -DEXECUTORCH_BUILD_VGF=ON "-DEXECUTORCH_VULKAN_INCLUDE_DIR=${vulkan_headers}" "-DPython3_EXECUTABLE=${python}" &&
    cmake --build "${build}" --parallel "${jobs}" --target ethos_u_delegate_test ethos_u_without_driver_test replay_ethos_u \
      vgf_backend_test &&
    ctest --test-dir "${build}" --output-on-failure --no-tests=error -R '^EthosU|ethos_u$|^Vgf'
}
