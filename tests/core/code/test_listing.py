"""A listing equals the mapping of its paths, no matter how the listing was built."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nightshift.core.code import listing
from nightshift.core.code.listing import Listing, ending_of, last_of

PATHS = st.lists(st.sampled_from(["a", "b", "a.py", "é.txt", "\udcff"]), min_size=1, max_size=3).map("/".join)
VALUES = st.dictionaries(PATHS, st.sampled_from("xyz"), max_size=12)
DIFFERENCES = st.lists(st.dictionaries(PATHS, st.sampled_from(["x", "y", None]), max_size=6), max_size=6)


def with_values(before: Mapping[str, str], differences: Mapping[str, str | None]) -> dict[str, str]:
    return {path: value for path, value in {**before, **differences}.items() if value is not None}


@given(VALUES, DIFFERENCES, st.integers(0, 4))
def test_a_listing_that_was_patched_is_one_made_anew(
    before: dict[str, str], steps: list[dict[str, str | None]], most: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(listing, "MOST_APART", most)
        listings, mappings = [Listing(before)], [before]
        for step in steps:
            listings.append(listings[-1].patch(step))
            mappings.append(with_values(mappings[-1], step))
    for each, wanted in zip(listings, mappings, strict=True):
        assert [*each.items()] == sorted(wanted.items())
        assert (len(each), each.get("nothing")) == (len(wanted), None)
        for start in ("", "a", "a/", "b/a", "é"):
            assert each.below(start) == sorted(path for path in wanted if path.startswith(start))
        assert each.having(last_of, "a.py", "b") == sorted(path for path in wanted if last_of(path) in {"a.py", "b"})
        assert each.having(ending_of, ".txt") == sorted(path for path in wanted if path.endswith(".txt"))
        for other, other_mapping in zip(listings, mappings, strict=True):
            paths = wanted.keys() | other_mapping.keys()
            assert each.since(other) == {p: wanted.get(p) for p in paths if wanted.get(p) != other_mapping.get(p)}
