"""The web application: its URL rules are compiled for matching, but can still be used to build URLs."""

from __future__ import annotations

import re

import pytest
from flask import url_for
from werkzeug.routing import BuildError

from nightshift.server.app import create_api
from nightshift.server.context import AppContext
from nightshift.server.contract import ENDPOINTS


def test_an_address_is_built_of_a_rule_where_one_is_asked_for(context: AppContext) -> None:
    app = create_api(context, ENDPOINTS)
    rules = [rule for rule in app.url_map.iter_rules() if rule.arguments == {"task_id"}]
    assert rules
    with app.test_request_context():
        for rule in rules:
            wanted = re.sub("<.*>", "7", rule.rule)
            assert url_for(rule.endpoint, task_id=7, of="x y") == f"{wanted}?of=x+y"
            with pytest.raises(BuildError):
                url_for(rule.endpoint)
