"""Converts values to plain JSON and back, for transport into and out of the sandbox. Reading them can never run code.

`None`, booleans and texts represent themselves. Any other value is a list that begins with its type: `i` int, `f`
float, `c` complex (these three in hexadecimal, so that nothing is rounded and any size is possible), `b` bytes, `a`
bytearray, `l` list, `t` tuple, `s` set, `z` frozenset, `d` dict, `D` Decimal, `F` Fraction, `u` an object of a class
derived from one of these, and `o` any other object. Types are matched exactly, so an object that only claims to be
equal to something is an `o`.
"""

from __future__ import annotations

from _json import encode_basestring_ascii as quoted

TYPE_CHECKING = False  # as in `typing`, which takes long to import
if TYPE_CHECKING:
    from typing import Any

MAX_NODES = 200_000
MAX_DEPTH = 60

SEQUENCES: dict[type, str] = {list: "l", tuple: "t", set: "s", frozenset: "z"}
_SCALARS = ("i", "f", "c", "b", "a", "D", "F")
MAKERS: dict[str, Any] = {"l": list, "t": tuple, "s": set, "z": frozenset}
BASES: tuple[Any, ...] = (int, float, complex, str, bytes, bytearray, tuple, list, dict, set, frozenset)


def pack(value: object, most: int = MAX_NODES) -> Any:
    """Convert a value to JSON. Parts that are not plain data, and parts beyond the first `most`, become `o`."""
    return Packer(most).pack(value)


class Packer:
    """Converts one value with at most `most` parts. Subclasses decide how parts that are not data are represented."""

    def __init__(self, most: int = MAX_NODES) -> None:
        self.left = most

    def pack(self, value: Any, depth: int = 0) -> Any:
        """Convert a value to JSON."""
        self.left -= 1
        if self.left < 0 or depth > MAX_DEPTH:
            return self.too_large()
        kind = type(value)
        if value is None or kind is bool or kind is str:
            return value
        packed = self._exact(value, kind, depth)
        return self.other(value, kind, depth) if packed is None else packed

    def _exact(self, value: Any, kind: type, depth: int) -> Any:
        if kind is int:
            return ["i", hex(value)]
        if kind is float:
            return ["f", value.hex()]
        if kind is complex:
            return ["c", value.real.hex(), value.imag.hex()]
        if kind is bytes or kind is bytearray:
            return ["b" if kind is bytes else "a", value.hex()]
        if kind in SEQUENCES:
            return [SEQUENCES[kind], *[self.pack(item, depth + 1) for item in value]]
        if kind is dict:
            return ["d", *[self.pack(part, depth + 1) for pair in value.items() for part in pair]]
        return None

    def too_large(self) -> Any:
        """Return what represents a part that is nested too deeply or exceeds the number of parts."""
        return ["o", "too large"]

    def other(self, value: Any, kind: type, depth: int) -> Any:
        """Return what represents a part whose type is not one of the plain types."""
        name = f"{kind.__module__}.{kind.__qualname__}"[:200]
        if name == "decimal.Decimal":
            return ["D", str(value)]
        if name == "fractions.Fraction":
            return ["F", hex(value.numerator), hex(value.denominator)]
        if kind.__module__ == "numpy" and getattr(value, "shape", None) == () and hasattr(value, "item"):
            return ["u", name, self.pack(value.item(), depth + 1)]
        content = self.content(value, depth)
        return ["o", name] if content is None else ["u", name, content]

    def content(self, value: Any, depth: int) -> Any:
        """Convert the content of an object whose class is derived from a plain type; None for any other object."""
        base = next((base for base in BASES if isinstance(value, base)), None)
        if base is None or base is str:
            return None if base is None else str.__str__(value)
        return self._exact(convert_to_base(value, base), base, depth)


def convert_to_base(value: Any, base: Any) -> Any:
    """Convert an object of a derived class to its base class, without calling the object's own methods."""
    if base is str:
        return str.__str__(value)
    if base is int:
        return int.__add__(value, 0)
    if base is float:
        return float.__add__(value, 0.0)
    if base is complex:
        return complex.__add__(value, 0j)
    if base is dict:
        return dict(dict.items(value))
    return base(base.__iter__(value))


def as_json(packed: Any) -> str:
    """Write a converted value as JSON text."""
    if packed is None or type(packed) is bool:
        return "null" if packed is None else "true" if packed else "false"
    return quoted(packed) if type(packed) is str else f"[{', '.join(map(as_json, packed))}]"


def unpack(data: Any, seen: Any = None, other: Any = None) -> Any:
    """Return the value that `pack` has converted.

    Args:
        data: JSON from any source, trusted or not.
        seen: receives `("u", name)` or `("o", name)` for each part that was not plain data. Each `o` becomes None.
        other: creates the value of each part with a tag that `pack` does not use; called with the tag and the rest.

    Raises:
        ValueError, TypeError, RecursionError: the data does not have the form that `pack` produces.
    """
    seen = [] if seen is None else seen
    if data is None or type(data) in (bool, str):
        return data
    if type(data) is not list or not data:
        raise ValueError("not a packed value")
    tag, *rest = data
    if tag in MAKERS:
        return MAKERS[tag](unpack(item, seen, other) for item in rest)
    if tag == "d":
        keys, values = rest[::2], rest[1::2]
        if len(keys) != len(values):
            raise ValueError("not a packed dict")
        pairs = zip(keys, values)  # noqa: B905 (checked)
        return {unpack(key, seen, other): unpack(value, seen, other) for key, value in pairs}
    if other is not None and tag not in _SCALARS:
        return other(tag, rest)
    if tag == "o":
        seen.append(("o", str(rest[0])))
        return None
    if tag == "u":
        seen.append(("u", str(rest[0])))
        return unpack(rest[1], seen)
    return _scalar(tag, rest)


def _scalar(tag: str, rest: Any) -> Any:
    if tag == "i":
        return int(rest[0], 16)
    if tag == "f":
        return float.fromhex(rest[0])
    if tag == "c":
        return complex(float.fromhex(rest[0]), float.fromhex(rest[1]))
    if tag in ("b", "a"):
        raw = bytes.fromhex(rest[0])
        return raw if tag == "b" else bytearray(raw)
    if tag == "D":
        from decimal import Decimal, InvalidOperation  # noqa: PLC0415 (rarely needed)

        try:
            return Decimal(str(rest[0])[:2000])
        except InvalidOperation:
            raise ValueError("not a packed Decimal") from None
    if tag == "F":
        from fractions import Fraction  # noqa: PLC0415 (rarely needed)

        return Fraction(int(rest[0], 16), int(rest[1], 16) or 1)
    raise ValueError("not a packed value")
