"""What a call or a text is read by, if it holds the answer in a type."""

import json
from dataclasses import dataclass, replace
from typing import Any

from toolshape._answers.answer import ReadAnswerText, answer_of, compile_answer_reading
from toolshape._answers.export import output_to_wire
from toolshape._answers.record import OutputRecord
from toolshape._families.wire.provider import Provider
from toolshape._function.core_schema.validation_context import validating_with
from toolshape._plan.partial_calls import PartialCall, partial_call, read_beginning
from toolshape._plan.plan_state import AnswerState
from toolshape._plan.result_json import through_json
from toolshape._plan.results import Answer, Results
from toolshape._records.calls import Call, Finding, JsonObject, Loss, Spec, Strictness
from toolshape._records.errors import CallError, ExportError, Problem, UsageError
from toolshape._records.result import Result
from toolshape._schema.arrows import Arrow
from toolshape._schema.lens import Lens
from toolshape._tools.export import to_wire
from toolshape._tools.strict_budget import Candidate

RECEIVED = "received"
"""The text of the result for the call that holds the answer: providers
reject a call without a result.
"""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False, slots=True)
class AnswerTarget:
    """An output in the form that one provider receives in requests with tools; it
    reads the answer in a response.

    It stands beside the handlers of the tools, and reads the arguments of the call that holds the
    answer. Such a call is answered when it is planned: no hook, limit, ledger, span or approval
    sees it.

    Args:
        record: The output.
        provider: The provider.
        keywords: The keyword arguments that a request needs for the output; empty if the output is
            sent as a tool.
        wire_name: The wire name of the tool whose arguments are the answer; ``None`` if the answer
            is the response's text.
        entry: The JSON of this tool; empty if ``wire_name`` is ``None``.
        lens: The schema that the provider receives, and the mapping from answers back to canonical
            form.
        is_strict: Whether the provider constrains the answer.
        notes: Report entries in addition to the losses of the lens.
        read: Validates the JSON of an answer.
        as_tool: This output as a tool, if it is sent as a field that the provider does not accept
            beside tools: a request that has only the provider's own tools sends it.
    """

    record: OutputRecord
    provider: Provider
    keywords: JsonObject
    wire_name: str | None
    entry: bytes
    lens: Lens
    is_strict: bool
    notes: tuple[Loss | Finding, ...]
    read: ReadAnswerText
    as_tool: "AnswerTarget | None" = None

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
        if self.wire_name:
            name = self.record.name
        else:
            name = f"the output {self.record.name}"
        is_asked = self.wire_name is None or self.record.strict is True
        return Candidate(name=name, schema=self.lens.schema, is_strict=self.is_strict,
        is_asked=is_asked,
                         is_destructive=False, is_tool=self.wire_name is not None)  # fmt: skip

    @property
    def is_answer(self) -> bool:
        """``True``: a call of this target holds the answer."""
        return True

    @property
    def name(self) -> str:
        """The name of the output."""
        return self.record.name

    @property
    def has_secrets(self) -> bool:
        """Whether the answer may hold a secret."""
        return self.record.has_secrets

    @property
    def back(self) -> Arrow | None:
        """Maps the arguments of the call to canonical form; ``None`` if both forms are equal."""
        return self.lens.back

    @property
    def takes_text(self) -> bool:
        """``False``: the answer in a call is JSON."""
        return False

    @property
    def may_return_null(self) -> bool:
        """``False``: the call is answered with a text."""
        return False

    def received(self, arguments: Any) -> JsonObject | None:
        """Return the answer in canonical form, without validation; what may be secret is masked."""
        canonical = Call("", None, "", arguments, "", None, self).arguments
        if canonical is None:
            return None
        masked = self.record.secrets.masked(canonical)
        if isinstance(masked, dict):
            return masked
        return {}

    def unchecked(self, arguments: Any) -> list[tuple[str, str]]:
        """Return no paths: pydantic leaves nothing unchecked."""
        del arguments
        return []

    def sent(self, name: str | None, arguments: JsonObject) -> tuple[str, JsonObject] | None:
        """Return the wire name and the arguments that are sent for a call with
        this answer in canonical form.

        ``None`` if the name is another, or the answer is not sent as a tool.
        """
        if self.wire_name is None:
            if self.as_tool is None:
                return None
            return self.as_tool.sent(name, arguments)
        if name != self.name:
            return None
        if self.lens.out is None:
            return self.wire_name, arguments
        try:
            return self.wire_name, self.lens.out(arguments)
        except (ValueError, TypeError, KeyError, AttributeError, IndexError):
            return self.wire_name, arguments  # the schema may reject the arguments

    def called(self, wire_name: Any) -> "AnswerTarget | None":
        """Return the target whose tool has this wire name."""
        if self.wire_name is not None:
            if self.wire_name == wire_name:
                return self
            return None
        if self.as_tool is None:
            return None
        return self.as_tool.called(wire_name)

    def partial_call(self, call: Call) -> PartialCall:
        """Return the part of an incomplete call that has arrived; see
        ``toolshape._plan.partial_calls``.
        """
        if self.as_tool is not None:
            return self.as_tool.partial_call(call)
        if call.wire_name != self.wire_name:
            return partial_call(call)
        definitions = tuple(self.record.definition.schema.get("$defs", ()))
        arguments = read_beginning(
            call.arguments_raw, self.lens.back, self.lens.losses, definitions
        )
        return PartialCall(call.id, call.name, arguments)

    def settle(self, results: Results, context: Any) -> None:
        """Read the answer in a response whose calls are planned, and answer the calls that hold it.

        A response that only calls tools holds no answer, even if it has text. A response without
        calls may hold the answer as its text, even if the model had to call a tool.
        """
        if self.as_tool is not None and any(call.reader is self.as_tool for call in results.calls):
            self.as_tool.settle(results, context)
            return
        positions = [position for position, call in enumerate(results.calls) if call.reader is self]
        if results.calls and not positions:
            return
        tool = self.wire_name if positions else None
        if context is None:
            results._answer = self._answer(results, tool)
        else:
            with validating_with(context):
                results._answer = self._answer(results, tool)
        results._answered_by = self
        for position in positions:
            results._answers[position] = _result_for_call(
                results.calls[position], results._answer, is_answer=position == positions[0]
            )

    def _answer(self, results: Results, tool: str | None) -> Answer[Any]:
        assistant = list(results._assistant)
        calls = [*map(_wire_call, results.calls)]
        reading = assistant, calls, results.finish_raw, frozenset[int](), False
        secrets = self.record.secrets
        return answer_of(
            self.provider, reading, [*assistant], self.name, tool, self.read, secrets, results
        )

    def stored(self, answer: Answer[Any]) -> AnswerState:
        """Return the record of an answer that this target has read.

        If the JSON of the value does not read back as an equal value, the record says so instead of
        holding it.
        """
        call, error, results = answer.call, answer.error, answer.results
        position = None
        if call is not None and results is not None:
            position = [given.wire_name for given in results.calls].index(call.wire_name)
        record = AnswerState(
            output=self.record.ref,
            call=position,
            text=answer.text,
            coercions=answer.coercions,
            is_secret=self.has_secrets,
        )
        if error is not None:
            problems = [list(problem) for problem in error.problems]
            about = {"code": error.code, "text": error.text, "reference": error.reference}
            return replace(record, error={**about, "problems": problems})
        try:
            exact = self.record.exact_digest(answer.value)
            # Without what was not given, or with what a factory made.
            for is_sparse in (
                True,
                False,
            ):
                value = through_json(self.record.written(answer.value, is_sparse=is_sparse))
                if self.record.exact_digest(self.record.validated(value)) == exact:
                    return replace(record, value=value, exact=exact)
            why = "its JSON does not read back as an equal value"
        except Exception as problem:  # a serialiser or validator of the user's may raise anything
            why = str(problem)
        return replace(record, unstorable=why)

    def restored_value(self, stored: AnswerState) -> Any:
        """Return the value of an answer from its record.

        Raises:
            UsageError: The value was not stored, or the type now reads another one.
        """
        why = stored.unstorable
        if not why:
            try:
                value = self.record.validated(stored.value)
                if self.record.exact_digest(value) == stored.exact:
                    return value
                why = "its type now reads another value"
            except Exception as problem:  # a validator of the user's may raise anything
                why = str(problem)
        raise UsageError(f"the answer {self.name} cannot be restored: {why}")


def _wire_call(call: Call) -> tuple[str, str, Any, Any]:
    return call.id, call.wire_name, call.arguments_raw, call.raw


def _result_for_call(call: Call, answer: Answer[Any], *, is_answer: bool) -> Result:
    """Return the result for the call that holds the answer, or for an extra call to
    the same tool, which is ignored.
    """
    if not is_answer:
        error = CallError("not_run", tool=call.wire_name)
    elif answer.error is not None:
        error = CallError("tool_error", tool=call.wire_name, text=str(answer.error))
        error.__cause__ = answer.error
    else:
        return Result(call, value=RECEIVED, coercions=answer.coercions, text=RECEIVED, is_text=True)
    return Result(call, error=error, text=str(error))


def compile_target(
    provider: Provider, record: OutputRecord, strict: Strictness, *, has_tools: bool = True
) -> AnswerTarget:
    """Compile an output for a request that also has tools.

    The output is sent as one more tool if the provider has no field for outputs, or does not accept
    this field beside tools.

    Args:
        provider: The provider.
        record: The output.
        strict: Whether the provider must constrain the arguments of the tools. The output's own
            ``strict`` takes precedence.
        has_tools: Whether there are tools.

    Raises:
        ExportError: The provider rejects the schema, has no strict form, or never returns a model's
            answers.
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
        wire_tool = to_wire(provider, Spec(name=spec.name, title=None,
        description=_purpose(spec.description),
                                      parameters=spec.schema, output=None), strictness)  # fmt: skip
        if form is None:
            reason = "has no field for outputs"
        else:
            reason = "has no field for outputs beside tools"
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
    is_alone = not has_tools and form is not None and form.not_beside_tools is not None
    if is_alone and provider.histories is not None:
        as_tool = compile_target(provider, record, strict)
    else:
        as_tool = None
    return AnswerTarget(record=record, provider=provider, keywords=keywords, wire_name=tool,
    entry=entry, lens=lens,
                             is_strict=is_strict, notes=tuple(notes), read=read,
                             as_tool=as_tool)  # fmt: skip


def _purpose(description: str) -> str:
    """Tell the model when to call the tool that takes the answer."""
    purpose = "Call this to give the final answer, once no other tool is needed."
    if description:
        return f"{purpose}\n\n{description}"
    return purpose


def name_conflict(output: AnswerTarget, tool: str) -> ExportError:
    """Return the error for an output whose tool has the same wire name as another tool."""
    message = (
        f"the answer is sent as a tool, but the tool {tool!r} has the same name: pass name= to "
        "Output"
    )
    problem = Problem(path="name", rule="name_taken", message=message)
    return ExportError(provider=output.provider.name, tool=output.record.name, problems=[problem])
