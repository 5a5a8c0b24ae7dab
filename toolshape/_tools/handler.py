"""Validates calls of one tool, invokes the tool, and writes results for the model."""

import copy
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from toolshape._families.wire.provider import NameRule
from toolshape._function.calling.returned import is_async
from toolshape._function.core_schema.validation_context import validating_with
from toolshape._function.invoke import Invoke
from toolshape._function.signature import Kind
from toolshape._records.calls import Coercion, DefaultEffect, JsonObject, Strictness
from toolshape._records.errors import CallError
from toolshape._records.found import is_search
from toolshape._records.parts import File, Image, Part, Text, as_text, named
from toolshape._records.shown import readable_name
from toolshape._schema.references import resolver
from toolshape._schema.union_branches import are_disjoint
from toolshape._tools.hook_kinds import is_either_hook
from toolshape._tools.record import Record
from toolshape._tools.shape import Shape
from toolshape._tools.tool import record_of
from toolshape._validation.settings import Validate, Validated


class Handler:
    """Runs the calls of one tool at one provider; compiled at the first call.

    Attributes:
        back: Maps arguments from the provider's form to canonical form; ``None`` if both forms are
            equal.
        approve: Whether calls wait for approval, or the function that decides this.
        bound_strict: The strictness that ``bind`` was given.
        effects: What the author declared that a call does.
        check_output: Rejects a result that the output schema does not admit; ``None`` if results
            are not checked.
        group: All handlers of the bound tools.
        has_needs: Whether a call needs injected values, or the tool has no function.
        is_awaited: Whether the tool is a coroutine function without a timeout.
        is_controlled: Whether the tool has hooks or a limit, or takes a ``CallContext``.
        is_guarded: Whether the outermost hook asks a ledger.
        is_indirect: Whether the tool is async or controlled.
        is_looked_at: Whether results are checked against the output schema, cut, or marked as
            untrusted.
        is_plain: Whether the tool has no needs and no approval, and is called directly.
        is_plain_async: Whether the tool has no needs and no approval, and is awaited.
        runs_code: Whether validators of the author's run on the arguments.
        runs_alone: Whether the tool writes or destroys; a call then runs after all earlier and
            before all later calls.
        runs_last: Whether the tool is async, or a hook does not work with both drivers; ``run``
            calls such tools last.
        takes_text: Whether ``back`` also maps plain text to the arguments.
        says_text: Whether a string result is sent verbatim.
        shape, record: The form and the record of the tool, from which the handler was compiled.
    """

    __slots__ = (
        "_canonical", "_context", "_may_return_null", "approve", "back", "bound_strict",
        "check_output", "contexts", "effects", "group", "has_needs", "hooks",
        "invoke", "is_async", "is_awaited", "is_controlled", "is_framed", "is_guarded",
        "is_indirect", "is_looked_at", "is_plain", "is_plain_async", "is_untrusted",
        "kind", "limit", "longest_result", "name", "record", "runs_alone", "runs_code", "runs_last",
        "says_text", "shape", "takes_text",
        "timeout", "tool", "validate", "wire_name", "write", "written",
    )  # fmt: skip
    kind: Kind

    def __init__(self, shape: Shape, group: "Handlers") -> None:
        tool, record = shape.tool, record_of(shape.tool)
        definition = record.definition
        self.shape = shape
        self.record = record
        self.group = group
        self.bound_strict: Strictness = group.bound_strict
        self._canonical: Handler | None = None
        self._context: Any = None
        self._may_return_null: bool | None = None
        self.tool = tool
        self.name = shape.name
        self.wire_name = shape.wire_name
        self.back = shape.settings.back
        self.takes_text = shape.settings.takes_text
        self.kind = definition.kind
        self.timeout = tool.timeout
        self.effects = tool.effects
        self.is_async = is_async(definition.kind)
        self.limit = record.limit
        self.contexts = definition.layout.contexts
        self.approve = record.options.approve
        self.runs_alone = _runs_alone(tool.effects, group.default_effect)
        self.is_guarded = False
        self._set_hooks(group.hooks)
        self.validate = shape.validation(shape.settings)
        self.runs_code = record.source.runs_code
        self.invoke = _invoke_of_search(record, group) if is_search(tool) else record.invoke
        self.written = record.source.written
        self.check_output = _output_check(record, is_advertised=shape.advertises_output)
        self.write: Callable[[Any], tuple[str, bool]] = record.output.write
        self.longest_result = record.options.longest_result
        self.is_untrusted = record.options.untrusted
        self.is_framed = self.is_untrusted or self.longest_result is not None
        self.is_looked_at = self.is_framed or self.check_output is not None
        self.says_text = not self.is_looked_at and record.output.says_text
        self.has_needs = bool(definition.layout.injected) or tool.function is None
        self.is_plain = not (self.has_needs or self.is_indirect or self.approve)
        self.is_plain_async = self.is_awaited and not (self.has_needs or self.approve)

    def _set_hooks(self, hooks: Sequence[Any]) -> None:
        self.hooks = hooks
        self.is_controlled = bool(hooks or self.contexts or self.limit)
        self.is_indirect = self.is_async or self.is_controlled
        self.runs_last = self.is_async or not all(map(is_either_hook, hooks))
        self.is_awaited = (
            self.kind == "coroutine" and self.timeout is None and not self.is_controlled
        )

    def under(self, hook: Any) -> "Handler":
        """Return a copy with one more hook, which runs around all others and asks a ledger."""
        guarded = copy.copy(self)
        guarded._set_hooks((hook, *self.hooks))  # noqa: SLF001 - of the same class
        guarded.is_guarded = True
        return guarded

    def in_context(self, context: Any) -> "Handler":
        """Return a copy whose validators read ``context``, whenever they run: also for
        an edit, and for ``arguments``.
        """
        if not self.runs_code:
            return self
        in_context = copy.copy(self)
        in_context._canonical, in_context._context = None, context  # noqa: SLF001 - of the same class
        in_context.validate = _in_context(self.validate, context)
        return in_context

    def under_name(self, written_name: str) -> "Handler":
        """Return a copy for a call under a name that was not sent; its validation
        records the name as a coercion.
        """
        renamed = copy.copy(self)
        validate, row = self.validate, Coercion("", "tool_name", written_name, self.wire_name)

        def validate_renamed(arguments: Any) -> Validated:
            validated, coercions = validate(arguments)
            return validated, (row, *coercions)

        renamed._canonical = None  # noqa: SLF001 - of the same class
        renamed.validate = validate_renamed
        return renamed

    @property
    def canonical(self) -> "Handler":
        """A copy that takes arguments in canonical form instead of the provider's form."""
        if self.back is None:
            return self
        if self._canonical is None:
            canonical_handler = copy.copy(self)
            canonical_handler.back = None
            settings = self.shape.settings._replace(back=None, drops=None)
            canonical_handler.validate = _in_context(self.shape.validation(settings), self._context)
            self._canonical = canonical_handler
        return self._canonical

    @property
    def is_answer(self) -> bool:
        """``False``: a call of a tool is run."""
        return False

    @property
    def has_secrets(self) -> bool:
        """Whether the tool takes a secret: its schema or its pydantic model says so."""
        return self.record.takes_secrets

    @property
    def may_return_null(self) -> bool:
        """Whether the output schema admits null; computed at the first access."""
        if self._may_return_null is None:
            schema = self.record.output.schema
            self._may_return_null = schema is not None and not are_disjoint(
                schema, {"type": "null"}, resolver(schema)
            )
        return self._may_return_null

    def shown(self, validated: Any) -> JsonObject:
        """Return validated arguments as JSON, as a person may see
        them: what may be secret is masked.
        """
        return self.masked(self.written(validated))

    def masked(self, arguments: JsonObject) -> JsonObject:
        """Return the function's arguments as JSON with masks in the place of what may be secret."""
        secrets = self.record.secrets
        if not secrets.are_there:
            return arguments
        masked = secrets.masked(arguments)
        return masked if isinstance(masked, dict) else {}  # the arguments as a whole are secret

    def received(self, arguments: Any) -> JsonObject | None:
        """Validate and coerce received arguments; return them as ``shown`` does,
        or ``None`` if they are invalid.
        """
        try:
            validated, _ = self.validate(arguments)
            return self.shown(validated)
        except Exception:  # a user validator may raise anything
            return None

    def unchecked(self, arguments: Any) -> list[tuple[str, str]]:
        """Return the paths of received values that were not checked in full, each with the
        pattern.
        """
        find_unchecked = self.record.source.find_unchecked
        if find_unchecked is None or _length(arguments) < self.record.source.shortest_unchecked:
            return []
        try:
            validated, _ = self.validate(arguments)
        except CallError:  # nothing was let through
            return []
        return find_unchecked(validated)

    def looked_at(self, text: str, is_text: bool) -> tuple[str, bool | None]:
        """Check, cut and mark the text of a result; also return ``is_text``, or
        ``None`` if the text was changed.

        Raises:
            ValueError: The output schema does not admit the result.
        """
        if self.check_output is not None:
            self.check_output(text, is_text)
        if not self.is_framed:
            return text, is_text
        framed_text = self.framed(text)
        return framed_text, is_text if framed_text is text else None

    def framed(self, text: str) -> str:
        """Cut text to the length that the tool allows, and mark the text if
        the tool's results are untrusted.
        """
        return self._mark(self._cut(text))

    def framed_parts(self, parts: tuple[Part, ...]) -> tuple[str, tuple[Part, ...]]:
        """Cut and mark parts; also return one string that replaces all parts, for
        providers that take only text.

        If a file is untrusted, its name is marked as untrusted. If its content is text, the content
        is marked too.
        """
        cut_parts = tuple(
            Text(self._cut(part.text)) if isinstance(part, Text) else part for part in parts
        )
        sent_parts: list[Part] = []
        for part in cut_parts:
            if isinstance(part, Text):
                sent_parts.append(Text(self._mark(part.text)))
            elif self.is_untrusted:
                if part.url or isinstance(part, File):
                    sent_parts.append(Text(self._mark(named(part))))
                # An untrusted URL is not sent, because the provider would fetch it.
                if not part.url:
                    sent_parts.append(self._anonymise(part, len(sent_parts)))
            elif isinstance(part, File):
                sent_parts.append(replace(part, data=self._cut_file(part)))
            else:
                sent_parts.append(part)
        return self._mark(as_text(cut_parts)), tuple(sent_parts)

    def _anonymise(self, part: Image | File, number: int) -> Part:
        """Give a part a neutral name and media type; mark its data as
        untrusted if the data is text.
        """
        is_type = re.fullmatch(r"[a-zA-Z0-9.+-]+/[a-zA-Z0-9.+-]+", part.media_type)
        if is_type:
            media_type = part.media_type.lower()
        else:
            media_type = "application/octet-stream"
        if isinstance(part, Image):
            return replace(part, media_type=media_type)
        is_text = media_type.startswith("text/")
        if is_text:
            data = self._mark(self._cut_file(part).decode(errors="replace")).encode()
        else:
            data = part.data
        return replace(part, name=f"file-{number}", media_type=media_type, data=data)

    def _cut_file(self, part: File) -> bytes:
        if not part.media_type.lower().startswith("text/") or self.longest_result is None:
            return part.data
        return self._cut(part.data.decode(errors="replace")).encode()

    def _cut(self, text: str) -> str:
        longest = self.longest_result
        if longest is None or len(text) <= longest:
            return text
        return f"{text[:longest]}\n[cut: the first {longest} of {len(text)} characters]"

    def _mark(self, text: str) -> str:
        if not self.is_untrusted:
            return text
        # Escape closing tags, so the text cannot end the mark.
        escaped_text = re.sub(r"<(\s*)/(?=\s*untrusted)", r"<\1\\/", text, flags=re.IGNORECASE)
        return f'<untrusted source="{self.wire_name}">\n{escaped_text}\n</untrusted>'


def _in_context(validate: Validate, context: Any) -> Validate:
    if context is None:
        return validate

    def validate_in_context(arguments: Any) -> Validated:
        with validating_with(context):
            return validate(arguments)

    return validate_in_context


def _invoke_of_search(record: Record, group: "Handlers") -> Invoke:
    """Return what runs a search: it finds only tools that this request can call."""
    search: Any = record.function
    return record.source.compile_invoke(
        search.among(lambda: [shape.tool for shape in group.shapes.values()])
    )


def _output_check(record: Record, *, is_advertised: bool) -> Callable[[str, bool], None] | None:
    """Return the check of results against the output schema, or ``None``.

    Results are checked if the tool asks for the check or, by default, if the provider was sent the
    schema.
    """
    options, schema = record.options, record.output.schema
    is_advertised = is_advertised and not (options.untrusted or options.longest_result)
    if schema is None or not (
        is_advertised if options.validate_result is None else options.validate_result
    ):
        return None
    try:
        return record.check_output
    except ImportError:
        # The tool does not require the check, and the client may check the result.
        if options.validate_result is None:
            return None
        raise


def _runs_alone(effects: frozenset[str], default_effect: DefaultEffect) -> bool:
    declared = effects & {"read", "write", "destructive"}
    if declared:
        return bool(declared - {"read"})
    return default_effect == "write"


def _length(arguments: Any) -> int:
    """Return the length of arguments as JSON; 0 if they are no JSON, or nested so
    deeply that no tool takes them.
    """
    if isinstance(arguments, (str, bytes)):
        return len(arguments)
    try:
        return len(json.dumps(arguments, default=str))
    except (ValueError, RecursionError):
        return 0


class Handlers:
    """The handlers of the bound shapes, by wire name, and beside them the target
    of the answer, if there is one.

    ``compiled`` holds the handlers that were used so far. ``context`` is what validators of
    arguments and answers read.
    """

    __slots__ = (
        "_by_earlier_name",
        "_by_form",
        "_may_hold_secrets",
        "_names",
        "_whole",
        "answer",
        "bound_strict",
        "compiled",
        "context",
        "default_effect",
        "hooks",
        "name_rule",
        "shapes",
    )

    def __init__(
        self,
        shapes: Mapping[str, Shape],
        hooks: Sequence[Any] = (),
        default_effect: DefaultEffect = None,
        bound_strict: Strictness = "auto",
        name_rule: NameRule | None = None,
        answer: Any = None,
    ) -> None:
        self.shapes = shapes
        self.answer = answer
        self.name_rule = name_rule
        self._by_earlier_name: dict[str | None, Shape] | None = None
        self._by_form: dict[str, Shape | None] | None = None
        self.hooks = hooks
        self.default_effect: DefaultEffect = default_effect
        self.bound_strict: Strictness = bound_strict
        self.compiled: dict[str, Handler] = {}
        self._names: tuple[str, ...] | None = None
        self._whole: Handlers | None = None
        self._may_hold_secrets: bool | None = None
        self.context: Any = None

    def of_some(self, shapes: Mapping[str, Shape]) -> "Handlers":
        """Return ``Handlers`` for a subset of these shapes; both
        objects share the compiled handlers.
        """
        subset = Handlers(
            shapes,
            self.hooks,
            self.default_effect,
            self.bound_strict,
            self.name_rule,
            self.answer,
        )
        subset._whole = self
        return subset

    def in_context(self, context: Any) -> "Handlers":
        """Return ``Handlers`` for the calls of one response, whose validators read ``context``."""
        if context is None:
            return self
        in_context = self.of_some(self.shapes)
        in_context.context = context
        return in_context

    @property
    def names(self) -> tuple[str, ...]:
        """The wire names of all tools, listed for the first unknown name;
        ``nearest`` indexes a tuple only once.
        """
        if self._names is None:
            self._names = tuple(self.shapes)
        return self._names

    def find(self, wire_name: Any) -> Handler | None:
        """Return the handler of a tool, compiled at its first call;
        ``None`` if there is no such tool.
        """
        if not isinstance(wire_name, str):
            return None
        shape = self.shapes.get(wire_name) or self._of_earlier_name(wire_name)
        if shape is None:
            return None
        handler = self.compiled.get(shape.wire_name)
        if handler is None:
            # A search names only tools of its own request, so a subset has a handler of its own.
            whole = None if is_search(shape.tool) else self._whole
            handler = Handler(shape, self) if whole is None else whole.find(shape.wire_name)
            assert handler is not None  # noqa: S101 - a subset has only shapes of the whole
            handler = handler if self.context is None else handler.in_context(self.context)
            self.compiled[shape.wire_name] = handler
        return handler

    @property
    def may_hold_secrets(self) -> bool:
        """Whether a call of any of these tools, or the answer, may hold a secret; a
        model may mean it by any name.
        """
        found = self._may_hold_secrets
        if found is None:
            tools = (record_of(shape.tool) for shape in self.shapes.values())
            has_answer = self.answer is not None and self.answer.has_secrets
            found = bool(has_answer or any(record.takes_secrets for record in tools))
            self._may_hold_secrets = found
        return found

    def target(self, wire_name: Any) -> Any:
        """Return the handler of a tool, or the target of the answer;
        ``None`` if the name is of neither.
        """
        handler = self.find(wire_name)
        if handler is None and self.answer:
            return self.answer.called(wire_name)
        return handler

    def find_meant(self, wire_name: Any) -> Handler | None:
        """Return the handler of the only tool that a model can mean by a name that was not sent.

        It may write the tool's own name, or put other signs in the place of underscores. In a
        stored message this proves nothing: at that time there may have been another tool.
        """
        if not isinstance(wire_name, str) or (self.answer and self.answer.called(wire_name)):
            return None
        if self._by_form is None:
            by_form: dict[str, Shape | None] = {}
            for known in self.shapes.values():
                for form in {readable_name(known.name), readable_name(known.wire_name)}:
                    by_form[form] = None if form in by_form else known
            self._by_form = by_form
        shape = self._by_form.get(readable_name(wire_name))
        if shape is None or not shape.settings.rules:  # every coercion is switched off
            return None
        handler = self.find(shape.wire_name)
        if handler is None:
            return None
        return handler.under_name(wire_name)

    def _of_earlier_name(self, wire_name: str) -> Shape | None:
        """Return the tool that an earlier version of toolshape sent under this name."""
        rule = self.name_rule
        if rule is None:
            return None
        if self._by_earlier_name is None:
            self._by_earlier_name = {
                rule.name_with_digest(shape.name): shape
                for shape in self.shapes.values()
                if shape.wire_name != shape.name
            }
        return self._by_earlier_name.get(wire_name)
