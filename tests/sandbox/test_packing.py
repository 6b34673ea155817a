from __future__ import annotations

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nightshift.core.errors import SandboxError
from nightshift.sandbox import packing
from nightshift.sandbox.packing import pack

_NAMES = st.lists(st.sampled_from("abc"), min_size=1, max_size=4).map("/".join)


def test_files_are_packed_in_their_order_with_sizes_and_digests() -> None:
    packed = pack([("a/b.py", b"one"), ("c", b"")])
    assert packed.blob == b"one"
    assert packed.index == (
        ("a/b.py", 3, hashlib.sha256(b"one").hexdigest()),
        ("c", 0, hashlib.sha256(b"").hexdigest()),
    )


@pytest.mark.parametrize("path", ["/etc/x", "a/../../x", "a//b", "", ".git/config", "a\nb"])
def test_paths_that_leave_the_folder_are_refused(path: str) -> None:
    for from_tree in (False, True):
        if from_tree and path == "a\nb":
            continue  # git allows a line break in a name
        with pytest.raises(SandboxError, match="cannot be staged"):
            pack([(path, b"")], from_tree=from_tree)


def test_more_than_a_run_may_be_sent_is_refused() -> None:
    with pytest.raises(SandboxError, match="cannot be staged"):
        pack([("one", bytes(6)), ("two", bytes(6))], most=10)


@given(base=st.sets(_NAMES), over=st.sets(_NAMES))
def test_what_is_left_of_a_tree_never_clashes_with_what_lies_over_it(base: set[str], over: set[str]) -> None:
    left = base - packing.list_hidden(base, over)
    for path in left:
        assert path not in over
        assert not any(path.startswith(f"{other}/") or other.startswith(f"{path}/") for other in over)
    untouched = {p for p in base if not any(f"{p}/".startswith(f"{o}/") or f"{o}/".startswith(f"{p}/") for o in over)}
    assert untouched <= left
