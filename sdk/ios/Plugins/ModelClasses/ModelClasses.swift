// SPDX-License-Identifier: BSD-3-Clause
import Foundation
import PackagePlugin

/// Makes the class of each program (`.pte`) among the files of a target, whenever the program changes: `Net.pte` gives
/// the class `Net`. It calls `sdk wrap` of the Python that the environment variable EXECUTORCH_PYTHON names, or of
/// `python3`.
@main
struct ModelClasses: BuildToolPlugin {
  func createBuildCommands(context: PluginContext, target: Target) async throws -> [Command] {
    guard let target = target as? SourceModuleTarget else { return [] }
    return commands(for: target.sourceFiles.map(\.url), in: context.pluginWorkDirectoryURL)
  }
}

private func commands(for files: [URL], in folder: URL) -> [Command] {
  let python = ProcessInfo.processInfo.environment["EXECUTORCH_PYTHON"] ?? "python3"
  return files.filter { $0.pathExtension == "pte" }.map { program in
    let output = folder.appendingPathComponent(program.deletingPathExtension().lastPathComponent + ".swift")
    return .buildCommand(
      displayName: "Writing the class of \(program.lastPathComponent)",
      executable: URL(fileURLWithPath: "/usr/bin/env"),
      arguments: [python, "-m", "sdk", "wrap", program.path, "--language", "swift", "--output", output.path],
      inputFiles: [program], outputFiles: [output])
  }
}

#if canImport(XcodeProjectPlugin)
  import XcodeProjectPlugin

  extension ModelClasses: XcodeBuildToolPlugin {
    func createBuildCommands(context: XcodePluginContext, target: XcodeTarget) throws -> [Command] {
      commands(for: target.inputFiles.map(\.url), in: context.pluginWorkDirectoryURL)
    }
  }
#endif
