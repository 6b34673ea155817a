"""What a wanted collection or text can be made of: a loop over a collection that is there, or parts put together."""

from .entry import SUM, Entry
from .kinds import ERR, freeze
from .loops import Loop, filtered, mapped

WAYS = 12
"""How many loops, or beginnings and ends, one goal may try."""
SEPARATORS = ("", " ", ", ", ",", "-", "_", "\n", ".", ":", "/", "|", ";")


def split(goal):
    """Make goals of parts that need no entry: a text's words and letters, a tuple's places."""
    if goal.kind == "str":
        for separator in SEPARATORS:
            _split_text(goal, separator)
    elif goal.kind.startswith("tuple[") and goal.depth < 3:
        Places(goal)


def _split_text(goal, separator):
    parts = [value.split(separator) if separator else list(value) for value in goal.values]
    if max(map(len, parts)) < 2 or (separator and sum(map(len, parts)) < len(parts) + len(parts) // 2):
        return
    goal.part(parts, lambda found: goal.deliver(Entry(f"{separator!r}.join({found.alone})", 9, found.cost + 1)))


class Places:
    """The goals for the places of a tuple; delivers when each has a solution."""

    def __init__(self, goal):
        size = len(goal.values[0])
        self.goal, self.found = goal, [None] * size
        if 2 <= size <= 4 and all(len(value) == size for value in goal.values):
            for place in range(size):
                goal.part([value[place] for value in goal.values], lambda entry, place=place: self.take(place, entry))

    def take(self, place, entry):
        """A place is solved."""
        if self.found[place] is None:
            self.found[place] = entry
            if all(part is not None for part in self.found):
                text = f"({', '.join(part.text for part in self.found)})"
                self.goal.deliver(Entry(text, 9, 1 + sum(part.cost for part in self.found)))


def follow(goal, entry):
    """Make the goals that an entry leads to."""
    if goal.ways >= WAYS:
        return
    head = goal.kind.partition("[")[0]
    if head in ATTEMPTS and Loop.sensible(entry):
        for attempt in ATTEMPTS[head]:
            found = attempt(goal, entry)
            if found is not None:
                _inside(goal, entry, *found)
    if head in {"str", "list"} and entry.kind.startswith(head) and not entry.partial and any(entry.vals):
        _beside(goal, entry)


def _inside(goal, entry, wanted, write):
    """A goal for the items of a loop."""
    loop = goal.context.loop(entry)
    flat = [item for part in wanted for item in part]
    if loop.inner.depth > 2 or len(flat) != len(loop.flat):
        return
    goal.ways += 1
    cost = entry.cost + 1
    goal.search.wish(
        loop.inner, flat, lambda found: goal.deliver(write(loop, found, found.cost + cost)), goal.depth + 1
    )


def _beside(goal, entry):
    """A goal for what is left of a text before or after one that is known."""
    pairs = list(zip(goal.values, entry.vals, strict=True))
    if any(len(value) < len(part) for value, part in pairs):
        return
    if all(value[: len(start)] == start for value, start in pairs):
        goal.ways += 1
        rest = [value[len(start) :] for value, start in pairs]
        goal.part(rest, lambda found: goal.deliver(_added(entry, found)))
    if all(value[len(value) - len(end) :] == end for value, end in pairs):
        goal.ways += 1
        rest = [value[: len(value) - len(end)] for value, end in pairs]
        goal.part(rest, lambda found: goal.deliver(_added(found, entry)))


def _added(left, right):
    return Entry(f"{left.at(SUM)} + {right.at(SUM + 1)}", SUM, left.cost + right.cost + 1)


def by_item(goal, entry):
    """A list as long as the collection: what each item must become."""
    for value, items in zip(goal.values, entry.vals, strict=True):
        if items is ERR or len(items) != len(value):
            return None
    return goal.values, mapped


def by_choice(goal, entry):
    """A part of the collection in its order: which items stay."""
    wanted = []
    for value, items in zip(goal.values, entry.vals, strict=True):
        if items is ERR or len(items) < len(value):
            return None
        kept = _kept(list(value), list(items))
        if kept is None:
            return None
        wanted.append(kept)
    return None if all(map(all, wanted)) else (wanted, filtered)


def _kept(value, items):
    """Which items a sequence has, in its order; None where it has others."""
    left, found = [freeze(item) for item in reversed(value)], []
    for item in items:
        same = bool(left) and left[-1] == freeze(item)
        if same:
            left.pop()
        found.append(same)
    return None if left else found


def by_name(goal, entry):
    """A dict whose keys are the items: what each key's value is."""
    wanted = []
    for value, items in zip(goal.values, entry.vals, strict=True):
        if items is ERR or not _hashable(items) or set(items) != set(value):
            return None
        wanted.append([value[item] for item in items])
    return wanted, _table


def by_second(goal, entry):
    """A dict whose keys are the second parts of pairs: what each key's value is."""
    wanted = []
    for value, items in zip(goal.values, entry.vals, strict=True):
        if items is ERR or not _pairs(items) or {item[1] for item in items} != set(value):
            return None
        wanted.append([value[item[1]] for item in items])
    return wanted, _turned


def _pairs(items):
    return all(type(item) is tuple and len(item) == 2 and _hashable([item[1]]) for item in items)


def _turned(loop, entry, cost):
    name = loop.names[1] if loop.pair else f"{loop.target}[1]"
    return Entry(f"{{{name}: {entry.text} {loop.head}}}", 9, cost)


def by_presence(goal, entry):
    """A set of some of the items: which of them."""
    wanted = []
    for value, items in zip(goal.values, entry.vals, strict=True):
        if items is ERR or not _hashable(items) or not value <= set(items):
            return None
        wanted.append([item in value for item in items])
    return wanted, _chosen


def _hashable(items):
    try:
        return bool(set(items)) or not items
    except TypeError:
        return False


def _table(loop, entry, cost):
    return Entry(f"{{{loop.item}: {entry.text} {loop.head}}}", 9, cost)


def _chosen(loop, entry, cost):
    return Entry(f"{{{filtered(loop, entry, cost).bare}}}", 9, cost)


ATTEMPTS = {"list": (by_item, by_choice), "dict": (by_name, by_second), "set": (by_presence,)}
"""How a loop may lead to a collection of a kind: what is wanted of each item, and how the whole is written."""
