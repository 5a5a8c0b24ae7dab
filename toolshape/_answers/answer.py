"""Validates the JSON of an answer, and describes what is wrong with an invalid one."""

import functools
import json
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from pydantic_core import from_json

from toolshape._families.wire.content import answer_text
from toolshape._families.wire.provider import AnswerText, Provider
from toolshape._function.calling.failures import validation_error
from toolshape._function.core_schema.key_count import compile_key_count
from toolshape._function.core_schema.nodes import definitions_of
from toolshape._function.core_schema.two import compile_validator, full_schema, with_definitions
from toolshape._function.model import FunctionDefinition
from toolshape._plan.results import Answer, Results, wire_calls
from toolshape._records.calls import Coercion, WireCall, WireMessage
from toolshape._records.errors import AnswerError, CallError, Problem
from toolshape._schema.arrows import in_object
from toolshape._schema.lens import Lens
from toolshape._schema.secrets import Secrets
from toolshape._schema.values import UnreadableError
from toolshape._validation.fast_path import compile_model_validation
from toolshape._validation.json_text import parse_json
from toolshape._validation.masking import masked_coercions
from toolshape._validation.model_traits import ModelTraits, traits_of
from toolshape._validation.settings import Validated, ValidationSettings

if TYPE_CHECKING:
    from toolshape._families.wire.provider import Read

T = TypeVar("T", covariant=True)  # noqa: PLC0105 - users see this name in their editor

ANSWER_FIELD = "value"
"""The only field of the pydantic model that validates answers.

If the answer is not an object, the LLM also writes the answer in this field."""


ReadAnswerText: TypeAlias = Callable[[Any, bool], Validated]
"""Validates the JSON of an answer (text or a dict); the second argument tells
whether the response was cut off.

Returns the value, and the coercions that made it valid. Raises ``AnswerError``.
"""


def compile_answer_reading(
    definition: FunctionDefinition, lens: Lens, rules: frozenset[str], *, is_wrapped: bool
) -> ReadAnswerText:
    """Compile the function that validates answers.

    The function validates an object whose only field is the answer. If ``is_wrapped``, the LLM
    writes this object, because the provider does not accept the answer itself as the root of a
    schema. Otherwise, the LLM writes only the answer, and the function puts the text of the answer
    into the object with one string concatenation. The engine that validates the arguments of tools
    can then validate an answer in a single parse.

    Args:
        definition: The definition of the function whose only argument is the answer.
        lens: The schema that was sent. It also maps an answer from the sent form back to canonical
            form.
        rules: The coercion rules that are on.
        is_wrapped: Whether the LLM writes the answer inside an object.
    """
    name = definition.name
    if is_wrapped:
        back = lens.back
    else:
        back = in_object({ANSWER_FIELD: lens.back})
    traits = traits_of(definition)
    validate = compile_model_validation(traits, ValidationSettings(name, rules, back, lens.drops))

    is_as_sent = not (is_wrapped or lens.back)

    @functools.cache  # many outputs are bound, and never asked for
    def model_reading() -> Callable[[Any], Any] | None:
        if is_as_sent:
            return _compile_model_reading(traits)
        return None

    def read_text(text: str, is_cut: bool) -> Validated:
        read_model = model_reading()
        if read_model is not None and (found := read_model(text)) is not None:
            return found, ()
        try:
            model, coercions = validate(text if is_wrapped else f'{{"{ANSWER_FIELD}":{text}}}')
        except BaseException as error:
            call_error = validation_error(error, tool=name)
            model, coercions = _retry_wrapped(
                validate, text, call_error, is_cut=is_cut, is_wrapped=is_wrapped
            )
        return model.__dict__[ANSWER_FIELD], _unwrap_paths(
            coercions
        ) if coercions and not is_wrapped else coercions

    def read(given: Any, is_cut: bool) -> Validated:
        if type(given) is str:
            return read_text(given, is_cut)
        if isinstance(given, (bytes, bytearray)):
            return read_text(bytes(given).decode(errors="replace"), is_cut)
        return read_text("" if given is None else json.dumps(given, default=str), is_cut)

    return read


def _compile_model_reading(traits: ModelTraits) -> Callable[[Any], Any] | None:
    """Return a function that reads valid JSON as a pydantic model,
    without the object around the answer.

    It returns ``None`` for whatever is not valid at once or may repeat a key: the caller then
    validates all of it again, and finds out what is wrong. It is there for plain models alone,
    whose instances show how many keys they were read from.
    """
    is_special = traits.has_decimals or traits.deepest is not None or traits.unions_recur
    if is_special or traits.reserved or traits.validators.runs_code:
        return None
    core: Any = traits.model.__pydantic_core_schema__
    if core["type"] == "definitions":
        around = core["schema"]
    else:
        around = core
    node = around["schema"]["fields"][ANSWER_FIELD]["schema"]
    if node["type"] != "model":
        return None
    alone = with_definitions(node, definitions_of(core))
    count_keys = compile_key_count(alone)
    if count_keys is None:
        return None
    validate_json = compile_validator(full_schema(alone)).validate_json

    def read_model(text: Any) -> Any:
        try:
            model = validate_json(text)
        except Exception:
            return None
        if text.count(":") == count_keys(model):
            return model
        return None

    return read_model


def _retry_wrapped(
    validate: Callable[[Any], Validated],
    text: str,
    found: CallError,
    *,
    is_cut: bool,
    is_wrapped: bool,
) -> Validated:
    """If the LLM left out the object around the answer, add the object
    and validate the answer again.

    Raises:
        AnswerError: The answer is still invalid.
    """
    error = _answer_error(text, found, is_cut=is_cut, is_wrapped=is_wrapped)
    if is_wrapped and error.code == "invalid_answer":
        value = from_json(text)
        if not (isinstance(value, dict) and ANSWER_FIELD in value):
            try:
                return validate(f'{{"{ANSWER_FIELD}":{text}}}')
            except BaseException as second_error:
                validation_error(second_error, tool=error.output)
    raise error from (found.__cause__ or found)


def _answer_error(text: str, found: CallError, *, is_cut: bool, is_wrapped: bool) -> AnswerError:
    """Convert the ``CallError`` of a failed validation into an
    ``AnswerError``, which the LLM reads.
    """
    name = found.tool
    if not text.strip():
        return AnswerError("empty_answer", output=name)
    try:
        parse_json(text, None)
    except UnreadableError as error:
        return _unreadable_error(name, text, error, is_cut=is_cut)
    except RecursionError:
        problem = Problem("", "too_deep", message="nested too deeply to be read")
        return AnswerError("malformed_answer", output=name, problems=[problem])
    if found.code == "tool_crashed":
        return AnswerError("validator_crashed", output=name, reference=found.reference)
    problems = found.problems or [Problem("", found.code, message=found.text)]
    if not is_wrapped:
        problems = [_unwrap_problem(problem) for problem in problems]
    return AnswerError("invalid_answer", output=name, problems=problems)


def _unreadable_error(name: str, text: str, error: UnreadableError, *, is_cut: bool) -> AnswerError:
    problem = Problem("", error.rule, message=str(error))
    if error.rule == "repeated_key":
        return AnswerError("invalid_answer", output=name, problems=[problem])
    surroundings = _describe_surroundings(text)
    if surroundings:
        return AnswerError(
            "answer_in_prose", output=name, problems=[Problem("", "prose", message=surroundings)]
        )
    if is_cut or error.rule == "json_truncated":
        return AnswerError("truncated_answer", output=name)
    return AnswerError("malformed_answer", output=name, problems=[problem])


def _describe_surroundings(text: str) -> str:
    """Describe the text around the JSON of an answer; return ``""`` if there is no
    such text or no complete JSON.
    """
    starts = [position for position in (text.find("{"), text.find("[")) if position >= 0]
    if not starts:
        return ""
    start = min(starts)
    try:
        _, end = json.JSONDecoder().raw_decode(text, start)
    except (ValueError, RecursionError):
        return ""
    before, after = text[:start].strip(), text[end:].strip()
    if before.startswith("```"):
        return "it is in a code fence"
    # The description does not quote this text, because it may contain the value of a secret field.
    if before:
        return "there is text before it"
    if after:
        return "there is text after it"
    return ""


_PREFIX = f"{ANSWER_FIELD}."


def _unwrap_path(path: str) -> str:
    if path == ANSWER_FIELD:
        return ""
    return path.removeprefix(_PREFIX)


def _unwrap_paths(coercions: Sequence[Coercion]) -> tuple[Coercion, ...]:
    return tuple(coercion._replace(path=_unwrap_path(coercion.path)) for coercion in coercions)


def _unwrap_problem(problem: Problem) -> Problem:
    return problem._replace(path=_unwrap_path(problem.path))


def answer_of(
    provider: Provider,
    reading: "Read",
    raw: Any,
    output: str,
    tool: str | None,
    read: ReadAnswerText,
    secrets: Secrets,
    results: Results | None = None,
) -> Answer[Any]:
    """Read the structured answer in a response.

    Args:
        provider: The provider that responded.
        reading: The content of the response.
        raw: The response that was passed in.
        output: The name of the output.
        tool: The wire name of the tool whose arguments are the answer; ``None`` if the answer is
            the response's text.
        read: Validates the JSON of the answer.
        secrets: The places in the answer that may hold a secret.
        results: The results of the response's calls, if the tools were bound with ``output=``.
    """
    answer: Answer[Any] = Answer(provider, reading, raw, tool, results, is_secret=secrets.are_there)
    text, refusal = (
        _answer_text(provider, reading[0])
        if tool is None
        else AnswerText(_arguments_of(answer.call))
    )
    answer.text = text or refusal
    if (refusal and not text) or answer.finish == "refusal":
        if isinstance(answer.text, str):
            refusal_text = answer.text
        else:
            refusal_text = ""
        answer.error = AnswerError("refused_answer", output=output, text=refusal_text)
        return answer
    try:
        answer.value, coercions = read(text, answer.finish == "length")
        answer.coercions = masked_coercions(coercions, secrets) if secrets.are_there else coercions
    except AnswerError as error:
        answer.error = error
    return answer


def _arguments_of(call: WireCall | None) -> Any:
    if call is None:
        return ""
    return call.arguments


def _answer_text(provider: Provider, assistant: list[WireMessage]) -> AnswerText:
    # If a provider has no structured output, the request asks for a call. If the provider cannot
    # force a call, the answer may come as text.
    if provider.output is None:
        return answer_text(assistant)
    return provider.output.answer(assistant)


def raw_answer(provider: Provider, reading: "Read", tool: str | None) -> Any:
    """Return the answer as the model wrote it: the text of the
    response, or the arguments of the call.
    """
    if tool is None:
        return _answer_text(provider, reading[0]).text
    return _arguments_of(
        next((call for call in wire_calls(reading) if call.wire_name == tool), None)
    )
