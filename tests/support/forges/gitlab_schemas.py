"""GitLab's API in the form that `description.py` reads: the operations and fields that `remote/forges/` uses.

These schemas are written by hand, because GitLab's own description is under CC BY-SA 4.0 and no part of it may be
copied here. They were compared field by field with two sources. Merge requests, members, users, the parameters of
issues and the statuses of jobs were compared with doc/api/openapi/openapi_v3.yaml of GitLab 19.5. Issues, notes, commit
statuses and the project were compared with the types of @gitbeaker/core 43.8.0 (a note's position with the position of
a discussion's note). GitLab's description declares an access level as a string, although it is a number on the wire,
and it never says which fields of a response may be null.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

TEXT, NUMBER, TRUTH = {"type": "string"}, {"type": "integer"}, {"type": "boolean"}
MAYBE_TEXT, MAYBE_NUMBER = {"type": ["string", "null"]}, {"type": ["integer", "null"]}
TIME, MAYBE_TIME = {"type": "string", "format": "date-time"}, {"type": ["string", "null"], "format": "date-time"}
SHA = {"type": "string", "pattern": "^[0-9a-f]{40}$"}
AT = "/projects/{id}"
Schema = Mapping[str, Any]


def ref(name: str) -> Schema:
    return {"$ref": f"#/components/{name}"}


def rows(name: str) -> Schema:
    return {"type": "array", "items": ref(name)}


def enum_of(*texts: str) -> Schema:
    return {"enum": list(texts)}


def record(**fields: Schema) -> Schema:
    """Return the schema of an object that requires all of these fields."""
    return {"type": "object", "required": sorted(fields), "properties": fields}


def ask(answer: Schema, **query: Schema) -> Schema:
    """Return the schema of a GET request's query and of its response."""
    return {"query": query, "body": None, "answers": {"200": answer, "401": REFUSED, "404": REFUSED}}


def is_sent(status: int, answer: Schema, body: Schema, *refusals: int) -> Schema:
    """Return the schema of a writing request's body and of its responses."""
    errors = {str(each): REFUSED for each in (400, 401, 403, 404, *refusals)}
    return {"query": {}, "body": body, "answers": {str(status): answer, **errors}}


REFUSED: Schema = {
    "type": "object",
    "required": ["message"],
    "properties": {"message": {"type": ["string", "array", "object"]}},
}
PAGES = {"page": NUMBER, "per_page": NUMBER}
SORTED = {**PAGES, "sort": enum_of("asc", "desc"), "order_by": enum_of("created_at", "updated_at")}
NOTE = record(body=TEXT)
OPERATIONS: Mapping[str, Schema] = {
    f"GET {AT}": ask(ref("Project")),
    "GET /user": ask(ref("User")),
    f"GET {AT}/members/all/{{user_id}}": ask(ref("Member")),
    f"GET {AT}/issues": ask(
        rows("Issue"), state=enum_of("opened", "closed", "all"), labels={"type": "array", "items": TEXT}, **PAGES
    ),
    f"GET {AT}/issues/{{issue_iid}}": ask(ref("Issue")),
    f"GET {AT}/issues/{{noteable_id}}/notes": ask(rows("Note"), **SORTED),
    f"POST {AT}/issues/{{noteable_id}}/notes": is_sent(201, ref("Note"), NOTE),
    f"PUT {AT}/issues/{{noteable_id}}/notes/{{note_id}}": is_sent(200, ref("Note"), NOTE),
    f"GET {AT}/merge_requests/{{noteable_id}}/notes": ask(rows("Note"), **SORTED),
    f"POST {AT}/merge_requests/{{noteable_id}}/notes": is_sent(201, ref("Note"), NOTE),
    f"PUT {AT}/merge_requests/{{noteable_id}}/notes/{{note_id}}": is_sent(200, ref("Note"), NOTE),
    f"GET {AT}/merge_requests": ask(
        rows("MergeRequest"), state=enum_of("opened", "closed", "locked", "merged", "all"), source_branch=TEXT, **PAGES
    ),
    f"POST {AT}/merge_requests": is_sent(
        201, ref("MergeRequest"), record(source_branch=TEXT, target_branch=TEXT, title=TEXT, description=TEXT), 409, 422
    ),
    f"GET {AT}/merge_requests/{{merge_request_iid}}": ask(ref("MergeRequest")),
    f"GET {AT}/repository/commits/{{sha}}/statuses": ask(rows("CommitStatus"), **PAGES),
}
USER: Schema = {"id": NUMBER, "username": TEXT, "name": TEXT, "state": TEXT, "web_url": TEXT, "avatar_url": MAYBE_TEXT}
COMPONENTS: Mapping[str, Schema] = {
    "Project": record(
        id=NUMBER, path_with_namespace=TEXT, name=TEXT, name_with_namespace=TEXT, default_branch=MAYBE_TEXT,
        web_url=TEXT, created_at=TIME, last_activity_at=TIME,
    ),
    "User": record(**USER, created_at=TIME, bot=TRUTH),
    "UserBasic": record(**USER),
    "Member": record(**USER, access_level=NUMBER, expires_at=MAYBE_TEXT),
    "Issue": record(
        id=NUMBER, iid=NUMBER, project_id=NUMBER, title=TEXT, description=MAYBE_TEXT, state=enum_of("opened", "closed"),
        labels={"type": "array", "items": TEXT}, author=ref("UserBasic"), web_url=TEXT, created_at=TIME,
        updated_at=TIME, closed_at=MAYBE_TIME, issue_type=TEXT, confidential=TRUTH, user_notes_count=NUMBER,
    ),
    "Note": record(
        id=NUMBER, body=TEXT, author=ref("UserBasic"), system=TRUTH, type=MAYBE_TEXT, noteable_id=NUMBER,
        noteable_type=enum_of("Issue", "MergeRequest"), noteable_iid=NUMBER, project_id=NUMBER, resolvable=TRUTH,
        created_at=TIME, updated_at=TIME,
    ),
    "Position": record(
        position_type=enum_of("text", "image", "file"), old_path=MAYBE_TEXT, new_path=MAYBE_TEXT, old_line=MAYBE_NUMBER,
        new_line=MAYBE_NUMBER, base_sha=TEXT, start_sha=TEXT, head_sha=TEXT,
    ),
    "MergeRequest": record(
        id=NUMBER, iid=NUMBER, project_id=NUMBER, title=TEXT, description=MAYBE_TEXT,
        state=enum_of("opened", "closed", "merged", "locked"), source_branch=TEXT, target_branch=TEXT,
        source_project_id=NUMBER, target_project_id=NUMBER, sha=SHA, merge_commit_sha=MAYBE_TEXT, draft=TRUTH,
        merged_at=MAYBE_TIME, closed_at=MAYBE_TIME, created_at=TIME, updated_at=TIME, author=ref("UserBasic"),
        labels={"type": "array", "items": TEXT}, detailed_merge_status=TEXT, web_url=TEXT,
    ),
    "CommitStatus": record(
        id=NUMBER, sha=SHA, ref=MAYBE_TEXT, name=TEXT, description=MAYBE_TEXT, target_url=MAYBE_TEXT,
        status=enum_of("created", "waiting_for_resource", "preparing", "waiting_for_callback", "pending", "running",
                   "success", "failed", "canceled", "canceling", "skipped", "manual", "scheduled"),
        allow_failure=TRUTH, created_at=TIME, started_at=MAYBE_TIME, finished_at=MAYBE_TIME, author=ref("UserBasic"),
    ),
}  # fmt: skip
COMPONENTS["Note"]["properties"]["position"] = ref("Position")  # Optional: only notes on lines have a position
GITLAB: Mapping[str, Any] = {"operations": OPERATIONS, "components": COMPONENTS}
