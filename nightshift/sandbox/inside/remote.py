"""Stand-ins for the objects of the tested code, which live in another process: `connection` makes and serves them.

Attributes, calls and operators of a stand-in are requests to the code side. What that side would decide on its own
(truth, order, what an object holds) is noted, and such a test is not judged.
"""

from . import comparisons, standard


class RemoteFunction:
    """A function of the code side."""

    def __init__(self, side, number, name, qualname, module, doc):
        vars(self).update(
            _side=side, _number=number, __name__=name, __qualname__=qualname, __module__=module, __doc__=doc
        )

    def __call__(self, *arguments, **named):
        """Call it."""
        return call(self._side, self._number, arguments, named)

    def __getattr__(self, name):
        """An attribute of it."""
        if name.startswith("__"):
            raise AttributeError(name)
        return self._side.request("get", self._number, name)


def call(side, number, arguments, named):
    """Call an object of the code side."""
    given = [value for value in (*arguments, *named.values()) if type(value) in standard.MUTABLE]
    packed = [side.pack(value) for value in arguments], {name: side.pack(value) for name, value in named.items()}
    return side.request("call", number, *packed, given=given)


def operate(name, *arguments):
    """Apply an operator to objects of which one at least is of the code side."""
    side = next(vars(value)["_side"] for value in arguments if isinstance(value, Remote))
    given = [value for value in arguments if type(value) in standard.MUTABLE]
    return side.request("operate", name, [side.pack(value) for value in arguments], given=given)


class RemoteType(type):
    """The type of classes that stand in for those of the code side."""

    def __new__(cls, name, bases, space):
        """A class; one that a test derives cannot be carried over."""
        if "_number" not in space and any(isinstance(base, RemoteType) and "_side" in vars(base) for base in bases):
            side = next(vars(base)["_side"] for base in bases if "_side" in vars(base))
            side.cannot("derives a class from one of the tested code")
        return super().__new__(cls, name, bases, space)

    def __call__(cls, *arguments, **named):
        """Make an object, on the code side; what it was made of is kept, to make others that differ."""
        made = call(cls._side, vars(cls)["_number"], arguments, named)
        if type(made) is cls and arguments and not named:
            vars(made)["_made"] = cls, arguments
        return made

    def __getattr__(cls, name):
        """An attribute of the class."""
        if "_side" not in vars(cls) or name.startswith("__"):
            raise AttributeError(name)
        return cls._side.request("get", vars(cls)["_number"], name)

    def __setattr__(cls, name, value):
        """Set an attribute of the class."""
        cls._side.request("set", vars(cls)["_number"], name, cls._side.pack(value))

    def __iter__(cls):
        """Go through a class that can be gone through, such as an enumeration."""
        return cls._side.request("operate", "iter", [["h", vars(cls)["_number"]]])

    def __bool__(cls):
        """A class is true, also one that has a length."""
        return True

    def __len__(cls):
        """The length of such a class."""
        return cls._side.request("operate", "len", [["h", vars(cls)["_number"]]])

    def __getitem__(cls, key):
        """An item of such a class."""
        return cls._side.request("operate", "getitem", [["h", vars(cls)["_number"]], cls._side.pack(key)])


class Remote(metaclass=RemoteType):
    """An object of the code side. `_plain` is its content where its class is derived from a plain type."""

    _is_remote = True

    def __getattr__(self, name):
        """An attribute of it."""
        if name.startswith("__"):
            raise AttributeError(name)
        return self._side.request("get", self._number, name)

    def __setattr__(self, name, value):
        """Set an attribute of it."""
        given = [value] if type(value) in standard.MUTABLE else []
        self._side.request("set", self._number, name, self._side.pack(value), given=given)

    def __delattr__(self, name):
        """Delete an attribute of it."""
        self._side.request("delete", self._number, name)

    def __eq__(self, other):
        """Compare it with anything."""
        return comparisons.is_equal(self._side, self, other)

    def __ne__(self, other):
        """Compare it with anything."""
        return not comparisons.is_equal(self._side, self, other)

    def __hash__(self):
        """Its hash."""
        return operate("hash", self)

    def __bool__(self):
        """Its truth, which it decides itself."""
        if vars(self)["_plain"] is None:
            self._side.note("asks an object of the tested code for its truth")
        return operate("bool", self)

    def __contains__(self, item):
        """Tell whether it holds something, which it decides itself."""
        return comparisons.is_held(self._side, self, item)

    def __next__(self):
        """Its next item."""
        return operate("next", self)

    def __format__(self, how):
        """Its text."""
        return operate("format", self, how)

    def __call__(self, *arguments, **named):
        """Call it."""
        return call(self._side, self._number, arguments, named)


class RemoteError(BaseException, metaclass=RemoteType):
    """An exception of a class of the code side."""

    def __str__(self):
        """Its message."""
        return vars(self).get("_text", "")

    def __getattr__(self, name):
        """An attribute of it."""
        if name.startswith("__") or "_number" not in vars(self):
            raise AttributeError(name)
        return self._side.request("get", vars(self)["_number"], name)


def _unary(name):
    def method(self, *more):
        return operate(name, self, *more)

    return method


def _binary(name, *, reflected=False, ordering=False):
    def method(self, other):
        if ordering:
            self._side.note("orders objects of the tested code")
        return operate(name, *((other, self) if reflected else (self, other)))

    return method


for _name in (
    "len", "str", "repr", "int", "float", "complex", "bytes", "round", "reversed", "index", "abs", "neg", "pos", "iter",
    "invert", "getitem", "setitem", "delitem", "enter", "exit",
):  # fmt: skip
    type.__setattr__(Remote, f"__{_name}__", _unary(_name))
for _name in ("add", "sub", "mul", "matmul", "truediv", "floordiv", "mod", "lshift", "rshift", "and", "or", "xor"):
    _own = f"{_name}_" if _name in ("and", "or") else _name
    type.__setattr__(Remote, f"__{_name}__", _binary(_own))
    type.__setattr__(Remote, f"__r{_name}__", _binary(_own, reflected=True))
    type.__setattr__(Remote, f"__i{_name}__", _binary(f"i{_name}"))
for _name in ("pow", "divmod"):
    type.__setattr__(Remote, f"__{_name}__", _binary(_name))
    type.__setattr__(Remote, f"__r{_name}__", _binary(_name, reflected=True))
for _name in ("lt", "le", "gt", "ge"):
    type.__setattr__(Remote, f"__{_name}__", _binary(_name, ordering=True))
