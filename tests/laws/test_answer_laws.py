"""The laws for answers: every provider that is asked for answers, and every type of the zoo; bugs that are planted are caught."""

import dataclasses
import hashlib
import inspect
import os
import typing
from typing import Any

import pytest
from zoo import CASES

from toolshape import DefinitionError, ExportError, Output
from toolshape._families import get
from toolshape._families.names import available
from toolshape._families.wire.content import answer_text
from toolshape._families.wire.provider import AnswerText, Provider
from toolshape._schema import rewrites
from toolshape._schema.walk import everywhere
from toolshape._tools.tool import as_tool, record_of
from toolshape.testing import LawBrokenError, check_output

EXAMPLES = int(os.environ.get("TOOLSHAPE_EXAMPLES", "2"))
SEED = os.environ.get("TOOLSHAPE_SEED", "0")
SHARE = (
    1 if os.environ.get("TOOLSHAPE_EVERY") else 5
)  # one of so many pairs is drawn for each commit


def zoo_types() -> dict[str, Any]:
    """The types of the parameters and of the results of the zoo."""
    types: dict[str, Any] = {}
    for name, case in CASES.items():
        signature = record_of(as_tool(case.function)).definition.signature
        for parameter in signature.parameters:
            if parameter.annotated and not parameter.injected:
                types[f"{name}.{parameter.name}"] = parameter.annotation
        returned = signature.returns()
        if returned not in (None, inspect.Signature.empty):
            types[f"{name} returns"] = returned
    return types


def zoo_outputs() -> dict[str, Output[Any]]:
    return {name: Output(kind) for name, kind in zoo_types().items() if name not in NOT_OUTPUTS}


# What is no answer: keywords that a function takes apart, iterators that a function yields from, a name of its own.
NOT_OUTPUTS = {
    "unpacked_keyword.keep", "generator returns", "async_generator returns", "empty_generator returns", "keys_to_rename.y",
}  # fmt: skip
OUTPUTS = zoo_outputs()
ASKED = [name for name in available() if get(name).histories is not None]
# Six levels of objects, where five are the limit.
TOO_DEEP = {
    ("azure", "recursive_map.f"),
    ("openai:minimal", "recursive_map.f"),
    ("openai-responses:minimal", "recursive_map.f"),
}


def is_drawn(provider: str, name: str) -> bool:
    return hashlib.sha256(f"{SEED} {provider} {name}".encode()).digest()[0] % SHARE == 0


@pytest.mark.parametrize("provider", ASKED)
def test_the_laws_hold_for_answers(provider):
    """Sound, sayable, forgiving, obedient, still; read as they are written, whole and streamed."""
    assert len(OUTPUTS) > 200
    for name, output in OUTPUTS.items():
        if is_drawn(provider, name) and (provider, name) not in TOO_DEEP:
            check_output(provider, output, examples=EXAMPLES)


@pytest.mark.parametrize("name", sorted(NOT_OUTPUTS))
def test_what_is_no_output_is_refused(name):
    with pytest.raises(DefinitionError):
        Output(zoo_types()[name])


@pytest.mark.parametrize(("provider", "name"), sorted(TOO_DEEP))
def test_what_is_too_deep_is_refused(provider, name):
    """In strict form alone: auto sends it without."""
    with pytest.raises(ExportError, match="6 levels of nesting, at most 5"):
        OUTPUTS[name].bind(provider, strict=True)
    assert not OUTPUTS[name].bind(provider).is_strict()


def with_output(provider: Provider, **changes: Any) -> Provider:
    assert provider.output is not None
    return dataclasses.replace(provider, output=dataclasses.replace(provider.output, **changes))


def cut(assistant: Any) -> AnswerText:
    return AnswerText(answer_text(assistant).text[:-1])


def without_maps(node: Any, at: Any) -> Any:
    """A rewrite of maps whose inverse is lost."""
    change = rewrites.map_as_pairs(node, at)
    return None if change is None else change._replace(back=None)


@pytest.mark.parametrize("law", ["folding", "sayable"])
def test_a_planted_bug_is_caught(law):
    openai = get("openai")
    if law == "folding":
        planted = with_output(openai, answer=cut)
    else:
        rules = dataclasses.replace(
            openai.schema, strict=(everywhere(without_maps), *(openai.schema.strict or ()))
        )
        planted = with_output(openai, schema=rules)
    with pytest.raises(LawBrokenError) as raised:
        check_output(planted, Output(dict[str, int]), examples=50)
    assert raised.value.law == law
    check_output(openai, Output(dict[str, int]), examples=50)


def test_hints_of_typing_are_read():
    """A type is written as in any annotation."""
    assert Output(typing.Optional[int]).schema == {"anyOf": [{"type": "integer"}, {"type": "null"}]}
