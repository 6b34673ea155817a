"""Which rule a call, or the mere mention, of a known function belongs to."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from checks import commands_in, reaching
from checks.commands_in import REMOVERS, RUNNERS, SHELL_TEXT
from checks.hooks.commands import UNKNOWN
from checks.hooks.places import outside, private
from checks.names import Names
from checks.sighting import Sighting

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
    **reaching.BY_NAME,
    **dict.fromkeys(("os._exit", "os.abort", "posix._exit", "faulthandler._sigsegv"), "python.hard-exit"),
    **dict.fromkeys(("signal.signal", "signal.alarm", "signal.setitimer", "atexit.register"), "python.signals"),
}  # fmt: skip
_SWAPPED = frozenset({"builtins", "sys", "os", "pytest", "_pytest", "pluggy", "unittest", "hypothesis", "warnings"})
_EXECS = ("os.exec", "os.spawn", "os.posix_spawn")
_OPENERS = frozenset({"builtins.open", "io.open", "os.open", "codecs.open", "pathlib.Path", "os.listdir", "os.scandir",
                      "shutil.copy", "shutil.copytree", "shutil.copyfile"})  # fmt: skip
_WRITERS = frozenset({"write_text", "write_bytes", "touch", "mkdir"})


def mentioned(target: str) -> str | None:
    """The rule that a function belongs to, however it is used."""
    if target.startswith(_EXECS):
        return "python.os-exec"
    # Of a few a part tells as much as the whole: `gc.callbacks.append`.
    return _BY_NAME.get(target) or reaching.BY_NAME.get(target.rpartition(".")[0])


def called(node: ast.Call, target: str | None, names: Names) -> Iterator[Sighting]:
    """What stands out in a call. Text that is run as code is looked at elsewhere."""
    for rule in _rules(node, target, names):
        yield Sighting(rule, node.lineno, f"`{_short(node, target)}`")


def _rules(node: ast.Call, target: str | None, names: Names) -> Iterator[str]:
    if target is None:
        yield from _of_path(node, names)
        return
    rule = mentioned(target)
    if rule and target not in {"builtins.eval", "builtins.exec"}:
        shell = target in RUNNERS and commands_in.is_shell(node)
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
        first = shown(node.args[0]) if node.args else ""
        alone = "getpid" in first or "getppid" in first or first.lstrip("-") in {"0", "1"}
        yield "python.hard-exit" if alone else "python.signals"
    if target == "os.chmod" and len(args) > 1 and (outside(args[0]) or _open_to_all(args[1])):
        yield "python.permissions"


def _dynamic(node: ast.Call, target: str, args: list[str], names: Names) -> Iterator[str]:
    """Names that are only known when it runs."""
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
    """Methods of `pathlib.Path`."""
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
    """Tell whether a mode lets everybody write, or runs with the owner's rights."""
    return mode.isdigit() and bool(int(mode) & 0o6002)


def _short(node: ast.Call, target: str | None) -> str:
    text = shown(node)
    return text if len(text) <= 60 else f"{target or shown(node.func)[:50]}(…)"


def shown(node: ast.AST) -> str:
    """A node as source; an ellipsis for what is nested too deeply to be written out."""
    try:
        return ast.unparse(node)
    except RecursionError:
        return "…"
