"""Forty-six behaviours of a tool in an agent: each returns whether a framework shows it with tools given in one way."""

import time
from collections.abc import Callable
from typing import Any, NamedTuple

from bench import USER, Bench, Seen, text_of

from toolshape import Registry

Check = Callable[[Bench], bool]


class Behaviour(NamedTuple):
    """Something that a user of an agent would expect of a tool."""

    name: str
    group: str
    sentence: str
    check: Check


BEHAVIOURS: list[Behaviour] = []


def behaviour(group: str, sentence: str) -> Callable[[Check], Check]:
    """Add a behaviour; the function returns whether it was seen."""

    def add(check: Check) -> Check:
        BEHAVIOURS.append(Behaviour(check.__name__, group, sentence, check))
        return check

    return add


def parameters(seen: Seen, name: str) -> dict[str, Any]:
    """The schema that was sent of a tool."""
    found: dict[str, Any] = seen.entries[name]["parameters"]
    return found


def property_of(seen: Seen, name: str, field: str) -> dict[str, Any]:
    """The schema of a parameter, by its reference if it has one."""
    schema = parameters(seen, name)
    found: dict[str, Any] = schema["properties"][field]
    if "$ref" in found:
        found = schema["$defs"][found["$ref"].rpartition("/")[2]]
    return found


def answered(seen: Seen, *words: str) -> bool:
    """Whether the run ended with the model's word, after one result that has some words in it."""
    return (
        seen.ran.text == "done"
        and len(seen.answers) == 1
        and all(word in text_of(seen.answers[0]) for word in words)
    )


# What the model is sent.
SENT = "What the model is sent"


@behaviour(SENT, "the schema equals toolshape's export for the provider")
def schema_is_exported(bench: Bench) -> bool:
    names = ["order", "paint", "weather"]
    seen = bench.see(names)
    found = []
    for strict in (True, False):
        entries = Registry([*bench.framework.REGISTRY.subset(names)], strict=strict).export(
            bench.framework.PROVIDER
        )
        exported = {
            entry["name"]: entry for entry in (entry.get("function", entry) for entry in entries)
        }
        found.append(all(parameters(seen, name) == exported[name]["parameters"] for name in names))
    return any(found)


@behaviour(SENT, "the request asks the provider to constrain the arguments (`strict`)")
def strict(bench: Bench) -> bool:
    return bench.see("weather").entries["weather"].get("strict") is True


@behaviour(SENT, "the description is the docstring without its sections")
def description(bench: Bench) -> bool:
    return bench.see("weather").entries["weather"]["description"] == "Say what the weather will be."


@behaviour(SENT, "parameters are described by a docstring in Google's style")
def google_docstring(bench: Bench) -> bool:
    return "The name of the city" in property_of(bench.see("weather"), "weather", "city").get(
        "description", ""
    )


@behaviour(SENT, "parameters are described by a docstring in NumPy's style")
def numpy_docstring(bench: Bench) -> bool:
    return "Where it begins" in property_of(bench.see("distance"), "distance", "start").get(
        "description", ""
    )


@behaviour(SENT, "choices and bounds are in the schema")
def choices(bench: Bench) -> bool:
    seen = bench.see("paint")
    return property_of(seen, "paint", "colour").get("enum") == ["red", "green"]


@behaviour(SENT, "a nested model is in the schema, with its fields")
def nested_schema(bench: Bench) -> bool:
    return "sku" in text_of(parameters(bench.see("order"), "order"))


@behaviour(SENT, "a recursive model can be sent, and arrives")
def recursive(bench: Bench) -> bool:
    seen = bench.see(
        "total", ("total", {"tree": {"value": 1, "children": [{"value": 2, "children": []}]}})
    )
    return answered(seen, "3") and seen.effects[0] == ["total", "Node"]


@behaviour(SENT, "a tool name that the provider rejects is renamed, and calls reach the tool")
def other_name(bench: Bench) -> bool:
    seen = bench.see("shop.find", ("shop.find", {"city": "Bonn", "days": 2}))
    return answered(seen, "Bonn: sun for 2 days")


@behaviour(SENT, "an injected parameter is hidden from the model and filled")
def injected(bench: Bench) -> bool:
    seen = bench.see("mine", ("mine", {}))
    return "user" not in text_of(parameters(seen, "mine")) and answered(seen, f"orders of {USER}")


@behaviour(SENT, "a parameter that is typed as the framework's context is hidden and filled")
def context(bench: Bench) -> bool:
    seen = bench.see("who", ("who", {}))
    return parameters(seen, "who").get("properties", {}) == {} and answered(seen, f"I see {USER}")


# What the model writes.
WRITTEN = "What the model writes"


@behaviour(WRITTEN, "omitted arguments get their defaults")
def default(bench: Bench) -> bool:
    return answered(bench.see("weather", ("weather", {"city": "Bonn"})), "Bonn: sun for 1 days")


@behaviour(WRITTEN, "`null` for an argument with a default becomes the default")
def null_is_default(bench: Bench) -> bool:
    return answered(
        bench.see("weather", ("weather", {"city": "Bonn", "days": None})), "Bonn: sun for 1 days"
    )


@behaviour(WRITTEN, '`"2"` for an `int` arrives as 2')
def coercion(bench: Bench) -> bool:
    seen = bench.see("weather", ("weather", {"city": "Bonn", "days": "2"}))
    return seen.effects == [["weather", "Bonn", 2]]


@behaviour(WRITTEN, "coercions are recorded")
def coercion_on_record(bench: Bench) -> bool:
    seen = bench.see("weather", ("weather", {"city": "Bonn", "days": "2"}), are_hooks_noted=True)
    return ["hook", "weather", ["number_text"]] in seen.effects


@behaviour(WRITTEN, "a list in a JSON string arrives as a list")
def json_text(bench: Bench) -> bool:
    seen = bench.see("tag", ("tag", {"words": '["red", "blue"]'}))
    return seen.effects == [["tag", ["red", "blue"]]]


@behaviour(WRITTEN, "nested models and dates arrive as Python objects")
def types_arrive(bench: Bench) -> bool:
    seen = bench.see("order", ("order", {"lines": [{"sku": "a", "quantity": 2}], "number": 7}))
    booked = bench.see("book", ("book", {"day": "2026-11-26"}))
    return seen.effects == [["order", ["a"]]] and booked.effects == [["book", "date"]]


@behaviour(WRITTEN, "parameters can have names that the framework uses itself")
def any_names(bench: Bench) -> bool:
    seen = bench.see("settings", ("settings", {"config": "a", "run_manager": "b", "context": "c"}))
    return seen.effects == [["settings", "a", "b", "c"]]


@behaviour(WRITTEN, "an unknown argument is rejected by name, and the tool does not run")
def unknown_argument(bench: Bench) -> bool:
    seen = bench.see("weather", ("weather", {"city": "Bonn", "dais": 3, "days": 1}))
    return seen.effects == [] and answered(seen, "dais")


@behaviour(WRITTEN, "the error for a missing argument names it, and the model can continue")
def missing_argument(bench: Bench) -> bool:
    seen = bench.see("weather", ("weather", {"days": 3}))
    return seen.effects == [] and answered(seen, "city")


@behaviour(WRITTEN, "a wrong choice or a value out of bounds is rejected with the expected values")
def wrong_choice(bench: Bench) -> bool:
    seen = bench.see("paint", ("paint", {"colour": "blue", "coats": 1}))
    bounds = bench.see("paint", ("paint", {"colour": "red", "coats": 0}))
    return (
        seen.effects == bounds.effects == []
        and answered(seen, "red", "green")
        and answered(bounds, "coats")
    )


@behaviour(WRITTEN, "for malformed JSON the model receives an error and can continue")
def malformed_json(bench: Bench) -> bool:
    seen = bench.see("weather", ("weather", '{"city": "Bonn", "days": }'))
    return seen.effects == [] and seen.ran.text == "done" and len(seen.answers) == 1


@behaviour(WRITTEN, "for an unknown tool the model receives an error and can continue")
def unknown_tool(bench: Bench) -> bool:
    seen = bench.see("weather", ("wether", {"city": "Bonn"}))
    return seen.ran.text == "done" and len(seen.answers) == 1


# What comes back.
BACK = "What comes back"


@behaviour(BACK, "a string arrives unchanged")
def text(bench: Bench) -> bool:
    seen = bench.see("weather", ("weather", {"city": "Bonn", "days": 2}))
    return answered(seen) and text_of(seen.answers[0]) == "Bonn: sun for 2 days"


@behaviour(BACK, "a model arrives as its JSON, once")
def structured(bench: Bench) -> bool:
    seen = bench.see("order", ("order", {"lines": [{"sku": "a", "quantity": 2}], "number": 7}))
    answer = text_of(seen.answers[0]).replace(" ", "")
    return answered(seen) and answer == '{"number":7,"lines":[{"sku":"a","quantity":2}]}'


@behaviour(BACK, "the provider accepts the result `None`")
def nothing(bench: Bench) -> bool:
    seen = bench.see("ping", ("ping", {}))
    return answered(seen) and seen.effects == [["ping"]]


@behaviour(BACK, "an image arrives as an image")
def image(bench: Bench) -> bool:
    seen = bench.see("picture", ("picture", {}))
    return seen.ran.text == "done" and "data:image/png;base64,iVBORw0KGgo=" in text_of(
        seen.requests[-1]
    )


@behaviour(BACK, "the text of a tool's error arrives verbatim, and the model can continue")
def tool_error(bench: Bench) -> bool:
    return answered(
        bench.see("find_order", ("find_order", {"number": 9})),
        "There is no order 9: ask for its number.",
    )


@behaviour(BACK, "the text of a crash is hidden, and the model can continue")
def crash_hidden(bench: Bench) -> bool:
    seen = bench.see("crash", ("crash", {}))
    return answered(seen) and "swordfish" not in text_of(seen.requests[-1])


@behaviour(BACK, "a long result is cut to the tool's limit")
def long_result(bench: Bench) -> bool:
    seen = bench.see("long_text", ("long_text", {}))
    return answered(seen, "word") and len(text_of(seen.answers[0])) < 1500


# How it runs.
RUN = "How it runs"


@behaviour(RUN, "a hook of the registry runs around each call")
def hooks(bench: Bench) -> bool:
    seen = bench.see("weather", ("weather", {"city": "Bonn", "days": 2}), are_hooks_noted=True)
    return seen.effects == [["weather", "Bonn", 2], ["hook", "weather", []]]


@behaviour(RUN, "an async tool runs")
def async_tool(bench: Bench) -> bool:
    return answered(bench.see("fetch", ("fetch", {"url": "a"})), "page a")


@behaviour(RUN, "async tools that read run concurrently")
def reads_at_once(bench: Bench) -> bool:
    seen = bench.see("slow_read", *[("slow_read", {"number": number}) for number in (1, 2, 3)])
    return [kind for kind, _ in seen.effects] == ["begin"] * 3 + ["end"] * 3


@behaviour(RUN, "plain tools that read run concurrently, in threads")
def threads(bench: Bench) -> bool:
    seen = bench.see("slow_plain", *[("slow_plain", {"number": number}) for number in (1, 2, 3)])
    return [kind for kind, _ in seen.effects] == ["begin"] * 3 + ["end"] * 3


@behaviour(RUN, "calls that write run one after another, in order")
def writes_in_order(bench: Bench) -> bool:
    seen = bench.see("slow_write", *[("slow_write", {"number": number}) for number in (1, 2, 3)])
    return seen.effects == [[kind, number] for number in (1, 2, 3) for kind in ("begin", "end")]


@behaviour(RUN, "a timeout cancels the tool, and the model receives an error")
def timeout(bench: Bench) -> bool:
    began = time.monotonic()
    seen = bench.see("endless", ("endless", {}))
    return answered(seen) and time.monotonic() - began < 2 and ["cancelled"] in seen.effects


@behaviour(RUN, "cancelling the run cancels its tool")
def cancelled(bench: Bench) -> bool:
    seen = bench.see("forever", ("forever", {}), within=0.8)
    for _ in range(30):  # a server hears of it a little later
        if ["cancelled"] in seen.effects:
            return isinstance(seen.ran.error, TimeoutError)
        time.sleep(0.05)
        seen = seen._replace(effects=bench.effects())
    return False


# Approval.
APPROVAL = "Approval and the ledger"
LARGE, SMALL = {"amount": 500, "to": "ann"}, {"amount": 5, "to": "eve"}


def paid(bench: Bench, decision: Any, *, again: bool = False, elsewhere: bool = False) -> Seen:
    """Ask to pay a large sum, and decide on it, or decide twice on it as it was stored."""

    def then(given: Any, fake: Any, ran: Any) -> Any:
        assert ran.waiting is not None, f"nothing waits: {ran}"
        assert not bench.effects(), "it ran before anybody was asked"
        waiting = bench.framework.stored(ran.waiting) if elsewhere or again else ran.waiting
        if again:
            bench.framework.resume(given, waiting, decision)
            fake.says("done")
            waiting = bench.framework.stored(ran.waiting)
        return bench.framework.resume(given, waiting, decision)

    return bench.see("pay", ("pay", LARGE), then=then)


@behaviour(APPROVAL, "a call runs only after approval")
def approved(bench: Bench) -> bool:
    seen = paid(bench, True)
    return seen.effects == [["pay", 500, "ann"]] and answered(seen, "paid 500 to ann")


@behaviour(APPROVAL, "a rule decides by the arguments which calls need approval")
def by_arguments(bench: Bench) -> bool:
    seen = bench.see("pay", ("pay", SMALL))
    return seen.effects == [["pay", 5, "eve"]] and approved(bench)


@behaviour(APPROVAL, "the approver sees the validated arguments")
def shown_arguments(bench: Bench) -> bool:
    shown: list[str] = []

    def then(given: Any, fake: Any, ran: Any) -> Any:
        shown.append(str(ran.waiting))
        return ran

    bench.see("pay", ("pay", {"amount": "500", "to": "ann"}), then=then)
    return "'amount': 500" in shown[0]


@behaviour(APPROVAL, "the model receives a denial with its reason")
def denied(bench: Bench) -> bool:
    seen = paid(bench, "ann was paid yesterday")
    return seen.effects == [] and answered(seen, "ann was paid yesterday")


@behaviour(APPROVAL, "the approver can edit the arguments")
def edited(bench: Bench) -> bool:
    return paid(bench, {"amount": 50, "to": "ann"}).effects == [["pay", 50, "ann"]]


@behaviour(APPROVAL, "of two waiting calls, one can be approved and one denied")
def each_decided(bench: Bench) -> bool:
    def then(given: Any, fake: Any, ran: Any) -> Any:
        assert not bench.effects(), "it ran before anybody was asked"
        return bench.framework.resume(given, ran.waiting, [True, "bob was paid yesterday"])

    seen = bench.see("pay", ("pay", LARGE), ("pay", {"amount": 900, "to": "bob"}), then=then)
    return seen.effects == [["pay", 500, "ann"]] and "bob was paid yesterday" in text_of(
        seen.answers
    )


@behaviour(APPROVAL, "the waiting run can be stored and resumed in another process")
def resumed_elsewhere(bench: Bench) -> bool:
    return paid(bench, True, elsewhere=True).effects == [["pay", 500, "ann"]]


@behaviour(APPROVAL, "a call that is approved twice pays once")
def double_click(bench: Bench) -> bool:
    return paid(bench, True, again=True).effects == [["pay", 500, "ann"]]


@behaviour(APPROVAL, "a call that is edited and approved twice pays once")
def double_click_of_edit(bench: Bench) -> bool:
    return paid(bench, {"amount": 50, "to": "ann"}, again=True).effects == [["pay", 50, "ann"]]
