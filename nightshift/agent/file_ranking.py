"""Ranks a repository's files by their relevance to a task: shared words, and references from files that share words.

Two scores are combined. The first is by words: a file is near to the task if they share words. Rare words count most
(inverse document frequency: Spärck Jones, 1972), and a word counts more in the file's path or in a name that the file
defines. A file counts most if it defines a name that the task quotes, or contains a message or option that the task
quotes. The second score is by references: a file points to every file whose names it uses. Rank flows along these
references from the files with the best word scores (personalised PageRank: Page, Brin, Motwani and Winograd, “The
PageRank Citation Ranking”, 1999). The weights of the references are those that proved themselves in Aider's map of a
repository.

Reading a file costs milliseconds, so its tags (names and words) are cached by its content. Once a repository was read,
only its changed files cost time.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from itertools import chain, islice

from nightshift.agent.name_index import Tags
from nightshift.agent.symbols import MOST_FILES, SymbolCache, is_mapped, parts_of, tags, words_of, words_of_name
from nightshift.agent.view import View, base_text
from nightshift.core.code import javascript
from nightshift.core.code.paths import is_test_path
from nightshift.core.code.tree import Tree

_SPREAD = 20
"""Maximum number of files that define a name. References to a name that more files define are ignored."""
_FOCUS, _SPOKEN, _LONG, _FAINT = 50.0, 10.0, 10.0, 0.1
_LONG_NAME = 8
_LEAST = 1e-9
_ALPHA = 0.5
"""Share of its rank that a file passes on. In a large repository, a higher share would collect rank in the files that
everything refers to.
"""
_BY_REFERENCE = 0.35
"""Weight of the highest reference score, relative to the highest word score."""
_IN_PATH, _IN_NAME, _QUOTED, _DEFINED, _CALLED = 2.5, 1.0, 3.0, 6.0, 2.0
"""Weights, relative to a weight of 1 for a word in a file's text. In order, they are for: a word in the file's path, a
word in a name that the file defines, a quotation in the file's text, a defined name that the task marks as code, and
a defined name that the task writes like an ordinary word.
"""
_ASIDE = 0.35
"""Weight of tests, examples and documents relative to sources. It is low because such files mention everything that the
sources define.
"""
_LOOKED_INTO = 30
_MAX_CHARS = 20_000
_QUOTE = re.compile(
    r"`([^`\n]{3,120})`|\"([^\"\n]{3,120})\"|“([^”\n]{3,120})”|(?<!\w)'([^'\n]{3,120})'(?!\w)|(--\w[\w-]+)"
)
NAME = re.compile(r"[^\W\d]\w{2,}")
_LIKE_CODE = re.compile(r"\w*[a-z0-9][A-Z]\w*|\w*[^\W_]_+[^\W_]\w*|_\w+")
_CODE = re.compile(r"(?<!\w)\d*([^\W\d]\w*(?:\.[^\W\d]\w*)+|[^\W\d]\w{2,}(?=\())")
"""Matches a dotted name, or a name directly before an opening parenthesis. A match can begin only at the start of a
word, because trying every letter as a start would take quadratic time.
"""
_FOLDERS_ASIDE = re.compile(r"(^|/)(tests?|testing|docs?|examples?|bench(marks?)?|samples?|vendor|_vendor)/")
_CODE_ENDINGS = (".py", ".go", *javascript.SOURCES)
_COMMON = words_of(
    "about above add added after all allow also always and any are arguments because been before being below between "
    "both but call called can cannot case change code correct could currently default does doing done down each else "
    "ends error even every example fail fails file first fix fixed follow for from function gets give given gives has "
    "have having help here how however implement inside instead into its itself just keep last like line long longer "
    "make makes many may mean mention method missing more most much must need needs never new not nothing now old "
    "one only option other our out over own problem raise raises read really reason return returns run same say says "
    "see set should show shows since some still such support take task test tests than that the their them then there "
    "these they thing this those though through too two under until update use used user uses using value values very "
    "want was way well what when where whether which while who why will with without word work works would write "
    "wrong yet you your"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Interest:
    """The files, names and words that a task mentions; `rank` looks for the files nearest to them.

    Attributes:
        files: paths of files that the task names.
        words: the task's words, without common ones.
        names: names that the task marks as code or that look like code.
        plain_names: words of the task that may be names, although they are written like ordinary words.
        quotes: the task's quotations.
    """

    files: Collection[str] = ()
    words: frozenset[str] = frozenset()
    names: frozenset[str] = frozenset()
    plain_names: frozenset[str] = frozenset()
    quotes: tuple[str, ...] = ()


def interest_in(text: str, files: Collection[str] = ()) -> Interest:
    """Extract what a text mentions, in time linear in its length."""
    text = text[:_MAX_CHARS]
    quotes = list(dict.fromkeys(next(filter(None, groups)) for groups in _QUOTE.findall(text)))
    coded = " ".join([*_CODE.findall(text), *(quote for quote in quotes if " " not in quote.strip())])
    all_names = frozenset(NAME.findall(text))
    names = frozenset(NAME.findall(coded)) | {
        name for name in all_names if _LIKE_CODE.fullmatch(name) or name.isupper()
    }
    quotes += [name for name in sorted(names) if _LIKE_CODE.fullmatch(name)]
    return Interest(
        files=files,
        words=words_of(text) - _COMMON,
        names=names,
        plain_names=frozenset(name for name in all_names - names if len(name) > 3 and not words_of(name) <= _COMMON),
        quotes=tuple(dict.fromkeys(quotes)),
    )


def read(view: View, symbol_cache: SymbolCache) -> dict[str, Tags]:
    """Return the tags of all source files; changed files are always parsed, others only if they are not cached."""
    entries = view.tree.entries()
    paths = islice((path for path in view.paths() if is_mapped(path)), MOST_FILES)
    return {
        path: _read_changed(path, view)
        if path in view.change
        else _read_tags(path, view.tree, entries[path], symbol_cache)
        for path in paths
    }


def _read_changed(path: str, view: View) -> Tags:
    return tags(path, view.text(path) or "")


def _read_tags(path: str, tree: Tree, content: str, symbol_cache: SymbolCache) -> Tags:
    cached_tags = symbol_cache.get(content)
    return symbol_cache.put(content, tags(path, base_text(tree, path) or "")) if cached_tags is None else cached_tags


def list_spoken_of(view: View, interest: Interest, symbol_cache: SymbolCache) -> dict[str, Tags]:
    """Return the tags of workspace files that the task mentions, by file name or by a name that the file defines.

    The files are found through an index of the daemon's own workspace, which is kept between calls.
    """
    entries = view.tree.entries()

    def tags_of(path: str) -> Tags | None:
        return _read_tags(path, view.tree, entries[path], symbol_cache) if is_mapped(path) else None

    tags_by_path = symbol_cache.shared.find(entries, tags_of, interest.words, interest.names)
    unchanged = {path: file_tags for path, file_tags in tags_by_path.items() if path not in view.change}
    changed = {path: _read_changed(path, view) for path in view.change if path in view and is_mapped(path)}
    return unchanged | {path: file_tags for path, file_tags in changed.items() if _speaks_of(path, file_tags, interest)}


def _speaks_of(path: str, file_tags: Tags, interest: Interest) -> bool:
    words = words_of_name(path)
    return (bool(words) and words <= interest.words) or not interest.names.isdisjoint(file_tags.defines)


def rank(
    tags_by_path: Mapping[str, Tags], interest: Interest, text_of: Callable[[str], str | None] = lambda _path: None
) -> list[tuple[str, float]]:
    """Return the files by rank, highest first; files with a negligible rank are left out.

    Args:
        tags_by_path: the tags of each file.
        interest: what the task mentions.
        text_of: returns a file's text, to search it for the task's quotations; called for a few files only.

    Returns:
        Paths and ranks; the file with the best word score has about 1.
    """
    if not tags_by_path:
        return []
    spoken = by_words(tags_by_path, interest, text_of)
    start = {
        path: spoken.get(path, 0.0) + (path in interest.files)
        for path in {*spoken, *interest.files} & tags_by_path.keys()
    }
    flown = _flown(tags_by_path, interest, start)
    most = max(flown.values(), default=0.0) or 1.0
    ranks = {
        path: spoken.get(path, 0.0) + _BY_REFERENCE * weight_of(path) * rank / most for path, rank in flown.items()
    }
    return sorted(((path, rank) for path, rank in ranks.items() if rank > _LEAST), key=lambda pair: (-pair[1], pair[0]))


def by_words(
    tags_by_path: Mapping[str, Tags], interest: Interest, text_of: Callable[[str], str | None] = lambda _path: None
) -> dict[str, float]:
    """Return each file's word score, scaled to 1 for the nearest file; files with no shared words are left out."""
    count = len(tags_by_path)
    # Most files share no word, and a set for each of them would take megabytes.
    nothing, shared_with = frozenset[str](), interest.words.intersection
    placed = {path: words for path in tags_by_path if (words := shared_with(chain(*map(parts_of, path.split("/")))))}
    inside = {
        path: words
        for path, entry in tags_by_path.items()
        if (words := shared_with(entry.words) | placed.get(path, nothing))
    }
    frequency = Counter(word for words in inside.values() for word in words)
    rarity = {word: math.log(1 + (count - n + 0.5) / (n + 0.5)) for word, n in frequency.items()}
    definers = Counter(name for file_tags in tags_by_path.values() for name in file_tags.defines)
    average = sum(len(file_tags.words) for file_tags in tags_by_path.values()) / count or 1.0
    called = interest.names | interest.plain_names
    scores: dict[str, float] = {}
    for path, entry_tags in tags_by_path.items():
        named = nothing.union(*map(parts_of, entry_tags.defines)) if path in inside else nothing
        score = sum(
            rarity[word] * (1 + _IN_NAME * (word in named) + _IN_PATH * (word in placed.get(path, nothing)))
            for word in sorted(inside.get(path, nothing))
        )
        score /= 0.6 + 0.4 * len(entry_tags.words) / average
        for name in sorted(called.intersection(entry_tags.defines)):
            score += (_DEFINED if name in interest.names else _CALLED) * math.log(1 + count / definers[name])
        if score:
            scores[path] = score * weight_of(path)
    _look_for_quotes(scores, [quote for quote in interest.quotes if quote not in definers], count, text_of)
    most = max(scores.values(), default=0.0) or 1.0
    return {path: score / most for path, score in scores.items()}


def _look_for_quotes(
    scores: dict[str, float], quotes: Collection[str], count: int, text_of: Callable[[str], str | None]
) -> None:
    """Raise the scores of files that contain the task's quotations; only the files that rank highest are searched."""
    nearest = sorted(scores, key=lambda path: (-scores[path], path))[:_LOOKED_INTO] if quotes else []
    texts = {path: text for path in nearest if (text := text_of(path))}
    for quote in quotes:
        holders = [path for path, text in texts.items() if quote in text]
        for path in holders:
            scores[path] += _QUOTED * weight_of(path) * math.log(1 + min(count, _LOOKED_INTO) / len(holders))


def weight_of(path: str) -> float:
    """Return a file's weight: 1 for a source, less for a test, an example or a document."""
    is_source = path.endswith(_CODE_ENDINGS) and not is_test_path(path) and not _FOLDERS_ASIDE.search(path)
    return 1.0 if is_source else _ASIDE


def _flown(tags_by_path: Mapping[str, Tags], interest: Interest, start: Mapping[str, float]) -> dict[str, float]:
    """Return each file's share of the rank after it has flowed along the references."""
    import rustworkx  # noqa: PLC0415 (a tenth of a second)

    paths = list(tags_by_path)
    at = {path: number for number, path in enumerate(paths)}
    graph = rustworkx.PyDiGraph(multigraph=False)
    graph.add_nodes_from(paths)
    graph.add_edges_from([(at[a], at[b], weight) for (a, b), weight in _edges(tags_by_path, interest).items()])
    begin = {at[path]: weight for path, weight in start.items()}
    ranks = rustworkx.pagerank(
        graph, alpha=_ALPHA, weight_fn=float, personalization=begin or None, tol=1e-6, max_iter=100
    )
    return {paths[node]: rank for node, rank in ranks.items() if rank > _LEAST}


def _edges(tags_by_path: Mapping[str, Tags], interest: Interest) -> dict[tuple[str, str], float]:
    definers: defaultdict[str, list[str]] = defaultdict(list)
    for path, file_tags in tags_by_path.items():
        for name in file_tags.defines:
            definers[name].append(path)
    weights = {name: _weight(name, len(places), interest) for name, places in definers.items()}
    edges: defaultdict[tuple[str, str], float] = defaultdict(float)
    for path, file_tags in tags_by_path.items():
        factor = _FOCUS if path in interest.files else 1.0
        for name, count in file_tags.refers.items():
            places = definers.get(name, ())
            if not places or len(places) > _SPREAD:
                continue
            weight = factor * weights[name] * math.sqrt(count) / len(places)
            for definer in places:
                if definer != path:
                    edges[path, definer] += weight
    return dict(edges)


def _weight(name: str, definers: int, interest: Interest) -> float:
    parts = parts_of(name)
    weight = _SPOKEN if parts and parts <= interest.words else 1.0
    if len(name) >= _LONG_NAME and ("_" in name.strip("_") or not (name.islower() or name.isupper())):
        weight *= _LONG
    return weight * (_FAINT if name.startswith("_") else 1.0) * (_FAINT if definers > 5 else 1.0)
