// SPDX-License-Identifier: BSD-3-Clause
// For apps that build the library themselves: include(":executorch_android") in settings.gradle.kts, with projectDir set to
// this folder. The native part is built by CMake for each ABI of the app.
plugins {
  id("com.android.library")
  id("org.jetbrains.kotlin.android")
}

android {
  namespace = "org.pytorch.executorch"
  compileSdk = 35
  ndkVersion = "28.2.13676358"

  defaultConfig {
    minSdk = 21
    consumerProguardFiles("consumer-proguard-rules.pro")
    ndk { abiFilters += listOf("arm64-v8a", "x86_64") }
    externalNativeBuild {
      cmake {
        targets += "executorch_jni"
        // -Pexecutorch.models=a.pte;b.pte: only the operators that these use.
        val models = providers.gradleProperty("executorch.models").orNull
        arguments += listOfNotNull(
          "-DANDROID_STL=c++_static",
          "-DANDROID_SUPPORT_FLEXIBLE_PAGE_SIZES=ON",
          "-DEXECUTORCH_BUILD_ANDROID_JNI=ON",
          "-DEXECUTORCH_BUILD_TESTS=OFF",
          "-DEXECUTORCH_BUILD_BACKENDS=android",
          "-DEXECUTORCH_BUILD_KERNELS_QUANTIZED=ON",
          models?.let { "-DEXECUTORCH_SELECT_OPS_MODEL=$it" },
        )
      }
    }
  }
  externalNativeBuild { cmake { path = file("../../../CMakeLists.txt") } }

  compileOptions {
    sourceCompatibility = JavaVersion.VERSION_1_8
    targetCompatibility = JavaVersion.VERSION_1_8
  }
  sourceSets["main"].kotlin.srcDir("src/main/java")
}

kotlin { compilerOptions { jvmTarget = org.jetbrains.kotlin.gradle.dsl.JvmTarget.JVM_1_8 } }

dependencies { compileOnly("org.jetbrains.kotlinx:kotlinx-coroutines-core:1.8.0") }
