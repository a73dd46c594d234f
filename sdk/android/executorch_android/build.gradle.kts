// SPDX-License-Identifier: BSD-3-Clause
// For apps that build the library themselves: include(":executorch_android") in settings.gradle.kts, with projectDir set to
// this folder, and the version catalog `libs` from ../gradle/libs.versions.toml, as examples/android does. The native part is
// built by CMake for each ABI of the app.
//
// For maintainers: `publish -Pexecutorch.repository=URL`, signed if -Psigning.key has an armoured private key (with
// -Psigning.password). ORG_GRADLE_PROJECT_<property> in the environment sets the same properties.
plugins {
  alias(libs.plugins.android.library)
  alias(libs.plugins.kotlin.android)
  `maven-publish`
  signing
}

// The only place of the version.
val sdkVersion =
  Regex("__version__ = \"(.*)\"").find(file("../../../python/sdk/__init__.py").readText())!!.groupValues[1]
// -Pexecutorch.artifact=cpu, or a backend's name: executorch-android-<name>, instead of executorch-android. The first
// line is its id in Maven, the others are CMake's options.
val artifact: List<String> = providers.exec {
  commandLine("python3", file("../artifacts.py").path, providers.gradleProperty("executorch.artifact").getOrElse("default"))
}.standardOutput.asText.get().trim().lines()

android {
  namespace = "org.pytorch.executorch"
  compileSdk = libs.versions.android.compile.sdk.get().toInt()
  ndkVersion = libs.versions.android.ndk.get()

  defaultConfig {
    minSdk = libs.versions.android.min.sdk.get().toInt()
    consumerProguardFiles("consumer-proguard-rules.pro")
    ndk { abiFilters += listOf("arm64-v8a", "x86_64") }
    externalNativeBuild {
      cmake {
        targets += "executorch_jni"
        // -Pexecutorch.models=a.pte;b.pte: only the operators that these use. -Pexecutorch.llm: with language models.
        val models = providers.gradleProperty("executorch.models").orNull
        val llm = providers.gradleProperty("executorch.llm").orNull
        arguments += listOfNotNull(
          "-DANDROID_STL=c++_static",
          "-DANDROID_SUPPORT_FLEXIBLE_PAGE_SIZES=ON",
          "-DEXECUTORCH_BUILD_ANDROID_JNI=ON",
          "-DEXECUTORCH_BUILD_TESTS=OFF",
          "-DEXECUTORCH_BUILD_KERNELS_QUANTIZED=ON",
          models?.let { "-DEXECUTORCH_SELECT_OPS_MODEL=$it" },
          llm?.let { "-DEXECUTORCH_BUILD_EXTENSION_LLM_RUNNER=ON" },
          llm?.let { "-DEXECUTORCH_BUILD_KERNELS_LLM=ON" },
        ) + artifact.drop(1)
      }
    }
  }
  externalNativeBuild { cmake { path = file("../../../CMakeLists.txt") } }

  compileOptions {
    sourceCompatibility = JavaVersion.VERSION_1_8
    targetCompatibility = JavaVersion.VERSION_1_8
  }
  sourceSets["main"].kotlin.srcDir("src/main/java")
  publishing {
    singleVariant("release") {
      withSourcesJar()
      withJavadocJar()
    }
  }
}

kotlin {
  explicitApi()
  compilerOptions {
    jvmTarget = org.jetbrains.kotlin.gradle.dsl.JvmTarget.JVM_1_8
    freeCompilerArgs.add("-Xjvm-default=all")  // Java code need not implement onStats and onError of LlmCallback
  }
}

dependencies { compileOnly(libs.coroutines.core) }

// An app takes one of the artifacts, because each has the classes and libexecutorch.so: Gradle refuses two that provide the
// same capability.
configurations.configureEach {
  if (name.startsWith("releaseVariantRelease")) {
    for (capability in setOf("executorch-android", artifact.first())) {
      outgoing.capability("org.pytorch:$capability:$sdkVersion")
    }
  }
}

publishing {
  publications.register<MavenPublication>("release") {
    groupId = "org.pytorch"
    artifactId = artifact.first()
    version = sdkVersion
    pom {
      name = "ExecuTorch for Android"
      description = "Runs PyTorch models on Android."
      licenses { license { name = "BSD-3-Clause" } }
    }
    afterEvaluate { from(components["release"]) }
  }
  repositories {
    providers.gradleProperty("executorch.repository").orNull?.let { repository -> maven { url = uri(repository) } }
  }
}

signing {
  val key = providers.gradleProperty("signing.key").orNull
  isRequired = key != null
  if (key != null) {
    useInMemoryPgpKeys(key, providers.gradleProperty("signing.password").orNull ?: "")
    sign(publishing.publications["release"])
  }
}
