#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Installs NXP's converter, which is in NXP's registry only. PYTHON names the interpreter, EIQ_NEUTRON_SDK a release.
set -euo pipefail
"${PYTHON:-python3}" -m pip install --index-url ADDRESS "${EIQ_NEUTRON_SDK:-eiq_neutron_sdk}"
