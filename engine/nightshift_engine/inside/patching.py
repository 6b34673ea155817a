"""Puts a candidate in place of the old text: in a module's syntax tree and its file, or in its loaded objects.

In loaded objects only `__code__` and constant defaults are changed. So everything that refers to the function (a
decorator, a table or a bound method) gets the new code. Changes that cannot be made in this way are refused with
`NotSwappable`.
"""
# Importing pathlib would add some milliseconds to every start of the sandbox.
# ruff: noqa: PTH108, PTH118, PTH123

import ast
import contextlib
import gc
import os
from types import CodeType, FunctionType

from . import instrument


class NotSwappable(Exception):
    """Raised when a function cannot be swapped in a running process."""


def functions(tree):
    """Yield each outermost function of a module: (qualified name, node, names of the classes around it, its block)."""
    yield from _functions(tree, "", ())


def _functions(holder, prefix, classes):
    for _, block in ast.iter_fields(holder):
        for node in block if isinstance(block, list) else ():
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                yield prefix + node.name, node, classes, block
            elif isinstance(node, ast.ClassDef):
                yield from _functions(node, f"{prefix}{node.name}.", (*classes, node.name))
            elif isinstance(node, ast.stmt | ast.excepthandler):
                yield from _functions(node, prefix, classes)


def find(tree, scope, like):
    """Return the last entry of `functions` for `scope`, preferably one with the same decorators as `like`.

    Raises:
        LookupError: there is no such function.
    """
    named = [entry for entry in functions(tree) if entry[0] == scope]
    if not named:
        raise LookupError(f"there is no function {scope}")
    alike = [entry for entry in named if _dump(entry[1].decorator_list) == _dump(like.decorator_list)]
    return (alike or named)[-1]


def function(text):
    """Return the only statement of a text, which must define a function.

    Raises:
        SyntaxError, ValueError, RecursionError, MemoryError: the text is not one function.
    """
    body = ast.parse(text).body
    if len(body) != 1 or not isinstance(body[0], ast.FunctionDef | ast.AsyncFunctionDef):
        raise ValueError("it is not one function")
    return body[0]


def encode(text):
    """Return the bytes of a file with this text.

    The bytes need not be UTF-8 (see `nightshift.core.text.encoding`).
    """
    return text.encode("utf-8", "surrogateescape")


def splice(tree, scope, text):
    """Replace the text of a scope in a module's tree, in place; return the tree.

    If the scope is empty, the text is the whole file.

    Raises:
        SyntaxError, ValueError, RecursionError, MemoryError: the text is not Python.
        LookupError: there is no such scope.
    """
    if not scope:
        return ast.parse(encode(text))
    new = function(text)
    _, old, _, block = find(tree, scope, new)
    block[block.index(old)] = ast.increment_lineno(new, old.lineno - new.lineno)
    return tree


class LoadedFunctions:
    """The functions of one module in a process that has imported the module.

    Args:
        served: the served modules, this one among them.
        path: the path of the module.
        entered: (file, first line) of the code that ran while the tests were collected.
        scopes: the scopes that will be swapped.
    """

    def __init__(self, served, path, entered, scopes):
        self._tree, self._file, self._entered = served.tree(path), served.root + path, entered
        self._ticks = served.is_ticking
        self._future = [n for n in self._tree.body if isinstance(n, ast.ImportFrom) and n.module == "__future__"]
        self._objects = self._holders(served.codes[path], scopes)

    def _holders(self, module, scopes):
        """Map the nodes of these scopes to their loaded function objects."""
        codes = [
            (node, code)
            for name, node, classes, _ in functions(self._tree)
            if name in scopes and (code := _inner(module, (*classes, node.name), node)) is not None
        ]
        holders = [held for held in gc.get_referrers(*(code for _, code in codes)) if type(held) is FunctionType]
        return {node: [held for held in holders if held.__code__ is code] for node, code in codes}

    def swap(self, scope, text):
        """Prepare the swap of a function.

        Returns:
            The `Swap`; its method `act` makes the change.

        Raises:
            NotSwappable: the function cannot be swapped, or the scope is the whole file.
            SyntaxError, ValueError, RecursionError, MemoryError: the text is not Python.
            LookupError: there is no such scope.
        """
        if not scope:
            raise NotSwappable
        new = function(text)
        _, old, classes, _ = find(self._tree, scope, new)
        loaded = self._objects.get(old)
        if not loaded or (self._file, first_line(old)) in self._entered or not _is_alike(old, new):
            raise NotSwappable
        code = self._compile(new, classes, old)
        if any(len(held.__closure__ or ()) != len(code.co_freevars) for held in loaded):
            raise NotSwappable
        return Swap(code, [(held, *_defaults(held, old, new)) for held in loaded])

    def _compile(self, new, classes, old):
        ast.increment_lineno(new, old.lineno - new.lineno)
        bare = type(new)(**{**dict(ast.iter_fields(new)), "decorator_list": []})
        inner = ast.copy_location(bare, new)
        for name in reversed(classes):
            keys = {"type_params": []} if "type_params" in ast.ClassDef._fields else {}
            inner = ast.ClassDef(name, [], [], [inner], [], **keys)
            ast.copy_location(inner, new)
        module = ast.Module([*self._future, inner], [])
        if self._ticks:
            instrument.ticking(module)
        code = compile(module, self._file, "exec", dont_inherit=True)
        return _inner(code, (*classes, new.name), bare)


class Swap:
    """The new code and defaults of a function, for each of its loaded objects.

    Args:
        code: the new code.
        changes: each loaded object of the function, with its new positional and named defaults.
    """

    def __init__(self, code, changes):
        self.code, self._after = code, [(held, code, defaults, named) for held, defaults, named in changes]
        self._before = [(held, held.__code__, held.__defaults__, held.__kwdefaults__) for held, _, _ in changes]

    def act(self):
        """Put the new code and defaults in place."""
        _put(self._after)

    def undo(self):
        """Restore the old code and defaults."""
        _put(self._before)


def _put(changes):
    for held, code, defaults, named in changes:
        held.__code__, held.__defaults__, held.__kwdefaults__ = code, defaults, named


def _inner(code, names, node):
    """Return the code of a function from the code of its module; None if the function is not found."""
    levels = [code]
    for name in names:
        levels = [c for level in levels for c in level.co_consts if isinstance(c, CodeType) and c.co_name == name]
    first = {node.lineno, first_line(node)}
    return next((level for level in levels if level.co_firstlineno in first), None)


def first_line(node):
    """Return the first line of a function, its decorators included."""
    return min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])


def _is_alike(old, new):
    """Check whether name, decorators and annotations are the same.

    Decorators and annotations are evaluated when the function is defined, so a swap of the code cannot change them.
    """
    return (
        old.name == new.name
        and _dump(old.decorator_list) == _dump(new.decorator_list)
        and _dump(_annotations(old)) == _dump(_annotations(new))
    )


def _annotations(node):
    return [arg.annotation for arg in _arguments(node.args) if arg.annotation] + (
        [node.returns] if node.returns else []
    )


def _arguments(takes):
    some = [takes.vararg, takes.kwarg]
    return [*takes.posonlyargs, *takes.args, *takes.kwonlyargs, *(arg for arg in some if arg)]


def _defaults(held, old, new):
    """Return positional and named defaults: the loaded values if a default is unchanged, otherwise new constants."""
    before = _by_name(old.args)
    alive = dict(zip([name for name in before if name in _positional(old.args)], held.__defaults__ or (), strict=False))
    alive.update(held.__kwdefaults__ or {})

    def value(name, node):
        if name in before and ast.dump(before[name]) == ast.dump(node) and name in alive:
            return alive[name]
        try:
            return ast.literal_eval(node)
        except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
            raise NotSwappable from None

    after, positional = _by_name(new.args), _positional(new.args)
    defaults = tuple(value(name, node) for name, node in after.items() if name in positional)
    named = {name: value(name, node) for name, node in after.items() if name not in positional}
    return defaults or None, named or None


def _positional(takes):
    return {arg.arg for arg in (*takes.posonlyargs, *takes.args)}


def _by_name(takes):
    """Map the name of each argument to the node of its default."""
    positional = [arg.arg for arg in (*takes.posonlyargs, *takes.args)]
    last = positional[len(positional) - len(takes.defaults) :]
    named = {a.arg: node for a, node in zip(takes.kwonlyargs, takes.kw_defaults, strict=True) if node is not None}
    return {**dict(zip(last, takes.defaults, strict=True)), **named}


def _dump(nodes):
    return [ast.dump(node) for node in nodes]


UNREADABLE = (SyntaxError, ValueError, LookupError, RecursionError, MemoryError, OverflowError, OSError)
"""Exceptions raised for a candidate that is not Python, or whose scope is missing."""

MOST_CHARS = 300


def install(served, slot, path, scope, text):
    """In a fork: let imports load a candidate instead of its file, and write it to disk if the workspace is a copy.

    Raises:
        UNREADABLE: the candidate cannot be compiled.
    """
    tree = splice(served.tree(path) if scope else None, scope, text)
    written = ast.unparse(tree) if scope else text
    compile(tree, path, "exec", dont_inherit=True)
    served.over[path] = tree
    if slot.is_copy:
        file = os.path.join(slot.work, path)
        with contextlib.suppress(FileNotFoundError):
            os.unlink(file)
        with open(file, "wb") as target:
            target.write(encode(written))


def invalid(error):
    """Return the result of a candidate that was refused with this error: invalid, no test passed, and the reason."""
    return "invalid", 0, f"{type(error).__name__}: {error}"[:MOST_CHARS]
