"""The test side of a split run: its connection to the tested code, which lives in another process.

Plain values arrive as such. Everything else is a `Remote`, whose attributes, calls and operators go to the code side.
What cannot be carried over (callbacks, subclasses of remote classes, orderings and truth that an object of the code
side decides) is noted in `Side.doubt`: such a test is not judged here.
"""

# Importing pathlib would cost every start of the sandbox some milliseconds.
# ruff: noqa: PTH123

import builtins
import contextlib
import importlib
import json
import marshal
import os
import sys
import time

from . import served, standard, values
from .remote import Remote, RemoteError, RemoteFunction, RemoteType
from .remote_modules import RemoteModule
from .time_limits import TOO_LONG

MOST_CALLS, MOST_CALLS_OF_TEST = 40_000, 20_000
SHARED = "changes containers that others share"
MOST_S = 4.0
"""So long may answers take together, without the time in which others had the processor; the parent's limit is for code
that gives none."""
BASES = (str, bytes, tuple, frozenset, int, float, complex, list, dict, set, bytearray)
MUTABLE_BASES = (list, dict, set, bytearray)


class Unsupported(Exception):
    """The test needs what a split run does not carry."""


class CodeSideError(Exception):
    """The code side has ended, or said what is no answer."""


class Side:
    """The connection to the code side, and what is known of its objects.

    Args:
        descriptor: a stream socket.
        pid: the number of its process.
    """

    def __init__(self, descriptor, pid):
        self._descriptor, self._pids = descriptor, (pid, os.getpid())
        self._remotes, self._held, self._stand_ins = {}, {}, {}
        self._calls = self._calls_of_test = 0
        self._waited_s, self._look_s, self._kept_before_s = 0.0, MOST_S, self._kept_s()
        self.begin_test()

    def begin_test(self):
        """Forget what was noted of the test before.

        `doubt` says why the test cannot be judged here, `fault` what the code side did that settles it, `met_objects`
        whether it had to do with more than plain values, `raised` are the exceptions of the code side.
        """
        self.doubt, self.fault, self.raised, self.met_objects, self._calls_of_test = "", "", [], False, 0
        self._unequal_at = -1

    def unequal(self):
        """Note that the code side was last asked whether an object equals a plain value, and that it does not."""
        self._unequal_at = self._calls

    @property
    def was_unequal(self):
        """Tell whether nothing was asked since then."""
        return self._unequal_at == self._calls

    def cannot(self, why):
        """Note that the test cannot be judged here, and leave it."""
        self.note(why)
        raise Unsupported(why)

    def note(self, why):
        """Note that the test cannot be judged here."""
        self.doubt = self.doubt or why

    def request(self, action, *arguments, given=()):
        """Have the code side do something; returns the value, or raises what it raised."""
        self._calls, self._calls_of_test = self._calls + 1, self._calls_of_test + 1
        if self._calls > MOST_CALLS or self._calls_of_test > MOST_CALLS_OF_TEST:
            self.cannot("makes too many calls")
        if self._waited_s > self._look_s:
            self._look_s = MOST_S + self._kept_s() - self._kept_before_s
            if self._waited_s > self._look_s:
                self.cannot(f"{TOO_LONG}: {self._waited_s - self._look_s + MOST_S:.1f} s in {self._calls} calls")
        started = time.monotonic()
        changes = [(number, now) for number, held in self._held.items() if (now := self._changed(held))]
        for number, now in changes:
            self._held[number][1] = now
        if len({id(value) for value in given}) < len(given):
            self.note(SHARED)
        self._send(marshal.dumps((action, arguments, changes)))
        try:
            return self._taken(given, *self._received())
        except (Unsupported, CodeSideError):
            raise
        except Exception as error:
            if self._is_remote(error):
                raise
            self.fail(f"gave no answer that could be read ({type(error).__name__})")
        finally:
            self._waited_s += time.monotonic() - started

    def _kept_s(self):
        """How long both processes have wanted a processor and had none: that is the machine's fault."""
        found = 0.0
        for pid in self._pids:
            with contextlib.suppress(OSError, ValueError, IndexError), open(f"/proc/{pid}/schedstat", "rb") as file:
                found += int(file.read().split()[1]) / 1e9
        return found

    def _is_remote(self, error):
        return any(error is raised for raised in self.raised)

    def fail(self, what):
        """Note what the code side did that settles the test, and leave it."""
        self.fault = self.fault or f"the process of the tested code {what}"
        raise CodeSideError(self.fault)

    def _send(self, text):
        text = len(text).to_bytes(served.LENGTH, "big") + text
        try:
            while text:
                text = text[os.write(self._descriptor, text) :]
        except OSError:
            self.fail("has ended")

    def _received(self):
        size = int.from_bytes(self._read(served.LENGTH), "big")
        if size > served.MOST_BYTES:
            self.fail("answered without end")
        return json.loads(self._read(size))

    def _read(self, size):
        found = bytearray()
        while len(found) < size:
            part = os.read(self._descriptor, min(size - len(found), 1 << 20))
            if not part:
                self.fail("has ended")
            found += part
        return bytes(found)

    def _taken(self, given, how, packed, changed, kept, stale):
        for place, content in changed:
            self._note_shared(given[int(place, 16)])
            standard.apply(given[int(place, 16)], self.unpack(content))
        for number, content in stale:
            self._renew(int(number, 16), content)
        if how == "refused":
            self.cannot(str(packed))
        if how == "raised":
            self._raise(*packed)
        own = type(packed) is list and packed[:1] == ["given"]
        result = given[int(packed[1], 16)] if own else self.unpack(packed)
        for place, number in kept:
            value = result if place is None else given[int(place, 16)]
            before = self._held.get(int(number, 16))
            if place is None and before and type(before[0]) is type(result):
                standard.apply(before[0], result)
                value = result = before[0]
            else:
                self._note_shared(value)
            self._held[int(number, 16)] = [value, self.pack(value)]
        return result

    def _note_shared(self, value):
        """Note where what happens to a container happens to others as well: one inside of it, or one that is held."""
        if standard.holds_held(value) or any(held is value for held, _ in self._held.values()):
            self.note(SHARED)

    def _raise(self, kind, handle, arguments, text, state):
        kind, arguments, number = self.unpack(kind), self.unpack(arguments), int(handle[1], 16)
        if not (isinstance(kind, type) and issubclass(kind, BaseException)):
            self.fail("raised what is no exception")
        error = self._remotes.get(number) or self._error(kind, number, arguments, str(text))
        if "_side" not in vars(kind):
            for name, value in state:
                setattr(error, str(name), self.unpack(value))
        self._remotes[number] = error
        self.raised.append(error)
        raise error

    def _error(self, kind, number, arguments, text):
        """An exception: of the built-in class, or of one that stands for a class of the code side."""
        try:
            error = kind.__new__(kind, *arguments) if "_side" in vars(kind) else kind(*arguments)
        except Exception:  # noqa: BLE001 (some need arguments of their own)
            error = kind.__new__(kind)
        error.args = tuple(arguments)
        if "_side" in vars(kind):
            vars(error).update(_number=number, _text=text)
        return error

    # --- containers that both sides hold

    def _changed(self, held):
        now = self.pack(held[0])
        return now if now != held[1] else None

    def _renew(self, number, content):
        if number in self._held:
            value = self._held[number][0]
            if type(value) is tuple or standard.holds_held(value):
                self.note(SHARED)
            standard.apply(value, self.unpack(content))
            self._held[number][1] = self.pack(value)

    # --- values

    def pack(self, value):
        """A value as the code side takes it."""
        return _Packer(self).pack(value)

    def unpack(self, data):
        """A value as the code side gives it."""
        return values.unpack(data, None, self._other)

    def _other(self, tag, rest):
        if tag == "x":
            return standard.made(str(rest[0]), self.unpack(rest[1]))
        if tag in ("B", "S"):
            return _known(*rest) if tag == "S" else _known("builtins", rest[0])
        if tag != "h":
            raise ValueError("not a packed value")
        number = int(rest[0], 16)
        if number not in self._remotes:
            self._remotes[number] = self._made(number, *rest[1:])
        self.met_objects |= isinstance(self._remotes[number], Remote | RemoteError)
        return self._remotes[number]

    def _made(self, number, what, *about):
        return getattr(self, f"_made_{what}")(number, *about)

    def _made_module(self, number, name, is_package):
        return RemoteModule(self, number, str(name), bool(is_package))

    def _made_function(self, number, name, qualname, module, doc):
        return RemoteFunction(self, number, str(name), str(qualname), str(module), doc)

    def _made_class(self, number, name, qualname, module, doc, bases):
        bases = tuple(self.unpack(bases))
        root = RemoteError if any(issubclass(base, BaseException) for base in bases) else Remote
        own = tuple(base for base in bases if issubclass(base, root))
        plain = tuple(base for base in bases if base not in own and (base in BASES or issubclass(base, BaseException)))
        mixed = tuple(base for base in bases if base not in own and isinstance(base, RemoteType))
        about = {"__module__": str(module), "__qualname__": str(qualname), "__doc__": doc}
        space = {"_side": self, "_number": number, **about}
        return RemoteType(str(name), (*(own or (root,)), *mixed, *plain), space)

    def _made_object(self, number, kind, content, equality):
        kind = self.unpack(kind)
        kind = kind if "_side" in vars(kind) else self._stand_in(kind)
        plain = None if content is None else self.unpack(content)
        if issubclass(kind, MUTABLE_BASES):
            self.note("holds an object of a class derived from a container")
        base = next((base for base in (*BASES, BaseException) if issubclass(kind, base)), None)
        given = () if plain is None or base in MUTABLE_BASES else (plain,)
        made = object.__new__(kind) if base is None else base.__new__(kind, *given)
        vars(made).update(_side=self, _number=number, _plain=plain, _equality=str(equality))
        if base is BaseException:
            made.args, vars(made)["_text"] = (
                self.request("get", number, "args"),
                self.request("operate", "str", [["h", number]]),
            )
        return made

    def _stand_in(self, kind):
        """The class of stand-ins for objects of a class that this side has as well."""
        if kind not in self._stand_ins:
            self._stand_ins[kind] = type(Remote)(kind.__name__, (Remote,), {"__class__": property(lambda _self: kind)})
        return self._stand_ins[kind]


def _known(module, name):
    """A class that this side has as well; nothing else, since whatever it is would be believed here."""
    if str(module).partition(".")[0] not in sys.stdlib_module_names:
        raise ValueError("not a class of the standard library")
    found = getattr(importlib.import_module(module), str(name))
    if not isinstance(found, type) and found not in (NotImplemented, ...):
        raise ValueError("not a class")
    return found


class _Packer(values.Packer):
    def __init__(self, side):
        super().__init__()
        self._side = side

    def other(self, value, kind, depth):
        if "_number" in getattr(value, "__dict__", ()):
            return ["h", vars(value)["_number"]]
        if found := standard.reduced(value, kind):
            return ["x", found[0], self.pack(found[1], depth + 1)]
        name = getattr(value, "__name__", "") if value is not ... else "Ellipsis"
        if name and getattr(builtins, name, None) is value:
            return ["B", name]
        return self._side.cannot(f"hands over a {kind.__name__}, which cannot cross")
