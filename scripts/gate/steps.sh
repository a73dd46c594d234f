# SPDX-License-Identifier: BSD-3-Clause
# The steps of scripts/test.sh, which sources this file. backends/<name>/gate.sh has those of a backend.

step_lint() { scripts/lint.sh; }

# build_and_test DIRECTORY CMAKE-ARGUMENTS...: the environment variable TARGETS limits what is built, and the
# pattern TESTS which tests run.
build_and_test() {
  local directory="build/$1"
  shift
  # shellcheck disable=SC2086 # a list of words
  cmake -S . -B "${directory}" -G Ninja "$@" && cmake --build "${directory}" --parallel "${jobs}" ${TARGETS:+--target ${TARGETS}} &&
    ctest --test-dir "${directory}" --output-on-failure --no-tests=error --parallel "${jobs}" ${TESTS:+-R "${TESTS}"}
}

# Includes the conversion to PyTorch's tensors, because the environment has PyTorch.
release=(-DCMAKE_BUILD_TYPE=Release -DEXECUTORCH_BUILD_BACKENDS=linux -DEXECUTORCH_BUILD_EXTENSION_ATEN_UTIL=ON
  -DEXECUTORCH_BUILD_EXTENSION_LLM=ON -DEXECUTORCH_BUILD_EXTENSION_LLM_RUNNER=ON -DEXECUTORCH_BUILD_KERNELS_LLM=ON
  -DEXECUTORCH_BUILD_CADENCE=ON -DEXECUTORCH_BUILD_CORTEX_M=ON -DEXECUTORCH_BUILD_DEVTOOLS=ON -DPython3_EXECUTABLE="${python}")
# Only the tests whose results may depend on optimisation or on the lack of an event tracer. The step asan and the
# long step cpp-all run all tests.
step_cpp() { build_and_test release "${release[@]}" -DEXECUTORCH_RELEASE_TESTS_ONLY=ON; }
step_cpp-all() { build_and_test release-all "${release[@]}"; }
# The same with the runtime over at::Tensor: PyTorch's headers take minutes to compile.
step_aten() { build_and_test aten "${release[@]}" -DEXECUTORCH_BUILD_ATEN=ON; }
step_debug() { build_and_test debug -DCMAKE_BUILD_TYPE=Debug; }
# die_after_fork=0, because one test forks while threads are running.
step_tsan() {
  TSAN_OPTIONS=die_after_fork=0 build_and_test tsan -DCMAKE_BUILD_TYPE=RelWithDebInfo -DEXECUTORCH_BUILD_BACKENDS=linux \
    -DEXECUTORCH_BUILD_KERNELS_LLM=ON -DEXECUTORCH_SANITIZE=thread
}
# All C++ tests but those of backends, with event tracers. Backends bring hundreds of files of third parties, which only the
# long step compiles.
sanitized=(-DCMAKE_BUILD_TYPE=RelWithDebInfo -DEXECUTORCH_BUILD_DEVTOOLS=ON -DEXECUTORCH_BUILD_EXTENSION_LLM=ON
  -DEXECUTORCH_BUILD_CADENCE=ON -DEXECUTORCH_BUILD_CORTEX_M=ON -DEXECUTORCH_BUILD_EXTENSION_LLM_RUNNER=ON -DEXECUTORCH_BUILD_KERNELS_LLM=ON -DEXECUTORCH_ENABLE_EVENT_TRACER=ON
  -DEXECUTORCH_SANITIZE=address,undefined)
step_asan() {
  local linker
  linker="$(fast_linker)"
  ASAN_OPTIONS=detect_leaks=1:strict_string_checks=1 UBSAN_OPTIONS=print_stacktrace=1 \
    build_and_test "asan${1:+-backends}" "${sanitized[@]}" "-DEXECUTORCH_BUILD_BACKENDS=${1:-none}" \
    "-DCMAKE_EXE_LINKER_FLAGS=${linker:+-fuse-ld=${linker}}"
}
# backend_with_sanitizers folder test -D...: a backend's C++ test, with the address sanitizer and with the thread sanitizer.
backend_with_sanitizers() {
  local folder="$1" test="$2" kind
  shift 2
  for kind in address,undefined thread; do
    local build="build/${folder}-${kind%%,*}"
    cmake -S . -B "${build}" -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo "-DEXECUTORCH_SANITIZE=${kind}" "$@" &&
      cmake --build "${build}" --parallel "${jobs}" --target "${test}" &&
      ASAN_OPTIONS=detect_leaks=1 UBSAN_OPTIONS=print_stacktrace=1 "${build}/backends/${folder}/${test}" --gtest_brief=1 || return
  done
}
# The fastest installed linker; nothing if it is the compiler's default. A sanitized test links in half the time.
fast_linker() {
  local name
  for name in mold lld gold; do
    ! command -v "ld.${name}" >/dev/null || { echo "${name}"; return; }
  done
}
step_asan-backends() { step_asan linux; }

# All of PyTorch's samples of every operator, and the conformance suite with its sweep, on the libraries that Python
# links by default, under both sanitizers. A crash fails only its test, and leaves a report. Leaks are checked in the
# step asan only, because Python frees memory late. The step takes hours; tests that have passed with this library are
# not run again. test_first_samples is left out, because its samples are among all of them.
step_operators-asan() {
  local folder="${root}/build/operators-asan"
  # These are the options of the step asan-backends, whose object files ccache has.
  cmake -S . -B "${folder}" -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo -DEXECUTORCH_SANITIZE=address,undefined \
    -DEXECUTORCH_BUILD_BACKENDS=linux -DEXECUTORCH_BUILD_CADENCE=ON -DEXECUTORCH_BUILD_CORTEX_M=ON -DEXECUTORCH_BUILD_PYBIND=ON -DPython_EXECUTABLE="${python}" -DPython3_EXECUTABLE="${python}" \
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

# The Python extension with every delegate that runs here with a stand-in or an emulator. The steps of those
# backends share its build folder, because each would compile the same runtime and kernels. backends/<name>/gate.sh
# adds the options of its delegate, and functions that make the files that the options name.
delegates="${root}/build/delegates"
delegate_options=() delegate_preparations=()

# build_with_delegates TARGETS...: builds that extension, and the targets. Steps that run at the same time wait for each other.
build_with_delegates() (
  mkdir -p "${delegates}" && exec 9>"${delegates}/lock" && flock 9 || exit
  local prepare
  for prepare in "${delegate_preparations[@]}"; do
    "${prepare}" || exit
  done
  # The options of the package, so that ccache has most object files.
  cmake -S . -B "${delegates}" -G Ninja -DCMAKE_BUILD_TYPE=Release -DEXECUTORCH_BUILD_PRESET_FILE=cmake/preset/wheel.cmake \
    -DEXECUTORCH_ENABLE_WERROR=ON -DEXECUTORCH_BUILD_TESTS=ON -DEXECUTORCH_BUILD_EXECUTOR_RUNNER=ON \
    "-DPython3_EXECUTABLE=${python}" "-DPython_EXECUTABLE=${python}" "${delegate_options[@]}" &&
    cmake --build "${delegates}" --parallel "${jobs}" --target _portable_lib "$@"
)
# pytest_with_delegates ARGUMENTS...: pytest on that extension.
pytest_with_delegates() {
  SDK_PORTABLE_LIB="$(find "${delegates}" -name '_portable_lib*.so')" "${python}" -m pytest -q -m "$(marks_of_backend)" "$@"
}

# pytest_with_backends FOLDER ARGUMENTS...: pytest with the arguments and with each backends/**/test/FOLDER. The tests of a
# backend in test/python need only the package; the backend's own step has its other tests.
pytest_with_backends() {
  local folders
  mapfile -t folders < <(find backends -type d -path "*/test/$1" | LC_ALL=C sort)
  "${python}" -m pytest -q "${@:2}" "${folders[@]}"
}

step_python() {
  cmake --build build/package --parallel "${jobs}" --target example_runner cadence_runner llama_main || return
  SDK_EXAMPLE_RUNNER="${root}/build/package/examples/devtools/example_runner" \
    SDK_CADENCE_RUNNER="${root}/build/package/backends/cadence/cadence_runner" \
    SDK_EXECUTOR_RUNNER="${root}/build/package/examples/portable/executor_runner/executor_runner" \
    SDK_LLAMA_MAIN="${root}/build/package/examples/models/llama/llama_main" \
    pytest_with_backends python -m "not slow and not oracle" -n "${jobs}" --dist worksteal --ignore-glob="*_in_web.py" \
    tests/python tests/backends
}
# The tests that the step of a backend runs. With --all, they include the slow ones.
# The step `slow` runs the slow tests of the folder tests.
marks_of_backend() { if [[ -n "${with_long}" ]]; then echo "not oracle"; else echo "not oracle and not slow"; fi; }
# The conformance suite on the portable kernels only; the step python runs it on the libraries that Python links and on
# the backends. With --all, this step runs the whole sweep, as the step slow does for the others.
step_conformance() { on_portable_kernels "not slow"; }
step_conformance-all() { on_portable_kernels slow; }
on_portable_kernels() {
  cmake --build build/package --parallel "${jobs}" --target _portable_lib_reference || return
  local library
  library="$(find "${root}/build/package" -path '*/reference/_portable_lib*.so' -print -quit)"
  SDK_REFERENCE_KERNELS=1 SDK_PORTABLE_LIB="${library}" \
    "${python}" -m pytest -q -m "$1" -n "${jobs}" --dist worksteal tests/backends/test_operators.py tests/backends/test_sweep.py
}
# The numeric tests with the instruction sets of older processors: our kernels run with older targets of Highway, and
# PyTorch computes the expected values with older ones too. Steps of backends do the same for their kernels.
step_processors() {
  local target test capability status=0
  cmake --build build/release --parallel "${jobs}" --target optimized_kernels_test llm_kernels_test || return
  for target in SSE2 AVX2 AVX3 AVX3_DL; do
    echo "--- Highway: ${target}"
    for test in optimized llm; do
      # Status 2: this processor does not have the target; the test has printed that.
      EXECUTORCH_HIGHEST_TARGET="${target}" "build/release/kernels/${test}/${test}_kernels_test" || [[ $? -eq 2 ]] || status=1
    done
  done
  for capability in default:SSE41 avx2:AVX2 avx512:AVX512_CORE avx512:AVX512_CORE_AMX; do
    # PyTorch accepts an instruction set that the processor does not have, and crashes.
    [[ "${capability}" != avx512* ]] || grep avx512bw /proc/cpuinfo >/dev/null || continue
    echo "--- PyTorch: ${capability}"
    ATEN_CPU_CAPABILITY="${capability%:*}" ONEDNN_MAX_CPU_ISA="${capability#*:}" \
      pytest_with_backends python -m "not slow and not oracle" -n "${jobs}" --dist worksteal tests/backends tests/python || status=1
  done
  return "${status}"
}
step_slow() { pytest_with_backends python -m slow tests --ignore tests/zoo; }
# Models of torchvision, timm, transformers and torchaudio, which are installed first: a few fast ones, or all.
step_zoo-few() { "${python}" -m pytest -q -m "not slow" tests/zoo; }
step_zoo() { "${python}" -m pytest -q -m slow tests/zoo; }
# The examples of the pages, and the reference that is generated from the headers' comments.
step_documents() {
  scripts/api_reference && "${python}" -m pytest -q -n "${jobs}" tests/documents
}
# Pages of programs, in a browser. npm provides the library that lays out their graphs if GitHub cannot be reached.
step_page() { packages page && "${python}" -m pytest -q -m "not slow" tests/page; }
# Each backend has its tests against the original in test/python/interop. The environments of the original's releases
# are created before the tests, which share them. The tests of a file run in one process, because its fixtures run the
# original once for all of them.
step_interop() {
  "${python}" tests/interop/make_oracle.py --release 1.5.1 &&
    pytest_with_backends python/interop -m "not slow" -n "${jobs}" --dist loadfile tests/interop
}

# The Java and Kotlin library, on this machine's JVM.
step_android() { EXECUTORCH_BUILD="${root}/build/release" sdk/android/test; }
# Uses the libraries of the step asan-backends, which have event tracers, so that Java and Kotlin write ETDumps.
step_android-asan() { EXECUTORCH_BUILD="${root}/build/asan-backends" sdk/android/test --asan; }

# The npm package: its WebAssembly module, its tests in Node.js, and in a browser.
step_web() {
  sdk/web/build && sdk/web/test/run && "${python}" -m pytest -q -m "not slow" tests/web backends/*/test/python/test_*_in_web.py
}

# Firmware for three boards, in an emulator.
step_baremetal() {
  PYTHON="${python}" JOBS="${jobs}" tests/baremetal/run
}

# 64-bit Arm, in an emulator: the runtime, the extensions, the prim operators, and multiplications by low-bit matrices
# on several processors; with --all also the other kernels, which take long to compile.
build_for_aarch64() {
  cmake --preset linux-aarch64 -DEXECUTORCH_BUILD_TESTS=ON -DEXECUTORCH_BUILD_KERNELS_LLM=ON &&
    cmake --build build/linux-aarch64 --parallel "${jobs}" ${1:+--target "$@"}
}
# The emulator itself exits if a forked process creates threads.
not_in_the_emulator='WorksInAForkedProcess|HasAsManyThreadsAsThereAre'
step_aarch64() {
  local names=(schema prim_ops runtime_{core,executor,profiler,threading}
    extension_{data_loader,evalue_util,flat_tensor,kernel_util,memory_allocator,tensor,threadpool} llm_low_bit)
  build_for_aarch64 "${names[@]/%/_test}" &&
    ctest --test-dir build/linux-aarch64 --output-on-failure --no-tests=error --parallel "${jobs}" -R '^[A-Z]' \
      -E "_NOT_BUILT\$|${not_in_the_emulator}" &&
    kernels/simd/test/spills build/linux-aarch64/kernels/llm/llm_low_bit_test low_bit_block low_bit_row &&
    kernels/simd/test/executed build/linux-aarch64/kernels/llm/llm_low_bit_test \
      LowBitTest.NaNAndInfinityReachTheirRowsOnly cortex-a53= a55=sdot a76=sdot x2=sdot,smmla max=sdot,smmla
}
# Also with the matrix multiplications as Clang compiles them, because Clang compiles for phones.
step_aarch64-all() {
  build_for_aarch64 && ctest --preset linux-aarch64 --parallel "${jobs}" -E "${not_in_the_emulator}" || return
  local program
  program=$(kernels/simd/test/with_clang build/linux-aarch64 kernels/llm/llm_low_bit_test \
    multiply_neon_dotprod.cpp multiply_neon_i8mm.cpp) &&
    kernels/simd/test/spills "${program}" low_bit_block low_bit_row &&
    kernels/simd/test/executed "${program}" \
      LowBitTest.NaNAndInfinityReachTheirRowsOnly cortex-a53= a55=sdot a76=sdot x2=sdot,smmla max=sdot,smmla &&
    kernels/simd/test/executed "${program}" "*" cortex-a53 a55 a76 x2 max
}

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

# Faults that are planted in a clone are found.
step_planted-faults() { scripts/gate/planted_faults; }

# ctest (in cpp and asan) replays the corpus and earlier findings; this step searches for new inputs.
step_fuzz() { fuzz "${FUZZ_SECONDS:-60}"; }
step_fuzz-long() { FUZZ_BACKENDS=linux fuzz "${FUZZ_SECONDS:-7200}"; }

# fuzz SECONDS: the C++ targets, and those in Python for a tenth of the time each.
fuzz() {
  local name status=0
  tests/fuzz/run "$1" || status=1
  for name in adapters etrecord gguf wrapped_names; do
    "${python}" "tests/fuzz/fuzz_${name}.py" "$((($1 + 9) / 10))" "${root}/build/fuzz/found/${name}" || status=1
  done
  return "${status}"
}

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
