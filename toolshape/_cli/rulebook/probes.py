"""Finds a request that breaks each cited rule of a provider, and a twin that breaks none."""

import contextlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any, Literal, NamedTuple, TypeAlias

from toolshape._cli.rulebook.histories import (
    ACCEPTED as ACCEPTED_HISTORY,
    STEPS,
    USER,
    refused_histories,
)
from toolshape._cli.rulebook.schemas import ACCEPTED, refused_schemas, without_closing
from toolshape._families.wire.provider import Choice, OutputSchema, Provider
from toolshape._families.wire.server import RequestFault, RequestRead
from toolshape._records.calls import ChoiceMode, JsonObject, JsonSchema, Spec
from toolshape._records.errors import ExportError
from toolshape._schema.checks import Cited
from toolshape._schema.values import copy_json
from toolshape.messages import Message, ReasoningPart, ToolCallPart
from toolshape.testing._fake.refusals import OF_ROOTS, faults
from toolshape.testing._fake.speaker import server_of

ProbeKind: TypeAlias = Literal["schema", "strict", "name", "limit", "request", "history", "output"]
KINDS: tuple[ProbeKind, ...] = ("schema", "strict", "name", "limit", "request", "history", "output")


class ProbedRule(NamedTuple):
    """One cited rule of a provider: its kind, its name, and its evidence."""

    kind: ProbeKind
    name: str
    evidence: str


class Probe(NamedTuple):
    """A request that a rule refuses, and a twin that no rule refuses.

    Both are bodies without the model's name.

    ``others`` are the other rules that refuse the request: the provider may refuse it because of
    one of them.
    """

    rule: ProbedRule
    refused: JsonObject
    accepted: JsonObject
    others: tuple[ProbedRule, ...] = ()


class Unprobed(NamedTuple):
    """A rule that has no probe, and the reason.

    If a probe exists for another model, ``model`` is that model.
    """

    rule: ProbedRule
    why: str
    model: str | None = None


class RuleBook(NamedTuple):
    """A provider's rules for a model: the rules with a probe, and the rules without a probe."""

    probes: tuple[Probe, ...]
    without: tuple[Unprobed, ...]


class _Candidate(NamedTuple):
    refused: JsonObject
    accepted: JsonObject


_NAMES = ("a b", "1a", "a.b", "a-b", "ä", "", "x" * 65, "x" * 129, "x" * 257)
_MODEL_IS_SENT = "every request contains the model"
_NO_CANDIDATE = "toolshape has no request that breaks this rule"
_OF_OTHER_MODELS = "the rule holds for other models"
_KNOWN_TO_SERVER = "only the provider can recognise the data that its server made"
_OF_THE_SERVER = ("item_without_reasoning", "signed_prefix")
"""Rules about data that a provider's server made, such as signatures: no request
from toolshape can break them.
"""


def rule_book(provider: Provider, model: str | None = None) -> RuleBook:
    """Return a provider's rules. The probe for a rule breaks as few other rules as possible.

    Raises:
        UsageError: The provider has no ``server``, which defines how its requests are read.
        ExportError: The provider has no ``histories``, which define how its messages are written.
    """
    probes = _probes(provider, model)
    unprobed_rules = _rules_without_probe(provider, probes)
    models_by_rule: dict[ProbedRule, str] = {}
    for other in server_of(provider).models:
        for rule in _probes(provider, other):
            models_by_rule.setdefault(rule, other)
    rules_without_probe = [
        *unprobed_rules,
        *(rule for rule in models_by_rule if rule not in probes and rule not in unprobed_rules),
    ]
    ordered = sorted(
        probes.values(), key=lambda probe: (KINDS.index(probe.rule.kind), probe.rule.name)
    )
    return RuleBook(
        tuple(ordered),
        tuple(
            _make_unprobed(provider, rule, model, models_by_rule.get(rule))
            for rule in rules_without_probe
        ),
    )


def _probes(provider: Provider, model: str | None) -> dict[ProbedRule, Probe]:
    breaking_candidates: list[tuple[_Candidate, frozenset[tuple[str, str, bool]]]] = []
    for candidate in _candidates(provider, model):
        if not _broken_rules(provider, candidate.accepted, model):
            broken_rules = _broken_rules(provider, candidate.refused, model)
            breaking_candidates += [(candidate, broken_rules)] if broken_rules else []
    rules_by_key = {
        (rule.name, rule.evidence, rule.kind == "output"): rule for rule in probed_rules(provider)
    }
    # A check of whole requests may report a fault under another name, so this name becomes a rule
    # as well.
    for _, broken_rules in breaking_candidates:
        for name, evidence, is_of_output in broken_rules:
            rules_by_key.setdefault(
                (name, evidence, is_of_output), ProbedRule("request", name, evidence)
            )
    probes: dict[ProbedRule, Probe] = {}
    for candidate, broken_rules in sorted(
        breaking_candidates, key=lambda item: (len(item[1]), len(json.dumps(item[0].refused)))
    ):
        for key in broken_rules:
            other_rules = tuple(
                rules_by_key[other_key] for other_key in sorted(broken_rules - {key})
            )
            probes.setdefault(
                rules_by_key[key],
                Probe(rules_by_key[key], candidate.refused, candidate.accepted, other_rules),
            )
    return probes


def _rules_without_probe(provider: Provider, probes: Iterable[ProbedRule]) -> list[ProbedRule]:
    """Return the rules without a probe.

    A rule for whole requests has a probe if any such probe cites its evidence.
    """
    probed_evidence = {rule.evidence for rule in probes if rule.kind == "request"}
    return [
        rule
        for rule in probed_rules(provider)
        if rule not in probes and not (rule.kind == "request" and rule.evidence in probed_evidence)
    ]


def _make_unprobed(
    provider: Provider, rule: ProbedRule, model: str | None, other: str | None
) -> Unprobed:
    if other is not None:
        return Unprobed(rule, f"{_OF_OTHER_MODELS}, for example {other}", other)
    if rule.kind == "history" and provider.histories is not None:
        matching_rules = [
            known_rule
            for known_rule in provider.histories.rules
            if (known_rule.name, known_rule.evidence) == (rule.name, rule.evidence)
        ]
        if matching_rules and not any(known_rule.holds(model) for known_rule in matching_rules):
            return Unprobed(rule, _OF_OTHER_MODELS)
    if rule.name == "required":
        return Unprobed(rule, _MODEL_IS_SENT)
    return Unprobed(rule, _KNOWN_TO_SERVER if rule.name in _OF_THE_SERVER else _NO_CANDIDATE)


def probed_rules(provider: Provider) -> Iterator[ProbedRule]:
    """Yield the cited rules by which a provider's server refuses requests,
    except the rules that it ignores.
    """
    # Each of these places holds rules in a form of its own, as the exporters need them. Only what a
    # server refuses can be probed: what it ignores leaves no trace in a response.
    yield from _schema_rules("schema", provider.schema.refuses)
    if provider.schema.strict is not None:
        yield from _schema_rules("strict", provider.schema.refuses_strict)
    yield ProbedRule("name", "name", provider.names.evidence)
    request, budget = provider.request, provider.schema.budget
    limits = {"most_tools": request.most_tools, "description": request.longest_description}
    yield from (
        ProbedRule("limit", name, limit.evidence)
        for name, limit in limits.items()
        if limit is not None
    )
    if budget is not None:
        counted = ("tools", "properties", "optional", "unions")
        yield from (
            ProbedRule("limit", f"strict_{name}", budget.evidence)
            for name in counted
            if getattr(budget, name)
        )
    yield from (
        ProbedRule("request", check.__name__, evidence)
        for check, evidence in server_of(provider).refuses
    )
    if provider.histories is not None:
        yield from dict.fromkeys(
            ProbedRule("history", rule.name, rule.evidence) for rule in provider.histories.rules
        )
    form = provider.output
    if form is None or form.sent is None:
        return
    if form.names is not None:
        yield ProbedRule("output", "name", form.names.evidence)
    if form.not_beside_tools is not None and form.not_beside_tools.refused_by is not None:
        yield ProbedRule("output", "output_beside_tools", form.not_beside_tools.evidence)
    rules = form.schema or provider.schema
    has_strict = rules.strict is not None or form.is_always_strict
    output_rules = _schema_rules(
        "output", (*rules.refuses, *(rules.refuses_strict if has_strict else ()))
    )
    yield from (
        rule for rule in output_rules if not (form.takes_any_root and rule.name in OF_ROOTS)
    )


def _schema_rules(kind: ProbeKind, rules: Iterable[Cited]) -> Iterator[ProbedRule]:
    yield from dict.fromkeys(
        ProbedRule(kind, rule.check.__name__, rule.evidence) for rule in rules if rule.is_refused
    )


def _broken_rules(
    provider: Provider, body: JsonObject, model: str | None
) -> frozenset[tuple[str, str, bool]]:
    """Return the name and evidence of each rule that refuses a body, and
    whether the rule is about the answer.
    """
    request_faults: Iterable[RequestFault] = faults(
        provider, _read_body(provider, body, model), model, strict=False
    )
    return frozenset((fault.rule, fault.evidence, fault.is_of_output) for fault in request_faults)


def _read_body(provider: Provider, body: JsonObject, model: str | None) -> RequestRead:
    if provider.histories is None:
        key = "model"
    else:
        key = provider.histories.model_key
    return server_of(provider).read_request({key: model or "probe", **copy_json(body)})


def _candidates(provider: Provider, model: str | None) -> Iterator[_Candidate]:
    """Yield candidate requests, each with its twin; the requests that are cheap to send come
    first.
    """
    plain = request_body(provider)
    accepted_schema = next(
        (
            form(ACCEPTED)
            for form in (dict, without_closing)
            if not _broken_rules(provider, _with_tool(provider, form(ACCEPTED)), model)
        ),
        ACCEPTED,
    )
    tools = _with_tool(provider, accepted_schema)
    for changes in server_of(provider).probes:
        yield _Candidate(
            _apply_changes(plain, changes.refused), _apply_changes(plain, changes.accepted)
        )
    for key in plain:
        yield _Candidate({name: value for name, value in plain.items() if name != key}, plain)
    duplicate_tools = [tool_spec(accepted_schema), tool_spec(accepted_schema)]
    yield _Candidate(request_body(provider, tools=duplicate_tools), tools)
    yield from _history_candidates(provider, accepted_schema, model)
    for name in _NAMES:
        yield _Candidate(
            request_body(provider, tools=[tool_spec(accepted_schema, name=name)]), tools
        )
    yield from _schema_candidates(provider, accepted_schema)
    yield from _answer_candidates(provider)
    yield from _limit_candidates(provider, accepted_schema)


def _history_candidates(
    provider: Provider, usual: JsonSchema, model: str | None
) -> Iterator[_Candidate]:
    def write_body(history: tuple[Message, ...], *, has_tools: bool = True) -> JsonObject:
        return request_body(
            provider, tools=[tool_spec(usual)] if has_tools else (), history=history
        )

    def meet_requirements(history: tuple[Message, ...]) -> tuple[Message, ...]:
        return tuple(_meet_requirements(provider, message, model) for message in history)

    twin = write_body(meet_requirements(ACCEPTED_HISTORY))
    yield _Candidate(write_body(meet_requirements(ACCEPTED_HISTORY), has_tools=False), twin)
    yield _Candidate(
        write_body((*meet_requirements(STEPS[:3]), *STEPS[3:])),
        write_body(meet_requirements(STEPS)),
    )
    for history in refused_histories():
        yield _Candidate(write_body(meet_requirements(history)), twin)


def _meet_requirements(provider: Provider, message: Message, model: str | None) -> Message:
    """Return a message whose first call has the reasoning or the signature that the model
    requires.
    """
    first_call = next((part for part in message.parts if isinstance(part, ToolCallPart)), None)
    histories = provider.histories
    if first_call is None or histories is None:
        return message
    signature_rule, reasoning_rule = (
        histories.rule("missing_signature", model),
        histories.rule("missing_reasoning", model),
    )
    parts = message.parts
    if signature_rule is not None and histories.write_unsigned is not None:
        signed = replace(first_call, raw=histories.write_unsigned(first_call))
        parts = tuple(signed if part is first_call else part for part in parts)
    if reasoning_rule is not None:
        parts = (ReasoningPart(text="Hm.", raw={reasoning_rule.pattern: "Hm."}), *parts)
    return replace(message, parts=parts)


def _with_tool(provider: Provider, schema: JsonSchema) -> JsonObject:
    return request_body(provider, tools=[tool_spec(schema)])


def _schema_candidates(provider: Provider, usual: JsonSchema) -> Iterator[_Candidate]:
    for strict in (False, True) if provider.schema.strict is not None else (False,):
        for form in (dict, without_closing):  # a candidate whose twin is refused becomes no probe
            twin = request_body(provider, tools=[tool_spec(form(ACCEPTED))], strict=strict)
            for schema in refused_schemas():
                yield _Candidate(
                    request_body(provider, tools=[tool_spec(form(schema))], strict=strict), twin
                )
    not_a_schema: Any = "text"
    with contextlib.suppress(AttributeError):  # some providers write single fields of the schema
        refused = request_body(provider, tools=[tool_spec(not_a_schema)])
        yield _Candidate(refused, _with_tool(provider, usual))
    yield from _choice_candidates(provider, usual)


def _choice_candidates(provider: Provider, usual: JsonSchema) -> Iterator[_Candidate]:
    twin = _with_tool(provider, usual)
    modes: tuple[ChoiceMode, ...] = ("required", "none")
    for mode in modes:
        with contextlib.suppress(ExportError):  # the provider has no form for this choice
            yield _Candidate(request_body(provider, tools=[tool_spec(usual)], mode=mode), twin)


def _answer_candidates(provider: Provider) -> Iterator[_Candidate]:
    form = provider.output
    if form is None or form.sent is None:
        return

    def body_asking(
        schema: JsonSchema,
        *,
        name: str = "probe",
        is_strict: bool = True,
        tools: Iterable[Spec] = (),
    ) -> JsonObject:
        answer_keywords = form.keywords(OutputSchema(name, "", schema, is_strict))
        return request_body(provider, tools=list(tools), more=copy_json(answer_keywords))

    for is_strict in (True,) if form.is_always_strict else (False, True):
        for shape in (dict, without_closing):
            twin = body_asking(shape(ACCEPTED), is_strict=is_strict)
            for schema in refused_schemas():
                yield _Candidate(body_asking(shape(schema), is_strict=is_strict), twin)
    for name in _NAMES:
        yield _Candidate(body_asking(ACCEPTED, name=name), body_asking(ACCEPTED))
    yield _Candidate(body_asking(ACCEPTED, tools=[tool_spec()]), body_asking(ACCEPTED))
    yield _Candidate(
        body_asking(without_closing(ACCEPTED), tools=[tool_spec(without_closing(ACCEPTED))]),
        body_asking(without_closing(ACCEPTED)),
    )


def _limit_candidates(provider: Provider, usual: JsonSchema) -> Iterator[_Candidate]:
    """Yield requests that exceed a limit by one tool or one character.

    These requests cost the most.
    """
    request, budget = provider.request, provider.schema.budget
    if request.longest_description is not None:
        longest_description = request.longest_description.most
        long, longest = (
            request_body(provider, tools=[tool_spec(usual, text="x" * count)])
            for count in (longest_description + 1, longest_description)
        )
        yield _Candidate(long, longest)
    if request.most_tools is not None:
        yield _tool_count_candidate(provider, usual, request.most_tools.most, strict=False)
    if budget is not None and budget.tools is not None:
        yield _tool_count_candidate(provider, usual, budget.tools, strict=True)


def _tool_count_candidate(
    provider: Provider, usual: JsonSchema, most: int, *, strict: bool
) -> _Candidate:
    specs = [tool_spec(usual, name=f"probe_{number}") for number in range(most + 1)]
    too_many, enough = (
        request_body(provider, tools=spec_list, strict=strict) for spec_list in (specs, specs[:-1])
    )
    return _Candidate(too_many, enough)


def tool_spec(
    schema: JsonSchema = ACCEPTED, *, name: str = "probe", text: str = "A probe."
) -> Spec:
    """Return a tool whose schema is sent unchanged, without the rewrites
    that make a schema acceptable.
    """
    return Spec(name=name, title=None, description=text, parameters=schema, output=None)


def request_body(
    provider: Provider,
    *,
    history: Iterable[Message] = (USER,),
    tools: Iterable[Spec] = (),
    strict: bool = False,
    mode: ChoiceMode | None = None,
    more: JsonObject | None = None,
) -> JsonObject:
    """Return the body of a request with these messages and tools, without the model.

    Raises:
        ExportError: The provider has no ``histories``, which define how its messages are written.
    """
    histories, server = provider.histories, server_of(provider)
    if histories is None:
        raise ExportError(provider=provider.name, tool=None, problems=[])
    keywords: JsonObject = {histories.key: []}
    system = [message for message in history if message.role == "system"]
    write_system = histories.system if system and histories.system is not None else None
    for message in history:
        if message.role != "system" or write_system is None:
            keywords[histories.key] += copy_json(histories.write(message))
    if write_system is not None:
        keywords |= write_system(system)
    entries = [copy_json(provider.request.envelope(spec, strict)) for spec in tools]
    tool_keywords = provider.request.keywords(
        provider.request.gather(entries), Choice(provider.name, is_strict=strict, mode=mode)
    )
    # Objects such as Gemini's ``config`` are filled from several sides: from the system prompt,
    # from the tools and from the probe. None may take the place of another.
    for additions in (tool_keywords if entries else {}, more or {}):
        for key, value in additions.items():
            keywords[key] = (
                {**keywords[key], **value} if isinstance(keywords.get(key), dict) else value
            )
    body = keywords if server.body_of is None else server.body_of(keywords)
    smallest_values = {} if server.address is None else server.address.smallest
    for key, value in smallest_values.items():
        body[key] = {**body[key], **value} if isinstance(body.get(key), dict) else value
    return body


def _apply_changes(body: JsonObject, changes: JsonObject) -> JsonObject:
    changed = {**body, **changes}
    return {name: value for name, value in changed.items() if value is not None}
