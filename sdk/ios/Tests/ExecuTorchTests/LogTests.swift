// SPDX-License-Identifier: BSD-3-Clause
import ExecuTorch
import Foundation
import XCTest

final class LogTests: XCTestCase {
  private final class Sink: LogSink, @unchecked Sendable {
    private let lock = NSLock()
    private var kept: [String] = []
    var onLine: (() -> Void)?

    var lines: [String] {
      lock.lock()
      defer { lock.unlock() }
      return kept
    }

    func log(level: LogLevel, timestamp: TimeInterval, filename: String, line: UInt, message: String) {
      XCTAssertGreaterThan(timestamp, 1_600_000_000)
      XCTAssertFalse(filename.isEmpty)
      lock.lock()
      kept.append("\(level): \(message)")
      lock.unlock()
      onLine?()
    }
  }

  private static func fail() {
    XCTAssertThrowsError(try Module(filePath: "/no/such/program.pte").load())
  }

  func testIOS22SinksGetLinesUntilTheyAreRemoved() {
    let sink = Sink()
    Log.shared.add(sink: sink)
    Log.shared.add(sink: sink)  // is not added twice
    LogTests.fail()
    let found = sink.lines
    XCTAssertTrue(found.contains { $0.hasPrefix("error: ") && $0.contains("/no/such/program.pte") }, "\(found)")
    XCTAssertEqual(found.count, Set(found).count)
    Log.shared.remove(sink: sink)
    LogTests.fail()
    XCTAssertEqual(sink.lines, found)
  }

  func testIOS22SinksAreNotKeptAlive() {
    var sink: Sink? = Sink()
    weak var gone = sink
    Log.shared.add(sink: sink!)
    sink = nil
    XCTAssertNil(gone)
    LogTests.fail()
  }

  func testASinkMayRemoveItselfAndUseTheRuntime() {
    let sink = Sink()
    sink.onLine = {
      Log.shared.remove(sink: sink)
      XCTAssertFalse(Runtime.operatorNames.isEmpty)
      LogTests.fail()
    }
    Log.shared.add(sink: sink)
    LogTests.fail()
    XCTAssertEqual(sink.lines.count, 1)
    sink.onLine = nil
  }

  func testSinksComeAndGoWhileOthersLog() {
    DispatchQueue.concurrentPerform(iterations: 8) { index in
      for _ in 0..<20 {
        let sink = Sink()
        Log.shared.add(sink: sink)
        LogTests.fail()
        XCTAssertFalse(sink.lines.isEmpty)
        Log.shared.remove(sink: sink)
      }
    }
  }
}
