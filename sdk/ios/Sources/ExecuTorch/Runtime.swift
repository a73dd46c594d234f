// SPDX-License-Identifier: BSD-3-Clause
import CExecuTorch

/// The libraries that are linked into this process, and the number of its threads.
public enum Runtime {
  /// The number of threads that the kernels and backends of all modules use together, including the caller's.
  public static var threadCount: Int { et_thread_count() }

  /// Waits until no module runs, then changes ``threadCount``; 0 means the number of fast cores.
  public static func setThreadCount(_ count: Int) throws {
    guard count >= 0 else {
      throw ExecuTorchError(
        code: .invalidArgument, description: "expected a number of threads, or 0 for one for each fast core; found \(count)")
    }
    try check { et_set_thread_count(count, $0) }
  }

  /// The operators that programs may use, for example `"aten::add.out"`.
  public static var operatorNames: [String] {
    (0..<et_operator_count()).compactMap { et_operator_name($0).map { String(cString: $0) } }
  }

  /// The backends that programs may use, by the names that programs use.
  public static var backendNames: [String] {
    (0..<et_backend_count()).compactMap { et_backend_name($0).map { String(cString: $0) } }
  }
}
