"""Runs an agent of a framework on a fake, with one tool that is given to it in one of five ways."""

import json
import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol

from toolshape import Registry
from toolshape.ledger import Ledger
from toolshape.testing import Fake

Way = Literal["own", "wrapper", "toolschema", "bridge", "mcp"]
WAYS: Mapping[Way, str] = {
    "own": "its own decorator",
    "wrapper": "a wrapper by hand",
    "toolschema": "toolschema",
    "bridge": "our bridge",
    "mcp": "`toolshape mcp`",
}
USER = "ann"
EFFECTS = Path(os.environ.setdefault("TOOLSHAPE_EFFECTS", f"{tempfile.mkdtemp()}/effects.jsonl"))
HOOKS = EFFECTS.with_suffix(".hooks")


class Ran(NamedTuple):
    """How a run of an agent ended: with a text, an error, or a call that waits, as the framework holds it."""

    text: str | None = None
    error: Exception | None = None
    waiting: Any = None


class Seen(NamedTuple):
    """What a run showed: the tools as they were sent, the results in the last request, and the effects of tools."""

    entries: dict[str, dict[str, Any]]
    answers: list[Any]
    effects: list[list[Any]]
    ran: Ran
    requests: list[dict[str, Any]]


class Given(NamedTuple):
    """What a framework is given: its tools, and what the agent needs besides."""

    tools: Sequence[Any]
    besides: Mapping[str, Any] = {}


class Framework(Protocol):
    """A framework: how it is given tools, and how its agent is run."""

    NAME: str
    PROVIDER: str
    REGISTRY: Registry

    def give(
        self, way: Way, tools: Registry, options: Mapping[str, Any]
    ) -> AbstractContextManager[Given]:
        """Give tools to the framework; the options are those of a bridge."""

    def run(self, given: Given, *, within: float | None = None) -> Ran:
        """Run an agent once; cancel it after some seconds."""

    def resume(self, given: Given, waiting: Any, decision: Any) -> Ran:
        """Resume a run with ``True``, a text that denies, or a dict of edited arguments."""

    def stored(self, waiting: Any) -> Any:
        """Return what waits as another process would load it."""


class Bench(NamedTuple):
    """A framework, a way to give tools to it, and a folder for its files."""

    framework: Framework
    way: Way
    folder: Path

    def effects(self) -> list[list[Any]]:
        """What tools have done since the run began."""
        return [json.loads(line) for line in EFFECTS.read_text(encoding="utf-8").splitlines()]

    def see(
        self,
        names: Sequence[str] | str,
        *calls: tuple[str, Any],
        within: float | None = None,
        then: Callable[[Given, Fake, Ran], Ran] | None = None,
        are_hooks_noted: bool = False,
    ) -> Seen:
        """Run an agent with some tools whose model makes calls, and then says "done".

        Args:
            names: The tools.
            calls: The name of a tool and the raw arguments; a text is what the model writes.
            within: Cancel the run after so many seconds.
            then: What to do after the run.
            are_hooks_noted: Whether the hook of the shop notes the calls.
        """
        names = [names] if isinstance(names, str) else names
        EFFECTS.write_text("")
        HOOKS.unlink(missing_ok=True)
        if are_hooks_noted:
            HOOKS.touch()
        registry = self.framework.REGISTRY.subset(list(names))
        options = {"ledger": Ledger(f"sqlite:///{self.folder}/ledger.db"), "inject": {"user": USER}}
        with (
            Fake(self.framework.PROVIDER, registry) as fake,
            self.framework.give(self.way, registry, options) as given,
        ):
            os.environ.update(fake.env)
            turn = None
            for name, raw in calls:
                make: Any = turn or fake
                turn = make.calls(name, raw=raw) if name in registry else make.invents(name, raw)
            fake.says("done")
            ran = self.framework.run(given, within=within)
            ran = ran if then is None else then(given, fake, ran)
            requests = [exchange.request for exchange in fake.exchanges]
            refused = [refusal for exchange in fake.exchanges for refusal in exchange.refused]
            assert not refused, f"the provider refuses: {refused[0]}"
        return Seen(
            entries=_entries(requests[0]) if requests else {},
            answers=_answers(requests[-1]) if requests else [],
            effects=self.effects(),
            ran=ran,
            requests=requests,
        )


def _entries(request: dict[str, Any]) -> dict[str, dict[str, Any]]:
    entries = [entry.get("function", entry) for entry in request.get("tools", ())]
    return {entry["name"]: entry for entry in entries}


def _answers(request: dict[str, Any]) -> list[Any]:
    chat = [message for message in request.get("messages", ()) if message.get("role") == "tool"]
    items = request.get("input", ())
    outputs = [
        item["output"]
        for item in items
        if isinstance(item, dict) and item.get("type") == "function_call_output"
    ]
    return [message["content"] for message in chat] or outputs


def text_of(answer: Any) -> str:
    """Return an answer as text: its own, or that of its one block, or as JSON."""
    if (
        isinstance(answer, list)
        and len(answer) == 1
        and answer[0].get("type") in ("text", "input_text")
    ):
        return str(answer[0]["text"])
    return answer if isinstance(answer, str) else json.dumps(answer)


def served() -> str:
    """Return the URL of a server of MCP with the tools of the shop, which is started once."""
    return os.environ["TOOLSHAPE_SHOP_URL"]
