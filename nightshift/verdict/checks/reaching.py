"""Ways out of a module to what runs beside it: descriptors, the tables of a process, the files of tests.

A function that reads the tests finds what they expect, and one that writes to descriptors it did not open speaks to
whoever reads them. The functions that lead there by their name alone stand in `BY_NAME`. Threads that a module starts
while it is imported go on beside whatever imports it, and exits end it.
"""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from nightshift.core.code.paths import is_test_path
from nightshift.verdict.checks.catalogue import Finding
from nightshift.verdict.checks.comparisons import last
from nightshift.verdict.checks.hooks.commands import UNKNOWN
from nightshift.verdict.checks.names import Names

TEST_LIBRARIES = frozenset({"pytest", "_pytest", "pluggy", "hypothesis", "nose"})
_DOUBLES = frozenset({"unittest.mock", "unittest.case", "unittest.result", "unittest.runner", "unittest.suite",
                      "test.support", "unittest.SkipTest", "unittest.expectedFailure"})  # fmt: skip
_UNDER_PYTHON = frozenset({"_xxsubinterpreters", "_interpreters", "_posixsubprocess", "_imp", "_ctypes", "_opcode",
                           "_frozen_importlib", "_frozen_importlib_external", "_tracemalloc", "_lsprof"})  # fmt: skip
_FRAMES = (
    "sys._getframe", "sys._current_frames", "sys._current_exceptions", "sys._getframemodulename", "sys.settrace",
    "sys.setprofile", "sys.addaudithook", "sys.call_tracing", "sys._settraceallthreads", "sys._setprofileallthreads",
    "threading.settrace", "threading.setprofile", "threading.settrace_all_threads", "threading.setprofile_all_threads",
    "inspect.stack", "inspect.currentframe", "inspect.getouterframes", "inspect.getinnerframes", "inspect.trace",
    "inspect.getsource", "inspect.getsourcelines", "inspect.getsourcefile", "inspect.findsource",
    "inspect.getframeinfo", "inspect.getargvalues", "inspect.getclosurevars", "traceback.extract_stack",
    "traceback.format_stack", "traceback.print_stack", "traceback.walk_stack", "traceback.StackSummary",
    "traceback.StackSummary.extract", "linecache.getline", "linecache.getlines", "linecache.cache",
    "linecache.updatecache", "gc.get_objects", "gc.get_referrers", "gc.get_referents", "gc.callbacks",
    "asyncio.Task.get_stack", "asyncio.Task.print_stack", "faulthandler.dump_traceback",
    "faulthandler.dump_traceback_later", "faulthandler.register", "bdb.Bdb", "trace.Trace", "pdb.set_trace", "pdb.Pdb",
    "builtins.breakpoint", "sys.breakpointhook", "logging.Logger.findCaller", "tracemalloc.get_object_traceback",
    "sys.modules.values", "sys.modules.items", "sys.modules.keys", "sys.modules.copy", "sys.monitoring",
)  # fmt: skip
_SITES = (
    "traceback.extract_tb", "traceback.walk_tb", "traceback.TracebackException", "tracemalloc.take_snapshot",
    "logging.setLogRecordFactory", "inspect.getmodule", "inspect.getfile", "asyncio.all_tasks", "threading.enumerate",
)  # fmt: skip
_DESCRIPTORS = (
    "os.dup", "os.dup2", "os.openpty", "os.posix_openpt", "os.login_tty", "pty.openpty", "os.pipe", "os.pipe2",
    "os.closerange", "os.splice", "os.tee", "os.memfd_create", "os.pidfd_open", "os.eventfd", "os.set_inheritable",
    "socket.fromfd", "socket.send_fds", "socket.recv_fds",
)  # fmt: skip
_ON_DESCRIPTORS = frozenset({
    "builtins.open", "io.open", "io.FileIO", "os.fdopen", "os.write", "os.read", "os.close", "os.fstat", "os.ttyname",
    "socket.socket", "os.isatty", "multiprocessing.connection.Connection",
})  # fmt: skip
_SOME_DESCRIPTOR = (
    "os.fdopen", "os.write", "os.read", "os.pwrite", "os.pwritev", "os.writev", "os.pread", "os.preadv", "os.sendfile",
    "os.copy_file_range", "os.lseek", "os.set_blocking", "fcntl.fcntl", "fcntl.ioctl", "mmap.mmap",
)  # fmt: skip
_TABLES = ("meta_path", "path_hooks", "modules", "path_importer_cache")
_FILLERS = ("append", "insert", "extend", "update", "setdefault", "clear", "remove", "pop", "__setitem__")
BY_NAME: dict[str, str] = {
    **dict.fromkeys(_FRAMES, "python.frames"),
    **dict.fromkeys(_SITES, "python.call-site"),
    **dict.fromkeys(_DESCRIPTORS, "python.descriptors"),
    **dict.fromkeys(_SOME_DESCRIPTOR, "python.some-descriptor"),
    **{f"sys.{table}.{filler}": "python.swap" for table in _TABLES for filler in _FILLERS},
    **dict.fromkeys(("os.register_at_fork", "weakref.finalize"), "python.signals"),
    "importlib.reload": "python.dynamic-import",
    **dict.fromkeys(("dis.get_instructions", "dis.Bytecode", "dis.dis"), "python.introspection"),
    **dict.fromkeys(("pkgutil.iter_modules", "pkgutil.walk_packages"), "python.own-sources"),
    "site.addsitedir": "python.swap",
}
"""Functions that belong to a rule however they are used."""

_MOST_NODES = 200
_PROCESS_FILES = re.compile(rf"/proc/(self|thread-self|\d|{UNKNOWN})|/dev/(fd|shm|pts|ptmx|mem|kmem)\b")
_COMPILED = re.compile(r"(^|/)__pycache__(/|$)|\.py[co]$")
_TEST_FOLDER = re.compile(r"(^|/)(tests?|__tests__)(/|$)")
_GLOB_OF_TESTS = re.compile(r"(^|/)(test[_-][^/]*|[^/]*[_.-]test|[^/]*\.spec)\.[\w*]+$|(^|/)test\*|conftest")
_READERS = frozenset({
    "builtins.open", "io.open", "io.open_code", "os.open", "codecs.open", "pathlib.Path", "os.listdir", "os.scandir",
    "os.walk", "os.fwalk", "glob.glob", "glob.iglob", "shutil.copy", "shutil.copyfile", "shutil.copytree",
    "tokenize.open", "fileinput.input", "runpy.run_path", "linecache.getlines", "os.path.join", "os.chdir",
    "importlib.import_module", "importlib.util.spec_from_file_location", "builtins.__import__",
    "importlib.util.find_spec",
})  # fmt: skip
_IMPORTERS = frozenset({"importlib.import_module", "builtins.__import__", "importlib.util.find_spec"})
_LISTS = frozenset({"os.listdir", "os.scandir", "os.walk", "os.fwalk", "glob.glob", "glob.iglob"})
_LIST_METHODS = frozenset({"glob", "rglob", "iterdir", "walk"})
_PATH_METHODS = frozenset({"glob", "rglob", "joinpath", "open", "read_text", "read_bytes", "iterdir", "walk"})
_HERE = frozenset({"", ".", "./", "/", "..", "*", "*.py", "**", "**/*.py", "**/*", "./*.py", "./**/*.py"})
_KINDS = ("threading.Thread", "threading.Timer", "multiprocessing.Process", "multiprocessing.context.Process")
_AT_ONCE = frozenset({"_thread.start_new_thread", "_thread.start_new", "_thread.start_joinable_thread"})
_POOLS = ("concurrent.futures.", "multiprocessing.Pool", "multiprocessing.pool.", "multiprocessing.dummy.")


def look(names: Names, *, is_test: bool) -> Iterator[Finding]:
    """What stands out in the calls and texts of a module that is no test, or is one."""
    ranged = {name for name, value in _loops(names) if _counts(value, names)}
    docs = {id(node.value) for node in names.nodes if isinstance(node, ast.Expr)}
    for node in names.nodes:
        match node:
            case ast.Call():
                yield from _descriptors(node, names, ranged)
                yield from _process_files(node, names)
                if not is_test:
                    yield from _tests(node, names)
            case ast.Constant(value=str() | bytes()) | ast.JoinedStr() | ast.BinOp() if id(node) not in docs:
                yield from _process_files(node, names)
            case ast.Import() | ast.ImportFrom() if not is_test:
                yield from _imports(node)
    yield from _warnings(names)
    if not is_test:
        yield from _modules(names)


def _process_files(node: ast.expr, names: Names) -> Iterator[Finding]:
    if _PROCESS_FILES.match(text := names.text(node)):
        yield Finding("python.process-files", node.lineno, f"`{text[:50].replace(UNKNOWN, '…')}`")


def _warnings(names: Names) -> Iterator[Finding]:
    """Warnings that are kept: each tells the file and the line it is about, which may be those of a caller."""
    read = any(isinstance(node, ast.Attribute) and node.attr in {"filename", "lineno", "line"} for node in names.nodes)
    for node in names.nodes:
        if not isinstance(node, ast.Call) or names.resolve(node.func) != "warnings.catch_warnings":
            continue
        if node.args or any(keyword.arg in {"record", None} for keyword in node.keywords):
            rule = "python.frames" if read else "python.call-site"
            yield Finding(rule, node.lineno, "`catch_warnings(record=…)`")


def _modules(names: Names) -> Iterator[Finding]:
    """The table of all modules, where it is not asked for one; a module of a test framework in it."""
    inner = {id(child) for node in names.nodes for child in _passed_on(node)}
    for node in names.nodes:
        if not isinstance(node, ast.Attribute | ast.Name | ast.Subscript) or not isinstance(node.ctx, ast.Load):
            continue
        target = names.resolve(node) or ""
        if target == "sys.modules" and id(node) not in inner:
            yield Finding("python.frames", node.lineno, "`sys.modules`")
        elif isinstance(node, ast.Subscript) and _is_of_tests(target):
            yield Finding("python.test-detection", node.lineno, "`sys.modules[…]`")
        elif target in _DOUBLES:
            yield Finding("python.test-detection", node.lineno, f"`{target}`")


def _is_of_tests(module: str) -> bool:
    top = module.partition(".")[0]
    return top in {*TEST_LIBRARIES, "unittest", "conftest", "tests"} or is_test_path(f"{module.replace('.', '/')}.py")


def _passed_on(node: ast.AST) -> Iterator[ast.AST]:
    """The part of an expression that is asked for one thing only."""
    match node:
        case ast.Attribute(value=value) | ast.Subscript(value=value):
            yield value
        case ast.Compare(comparators=comparators):
            yield from comparators


def _imports(node: ast.Import | ast.ImportFrom) -> Iterator[Finding]:
    """Test frameworks, doubles and tests, outside of tests."""
    if isinstance(node, ast.Import):
        modules = [alias.name for alias in node.names]
    else:
        modules = [node.module or "", *(f"{node.module or ''}.{alias.name}" for alias in node.names)]
    for module in dict.fromkeys(modules):
        parts = module.strip(".").split(".")
        own = node.level == 0 if isinstance(node, ast.ImportFrom) else True
        of_tests = parts[0] in {"tests", "conftest"} or any(is_test_path(f"{part}.py") for part in parts)
        if (own and parts[0] in TEST_LIBRARIES - {"pytest", "_pytest"}) or module in _DOUBLES or of_tests:
            yield Finding("python.test-detection", node.lineno, f"`import {module}` outside of tests")
        elif own and (module.startswith("_test") or module in _UNDER_PYTHON):
            yield Finding("python.native", node.lineno, f"`import {module}`")


# --- descriptors


def _loops(names: Names) -> Iterator[tuple[str, ast.expr]]:
    for node in names.nodes:
        match node:
            case ast.For(target=ast.Name(id=name), iter=value):
                yield name, value
            case ast.comprehension(target=ast.Name(id=name), iter=value):
                yield name, value


def _counts(value: ast.expr, names: Names) -> bool:
    """Whether a loop goes through numbers."""
    if isinstance(value, ast.Call):
        return names.resolve(value.func) == "builtins.range"
    items = value.elts if isinstance(value, ast.List | ast.Tuple | ast.Set) else []
    return bool(items) and all(isinstance(one, ast.Constant) and isinstance(one.value, int) for one in items)


def _descriptors(node: ast.Call, names: Names, ranged: set[str]) -> Iterator[Finding]:
    """Descriptors that are given as numbers: nobody but who started the process knows what they are."""
    target = names.resolve(node.func) or ""
    given: Any = next((k.value for k in node.keywords if k.arg in {"fd", "fileno", "file"}), None)
    first = node.args[0] if node.args else given
    if target in _IMPORTERS and names.text(first).partition(".")[0] in _UNDER_PYTHON | {"ctypes", "cffi"}:
        yield Finding("python.native", node.lineno, f"`{target}({names.text(first)!r})`")
    method = node.func.attr if isinstance(node.func, ast.Attribute) else ""
    if target not in _ON_DESCRIPTORS and method not in {"add_writer", "add_reader"}:
        return
    first = given if target == "socket.socket" else first
    if isinstance(first, ast.Name) and first.id in ranged:
        yield Finding("python.descriptors", node.lineno, f"`{target}` on each of several numbers")
        return
    if isinstance(first, ast.Name):
        first = names.value_of(first.id) or first
    if isinstance(first, ast.Constant) and type(first.value) is int and first.value > 2:
        yield Finding("python.descriptors", node.lineno, f"`{target}` on descriptor {first.value}")


# --- files


def _tests(node: ast.Call, names: Names) -> Iterator[Finding]:
    """Files of tests, compiled ones, and lists of all that lies around."""
    target = names.resolve(node.func) or ""
    method = node.func.attr if isinstance(node.func, ast.Attribute) else ""
    if target not in _READERS and method not in _PATH_METHODS:
        return
    texts = [names.text(arg) for arg in node.args[:4]]
    if method in _PATH_METHODS and isinstance(node.func, ast.Attribute):
        texts.append(names.text(node.func.value))
    for text in texts:
        if target in _IMPORTERS and (text in _DOUBLES or text.partition(".")[0] in TEST_LIBRARIES):
            yield Finding("python.test-detection", node.lineno, f"`{target}({text!r})`")
        dotted = text.replace(".", "/") + ".py" if target.startswith(("importlib.", "builtins.__")) else text
        if _names_a_test(text) or (dotted != text and _names_a_test(dotted)):
            yield Finding("python.test-files", node.lineno, f"`{text[:50].replace(UNKNOWN, '…')}`")
            return
    if target in _LISTS or method in _LIST_METHODS:
        where = node.args[0] if target in _LISTS and node.args else None
        if isinstance(node.func, ast.Attribute) and target not in _LISTS:
            where = node.func.value
        plain = target in _LISTS or method in {"glob", "rglob"}
        if (plain and (not node.args or texts[0] in _HERE)) or (where is not None and _is_beside(where, names)):
            yield Finding("python.own-sources", node.lineno, f"`{target or method}(…)`")
    elif target in {"builtins.open", "io.open"} and last(node.args[0] if node.args else node) == "__file__":
        yield Finding("python.own-sources", node.lineno, "`open(__file__)`")


def _is_beside(node: ast.expr, names: Names) -> bool:
    """Whether a folder is found by the place of this file, or is the one that the program works in."""
    waiting, seen = [node], set[str]()
    while waiting:
        for inner in itertools.islice(ast.walk(waiting.pop()), _MOST_NODES):
            if last(inner) == "__file__":
                return True
            if isinstance(inner, ast.Call) and names.resolve(inner.func) in {"os.getcwd", "pathlib.Path.cwd"}:
                return True
            if isinstance(inner, ast.Name) and inner.id not in seen and len(seen) < _MOST_NODES:
                seen.add(inner.id)
                waiting += filter(None, [names.value_of(inner.id)])
    return False


def _names_a_test(text: str) -> bool:
    if not text or text == UNKNOWN or "\n" in text or len(text) > 300:
        return False
    return bool(
        is_test_path(text) or _TEST_FOLDER.search(text) or _GLOB_OF_TESTS.search(text) or _COMPILED.search(text)
    )


def on_import(names: Names, tree: ast.Module) -> Iterator[Finding]:
    """The places where a module does so, in functions that it calls meanwhile as well."""
    functions = {node.name: node for node in names.nodes if isinstance(node, ast.FunctionDef)}
    classes = {node.name: node for node in names.nodes if isinstance(node, ast.ClassDef)}
    threads = {name for name, node in classes.items() if any(_is_kind(base, names, set()) for base in node.bases)}
    makers = {name: value.func for name, value in names.bindings if isinstance(value, ast.Call)}
    seen, waiting = set[str](), [list(_at_import(tree.body))]
    while waiting:
        for node in waiting.pop():
            if isinstance(node, ast.Call) and _starts(node, names, threads, makers):
                yield Finding("python.import-thread", node.lineno, f"`{_shown(node)}`")
            elif isinstance(node, ast.Raise | ast.Call) and _ends(node, names):
                yield Finding("python.import-exit", node.lineno, "`exit`")
            for name in _called(node):
                if name in functions and name not in seen:
                    seen.add(name)
                    waiting.append(list(_at_import(functions[name].body)))


def _at_import(body: Iterable[ast.stmt]) -> Iterator[ast.AST]:
    """All that runs with a block: functions in it are only made, what is guarded by `__name__` does not run."""
    for statement in body:
        if isinstance(statement, ast.If) and _is_main(statement.test):
            yield from _at_import(statement.orelse)
            continue
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
            yield from statement.decorator_list
            continue
        yield statement
        for child in ast.iter_child_nodes(statement):
            if isinstance(child, ast.stmt):
                yield from _at_import([child])
            elif isinstance(child, ast.ExceptHandler | ast.match_case):
                yield from _at_import(child.body)
            elif not isinstance(child, ast.Lambda):
                yield from (inner for inner in ast.walk(child) if isinstance(inner, ast.expr))


def _is_main(test: ast.expr) -> bool:
    """`if __name__ == "__main__"`, and what else is asked of the name."""
    return any(isinstance(node, ast.Name) and node.id in {"__name__", "TYPE_CHECKING"} for node in ast.walk(test))


def _starts(node: ast.Call, names: Names, threads: set[str], makers: Mapping[str, ast.expr]) -> bool:
    if (names.resolve(node.func) or "") in _AT_ONCE:
        return True
    if not isinstance(node.func, ast.Attribute):
        return False
    thing = node.func.value
    maker = thing.func if isinstance(thing, ast.Call) else makers.get(thing.id) if isinstance(thing, ast.Name) else None
    if node.func.attr == "start":
        return maker is not None and _is_kind(maker, names, threads)
    pool = maker is not None and (names.resolve(maker) or "").startswith(_POOLS)
    return pool and node.func.attr in {"submit", "map", "apply_async", "map_async"}


def _ends(node: ast.Raise | ast.Call, names: Names) -> bool:
    match node:
        case ast.Raise(exc=ast.expr() as error):
            raised = error.func if isinstance(error, ast.Call) else error
            return names.resolve(raised) in {"builtins.SystemExit", "builtins.KeyboardInterrupt"}
        case ast.Call(func=func, args=args):
            fails = bool(args) and isinstance(args[0], ast.Constant) and args[0].value not in {0, None}
            return not fails and names.resolve(func) in {"sys.exit", "builtins.exit", "builtins.quit"}
    return False


def _is_kind(node: ast.expr, names: Names, threads: set[str]) -> bool:
    return (isinstance(node, ast.Name) and node.id in threads) or (names.resolve(node) or "") in _KINDS


def _called(node: ast.AST) -> Iterator[str]:
    """The functions of the module that an expression calls or decorates with."""
    match node:
        case ast.Call(func=ast.Name(id=name)) | ast.Name(id=name):
            yield name


def _shown(node: ast.Call) -> str:
    text = ast.unparse(node.func)
    return f"{text[:50]}(…)"
