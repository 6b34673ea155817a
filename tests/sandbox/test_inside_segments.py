from __future__ import annotations

from collections.abc import Iterator

from hypothesis import given
from hypothesis import strategies as st

from nightshift.sandbox.inside.segments import DROPPED, KEPT, NAME, SEGMENT, Segments

TOKEN = b"--mark--"


def take(*pieces: bytes) -> Segments:
    segments = Segments(TOKEN)
    for piece in pieces:
        segments.extend(piece)
    return segments


def line(name: bytes) -> bytes:
    return TOKEN + name + b"\n"


def test_output_is_told_apart_by_test_and_cut_from_the_front() -> None:
    output = b"before" + line(b"a") + b"first" + line(b"") + line(b"b") + b"x" * 9000 + b"end"
    outputs = take(output).take_outputs()
    assert (outputs[""], outputs["a"]) == ("before", "first")
    assert len(outputs["b"]) == SEGMENT
    assert outputs["b"].endswith("end")


def test_few_bytes_are_kept_and_what_was_running_is_among_them() -> None:
    many = b"".join(line(b"%d" % number) + b"x" * SEGMENT + line(b"") for number in range(1000))
    outputs = take(many, line(b"last") + b"here").take_outputs()
    assert sum(map(len, outputs.values())) <= KEPT + 2 * SEGMENT
    assert outputs["0"] == "x" * SEGMENT
    assert outputs["last"] == "here"


def test_an_id_that_never_ends_costs_no_memory() -> None:
    segments = take(*[TOKEN + b"n" * NAME, *[b"n" * NAME] * 10])
    assert len(segments) == 10 * NAME
    assert list(segments.take_outputs()) == ["n" * NAME]


def split_outputs(stream: bytes) -> dict[str, str]:
    """Compute the expected outputs of the tests directly, from a stream that is already complete."""
    outside, by_name = b"", dict[bytes, bytes]()
    parts = stream.split(TOKEN)
    named = [(b"", parts[0]), *((name, text) for name, _, text in (part.partition(b"\n") for part in parts[1:]))]
    after = [name for name, _ in named[1:]]
    for (name, text), closing in zip(named, [*after, b""], strict=True):
        if closing == DROPPED:
            continue
        if name in {b"", DROPPED}:
            outside += text
        elif text.strip():
            by_name[name] = text
    return {name.decode(): text.decode() for name, text in {b"": outside, **by_name}.items() if text.strip()}


@st.composite
def streams(draw: st.DrawFn) -> tuple[bytes, list[int]]:
    words = st.sampled_from([b"x", b"--", b"--mar", b"\n", b"a b"])
    names = st.sampled_from([b"", DROPPED, b"t1", b"t2"])
    stream = b"".join(draw(words) for _ in range(draw(st.integers(0, 4))))
    for _ in range(draw(st.integers(0, 5))):
        stream += line(draw(names)) + b"".join(draw(words) for _ in range(draw(st.integers(0, 4))))
    return stream, sorted(draw(st.lists(st.integers(0, len(stream)), max_size=8)))


@given(streams())
def test_it_does_not_matter_in_which_pieces_a_stream_comes(case: tuple[bytes, list[int]]) -> None:
    stream, cuts = case

    def pieces() -> Iterator[bytes]:
        for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True):
            yield stream[start:end]

    assert take(*pieces()).take_outputs() == split_outputs(stream)


def test_bytes_that_are_no_text_are_shown_as_such() -> None:
    stream = line(b"a") + b"\xff\xfe end" + line(b"")
    outputs = take(stream).take_outputs()
    assert outputs == {"a": "\ufffd\ufffd end"}
