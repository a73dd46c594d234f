// swift-tools-version: 6.0
// SPDX-License-Identifier: BSD-3-Clause
import Foundation
import PackageDescription

// On Apple platforms the runtime comes as the xcframeworks that scripts/build_apple_frameworks.sh makes, which links them
// to Frameworks/ here; elsewhere as the shared library of the C interface, which pkg-config finds (executorch_c) and which
// has all kernels and backends: the products of the same names then add nothing, so that a package's manifest is the same.
// EXECUTORCH_PLATFORM=apple shows the manifest of the former on any system, with all of its products.
let showsAll = Context.environment["EXECUTORCH_PLATFORM"] == "apple"
#if canImport(Darwin)
  let isApple = true
#else
  let isApple = showsAll
#endif

// The products of backends, backend_<name>: the manifests in this checkout name those for iOS. Their targets lie in Backends/, where
// frameworks/backend_targets.py, which scripts/build_apple_frameworks.sh runs, writes them.
struct Backend: Decodable {
  let name: String
  let platforms: [String]
}
let backends: [String] = {
  func inside(_ folder: String) -> [String] {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    return names.sorted().map { "\(folder)/\($0)" }
  }
  let folders = inside("\(Context.packageDirectory)/../../backends")
  return (folders + folders.flatMap(inside)).compactMap { folder in
    guard let json = FileManager.default.contents(atPath: "\(folder)/backend.json") else { return nil }
    guard let backend = try? JSONDecoder().decode(Backend.self, from: json) else {
      fatalError("\(folder)/backend.json cannot be read: scripts/backend_manifests.py says what is wrong with it")
    }
    let product = "backend_\(backend.name.split(separator: "/").last ?? "")"
    let isThere = showsAll || FileManager.default.fileExists(atPath: "\(Context.packageDirectory)/Backends/\(product)")
    return backend.platforms.contains("ios") && isThere ? product : nil
  }
}()

// A product is what it is made of here, and frameworks. No target depends on one, so that the product with `_debug` behind
// its name is the same targets with the frameworks that have it behind theirs.
//
// A static library registers what it holds when something refers to it: the small target of the same name does. Linking a
// product is enough. The quantized kernels use helpers of the others; those for an app's own models have all they need.
let products: [(name: String, targets: [String], frameworks: [String])] = [
  ("executorch", ["ExecuTorch"], ["executorch"]),
  ("kernels_optimized", ["kernels_optimized"], ["kernels_optimized"]),
  ("kernels_quantized", ["kernels_quantized", "kernels_optimized"], ["kernels_quantized", "kernels_optimized"]),
  ("kernels_selected", ["kernels_selected"], ["kernels_selected"]),
] + backends.map { ($0, [$0], [$0]) }
let objectiveC = ("ExecuTorchObjC", ["ExecuTorchObjC"], ["executorch"])

let package = Package(
  name: "executorch",
  platforms: [.iOS(.v13), .macOS(.v11)],
  targets: [
    .target(name: "CExecuTorch"),
    .target(
      name: "ExecuTorch",
      dependencies: isApple ? ["CExecuTorch"] : ["CExecuTorch", "executorch_c"],
      resources: [.copy("PrivacyInfo.xcprivacy")],
      linkerSettings: [.linkedLibrary("c++", .when(platforms: [.iOS, .macOS]))]),
    .target(name: "kernels_optimized"),
    .target(name: "kernels_quantized"),
    .target(name: "kernels_selected"),
  ] + backends.map { .target(name: $0, path: "Backends/\($0)") },
  swiftLanguageModes: [.v6]
)

func path(of framework: String) -> String { "Frameworks/\(framework).xcframework" }

/// Only some may have been built: a binary target without its file would be an error for the others too. Without any, the
/// runtime is offered all the same, for the error to name the file that is missing.
func isOffered(_ framework: String) -> Bool {
  func isBuilt(_ name: String) -> Bool {
    FileManager.default.fileExists(atPath: "\(Context.packageDirectory)/\(path(of: name))")
  }
  return showsAll || isBuilt(framework) || (framework == "executorch" && !isBuilt("executorch_debug"))
}

if isApple {
  package.targets.append(
    .target(name: "ExecuTorchObjC", dependencies: ["CExecuTorch"], linkerSettings: [.linkedLibrary("c++")]))
  var libraries: Set<String> = []
  for suffix in ["", "_debug"] {
    for (name, targets, frameworks) in products + [objectiveC] {
      let frameworks = frameworks.map { $0 + suffix }
      guard frameworks.allSatisfy(isOffered) else { continue }
      for framework in frameworks where libraries.insert(framework).inserted {
        package.targets.append(.binaryTarget(name: "\(framework)_library", path: path(of: framework)))
      }
      package.products.append(.library(name: name + suffix, targets: targets + frameworks.map { "\($0)_library" }))
    }
  }
} else {
  for suffix in ["", "_debug"] {
    package.products += products.map { .library(name: $0.name + suffix, targets: $0.targets) }
  }
  package.targets += [
    .systemLibrary(name: "executorch_c", pkgConfig: "executorch_c"),
    .testTarget(
      name: "ExecuTorchTests",
      dependencies: ["CExecuTorch"] + Set(products.flatMap(\.targets)).sorted().map { .target(name: $0) }),
    .executableTarget(name: "CallOverhead", dependencies: ["ExecuTorch", "CExecuTorch"], path: "Benchmarks/CallOverhead"),
  ]
}
