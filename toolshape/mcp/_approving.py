"""A call that waits for approval in; the request for that, which a client puts to its user, out; and what they said as decisions."""

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

from toolshape._calls import JsonObject, visible
from toolshape._dispatch.approval import Decision, Deny
from toolshape._dispatch.ledger_store import LedgerStore
from toolshape._dispatch.plan import Plan
from toolshape._dispatch.state import controlled
from toolshape._errors import UsageError
from toolshape._results import PendingCall
from toolshape._tool import record_of

_QUESTION = "approval"
_PLAIN_NAME = re.compile(r"[A-Za-z0-9_.-]+")
_FORM: JsonObject = {
    "type": "object",
    "properties": {
        "approve": {
            "type": "boolean",
            "title": "Run it",
            "description": "Whether it is to be run, with these arguments.",
        },
        "why": {"type": "string", "title": "Why not", "description": "What the model is told if it is not run."},
    },
    "required": ["approve"],
}


class Sealing(NamedTuple):
    """How calls that wait for approval are given away; see ``Plan.pause``."""

    key: bytes
    audience: str
    expires: timedelta
    ledger: LedgerStore | None


async def asked(plan: Plan, context: ServerRequestContext[Any, Any], sealing: Sealing) -> InputRequiredResult | None:
    """Ask for approval of the call of a plan; ``None`` where that is not possible, and the call is denied."""
    [waiting] = plan.pending
    if not _can_ask(context):
        plan.deny(waiting, "somebody has to approve of it, and this client cannot be asked")
        return None
    # The ids of requests are counted from the start in each connection.
    controlled(plan.results).scope = f"mcp {uuid.uuid4().hex}"
    text = _shown(waiting)
    try:
        state = await plan.apause(
            sealing.key, audience=sealing.audience, expires=sealing.expires, ledger=sealing.ledger
        )
    except UsageError as error:
        plan.deny(waiting, f"somebody has to approve of it, which cannot be asked: {error}")
        return None
    question = ElicitRequest(params=ElicitRequestFormParams(message=text, requested_schema=_FORM))
    return InputRequiredResult(input_requests={_QUESTION: question}, request_state=state)


def _can_ask(context: ServerRequestContext[Any, Any]) -> bool:
    capabilities = context.session.client_capabilities
    elicitation = None if capabilities is None else capabilities.elicitation
    if context.protocol_version not in MODERN_PROTOCOL_VERSIONS or elicitation is None:
        return False
    return elicitation.form is not None or elicitation.url is None


def _shown(waiting: PendingCall) -> str:
    reader: Any = waiting.call.reader
    tool = reader.tool
    arguments = _quoted(record_of(tool).secrets.masked(waiting.arguments))
    name = tool.name if _PLAIN_NAME.fullmatch(tool.name) else _quoted(tool.name)  # a server may have given it
    title = f" ({_quoted(tool.title)})" if tool.title else ""
    return f"{name}{title} is about to be called with {arguments}. Is it to be run?"


def _quoted(value: Any) -> str:
    """JSON on one line, which holds nothing that is read otherwise than it is written."""
    return visible(json.dumps(value, ensure_ascii=False))


def decisions(params: CallToolRequestParams) -> Mapping[str, Decision]:
    """What was decided, by the id that the call had when it was asked of."""
    said: Any = (params.input_responses or {}).get(_QUESTION)
    [call] = json.loads(params.request_state or "")["calls"]
    content = (said.content or {}) if isinstance(said, ElicitResult) and said.action == "accept" else {}
    if content.get("approve") is True:
        return {call["id"]: True}
    why = content.get("why")
    return {call["id"]: Deny(why if isinstance(why, str) and why else "the user did not approve of it")}
