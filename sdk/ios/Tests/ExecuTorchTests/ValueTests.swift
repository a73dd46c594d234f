// SPDX-License-Identifier: BSD-3-Clause
import ExecuTorch
import Foundation
import XCTest

/// IOS-19.
final class ValueTests: XCTestCase {
  func testIOS19TagsAndAccessors() {
    let values: [(Value, ValueTag)] = [
      (Value(), .none), (Value(Tensor([1])), .tensor), (Value("text"), .string), (Value(2.5), .double),
      (Value(Float(2.5)), .double), (Value(7), .integer), (Value(true), .boolean),
    ]
    for (value, tag) in values {
      XCTAssertEqual(value.tag, tag)
      XCTAssertEqual(value.isNone, tag == .none)
      XCTAssertEqual(value.isTensor, tag == .tensor)
      XCTAssertEqual(value.isString, tag == .string)
      XCTAssertEqual(value.isDouble, tag == .double)
      XCTAssertEqual(value.isFloat, tag == .double)
      XCTAssertEqual(value.isInteger, tag == .integer)
      XCTAssertEqual(value.isBoolean, tag == .boolean)
      XCTAssertEqual(value.isScalar, [.double, .integer, .boolean].contains(tag))
      XCTAssertEqual(value.string, tag == .string ? "text" : nil)
      XCTAssertEqual(value.integer, tag == .integer ? 7 : 0)
      XCTAssertEqual(value.double, tag == .double ? 2.5 : 0)
      XCTAssertEqual(value.float, tag == .double ? 2.5 : 0)
      XCTAssertEqual(value.boolean, tag == .boolean)
      XCTAssertEqual(value.scalar != nil, value.isScalar)
      XCTAssertEqual(value.anyTensor != nil, tag == .tensor)
      XCTAssertEqual(value, value.copy())
    }
    XCTAssertNotEqual(Value(1), Value(1.0))
    XCTAssertNotEqual(Value(1), Value(true))
  }

  func testIOS19WhatCanBeAnInput() {
    func tag(_ value: ValueConvertible) -> ValueTag { value.asValue().tag }
    XCTAssertEqual(tag(1), .integer)
    XCTAssertEqual(tag(1.0), .double)
    XCTAssertEqual(tag(Float(1)), .double)
    XCTAssertEqual(tag("hello"), .string)
    XCTAssertEqual(tag(true), .boolean)
    XCTAssertEqual(tag(UInt8(1)), .integer)
    XCTAssertEqual(tag(Tensor(1.0)), .tensor)
    XCTAssertEqual(tag(AnyTensor.ones(shape: [], dataType: .float)), .tensor)
    XCTAssertEqual(NSNumber(value: 3).asValue(), Value(3))
    XCTAssertEqual(NSNumber(value: 2.5).asValue(), Value(2.5))
  }

  func testIOS19WhatAValueBecomes() throws {
    XCTAssertEqual(try Int(Value(3)), 3)
    XCTAssertEqual(try Double(Value(2.5)), 2.5)
    XCTAssertEqual(try String(Value("a")), "a")
    XCTAssertEqual(try Bool([Value(true)]), true)
    XCTAssertEqual(try [Int].from([Value(1), Value(2)]), [1, 2])
    expectError(.invalidType, "found integer") { _ = try Double(Value(3)) }
    expectError(.invalidType, "found none") { _ = try AnyTensor(Value()) }
    expectError(.invalidType, "Int8") { _ = try Int8(Value(1000)) }
  }

  func testACopyOfATensorIsIndependent() {
    let tensor = Tensor<Int32>([1, 2])
    let copy = Value(tensor).copy()
    tensor.withUnsafeMutableBytes { $0[0] = 5 }
    XCTAssertEqual(copy.tensor(), Tensor<Int32>([1, 2]))
  }
}
