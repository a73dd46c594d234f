# SPDX-License-Identifier: BSD-3-Clause
# Sourced after scripts/environment.sh: compiles and tests the Java code. It needs no Android tools.

android="${root}/sdk/android"
library_sources="${android}/executorch_android/src"
kotlin_version=2.4.20
kotlin="${root}/.cache/kotlin-${kotlin_version}/lib"
junit=/usr/share/java/junit-platform-console-standalone.jar
coroutines="${kotlin}/kotlinx-coroutines-core-jvm.jar"
stdlib="${kotlin}/kotlin-stdlib.jar"

# alone FOLDER: creates it, and waits until no other run uses it. The lock lasts until this process and its children
# end.
alone() {
  mkdir -p "$1"
  command -v flock >/dev/null || return 0
  local lock
  exec {lock}>"${1%/}.lock"
  flock --nonblock "${lock}" || {
    say "  … another run uses ${1#"${root}"/}: waiting until it has ended"
    flock "${lock}"
  }
}

# A JDK and the Kotlin compiler, whose package has kotlinx-coroutines and kotlin-test too.
java_tools() {
  system javac openjdk-17-jdk-headless "a JDK of version 17 or later"
  [[ -d "${kotlin}" ]] || step "Kotlin ${kotlin_version}" fetch_kotlin || exit 1
}

fetch_kotlin() {
  system npm npm "to fetch the Kotlin compiler"
  local folder="${root}/.cache/kotlin-download-$$"
  mkdir -p "${folder}" &&
    (cd "${folder}" && npm pack --silent "kotlin-compiler@${kotlin_version}" && tar xzf kotlin-compiler-*.tgz) &&
    mv "${folder}/package" "${kotlin%/lib}" && rm -rf "${folder}"
}

kotlinc() {
  java -Xmx1g -XX:+UseSerialGC -XX:TieredStopAtLevel=1 \
    -cp "${kotlin}/kotlin-compiler.jar:${stdlib}:${kotlin}/kotlin-script-runtime.jar:${kotlin}/kotlin-reflect.jar:${coroutines}:${kotlin}/annotations-13.0.jar" \
    org.jetbrains.kotlin.cli.jvm.K2JVMCompiler -no-stdlib -no-reflect "$@"
}

# unless_compiled FOLDER SOURCES-FOLDERS... -- NAME COMMAND...: a step that compiles the sources into FOLDER. It is
# skipped if neither they nor this script and sdk/android/test have changed since it last succeeded.
unless_compiled() {
  local folder="$1" sources=() now
  shift
  while [[ "$1" != "--" ]]; do
    sources+=("$1")
    shift
  done
  shift
  now="$(find "${sources[@]}" "${android}/tools.sh" "${android}/test" -type f | LC_ALL=C sort | xargs sha256sum |
    sed "s|${root}/||" | sha256sum)"  # independent of the location of this tree
  [[ -d "${folder}" && "$(cat "${folder}.of" 2>/dev/null)" == "${now}" ]] && return 0
  rm -f "${folder}.of"
  step "$@" || exit 1
  printf '%s' "${now}" >"${folder}.of"
}

# compile_library FOLDER: compiles the library's classes for the API of Java 8, without lambdas that are created at run
# time, because Android 5 (API 21) supports nothing newer. FOLDER-stand-in has stand-ins of Android's classes.
compile_library() {
  local sources stand_ins
  mapfile -t sources < <(find "${library_sources}/main/java" -name '*.kt' | sort)
  mapfile -t stand_ins < <(find "${library_sources}/stand_in/java" -name '*.java' | sort)
  rm -rf "$1" "$1-stand-in" && mkdir -p "$1" "$1-stand-in" &&
    javac --release 8 -Xlint:-options -Werror -d "$1-stand-in" "${stand_ins[@]}" &&
    kotlinc -module-name executorch_android -Xexplicit-api=strict -Werror -jvm-target 1.8 -Xjdk-release=8 \
      -Xlambdas=class -Xsam-conversions=class -jvm-default=no-compatibility -cp "${stdlib}:${coroutines}:$1-stand-in" \
      -d "$1" "${sources[@]}" &&
    check_android_api "$1"
}

# Fails if the library uses a Java class that Android does not have, or only after API 21.
check_android_api() {
  local found
  found="$(find "$1" -name '*.class' -exec javap -p -c {} + 2>/dev/null |
    grep -oE 'java/(util/(function|stream|Optional)|time|nio/file|lang/invoke|lang/ref/Cleaner|lang/management)[/A-Za-z$]*|sun/[a-z/A-Z]+' | sort -u)" || true
  [[ -z "${found}" ]] || {
    printf 'the library uses what Android 5 does not have: %s\n' ${found}
    return 1
  }
}

# The public names of compiled classes in Java. Names that are internal in Kotlin are excluded by class or name.
public_names() {
  (cd "$1" && find . -name '*.class' | sed 's|^\./||; s|\.class$||' | LC_ALL=C sort |
    grep -vE '/(Cancellation|Native|Reaper|Run|MethodState|StorageKt|ExecutorchExceptionKt|ExecuTorchRuntimeKt)([$]|$)|[$](WhenMappings|[0-9$]|toFloat|Layout|executeAsync|executeOn|loadAsync|executeAndCopy|generate|generateFlow|whenCancelled|open)' |
    xargs javap -public -cp . | grep -vE '^Compiled from|[$]executorch_android|DefaultConstructorMarker|static final .*Companion Companion|access[$]')
}
