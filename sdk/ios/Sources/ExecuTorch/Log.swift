// SPDX-License-Identifier: BSD-3-Clause
import CExecuTorch
import Foundation

/// The severity of a log line. Its raw value is the first letter of log lines.
public enum LogLevel: UInt8, Sendable {
  case debug = 0x44  // D
  case info = 0x49  // I
  case error = 0x45  // E
  case fatal = 0x46  // F
  case unknown = 0x3F  // ?

  init(number: et_log_level) {
    switch Int(number) {
    case Int(ET_LOG_LEVEL_DEBUG): self = .debug
    case Int(ET_LOG_LEVEL_INFO): self = .info
    case Int(ET_LOG_LEVEL_ERROR): self = .error
    case Int(ET_LOG_LEVEL_FATAL): self = .fatal
    default: self = .unknown
    }
  }
}

/// Receives the runtime's log lines, on the thread that logs them.
public protocol LogSink: AnyObject {
  /// - Parameters:
  ///   - timestamp: seconds since 1970.
  ///   - filename: the source file of the line.
  ///   - message: the text, without a newline.
  func log(level: LogLevel, timestamp: TimeInterval, filename: String, line: UInt, message: String)
}

/// The log of the runtime. Sinks get every line that the process logs, errors included; without a sink the lines go to
/// the system's log. All functions may be called from any thread, also from within a sink.
public final class Log: @unchecked Sendable {
  public static let shared = Log()

  /// Sinks are not retained: one that is freed without ``remove(sink:)`` gets no more lines.
  private struct Entry {
    let identity: ObjectIdentifier
    weak var sink: (any LogSink)?
  }

  private let lock = NSLock()
  private var entries: [Entry] = []  // under `lock`
  // Serializes setting and removing the runtime's sink, so that the last change of `entries` wins.
  private let installation = DispatchQueue(label: "org.pytorch.executorch.log")
  private static let isInSink = "org.pytorch.executorch.log.sink"

  private init() {}

  /// Adds a sink. One that was added before is not added twice.
  public func add(sink: any LogSink) {
    lock.lock()
    entries.removeAll { $0.sink == nil || $0.identity == ObjectIdentifier(sink) }
    entries.append(Entry(identity: ObjectIdentifier(sink), sink: sink))
    lock.unlock()
    install()
  }

  /// Removes a sink; the sink's `deinit` may call it. The sink may still get one line that another thread is logging at
  /// that moment.
  public func remove(sink: any LogSink) {
    lock.lock()
    entries.removeAll { $0.identity == ObjectIdentifier(sink) }
    lock.unlock()
    install()
  }

  private func install() {
    // The runtime waits until running sinks have returned before it changes its sink, so a sink that waited for the
    // change would deadlock.
    if Thread.current.threadDictionary[Log.isInSink] != nil {
      installation.async { self.matchRuntime() }
    } else {
      installation.sync { self.matchRuntime() }
    }
  }

  private func matchRuntime() {
    lock.lock()
    let isWanted = !entries.isEmpty
    lock.unlock()
    let sink: et_log_sink = { level, file, line, message, _ in
      Log.shared.write(
        level: LogLevel(number: level), filename: file.map { String(cString: $0) } ?? "", line: UInt(line),
        message: message.map { String(cString: $0) } ?? "")
    }
    _ = et_set_log_sink(isWanted ? sink : nil, nil, et_log_level(ET_LOG_LEVEL_DEBUG), nil)
  }

  private func write(level: LogLevel, filename: String, line: UInt, message: String) {
    lock.lock()
    let sinks = entries.compactMap(\.sink)
    lock.unlock()
    let timestamp = Date().timeIntervalSince1970
    let thread = Thread.current.threadDictionary
    thread[Log.isInSink] = true
    for sink in sinks {
      sink.log(level: level, timestamp: timestamp, filename: filename, line: line, message: message)
    }
    thread.removeObject(forKey: Log.isInSink)
  }
}
