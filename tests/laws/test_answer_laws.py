"""The laws for answers: every provider that is asked for answers, and every type of the zoo; bugs that are planted are caught."""

import dataclasses
import hashlib
import inspect
import os
import typing
from typing import Any

import pytest
from zoo import CASES

from toolshape import DefinitionError, Output
from toolshape._families import available, get
from toolshape._schema import rewrites
from toolshape._schema.walk import everywhere
from toolshape._tool import as_tool, record_of
from toolshape._wire.content import answer_text
from toolshape._wire.provider import AnswerText, Provider
from toolshape.testing import LawBrokenError, check_output

EXAMPLES = int(os.environ.get("TOOLSHAPE_EXAMPLES", "2"))
SEED = os.environ.get("TOOLSHAPE_SEED", "0")
SHARE = 1 if os.environ.get("TOOLSHAPE_EVERY") else 5  # one of so many pairs is drawn for each commit


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
    outputs: dict[str, Output[Any]] = {}
    for name, kind in zoo_types().items():
        try:
            outputs[name] = Output(kind)
        except DefinitionError:
            assert name in NOT_OUTPUTS, name
    return outputs


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
    if provider.startswith("text:") and provider != "text:hermes":
        pytest.skip("the answer is a call of a tool, as for text:hermes")
    for name, output in OUTPUTS.items():
        if is_drawn(provider, name) and (provider, name) not in TOO_DEEP:
            check_output(provider, output, examples=EXAMPLES)


def with_output(provider: Provider, **changes: Any) -> Provider:
    assert provider.output is not None
    return dataclasses.replace(provider, output=dataclasses.replace(provider.output, **changes))


def cut(assistant: Any) -> AnswerText:
    return AnswerText(answer_text(assistant).text[:-1])


def without_maps(node: Any, at: Any) -> Any:
    """A rewrite of maps whose inverse is lost."""
    change = rewrites.map_as_pairs(node, at)
    return None if change is None else change._replace(back=None)


@pytest.mark.parametrize("law", ["folding", "sound"])
def test_a_planted_bug_is_caught(law):
    openai = get("openai")
    if law == "folding":
        planted = with_output(openai, answer=cut)
    else:
        rules = dataclasses.replace(openai.schema, strict=(everywhere(without_maps), *(openai.schema.strict or ())))
        planted = with_output(openai, schema=rules)
    with pytest.raises(LawBrokenError) as raised:
        check_output(planted, Output(dict[str, int]), examples=50)
    assert raised.value.law in (law, "sayable")
    check_output(openai, Output(dict[str, int]), examples=50)


def test_hints_of_typing_are_read():
    """A type is written as in any annotation."""
    assert Output(typing.Optional[int]).schema == {"anyOf": [{"type": "integer"}, {"type": "null"}]}
