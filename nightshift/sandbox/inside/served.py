"""The code side of a split run: answers the requests of the test side on the tested code.

It runs in an interpreter of its own that holds neither tests nor a test framework, so nothing in it tells what is
expected. Whatever it answers is a claim of tested code; what the answers are worth is decided on the test side.

A request is a marshalled tuple behind its length: the action, its arguments, and the containers that the test side has
changed since. An answer is JSON behind its length: `value`, `raised` or `refused` with data; the arguments that were
changed in place; numbers for containers that the tested code goes on holding; the held ones that have changed.
"""
# ruff: noqa: PTH100, PTH109, PTH118

import builtins
import marshal
import operator
import os
import sys

from . import descriptions, own_packages, standard, values

LENGTH, MOST_BYTES = 4, 16 << 20  # of what tells a length, of an answer
HELD = 50  # more containers than this are not followed
_RESULT, _ARGUMENT = 2, 3
"""References that a result and an argument have when only this module refers to them."""
_CONTEXT = {"enter": "__enter__", "exit": "__exit__"}
OPERATORS = {
    "len": len, "bool": bool, "str": str, "repr": repr, "hash": hash, "iter": iter, "next": next, "format": format,
    "int": int, "float": float, "complex": complex, "bytes": bytes, "round": round, "divmod": divmod, "pow": pow,
    "reversed": reversed,
}  # fmt: skip
"""What objects are operated on with, besides the functions of `operator` under their names."""


class Refused(Exception):
    """A request that this side cannot serve."""


class Handles(values.Packer):
    """Packs values; what does not cross by value becomes a handle of the server."""

    def __init__(self, server):
        super().__init__()
        self._server = server

    def other(self, value, kind, depth):
        """A value of the standard library, or a handle."""
        if found := standard.reduced(value, kind):
            return ["x", found[0], self.pack(found[1], depth + 1)]
        return self._server.handle(value)

    def too_large(self):
        """What is too large or too deep does not cross."""
        raise Refused("a value is too large")


class Server:
    """Serves one test side.

    Args:
        descriptor: a stream socket to it.
    """

    def __init__(self, descriptor):
        self._descriptor, self._read, self._write = descriptor, os.read, os.write
        self._root = os.getcwd() + os.sep
        self._objects, self._numbers, self._given, self._held, self._next = [], {}, [], {}, 0
        self._builtins = {id(value): name for name, value in vars(builtins).items() if isinstance(value, type)}
        self._builtins |= {id(NotImplemented): "NotImplemented", id(...): "Ellipsis"}

    def serve(self):
        """Answer until the test side has gone."""
        while size := self._received(LENGTH):
            request = marshal.loads(self._received(int.from_bytes(size, "big")))  # noqa: S302 (of the trusted side)
            text = values.as_json(self._answer(*request)).encode()
            if len(text) > MOST_BYTES:
                text = values.as_json(["refused", "a value is too large", [], [], []]).encode()
            self._sent(len(text).to_bytes(LENGTH, "big") + text)

    def _received(self, size):
        found = b""
        while len(found) < size:
            part = self._read(self._descriptor, size - len(found))
            if not part:
                return b""
            found += part
        return found

    def _sent(self, text):
        while text:
            text = text[self._write(self._descriptor, text) :]

    def _answer(self, action, arguments, changes):
        self._given = []
        try:
            for number, content in changes:
                self._take_over(number, content)
            how, result = "value", getattr(self, f"do_{action}")(*arguments)
            packed = self._result(result)
        except Refused as error:
            how, packed, result = "refused", str(error), None
        except BaseException as error:  # noqa: BLE001 (SystemExit too is a result here)
            error.__traceback__ = None  # its frames would hold the arguments
            how, packed, result = "raised", self._raised(error), None
        changed, kept = [], []
        for place, (given, before) in enumerate(self._given):
            now = self._pack(given)
            if now != before:
                changed.append([hex(place), now])
            if standard.is_held(given, _ARGUMENT + (given is result)):
                kept.append([hex(place), self._hold(given, now)])
        own = any(given is result for given, _ in self._given)
        if (
            how == "value"
            and type(result) in (*standard.MUTABLE, tuple)
            and not own
            and standard.is_held(result, _RESULT)
        ):
            kept.append([None, self._hold(result, packed)])
        return [how, packed, changed, kept, self._stale()]

    # --- containers that both sides hold

    def _hold(self, value, packed):
        number = next((n for n, (held, _) in self._held.items() if held is value), None)
        if number is None:
            number, self._next = self._next, self._next + 1
        self._held[number] = value, packed
        if len(self._held) > HELD:
            del self._held[next(iter(self._held))]
        return hex(number)

    def _take_over(self, number, content):
        if number in self._held:
            value = self._held[number][0]
            if type(value) is tuple or standard.holds_held(value):
                raise Refused("changes containers that others share")
            standard.apply(value, self._unpack(content))
            self._held[number] = value, self._pack(value)

    def _stale(self):
        stale = []
        for number, (value, before) in self._held.items():
            now = self._pack(value)
            if now != before:
                self._held[number] = value, now
                stale.append([hex(number), now])
        return stale

    # --- values

    def _pack(self, value):
        return Handles(self).pack(value)

    def content(self, value):
        """An object of a class derived from a plain type, packed as one of that type; None for any other object."""
        return Handles(self).content(value, 0)

    def _result(self, result):
        if type(result) in standard.MUTABLE:
            for place, (given, _) in enumerate(self._given):
                if given is result:
                    return ["given", hex(place)]
        return self._pack(result)

    def _unpack(self, data):
        return values.unpack(data, None, self._other)

    def _other(self, tag, rest):
        if tag == "x":
            return standard.made(rest[0], self._unpack(rest[1]))
        return getattr(builtins, rest[0]) if tag == "B" else self._objects[rest[0]]

    def _argument(self, packed):
        value = self._unpack(packed)
        if type(value) in standard.MUTABLE:
            self._given.append((value, packed))
        return value

    def handle(self, value):
        """The handle of an object; with it what the test side wants to know of it, the first time."""
        if name := self._builtins.get(id(value)):
            return ["B", name]
        if isinstance(value, type) and descriptions.is_standard(value, self._root):
            return ["S", value.__module__, value.__qualname__]
        if (number := self._numbers.get(id(value))) is not None:
            return ["h", hex(number)]
        number = self._numbers[id(value)] = len(self._objects)
        self._objects.append(value)
        return ["h", hex(number), *descriptions.of(value, self)]

    def _raised(self, error):
        text = ""
        try:
            text = str(error)
        except Exception:  # noqa: BLE001 (a class of the tested code need not be printable)
            text = "(its message could not be made)"
        arguments = [self._pack(item) for item in error.args] if type(error.args) is tuple else []
        state = [[name, self._pack(value)] for name, value in descriptions.state(error)]
        return [self.handle(type(error)), self.handle(error), ["l", *arguments], text, state]

    # --- actions

    def do_import(self, name):
        """Import a module of the workspace."""
        __import__(name)
        module = sys.modules[name]
        places = [getattr(module, "__file__", None), *getattr(module, "__path__", ())]
        if not any(os.path.abspath(place or "/").startswith(self._root) for place in places):
            raise Refused(f"{name} is no module of the workspace")
        return module

    def do_names(self, number):
        """The names that a star import of a module brings."""
        module = self._objects[number]
        return list(getattr(module, "__all__", [name for name in vars(module) if name[0] != "_"]))

    def do_get(self, number, name):
        """An attribute of an object."""
        return getattr(self._objects[number], name)

    def do_set(self, number, name, value):
        """Set an attribute."""
        setattr(self._objects[number], name, self._argument(value))

    def do_delete(self, number, name):
        """Delete an attribute."""
        delattr(self._objects[number], name)

    def do_call(self, number, arguments, named):
        """Call an object."""
        return self._objects[number](
            *[self._argument(value) for value in arguments],
            **{name: self._argument(value) for name, value in named.items()},
        )

    def do_operate(self, name, arguments):
        """Apply an operator or built-in function."""
        if name in _CONTEXT:
            owner, *rest = map(self._unpack, arguments)
            return getattr(type(owner), _CONTEXT[name])(owner, *rest)
        function = OPERATORS.get(name) or getattr(operator, name)
        return function(*[self._argument(value) for value in arguments])

    def do_content(self, number):
        """The content of an object of a class derived from a plain container; None for any other."""
        value = self._objects[number]
        base = next((base for base in (list, tuple, dict, set, frozenset, str, bytes) if isinstance(value, base)), None)
        return None if base is None else values.plain(value, base)

    def do_equal(self, number, candidates):
        """Tell to which of some values an object is equal."""
        return [_is_true(operator.eq, self._objects[number], self._unpack(one)) for one in candidates]

    def do_holds(self, number, candidates):
        """Tell which of some values an object contains."""
        return [_is_true(operator.contains, self._objects[number], self._unpack(one)) for one in candidates]

    def do_alike(self, number, kind, candidates):
        """Tell which of some objects, made in a process that leaves no trace here, an object is equal to."""
        reading, writing = os.pipe()
        pid = os.fork()
        if pid == 0:
            try:
                for candidate in candidates:
                    self._write(writing, b"1" if self._equals_made(number, kind, candidate) else b"0")
            finally:
                os._exit(0)
        os.close(writing)
        answers = b""
        while part := self._read(reading, 1 << 10):
            answers += part
        os.close(reading)
        os.waitpid(pid, 0)
        return [answer == ord("1") for answer in answers]

    def _equals_made(self, number, kind, candidate):
        try:
            made = self._objects[kind](*[self._unpack(value) for value in candidate])
        except Exception:  # noqa: BLE001 (the class may not take other values)
            return False
        return _is_true(operator.eq, self._objects[number], made)


def _is_true(compare, value, other):
    """Whether a comparison holds; it does not where it fails, as with a value of another kind."""
    try:
        found = compare(value, other)
    except Exception:  # noqa: BLE001 (a class of the tested code may raise anything)
        return False
    if type(found) is not bool:
        raise Refused("a comparison gives no truth, but an object")
    return found


def run(config, descriptor):
    """Serve the tested code that lies in a folder, from there."""
    workspace = config["root"]
    os.chdir(workspace)
    os.environ.update(config["environ"])
    sys.path.extend(os.path.normpath(os.path.join(workspace, path)) for path in config["paths"])
    own_packages.take(config["own"], workspace)
    Server(descriptor).serve()
    return 0
