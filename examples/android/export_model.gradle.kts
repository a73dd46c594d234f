// SPDX-License-Identifier: BSD-3-Clause
// Exports models while the app is built: apply(from = "../export_model.gradle.kts"). A model is exported again when its file
// changes. Python, with this package installed, is the one that PYTHON names, or python3.
val exportModel by tasks.registering(Exec::class) {
  val source = file("${rootDir}/model.py")
  val result = layout.buildDirectory.file("models/model.pte")
  inputs.file(source)
  outputs.file(result)
  doFirst { result.get().asFile.parentFile.mkdirs() }
  commandLine(
    System.getenv("PYTHON") ?: "python3", "-m", "sdk.export", "$source:Model",
    "--input", "1x784:float32", "--output", result.get().asFile.path,
  )
}

// The native library, with only the operators of these models: `./gradlew buildExecuTorch` after a model gained operators.
tasks.register<Exec>("buildExecuTorch") {
  dependsOn(exportModel)
  workingDir = file("${rootDir}/../..")
  commandLine("scripts/build_android_library.sh", "--models", layout.buildDirectory.file("models/model.pte").get().asFile.path)
}

tasks.named("preBuild") { dependsOn(exportModel) }
