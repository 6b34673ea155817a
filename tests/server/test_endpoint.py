"""Endpoints: the parts of the contract that a view's signature defines."""

from __future__ import annotations

from pydantic import BaseModel

from nightshift.server.context import AppContext
from nightshift.server.endpoint import Endpoint, Reply, Routes
from nightshift.server.query import LoginQuery, Query
from nightshift.server.schemas import Answer


class Sent(BaseModel):
    text: str = ""


class Made(Answer):
    text: str


def the_endpoint(routes: Routes) -> Endpoint:
    [endpoint] = routes.endpoints
    return endpoint


def test_a_signature_is_the_contract() -> None:
    routes = Routes()

    @routes.endpoint("POST", "/api/thing/{thing_id}/{name}")
    def make_thing(context: AppContext, thing_id: int, name: str, query: LoginQuery, body: Sent) -> Made:
        """Make a thing.

        It is
        made once.
        """
        return Made(text=f"{thing_id} {name} {query} {body}")

    assert the_endpoint(routes) == Endpoint(
        name="make_thing", method="POST", path="/api/thing/{thing_id}/{name}",
        summary="Make a thing. It is made once.", view=make_thing, answers={200: Made}, query=LoginQuery,
        body=Sent, body_required=True, texts=("name",),
    )  # fmt: skip


def test_a_body_may_be_left_out_and_other_answers_are_named() -> None:
    routes = Routes()

    @routes.endpoint("POST", "/api/things", answers={201: Made})
    def make(context: AppContext, body: Sent | None) -> Reply:
        """Make one."""
        return Reply(answer=Made(text=str(body)), status=201)

    endpoint = the_endpoint(routes)
    assert (endpoint.body, endpoint.body_required, endpoint.answers) == (Sent, False, {201: Made})
    assert (endpoint.query, endpoint.texts) == (Query, ())
