// SPDX-License-Identifier: BSD-3-Clause
import CExecuTorch

/// What is linked into this process.
public enum Runtime {
  /// The operators that programs may use, for example `"aten::add.out"`.
  public static var operatorNames: [String] {
    (0..<et_operator_count()).compactMap { et_operator_name($0).map { String(cString: $0) } }
  }

  /// The backends that programs may use, for example `"XnnpackBackend"`.
  public static var backendNames: [String] {
    (0..<et_backend_count()).compactMap { et_backend_name($0).map { String(cString: $0) } }
  }
}
