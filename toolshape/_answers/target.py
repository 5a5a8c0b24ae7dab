"""Defines ``OutputBesideTools``: an output in a request with tools, sent as a field of the request or as a tool."""

import json
from dataclasses import dataclass
from typing import Any

from toolshape._answers.answer import ReadAnswer, answer_of, compile_answer_reading
from toolshape._answers.export import output_to_wire
from toolshape._answers.record import OutputRecord
from toolshape._families.wire.provider import Provider
from toolshape._plan import state
from toolshape._plan.partial_calls import PartialCall, partial_call, read_beginning
from toolshape._plan.results import Answer, Results
from toolshape._records.calls import Call, Finding, JsonObject, Loss, Spec, Strictness
from toolshape._records.errors import CallError, ExportError, Problem
from toolshape._records.result import Result
from toolshape._schema.arrows import Arrow
from toolshape._schema.lens import Lens
from toolshape._schema.secrets import Secrets
from toolshape._tools.export import to_wire
from toolshape._tools.strict_budget import Candidate

RECEIVED = "received"
"""The text of the result for the call that holds the answer: providers reject a call without a result."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False, slots=True)
class AnswerReader:
    """Reads the answer from the arguments of the call that holds it; ``back`` maps the arguments to canonical form.

    ``has_secrets`` says whether the answer may hold a secret.
    """

    back: Arrow | None
    has_secrets: bool
    may_return_null: bool = False
    takes_text: bool = False

    def received(self, arguments: Any) -> JsonObject | None:
        """Return the answer in canonical form, without validation."""
        return Call("", None, "", arguments, "", None, self).arguments

    def unchecked(self, arguments: Any) -> list[tuple[str, str]]:
        """Return no paths: pydantic leaves nothing unchecked."""
        del arguments
        return []


@dataclass(frozen=True, kw_only=True, eq=False, repr=False, slots=True)
class OutputBesideTools:
    """An output in the form that one provider receives in requests with tools.

    Args:
        record: The output.
        provider: The provider.
        keywords: The keyword arguments that a request needs for the output; empty if the output is sent as a tool.
        tool: The wire name of the tool whose arguments are the answer; ``None`` if the answer is the response's text.
        entry: The JSON of this tool; empty if ``tool`` is ``None``.
        lens: The schema that the provider receives, and the mapping from answers back to canonical form.
        is_strict: Whether the provider constrains the answer.
        notes: Report entries in addition to the losses of the lens.
        read: Validates the JSON of an answer.
        has_secrets: Whether the answer may hold a secret.
    """

    record: OutputRecord
    provider: Provider
    keywords: JsonObject
    tool: str | None
    entry: bytes
    lens: Lens
    is_strict: bool
    notes: tuple[Loss | Finding, ...]
    read: ReadAnswer
    has_secrets: bool

    @property
    def differences(self) -> list[Loss | Finding]:
        """The entries of a report about this output."""
        findings = [
            finding for finding in self.record.definition.findings if finding.rule != "undescribed"
        ]
        return [*self.notes, *self.lens.losses, *findings]

    @property
    def candidate(self) -> Candidate:
        """This output as a candidate for the strict form in a request.

        Only an output that is sent as a tool can become lenient.
        """
        name = self.record.name if self.tool else f"the output {self.record.name}"
        is_asked = self.tool is None or self.record.strict is True
        return Candidate(name=name, schema=self.lens.schema, is_strict=self.is_strict, is_asked=is_asked,
                         is_destructive=False, is_tool=self.tool is not None)  # fmt: skip

    def named(self, call: Call) -> Call:
        """Give a call to the answer's tool the name of the output; return any other call unchanged."""
        if call.wire_name != self.tool:
            return call
        return call._replace(
            name=self.record.name,
            reader=AnswerReader(back=self.lens.back, has_secrets=self.has_secrets),
        )

    def partial_call(self, call: Call) -> PartialCall:
        """Return the part of an incomplete call that has arrived; see ``toolshape._plan.partial_calls``."""
        if call.wire_name != self.tool:
            return partial_call(call)
        definitions = tuple(self.record.definition.schema.get("$defs", ()))
        arguments = read_beginning(
            call.arguments_raw, self.lens.back, self.lens.losses, definitions
        )
        return PartialCall(call.id, call.name, arguments)

    def read_results(self, results: Results) -> None:
        """Read the answer in a response whose calls are validated; set the result for the call that holds the answer.

        A response that only calls other tools holds no answer, even if it has text.
        """
        calls = [
            position for position, call in enumerate(results.calls) if call.wire_name == self.tool
        ]
        if results.calls and not calls:
            return
        # A response without calls may hold the answer as its text, even if the model had to call a tool.
        tool = self.tool if calls else None
        reading = (
            list(results.assistant),
            list(map(_wire_call, results.calls)),
            results.finish_raw,
            frozenset[int](),
            False,
        )
        answer = answer_of(
            self.provider,
            reading,
            list(results.assistant),
            self.record.name,
            tool,
            self.read,
            results,
        )
        results.answer = answer
        for position in calls:
            call = self.named(results.calls[position])
            state.answer_when_planned(
                results,
                position,
                call,
                _result_for_call(call, answer, is_answer=position == calls[0]),
            )


def _wire_call(call: Call) -> tuple[str, str, Any, Any]:
    return call.id, call.wire_name, call.arguments_raw, call.raw


def _result_for_call(call: Call, answer: Answer[Any], *, is_answer: bool) -> Result:
    """Return the result for the call that holds the answer, or for an extra call to the same tool, which is ignored."""
    if not is_answer:
        error = CallError("not_run", tool=call.wire_name)
    elif answer.error is not None:
        error = CallError("tool_error", tool=call.wire_name, text=str(answer.error))
        error.__cause__ = answer.error
    else:
        return Result(call, value=RECEIVED, coercions=answer.coercions, text=RECEIVED, is_text=True)
    return Result(call, error=error, text=str(error))


def compile_beside_tools(
    provider: Provider, record: OutputRecord, strict: Strictness, *, has_tools: bool = True
) -> OutputBesideTools:
    """Compile an output for a request that also has tools.

    The output is sent as one more tool if the provider has no field for outputs, or does not accept this field beside
    tools.

    Args:
        provider: The provider.
        record: The output.
        strict: Whether the provider must constrain the arguments of the tools. The output's own ``strict`` takes
            precedence.
        has_tools: Whether there are tools.

    Raises:
        ExportError: The provider rejects the schema, has no strict form, or never returns a model's answers.
    """
    form = provider.output
    is_tool = form is None or (has_tools and form.not_beside_tools is not None)
    if not is_tool or provider.histories is None:
        wire = output_to_wire(provider, record.spec, record.strict)
        keywords, tool, entry, lens, is_strict, notes = (
            wire.keywords,
            None,
            b"",
            wire.lens,
            wire.is_strict,
            wire.notes,
        )
    else:
        spec, strictness = record.spec, strict if record.strict == "auto" else record.strict
        wire_tool = to_wire(provider, Spec(name=spec.name, title=None, description=_purpose(spec.description),
                                      parameters=spec.schema, output=None), strictness)  # fmt: skip
        reason = (
            "has no field for outputs" if form is None else "has no field for outputs beside tools"
        )
        note = Finding(
            path="",
            rule="answered_by_tool",
            message=f"{provider.name} {reason}: sent as one more tool",
        )
        keywords, tool, entry = {}, wire_tool.wire_name, json.dumps(wire_tool.payload).encode()
        lens, is_strict, notes = wire_tool.lens, wire_tool.is_strict, (note, *wire_tool.notes)
    read = compile_answer_reading(
        record.definition, lens, record.rules, is_wrapped=record.is_wrapped
    )
    return OutputBesideTools(record=record, provider=provider, keywords=keywords, tool=tool, entry=entry, lens=lens,
                             is_strict=is_strict, notes=tuple(notes), read=read,
                             has_secrets=Secrets(record.spec.schema).are_there)  # fmt: skip


def _purpose(description: str) -> str:
    """Tell the model when to call the tool that takes the answer."""
    purpose = "Call this to give the final answer, once no other tool is needed."
    return f"{purpose}\n\n{description}" if description else purpose


def name_conflict(output: OutputBesideTools, tool: str) -> ExportError:
    """Return the error for an output whose tool has the same wire name as another tool."""
    message = f"the answer is sent as a tool, but the tool {tool!r} has the same name: pass name= to Output"
    problem = Problem(path="name", rule="name_taken", message=message)
    return ExportError(provider=output.provider.name, tool=output.record.name, problems=[problem])
