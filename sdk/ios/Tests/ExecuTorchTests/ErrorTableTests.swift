// SPDX-License-Identifier: BSD-3-Clause
import ExecuTorch
import Foundation
import XCTest

/// tests/data/errors.json: the same mistake gives the same code and the same message in every language.
final class ErrorTableTests: XCTestCase {
  private struct Table: Decodable {
    struct Case: Decodable {
      let `case`: String
      let text: String?
      let program: String?
      let keep: Int?
      let method: String?
      let inputs: [Manifest.Item]?
      let error: String
      let words: [String]
    }

    let codes: [String: Int]
    let cases: [Case]
  }

  private func table() throws -> Table {
    let url = URL(fileURLWithPath: DevtoolsTests.data("errors.json"))
    return try JSONDecoder().decode(Table.self, from: Data(contentsOf: url))
  }

  func testEveryMistakeHasItsCodeAndItsWords() throws {
    let table = try table()
    for mistake in table.cases {
      var program = Data((mistake.text ?? "").utf8)
      if let name = mistake.program {
        program = try Data(contentsOf: URL(fileURLWithPath: Corpus.path(name)))
        program = Data(program.prefix(mistake.keep ?? program.count))
      }
      let inputs: [ValueConvertible] = (mistake.inputs ?? []).map { item -> ValueConvertible in
        switch item.type {
        case "tensor": return AnyTensor.zeros(shape: item.shape!, dataType: item.dataType)
        case "int": return 0
        default: return ""
        }
      }
      do {
        _ = try Module(data: program).execute(mistake.method ?? "forward", inputs)
        XCTFail("\(mistake.case) is not an error")
      } catch let error as ExecuTorchError {
        XCTAssertEqual(error.code.rawValue, table.codes[mistake.error], "\(mistake.case): \(error)")
        for words in mistake.words {
          XCTAssertTrue(error.message.contains(words), "\(mistake.case): \(error)")
        }
      }
    }
  }

  func testTheCodesAreThoseOfTheTable() throws {
    // Swift writes names with a small letter.
    XCTAssertEqual(
      Dictionary(uniqueKeysWithValues: try table().codes.map { ($0.key.prefix(1).lowercased() + $0.key.dropFirst(), $0.value) }),
      Dictionary(uniqueKeysWithValues: ErrorCode.allCases.map { ("\($0)", $0.rawValue) }))
  }
}
