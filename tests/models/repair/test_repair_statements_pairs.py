"""Small faults and their mends: each is among the edits of statements, and early enough to be tried.

A case is a function as a difference: lines with `-` are those of the fault, lines with `+` those of the mend.
"""

import ast

import pytest

from models.repair.edits.statement_set import STATEMENT_EDITS
from models.repair.ground import Ground
from models.repair.tree import Function, places


def both(difference: str) -> tuple[str, str]:
    lines = difference.strip("\n").splitlines()
    broken, mended = ("\n".join(line[2:] for line in lines if line[:1] != sign) for sign in "+-")
    return broken, mended


def ground_of(source: str, **more: object) -> Ground:
    """The last function that is in no other."""
    tree = ast.parse(source)
    found = [(place, node) for place, node in places(tree) if isinstance(node, Function)]
    inner = {id(part) for _, node in found for part in ast.walk(node) if part is not node}
    place, node = [each for each in found if id(each[1]) not in inner][-1]
    lines = dict.fromkeys(range(node.lineno, (node.end_lineno or 0) + 1), 1.0)
    return Ground(path="a.py", tree=tree, scope=place, lines=lines, **more)  # type: ignore[arg-type]


def rank(difference: str, **more: object) -> int:
    """The number of edits that are tried before the mend, all families together."""
    broken, mended = both(difference)
    wanted = ast.unparse(ast.parse(mended))
    ground = ground_of(broken, **more)
    edits = sorted((edit for make in STATEMENT_EDITS for edit in make(ground)), key=lambda edit: -edit.weight)
    for index, edit in enumerate(edits):
        if ast.unparse(edit.apply(ground.tree)) == wanted:
            return index
    raise AssertionError(f"none of {len(edits)} edits makes\n{wanted}")


CONDITIONS = [
    ("""
  def first_long(words, limit):
      for word in words:
-         if len(word) < limit:
+         if len(word) >= limit:
              return word
      return None
""", 30),
    ("""
  def drain(jobs):
      done = []
-     while True:
+     while jobs:
          done.append(jobs.pop())
      return done
""", 30),
    ("""
  def last_of(chain):
-     while chain.link is not None:
+     while chain is not None and chain.link is not None:
          chain = chain.link
      return chain
""", 30),
    ("""
  def skip_blank(text, start):
-     while text[start] == " ":
+     while start < len(text) and text[start] == " ":
          start += 1
      return start
""", 60),
    ("""
  def label(name, title):
-     if name and title:
+     if name:
          return title + name
      return name
""", 40),
    ("""
  def label(name, title):
-     if name:
+     if name and title:
          return title + name
      return name
""", 250),
    ("""
  def weigh(box):
-     if box == 0:
+     if box is None:
          return 0
      return box.weight
""", 100),
    ("""
  def keep(rows, wanted):
-     return [row for row in rows if row in wanted]
+     return [row for row in rows if row not in wanted]
""", 10),
]  # fmt: skip
BRANCHES = [
    ("""
  def squeeze(text):
-     if "  " in text:
+     while "  " in text:
          text = text.replace("  ", " ")
      return text
""", 60),
    ("""
  def grade(points):
      mark = "low"
      if points > 90:
          mark = "high"
-     if points > 50:
+     elif points > 50:
          mark = "middle"
      return mark
""", 40),
    ("""
  def tidy(name, short):
      if short:
          name = name[:3]
-     elif name.islower():
+     if name.islower():
          name = name.title()
      return name
""", 40),
    ("""
  def clip(value, top):
-     return value if value > top else top
+     return top if value > top else value
""", 10),
    ("""
  def pick(rows, wanted):
      found = None
      for row in rows:
          if row == wanted:
              found = row
-         else:
-             found = wanted
      return found
""", 200),
]  # fmt: skip
GUARDS = [
    ("""
  def mean(values):
+     if not values:
+         return 0
      return sum(values) / len(values)
""", 60),
    ("""
  def depth(tree):
+     if tree is None:
+         return 0
      return 1 + max(depth(tree.left), depth(tree.right))
""", 60),
    ("""
  def ratio(part, whole):
      share = part * 100
+     if whole == 0:
+         return 0
      return share // whole
""", 900),
    ("""
  def walk(start, links):
      seen = set()
      stack = [start]
      while stack:
          node = stack.pop()
+         if node in seen:
+             continue
          seen.add(node)
          stack.extend(links[node])
      return seen
""", 200),
    ("""
  def tally(words):
      counts = {}
      for word in words:
+         if word not in counts:
+             counts[word] = 0
          counts[word] += 1
      return counts
""", 200),
    ("""
  def group(words):
      groups = {}
      for word in words:
-         groups[len(word)].append(word)
+         groups.setdefault(len(word), []).append(word)
      return groups
""", 200),
]  # fmt: skip
RETURNS = [
    ("""
  def total(values):
      result = 0
      for value in values:
          result += value
+     return result
""", 40),
    ("""
  def double(value):
-     value * 2
+     return value * 2
""", 10),
    ("""
  def longest(words):
      best = ""
      for word in words:
          if len(word) > len(best):
              best = word
-         return best
+     return best
""", 40),
    ("""
  def joined(left, right):
      merged = []
      while left and right:
          merged.append(left.pop(0) if left[0] < right[0] else right.pop(0))
-     return merged
+     return merged + left
""", 400),
    ("""
  def has(values, wanted):
      for value in values:
          if value == wanted:
              return True
-     return True
+     return False
""", 100),
    ("""
  def paths(size):
      if size == 0:
-         return []
+         return [[]]
      return [path + [size] for path in paths(size - 1)]
""", 150),
]  # fmt: skip
YIELDS = [
    ("""
  def leaves(tree):
      if isinstance(tree, list):
          for part in tree:
-             leaves(part)
+             yield from leaves(part)
      else:
          yield tree
""", 20),
    ("""
  def flat(groups):
      for group in groups:
-         yield group
+         yield from group
""", 30),
    ("""
  def pairs(values):
      last = None
      for value in values:
          if last is not None:
              yield (last, value)
+             yield value
          last = value
""", 200),
    ("""
  async def both(one, two):
      first = await one()
-     second = two()
+     second = await two()
      return first, second
""", 40),
]  # fmt: skip
INITIAL = [
    ("""
  def product(values):
-     result = 0
+     result = 1
      for value in values:
          result *= value
      return result
""", 30),
    ("""
  def smallest(values):
-     best = 0
+     best = float("inf")
      for value in values:
          best = min(best, value)
      return best
""", 60),
    ("""
  def largest(values):
-     best = 0
+     best = values[0]
      for value in values:
          best = max(best, value)
      return best
""", 100),
    ("""
  def rows(text):
      table = []
-     row = []
      for line in text.splitlines():
+         row = []
          for cell in line.split():
              row.append(cell)
          table.append(row)
      return table
""", 60),
    ("""
  def count(rows):
+     found = 0
      for row in rows:
-         found = 0
          if row:
              found += 1
      return found
""", 60),
]  # fmt: skip
ORDER = [
    ("""
  def fill(box, items):
      for item in items:
-         box.close()
          box.put(item)
+         box.close()
      return box
""", 40),
    ("""
  def count(rows):
      found = 0
      for row in rows:
          if row:
              print(row)
-             found += 1
+         found += 1
      return found
""", 40),
    ("""
  def count(rows):
      found = 0
      for row in rows:
          if row:
              print(row)
-         found += 1
+             found += 1
      return found
""", 60),
    ("""
  def names(rows):
      found = []
      for row in rows:
          found.append(row)
-         found.append(row)
      return found
""", 60),
    ("""
  def visit(start, links):
      seen = set()
      stack = [start]
      while stack:
          node = stack.pop()
          if node not in seen:
+             seen.add(node)
              stack.extend(links[node])
      return seen
""", 100),
    ("""
  def index_of(values, wanted):
      index = 0
      while index < len(values):
          if values[index] == wanted:
              return index
+         index += 1
      return -1
""", 150),
    ("""
  def last(node):
      while node.link:
          print(node.name)
+         node = node.link
      return node
""", 200),
]  # fmt: skip
ASSIGNMENTS = [
    ("""
  def total(values):
      result = 0
      for value in values:
-         result = value
+         result += value
      return result
""", 40),
    ("""
  def turns(one, two):
      for _ in range(3):
-         one, two = one, two
+         one, two = two, one
      return one, two
""", 20),
    ("""
  def steps(one, two, count):
      for _ in range(count):
-         one = two
-         two = one + two
+         one, two = two, one + two
      return one
""", 40),
    ("""
  def shares(rows, low, high):
      for row in rows:
          if row < 0:
-             high += row
+             low += row
          else:
              high += row
      return low, high
""", 150),
]  # fmt: skip
FLOW = [
    ("""
  def evens(values):
      found = []
      for value in values:
          if value % 2:
-             break
+             continue
          found.append(value)
      return found
""", 30),
    ("""
  def first_even(values):
      found = None
      for value in values:
          if value % 2 == 0:
              found = value
+             break
      return found
""", 150),
    ("""
  calls = 0
  def tick():
+     global calls
      calls += 1
      return calls
""", 80),
    ("""
  def counter():
      count = 0
      def tick():
+         nonlocal count
          count += 1
          return count
      return tick
""", 120),
    ("""
  class Box:
      def __init__(self):
          self.items = []

      def put(self, item):
-         items.append(item)
+         self.items.append(item)
""", 60),
]  # fmt: skip
FAMILIES = [CONDITIONS, BRANCHES, GUARDS, RETURNS, YIELDS, INITIAL, ORDER, ASSIGNMENTS, FLOW]
CASES = [case for family in FAMILIES for case in family]


@pytest.mark.parametrize(("difference", "bound"), CASES)
def test_the_mend_is_among_the_first_edits(difference: str, bound: int) -> None:
    assert rank(difference) < bound


def test_an_exception_that_ended_a_test_is_caught_too() -> None:
    difference = """
  def number(text):
      try:
          return int(text)
-     except TypeError:
+     except (TypeError, ValueError):
          return None
"""
    assert rank(difference, troubles=(("ValueError", "invalid literal"),)) < 30


def test_a_name_that_was_not_found_gets_its_self_first() -> None:
    difference = """
  class Box:
      def __init__(self):
          self.size = 3

      def room(self):
-         return size + 1
+         return self.size + 1
"""
    assert rank(difference, troubles=(("NameError", "name 'size' is not defined"),)) == 0


def test_a_default_that_calls_share_is_made_anew() -> None:
    difference = """
- def add(item, items=[]):
+ def add(item, items=None):
+     if items is None:
+         items = []
      items.append(item)
      return items
"""
    assert rank(difference) < 20
