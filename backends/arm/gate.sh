# SPDX-License-Identifier: BSD-3-Clause
# The step of Arm's backends, for scripts/test.sh.
gate_step arm 2
needs_network arm

# The packages are installed beside the environment, so that the other steps run without them.
step_arm() {
  local folder="${root}/.cache/arm-packages" requirements="${root}/backends/arm/requirements.txt"
  local stamp="${folder}/.$(sha256sum < "${requirements}" | cut -c1-16)"
  if [[ ! -e "${stamp}" ]]; then
    rm -rf "${folder}"
    "${python}" -m pip install --quiet --no-deps --target "${folder}" -r "${requirements}" && touch "${stamp}" || return
  fi
  PYTHONPATH="${folder}" "${python}" -m pytest -q -m "$(marks_of_backend)" -n "${jobs}" --dist worksteal backends/arm
}
