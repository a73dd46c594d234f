// SPDX-License-Identifier: BSD-3-Clause
import ExecuTorch
import Foundation
import XCTest

final class AsyncTests: XCTestCase {
  func testAsynchronousCallsGiveTheSame() async throws {
    let module = AsyncModule(filePath: Corpus.path("add"))
    try await module.load("forward")
    let names = try await module.methodNames()
    XCTAssertEqual(names, ["forward"])
    let inputs = try await module.methodMetadata("forward").inputTensorMetadata
    XCTAssertEqual(inputs[1]?.shape, [2, 3])
    let output: Tensor<Float> = try await module.forward([
      Tensor<Float>.ones(shape: [2, 3]), Tensor<Float>.full(shape: [2, 3], scalar: 2),
    ])
    XCTAssertEqual(output.scalars(), [Float](repeating: 3, count: 6))
    // The synchronous Module also works in asynchronous code, and accepts the output of another module.
    let again: Tensor<Float> = try Corpus.module("add").forward(output, output)
    XCTAssertEqual(again.scalars(), [Float](repeating: 6, count: 6))
  }

  /// IOS-09: from many threads, each gets its own outputs.
  func testIOS09ManyTasksShareAModule() async throws {
    let module = AsyncModule(Corpus.module("add"))
    let sums = try await withThrowingTaskGroup(of: Float.self) { group in
      for number in 0..<100 {
        group.addTask {
          let input = Tensor<Float>.full(shape: [2, 3], scalar: Float(number))
          let other = Tensor<Float>.full(shape: [2, 3], scalar: 1)
          let output: Tensor<Float> = try await module.forward([input, other])
          return output.scalars()[5]
        }
      }
      return try await group.reduce(into: []) { $0.append($1) }
    }
    XCTAssertEqual(Set(sums), Set((0..<100).map { Float($0) + 1 }))
  }

  func testACancelledTaskDoesNotBegin() async {
    let module = AsyncModule(filePath: "/no/such/file.pte")
    let task = Task {
      while !Task.isCancelled { await Task.yield() }
      try await module.load()
    }
    task.cancel()
    do {
      try await task.value
      XCTFail("a cancelled call ran")
    } catch {
      XCTAssertTrue(error is CancellationError, "\(error)")
    }
  }

  func testACancelledTaskStopsItsMethod() async throws {
    let module = AsyncModule(filePath: DevtoolsTests.data("endless.pte"))
    for _ in 0..<2 {  // it can be used again
      let task = Task { try await module.forward(Tensor<Float>.ones(shape: [3])).count }
      try await Task.sleep(nanoseconds: 50_000_000)
      task.cancel()
      do {
        _ = try await task.value
        XCTFail("an endless method returned")
      } catch {
        XCTAssertTrue(error is CancellationError, "\(error)")
      }
    }
  }

  func testErrorsComeOut() async {
    do {
      _ = try await AsyncModule(filePath: Corpus.path("add")).execute("nothing", [])
      XCTFail("there is no such method")
    } catch {
      XCTAssertEqual((error as? ExecuTorchError)?.code, .invalidArgument)
    }
  }
}
