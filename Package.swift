// swift-tools-version: 6.0
// SPDX-License-Identifier: BSD-3-Clause
import Foundation
import PackageDescription

// The Swift package, whose sources are in sdk/ios. On Apple platforms the runtime is a set of xcframeworks:
// - in the tag of a release: archives, whose addresses and checksums are in sdk/ios/release.json (docs/releasing.md);
// - in a checkout: what scripts/build_apple_frameworks.sh built and linked into sdk/ios/Frameworks.
// Elsewhere it is the shared library of the C interface (executorch_c), which pkg-config finds. That library has all
// kernels and backends, so the products with these names are empty there; they exist so that an app's manifest works on
// both. EXECUTORCH_PLATFORM=apple gives the Apple manifest, with all products, on any system.
let sources = "sdk/ios"
let showsAll = Context.environment["EXECUTORCH_PLATFORM"] == "apple"
#if canImport(Darwin)
  let isApple = true
#else
  let isApple = showsAll
#endif

// The products of backends are named backend_<name>. The backend.json files in this checkout say which backends are for
// iOS, and which of Apple's frameworks they need. sdk/ios/frameworks/backend_targets.py, which
// scripts/build_apple_frameworks.sh runs, writes their targets into sdk/ios/Backends/.
struct Backend: Decodable {
  let name: String
  let platforms: [String]
  let frameworks: [String]?
  let libraries: [String: [String]]?
  var product: String { "backend_\(name.split(separator: "/").last ?? "")" }
  /// The vendor's xcframeworks, which sdk/ios/frameworks/vendor_frameworks.py copies. They have no `_debug` form.
  var vendorFrameworks: [String] {
    (libraries?["ios"] ?? []).map { URL(fileURLWithPath: $0).deletingPathExtension().lastPathComponent }
  }
}

// The binaries of a release: SwiftPM downloads them, and refuses one with another checksum.
struct Release: Decodable {
  let url: String
  let checksums: [String: String]
}
let release: Release? = {
  let file = "\(Context.packageDirectory)/\(sources)/release.json"
  guard let json = FileManager.default.contents(atPath: file) else { return nil }
  guard let release = try? JSONDecoder().decode(Release.self, from: json) else {
    fatalError("\(file) cannot be read: scripts/make_release writes it for the tag of a release; a checkout has none")
  }
  return release
}()

let backends: [Backend] = {
  func inside(_ folder: String) -> [String] {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    return names.sorted().map { "\(folder)/\($0)" }
  }
  let folders = inside("\(Context.packageDirectory)/backends")
  return (folders + folders.flatMap(inside)).compactMap { folder in
    guard let json = FileManager.default.contents(atPath: "\(folder)/backend.json") else { return nil }
    guard let backend = try? JSONDecoder().decode(Backend.self, from: json) else {
      fatalError("\(folder)/backend.json cannot be read: scripts/backend_manifests.py says what is wrong with it")
    }
    let target = "\(Context.packageDirectory)/\(sources)/Backends/\(backend.product)"
    let isThere = showsAll || FileManager.default.fileExists(atPath: target)
    return backend.platforms.contains("ios") && isThere ? backend : nil
  }
}()

// A product consists of targets of this package and of frameworks. No target depends on a framework, so a `_debug`
// product has the same targets, with the `_debug` frameworks.
//
// The linker drops a static library that nothing refers to, and its kernels would not be registered. The small target
// of the same name refers to it, so linking a product is enough. The quantized kernels and those of language models use
// helpers of the optimized ones; kernels_selected, which is built for an app's own models, is complete.
let products: [(name: String, targets: [String], frameworks: [String])] = [
  ("executorch", ["ExecuTorch"], ["executorch"]),
  ("executorch_llm", ["ExecuTorchLLM"], ["executorch", "executorch_llm"]),
  ("kernels_llm", ["kernels_llm", "kernels_optimized"], ["kernels_llm", "kernels_optimized"]),
  // The original's name for the kernels of low-bit weights, which kernels_llm contains.
  ("kernels_torchao", ["kernels_llm", "kernels_optimized"], ["kernels_llm", "kernels_optimized"]),
  ("kernels_optimized", ["kernels_optimized"], ["kernels_optimized"]),
  ("kernels_quantized", ["kernels_quantized", "kernels_optimized"], ["kernels_quantized", "kernels_optimized"]),
  ("kernels_selected", ["kernels_selected"], ["kernels_selected"]),
] + backends.map { ($0.product, [$0.product], [$0.product]) }
let objectiveC = [
  (name: "ExecuTorchObjC", targets: ["ExecuTorchObjC"], frameworks: ["executorch"]),
  (name: "ExecuTorchLLMObjC", targets: ["ExecuTorchLLMObjC"], frameworks: ["executorch", "executorch_llm"]),
]

// sdk/ios/test names stand-ins of Apple's frameworks, with which the code for these is compiled and tested elsewhere.
let standIns: [String] = {
  guard !isApple, let names = Context.environment["EXECUTORCH_STAND_INS"] else { return [] }
  return names.split(separator: ",").map(String.init)
}()
func dependencies(on targets: [String]) -> [Target.Dependency] {
  targets.map { Target.Dependency.target(name: $0) }
}
let library: [String] = isApple ? ["CExecuTorch"] : ["CExecuTorch", "executorch_c"]

let apple: [Platform] = [.iOS, .macOS, .macCatalyst, .visionOS]

let package = Package(
  name: "executorch",
  platforms: [.iOS(.v13), .macOS(.v11), .macCatalyst(.v14), .visionOS(.v1)],
  targets: [
    .target(name: "CExecuTorch", path: "\(sources)/Sources/CExecuTorch"),
    .target(
      name: "ExecuTorch",
      dependencies: dependencies(on: library + standIns),
      path: "\(sources)/Sources/ExecuTorch",
      resources: [.copy("PrivacyInfo.xcprivacy")],
      linkerSettings: [.linkedLibrary("c++", .when(platforms: apple))]),
    .target(name: "ExecuTorchLLM", dependencies: ["ExecuTorch", "CExecuTorch"], path: "\(sources)/Sources/ExecuTorchLLM"),
    .target(name: "kernels_llm", path: "\(sources)/Sources/kernels_llm"),
    .target(name: "kernels_optimized", path: "\(sources)/Sources/kernels_optimized"),
    .target(name: "kernels_quantized", path: "\(sources)/Sources/kernels_quantized"),
    .target(name: "kernels_selected", path: "\(sources)/Sources/kernels_selected"),
  ] + backends.map { backend in
    .target(
      name: backend.product, path: "\(sources)/Backends/\(backend.product)",
      linkerSettings: (backend.frameworks ?? []).map { .linkedFramework($0, .when(platforms: apple)) })
  },
  swiftLanguageModes: [.v6]
)

// Makes the class of each program among the files of a target: docs/ios.md.
package.targets.append(.plugin(name: "ModelClasses", capability: .buildTool(), path: "\(sources)/Plugins/ModelClasses"))
package.products.append(.plugin(name: "ModelClasses", targets: ["ModelClasses"]))

func path(of framework: String) -> String { "\(sources)/Frameworks/\(framework).xcframework" }

func binaryTarget(of framework: String) -> Target {
  let name = "\(framework)_library"
  guard let release, let checksum = release.checksums[framework] else {
    return .binaryTarget(name: name, path: path(of: framework))
  }
  return .binaryTarget(name: name, url: "\(release.url)/\(framework).xcframework.zip", checksum: checksum)
}

/// Whether the framework has been built or released. Other frameworks are left out, because a binary target without its
/// file makes the whole package fail. The runtime is always offered, so that the error names the missing file.
func isOffered(_ framework: String) -> Bool {
  if let release, !release.checksums.isEmpty {
    return release.checksums[framework] != nil
  }
  func isBuilt(_ name: String) -> Bool {
    FileManager.default.fileExists(atPath: "\(Context.packageDirectory)/\(path(of: name))")
  }
  return showsAll || isBuilt(framework) || (framework == "executorch" && !isBuilt("executorch_debug"))
}

if isApple {
  for product in objectiveC {
    package.targets.append(
      .target(
        name: product.name, dependencies: ["CExecuTorch"], path: "\(sources)/Sources/\(product.name)",
        linkerSettings: [.linkedLibrary("c++")]))
  }
  let vendorFrameworks = Dictionary(uniqueKeysWithValues: backends.map { ($0.product, $0.vendorFrameworks) })
  var libraries: Set<String> = []
  for suffix in ["", "_debug"] {
    for (name, targets, frameworks) in products + objectiveC {
      let frameworks = frameworks.map { $0 + suffix } + (vendorFrameworks[name] ?? [])
      guard frameworks.allSatisfy(isOffered) else { continue }
      for framework in frameworks where libraries.insert(framework).inserted {
        package.targets.append(binaryTarget(of: framework))
      }
      package.products.append(.library(name: name + suffix, targets: targets + frameworks.map { "\($0)_library" }))
    }
  }
} else {
  for suffix in ["", "_debug"] {
    package.products += products.map { .library(name: $0.name + suffix, targets: $0.targets) }
  }
  package.targets += standIns.map { .target(name: $0, path: "\(sources)/Tests/StandIns/\($0)") }
  package.targets += [
    .systemLibrary(name: "executorch_c", path: "\(sources)/Sources/executorch_c", pkgConfig: "executorch_c"),
    .testTarget(
      name: "ExecuTorchTests",
      dependencies: dependencies(on: ["CExecuTorch"] + standIns) + dependencies(on: Set(products.flatMap(\.targets)).sorted()),
      path: "\(sources)/Tests/ExecuTorchTests"),
    .testTarget(
      name: "ModelClassesTests", dependencies: ["ExecuTorch"], path: "\(sources)/Tests/ModelClassesTests",
      resources: [.copy("DynBatch.pte")], plugins: ["ModelClasses"]),
    .executableTarget(
      name: "CallOverhead", dependencies: ["ExecuTorch", "CExecuTorch"], path: "\(sources)/Benchmarks/CallOverhead"),
  ]
}
