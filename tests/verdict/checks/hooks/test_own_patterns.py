"""Patterns for forbidden shell commands that the owner adds."""

from __future__ import annotations

import pytest

from nightshift.verdict.checks.hooks.hooks import CommandHooks

OWN = ["terraform apply *", "git push --force*", "kubectl delete ns*", "aws s3 rm --recursive"]


def test_words_must_be_there_in_order_and_others_may_stand_between() -> None:
    meant = ("env A=1 terraform apply", "kubectl --context p delete ns-1", "aws s3 rm s3://x --recursive")
    others = ("terraform plan", "kubectl ns-1 delete", "aws s3 rm s3://x", "echo terraform apply")
    assert all(list(CommandHooks(OWN).in_text(text)) for text in meant)
    assert not any(list(CommandHooks(OWN).in_text(text)) for text in others)


def test_the_owners_pattern_is_named_and_can_be_allowed_again() -> None:
    hooks = CommandHooks(OWN)
    assert "command.own.terraform-apply" in hooks.rules
    assert "is blocked by the owner's pattern `terraform apply *`." in (hooks.refusal(["terraform", "apply"]) or "")
    assert hooks.refusal(["terraform", "apply"], allow=["command.own.terraform-apply"]) is None


def test_a_pattern_without_a_program_is_refused() -> None:
    for text in ("", "* apply"):
        with pytest.raises(ValueError, match="does not name a program"):
            CommandHooks([text])
