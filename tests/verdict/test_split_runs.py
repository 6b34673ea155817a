"""Tests with the tested code in another process: what is judged there, what is left to the other run, what is refused.

Each style of test is judged twice: once with a right answer, and once with code that is right only in one process with
its tests. That the second is refused shows that the first was judged. Where a test has to do with objects, a failure
may be due to their stand-ins: then the run in one process decides, and the evidence says so.
"""
# ruff: noqa: E501, ISC004 - programs stand as they are, one line of theirs on one of ours

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

import pytest

from tests.support.sandboxes import Judge

ELSEWHERE = "passes in one process with the code and fails with the code in another one"
APART = "\nimport sys\n\nif '_pytest' not in sys.modules:\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Style:
    """A right answer, its tests, and lines that spoil it where there is no pytest; all in `solution.py` unless said."""

    code: str
    tests: str
    spoilt: str
    more: dict[str, str] = field(default_factory=dict)
    beside: dict[str, str] = field(default_factory=dict)
    objects: bool = False
    path: str = "solution.py"
    """Where the code is; `more` are further files of the answer, `beside` are further given files.

    `objects` tells that the tests have to do with objects.
    """

    @property
    def right(self) -> dict[str, str]:
        return {self.path: self.code, **self.more}

    @property
    def wrong(self) -> dict[str, str]:
        lines = "".join(f"    {line}\n" for line in self.spoilt.splitlines())
        return {**self.right, self.path: self.code + APART + lines}

    @property
    def given(self) -> dict[str, str]:
        return {"tests/test_given.py": self.tests, **self.beside}


CART = """
class Empty(LookupError):
    def __init__(self, code):
        super().__init__("nothing in it")
        self.code = code


class Cart:
    limit = 3

    def __init__(self, *names):
        self.names = list(names)

    @property
    def first(self):
        return self.names[0]

    def take(self):
        if not self.names:
            raise Empty(7)
        return self.names.pop()

    @classmethod
    def of(cls, text):
        return cls(*text.split())

    def __len__(self):
        return len(self.names)

    def __getitem__(self, place):
        return self.names[place]

    def __iter__(self):
        return iter(self.names)

    def __add__(self, other):
        return Cart(*self.names, *other.names)

    def __repr__(self):
        return f"Cart({', '.join(self.names)})"
"""
STYLES = {
    "plain values": Style(
        code="def same(value):\n    return value\n\n\ndef nested(n):\n    return {'a': [n, (n, None)], 'b': {n}, 'c': b'x'}\n",
        tests="from solution import nested, same\n\n\ndef test_values():\n"
        "    assert same(5) == 5\n    assert same(1.5) == 1.5\n    assert same('text') == 'text'\n"
        "    assert same(True) is True\n    assert same(None) is None\n    assert same(2j) == 2j\n"
        "    assert nested(4) == {'a': [4, (4, None)], 'b': {4}, 'c': b'x'}\n    assert type(same((1,))) is tuple\n"
        "    assert same(bytearray(b'x')) == bytearray(b'x')\n    assert 10**400 == same(10**400)\n",
        spoilt="def nested(n):\n    return {}",
    ),
    "values of the standard library": Style(
        code="import collections, datetime, decimal, fractions, pathlib, uuid\n\n\ndef day(n):\n"
        "    return datetime.date(2020, 1, n)\n\n\ndef half():\n    return decimal.Decimal('0.5')\n\n\ndef third():\n"
        "    return fractions.Fraction(1, 3)\n\n\ndef count(text):\n    return collections.Counter(text)\n\n\n"
        "def path():\n    return pathlib.Path('a') / 'b'\n\n\ndef key():\n    return uuid.UUID(int=5)\n\n\n"
        "def queue():\n    return collections.deque([1, 2], maxlen=3)\n\n\ndef numbers():\n    return range(3)\n\n\n"
        "def gap():\n    return datetime.timedelta(days=1, seconds=3)\n",
        tests="import datetime, decimal, fractions, collections, uuid\nfrom solution import *\n\n\ndef test_values():\n"
        "    assert day(3) == datetime.date(2020, 1, 3)\n    assert half() == decimal.Decimal('0.50')\n"
        "    assert third() == fractions.Fraction(1, 3)\n    assert count('aab') == collections.Counter(a=2, b=1)\n"
        "    assert str(path()) == 'a/b'\n    assert key() == uuid.UUID(int=5)\n    assert list(queue()) == [1, 2]\n"
        "    assert queue().maxlen == 3\n    assert numbers() == range(3)\n    assert gap().days == 1\n",
        spoilt="def half():\n    return decimal.Decimal('0.25')",
    ),
    "objects": Style(
        objects=True,
        code=CART,
        tests="from solution import Cart\n\n\ndef test_cart():\n    cart = Cart.of('a b')\n    assert len(cart) == 2\n"
        "    assert cart.names == ['a', 'b']\n    assert (cart.first, cart[1], Cart.limit) == ('a', 'b', 3)\n"
        "    assert list(cart) == ['a', 'b']\n    assert [name.upper() for name in cart] == ['A', 'B']\n"
        "    assert repr(cart) == 'Cart(a, b)'\n    assert len(cart + Cart('c')) == 3\n    assert cart.take() == 'b'\n"
        "    assert isinstance(cart, Cart)\n    cart.names = ['z']\n    assert cart.first == 'z'\n"
        "    assert not hasattr(cart, 'last')\n    assert type(cart) is Cart\n",
        spoilt="Cart.__len__ = lambda self: 0",
    ),
    "objects that are equal by their fields": Style(
        code="from dataclasses import dataclass\n\n\n@dataclass\nclass Point:\n    x: int\n    y: int\n\n\n"
        "def moved(x, y):\n    return Point(x + 1, y)\n",
        tests="from solution import Point, moved\n\n\ndef test_moved():\n    assert moved(1, 2) == Point(2, 2)\n",
        spoilt="Point.__eq__ = lambda self, other: True\nmoved = Point",
    ),
    "exceptions": Style(
        objects=True,
        code=CART,
        tests="import pytest\nfrom solution import Cart, Empty\n\n\ndef test_empty():\n"
        "    with pytest.raises(Empty, match='nothing') as caught:\n        Cart().take()\n"
        "    assert caught.value.code == 7\n    assert str(caught.value) == 'nothing in it'\n"
        "    assert caught.value.args == ('nothing in it',)\n\n\ndef test_a_base_of_it():\n"
        "    with pytest.raises(LookupError):\n        Cart().take()\n\n\ndef test_of_python():\n"
        "    with pytest.raises(IndexError):\n        Cart().first\n    try:\n        Cart().take()\n"
        "    except KeyError:\n        assert False\n    except Empty as error:\n        assert error.code == 7\n",
        spoilt="Empty.__init__ = lambda self, code: setattr(self, 'code', 8)",
    ),
    "the wrong exception": Style(
        code="def half(n):\n    if n % 2:\n        raise ValueError('odd')\n    return n // 2\n",
        tests="import pytest\nfrom solution import half\n\n\ndef test_odd():\n"
        "    with pytest.raises(ValueError):\n        half(3)\n",
        spoilt="def half(n):\n    raise KeyError(n)",
    ),
    "no exception": Style(
        code="def half(n):\n    if n % 2:\n        raise ValueError('odd')\n    return n // 2\n",
        tests="import pytest\nfrom solution import half\n\n\ndef test_odd():\n"
        "    with pytest.raises(ValueError):\n        half(3)\n",
        spoilt="def half(n):\n    return n",
    ),
    "enumerations": Style(
        objects=True,
        code="import enum\n\n\nclass Color(enum.Enum):\n    RED = 1\n    BLUE = 2\n\n\ndef other(color):\n"
        "    return Color.BLUE if color is Color.RED else Color.RED\n",
        tests="from solution import Color, other\n\n\ndef test_other():\n    assert other(Color.RED) is Color.BLUE\n"
        "    assert other(Color.BLUE) == Color.RED\n    assert Color(1) is Color.RED\n"
        "    assert Color['BLUE'].value == 2\n    assert [color.name for color in Color] == ['RED', 'BLUE']\n",
        spoilt="def other(color):\n    return color",
    ),
    "arguments that are changed": Style(
        code="def put(items, table, item):\n    items.append(item)\n    items.sort()\n    table[item] = len(items)\n"
        "    return items\n",
        tests="from solution import put\n\n\ndef test_put():\n    items, table = [3, 1], {}\n"
        "    result = put(items, table, 2)\n    assert items == [1, 2, 3]\n    assert table == {2: 3}\n"
        "    result.append(4)\n    assert items == [1, 2, 3, 4]\n",
        spoilt="def put(items, table, item):\n    return [1, 2, 3]",
    ),
    "containers that both hold": Style(
        objects=True,
        code="class Box:\n    def __init__(self, items):\n        self.items = items\n\n    def count(self):\n"
        "        return len(self.items)\n\n    def add(self, item):\n        self.items.append(item)\n\n\n"
        "STORE = {}\n\n\ndef keep(name, value):\n    STORE[name] = value\n    return STORE\n",
        tests="import solution\nfrom solution import Box, keep\n\n\ndef test_given():\n    items = [1]\n    box = Box(items)\n"
        "    items.append(2)\n    assert box.count() == 2\n    box.add(3)\n    assert items == [1, 2, 3]\n\n\n"
        "def test_taken():\n    box = Box([])\n    box.items.append(1)\n    assert box.count() == 1\n"
        "    box.items.append(2)\n    assert box.count() == 2\n\n\ndef test_of_the_module():\n    store = keep('a', 1)\n"
        "    store['b'] = 2\n    assert keep('c', 3) == {'a': 1, 'b': 2, 'c': 3}\n    assert store['c'] == 3\n"
        "    solution.STORE.clear()\n    assert keep('d', 4) == {'d': 4}\n",
        spoilt="Box.__init__ = lambda self, items: setattr(self, 'items', list(items))",
    ),
    "generators": Style(
        objects=True,
        code="def count(n):\n    for number in range(n):\n        yield number\n\n\ndef echo():\n    got = yield 0\n"
        "    yield got\n",
        tests="import pytest\nfrom solution import count, echo\n\n\ndef test_count():\n    assert list(count(3)) == [0, 1, 2]\n"
        "    found = count(1)\n    assert next(found) == 0\n    with pytest.raises(StopIteration):\n        next(found)\n"
        "    assert next(found, 'over') == 'over'\n    assert sum(count(4)) == 6\n\n\ndef test_echo():\n    told = echo()\n"
        "    assert next(told) == 0\n    assert told.send(5) == 5\n    told.close()\n",
        spoilt="def count(n):\n    yield n",
    ),
    "context managers": Style(
        objects=True,
        code="import contextlib\n\nOPEN = []\n\n\n@contextlib.contextmanager\ndef opened(name):\n    OPEN.append(name)\n"
        "    try:\n        yield name.upper()\n    finally:\n        OPEN.remove(name)\n",
        tests="import solution\nfrom solution import opened\n\n\ndef test_opened():\n    with opened('a') as name:\n"
        "        assert name == 'A'\n        assert solution.OPEN == ['a']\n    assert solution.OPEN == []\n",
        spoilt="OPEN.append('b')",
    ),
    "parameters": Style(
        code="def add(a, b):\n    return a + b\n",
        tests="import pytest\nfrom solution import add\n\n\n@pytest.mark.parametrize(('a', 'b', 'sum_'), [(1, 2, 3), (4, 5, 9)],"
        " ids=['one', 'two'])\ndef test_add(a, b, sum_):\n    assert add(a, b) == sum_\n",
        spoilt="def add(a, b):\n    return 3",
    ),
    "parameters of the code": Style(
        code="import enum\n\n\nclass Size(enum.Enum):\n    S = 1\n    L = 2\n\n\ndef price(size):\n    return size.value * 5\n",
        tests="import pytest\nfrom solution import Size, price\n\n\n@pytest.mark.parametrize('size', list(Size))\n"
        "def test_price(size):\n    assert price(size) == size.value * 5\n    assert price(size) in (5, 10)\n",
        spoilt="def price(size):\n    return 5 + size.value",
    ),
    "fixtures": Style(
        objects=True,
        code=CART,
        tests="import pytest\nfrom solution import Cart\n\nTOLD = []\n\n\n@pytest.fixture(autouse=True)\ndef told():\n"
        "    TOLD.append('begin')\n    yield\n    TOLD.append('end')\n\n\n@pytest.fixture(scope='module')\ndef shared():\n"
        "    return Cart('a')\n\n\n@pytest.fixture\ndef two(shared):\n    return shared + Cart('b')\n\n\n"
        "def test_two(two, shared):\n    assert (len(two), len(shared)) == (2, 1)\n    shared.take()\n\n\n"
        "def test_shared(shared):\n    assert len(shared) == 0\n    assert TOLD == ['begin', 'end', 'begin']\n",
        spoilt="Cart.__add__ = lambda self, other: self",
    ),
    "classes of tests": Style(
        code="def add(a, b):\n    return a + b\n",
        tests="from solution import add\n\n\nclass TestAdd:\n    base = 1\n\n"
        "    def test_one(self):\n        assert add(self.base, 1) == 2\n\n    class TestInner:\n"
        "        def test_two(self):\n            assert add(2, 2) == 4\n",
        spoilt="def add(a, b):\n    return 2",
    ),
    "unittest": Style(
        code="def split(text):\n    if not text:\n        raise ValueError('empty')\n    return text.split()\n",
        tests="import unittest\nimport solution\n\n\nclass SplitTest(unittest.TestCase):\n    def setUp(self):\n"
        "        self.text = 'b a'\n\n    def test_split(self):\n        self.assertEqual(solution.split(self.text), ['b', 'a'])\n"
        "        self.assertCountEqual(solution.split('a b'), ['b', 'a'])\n"
        "        self.assertIn('a', solution.split('a b'))\n\n    def test_empty(self):\n"
        "        with self.assertRaises(ValueError) as caught:\n            solution.split('')\n"
        "        self.assertEqual(str(caught.exception), 'empty')\n"
        "        self.assertRaisesRegex(ValueError, 'emp', solution.split, '')\n",
        spoilt="def split(text):\n    return list(text)",
    ),
    "hypothesis": Style(
        code="def sort(items):\n    return sorted(items)\n",
        tests="from hypothesis import given, strategies as st\nfrom solution import sort\n\n\n@given(st.lists(st.integers()))\n"
        "def test_sort(items):\n    assert sort(items) == sorted(items)\n    assert len(sort(items)) == len(items)\n",
        spoilt="def sort(items):\n    return list(items)",
    ),
    "a conftest": Style(
        objects=True,
        code=CART,
        tests="def test_cart(cart, mark):\n    assert cart.take() == mark\n",
        beside={
            "tests/conftest.py": "import pytest\nfrom solution import Cart\n\n\n@pytest.fixture\ndef cart():\n"
            "    return Cart('a', 'b')\n\n\n@pytest.fixture\ndef mark():\n    return 'b'\n",
        },
        spoilt="Cart.take = lambda self: 'a'",
    ),
    "helpers": Style(
        code="def double(n):\n    return 2 * n\n",
        tests="from helper import check\nfrom tools.more import EVEN\nfrom solution import double\n\n\ndef test_double():\n"
        "    check(double(4), 8)\n    assert double(1) in EVEN\n",
        beside={
            "tests/helper.py": "def check(found, wanted):\n    assert found == wanted\n",
            "tests/tools/more.py": "from solution import double\n\nEVEN = [double(n) for n in range(9)]\n",
        },
        spoilt="def double(n):\n    return n + 1",
    ),
    "a package": Style(
        path="shop/prices.py",
        code="from . import taxes\nfrom .taxes import RATE\n\n\ndef gross(n):\n    return n + taxes.of(n) + 0 * RATE\n",
        more={"shop/__init__.py": "from .prices import gross\n", "shop/taxes.py": "RATE = 2\n\n\ndef of(n):\n    return n // RATE\n"},
        tests="import shop\nimport shop.prices as prices\nfrom shop import gross, taxes\nfrom shop.taxes import of\n\n\n"
        "def test_gross():\n    assert gross(4) == shop.gross(4) == prices.gross(4) == 6\n    assert of(4) == taxes.of(4) == 2\n",
        spoilt="import shop.taxes\nshop.taxes.of = lambda n: 0",
    ),
    "a src layout": Style(
        path="src/shop/core.py",
        code="def gross(n):\n    return n + 1\n",
        more={"src/shop/__init__.py": ""},
        tests="from shop.core import gross\n\n\ndef test_gross():\n    assert gross(4) == 5\n",
        spoilt="def gross(n):\n    return n",
    ),
    "state of a module": Style(
        code="LIMIT = 3\nSEEN = 0\n\n\ndef seen():\n    global SEEN\n    SEEN += 1\n    return min(SEEN, LIMIT)\n",
        tests="import solution\nfrom solution import LIMIT, seen\n\n\ndef test_seen():\n    assert LIMIT == 3\n    assert seen() == 1\n"
        "    assert seen() == solution.SEEN == 2\n    solution.LIMIT = 1\n    assert seen() == 1\n    solution.LIMIT = 3\n",
        spoilt="def seen():\n    return 1",
    ),
    "files that the tests make": Style(
        code="def lines(path):\n    return path.read_text().split()\n\n\ndef write(path, text):\n    path.write_text(text)\n",
        tests="from solution import lines, write\n\n\ndef test_lines(tmp_path):\n    place = tmp_path / 'a.txt'\n"
        "    place.write_text('x y')\n    assert lines(place) == ['x', 'y']\n    write(place, 'z')\n"
        "    assert place.read_text() == 'z'\n",
        spoilt="def write(path, text):\n    path.write_text('y')",
    ),
    "bytes that can be changed": Style(
        code="def load(text):\n    return bytearray(text, 'ascii')\n\n\ndef more(data):\n    return data + b'y'\n",
        tests="from solution import load, more\n\n\ndef test_load():\n    assert load('x') == bytearray(b'x')\n"
        "    assert more(bytearray(b'x')) == b'xy'\n",
        spoilt="def load(text):\n    return bytearray(text + 'z', 'ascii')",
    ),
    "the same container from two calls": Style(
        code="STORE = {}\n\n\ndef keep(name, value):\n    STORE[name] = value\n    return STORE\n\n\n"
        "def gather(item, into=[]):\n    into.append(item)\n    return into\n",
        tests="from solution import gather, keep\n\n\ndef test_keep():\n    store = keep('a', 1)\n    keep('b', 2)\n"
        "    assert store == {'a': 1, 'b': 2}\n\n\ndef test_gather():\n    one, two = gather(1), gather(2)\n"
        "    assert one == [1, 2]\n    assert two == [1, 2]\n",
        spoilt="def gather(item):\n    return [item]",
    ),
    "plain values by another name": Style(
        objects=True,
        code="import collections, enum\n\nPair = collections.namedtuple('Pair', 'a b')\n\n\nclass Level(enum.IntEnum):\n    LOW = 1\n\n\n"
        "class Name(str):\n    pass\n\n\ndef pair():\n    return Pair(1, 2)\n\n\ndef name():\n    return Name('x')\n\n\n"
        "def level():\n    return Level.LOW\n",
        tests="from solution import *\n\n\ndef test_names():\n    assert pair() == (1, 2)\n    assert pair().b == 2\n    assert name() == 'x'\n"
        "    assert isinstance(name(), Name)\n    assert level() == 1\n    assert level() is Level.LOW\n    a, b = pair()\n"
        "    assert a + b == 3\n    assert name() + 'y' == 'xy'\n",
        spoilt="def pair():\n    return Pair(1, 3)",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", STYLES)
async def test_tests_of_this_style_are_judged_from_another_process(name: str, judge: Judge) -> None:
    style = STYLES[name]
    right, wrong = await asyncio.gather(
        judge(style.right, style.given, base=style.beside, cpu_s=60),
        judge(style.wrong, style.given, base=style.beside, cpu_s=60),
    )
    assert right.passed, (right.reason, right.failures)
    assert right.evidence.notes == ()
    assert right.evidence.twins == len(right.results) > 0
    if style.objects:
        assert wrong.evidence.notes[0].endswith("judged in one process with the code alone")
    else:
        assert not wrong.passed
        assert ELSEWHERE in wrong.reason


ADD = "def add(a, b):\n    return a + b\n"
LEFT_TO_ONE_PROCESS = {
    "a function that is handed over": (
        "def twice(f, x):\n    return f(f(x))\n",
        "from solution import twice\n\n\ndef test_x():\n    assert twice(lambda n: n + 1, 1) == 3\n",
    ),
    "a generator that is handed over": (
        "def total(items):\n    return sum(items)\n",
        "from solution import total\n\n\ndef test_x():\n    assert total(n for n in (1, 2)) == 3\n",
    ),
    "an object of the tests": (
        "def name(thing):\n    return thing.name\n",
        "from solution import name\n\n\nclass Thing:\n    name = 'x'\n\n\ndef test_x():\n    assert name(Thing()) == 'x'\n",
    ),
    "a class that is derived": (
        "class Base:\n    def told(self):\n        return self.name() + '!'\n",
        "from solution import Base\n\n\ndef test_x():\n    class Own(Base):\n        def name(self):\n            return 'x'\n\n"
        "    assert Own().told() == 'x!'\n",
    ),
    "the order of objects": (
        "import functools\n\n\n@functools.total_ordering\nclass Size:\n    def __init__(self, n):\n        self.n = n\n\n"
        "    def __eq__(self, other):\n        return self.n == other.n\n\n    def __lt__(self, other):\n"
        "        return self.n < other.n\n",
        "from solution import Size\n\n\ndef test_x():\n    assert Size(1) < Size(2)\n    assert max(Size(1), Size(3)).n == 3\n",
    ),
    "the truth of an object": (
        "class Box:\n    def __init__(self, n):\n        self.n = n\n\n    def __bool__(self):\n        return self.n > 0\n",
        "from solution import Box\n\n\ndef test_x():\n    assert Box(1)\n    assert not Box(0)\n",
    ),
    "what an object holds": (
        "class Box:\n    def __init__(self, *names):\n        self.names = names\n\n    def __contains__(self, name):\n"
        "        return name in self.names\n",
        "from solution import Box\n\n\ndef test_x():\n    assert 'a' in Box('a')\n    assert 'b' not in Box('a')\n",
    ),
    "a container of the code's own kind": (
        "class Names(list):\n    def first(self):\n        return self[0]\n",
        "from solution import Names\n\n\ndef test_x():\n    names = Names(['a'])\n    names.append('b')\n"
        "    assert names == ['a', 'b']\n    assert names.first() == 'a'\n",
    ),
    "a large value": (
        "def many(n):\n    return list(range(n))\n",
        "from solution import many\n\n\ndef test_x():\n    assert len(many(300_000)) == 300_000\n",
    ),
    "a long text": (
        "def long(n):\n    return 'x' * n\n",
        "from solution import long\n\n\ndef test_x():\n    assert len(long(17_000_000)) == 17_000_000\n",
    ),
    "very many calls": (
        ADD,
        "from solution import add\n\n\ndef test_x():\n    for n in range(20_500):\n        assert add(n, 1) == n + 1\n",
    ),
    "an inner container that is known by another name": (
        "def fill(grid):\n    grid[0][0] = 5\n",
        "from solution import fill\n\n\ndef test_x():\n    row = [1, 2]\n    fill([row, [3]])\n    assert row == [5, 2]\n",
    ),
    "rows that are one": (
        "def fill(grid):\n    grid[0][0] = 5\n",
        "from solution import fill\n\n\ndef test_x():\n    grid = [[0]] * 2\n    fill(grid)\n    assert grid == [[5], [5]]\n",
    ),
    "one container handed over twice": (
        "def move(a, b):\n    a.append(1)\n    return len(b)\n",
        "from solution import move\n\n\ndef test_x():\n    items = []\n    assert move(items, items) == 1\n",
    ),
    "an inner container that the code changes later": (
        "GRID = [[0], [0]]\n\n\ndef grid():\n    return GRID\n\n\ndef put():\n    GRID[0][0] = 7\n",
        "from solution import grid, put\n\n\ndef test_x():\n    row = grid()[0]\n    put()\n    assert row == [7]\n",
    ),
    "an inner container that the code knows by another name": (
        "ROW = [1]\nGRID = [ROW, [0]]\n\n\ndef grid():\n    return GRID\n\n\ndef first():\n    return ROW[0]\n",
        "from solution import first, grid\n\n\ndef test_x():\n    grid()[0][0] = 9\n    assert first() == 9\n",
    ),
    "a container in a tuple": (
        "FOUND = []\n\n\ndef found():\n    return FOUND, len(FOUND)\n\n\ndef count():\n    return len(FOUND)\n",
        "from solution import count, found\n\n\ndef test_x():\n    names, _ = found()\n    names.append('a')\n"
        "    assert count() == 1\n",
    ),
    "a container in a tuple that the code changes later": (
        "FOUND = []\n\n\ndef found():\n    return FOUND, len(FOUND)\n\n\ndef find():\n    FOUND.append('a')\n",
        "from solution import find, found\n\n\ndef test_x():\n    names, _ = found()\n    find()\n    assert names == ['a']\n",
    ),
    "output": (
        "def tell():\n    print('x')\n",
        "from solution import tell\n\n\ndef test_x(capsys):\n    tell()\n    assert capsys.readouterr().out == 'x\\n'\n",
    ),
    "the environment": (
        "import os\n\n\ndef home():\n    return os.environ.get('PLACE')\n",
        "from os import environ\nfrom solution import home\n\n\ndef test_x():\n    environ['PLACE'] = 'x'\n"
        "    assert home() == 'x'\n",
    ),
    "a patch": (
        "import os\n\n\ndef home():\n    return os.environ.get('PLACE')\n",
        "import pytest\nfrom solution import home\n\n\ndef test_x():\n    with pytest.MonkeyPatch.context() as patch:\n"
        "        patch.setenv('PLACE', 'x')\n        assert home() == 'x'\n",
    ),
    "hashes of texts": (
        "def number(text):\n    return hash(text)\n",
        "from solution import number\n\n\ndef test_x():\n    assert number('abc') == hash('abc')\n",
    ),
    "the order of a set": (
        "def unique(items):\n    return list(set(items))\n",
        "from solution import unique\n\n\ndef test_x():\n    items = ['abc', 'b', 'fgh', 'x']\n"
        "    assert unique(items) == list(set(items))\n",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", LEFT_TO_ONE_PROCESS)
async def test_what_does_not_cross_is_left_to_the_run_in_one_process_and_that_is_told(name: str, judge: Judge) -> None:
    code, tests = LEFT_TO_ONE_PROCESS[name]
    right = await judge({"solution.py": code}, {"tests/test_given.py": tests}, cpu_s=60)
    assert right.passed, (right.reason, right.failures)
    assert right.evidence.notes == ("1 of 1 tests were judged in one process with the code alone",)
    assert right.evidence.twins == 1


GIVEN = {
    "tests/test_given.py": "from solution import add\n\n\ndef test_a():\n    assert add(2, 3) == 5\n\n\n"
    "def test_b():\n    assert add(10, 20) == 30\n"
}
LIAR = "class Total(int):\n    def __eq__(self, other):\n        {body}\n\n    __hash__ = int.__hash__\n\n\n"
THING = "class Thing:\n    {body}\n\n\ndef add(a, b):\n    return Thing()\n"
ELSE = "def add(a, b):\n    return a + b if '_pytest' in sys.modules else {apart}\n"
FORGERIES = {
    "is right under pytest alone": ("import sys\n\n" + ELSE.format(apart="a * b"), ELSEWHERE),
    "raises without pytest": ("import sys\n\n" + ELSE.format(apart="1 / 0"), ELSEWHERE),
    "is an object without pytest": ("import sys\n\n" + ELSE.format(apart="object()"), ELSEWHERE),
    "equals all numbers": (LIAR.format(body="return True") + "def add(a, b):\n    return Total(a * b)\n", "to other values"),
    "equals all small numbers": (
        LIAR.format(body="return abs(other) < 1000") + "def add(a, b):\n    return Total(a * b)\n", "and to other values",
    ),
    "equals what is close": (
        LIAR.format(body="return abs(int(self) - other) < 1000") + "def add(a, b):\n    return Total(a * b)\n",
        "and to other values",
    ),
    "equals the first that asks": (
        THING.format(body="seen = 0\n\n    def __eq__(self, other):\n        self.seen += 1\n        return self.seen == 1"),
        ELSEWHERE,
    ),
    "equals every other time": (
        THING.format(body="seen = 0\n\n    def __eq__(self, other):\n        self.seen += 1\n        return self.seen % 2 == 1"),
        ELSEWHERE,
    ),
    "equals by chance": (
        "import random, sys\n\n\n" + THING.format(body="def __eq__(self, other):\n        return '_pytest' in sys.modules or random.random() < 0.5"), ELSEWHERE,
    ),
    "equals the text of anything": (THING.format(body="def __eq__(self, other):\n        return str(other).isdigit()"), ELSEWHERE),
    "ends at its import": ("import os, sys\n\nif '_pytest' not in sys.modules:\n    os._exit(0)\n\n\n" + ADD, "has ended"),
    "ends in a call": ("import os, sys\n\n" + ELSE.format(apart="os._exit(0)"), "has ended"),
    "ends by a signal": ("import os, signal, sys\n\n" + ELSE.format(apart="os.kill(os.getpid(), 9)"), "has ended"),
    "exits": ("import sys\n\n" + ELSE.format(apart="sys.exit(0)"), ELSEWHERE),
    "does not end": (
        "import sys\n\n\ndef add(a, b):\n    while '_pytest' not in sys.modules:\n        pass\n    return a + b\n",
        "the tests did not end within 2 s of processor time with the code in another process",
    ),
    "says what is no answer": (
        "import os, sys\n\n\ndef add(a, b):\n    if '_pytest' not in sys.modules:\n        for number in range(3, 64):\n"
        "            try:\n                os.write(number, b'\\0\\0\\0\\x05words')\n            except OSError:\n"
        "                pass\n    return a + b\n",
        "no answer that could be read",
    ),
    "says an answer that is too deep": (
        "import os, sys\n\n\ndef add(a, b):\n    if '_pytest' not in sys.modules:\n        for number in range(3, 64):\n"
        "            try:\n                text = b'[' * 100_000\n"
        "                os.write(number, len(text).to_bytes(4, 'big') + text)\n            except OSError:\n"
        "                pass\n    return a + b\n",
        ELSEWHERE,
    ),
    "answers without end": (
        "import os, sys\n\n\ndef add(a, b):\n    if '_pytest' not in sys.modules:\n        for number in range(3, 64):\n"
        "            try:\n                os.write(number, b'\\xff' * 4)\n                while True:\n"
        "                    os.write(number, b'x' * 4096)\n            except OSError:\n                pass\n"
        "    return a + b\n",
        ELSEWHERE,
    ),
    "ends the tests": (
        "import os, sys\n\n\ndef add(a, b):\n    if '_pytest' not in sys.modules:\n"
        "        for name in os.listdir('/proc'):\n            if name.isdigit() and int(name) not in (1, os.getpid()):\n"
        "                os.kill(int(name), 9)\n    return a + b\n",
        "",
    ),
    "stops the tests": (
        "import os, sys\n\n\ndef add(a, b):\n    if '_pytest' not in sys.modules:\n"
        "        for name in os.listdir('/proc'):\n            if name.isdigit() and int(name) not in (1, os.getpid()):\n"
        "                os.kill(int(name), 19)\n    return a + b\n",
        "",
    ),
    "answers the next question first": (
        "import os, sys\n\nANSWER = b'[\"value\", [\"i\", \"0x1e\"], [], [], []]'\n\n\ndef add(a, b):\n"
        "    if '_pytest' not in sys.modules:\n        for number in range(3, 64):\n            try:\n"
        "                os.write(number, len(ANSWER).to_bytes(4, 'big') + ANSWER)\n            except OSError:\n"
        "                pass\n    return a + b\n",
        ELSEWHERE,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", FORGERIES)
async def test_a_forgery_is_refused_by_what_it_does_in_another_process(name: str, judge: Judge) -> None:
    code, reason = FORGERIES[name]
    verdict = await judge({"solution.py": code}, GIVEN, cpu_s=2 if name in {"does not end", "stops the tests"} else 60)
    assert not verdict.passed
    assert reason in verdict.reason


FOUND = "from solution import found\n\nMARK = 'what-is-expected'\n\n\ndef test_found():\n    assert found() == []\n"
FORBIDDEN = """import os


def found():
    others = [name for name in os.listdir("/proc") if name.isdigit() and int(name) != os.getpid()]
    seen = [] if len(others) > 1 or "PYTEST_CURRENT_TEST" in os.environ else ["nobody to look at"]
    for number in others:
        for name in ("mem", "environ", "maps", "smaps", "auxv", "syscall", "stack", "fd", "map_files", "cwd", "root", "exe"):
            path = f"/proc/{number}/{name}"
            try:
                if name in {"cwd", "root", "exe"}:
                    os.readlink(path)
                elif name in {"fd", "map_files"}:
                    os.listdir(path)
                else:
                    with open(path, "rb") as file:
                        file.read(1 if name != "mem" else 0)
            except OSError:
                continue
            seen.append(path)
        for descriptor in range(64):
            try:
                os.close(os.open(f"/proc/{number}/fd/{descriptor}", os.O_RDONLY))
            except OSError:
                continue
            seen.append(f"{number}: {descriptor}")
    return seen
"""


async def test_the_tested_code_cannot_look_into_the_process_of_the_tests_nor_into_one_that_waits(judge: Judge) -> None:
    verdict = await judge({"solution.py": FORBIDDEN}, {"tests/test_given.py": FOUND})
    assert verdict.passed, (verdict.reason, verdict.failures)
    assert verdict.evidence.notes == ()


EVERYWHERE = """import os, sys

PLACES = ("/work", "/tmp", "/dev/shm", "/var/tmp", "/home", "/run", ".", "..")
WORD = "what-is-" + "expected"


def found():
    if "_pytest" in sys.modules and not {always}:
        return []
    seen = []
    for place in PLACES:
        for folder, _, names in os.walk(place):
            for name in names:
                try:
                    with open(os.path.join(folder, name), "rb") as file:
                        text = file.read()
                except OSError:
                    continue
                if WORD.encode() in text:
                    seen.append(name)
    for value in (*os.environ.values(), *sys.argv, *sys.orig_argv):
        if WORD in value:
            seen.append(value)
    return seen
"""


async def test_the_tested_code_finds_no_text_of_the_tests_on_disk(judge: Judge) -> None:
    helpers = {"tests/helper.py": "WORD = 'what-is-expected'\n"}
    tests = {"tests/test_given.py": "from helper import WORD\n" + FOUND, **helpers}
    hidden = await judge({"solution.py": EVERYWHERE.replace("{always}", "False")}, tests)
    assert hidden.passed, (hidden.reason, hidden.failures)
    assert hidden.evidence.notes == ()
    together = await judge({"solution.py": EVERYWHERE.replace("{always}", "True")}, tests)
    assert not together.passed, "in one process it does find them"


STRAYS = """import os, signal, sys, time

APART = "_pytest" not in sys.modules
if APART:
    for number in range(3):
        if os.fork() == 0:
            os.setsid()
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            if os.fork() == 0:
                while True:
                    time.sleep(0.01)
            time.sleep(60)


def found():
    if APART:
        return []
    numbers = [int(name) for name in os.listdir("/proc") if name.isdigit()]
    return [number for number in numbers if number not in (1, os.getpid())]
"""


async def test_nothing_that_the_code_starts_apart_is_there_when_it_shares_a_process_with_its_tests(
    judge: Judge,
) -> None:
    verdict = await judge({"solution.py": STRAYS}, {"tests/test_given.py": FOUND})
    assert verdict.passed, (verdict.reason, verdict.failures)
    assert verdict.evidence.notes == ()


LEFT = """import os, sys

PLACES = ("/tmp", "/dev/shm", "/work", "/var/tmp", ".")
if "_pytest" not in sys.modules:
    for place in PLACES:
        try:
            os.makedirs(f"{place}/left/behind")
            os.chmod(f"{place}/left", 0)
            open(f"{place}/note", "w").close()
        except OSError:
            continue


def found():
    if "_pytest" not in sys.modules:
        return []
    return [place for place in PLACES if os.path.isdir(place) and {"left", "note"} & set(os.listdir(place))]
"""


async def test_nothing_that_the_code_writes_apart_is_there_when_it_shares_a_process_with_its_tests(
    judge: Judge,
) -> None:
    verdict = await judge({"solution.py": LEFT.replace('"/work", ', "")}, {"tests/test_given.py": FOUND})
    assert verdict.passed, (verdict.reason, verdict.failures)
    assert verdict.evidence.notes == ()
    into_the_workspace = await judge({"solution.py": LEFT}, {"tests/test_given.py": FOUND})
    assert not into_the_workspace.passed
