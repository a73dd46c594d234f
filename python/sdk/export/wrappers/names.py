# SPDX-License-Identifier: BSD-3-Clause
"""Names from a program in source code: as identifiers, string literals and comments of Kotlin, Swift and C++.

A program may be untrusted, and its names may be any text. They reach generated code only through this module.
"""

from __future__ import annotations

import re
from collections.abc import Container
from dataclasses import dataclass, field
from pathlib import PurePath

from sdk.codegen.literals import CPP_KEYWORDS, cpp_literal
from sdk.command.lines import printable

_LONGEST = 80  # characters of an identifier

# Words that no declaration may have as its name, or only in quotes; in C++ also macros of common headers.
_KEYWORDS = {
    "kotlin": """
        as break class continue do else enum false for fun if in interface is null object package return super suspend
        this throw true try typealias typeof val var vararg when while
    """,
    "swift": """
        Any Protocol Self Type actor as associatedtype async await break case catch class continue default defer deinit
        do dynamic else enum extension fallthrough false fileprivate final for func get guard if import in indirect init
        inout internal is isolated lazy let mutating nil nonisolated open operator optional override precedencegroup
        private protocol public repeat required rethrows return self set some static struct subscript super switch throw
        throws true try typealias unowned var weak where while willSet didSet
    """,
    "cpp": " ".join(CPP_KEYWORDS)
    + """
        int64_t size_t std executorch alloca assert emit errno far foreach i386 linux major makedev max min minor near
        nil offsetof setjmp signals sigsetjmp slots small stderr stdin stdout unix va_arg va_copy va_end va_start
        BOOL BUFSIZ DEBUG EOF ERROR FALSE FILE INFINITY NAN NO NULL TRUE YES
    """,
}
# Macros in capitals of the standard headers, those of Linux included: <string> of GCC has error numbers. A class
# cannot have their names; it can have other names in capitals, such as BERT.
_MACROS = """
    CSIGNAL E2BIG EACCES EADDRINUSE EADDRNOTAVAIL EADV EAFNOSUPPORT EAGAIN EALREADY EBADE EBADF EBADFD EBADMSG
    EBADR EBADRQC EBADSLT EBFONT EBUSY ECANCELED ECHILD ECHRNG ECOMM ECONNABORTED ECONNREFUSED ECONNRESET
    EDEADLK EDEADLOCK EDESTADDRREQ EDOM EDOTDOT EDQUOT EEXIST EFAULT EFBIG EHOSTDOWN EHOSTUNREACH EHWPOISON
    EIDRM EILSEQ EINPROGRESS EINTR EINVAL EIO EISCONN EISDIR EISNAM EKEYEXPIRED EKEYREJECTED EKEYREVOKED
    EL2HLT EL2NSYNC EL3HLT EL3RST ELIBACC ELIBBAD ELIBEXEC ELIBMAX ELIBSCN ELNRNG ELOOP EMEDIUMTYPE EMFILE
    EMLINK EMSGSIZE EMULTIHOP ENAMETOOLONG ENAVAIL ENETDOWN ENETRESET ENETUNREACH ENFILE ENOANO ENOBUFS ENOCSI
    ENODATA ENODEV ENOENT ENOEXEC ENOKEY ENOLCK ENOLINK ENOMEDIUM ENOMEM ENOMSG ENONET ENOPKG ENOPROTOOPT
    ENOSPC ENOSR ENOSTR ENOSYS ENOTBLK ENOTCONN ENOTDIR ENOTEMPTY ENOTNAM ENOTRECOVERABLE ENOTSOCK ENOTSUP
    ENOTTY ENOTUNIQ ENXIO EOPNOTSUPP EOVERFLOW EOWNERDEAD EPERM EPFNOSUPPORT EPIPE EPROTO EPROTONOSUPPORT
    EPROTOTYPE ERANGE EREMCHG EREMOTE EREMOTEIO ERESTART ERFKILL EROFS ESHUTDOWN ESOCKTNOSUPPORT ESPIPE ESRCH
    ESRMNT ESTALE ESTRPIPE ETIME ETIMEDOUT ETOOMANYREFS ETXTBSY EUCLEAN EUNATCH EUSERS EWOULDBLOCK EXDEV
    EXFULL MAXFLOAT MINSIGSTKSZ NFDBITS NGREG NSIG NZERO PRIX16 PRIX32 PRIX64 PRIX8 PRIXFAST16 PRIXFAST32
    PRIXFAST64 PRIXFAST8 PRIXLEAST16 PRIXLEAST32 PRIXLEAST64 PRIXLEAST8 PRIXMAX PRIXPTR SIGABRT SIGALRM SIGBUS
    SIGCHLD SIGCLD SIGCONT SIGFPE SIGHUP SIGILL SIGINT SIGIO SIGIOT SIGKILL SIGPIPE SIGPOLL SIGPROF SIGPWR
    SIGQUIT SIGRTMAX SIGRTMIN SIGSEGV SIGSTKFLT SIGSTKSZ SIGSTOP SIGSYS SIGTERM SIGTRAP SIGTSTP SIGTTIN
    SIGTTOU SIGURG SIGUSR1 SIGUSR2 SIGVTALRM SIGWINCH SIGXCPU SIGXFSZ SNAN SNANF SNANF128 SNANF32 SNANF32X
    SNANF64 SNANF64X SNANL WCONTINUED WEOF WEXITED WNOHANG WNOWAIT WSTOPPED WUNTRACED
"""
# Names that get an underscore in every language, so that those of classes generated before do not change.
_EVERYWHERE = """
    auto bool break case catch char class const continue default delete do double else enum explicit export extern false
    float for friend fun func goto if import in init inline int internal interface is let long namespace new null nil
    object operator out package private protected public register return self short signed sizeof static struct super
    switch template this throw throws true try typealias typedef typename typeof union unsigned using val var virtual
    void volatile when where while
    False None True and as assert async await class continue def del elif except finally from global in is lambda
    nonlocal not or pass raise with yield
"""
_WORDS = {**_KEYWORDS, "cpp": _KEYWORDS["cpp"] + _MACROS}
RESERVED = {language: frozenset((words + _EVERYWHERE).split()) for language, words in _WORDS.items()}
"""The words that are never an identifier, by language."""
PORTABLE = frozenset(_EVERYWHERE.split())
"""The words that have an underscore in every language."""

# Members that every object of the language has, or that a property of the template adds.
_INHERITED = {
    "kotlin": "Companion clone equals finalize getClass getModule hashCode notify notifyAll toString wait",
    "swift": "",
    "cpp": "",
}
# Names that the body of a function uses besides its parameters.
_IN_BODIES = {"kotlin": "checkInput module outputs tensor", "swift": "module outputs", "cpp": "check outputs"}


@dataclass
class Scope:
    """The identifiers of a scope. Each is unique, and none is reserved."""

    reserved: frozenset[str]
    has_macros: bool = False
    taken: set[str] = field(default_factory=set)

    def add(self, name: str) -> str:
        """Adds `name`, an identifier, or a variant of it if it is reserved or exists already. Returns the added
        name."""
        plain = f"{name}_" if self._is_reserved(name) else name
        unique, count = plain, 2
        while unique in self.taken or unique in self.reserved:
            unique, count = f"{plain.rstrip('_')}_{count}", count + 1
        self.taken.add(unique)
        return unique

    def _is_reserved(self, name: str) -> bool:
        # Names in capitals are macros in C++: which ones depends on the headers of the application.
        return name in self.reserved or (self.has_macros and len(name) > 1 and name.isupper())


def reserved_for_members(language: str, template: str) -> frozenset[str]:
    """Names that a member of the class cannot have, because the class's template uses them."""
    return RESERVED[language] | _words_of(template) | {*_INHERITED[language].split()}


def parameters(language: str) -> Scope:
    """The scope of a function's parameters."""
    return Scope(RESERVED[language] | {*_IN_BODIES[language].split()}, language == "cpp")


def _words_of(template: str) -> frozenset[str]:
    """The identifiers in the code of a template, and in the texts of its expressions, which may be types."""
    texts = re.findall(r'"([^"\n]*)"', " ".join(re.findall(r"\{%.*?%\}|\{\{.*?\}\}", template)))
    code = re.sub(r"\{%.*?%\}|\{\{.*?\}\}", " ", template)
    code = re.sub(r"//[^\n]*|/\*(?s:.*?)\*/|\"[^\"\n]*\"", " ", code)
    return frozenset(re.findall(r"[A-Za-z_]\w*", " ".join([code, *texts]), re.ASCII))


def snake(text: str, otherwise: str) -> str:
    """Any text as an identifier that may be reserved: `state.0` becomes `state_0`. `otherwise`: for a text without a
    letter or digit, and before one that begins with a digit."""
    plain = re.sub(r"[^A-Za-z0-9]+", "_", text).strip("_")[:_LONGEST].rstrip("_") or otherwise
    return f"{otherwise}_{plain}" if plain[0].isdigit() else plain


def camel(name: str) -> str:
    """`input_ids` -> `inputIds`. A reserved name keeps its underscore: `class_`."""
    head, *rest = name.rstrip("_").split("_")
    return head + "".join(word[:1].upper() + word[1:] for word in rest) + "_" * (len(name) - len(name.rstrip("_")))


def pascal(text: str) -> str:
    """`mobilenet_v2` -> `MobilenetV2`. Any text becomes an identifier that may be reserved."""
    words = re.findall(r"[A-Za-z0-9]+", text)
    name = "".join(word[0].upper() + word[1:] for word in words)[:_LONGEST]
    return name if name[:1].isalpha() else f"Model{name}"


def class_of_file(file: str, reserved: Container[str]) -> str:
    """The class for a program's file: `mobilenet_v2.pte` -> `MobilenetV2`; `ModuleModel` if `Module` is reserved."""
    name = pascal(PurePath(file).stem)
    return f"{name}Model" if name in reserved else name


def literal(language: str, text: str) -> str:
    """Any text as a string literal of the language, with its quotes: all but printable ASCII is escaped."""
    if language == "cpp":
        return cpp_literal(text)
    escaped = {"kotlin": _utf16, "swift": _scalar}[language]
    # `$` begins a template in Kotlin, a backslash one in Swift.
    plain = [char if char.isascii() and char.isprintable() and char not in '"\\$' else escaped(char) for char in text]
    return f'"{"".join(plain)}"'


def _utf16(char: str) -> str:
    units = char.encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[start : start + 4]}" for start in range(0, len(units), 4))


def _scalar(char: str) -> str:
    # Swift's strings cannot contain surrogates.
    return "\\u{FFFD}" if 0xD800 <= ord(char) <= 0xDFFF else f"\\u{{{ord(char):X}}}"


def package_of(language: str, package: str) -> str:
    """A package as Kotlin writes it (`com.example`), or as a C++ namespace (`com::example`). Raises ValueError."""
    parts = re.split(r"\.|::", package)
    for part in parts:
        check_identifier(language, part, f"the package `{package}`")
    return ("::" if language == "cpp" else ".").join(parts)


def check_identifier(language: str, name: str, what: str, reserved: Container[str] = ()) -> None:
    """Raises ValueError if the language, or the template, does not allow `name`."""
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
        raise ValueError(
            f"{printable(what)} cannot be used: expected letters (A to Z), digits and underscores, and no digit first, "
            f"found `{printable(name)}`"
        )
    if name in RESERVED[language] or name in reserved:
        raise ValueError(f"{printable(what)} cannot be used in {language}: `{name}` is reserved there; choose another")
