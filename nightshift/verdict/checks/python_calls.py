"""Compares calls and mentions of known functions with the rules, and finds the commands that calls run.

A command comes from the arguments of a `subprocess` function, from the text of `os.system`, or from a deletion, which
counts as `rm`. Two rules concern `eval`, because `eval(text)` with a parameter runs whatever a caller passes, while
`eval(str(a) + op + str(b))` is only a clumsy way to compute. Both can go wrong, but only the first lets outsiders run
code.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from nightshift.core.code.parsing import parse_quietly
from nightshift.verdict.checks.catalogue import Finding
from nightshift.verdict.checks.hooks import shell
from nightshift.verdict.checks.hooks.commands import UNKNOWN, Command, outside, private
from nightshift.verdict.checks.names import Names

RUNNERS = frozenset(f"subprocess.{name}" for name in ("run", "Popen", "call", "check_call", "check_output"))
_STARTERS = frozenset({*(name.partition(".")[2] for name in RUNNERS), "create_subprocess_exec", "spawn"})
SHELL_TEXT = frozenset({
    "os.system", "os.popen", "subprocess.getoutput", "subprocess.getstatusoutput", "asyncio.create_subprocess_shell",
    "asyncio.subprocess.create_subprocess_shell",
})  # fmt: skip
WORDS = frozenset({
    "asyncio.create_subprocess_exec", "asyncio.subprocess.create_subprocess_exec", "os.execl", "os.execlp", "os.execle",
    "os.execlpe",
})  # fmt: skip
LISTS = frozenset(
    {"os.execv", "os.execvp", "os.execve", "os.execvpe", "os.posix_spawn", "os.posix_spawnp", "pty.spawn"}
)
SPAWNS = frozenset(f"os.spawn{kind}" for kind in ("l", "le", "lp", "lpe", "v", "ve", "vp", "vpe"))
REMOVERS = frozenset({"shutil.rmtree", "os.remove", "os.unlink", "os.rmdir", "os.removedirs"})
_MAKERS = frozenset({"builtins.str", "builtins.repr", "builtins.format", "builtins.ascii"})
_POWERFUL = frozenset({"os", "builtins", "subprocess", "sys", "ctypes", "shutil", "importlib", "posix", "pty"})
_BY_NAME: dict[str, str] = {
    **dict.fromkeys(("builtins.eval",), "python.eval"),
    **dict.fromkeys(
        ("builtins.exec", "runpy.run_path", "runpy.run_module", "code.interact", "code.InteractiveConsole",
         "code.InteractiveInterpreter", "cProfile.run", "pdb.run"), "python.exec"),
    **dict.fromkeys(
        ("importlib.util.spec_from_file_location", "importlib.machinery.SourceFileLoader", "imp.load_source",
         "zipimport.zipimporter"), "python.dynamic-import"),
    **dict.fromkeys(("os.system", "os.popen", "posix.system", "posix.popen"), "python.os-system"),
    **dict.fromkeys(RUNNERS | {"asyncio.create_subprocess_exec", "pty.spawn"}, "python.subprocess"),
    **dict.fromkeys(SHELL_TEXT - {"os.system", "os.popen"}, "python.subprocess-shell"),
    **dict.fromkeys(("os.fork", "os.forkpty", "pty.fork"), "python.fork"),
    **dict.fromkeys(
        ("socket.socket", "socket.create_connection", "socket.create_server", "socket.fromfd",
         "asyncio.open_connection", "asyncio.start_server", "asyncio.open_unix_connection",
         "asyncio.start_unix_server", "socketserver.TCPServer",
         "socketserver.UDPServer", "socketserver.ThreadingTCPServer", "http.server.HTTPServer",
         "http.server.ThreadingHTTPServer"), "python.socket"),
    **dict.fromkeys(
        ("os.setuid", "os.setgid", "os.seteuid", "os.setegid", "os.setreuid", "os.setresuid", "os.setresgid",
         "os.setgroups", "os.chroot", "os.chown", "os.lchown", "os.fchown", "shutil.chown"), "python.privilege"),
    **dict.fromkeys(
        ("pickle.load", "pickle.loads", "pickle.Unpickler", "marshal.load", "marshal.loads", "shelve.open", "dill.load",
         "dill.loads", "cloudpickle.load", "cloudpickle.loads", "joblib.load", "jsonpickle.decode"), "python.pickle"),
    "importlib.reload": "python.dynamic-import",
    **{f"sys.{table}.{change}": "python.swap" for table in ("meta_path", "path_hooks", "modules")
       for change in ("append", "insert", "extend", "update", "setdefault", "clear", "remove", "pop")},
    **dict.fromkeys(("os._exit", "os.abort", "posix._exit", "faulthandler._sigsegv"), "python.hard-exit"),
    **dict.fromkeys(("signal.signal", "signal.alarm", "signal.setitimer", "atexit.register"), "python.signals"),
}  # fmt: skip
_SWAPPED = frozenset({"builtins", "sys", "os", "pytest", "_pytest", "pluggy", "unittest", "hypothesis", "warnings"})
_EXECS = ("os.exec", "os.spawn", "os.posix_spawn")
_OPENERS = frozenset({"builtins.open", "io.open", "os.open", "codecs.open", "pathlib.Path", "os.listdir", "os.scandir",
                      "shutil.copy", "shutil.copytree", "shutil.copyfile"})  # fmt: skip
_WRITERS = frozenset({"write_text", "write_bytes", "touch", "mkdir"})


def find_rule(target: str) -> str | None:
    """Return the rule that any use of a function matches; None if there is none."""
    if target.startswith(_EXECS):
        return "python.os-exec"
    return _BY_NAME.get(target)


def check_call(node: ast.Call, target: str | None, names: Names) -> Iterator[Finding]:
    """List the findings of a call, except those for text that `eval` or `exec` runs."""
    for rule in _rules(node, target, names):
        yield Finding(rule, node.lineno, f"`{_short(node, target)}`")


def _rules(node: ast.Call, target: str | None, names: Names) -> Iterator[str]:
    if target is None:
        yield from _of_path(node, names)
        return
    rule = find_rule(target)
    if rule and target not in {"builtins.eval", "builtins.exec"}:
        shell = target in RUNNERS and is_shell(node)
        yield "python.subprocess-shell" if shell else rule
    args = [names.text(arg) for arg in node.args[:3]]
    if target in REMOVERS and args and outside(args[0]):
        yield "python.delete-outside"
    if target in _OPENERS and any(private(arg) for arg in args[:1]):
        yield "python.private-file"
    if target in {"builtins.open", "io.open"} and args and outside(args[0]) and _writes(node, args):
        yield "python.write-outside"
    yield from _of_system(node, target, args)
    yield from _dynamic(node, target, args, names)
    yield from _of_path(node, names)


def _of_system(node: ast.Call, target: str, args: list[str]) -> Iterator[str]:
    if target in {"os.kill", "os.killpg"}:
        first = show(node.args[0]) if node.args else ""
        alone = "getpid" in first or "getppid" in first or first.lstrip("-") in {"0", "1"}
        yield "python.hard-exit" if alone else "python.signals"
    if target == "os.chmod" and len(args) > 1 and (outside(args[0]) or _open_to_all(args[1])):
        yield "python.permissions"


def _dynamic(node: ast.Call, target: str, args: list[str], names: Names) -> Iterator[str]:
    """List the rules that a call breaks by importing dynamically, or by using `getattr` or `setattr` on a module."""
    if target == "builtins.__import__" and UNKNOWN in (args or [UNKNOWN])[0]:
        yield "python.import-builtin"
    elif target in {"importlib.import_module", "importlib.__import__"} and args and UNKNOWN in args[0]:
        yield "python.dynamic-import"
    elif target in {"builtins.getattr", "builtins.setattr"} and len(args) > 1:
        base = names.resolve(node.args[0])
        if base in _POWERFUL and UNKNOWN in args[1]:
            yield "python.dynamic-attribute"
        if target == "builtins.setattr" and (base or "").partition(".")[0] in _SWAPPED:
            yield "python.swap"


def _of_path(node: ast.Call, names: Names) -> Iterator[str]:
    """Yield the rules that a call of a `pathlib.Path` method breaks."""
    if not isinstance(node.func, ast.Attribute):
        return
    attr = node.func.attr
    if attr in {"unlink", "rmdir", "rmtree"} and outside(names.text(node.func.value)):
        yield "python.delete-outside"
    elif attr in _WRITERS and outside(names.text(node.func.value)):
        yield "python.write-outside"
    elif attr == "chmod" and node.args and _open_to_all(names.text(node.args[0])):
        yield "python.permissions"
    if attr in {"read_text", "read_bytes", "open"} and private(names.text(node.func.value)):
        yield "python.private-file"


def _writes(node: ast.Call, args: list[str]) -> bool:
    mode = next((keyword.value for keyword in node.keywords if keyword.arg == "mode"), None)
    text = str(mode.value) if isinstance(mode, ast.Constant) else (args[1] if len(args) > 1 else "r")
    return any(letter in text for letter in "wax+") and UNKNOWN not in text


def _open_to_all(mode: str) -> bool:
    """Check whether a file mode lets everybody write, or makes the file set-uid or set-gid."""
    return mode.isdigit() and bool(int(mode) & 0o6002)


def _short(node: ast.Call, target: str | None) -> str:
    text = show(node)
    return text if len(text) <= 60 else f"{target or show(node.func)[:50]}(…)"


def show(node: ast.AST) -> str:
    """Return a node as source; an ellipsis if it is nested too deeply."""
    try:
        return ast.unparse(node)
    except RecursionError:
        return "…"


def list_started(text: str) -> dict[int, tuple[str, ...]]:
    """Map the first line of each call that starts a program to a description of the call.

    A description consists of the enclosing function, the called function, and the program.
    """
    tree = parse_quietly(text)
    waiting: list[tuple[ast.AST, str]] = [(tree, "")] if tree else []
    started = dict[int, tuple[str, ...]]()
    while waiting:
        node, function = waiting.pop()
        if isinstance(node, ast.Call) and node.args and show(node.func).rpartition(".")[2] in _STARTERS:
            started[node.lineno] = (function, show(node.func), _program(node.args[0]))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            function = f"{function}.{node.name}"
        waiting += [(child, function) for child in ast.iter_child_nodes(node)]
    return started


def _program(words: ast.expr) -> str:
    """Return the source of the expression that names a command's program."""
    while isinstance(words, ast.BinOp):
        words = words.left
    return show(words.elts[0] if isinstance(words, ast.List | ast.Tuple) and words.elts else words)


def commands_of(node: ast.Call, target: str, names: Names) -> list[Command]:
    """List the commands that a call runs, as far as their arguments are known; empty for other calls."""
    args = node.args
    if target in SHELL_TEXT:
        return _text(args[0] if args else None, names)
    if target in RUNNERS:
        return _of_subprocess(node, names)
    if target in WORDS:
        words = tuple(names.text(arg) for arg in args[target.startswith("os.") :])
        return [Command(argv=words)] if words else []
    if target in LISTS | SPAWNS:
        return _of_list(args, target, names)
    return []


def removal(node: ast.Call, target: str, names: Names) -> list[Command]:
    """Return a deletion as an `rm` command; empty for other calls."""
    if target not in REMOVERS or not node.args:
        return []
    return [Command(argv=("rm", "-r", "--", names.text(node.args[0])))]


def is_shell(node: ast.Call) -> bool:
    """Check whether a call of subprocess uses a shell, or may use one."""
    values = [keyword.value for keyword in node.keywords if keyword.arg == "shell"]
    return bool(values) and not (isinstance(values[0], ast.Constant) and not values[0].value)


def _of_subprocess(node: ast.Call, names: Names) -> list[Command]:
    first = next((k.value for k in node.keywords if k.arg == "args"), node.args[0] if node.args else None)
    cwd = next((names.text(k.value) for k in node.keywords if k.arg == "cwd"), "")
    argv = names.argv(first)
    if argv is None:
        return _text(first, names, cwd) if is_shell(node) else _of_program(names.text(first), cwd)
    if is_shell(node):
        return shell.commands(argv[0]) if argv else []
    return [Command(argv=argv, cwd=cwd)] if argv else []


def _text(node: ast.expr | None, names: Names, cwd: str = "") -> list[Command]:
    text = names.text(node)
    if text == UNKNOWN:
        return []
    return [Command(argv=("sh", "-c", text), cwd=cwd)]


def _of_program(text: str, cwd: str) -> list[Command]:
    return [] if text == UNKNOWN else [Command(argv=(text,), cwd=cwd)]


def _of_list(args: list[ast.expr], target: str, names: Names) -> list[Command]:
    rest = args[target.startswith("os.spawn") :]
    if target in SPAWNS and "spawnl" in target:
        words: tuple[str, ...] | None = tuple(names.text(arg) for arg in rest[1:])
    else:
        words = names.argv(rest[-1 if target == "pty.spawn" else 1]) if len(rest) > (target != "pty.spawn") else None
    return [Command(argv=words)] if words else []


def list_built_names(names: Names) -> set[str]:
    """Return the variables of a module that are bound to assembled text and to nothing else."""
    built, other = set[str](), set(names.parameters)
    for name, value in (*names.bindings, *_further(names)):
        (built if is_assembled(value, names) else other).add(name)
    return built - other


def is_assembled(node: ast.expr, names: Names) -> bool:
    """Check whether an expression is a constant, a conversion to text, or a text assembled from several parts."""
    match node:
        case ast.Constant():
            return True
        case ast.JoinedStr(values=parts):
            return len(parts) > 1
        case ast.BinOp(op=ast.Add() | ast.Mod(), left=left, right=right):
            return not (_empty(left) or _empty(right))
        case ast.Call(func=ast.Attribute(attr="join" | "format", value=ast.Constant())):
            return True
        case ast.Call(func=func):
            return names.resolve(func) in _MAKERS
    return False


def _further(names: Names) -> Iterator[tuple[str, ast.expr]]:
    """List the names that `+=` and `for` loops bind, each with its expression."""
    for node in names.nodes:
        match node:
            case ast.AugAssign(target=ast.Name(id=name) as target, op=op, value=value):
                yield name, ast.BinOp(left=target, op=op, right=value)
            case ast.For(target=ast.Name(id=name), iter=loop):
                yield name, loop


def _empty(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and not str(node.value).strip("() ")
