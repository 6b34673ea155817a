"""Small functions without a body, with typical tests, and further checks that the search does not see."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """A stub: its text, the lines of its tests (each an `assert`, all in one test), and the hidden checks."""

    code: str
    tests: str
    hidden: str

    @property
    def name(self) -> str:
        """The function's name."""
        return self.code.split("def ", 1)[1].split("(", 1)[0]


def _task(code: str, tests: str, hidden: str) -> Task:
    return Task(code=code.strip() + "\n", tests=tests.strip() + "\n", hidden=hidden.strip() + "\n")


STUBS = (
    _task(
        'def bounded(x, low, high):\n    """Bring x between low and high."""\n    pass',
        "assert bounded(5, 0, 10) == 5\nassert bounded(-5, 0, 10) == 0\nassert bounded(15, 0, 10) == 10\n"
        "assert bounded(3, 4, 8) == 4\nassert bounded(9, 4, 8) == 8",
        "assert bounded(7, 1, 7) == 7\nassert bounded(-9, -3, -1) == -3",
    ),
    _task(
        'def vowel_count(text):\n    """How many of the letters `aeiou` a text has, in any case."""\n    ...',
        "assert vowel_count('banana') == 3\nassert vowel_count('Umbrella') == 3\nassert vowel_count('xyz') == 0\n"
        "assert vowel_count('') == 0\nassert vowel_count('AEIOU') == 5",
        "assert vowel_count('Queue') == 4\nassert vowel_count('rhythm and blues') == 3",
    ),
    _task(
        'def initials(name: str) -> str:\n    """The first letters of a name\'s parts, in capitals."""\n'
        "    raise NotImplementedError",
        "assert initials('rosa valentina marsh') == 'RVM'\nassert initials('Kofi Owusu') == 'KO'\n"
        "assert initials('prince') == 'P'",
        "assert initials('anna de la cruz') == 'ADLC'\nassert initials('') == ''",
    ),
    _task(
        'def runner_up(scores):\n    """The second largest of the different scores."""\n    pass',
        "assert runner_up([1, 5, 3]) == 3\nassert runner_up([9, 8, 7, 9]) == 8\nassert runner_up([2, 2, 1]) == 1\n"
        "assert runner_up([4, 10, -3, 10, 6]) == 6",
        "assert runner_up([5, 5, 5, 4, 3]) == 4\nassert runner_up([-1, -2]) == -2",
    ),
    _task(
        'def long_words(text, n):\n    """The words of a text that are longer than n letters."""\n    pass',
        "assert long_words('the quick brown fox', 4) == ['quick', 'brown']\nassert long_words('a bb ccc', 1) == "
        "['bb', 'ccc']\nassert long_words('', 3) == []\nassert long_words('a bb ccc', 5) == []",
        "assert long_words('one three five eleven', 3) == ['three', 'five', 'eleven']",
    ),
    _task(
        'def high_marks(values: list[int]) -> list[int]:\n    """For each value the largest up to it."""\n    pass',
        "assert high_marks([1, 3, 2, 5, 4]) == [1, 3, 3, 5, 5]\nassert high_marks([]) == []\n"
        "assert high_marks([3, 2, 1]) == [3, 3, 3]\nassert high_marks([-2, -5, 0]) == [-2, -2, 0]",
        "assert high_marks([7, 7, 8, 1, 9]) == [7, 7, 8, 8, 9]",
    ),
    _task(
        'def ascending(values):\n    """Whether each value is at least as large as the one before."""\n    pass',
        "assert ascending([1, 2, 2, 5])\nassert not ascending([3, 1, 2])\nassert ascending([])\nassert ascending([4])\n"
        "assert not ascending([1, 2, 3, 2])\nassert not ascending([5, 4])\nassert ascending([-3, 0, 9])",
        "assert ascending([1, 1])\nassert not ascending([0, -1, 5, 6])",
    ),
    _task(
        'def headline(text, small):\n    """Capitalise each word but those in small."""\n    pass',
        "assert headline('a tale of two cities', ['of', 'a']) == 'a Tale of Two Cities'\n"
        "assert headline('war and peace', ['and']) == 'War and Peace'\nassert headline('dune', []) == 'Dune'\n"
        "assert headline('the end of the road', ['of', 'the']) == 'the End of the Road'",
        "assert headline('sense and sense', ['and', 'or']) == 'Sense and Sense'",
    ),
    _task(
        'def digit_total(n: int) -> int:\n    """The sum of the digits of n."""\n    pass',
        "for n, wanted in [(123, 6), (0, 0), (99, 18), (4051, 10)]:\n    assert digit_total(n) == wanted",
        "assert digit_total(100000) == 1\nassert digit_total(87) == 15",
    ),
    _task(
        'def mean_or_zero(values) -> float:\n    """The mean, 0 for no values."""\n    pass',
        "assert mean_or_zero([1, 2, 3]) == pytest.approx(2)\nassert mean_or_zero([]) == 0\n"
        "assert mean_or_zero([1, 2]) == pytest.approx(1.5)\nassert mean_or_zero([10]) == 10\n"
        "assert mean_or_zero([2, 2, 5, 4]) == pytest.approx(3.25)",
        "assert abs(mean_or_zero([0.5, 1.5, 4]) - 2.0) < 1e-9",
    ),
    _task(
        'def mirrored(text):\n    """Whether a text reads the same from behind, whatever the case."""\n    pass',
        "assert mirrored('Anna') is True\nassert mirrored('hello') is False\nassert mirrored('') is True\n"
        "assert mirrored('Level') is True\nassert mirrored('ab') is False\nassert mirrored('abca') is False\n"
        "assert mirrored('noon') is True\nassert mirrored('Ab Ba') is True",
        "assert mirrored('RotOr') is True\nassert mirrored('abab') is False",
    ),
    _task(
        'def flattened(rows):\n    """All items of all rows."""\n    pass',
        "assert flattened([[1, 2], [3]]) == [1, 2, 3]\nassert flattened([]) == []\n"
        "assert flattened([[], [4, 4]]) == [4, 4]",
        "assert flattened([['a'], ['b', 'c'], []]) == ['a', 'b', 'c']",
    ),
    _task(
        'def distinct(items):\n    """The items without repetitions, in their order."""\n    pass',
        "assert distinct([3, 1, 3, 2, 1]) == [3, 1, 2]\nassert distinct([]) == []\nassert distinct(['b', 'a', 'b']) == "
        "['b', 'a']",
        "assert distinct([9, 9, 9, 1]) == [9, 1]",
    ),
    _task(
        'def favourite(votes: list[str]) -> str:\n    """What was voted for most often."""\n    pass',
        "assert favourite(['a', 'b', 'a']) == 'a'\nassert favourite(['tea']) == 'tea'\n"
        "assert favourite(['x', 'y', 'y', 'z', 'y', 'x']) == 'y'\nassert favourite(['q', 'r', 'r', 'p']) == 'r'\n"
        "assert favourite(['oak', 'elm', 'oak', 'ash', 'elm', 'elm', 'ash']) == 'elm'\n"
        "assert favourite(['b', 'a', 'c', 'c', 'a', 'c', 'b']) == 'c'",
        "assert favourite(['m', 'n', 'm', 'n', 'n']) == 'n'\nassert favourite(['zz', 'zz', 'a']) == 'zz'",
    ),
    _task(
        'def portions(items, n):\n    """Cut a list into parts of n items; the last may be shorter."""\n    pass',
        "assert portions([1, 2, 3, 4, 5], 2) == [[1, 2], [3, 4], [5]]\nassert portions([], 3) == []\n"
        "assert portions([1, 2, 3], 3) == [[1, 2, 3]]\nassert portions([7, 8, 9, 6], 1) == [[7], [8], [9], [6]]",
        "assert portions(list(range(7)), 3) == [[0, 1, 2], [3, 4, 5], [6]]",
    ),
    _task(
        'def columns(rows):\n    """Rows turned into columns."""\n    pass',
        "assert columns([[1, 2], [3, 4]]) == [[1, 3], [2, 4]]\nassert columns([[1, 2, 3]]) == [[1], [2], [3]]\n"
        "assert columns([]) == []\n"
        "assert columns([[9, 2], [4, 7], [5, 1]]) == [[9, 4, 5], [2, 7, 1]]",
        "assert columns([[1], [2]]) == [[1, 2]]",
    ),
    _task(
        'def drum(n):\n    """`boom` for multiples of 3, `tick` for multiples of 5, `crash` for both, else n."""\n'
        "    pass",
        "assert drum(1) == '1'\nassert drum(3) == 'boom'\nassert drum(5) == 'tick'\nassert drum(15) == 'crash'\n"
        "assert drum(6) == 'boom'\nassert drum(10) == 'tick'\nassert drum(30) == 'crash'\nassert drum(7) == '7'\n"
        "assert drum(9) == 'boom'\nassert drum(22) == '22'\nassert drum(45) == 'crash'\nassert drum(25) == 'tick'",
        "assert drum(60) == 'crash'\nassert drum(27) == 'boom'\nassert drum(50) == 'tick'\nassert drum(101) == '101'",
    ),
    _task(
        'def long_year(year):\n    """Every 4th year is long, but not every 100th, but again every 400th."""\n    pass',
        "assert long_year(2024)\nassert not long_year(2023)\nassert not long_year(1900)\nassert long_year(2000)\n"
        "assert not long_year(2100)\nassert long_year(1996)\nassert not long_year(1999)\nassert long_year(1600)\n"
        "assert not long_year(1800)\nassert not long_year(2022)",
        "assert long_year(2400)\nassert not long_year(2200)\nassert long_year(2008)\nassert not long_year(2001)",
    ),
    _task(
        'def tally(text):\n    """How often each word occurs."""\n    pass',
        "assert tally('a b a') == {'a': 2, 'b': 1}\nassert tally('') == {}\nassert tally('one two two') == {'one': 1, "
        "'two': 2}",
        "assert tally('x x x y') == {'x': 3, 'y': 1}",
    ),
    _task(
        'def by_length(words):\n    """Words by their length."""\n    pass',
        "assert by_length(['a', 'bb', 'c']) == {1: ['a', 'c'], 2: ['bb']}\nassert by_length([]) == {}\n"
        "assert by_length(['sun', 'sea', 'moon']) == {3: ['sun', 'sea'], 4: ['moon']}",
        "assert by_length(['x', 'yy', 'zz', 'w']) == {1: ['x', 'w'], 2: ['yy', 'zz']}",
    ),
    _task(
        'def woven(left, right):\n    """Items of both lists in turn."""\n    pass',
        "assert woven([1, 2], [3, 4]) == [1, 3, 2, 4]\nassert woven([], []) == []\nassert woven(['a'], ['b']) == "
        "['a', 'b']",
        "assert woven([1, 1, 1], [2, 2, 2]) == [1, 2, 1, 2, 1, 2]",
    ),
    _task(
        'def fahrenheit(celsius: float) -> float:\n    """Degrees: times 9, by 5, plus 32."""\n    pass',
        "assert fahrenheit(0) == 32\nassert fahrenheit(100) == 212\nassert fahrenheit(-40) == -40\n"
        "assert fahrenheit(37) == pytest.approx(98.6)",
        "assert fahrenheit(10) == 50",
    ),
    _task(
        'def differences(left, right):\n    """At how many places two texts of one length differ."""\n    pass',
        "assert differences('karo', 'kilo') == 2\nassert differences('', '') == 0\n"
        "assert differences('abc', 'abc') == 0"
        "\nassert differences('abc', 'xyz') == 3\nassert differences('toast', 'roast') == 1\n"
        "assert differences('stressed', 'desserts') == 8\nassert differences('abba', 'baab') == 4",
        "assert differences('aabb', 'abab') == 2",
    ),
    _task(
        'def divisors(n):\n    """All divisors of n, the smallest first."""\n    pass',
        "assert divisors(6) == [1, 2, 3, 6]\nassert divisors(1) == [1]\nassert divisors(7) == [1, 7]\n"
        "assert divisors(12) == [1, 2, 3, 4, 6, 12]",
        "assert divisors(9) == [1, 3, 9]\nassert divisors(10) == [1, 2, 5, 10]",
    ),
    _task(
        'def is_square(n: int) -> bool:\n    """Whether n is the square of a whole number."""\n    pass',
        "assert is_square(4)\nassert not is_square(3)\nassert is_square(1)\nassert is_square(49)\n"
        "assert not is_square(50)\n"
        "assert is_square(0)\nassert not is_square(8)\nassert is_square(36)\nassert not is_square(12)",
        "assert is_square(100)\nassert not is_square(99)\nassert not is_square(2)\nassert is_square(16)",
    ),
    _task(
        'def lengths(text):\n    """The lengths of the runs of equal letters."""\n    pass',
        "assert lengths('aabccc') == [2, 1, 3]\nassert lengths('') == []\nassert lengths('zzz') == [3]\n"
        "assert lengths('abab') == [1, 1, 1, 1]",
        "assert lengths('xxyyx') == [2, 2, 1]",
    ),
    _task(
        'def address(first, last, host):\n    """An address: address("ann", "lee", "x.org") -> "ann.lee@x.org"."""\n'
        "    pass",
        "assert address('Bob', 'Stone', 'mail.net') == 'bob.stone@mail.net'\n"
        "assert address('eva', 'Maria', 'a.b') == 'eva.maria@a.b'",
        "assert address('X', 'Y', 'z.de') == 'x.y@z.de'",
    ),
    _task(
        'def spread(values):\n    """The largest value less the smallest."""\n    pass',
        "assert spread([4, 9, 1]) == 8\nassert spread([5]) == 0\nassert spread([-2, 2]) == 4\n"
        "assert spread([3, 3]) == 0",
        "assert spread([10, 7, 8]) == 3",
    ),
    _task(
        'def rotated(items, k):\n    """The list with its first k items at the end."""\n    pass',
        "assert rotated([1, 2, 3, 4], 1) == [2, 3, 4, 1]\nassert rotated([1, 2, 3, 4], 3) == [4, 1, 2, 3]\n"
        "assert rotated([5, 6], 0) == [5, 6]\nassert rotated(['a', 'b', 'c'], 2) == ['c', 'a', 'b']\n"
        "assert rotated([1, 1, 2, 1], 2) == [2, 1, 1, 1]",
        "assert rotated([1, 2, 3, 4, 5], 4) == [5, 1, 2, 3, 4]",
    ),
    _task(
        'def squares_of_even(values):\n    """The squares of the even values."""\n    pass',
        "assert squares_of_even([1, 2, 3, 4]) == [4, 16]\nassert squares_of_even([]) == []\n"
        "assert squares_of_even([5, 7]) == []\nassert squares_of_even([6, 0, -2]) == [36, 0, 4]",
        "assert squares_of_even([8, 9, 10]) == [64, 100]",
    ),
    _task(
        'def scalar_product(left, right):\n    """The sum of the products of values at the same place."""\n    pass',
        "assert scalar_product([1, 2, 3], [4, 5, 6]) == 32\nassert scalar_product([], []) == 0\n"
        "assert scalar_product([2], [7]) == 14\nassert scalar_product([1, 0, -1], [5, 9, 5]) == 0",
        "assert scalar_product([3, 4], [1, 2]) == 11",
    ),
    _task(
        'def halvings(n):\n    """How often n can be halved without a rest."""\n    pass',
        "assert halvings(1) == 0\nassert halvings(2) == 1\nassert halvings(12) == 2\nassert halvings(7) == 0\n"
        "assert halvings(40) == 3\nassert halvings(64) == 6",
        "assert halvings(96) == 5\nassert halvings(14) == 1",
    ),
    _task(
        'def silver(n):\n    """Number n of 0, 1, 2, 5, 12, 29, 70: twice the last and the one before."""\n    pass',
        "assert silver(0) == 0\nassert silver(1) == 1\nassert silver(2) == 2\nassert silver(3) == 5\n"
        "assert silver(6) == 70\nassert silver(4) == 12",
        "assert silver(5) == 29\nassert silver(7) == 169",
    ),
    _task(
        'def binary_value(bits: str) -> int:\n    """The number that a text of 0 and 1 writes."""\n    pass',
        "assert binary_value('101') == 5\nassert binary_value('0') == 0\nassert binary_value('1111') == 15\n"
        "assert binary_value('10000') == 16\nassert binary_value('110') == 6",
        "assert binary_value('100001') == 33",
    ),
    _task(
        'def grade(points):\n    """`A` from 90, `B` from 75, `C` from 50, else `F`."""\n    pass',
        "assert grade(95) == 'A'\nassert grade(90) == 'A'\nassert grade(89) == 'B'\nassert grade(75) == 'B'\n"
        "assert grade(74) == 'C'\nassert grade(50) == 'C'\nassert grade(49) == 'F'\nassert grade(0) == 'F'\n"
        "assert grade(100) == 'A'\nassert grade(60) == 'C'",
        "assert grade(91) == 'A'\nassert grade(76) == 'B'\nassert grade(51) == 'C'\nassert grade(12) == 'F'",
    ),
    _task(
        'def invert(table):\n    """Values to keys."""\n    pass',
        "assert invert({'a': 1, 'b': 2}) == {1: 'a', 2: 'b'}\nassert invert({}) == {}\n"
        "assert invert({3: 'x'}) == {'x': 3}\n"
        "assert invert({'z': 4, 'y': 6, 'x': 5}) == {4: 'z', 6: 'y', 5: 'x'}",
        "assert invert({'k': 'v', 'm': 'w'}) == {'v': 'k', 'w': 'm'}",
    ),
    _task(
        'def masked(number: str) -> str:\n    """All but the last 4 characters as `*`."""\n    pass',
        "assert masked('12345678') == '****5678'\nassert masked('1234') == '1234'\nassert masked('99999') == '*9999'\n"
        "assert masked('1212121212') == '******1212'",
        "assert masked('000111222') == '*****1222'",
    ),
    _task(
        'def dearest(prices, limit):\n    """The name with the highest price that is at most limit."""\n    pass',
        "assert dearest({'tea': 3, 'cake': 5, 'wine': 9}, 6) == 'cake'\n"
        "assert dearest({'tea': 3, 'pie': 2}, 9) == 'tea'\n"
        "assert dearest({'a': 1, 'b': 4, 'c': 3}, 3) == 'c'\nassert dearest({'a': 7, 'b': 8, 'c': 2}, 7) == 'a'\n"
        "assert dearest({'p': 2, 'q': 1, 'r': 6, 's': 9}, 5) == 'p'",
        "assert dearest({'x': 10, 'y': 20, 'z': 15}, 16) == 'z'",
    ),
)
