# SPDX-License-Identifier: BSD-3-Clause
"""The graph between the exported program and the payload: calls of the runtime's operators on tensors, for which
passes choose representations and memory."""
