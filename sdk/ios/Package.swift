// swift-tools-version: 6.0
// SPDX-License-Identifier: BSD-3-Clause
import Foundation
import PackageDescription

// On Apple platforms the runtime comes as the xcframeworks that scripts/build_apple_frameworks.sh makes, which links them
// to Frameworks/ here; elsewhere as the shared library of the C interface, which pkg-config finds (executorch_c) and which
// has all kernels and backends: the products of the same names then add nothing, so that a package's manifest is the same.
// EXECUTORCH_PLATFORM=apple shows the manifest of the former on any system, with all of its products.
#if canImport(Darwin)
  let isApple = true
#else
  let isApple = Context.environment["EXECUTORCH_PLATFORM"] == "apple"
#endif

let package = Package(
  name: "executorch",
  platforms: [.iOS(.v13), .macOS(.v11)],
  products: [.library(name: "executorch", targets: ["ExecuTorch"])],
  targets: [
    .target(
      name: "ExecuTorch",
      dependencies: [.target(name: isApple ? "executorch_core" : "CExecuTorch")],
      resources: [.copy("PrivacyInfo.xcprivacy")],
      linkerSettings: [.linkedLibrary("c++", .when(platforms: [.iOS, .macOS]))])
  ],
  swiftLanguageModes: [.v6]
)

// A static library registers what it holds when something refers to it: the small target beside each one does. Linking a
// product is enough. The quantized kernels use helpers of the others; those for an app's own models have all they need.
let parts: KeyValuePairs<String, [Target.Dependency]> = [
  "kernels_optimized": [], "kernels_quantized": ["kernels_optimized"], "kernels_selected": [], "backend_xnnpack": [],
]

if isApple {
  package.targets.append(.binaryTarget(name: "executorch_core", path: "Frameworks/executorch.xcframework"))
  // The same for Objective-C.
  package.targets.append(
    .target(name: "ExecuTorchObjC", dependencies: ["executorch_core"], linkerSettings: [.linkedLibrary("c++")]))
  package.products.append(.library(name: "ExecuTorchObjC", targets: ["ExecuTorchObjC"]))
  for (name, others) in parts {
    let path = "Frameworks/\(name).xcframework"
    // Only some may have been built: a binary target without its file would be an error for the others too.
    guard Context.environment["EXECUTORCH_PLATFORM"] != nil
      || FileManager.default.fileExists(atPath: "\(Context.packageDirectory)/\(path)")
    else { continue }
    package.targets += [
      .binaryTarget(name: "\(name)_library", path: path),
      .target(name: name, dependencies: ["ExecuTorch", .target(name: "\(name)_library")] + others),
    ]
    package.products.append(.library(name: name, targets: [name]))
  }
} else {
  for (name, _) in parts {
    package.targets.append(.target(name: name, dependencies: ["ExecuTorch"]))
    package.products.append(.library(name: name, targets: [name]))
  }
  package.targets += [
    .systemLibrary(name: "CExecuTorch", pkgConfig: "executorch_c"),
    .testTarget(name: "ExecuTorchTests", dependencies: ["ExecuTorch", "CExecuTorch"] + parts.map { .target(name: $0.key) }),
    .executableTarget(name: "CallOverhead", dependencies: ["ExecuTorch", "CExecuTorch"], path: "Benchmarks/CallOverhead"),
  ]
}
