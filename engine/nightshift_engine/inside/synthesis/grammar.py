"""The grammar: arithmetic, comparisons, collections, and functions of `math` and `itertools`.

Operators that could run forever or fill the memory are replaced by functions that refuse large values.
"""

import collections
import itertools
import math
import operator as op
import statistics

from .expression import ALONE, AND, ATOM, COMPARE, LOOP, NOT, NUMBERS, POWER, PRODUCT, SIGN, SUM, Rule
from .kinds import LONG, inner

MOST_POWER, MOST_BASE = 64, 1 << 20
TURNS = 200
"""Maximum length of a `range`: loops over it are evaluated thousands of times."""


class Refused(Exception):
    """Raised when a value would be too large."""


def times(left, right):
    """Multiply two numbers; refuse large integers."""
    if type(left) is int and type(right) is int and left.bit_length() + right.bit_length() > 200:
        raise Refused
    return left * right


def repeat(text, count):
    """Repeat a sequence; refuse long results."""
    if len(text) * count > LONG:
        raise Refused
    return text * count


def power(base, exponent):
    """Raise a number to a power; refuse large operands and complex results."""
    if not (-MOST_POWER <= exponent <= MOST_POWER and -MOST_BASE <= base <= MOST_BASE):
        raise Refused
    value = base**exponent
    if type(value) is complex:
        raise Refused
    return value


def join(left, right):
    """Concatenate two sequences; refuse long results."""
    if len(left) + len(right) > LONG:
        raise Refused
    return left + right


def counting(*bounds):
    """Return a range as a list; refuse long ranges."""
    if len(range(*bounds)) > TURNS:
        raise Refused
    return list(range(*bounds))


def up_to(last):
    """Return the list of 1 to `last`."""
    return counting(1, last + 1)


def factorial(number):
    """Return the factorial of a number up to 40."""
    if number > 40:
        raise Refused
    return math.factorial(number)


def product(numbers):
    """Return the product of at most 60 numbers."""
    if len(numbers) > 60:
        raise Refused
    return math.prod(numbers)


def glue(separator, texts):
    """Join texts with a separator."""
    if sum(map(len, texts)) + len(separator) * len(texts) > LONG:
        raise Refused
    return separator.join(texts)


def swap(text, old, new):
    """Replace parts of a text; the replacement has at most 20 characters."""
    if len(new) > 20:
        raise Refused
    return text.replace(old, new)


def pad_with(method):
    """Return a method that pads a text to a width, limited to widths up to 200."""

    def pad(text, width, *filling):
        if width > 200:
            raise Refused
        return method(text, width, *filling)

    return pad


def flat(parts):
    """Flatten a collection of collections into a list."""
    return list(itertools.chain.from_iterable(parts))


def runs(items):
    """Split items into runs of equal items, as lists."""
    return [list(group) for _, group in itertools.groupby(items)]


def alike(left, right):
    """Check whether comparing values of two kinds makes sense."""
    return left == right or {left, right} <= NUMBERS


def holds(item, many):
    """Check whether a collection of the kind `many` may hold items of the kind `item`."""
    return item == many == "str" or (many != "str" and inner(many) in (item, "", "*"))


def same_lists(left, right):
    """Check whether lists of two kinds may be concatenated."""
    return left == right or "list[]" in (left, right)


def takes(many, item):
    """Check whether a collection may hold items of a kind: `holds` with the collection as the first argument."""
    return holds(item, many)


ARITHMETIC = (
    Rule("{0} + {1}", op.add, "num num", needs=(SUM, PRODUCT), rank=SUM, commutes=True),
    Rule("{0} - {1}", op.sub, "num num", needs=(SUM, PRODUCT), rank=SUM),
    Rule("{0} * {1}", times, "num num", needs=(PRODUCT, SIGN), rank=PRODUCT, commutes=True),
    Rule("{0} // {1}", op.floordiv, "num num", needs=(PRODUCT, SIGN), rank=PRODUCT),
    Rule("{0} % {1}", op.mod, "num num", needs=(PRODUCT, SIGN), rank=PRODUCT),
    Rule("{0} / {1}", op.truediv, "num num", needs=(PRODUCT, SIGN), rank=PRODUCT, result="float"),
    Rule("{0} ** {1}", power, "num num", needs=(ATOM, SIGN), rank=POWER, cost=2),
    Rule("-{0}", op.neg, "num", needs=(SIGN,), rank=SIGN),
    Rule("abs({0})", abs, "num"),
    Rule("max({0}, {1})", max, "num num", commutes=True),
    Rule("min({0}, {1})", min, "num num", commutes=True),
    Rule("int({0})", int, "float", result="int"),
    Rule("float({0})", float, "int", result="float", cost=2),
    Rule("round({0})", round, "float", result="int"),
    Rule("round({0}, {1})", round, "float int", result="float"),
    Rule("str({0})", str, "num", result="str"),
    Rule("chr({0})", chr, "int", result="str", cost=2),
    Rule("divmod({0}, {1})", divmod, "int int", cost=3),
    Rule("bin({0})[2:]", "{:b}".format, "int", cost=2),
    Rule("math.isqrt({0})", math.isqrt, "int", cost=3),
    Rule("math.gcd({0}, {1})", math.gcd, "int int", commutes=True, cost=3),
    Rule("math.sqrt({0})", math.sqrt, "num", cost=2),
    Rule("math.floor({0})", math.floor, "float", cost=2),
    Rule("math.ceil({0})", math.ceil, "float", cost=2),
    Rule("math.factorial({0})", factorial, "int", cost=3),
    Rule("math.hypot({0}, {1})", math.hypot, "num num", commutes=True, cost=3),
    Rule("list(range({0}))", counting, "int", result="list[int]", loop="range({0})", cost=2),
    Rule(
        "list(range(1, {0} + 1))",
        up_to,
        "int",
        needs=(SUM,),
        result="list[int]",
        loop="range(1, {0} + 1)",
        cost=2,
    ),
    Rule("list(range({0}, {1}))", counting, "int int", result="list[int]", loop="range({0}, {1})", cost=2),
    Rule(
        "list(range({0}, {1}, {2}))",
        counting,
        "int int int",
        result="list[int]",
        loop="range({0}, {1}, {2})",
        cost=2,
    ),
)
TRUTH = (
    Rule("{0} == {1}", op.eq, "any any", needs=(SUM, SUM), rank=COMPARE, commutes=True, fits=alike, result="bool"),
    Rule("{0} != {1}", op.ne, "any any", needs=(SUM, SUM), rank=COMPARE, commutes=True, fits=alike, result="bool"),
    Rule("{0} < {1}", op.lt, "plain plain", needs=(SUM, SUM), rank=COMPARE, fits=alike, result="bool"),
    Rule("{0} <= {1}", op.le, "plain plain", needs=(SUM, SUM), rank=COMPARE, fits=alike, result="bool"),
    Rule(
        "{0} in {1}", lambda a, b: a in b, "any many", needs=(SUM, SUM), rank=COMPARE, fits=holds, result="bool"
    ),
    Rule("not {0}", op.not_, "any", needs=(COMPARE,), rank=NOT, result="bool"),
    Rule(
        "{0} and {1}", lambda a, b: a and b, "bool bool", needs=(AND, NOT), rank=AND, commutes=True, result="bool"
    ),
    Rule("any({0})", any, "bools", needs=(ALONE,), result="bool"),
    Rule("all({0})", all, "bools", needs=(ALONE,), result="bool"),
)  # fmt: skip
SEQUENCES = (
    Rule("{0}[{1}]", op.getitem, "seq int", needs=(ATOM, 0)),
    Rule("{0}[{1}:]", lambda s, i: s[i:], "seq int", needs=(ATOM, 0)),
    Rule("{0}[:{1}]", lambda s, i: s[:i], "seq int", needs=(ATOM, 0)),
    Rule("{0}[{1}:{2}]", lambda s, i, j: s[i:j], "seq int int", needs=(ATOM, 0, 0)),
    Rule("{0}[::-1]", lambda s: s[::-1], "seq", needs=(ATOM,)),
    Rule("{0}[::{1}]", lambda s, i: s[::i], "seq int", needs=(ATOM, 0), cost=2),
    Rule("len({0})", len, "many", result="int"),
    Rule(
        "list(range(0, len({0}), {1}))", lambda s, n: list(range(0, len(s), n)), "seq int", result="list[int]", cost=2,
        loop="range(0, len({0}), {1})",
    ),
    Rule(
        "list(range(len({0})))", lambda s: list(range(len(s))), "seq", result="list[int]", cost=2,
        loop="range(len({0}))",
    ),
    Rule("sum({0})", sum, "nums", needs=(ALONE,)),
    Rule("min({0})", min, "group", needs=(ALONE,)),
    Rule("max({0})", max, "group", needs=(ALONE,)),
    Rule("math.prod({0})", product, "nums", needs=(ALONE,), cost=2),
    Rule("sorted({0})", sorted, "many", needs=(ALONE,)),
    Rule("sorted({0}, reverse=True)", lambda s: sorted(s, reverse=True), "many", needs=(LOOP,)),
    Rule("set({0})", set, "seq", needs=(ALONE,)),
    Rule("list({0})", list, "str", loop="{0}"),
    Rule("tuple({0})", tuple, "list", needs=(ALONE,), cost=2),
    Rule("list({0})", list, "tuple", loop="{0}", cost=2),
    Rule(
        "list(dict.fromkeys({0}))", lambda s: list(dict.fromkeys(s)), "seq", needs=(LOOP,), loop="dict.fromkeys({0})",
    ),
    Rule("list(enumerate({0}))", lambda s: list(enumerate(s)), "seq", needs=(LOOP,), loop="enumerate({0})", cost=2),
    Rule(
        "list(zip({0}, {1}))", lambda a, b: list(zip(a, b, strict=False)), "seq seq", needs=(LOOP, LOOP),
        loop="zip({0}, {1})",
    ),
    Rule(
        "list(zip({0}, {0}[1:]))", lambda s: list(itertools.pairwise(s)), "seq", needs=(ATOM,),
        loop="zip({0}, {0}[1:])", cost=2,
    ),
    Rule("list(zip(*{0}))", lambda s: list(zip(*s, strict=False)), "nested", needs=(ATOM,), loop="zip(*{0})", cost=2),
    Rule(
        "[item for part in {0} for item in part]", flat, "nested", needs=(LOOP,),
        loop="itertools.chain.from_iterable({0})", cost=2,
    ),
    Rule("[list(group) for _, group in itertools.groupby({0})]", runs, "seq", needs=(LOOP,), cost=2),
    Rule(
        "list(itertools.accumulate({0}))", lambda s: list(itertools.accumulate(s)), "nums", needs=(LOOP,),
        loop="itertools.accumulate({0})", cost=2,
    ),
    Rule(
        "list(itertools.accumulate({0}, max))", lambda s: list(itertools.accumulate(s, max)), "plains", needs=(LOOP,),
        loop="itertools.accumulate({0}, max)", cost=2,
    ),
    Rule(
        "list(itertools.accumulate({0}, min))", lambda s: list(itertools.accumulate(s, min)), "plains", needs=(LOOP,),
        loop="itertools.accumulate({0}, min)", cost=2,
    ),
    Rule("statistics.median({0})", statistics.median, "nums", cost=3),
    Rule("{0} + {1}", join, "list list", needs=(SUM, PRODUCT), rank=SUM, fits=same_lists),
    Rule("{0} * {1}", repeat, "list int", needs=(PRODUCT, SIGN), rank=PRODUCT, cost=2),
    Rule("[{0}]", lambda a: [a], "any"),
    Rule("({0}, {1})", lambda a, b: (a, b), "any any", cost=2),
    Rule("{0}.count({1})", lambda s, a: s.count(a), "seq any", needs=(ATOM, 0), fits=takes, result="int"),
    Rule("{0}.index({1})", lambda s, a: s.index(a), "list any", needs=(ATOM, 0), fits=takes, result="int"),
    Rule("{0} & {1}", op.and_, "set set", needs=(ATOM, ATOM), rank=SUM, commutes=True),
    Rule("{0} | {1}", op.or_, "set set", needs=(ATOM, ATOM), rank=SUM, commutes=True),
    Rule("{0} - {1}", op.sub, "set set", needs=(ATOM, ATOM), rank=SUM),
    Rule("{0} ^ {1}", op.xor, "set set", needs=(ATOM, ATOM), rank=SUM, commutes=True, cost=2),
)  # fmt: skip
TEXTS = (
    *(
        Rule(f"{{0}}.{name}()", getattr(str, name), "str", needs=(ATOM,))
        for name in ("lower", "upper", "strip", "split", "title", "capitalize", "isdigit", "isalpha")
    ),
    *(
        Rule(f"{{0}}.{name}()", getattr(str, name), "str", needs=(ATOM,), cost=2)
        for name in ("swapcase", "isupper", "islower", "isalnum", "isspace", "splitlines", "lstrip", "rstrip")
    ),
    Rule("int({0})", int, "str", result="int"),
    Rule("int({0}, {1})", int, "str int", result="int", cost=2),
    Rule("float({0})", float, "str", result="float", cost=2),
    Rule("ord({0})", ord, "str", result="int"),
    Rule("{0}.split({1})", str.split, "str str", needs=(ATOM, 0)),
    Rule("{0}.strip({1})", str.strip, "str str", needs=(ATOM, 0), cost=3),
    Rule("{0}.startswith({1})", str.startswith, "str str", needs=(ATOM, 0), result="bool"),
    Rule("{0}.endswith({1})", str.endswith, "str str", needs=(ATOM, 0), result="bool"),
    Rule("{0}.find({1})", str.find, "str str", needs=(ATOM, 0), result="int"),
    Rule("{0}.replace({1}, {2})", swap, "str str str", needs=(ATOM, 0, 0), result="str"),
    Rule("{0}.zfill({1})", pad_with(str.zfill), "str int", needs=(ATOM, 0), cost=2, result="str"),
    Rule("{0}.rjust({1})", pad_with(str.rjust), "str int", needs=(ATOM, 0), cost=2, result="str"),
    Rule("{0}.ljust({1})", pad_with(str.ljust), "str int", needs=(ATOM, 0), cost=2, result="str"),
    Rule("{0}.center({1})", pad_with(str.center), "str int", needs=(ATOM, 0), cost=2, result="str"),
    Rule("{0}.join({1})", glue, "str strs", needs=(ATOM, ALONE), result="str"),
    Rule("{0} + {1}", join, "str str", needs=(SUM, PRODUCT), rank=SUM, result="str"),
    Rule("{0} * {1}", repeat, "str int", needs=(PRODUCT, SIGN), rank=PRODUCT, result="str"),
)
MAPPINGS = (
    Rule("list({0})", list, "dict", needs=(LOOP,), loop="{0}"),
    Rule("list({0}.values())", lambda d: list(d.values()), "dict", needs=(ATOM,), loop="{0}.values()"),
    Rule("list({0}.items())", lambda d: list(d.items()), "dict", needs=(ATOM,), loop="{0}.items()"),
    Rule("{0}[{1}]", op.getitem, "dict any", needs=(ATOM, 0), fits=takes),
    Rule("{0}.get({1})", dict.get, "dict any", needs=(ATOM, 0), fits=takes, cost=2),
    Rule("{0}.get({1}, {2})", dict.get, "dict any any", needs=(ATOM, 0, 0), fits=lambda d, k, _v: holds(k, d)),
    Rule("dict({0})", dict, "list", needs=(ALONE,), fits=lambda kind: inner(kind).startswith("tuple[")),
    Rule("{0} | {1}", op.or_, "dict dict", needs=(ATOM, ATOM), rank=SUM),
    Rule("dict(collections.Counter({0}))", lambda s: dict(collections.Counter(s)), "seq", needs=(ALONE,), cost=2),
    Rule(
        "collections.Counter({0}).most_common()", lambda s: collections.Counter(s).most_common(), "seq",
        needs=(ALONE,), cost=2,
    ),
)  # fmt: skip
RULES = (*ARITHMETIC, *TRUTH, *SEQUENCES, *TEXTS, *MAPPINGS)
HINTS = {
    "binary": "bin(", "consecutive": "groupby", "cumulative": "accumulate", "digit": "str(", "digits": "str(",
    "distinct": "fromkeys", "divisor": "gcd", "duplicates": "fromkeys", "frequency": "Counter", "often": "count",
    "root": "sqrt", "running": "accumulate", "runs": "groupby", "transpose": "zip(*", "unique": "fromkeys",
}  # fmt: skip
"""Words of a task that make a rule likely although the rule does not contain the word."""


def list_hints(words):
    """List the parts of rule texts that the words of a task make likely."""
    return {HINTS[word] for word in words if word in HINTS} | {word for word in words if len(word) > 3}


UNLIKELY_WITHOUT = {
    "float": ("{0} / {1}", "float(", "sqrt(", "hypot("), "str": ("str(", "chr(", "bin("), "dict": ("dict(", "Counter("),
}  # fmt: skip
"""Maps a kind to parts of the templates of rules that lead to this kind. These rules are unlikely if no argument or
result is of the kind.
"""


def rules(words, heads=frozenset(UNLIKELY_WITHOUT)):
    """Return the rules of the grammar with their costs adapted to a task.

    Rules that the words of the task suggest cost less. Rules for kinds that no argument or result has cost more.

    Args:
        words: the words of the task.
        heads: the kinds of all its arguments and results, without the part in brackets.
    """
    likely = list_hints(words)
    odd = [part for head, parts in UNLIKELY_WITHOUT.items() if head not in heads for part in parts]
    task_rules = []
    for rule in RULES:
        cost = rule.cost - any(part in rule.template for part in likely) + any(part in rule.template for part in odd)
        task_rules.append(rule if cost == rule.cost else rule.costing(max(1, cost)))
    return task_rules
