// swift-tools-version: 6.0
// SPDX-License-Identifier: BSD-3-Clause
import Foundation
import PackageDescription

// On Apple platforms the runtime is a set of xcframeworks; scripts/build_apple_frameworks.sh builds them and links them
// into Frameworks/ here. Elsewhere it is the shared library of the C interface (executorch_c), which pkg-config finds.
// That library has all kernels and backends, so the products of these names are empty there; they exist for an app's
// manifest to work on both. EXECUTORCH_PLATFORM=apple gives the Apple manifest, with all products, on any system.
let showsAll = Context.environment["EXECUTORCH_PLATFORM"] == "apple"
#if canImport(Darwin)
  let isApple = true
#else
  let isApple = showsAll
#endif

// The products of backends are named backend_<name>. The backend.json files in this checkout say which backends are for
// iOS. frameworks/backend_targets.py, which scripts/build_apple_frameworks.sh runs, writes their targets into
// Backends/.
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

// A product consists of targets of this package and of frameworks. No target depends on a framework, so a `_debug`
// product has the same targets, with the `_debug` frameworks.
//
// The linker drops a static library that nothing refers to, and its kernels would not be registered. The small target
// of the same name refers to it, so linking a product is enough. The quantized kernels use helpers of the optimized
// ones; kernels_selected, which is built for an app's own models, is complete.
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

/// Whether the framework has been built. One that has not is left out, because a binary target without its file makes
/// the whole package fail. The runtime is always offered, so that the error names the missing file.
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
