"""The commands in Python calls: words of `subprocess`, texts of `os.system`, deletions as the `rm` that they are."""

from __future__ import annotations

import ast

from checks.hooks import shell
from checks.hooks.commands import UNKNOWN, Command
from checks.names import Names

RUNNERS = frozenset(f"subprocess.{name}" for name in ("run", "Popen", "call", "check_call", "check_output"))
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


def of(node: ast.Call, target: str, names: Names) -> list[Command]:
    """The commands that a call runs, as far as their words can be known; none for other calls."""
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
    """A deletion as a command."""
    if target not in REMOVERS or not node.args:
        return []
    return [Command(argv=("rm", "-r", "--", names.text(node.args[0])))]


def is_shell(node: ast.Call) -> bool:
    """Tell whether a call of subprocess asks for a shell, or may."""
    values = [keyword.value for keyword in node.keywords if keyword.arg == "shell"]
    return bool(values) and not (isinstance(values[0], ast.Constant) and not values[0].value)


def _of_subprocess(node: ast.Call, names: Names) -> list[Command]:
    first = next((k.value for k in node.keywords if k.arg == "args"), node.args[0] if node.args else None)
    cwd = next((names.text(k.value) for k in node.keywords if k.arg == "cwd"), "")
    argv = names.argv(first)
    if argv is None:
        return _text(first, names, cwd) if is_shell(node) else _plain(names.text(first), cwd)
    if is_shell(node):
        return shell.commands(argv[0]) if argv else []
    return [Command(argv=argv, cwd=cwd)] if argv else []


def _text(node: ast.expr | None, names: Names, cwd: str = "") -> list[Command]:
    text = names.text(node)
    if text == UNKNOWN:
        return []
    return [Command(argv=("sh", "-c", text), cwd=cwd)]


def _plain(text: str, cwd: str) -> list[Command]:
    return [] if text == UNKNOWN else [Command(argv=(text,), cwd=cwd)]


def _of_list(args: list[ast.expr], target: str, names: Names) -> list[Command]:
    rest = args[target.startswith("os.spawn") :]
    if target in SPAWNS and "spawnl" in target:
        words: tuple[str, ...] | None = tuple(names.text(arg) for arg in rest[1:])
    else:
        words = names.argv(rest[-1 if target == "pty.spawn" else 1]) if len(rest) > (target != "pty.spawn") else None
    return [Command(argv=words)] if words else []
