// swift-tools-version: 6.0
// SPDX-License-Identifier: BSD-3-Clause
import PackageDescription

// On Apple platforms the runtime comes as the xcframeworks that scripts/build_apple_frameworks.sh makes, which links them
// to Frameworks/ here; elsewhere as the shared library of the C interface, which pkg-config finds (executorch_c).
// EXECUTORCH_PLATFORM=apple shows the manifest of the former on any system.
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

if isApple {
  // A static library registers what it holds when something refers to it: the small target beside each one does. Linking
  // a product is enough.
  package.targets.append(.binaryTarget(name: "executorch_core", path: "Frameworks/executorch.xcframework"))
  // The same for Objective-C.
  package.targets.append(
    .target(name: "ExecuTorchObjC", dependencies: ["executorch_core"], linkerSettings: [.linkedLibrary("c++")]))
  package.products.append(.library(name: "ExecuTorchObjC", targets: ["ExecuTorchObjC"]))
  // The quantized kernels use helpers of the others.
  let needs: KeyValuePairs<String, [Target.Dependency]> = [
    "kernels_optimized": [], "kernels_quantized": ["kernels_optimized"], "backend_xnnpack": [],
  ]
  for (name, others) in needs {
    package.targets += [
      .binaryTarget(name: "\(name)_library", path: "Frameworks/\(name).xcframework"),
      .target(name: name, dependencies: ["ExecuTorch", .target(name: "\(name)_library")] + others),
    ]
    package.products.append(.library(name: name, targets: [name]))
  }
} else {
  package.targets += [
    .systemLibrary(name: "CExecuTorch", pkgConfig: "executorch_c"),
    .testTarget(name: "ExecuTorchTests", dependencies: ["ExecuTorch"]),
    .executableTarget(name: "CallOverhead", dependencies: ["ExecuTorch", "CExecuTorch"], path: "Benchmarks/CallOverhead"),
  ]
}
