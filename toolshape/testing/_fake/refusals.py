"""Checks a request against a provider's cited rules, and builds the error of each fault."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from toolshape._families import get
from toolshape._families.wire.histories import Histories
from toolshape._families.wire.provider import Choice, Provider, SchemaRules
from toolshape._families.wire.server import Refusal, RequestFault, RequestRead, SentTool
from toolshape._history.messages import check_messages
from toolshape._history.repair import tools_missing
from toolshape._records.calls import JsonObject
from toolshape._records.errors import ExportError, Problem, ResponseError
from toolshape._schema.checks import Cited, broken
from toolshape._schema.limits import GrammarSize, grammar_size
from toolshape.testing._fake.speaker import server_of


@dataclass(frozen=True, kw_only=True, slots=True)
class Refused:
    """Why a fake refused a request: the place, the rule, and the dated evidence
    that the provider has this rule.

    ``status`` and ``message`` are the HTTP status and the message of the error. If ``as_recorded``
    is true, the message uses the provider's recorded wording. Otherwise toolshape worded the
    message, and the message says so.
    """

    rule: str
    path: str
    message: str
    evidence: str
    status: int
    as_recorded: bool
    tool: str = ""

    def __str__(self) -> str:
        return f"{self.path or 'the request'}: {self.rule}: {self.message} [{self.evidence}]"


def faults(
    provider: Provider, request: RequestRead, model: str | None, *, strict: bool
) -> Iterator[RequestFault]:
    """Yield each fault in a request that a cited rule refuses, in the order of the checks.

    Args:
        provider: The provider that the fake plays.
        request: The parsed request body.
        model: The requested model.
        strict: Whether to refuse fields that the provider's SDK does not define.
    """
    server = server_of(provider)
    for rule in server.refuses:
        for fault in rule.check(request):
            yield fault._replace(evidence=rule.evidence)
    if strict and server.fields:
        # Google accepts both spellings.
        known_fields = {name.replace("_", "").lower() for name in server.fields}
        for name in request.body:
            if name.replace("_", "").lower() not in known_fields:
                evidence = (
                    "the provider's SDK does not define this field, and strict=True refuses "
                    "undefined fields"
                )
                yield RequestFault(
                    name, "unknown_field", f"{name} is unknown", evidence, subject=name
                )
    yield from _count_faults(provider, request)
    yield from _budget_faults(provider, request)
    for tool in request.tools:
        yield from _tool_faults(_rules_provider(provider, tool), tool)
    yield from _output_faults(provider, request, model)
    yield from _choice_faults(provider, request, model)
    if provider.histories is not None:
        yield from _history_faults(provider, provider.histories, request, model)


def _size(tool: SentTool) -> GrammarSize:
    """Return the grammar size of a tool's schema. The size of an invalid schema is zero."""
    try:
        return grammar_size(tool.schema)
    except (TypeError, AttributeError, ValueError, RecursionError):
        return GrammarSize(0, 0, 0)


def _rules_provider(provider: Provider, tool: SentTool) -> Provider:
    """Return the provider whose rules apply to a tool's schema.

    The schema may use another provider's dialect.
    """
    if tool.dialect in ("", provider.form):
        return provider
    return get(tool.dialect)


def _count_faults(provider: Provider, request: RequestRead) -> Iterator[RequestFault]:
    limit, count = provider.request.most_tools, len(request.tools) + request.native
    if limit is not None and count > limit.most:
        message = f"{count} tools, at most {limit.most} are accepted"
        yield RequestFault(
            "tools", "most_tools", message, limit.evidence, given=str(count), most=str(limit.most)
        )


def _budget_faults(provider: Provider, request: RequestRead) -> Iterator[RequestFault]:
    strict = [tool for tool in request.tools if tool.is_strict and isinstance(tool.schema, dict)]
    budget = provider.schema.budget
    if budget is None or not strict:
        return
    sizes = [_size(tool) for tool in strict]
    usage = {
        "tools": (len(strict), budget.tools),
        "properties": (sum(size.properties for size in sizes), budget.properties),
        "optional": (sum(size.optional for size in sizes), budget.optional),
        "unions": (sum(size.unions for size in sizes), budget.unions),
    }
    for name, (count, limit) in usage.items():
        if limit is not None and count > limit:
            message = f"{count} {name} of strict tools, at most {limit} are accepted"
            yield RequestFault(
                "tools",
                f"strict_{name}",
                message,
                budget.evidence,
                given=str(count),
                most=str(limit),
            )


def _tool_faults(provider: Provider, tool: SentTool) -> Iterator[RequestFault]:
    base_fault = RequestFault(path="", rule="", message="", tool=str(tool.name), number=tool.number)
    names, name = provider.names, tool.name
    if names.longest_accepted is None:
        longest = names.longest
    else:
        longest = names.longest_accepted
    if not isinstance(name, str) or not names._replace(longest=longest).admits(name):
        message = f"{name!r} is not a valid tool name"
        yield base_fault._replace(
            path=f"{tool.path}.name",
            rule="name",
            message=message,
            evidence=names.evidence,
            subject=str(name),
        )
    limit = provider.request.longest_description
    if limit is not None and len(tool.description) > limit.most:
        length = str(len(tool.description))
        path, message = (
            f"{tool.path}.description",
            f"{length} characters, at most {limit.most} are accepted",
        )
        limit_fault = base_fault._replace(
            evidence=limit.evidence, given=length, most=str(limit.most)
        )
        yield limit_fault._replace(path=path, rule="description", message=message)
    if not isinstance(tool.schema, dict):
        return
    for problem in _problems(provider.schema, tool.schema, is_strict=tool.is_strict):
        root_type = tool.schema.get("type")
        schema_fault = base_fault._replace(
            path=tool.schema_path, place=problem.path, subject=_subject(problem.message)
        )
        yield schema_fault._replace(
            rule=problem.rule,
            message=problem.message,
            evidence=problem.evidence,
            given=str(root_type or ""),
        )


def _problems(rules: SchemaRules, schema: JsonObject, *, is_strict: bool) -> list[Problem]:
    """Return the problems in a schema that make the server refuse the request.

    For an invalid schema, such as ``{"required": null}``, return no problems: no cited rule states
    how the provider treats an invalid schema.
    """
    try:
        return broken(schema, _refused_by_server(rules, is_strict=is_strict))
    except (TypeError, AttributeError, ValueError, KeyError, RecursionError):
        return []


def _refused_by_server(rules: SchemaRules, *, is_strict: bool) -> Iterator[Cited]:
    # If the provider has no strict form, the flag has no effect.
    has_strict = is_strict and rules.strict is not None
    for rule in (*rules.refuses, *(rules.refuses_strict if has_strict else ())):
        if rule.is_refused:
            yield rule


OF_ROOTS = frozenset({"root_is_object", "root_has_properties", "root_without_combinators"})
"""The rules about the root of a tool's schema.

For the schema of an answer, some providers accept any root.
"""


def _output_faults(
    provider: Provider, request: RequestRead, model: str | None
) -> Iterator[RequestFault]:
    """Yield the faults in the schema for an answer."""
    form = provider.output
    if form is None or form.sent is None:
        sent_output = None
    else:
        sent_output = form.sent(request.body)
    if form is None or sent_output is None:
        return
    base_fault = RequestFault(
        path=sent_output.path,
        rule="",
        message="",
        tool=str(sent_output.name or ""),
        is_of_output=True,
    )
    # The schema is judged by the dialect that it was sent in, which may be another provider's: a
    # gateway takes several. A provider whose rules of an answer differ from those of a tool's
    # arguments says so in ``output.schema``.
    exclusion = form.not_beside_tools
    has_tools = bool(request.tools or request.native)
    if (
        has_tools
        and exclusion is not None
        and exclusion.refused_by is not None
        and re.match(exclusion.refused_by, model or "")
    ):
        message = "a request with tools must not also contain a schema for the answer"
        yield base_fault._replace(
            rule="output_beside_tools", message=message, evidence=exclusion.evidence
        )
    if form.names is not None and not (
        isinstance(sent_output.name, str) and form.names.admits(sent_output.name)
    ):
        message = f"{sent_output.name!r} is not a valid name for a schema"
        yield base_fault._replace(
            rule="name",
            message=message,
            evidence=form.names.evidence,
            subject=str(sent_output.name),
        )
    if not isinstance(sent_output.schema, dict):
        return
    if sent_output.dialect in ("", provider.form):
        judge = provider
    else:
        judge = get(sent_output.dialect)
    if judge.output is None or judge.output.schema is None:
        rules = judge.schema
    else:
        rules = judge.output.schema
    for problem in _problems(
        rules, sent_output.schema, is_strict=sent_output.is_strict or form.is_always_strict
    ):
        if form.takes_any_root and problem.rule in OF_ROOTS:
            continue
        kind = str(sent_output.schema.get("type") or "")
        schema_fault = base_fault._replace(
            place=problem.path, subject=_subject(problem.message), given=kind
        )
        yield schema_fault._replace(
            rule=problem.rule, message=problem.message, evidence=problem.evidence
        )


def _choice_faults(
    provider: Provider, request: RequestRead, model: str | None
) -> Iterator[RequestFault]:
    entries = [tool.entry for tool in request.tools]
    choice = Choice(
        provider=provider.name,
        model=model,
        mode=request.mode,
        names=request.names,
        chosen=tuple(entries),
        parallel=request.parallel,
        is_strict=request.is_strict,
    )
    try:
        provider.request.keywords(entries, choice)
    except ExportError as error:
        for problem in error.problems:
            # Without evidence, the provider lacks this option and ignores the field.
            if problem.evidence:
                yield RequestFault("tool_choice", "choice", problem.message, problem.evidence)


def _history_faults(
    provider: Provider, histories: Histories, request: RequestRead, model: str | None
) -> Iterator[RequestFault]:
    try:
        problems = check_messages(provider, request.body, model)
    except ResponseError:  # no cited rule states how the provider treats invalid messages
        return
    for problem in problems:
        # Only the provider's server knows which items it created.
        if problem.rule == "item_without_reasoning":
            continue
        subject = _subject(problem.message)
        length = str(len(subject))
        yield RequestFault(
            problem.path,
            problem.rule,
            problem.message,
            problem.evidence,
            subject=subject,
            given=length,
        )
    missing = tools_missing(histories, model)
    has_tools = bool(request.tools or request.native)
    if (
        missing is not None
        and not has_tools
        and any(provider.response.recognises(message) for message in request.messages)
    ):
        yield RequestFault(missing.path, missing.rule, missing.message, missing.evidence)


_QUOTED = re.compile(r"'((?:[^'\\]|\\.)*)'|\"((?:[^\"\\]|\\.)*)\"")


def _subject(message: str) -> str:
    """Return the name that a message is about: its first quoted string, or else its first word."""
    quoted = _QUOTED.search(message)
    if quoted:
        return next(filter(None, quoted.groups()), "")
    return message.partition(" ")[0]


def refuse(provider: Provider, fault: RequestFault) -> tuple[Refusal, Refused]:
    """Return the error to send for a fault, and its record.

    The error uses the provider's recorded wording, if any.
    """
    if fault.is_of_output:
        rule = f"output:{fault.rule}"
    else:
        rule = fault.rule
    wordings = server_of(provider).wordings
    wording = wordings.get(rule if fault.given else f"{rule}:missing") or wordings.get(rule)
    if wording is None:
        message = (
            f"{fault.path}: {fault.message} ({provider.name} refuses this; toolshape worded the "
            "message)"
        )
        refusal = Refusal(400, message.removeprefix(": "), param=fault.path or None)
    else:
        fields = _fields(fault)
        if wording.param is None:
            param = None
        else:
            param = wording.param.format(**fields)
        refusal = Refusal(wording.status, wording.message.format(**fields), wording.code, param)
    reason = Refused(
        rule=fault.rule,
        path=".".join(filter(None, (fault.path, fault.place))),
        message=refusal.message,
        evidence=fault.evidence,
        status=refusal.status,
        as_recorded=wording is not None,
        tool=fault.tool,
    )
    return refusal, reason


def _fields(fault: RequestFault) -> JsonObject:
    """Return the values for the placeholders in the provider's recorded wording."""
    steps = [step for step in re.findall(r"[^.\[\]]+|\[\]", fault.place) if step]
    context: list[str] = []
    for step in steps:
        context += ["items"] if step == "[]" else ["properties", step]
    properties_path = "".join(
        ".items" if step == "[]" else f".properties[{step}]" for step in steps
    )
    message = re.match(r"\w+\[\d+\]", fault.path)
    message_path = message[0] if message else fault.path
    dotted_path = re.sub(r"\[(\d+)\]", r".\1", message_path)
    param = fault.path
    given = fault.given or "null"
    derived_fields = {
        "context": tuple(context),
        "properties": properties_path,
        "message_path": dotted_path,
        "param": param,
    }
    return {**fault._asdict(), "given": given, **derived_fields}
