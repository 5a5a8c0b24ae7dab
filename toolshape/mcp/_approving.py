"""Asks the MCP client's user for approval (elicitation) and parses the answer."""

import json
import re
import uuid
from collections.abc import Mapping
from datetime import timedelta
from typing import Any, NamedTuple

from mcp.server.context import ServerRequestContext
from mcp_types import (
    CallToolRequestParams,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitResult,
    InputRequiredResult,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from toolshape._plan.approval import Decision, Deny
from toolshape._plan.ledger_store import LedgerStore
from toolshape._plan.plan import Plan
from toolshape._plan.state import controls_of
from toolshape._records.calls import JsonObject
from toolshape._records.errors import UsageError
from toolshape._records.result import PendingCall
from toolshape._records.shown import escape_invisible
from toolshape._tools.tool import record_of

_QUESTION = "approval"
_PLAIN_NAME = re.compile(r"[A-Za-z0-9_.-]+")
_FORM: JsonObject = {
    "type": "object",
    "properties": {
        "approve": {
            "type": "boolean",
            "title": "Run it",
            "description": "Whether to run the call with these arguments.",
        },
        "why": {
            "type": "string",
            "title": "Why not",
            "description": "The reason that the model sees if the call is not run.",
            # Without a default, clients that fill forms by type answer null, which is not a string.
            "default": "",
        },
    },
    "required": ["approve"],
}


class Sealing(NamedTuple):
    """The arguments for ``Plan.pause``, which seals the calls that wait for approval."""

    key: bytes
    audience: str
    expires: timedelta
    ledger: LedgerStore | None


async def request_approval(
    plan: Plan, context: ServerRequestContext[Any, Any], sealing: Sealing
) -> InputRequiredResult | None:
    """Return a request to approve a plan's call.

    If the user cannot be asked, deny the call and return ``None``.
    """
    [pending_call] = plan.pending
    if not _can_ask(context):
        plan.deny(pending_call, "this call needs approval, and this client cannot ask its user")
        return None
    # Request ids start again on each connection, so a random scope keeps the calls on two
    # connections apart.
    controls_of(plan.results).scope = f"mcp {uuid.uuid4().hex}"
    text = _question_text(pending_call)
    try:
        state = await plan.apause(
            sealing.key, audience=sealing.audience, expires=sealing.expires, ledger=sealing.ledger
        )
    except UsageError as error:
        plan.deny(pending_call, f"this call needs approval, which cannot be requested: {error}")
        return None
    question = ElicitRequest(params=ElicitRequestFormParams(message=text, requested_schema=_FORM))
    return InputRequiredResult(input_requests={_QUESTION: question}, request_state=state)


def _can_ask(context: ServerRequestContext[Any, Any]) -> bool:
    capabilities = context.session.client_capabilities
    if capabilities is None:
        elicitation = None
    else:
        elicitation = capabilities.elicitation
    if context.protocol_version not in MODERN_PROTOCOL_VERSIONS or elicitation is None:
        return False
    return elicitation.form is not None or elicitation.url is None


def _question_text(waiting: PendingCall) -> str:
    reader: Any = waiting.call.reader
    tool = reader.tool
    arguments = _quote(record_of(tool).secrets.masked(waiting.arguments))
    # A remote server may choose the name.
    name = tool.name if _PLAIN_NAME.fullmatch(tool.name) else _quote(tool.name)
    title = f" ({_quote(tool.title)})" if tool.title else ""
    return f"{name}{title} is about to be called with {arguments}. Run it?"


def _quote(value: Any) -> str:
    """Return JSON on one line, with invisible and misleading characters escaped."""
    return escape_invisible(json.dumps(value, ensure_ascii=False))


def decisions(params: CallToolRequestParams) -> Mapping[str, Decision]:
    """Map the id of the call in the approval request to the user's decision."""
    response: Any = (params.input_responses or {}).get(_QUESTION)
    [call] = json.loads(params.request_state or "")["calls"]
    if isinstance(response, ElicitResult) and response.action == "accept":
        content = response.content or {}
    else:
        content = {}
    if content.get("approve") is True:
        return {call["id"]: True}
    why = content.get("why")
    return {
        call["id"]: Deny(
            why if isinstance(why, str) and why else "the user did not approve this call"
        )
    }
