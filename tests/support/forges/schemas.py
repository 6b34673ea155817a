"""Excerpts of the forges' published descriptions of their APIs: the fields that matter here, with their types.

They were written from knowledge of those descriptions, and not fetched: what a forge adds or leaves out in one of its
versions does not show here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

TEXT, NUMBER, TRUTH = {"type": "string"}, {"type": "integer"}, {"type": "boolean"}
MAYBE_TEXT, MAYBE_NUMBER = {"type": ["string", "null"]}, {"type": ["integer", "null"]}
TIME, MAYBE_TIME = {"type": "string", "format": "date-time"}, {"type": ["string", "null"], "format": "date-time"}
SHA = {"type": "string", "pattern": "^[0-9a-f]{40}$"}


def ref(name: str) -> Mapping[str, Any]:
    return {"$ref": f"#/$defs/{name}"}


def either(name: str) -> Mapping[str, Any]:
    return {"anyOf": [ref(name), {"type": "null"}]}


def rows(of: Mapping[str, Any]) -> Mapping[str, Any]:
    return {"type": "array", "items": of}


def one(*texts: str) -> Mapping[str, Any]:
    return {"enum": list(texts)}


def record(**fields: Mapping[str, Any]) -> Mapping[str, Any]:
    """An object that has all of these."""
    return {"type": "object", "required": sorted(fields), "properties": fields, "additionalProperties": False}


ASSOCIATION = one(
    "COLLABORATOR", "CONTRIBUTOR", "FIRST_TIMER", "FIRST_TIME_CONTRIBUTOR", "MANNEQUIN", "MEMBER", "NONE", "OWNER"
)
GITHUB: Mapping[str, Any] = {
    "repository": record(id=NUMBER, full_name=TEXT, default_branch=TEXT, private=TRUTH, html_url=TEXT),
    "simple-user": record(login=TEXT, id=NUMBER, type=TEXT),
    "label": record(id=NUMBER, name=TEXT, color=TEXT),
    "issue": {
        **record(
            id=NUMBER, number=NUMBER, state=one("open", "closed"), title=TEXT, body=MAYBE_TEXT,
            user=either("simple-user"), labels=rows(ref("label")), author_association=ASSOCIATION, html_url=TEXT,
            created_at=TIME, updated_at=TIME, comments=NUMBER,
        ),
        "additionalProperties": {"type": "object"},  # pull_request, of those that are one
    },
    "issue-comment": record(
        id=NUMBER, body=TEXT, user=either("simple-user"), author_association=ASSOCIATION, html_url=TEXT,
        created_at=TIME, updated_at=TIME,
    ),
    "branch": record(label=TEXT, ref=TEXT, sha=SHA),
    "pull-request-simple": record(
        id=NUMBER, number=NUMBER, state=one("open", "closed"), title=TEXT, body=MAYBE_TEXT, user=either("simple-user"),
        draft=TRUTH, merged_at=MAYBE_TIME, head=ref("branch"), base=ref("branch"), html_url=TEXT,
        author_association=ASSOCIATION,
    ),
    "pull-request-review-comment": record(
        id=NUMBER, body=TEXT, user=ref("simple-user"), author_association=ASSOCIATION, html_url=TEXT, path=TEXT,
        line=MAYBE_NUMBER, original_line=MAYBE_NUMBER, diff_hunk=TEXT, commit_id=SHA,
        pull_request_review_id=MAYBE_NUMBER,
    ),
    "pull-request-review": record(
        id=NUMBER, body=TEXT, user=either("simple-user"), state=TEXT, author_association=ASSOCIATION, html_url=TEXT,
    ),
    "check-run": record(
        id=NUMBER, name=TEXT, head_sha=SHA, status=one("queued", "in_progress", "completed", "waiting", "pending"),
        conclusion={"enum": ["success", "failure", "neutral", "cancelled", "skipped", "timed_out", "action_required",
                             None]},
        html_url=MAYBE_TEXT, output=record(title=MAYBE_TEXT, summary=MAYBE_TEXT, text=MAYBE_TEXT),
    ),
    "check-runs": record(total_count=NUMBER, check_runs=rows(ref("check-run"))),
    "simple-commit-status": record(
        id=NUMBER, state=TEXT, context=TEXT, description=MAYBE_TEXT, target_url=MAYBE_TEXT
    ),
    "combined-commit-status": record(
        state=TEXT, sha=SHA, total_count=NUMBER, statuses=rows(ref("simple-commit-status"))
    ),
}  # fmt: skip

GITLAB: Mapping[str, Any] = {
    "Project": record(id=NUMBER, path_with_namespace=TEXT, default_branch=MAYBE_TEXT, web_url=TEXT),
    "UserBasic": record(id=NUMBER, username=TEXT, name=TEXT, state=TEXT, web_url=TEXT),
    "Member": record(id=NUMBER, username=TEXT, name=TEXT, state=TEXT, access_level=NUMBER, web_url=TEXT),
    "Issue": record(
        id=NUMBER, iid=NUMBER, project_id=NUMBER, title=TEXT, description=MAYBE_TEXT, state=one("opened", "closed"),
        labels=rows(TEXT), author=ref("UserBasic"), web_url=TEXT, created_at=TIME, updated_at=TIME,
    ),
    "Note": record(
        id=NUMBER, body=TEXT, author=ref("UserBasic"), system=TRUTH, type=MAYBE_TEXT, noteable_iid=NUMBER,
        created_at=TIME, updated_at=TIME, position=either("Position"),
    ),
    "Position": record(
        position_type=TEXT, old_path=MAYBE_TEXT, new_path=MAYBE_TEXT, old_line=MAYBE_NUMBER, new_line=MAYBE_NUMBER,
        base_sha=TEXT, start_sha=TEXT, head_sha=TEXT,
    ),
    "MergeRequest": record(
        id=NUMBER, iid=NUMBER, title=TEXT, description=MAYBE_TEXT, state=one("opened", "closed", "merged", "locked"),
        source_branch=TEXT, target_branch=TEXT, sha=SHA, draft=TRUTH, merged_at=MAYBE_TIME, author=ref("UserBasic"),
        web_url=TEXT,
    ),
    "CommitStatus": record(
        id=NUMBER, sha=SHA, ref=MAYBE_TEXT, name=TEXT, description=MAYBE_TEXT, target_url=MAYBE_TEXT,
        status=one("created", "pending", "running", "success", "failed", "canceled", "skipped", "manual"),
        allow_failure=TRUTH, author=ref("UserBasic"),
    ),
}  # fmt: skip

GITEA: Mapping[str, Any] = {
    "Repository": record(id=NUMBER, full_name=TEXT, default_branch=TEXT, html_url=TEXT, private=TRUTH),
    "User": record(id=NUMBER, login=TEXT, full_name=TEXT, email=TEXT),
    "Label": record(id=NUMBER, name=TEXT, color=TEXT),
    "Issue": record(
        id=NUMBER, number=NUMBER, state=one("open", "closed"), title=TEXT, body=TEXT, user=ref("User"),
        labels={"anyOf": [rows(ref("Label")), {"type": "null"}]}, html_url=TEXT, created_at=TIME, updated_at=TIME,
        comments=NUMBER, pull_request={"type": "null"},
    ),
    "RepoCollaboratorPermission": record(
        permission=one("owner", "admin", "write", "read", "none"), role_name=TEXT, user=ref("User")
    ),
    "Comment": record(id=NUMBER, body=TEXT, user=ref("User"), html_url=TEXT, created_at=TIME, updated_at=TIME),
    "PRBranchInfo": record(label=TEXT, ref=TEXT, sha=SHA, repo_id=NUMBER),
    "PullRequest": record(
        id=NUMBER, number=NUMBER, state=one("open", "closed"), title=TEXT, body=TEXT, user=ref("User"), draft=TRUTH,
        merged=TRUTH, merged_at=MAYBE_TIME, head=ref("PRBranchInfo"), base=ref("PRBranchInfo"), html_url=TEXT,
    ),
    "PullReview": record(id=NUMBER, body=TEXT, user=ref("User"), state=TEXT, comments_count=NUMBER, html_url=TEXT),
    "PullReviewComment": record(
        id=NUMBER, body=TEXT, user=ref("User"), path=TEXT, position=NUMBER, original_position=NUMBER, diff_hunk=TEXT,
        html_url=TEXT, pull_request_review_id=NUMBER,
    ),
    "CommitStatus": record(
        id=NUMBER, status=one("pending", "success", "error", "failure", "warning"), context=TEXT, description=TEXT,
        target_url=TEXT,
    ),
    "CombinedStatus": record(state=TEXT, sha=SHA, total_count=NUMBER, statuses=rows(ref("CommitStatus"))),
}  # fmt: skip
