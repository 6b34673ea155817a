"""Patterns for forbidden shell commands that the owner adds."""

from __future__ import annotations

import pytest

from nightshift.verdict.checks.hooks.hooks import CommandHooks

OWN = ["terraform apply *", "git push --force*", "kubectl delete ns*", "aws s3 rm --recursive"]


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("env A=1 terraform apply", True),
        ("terraform plan", False),
        ("kubectl --context p delete ns-1", True),
        ("kubectl ns-1 delete", False),
        ("aws s3 rm s3://x --recursive", True),
        ("aws s3 rm s3://x", False),
        ("echo terraform apply", False),
    ],
)
def test_words_must_be_there_in_order_and_others_may_stand_between(text: str, meant: bool) -> None:
    rules = [blocked.rule for blocked in CommandHooks(OWN).in_text(text)]
    assert bool(rules) is meant


def test_the_owners_pattern_is_named_and_can_be_allowed_again() -> None:
    hooks = CommandHooks(OWN)
    assert "command.own.terraform-apply" in hooks.rules
    refusal = hooks.refusal(["terraform", "apply"])
    assert (
        refusal
        == "command.own.terraform-apply: `terraform apply` is blocked by the owner's pattern `terraform apply *`."
    )
    assert hooks.refusal(["terraform", "apply"], allow=["command.own.terraform-apply"]) is None


@pytest.mark.parametrize("text", ["", "* apply"])
def test_a_pattern_without_a_program_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="does not name a program"):
        CommandHooks([text])
