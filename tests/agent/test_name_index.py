"""Files are found by the names that a task mentions.

The index gives the same result as reading all files, but reads each file only once.
"""

from __future__ import annotations

from collections.abc import Mapping

from hypothesis import given
from hypothesis import strategies as st

from nightshift.agent.name_index import NameIndex, Tags
from nightshift.agent.symbols import tags, words_of_name

PATHS = ["rate_limit.py", "rate.py", "app/rate_limits.py", "x1.py", "stock.py", "notes.md"]
TEXTS = ["", "class RateLimiter: ...\n", "def stock(): ...\n", "LIMIT = 3\n"]
TREES = st.lists(st.dictionaries(st.sampled_from(PATHS), st.sampled_from(TEXTS)), max_size=6)
WORDS, NAMES = frozenset({"rate", "limit", "stock"}), ["RateLimiter", "stock", "LIMIT"]


class Reading:
    """An index over trees given as a mapping of path to text.

    Each text serves as its own content id. `read` records which texts were read.
    """

    def __init__(self, most: int = 100) -> None:
        self.index, self.read = NameIndex(words_of_name, most), list[str]()

    def find(self, files: Mapping[str, str], words: frozenset[str], names: list[str]) -> dict[str, Tags]:
        def tags_of(path: str) -> Tags | None:
            self.read.append(path)
            return tags(path, files[path]) if path.endswith(".py") else None

        return self.index.find(files, tags_of, words, names)


def look_at_each(files: Mapping[str, str], words: frozenset[str], names: list[str]) -> dict[str, Tags]:
    tags_by_path = {path: tags(path, text) for path, text in sorted(files.items()) if path.endswith(".py")}
    return {
        path: file_tags
        for path, file_tags in tags_by_path.items()
        if (words_of_name(path) and words_of_name(path) <= words) or not set(names).isdisjoint(file_tags.defines)
    }


@given(TREES, st.sets(st.sampled_from(sorted(WORDS))), st.sets(st.sampled_from(NAMES)))
def test_whatever_trees_came_before_the_same_files_are_found_in_the_same_order(
    trees: list[dict[str, str]], words: set[str], names: set[str]
) -> None:
    index = Reading()
    for files in trees:
        tags_by_path = index.find(files, frozenset(words), sorted(names))
        assert list(tags_by_path.items()) == list(look_at_each(files, frozenset(words), sorted(names)).items())
