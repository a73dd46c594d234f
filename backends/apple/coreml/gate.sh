# SPDX-License-Identifier: BSD-3-Clause
# The step of Core ML, for scripts/test.sh.
gate_step coreml 2 "clang-19=clang-19 libclang-rt-19-dev" "/usr/include/GNUstep/Foundation/Foundation.h=libgnustep-base-dev"
needs_network coreml

# coremltools and what it imports are installed beside the environment, so that the other steps run without them.
coreml_packages=(
  coremltools==9.0 attrs==26.1.0 cattrs==26.2.1 protobuf==7.36.2 pyaml==26.7.0 PyYAML==6.0.3 tqdm==4.70.1
  # torchao finds the tables of codebooks with k-means of scikit-learn
  scikit-learn==1.9.1 scipy==1.17.1 joblib==1.6.0 cloudpickle==3.1.3 narwhals==2.29.0 threadpoolctl==3.8.0
)
step_coreml() {
  local folder="${root}/.cache/coreml-packages"
  local stamp="${folder}/.$(printf '%s\n' "${coreml_packages[@]}" | sha256sum | cut -c1-16)"
  if [[ ! -e "${stamp}" ]]; then
    rm -rf "${folder}"
    "${python}" -m pip install --quiet --no-deps --target "${folder}" "${coreml_packages[@]}" && touch "${stamp}" || return
  fi
  backends/apple/coreml/test/check_runtime || return
  PYTHONPATH="${folder}" "${python}" -m pytest -q -m "$(marks_of_backend)" -n "${jobs}" --dist worksteal backends/apple/coreml/test
}
