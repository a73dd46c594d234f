# SPDX-License-Identifier: BSD-3-Clause
"""Models. Each module has `model_and_inputs()`, and as a command writes CadenceDemoModel.pte to the current folder."""
