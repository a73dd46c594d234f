# SPDX-License-Identifier: BSD-3-Clause
"""The backend QNN: its declaration, table of operators, payloads, interface to Qualcomm's compiler, and interpreter."""
