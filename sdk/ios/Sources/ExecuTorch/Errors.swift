// SPDX-License-Identifier: BSD-3-Clause
import CExecuTorch
import Foundation

/// The domain of ``ExecuTorchError`` as an `NSError`.
public let ErrorDomain = "org.pytorch.executorch.error"

/// The kind of an error; the same numbers in every language.
public enum ErrorCode: Int, CaseIterable, Sendable {
  case ok = 0x00
  case `internal` = 0x01
  case invalidState = 0x02
  case endOfMethod = 0x03
  case alreadyLoaded = 0x04
  case notSupported = 0x10
  case notImplemented = 0x11
  case invalidArgument = 0x12
  case invalidType = 0x13
  case operatorMissing = 0x14
  case registrationExceedingMaxKernels = 0x15
  case registrationAlreadyRegistered = 0x16
  case notFound = 0x20
  case memoryAllocationFailed = 0x21
  case accessFailed = 0x22
  case invalidProgram = 0x23
  case invalidExternalData = 0x24
  case outOfResources = 0x25
  case delegateInvalidCompatibility = 0x30
  case delegateMemoryAllocationFailed = 0x31
  case delegateInvalidHandle = 0x32
  case cancelled = 0x40
}

/// One sentence that says what a code means, for errors without a message.
public func ErrorDescription(_ code: ErrorCode) -> String {
  switch code {
  case .ok: return "The operation succeeded."
  case .internal: return "Something failed inside of the runtime."
  case .invalidState: return "The object is not in a state in which this can be done."
  case .endOfMethod: return "The method has no more instructions."
  case .alreadyLoaded: return "It is loaded already."
  case .notSupported: return "This is not supported by this build of the runtime."
  case .notImplemented: return "This is not implemented."
  case .invalidArgument: return "An argument has a wrong value."
  case .invalidType: return "A value has another type than was expected."
  case .operatorMissing: return "This build lacks an operator that the program uses: link the product that has it."
  case .registrationExceedingMaxKernels: return "The registry of kernels is full."
  case .registrationAlreadyRegistered: return "A kernel was registered twice."
  case .notFound: return "The program uses a backend, or data, that is not there."
  case .memoryAllocationFailed: return "There is not enough memory."
  case .accessFailed: return "The file cannot be read."
  case .invalidProgram: return "The program is damaged, cut off or of another version."
  case .invalidExternalData: return "The data file is damaged or does not fit the program."
  case .outOfResources: return "A limit of the runtime was reached."
  case .delegateInvalidCompatibility: return "The backend is of another version than the program was made for."
  case .delegateMemoryAllocationFailed: return "The backend ran out of memory."
  case .delegateInvalidHandle: return "The backend's handle is not valid."
  case .cancelled: return "The run was stopped."
  }
}

/// The error that every function of this module throws. `message` says what was expected, what was found and what to
/// do. The text is the same in all languages. As an `NSError` it has the domain ``ErrorDomain`` and the code `code`.
public struct ExecuTorchError: Swift.Error, Equatable, Sendable {
  public let code: ErrorCode
  public let message: String

  /// Without a description, the message is ``ErrorDescription(_:)``.
  public init(code: ErrorCode, description: String? = nil) {
    self.code = code
    self.message = description ?? ErrorDescription(code)
  }
}

extension ExecuTorchError: LocalizedError, CustomNSError, CustomStringConvertible {
  public static var errorDomain: String { ErrorDomain }
  public var errorCode: Int { code.rawValue }
  public var errorDescription: String? { message }
  public var errorUserInfo: [String: Any] { [NSLocalizedDescriptionKey: message] }
  public var description: String { "\(code) (\(code.rawValue)): \(message)" }
}

/// An error of this module to throw.
public func Error(code: ErrorCode, description: String? = nil) -> ExecuTorchError {
  ExecuTorchError(code: code, description: description)
}

/// Calls a function of the C interface, and throws the error that it reports.
package func check(_ call: (UnsafeMutablePointer<OpaquePointer?>) -> et_status) throws {
  var error: OpaquePointer?
  let status = call(&error)
  guard status != et_status(ET_STATUS_OK) else { return }
  defer { et_error_free(error) }
  let code = ErrorCode(rawValue: Int(status)) ?? .internal
  throw ExecuTorchError(code: code, description: error.map { String(cString: et_error_message($0)) })
}
