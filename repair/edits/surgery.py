"""Expressions of the same file put in the place of others.

What mends a program is most often in the program already: the plastic surgery hypothesis (E. T. Barr, Y. Brun,
P. Devanbu, M. Harman and F. Sarro, “The plastic surgery hypothesis”, FSE 2014). So each expression of the file, also
with one of its names replaced, is a candidate wherever its names are visible and its kind fits. Those that resemble
what they replace come first, for a fault is more often a slip than a wholly wrong idea.
"""

from __future__ import annotations

import ast
import heapq
from collections.abc import Iterator

from repair.edit import Edit
from repair.edits.donors import Donor, allowed, donors
from repair.edits.scene import Scene, scene_of
from repair.edits.spot import Spot
from repair.edits.swapping import become, swap
from repair.ground import Ground
from repair.kinds import fits

KIND = "surgery"
_MOST = 1400
_SMALL = 3
"""Parts of an expression that is so small that it need resemble nothing."""


def surgery(ground: Ground) -> Iterator[Edit]:
    """Each whole expression replaced by others of the file that fit, the most similar first."""
    scene = scene_of(ground)
    suspicion = ground.lines
    likely = heapq.nlargest(_MOST, _pairs(scene), key=lambda pair: pair[0] * (0.02 + suspicion.get(pair[1].line, 0)))
    for weight, spot, donor in likely:
        yield from swap(spot, donor.node, KIND, weight, become(scene.text(spot.node), donor.text))


def _pairs(scene: Scene) -> Iterator[tuple[float, Spot, Donor]]:
    fitting: dict[tuple[str, ...], list[Donor]] = {}
    for spot, node in scene.values:
        if isinstance(node, ast.Lambda) or isinstance(spot.parent, ast.Expr):
            continue
        if spot.visible.near not in fitting:
            names = allowed(scene, spot)
            fitting[spot.visible.near] = [donor for donor in donors(scene) if donor.names <= names]
        yield from _at(scene, spot, node, fitting[spot.visible.near])


def _at(scene: Scene, spot: Spot, node: ast.expr, given: list[Donor]) -> Iterator[tuple[float, Spot, Donor]]:
    """What may be put at one spot, with weights."""
    wanted, truth, text, parts = scene.wanted(spot), spot.truth, scene.text(node), scene.file.parts(node)
    simple, form = isinstance(node, ast.Constant), type(node)
    for donor in given:
        fit = 0.5 if truth else fits(donor.kind, wanted)
        if fit and donor.text != text:
            alike = 1.0
            if simple or text not in donor.parts:
                common = len(parts & donor.parts) / len(parts | donor.parts)
                alike = (
                    (0.3 if len(donor.parts) <= _SMALL else 0.15)
                    + (0.3 if type(donor.node) is form else 0.0)
                    + 0.55 * common
                )
            yield donor.prior * fit * alike, spot, donor
