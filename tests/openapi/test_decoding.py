"""What is sent of a drawn call decodes to exactly what the model wrote, as another library reads it."""

import copy
import logging
import os
import random
from collections import Counter
from typing import Any

import httpx
import pytest
from real import FOLDER, SMALL, Recorder, alone, documents, read_by_another

from toolshape import openapi
from toolshape._schema.generate import generate
from toolshape._schema.values import is_equal_json
from toolshape.openapi import Operation

SEED = os.environ.get("TOOLSHAPE_SEED", "0")
MOST = 5_000 if os.environ.get("TOOLSHAPE_OPENAPI_ALL") else 300
GONE = object()
pytestmark = pytest.mark.skipif(
    not FOLDER.exists(),
    reason="TOOLSHAPE_OPENAPI names no folder with the documents: nox -s openapi",
)


def differing(operation: Operation, arguments: dict[str, Any], read: Any) -> list[str]:
    """The arguments that another library reads otherwise than the model wrote them.

    A default that it fills in is no difference, and neither is a null that is left out as it should be.
    """
    found = []
    for parameter in operation.parameters:
        there = getattr(read.parameters, parameter.where)
        names = {
            (name.lower() if parameter.where == "header" else name): value
            for name, value in dict(there).items()
        }
        name = parameter.name.lower() if parameter.where == "header" else parameter.name
        written = arguments.get(parameter.argument, GONE)
        if written is GONE or (written is None and not parameter.is_required):
            continue
        if not holds(names.get(name, GONE), written):
            found.append(f"{parameter.where} {parameter.style} {written!r} {names.get(name)!r}")
    body = operation.body
    if body is not None and body.argument in arguments and body.kind == "json":
        written = arguments[body.argument]
        if not holds(read.body, written):
            found.append(f"{body.media_type} {written!r} {read.body!r}")
    return found


def holds(read: Any, written: Any) -> bool:
    """Whether what was read is what was written, but for fields that have a default."""
    if isinstance(read, dict) and isinstance(written, dict):
        return all(name in read and holds(read[name], value) for name, value in written.items())
    if isinstance(read, list) and isinstance(written, list):
        return len(read) == len(written) and all(map(holds, read, written))
    return is_equal_json(read, written)


def test_a_drawn_call_decodes_to_its_arguments():
    """Of real operations, over a socket, by openapi-core; what that library cannot read is counted by its words."""
    logging.disable(logging.ERROR)
    seen: Counter[str] = Counter()
    wrong: list[str] = []
    with Recorder() as recorder, httpx.Client(base_url=recorder.address) as client:
        for path, document in documents(SEED, most_bytes=SMALL):
            api = openapi.load(document, client)
            chance = random.Random(f"{SEED} {path}")
            names = chance.sample(sorted(api.operations), min(4, len(api.operations)))
            for tool in api.tools(names) if names else ():
                operation = api.operations[tool.name]
                if "#" in operation.path:
                    continue  # what follows is no part of an address, and only tells operations apart
                recorder.seen.clear()
                # Not ``result.arguments``, in which secrets are hidden.
                arguments = generate(tool.input_schema, chance)
                [result] = api.tools([tool.name]).dispatch(
                    {"name": tool.name, "arguments": copy.deepcopy(arguments)}
                )
                if not result.ok:
                    seen[f"not sent: {result.error.code}"] += 1
                    assert recorder.seen == []
                    continue
                [recorded] = recorder.seen
                assert recorded.path.startswith("/base/")
                assert recorded.method == operation.method
                try:
                    read = read_by_another(
                        alone(document, operation, recorder.address),
                        operation,
                        recorder.address,
                        recorded,
                    )
                except AssertionError:
                    raise
                except Exception as error:
                    seen[f"openapi-core: {type(error).__name__}"] += 1
                    continue
                if read.errors:
                    seen[f"openapi-core: {type(read.errors[0]).__name__}"] += 1
                    continue
                found = differing(operation, arguments, read)
                seen["read otherwise" if found else "read as written"] += 1
                wrong += [f"{path.parent.name} {tool.name}: {each}" for each in found]
            if sum(seen.values()) >= MOST:
                break
    logging.disable(logging.NOTSET)
    print(*seen.most_common(), sep="\n")
    assert not wrong, "\n".join(wrong[:20])
    assert seen["read as written"] > 0.7 * sum(seen.values())
