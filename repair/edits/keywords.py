"""Edits of keywords: flags and keys of sorting added, dropped or changed, values of keywords swapped."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import combinations, permutations

from repair.edit import Edit
from repair.edits.scene import Scene, scene_of
from repair.edits.spot import Spot
from repair.edits.swapping import LOAD, called, likeliest, parsed, swap, with_item
from repair.ground import Ground

KIND = "keyword"
_MOST = 300
_KEYED = ("sorted", "sort", "max", "min", "nlargest", "nsmallest", "groupby")
_KEYS = (
    "lambda item: item[0]",
    "lambda item: item[1]",
    "lambda item: item[-1]",
    "len",
    "str.lower",
    "lambda item: -item",
)
_KEYS_OF_PAIRS = (
    "lambda item: (-item[1], item[0])",
    "lambda item: (item[1], item[0])",
    "lambda item: (len(item), item)",
)


def keywords(ground: Ground) -> Iterator[Edit]:
    """Other keywords of the calls that are there."""
    scene = scene_of(ground)
    yield from likeliest(_all(scene), ground, _MOST)


def _all(scene: Scene) -> Iterator[Edit]:
    for spot, node in scene.of(ast.Call):
        yield from _keywords(scene, spot, node)
        yield from _missing(scene, spot, node)
        if called(node) in _KEYED:
            yield from _sorting(scene, spot, node)


def _keywords(scene: Scene, spot: Spot, node: ast.Call) -> Iterator[Edit]:
    text = scene.text(node)
    for index, keyword in enumerate(node.keywords):
        rest = [*node.keywords[:index], *node.keywords[index + 1 :]]
        new = ast.Call(func=node.func, args=node.args, keywords=rest)
        yield from swap(spot, new, KIND, 0.3, f"`{keyword.arg or '**'}` of `{text}` dropped")
    named = [index for index, keyword in enumerate(node.keywords) if keyword.arg]
    for one, other in combinations(named, 2):
        keywords = list(node.keywords)
        keywords[one] = ast.keyword(arg=node.keywords[one].arg, value=node.keywords[other].value)
        keywords[other] = ast.keyword(arg=node.keywords[other].arg, value=node.keywords[one].value)
        new = ast.Call(func=node.func, args=node.args, keywords=keywords)
        yield from swap(spot, new, KIND, 0.3, f"values of keywords of `{text}` swapped")


def _missing(scene: Scene, spot: Spot, node: ast.Call) -> Iterator[Edit]:
    """A keyword that other calls of the same function have, or that the function takes."""
    text, present = scene.text(node), {keyword.arg for keyword in node.keywords}
    for keyword in scene.file.keywords.get(called(node), ()):
        if keyword.arg and keyword.arg not in present:
            new = _with_keyword(node, keyword.arg, keyword.value)
            note = f"`{keyword.arg}={scene.text(keyword.value)}` added to `{text}`"
            yield from swap(spot, new, KIND, 0.4, note)
    function = scene.outside.functions.get(called(node)) or scene.file.methods.get(called(node))
    known = [arg.arg for arg in (*function.args.args, *function.args.kwonlyargs)] if function else []
    for word in known[len(node.args) :]:
        for value in (word, "True", "False", "None"):
            if word not in present and (value != word or word in spot.visible.near):
                new = _with_keyword(node, word, parsed(value))
                yield from swap(spot, new, KIND, 0.5 if value == word else 0.1, f"`{word}={value}` added to `{text}`")


def _sorting(scene: Scene, spot: Spot, node: ast.Call) -> Iterator[Edit]:
    word, text = called(node), scene.text(node)
    present = {keyword.arg: keyword.value for keyword in node.keywords}
    if word in ("sorted", "sort") and "reverse" not in present:
        new = _with_keyword(node, "reverse", ast.Constant(value=True))
        yield from swap(spot, new, KIND, 0.5, f"`reverse=True` added to `{text}`")
    if word in ("max", "min") and len(node.args) == 1 and "default" not in present:
        for default in ("0", "None"):
            new = _with_keyword(node, "default", parsed(default))
            yield from swap(spot, new, KIND, 0.3, f"`default={default}` added to `{text}`")
    keys = [(key, 0.2) for key in _KEYS] + [(key, 0.12) for key in _KEYS_OF_PAIRS]
    keys += [(own, 0.2) for own in scene.outside.functions]
    keys += [(f"{own}.get", 0.3) for own in spot.visible.near if scene.kinds.of_name(own) & {"dict", "Counter"}]
    for key, weight in keys:
        new = _with_keyword(node, "key", parsed(key))
        yield from swap(spot, new, KIND, weight, f"`{text}` with `key={key}`")
    if isinstance(present.get("key"), ast.Lambda):
        yield from _other_key(scene, spot, node, present["key"])


def _other_key(scene: Scene, spot: Spot, node: ast.Call, key: ast.expr) -> Iterator[Edit]:
    """The parts of a key in another order, or each of them turned round."""
    assert isinstance(key, ast.Lambda)
    bodies: list[ast.expr] = []
    if isinstance(key.body, ast.Tuple) and len(key.body.elts) <= 3:
        bodies += [ast.Tuple(elts=list(order), ctx=LOAD) for order in permutations(key.body.elts)]
        for index, part in enumerate(key.body.elts):
            bodies.append(ast.Tuple(elts=with_item(key.body.elts, index, _turned(part)), ctx=LOAD))
    else:
        bodies.append(_turned(key.body))
    for body in bodies:
        new = _with_keyword(node, "key", ast.Lambda(args=key.args, body=body))
        yield from swap(spot, new, KIND, 0.4, f"`{scene.text(node)}` with `key` by `{ast.unparse(body)}`")


def _turned(node: ast.expr) -> ast.expr:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return node.operand
    return ast.UnaryOp(op=ast.USub(), operand=node)


def _with_keyword(node: ast.Call, word: str, value: ast.expr) -> ast.Call:
    rest = [keyword for keyword in node.keywords if keyword.arg != word]
    return ast.Call(func=node.func, args=node.args, keywords=[*rest, ast.keyword(arg=word, value=value)])
