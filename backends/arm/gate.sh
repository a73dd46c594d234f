# SPDX-License-Identifier: BSD-3-Clause
# The step of Arm's backends, for scripts/test.sh: builds the Python extension and the runner with the delegates, and runs the tests:
# those of VGF and its column of the conformance suite on lavapipe with the ML emulation layers, some of them in the original's
# environment too; those of the Ethos-U on the model of the NPU, whose C++ tests run with sanitizers, and in firmware for an
# emulated board.
gate_step arm either 310 "arm-none-eabi-g++=gcc-arm-none-eabi" "/usr/lib/arm-none-eabi/newlib/libc.a=libnewlib-arm-none-eabi" \
  "/usr/lib/arm-none-eabi/newlib/libstdc++.a=libstdc++-arm-none-eabi-newlib" "qemu-system-arm=qemu-system-arm"
needs_network arm

# The packages are installed beside the environment, so that the other steps run without them.
step_arm() (
  local folder="${root}/.cache/arm-packages" requirements="${root}/backends/arm/requirements.txt" build="${root}/build/arm" layers
  local stamp="${folder}/.$(sha256sum < "${requirements}" | cut -c1-16)"
  if [[ ! -e "${stamp}" ]]; then
    rm -rf "${folder}"
    "${python}" -m pip install --quiet --no-deps --target "${folder}" -r "${requirements}" && touch "${stamp}" || return
  fi
  source backends/vulkan/test/environment.sh || return
  source backends/arm/scripts/emulation_layers.sh || return
  layers="$(emulation_layers "${folder}" "${root}/.cache/arm-layers")" || return
  eval "${layers}"
  # The options of the package, so that ccache has most object files.
  cmake -S . -B "${build}" -G Ninja -DCMAKE_BUILD_TYPE=Release -DEXECUTORCH_BUILD_PRESET_FILE=cmake/preset/wheel.cmake \
    -DEXECUTORCH_ENABLE_WERROR=ON "-DPython3_EXECUTABLE=${python}" "-DPython_EXECUTABLE=${python}" -DEXECUTORCH_BUILD_VGF=ON \
    -DEXECUTORCH_BUILD_EXECUTOR_RUNNER=ON -DEXECUTORCH_VULKAN_INCLUDE_DIR="${vulkan_root}/usr/include" || return
  cmake --build "${build}" --parallel "${jobs}" --target _portable_lib executor_runner || return
  delegates_with_sanitizers || return
  local other="${root}/.cache/arm-vela-5.2.0"
  [[ -e "${other}/ethosu" ]] || "${python}" -m pip install --quiet --no-deps --target "${other}" ethos-u-vela==5.2.0 || return
  "${python}" tests/interop/make_oracle.py || return
  # lavapipe compiles shaders without LLVM's optimisations: compiling takes longer than running them.
  export GALLIVM_PERF=nopt
  SDK_PORTABLE_LIB="$(find "${build}" -name '_portable_lib*.so')"
  export SDK_PORTABLE_LIB PYTHONPATH="${folder}"
  SDK_OTHER_VELA="${other}" SDK_EXECUTOR_RUNNER="${build}/examples/portable/executor_runner/executor_runner" \
    run_arm_tests backends/arm && run_arm_tests tests/backends/test_operators.py -k vgf
)

run_arm_tests() { "${python}" -m pytest -q -m "$(marks_of_backend)" -n "${jobs}" --dist worksteal "$@"; }

# With the options of the step asan, whose object files ccache has.
delegates_with_sanitizers() {
  local build="${root}/build/arm-asan"
  cmake -S . -B "${build}" -G Ninja "${sanitized[@]}" -DEXECUTORCH_BUILD_BACKENDS=none -DEXECUTORCH_BUILD_ARM_ETHOSU_DELEGATE=ON \
    -DEXECUTORCH_BUILD_VGF=ON "-DEXECUTORCH_VULKAN_INCLUDE_DIR=${vulkan_root}/usr/include" "-DPython3_EXECUTABLE=${python}" &&
    cmake --build "${build}" --parallel "${jobs}" --target ethos_u_delegate_test ethos_u_without_driver_test replay_ethos_u \
      vgf_backend_test &&
    ctest --test-dir "${build}" --output-on-failure --no-tests=error -R '^EthosU|ethos_u$|^Vgf'
}
