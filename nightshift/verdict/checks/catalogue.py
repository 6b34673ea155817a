"""The checker's rules (name, default severity, reason, alternative, exceptions), and the class of a finding.

The default severities follow one principle. BLOCK is for code that is easy to replace, so that a false alarm costs only
one try. ASK is for code that the task may really need, and whose effect outside of the sandbox the source text does not
show. NOTE is for the rest; a note is logged and delays nothing. A rule's severity is reduced to NOTE if the task's kind
or description shows that the owner wants what the rule warns of.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from nightshift.core.tasks.change_checks import Severity
from nightshift.core.tasks.task import Kind, TaskSpec

BLOCK, ASK, NOTE = Severity.BLOCK, Severity.ASK, Severity.NOTE
_TOOLS = (Kind.CLI_TOOL,)
_SERVERS = (Kind.WEB_APP, Kind.CLI_TOOL)
_RUNS = (
    r"subprocess|shell|external (?:command|program|tool)"
    r"|(?:run|start|launch|execut|spawn)\w* (?:\w+ ){0,3}(?:command|program|process|script)"
)
_NETWORK = r"sockets?\b|tcp|udp|ports?\b|servers?\b|network|websocket|proxy|chat|host"


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule of the checker.

    Attributes:
        name: the name that settings and tasks use for the rule.
        severity: the default severity outside of tests.
        why: the fault of the code, worded as the end of a sentence that begins with the code.
        instead: the alternative that the message proposes.
        kinds: the kinds of tasks for which the severity is reduced to NOTE.
        words: a regular expression; a match in the task's description reduces the severity to NOTE.
        tests: the severity in test code; None if the rule does not apply there.
    """

    name: str
    severity: Severity
    why: str
    instead: str
    kinds: tuple[Kind, ...] = ()
    words: str = ""
    tests: Severity | None = None

    def is_eased_for(self, spec: TaskSpec) -> bool:
        """Check whether a task's kind or description shows that the owner wants what the rule warns of."""
        named = bool(self.words) and re.search(rf"\b(?:{self.words})", spec.description[:20_000], re.IGNORECASE)
        return spec.kind in self.kinds or bool(named)


PYTHON = (
    Rule("python.eval", BLOCK, "executes code that it receives as a string",
          "use ast.literal_eval for values, or parse the few forms that are needed", words=r"eval\b|repl\b",
          tests=NOTE),
    Rule("python.eval-built", NOTE, "executes code that it assembles as a string", "compute the result directly"),
    Rule("python.exec", BLOCK, "executes a string as statements",
          "write the code directly, or select a function from a dict",
          words=r"exec\b|repl\b|interpreter|notebook", tests=NOTE),
    Rule("python.compile", NOTE, "compiles a string that is not constant",
          "parse the string with ast if that is enough"),
    Rule("python.import-builtin", BLOCK, "imports a module whose name is known only at run time",
          "import the module by name, or use importlib.import_module for plugins", words=r"plug-?in|dynamic import",
          tests=NOTE),
    Rule("python.dynamic-import", NOTE, "imports a module whose name is known only at run time",
          "import the module by name if the name is known"),
    Rule("python.dynamic-attribute", BLOCK, "selects a function of a powerful module by a name known only at run time",
          "name the function directly", tests=NOTE),
    Rule("python.os-system", BLOCK, "passes a string to a shell", "use subprocess.run with a list of arguments",
          words=r"os\.system|shell", tests=BLOCK),
    Rule("python.os-exec", BLOCK, "replaces the process, or starts another one without subprocess",
          "use subprocess.run with a list of arguments", words=r"exec\w*\b|replace the process", tests=BLOCK),
    Rule("python.subprocess-shell", BLOCK, "passes a string to a shell", "pass a list of arguments without `shell`",
          words=r"shell", tests=BLOCK),
    Rule("python.subprocess", ASK, "starts another program", "use the standard library where it can do the same",
          kinds=_TOOLS, words=_RUNS),
    Rule("python.fork", BLOCK, "forks the process", "use subprocess or multiprocessing",
          words=r"fork|daemoni[sz]e|prefork", tests=BLOCK),
    Rule("python.fork-bomb", BLOCK, "forks in a loop", "start a fixed number of processes", tests=BLOCK),
    Rule("python.native", BLOCK, "accesses memory or native libraries outside of Python", "use Python alone",
          words=r"ctypes|cffi|native|shared librar|c librar|dll\b|\.so\b", tests=BLOCK),
    Rule("python.socket", ASK, "opens a network connection or listens for one",
          "use an HTTP library, or take the connection as an argument", kinds=_SERVERS, words=_NETWORK, tests=NOTE),
    Rule("python.network-client", NOTE, "talks to other machines; the sandbox has no network",
          "let callers pass the client in, so that tests need no network"),
    Rule("python.delete-outside", BLOCK, "removes files outside of the workspace",
          "take the path as an argument, or use tempfile", tests=BLOCK),
    Rule("python.write-outside", NOTE, "writes outside of the workspace", "take the path as an argument"),
    Rule("python.private-file", BLOCK, "accesses keys or passwords", "take credentials from the caller", tests=BLOCK),
    Rule("python.permissions", BLOCK, "gives everybody access to a file, or sets the set-uid bit",
          "give access only to the owner", tests=NOTE),
    Rule("python.privilege", BLOCK, "changes the user, group, root folder or owner", "run with the existing rights",
          words=r"setuid|privilege|chown|chroot", tests=BLOCK),
    Rule("python.pickle", NOTE, "loads data that can run code", "use JSON for data from other sources"),
    Rule("python.test-detection", BLOCK, "makes behaviour depend on whether tests run",
          "behave the same with and without tests", words=r"pytest plug-?in|test (?:runner|framework)"),
    Rule("python.swap", BLOCK, "replaces a module, a built-in or a hook for all code",
          "pass the replacement as an argument", words=r"monkey-?patch|import hook|shim|polyfill|excepthook",
          tests=NOTE),
    Rule("python.hard-exit", BLOCK, "ends the process and skips all handlers",
          "raise SystemExit, or return", tests=BLOCK),
    Rule("python.signals", NOTE, "changes the handling of signals or of the exit", "use context managers to clean up"),
    Rule("python.patching", NOTE, "replaces a part of another module", "pass the replacement as an argument"),
)  # fmt: skip

JAVASCRIPT = (
    Rule("js.eval", BLOCK, "executes a string as code", "use JSON.parse for data, or call the function",
          words=r"eval\b|repl\b", tests=BLOCK),
    Rule("js.function-constructor", BLOCK, "executes a string as code", "write the function directly",
          words=r"eval\b|compile", tests=BLOCK),
    Rule("js.vm", BLOCK, "executes a string as code in another context", "call the function",
          words=r"vm\b|sandbox|repl\b", tests=BLOCK),
    Rule("js.child-process-shell", BLOCK, "passes a string to a shell",
          "use execFile or spawn with a list of arguments", words=r"shell", tests=BLOCK),
    Rule("js.child-process", ASK, "starts another program", "use Node's own modules if possible", kinds=_TOOLS,
          words=_RUNS),
    Rule("js.network", ASK, "opens a network connection or listens for one", "take the connection as an argument",
          kinds=_SERVERS, words=_NETWORK, tests=NOTE),
    Rule("js.delete-outside", BLOCK, "removes files outside of the workspace", "take the path as an argument",
          tests=BLOCK),
    Rule("js.private-file", BLOCK, "accesses keys or passwords", "take credentials from the caller", tests=BLOCK),
    Rule("js.native", BLOCK, "accesses internals of the process", "use Node's public interface", tests=BLOCK),
    Rule("js.dynamic-import", NOTE, "loads a module whose name is known only at run time", "name the module"),
    Rule("js.test-detection", NOTE, "makes behaviour depend on whether tests run",
          "behave the same with and without tests"),
    Rule("js.hard-exit", BLOCK, "ends the process and skips all handlers",
          "throw, or set process.exitCode", tests=BLOCK),
    Rule("js.exit", NOTE, "ends the process", "throw in a library; set process.exitCode in a program", kinds=_TOOLS),
    Rule("js.swap", BLOCK, "replaces a built-in for all code", "pass the replacement as an argument",
          words=r"polyfill|shim|monkey-?patch", tests=NOTE),
)  # fmt: skip

RULES: dict[str, Rule] = {rule.name: rule for rule in (*PYTHON, *JAVASCRIPT)}


@dataclass(frozen=True, slots=True)
class Finding:
    """A match of a rule at a line.

    Attributes:
        rule: the name of the rule.
        line: the line, counted from 1.
        what: the matching code, as the message shows it.
        why: the reason; set only if the rule is not in the catalogue.
        argv: the command that the finding is about; empty if there is none.
        severity: the severity; set only if the rule is not in the catalogue.
    """

    rule: str
    line: int
    what: str
    why: str = ""
    argv: tuple[str, ...] = ()
    severity: Severity = Severity.BLOCK
