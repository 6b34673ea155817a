"""Which files of a repository matter for a task: those that are referred to by what matters already.

A file points to another with the names that the other one defines. Names that the task speaks of, and long ones, count
more, private ones and those that many files define count less, and what a file in focus refers to counts most; then
rank flows along the references from where the task points to (personalised PageRank: Page, Brin, Motwani and Winograd,
“The PageRank Citation Ranking”, 1999; the weights are those that Aider's map of a repository has proved).

Reading a file costs milliseconds, so tags are kept by the content they were read from: a repository that was read once
costs as much as its changes.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from agent.symbols import SymbolCache, Tags, is_mapped, tags
from agent.view import View, base_text

MOST_FILES = 20_000
_SPREAD = 20
"""A name that more files define than this leads nowhere."""
_FOCUS, _SPOKEN, _LONG, _FAINT = 50.0, 10.0, 10.0, 0.1
_LONG_NAME = 8
_LEAST = 1e-9
_ALPHA = 0.5
"""How much of its rank a file passes on: in a large repository a higher share ends in what everything refers to."""
_WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Interest:
    """What the task points to: files by path, and its words."""

    files: Collection[str] = ()
    words: frozenset[str] = frozenset()


def words_of(text: str) -> frozenset[str]:
    """The words of a text in lower case, those that make up an identifier included."""
    return frozenset(word.lower() for word in _WORDS.findall(text) if len(word) > 2)


def read(view: View, symbol_cache: SymbolCache) -> dict[str, Tags]:
    """The tags of all source files; what was changed is read anew, the rest where its content is not known yet."""
    found: dict[str, Tags] = {}
    entries = view.tree.entries()
    for path in (path for path in view.paths() if is_mapped(path)):
        if len(found) >= MOST_FILES:
            break
        if path in view.change:
            found[path] = tags(path, view.text(path) or "")
            continue
        known = symbol_cache.get(entries[path])
        if known is None:
            known = symbol_cache.put(entries[path], tags(path, base_text(view.tree, path) or ""))
        found[path] = known
    return found


def ranked(found: Mapping[str, Tags], interest: Interest) -> list[tuple[str, float]]:
    """The files by rank, the highest first, without those that nothing leads to; ranks are shares of one."""
    import rustworkx  # noqa: PLC0415 (a tenth of a second)

    if not found:
        return []
    paths = list(found)
    at = {path: number for number, path in enumerate(paths)}
    graph = rustworkx.PyDiGraph(multigraph=False)
    graph.add_nodes_from(paths)
    edges = _edges(found, interest)
    graph.add_edges_from([(at[a], at[b], weight) for (a, b), weight in edges.items()])
    start = {at[path]: weight for path, weight in _start(paths, interest).items()}
    ranks = rustworkx.pagerank(
        graph, alpha=_ALPHA, weight_fn=float, personalization=start or None, tol=1e-6, max_iter=100
    )
    reached = ((paths[node], rank) for node, rank in ranks.items() if rank > _LEAST)
    return sorted(reached, key=lambda pair: (-pair[1], pair[0]))


def _edges(found: Mapping[str, Tags], interest: Interest) -> dict[tuple[str, str], float]:
    definers: defaultdict[str, list[str]] = defaultdict(list)
    for path, one in found.items():
        for name in one.defines:
            definers[name].append(path)
    weights = {name: _weight(name, len(places), interest) for name, places in definers.items()}
    edges: defaultdict[tuple[str, str], float] = defaultdict(float)
    for path, one in found.items():
        factor = _FOCUS if path in interest.files else 1.0
        for name, count in one.refers.items():
            places = definers.get(name, ())
            if not places or len(places) > _SPREAD:
                continue
            weight = factor * weights[name] * math.sqrt(count) / len(places)
            for place in places:
                if place != path:
                    edges[path, place] += weight
    return dict(edges)


def _weight(name: str, definers: int, interest: Interest) -> float:
    parts = words_of(name)
    weight = _SPOKEN if parts and parts <= interest.words else 1.0
    if len(name) >= _LONG_NAME and ("_" in name.strip("_") or not (name.islower() or name.isupper())):
        weight *= _LONG
    return weight * (_FAINT if name.startswith("_") else 1.0) * (_FAINT if definers > 5 else 1.0)


def _start(paths: Collection[str], interest: Interest) -> dict[str, float]:
    """Where rank comes from: files in focus, and those whose path shares words with the task, rare ones above all."""
    shared = {path: words_of(path) & interest.words for path in paths}
    frequency = Counter(word for words in shared.values() for word in words)
    start: dict[str, float] = {}
    for path, words in shared.items():
        weight = float(path in interest.files) + sum(1.0 / frequency[word] for word in words)
        if weight:
            start[path] = weight
    return start
