"""Draws types whose authors validate: models with validators of every mode, nested, in unions, recursive and generic.

A drawn type is JSON data, so that a kept case means the same later. ``build`` makes the Python type of it; each of its
validators notes that it ran, and on which value, in ``RAN``.
"""

import dataclasses
import datetime
from collections.abc import Callable
from random import Random
from typing import Annotated, Any, Generic, Literal, Optional, TypeVar, Union

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    OnErrorOmit,
    PlainValidator,
    RootModel,
    TypeAdapter,
    ValidationError,
    WrapValidator,
    create_model,
    field_validator,
    model_validator,
)
from pydantic_core import SchemaValidator
from typing_extensions import TypedDict

Drawn = dict[str, Any]
Case = dict[str, Any]
RAN: list[tuple[str, str]] = []
"""The validators that ran: the mode and the value that each was given, written as ``repr``."""
WRONG_TYPES: list[str] = []
"""The values that an after validator was given although they are not of its type."""

# No choice is equal to a boolean, and no text is a number: there, pydantic takes one for the other even where it is strict,
# and the canonical schema does not.
SCALARS: dict[str, tuple[Any, Callable[[Random], Any]]] = {
    "int": (int, lambda random: random.choice([0, 1, 5, -3, 12345])),
    "float": (float, lambda random: random.choice([0.5, 2.25, -1.5])),
    "str": (str, lambda random: random.choice(["", "a", "bad", " b ", "x5", "1,234"])),
    "bool": (bool, lambda random: random.choice([True, False])),
    "date": (datetime.date, lambda _: "2024-01-01"),
    "datetime": (datetime.datetime, lambda _: "2024-01-01T10:00:00"),
    "choice": (Literal["a", "b"], lambda random: random.choice(["a", "b"])),
    "number": (Literal[7, 8], lambda random: random.choice([7, 8])),
    "none": (type(None), lambda _: None),
}
PLAIN_TYPES = {"int": int, "float": float, "str": str, "bool": bool, "date": datetime.date}
MODES = ("before", "after", "wrap", "plain")
HOWS = {
    "before": ("keep", "strip", "comma", "raise"),
    "after": ("keep", "raise", "same"),
    "wrap": ("keep", "fallback", "raise"),
    "plain": ("keep", "text"),
}
WHOLE = ("before", "after", "wrap")


def draw_type(random: Random, depth: int = 3, in_union: bool = False) -> Drawn:
    """Return a drawn type."""
    if depth == 0 or random.random() < 0.25:
        kind = {"kind": random.choice([name for name in SCALARS if name != "none"])}
        return _with_code(random, kind, 0.35)
    name = random.choice(
        ["list", "dict", "tuple", "optional", "model", "model", "model", "dataclass", "typed", "root", "generic", "tree",
         *([] if in_union else ["union", "tagged"])]
    )  # fmt: skip
    inner = lambda: draw_type(random, depth - 1, in_union=in_union or name == "union")  # noqa: E731 - drawn each time
    drawn: Drawn = {"kind": name}
    if name in ("list", "dict", "optional", "root", "generic"):
        drawn["inner"] = inner()
        drawn["omits"] = name == "list" and random.random() < 0.25
    elif name in ("tuple", "union"):
        drawn["inner"] = [inner(), inner()]
    else:
        count = 2 if name == "tagged" else 1
        drawn["models"] = [_draw_fields(random, inner, name) for _ in range(count)]
    return _with_code(random, drawn, 0.2)


def _draw_fields(random: Random, inner: Callable[[], Drawn], kind: str) -> Drawn:
    fields = {name: inner() for name in random.sample(["a", "b", "c"], random.randint(1, 3))}
    model: Drawn = {"fields": fields}
    if kind in ("model", "tagged", "tree"):
        model["strict"] = random.random() < 0.1
        model["whole"] = {
            mode: random.choice(["keep", "raise"]) for mode in WHOLE if random.random() < 0.15
        }
        model["looks"] = random.random() < 0.2 and len(fields) > 1
        model["of_fields"] = {
            name: random.choice(["before", "after"]) for name in fields if random.random() < 0.15
        }
    return model


def _with_code(random: Random, drawn: Drawn, share: float) -> Drawn:
    if random.random() >= share:
        return drawn
    mode = random.choice(MODES)
    return {"kind": "code", "mode": mode, "how": random.choice(HOWS[mode]), "inner": drawn}


# --- the Python type --------------------------------------------------------------------------------------------------


def build(drawn: Drawn) -> Any:
    """Return the Python type of a drawn type."""
    kind = drawn["kind"]
    if kind in SCALARS:
        return SCALARS[kind][0]
    if kind == "code":
        inner = drawn["inner"]
        return Annotated[build(inner), _code(drawn["mode"], drawn["how"], inner["kind"])]
    if kind == "list":
        return list[OnErrorOmit[build(drawn["inner"])] if drawn["omits"] else build(drawn["inner"])]  # type: ignore[misc]
    if kind == "dict":
        return dict[str, build(drawn["inner"])]  # type: ignore[misc]
    if kind == "optional":
        return Optional[build(drawn["inner"])]
    if kind == "tuple":
        return tuple[build(drawn["inner"][0]), build(drawn["inner"][1])]  # type: ignore[misc]
    if kind == "union":
        return Union[build(drawn["inner"][0]), build(drawn["inner"][1])]
    if kind == "root":
        return RootModel[build(drawn["inner"])]  # type: ignore[misc]
    if kind == "generic":
        return _Box[build(drawn["inner"])]  # type: ignore[misc]
    return _build_classes(kind, drawn["models"])


_Held = TypeVar("_Held")


class _Box(BaseModel, Generic[_Held]):
    held: _Held


def _build_classes(kind: str, models: list[Drawn]) -> Any:
    fields = {name: build(inner) for name, inner in models[0]["fields"].items()}
    if kind == "dataclass":
        return dataclasses.make_dataclass("Row", list(fields.items()))
    if kind == "typed":
        return TypedDict("Keys", fields)  # type: ignore[operator]
    if kind == "model":
        return _model("Model", models[0])
    if kind == "tree":
        model = _model("Tree", models[0], kids=(list["Tree"], []))
        model.model_rebuild(_types_namespace={"Tree": model})
        return model
    first, second = (
        _model(name, model, kind=(Literal[name.lower()], ...))  # type: ignore[misc]
        for name, model in zip(("One", "Two"), models, strict=True)
    )
    return Annotated[Union[first, second], Field(discriminator="kind")]


def _model(name: str, drawn: Drawn, **more: Any) -> Any:
    fields = {field: (build(inner), ...) for field, inner in drawn["fields"].items()}
    validators: dict[str, Any] = {}
    for mode, how in drawn["whole"].items():
        validators[f"whole_{mode}"] = _whole(mode, how)
    for field, mode in drawn["of_fields"].items():
        noted = classmethod(lambda _, value, mode=mode: _noted(f"field {mode}", value))  # type: ignore[misc]
        validators[f"of_{field}"] = field_validator(field, mode=mode)(noted)
    if drawn["looks"]:
        first, *_, last = fields
        validators["looks"] = field_validator(last)(classmethod(_looks_at(first)))
    config = ConfigDict(strict=True) if drawn["strict"] else ConfigDict()
    base = type("Base", (BaseModel,), {"model_config": config, "__module__": __name__})
    return create_model(name, __base__=base, __validators__=validators, **fields, **more)


def _looks_at(first: str) -> Callable[[Any, Any, Any], Any]:
    def looks(_: Any, value: Any, info: Any) -> Any:
        RAN.append(("look", repr(value)))
        info.data[first]  # an author who does not expect that the field before failed
        return value

    return looks


def _whole(mode: str, how: str) -> Any:
    if mode == "wrap":

        def wrap(_: Any, value: Any, handler: Any) -> Any:
            return handler(_noted("whole wrap", value))

        return model_validator(mode="wrap")(classmethod(wrap))
    if mode == "before":

        def before(_: Any, value: Any) -> Any:
            if how == "raise" and isinstance(value, dict) and len(value) > 2:
                raise ValueError("more than two")
            return _noted("whole before", value)

        return model_validator(mode="before")(classmethod(before))

    def after(self: Any) -> Any:
        RAN.append(("whole after", type(self).__name__))
        return self

    return model_validator(mode="after")(after)


def _noted(what: str, value: Any) -> Any:
    RAN.append((what, repr(value)))
    return value


def _code(mode: str, how: str, kind: str) -> Any:
    if mode == "wrap":
        return WrapValidator(_wrap(how))
    if mode == "plain":
        return PlainValidator(lambda value: _noted("plain", str(value) if how == "text" else value))

    def change(value: Any) -> Any:
        _noted(mode, value)
        if mode == "after" and kind in PLAIN_TYPES and type(value) is not PLAIN_TYPES[kind]:
            WRONG_TYPES.append(f"{value!r} is no {kind}")
        if how == "raise" and value in ("bad", -3):
            raise ValueError("it is bad")
        if how == "strip" and isinstance(value, str):
            return value.strip()
        if how == "comma" and isinstance(value, str):
            return value.replace(",", "")
        return value

    return BeforeValidator(change) if mode == "before" else AfterValidator(change)


def _wrap(how: str) -> Callable[[Any, Any], Any]:
    def wrap(value: Any, handler: Any) -> Any:
        _noted("wrap", value)
        if how == "raise" and value == "bad":
            raise ValueError("it is bad")
        if how != "fallback":
            return handler(value)
        try:
            return handler(value)
        except ValidationError:
            return None

    return wrap


# --- values -----------------------------------------------------------------------------------------------------------


def draw_value(random: Random, drawn: Drawn, depth: int = 4) -> Any:  # noqa: C901 - one line a kind
    """Return a JSON value of a drawn type."""
    kind = drawn["kind"]
    if kind in SCALARS:
        return SCALARS[kind][1](random)
    inner = drawn.get("inner")
    if kind in ("code", "root"):
        return draw_value(random, inner, depth)
    if kind == "list":
        return [draw_value(random, inner, depth - 1) for _ in range(random.randint(0, 2))]
    if kind == "dict":
        return {name: draw_value(random, inner, depth - 1) for name in random.sample("xyz", random.randint(0, 2))}  # fmt: skip
    if kind == "optional":
        return None if random.random() < 0.3 else draw_value(random, inner, depth - 1)
    if kind == "tuple":
        return [draw_value(random, each, depth - 1) for each in inner]
    if kind == "union":
        return draw_value(random, random.choice(inner), depth - 1)
    if kind == "generic":
        return {"held": draw_value(random, inner, depth - 1)}
    number = random.randrange(len(drawn["models"]))
    value = {
        name: draw_value(random, each, depth - 1)
        for name, each in drawn["models"][number]["fields"].items()
    }
    if kind == "tagged":
        value["kind"] = ("one", "two")[number]
    if kind == "tree" and depth > 2 and random.random() < 0.4:
        value["kids"] = [draw_value(random, drawn, 2)]
    return value


def slips(random: Random, value: Any) -> list[Any]:
    """Return copies of a value, each with one place written wrongly, as models do."""
    places = list(_places(value, ()))
    chosen = random.sample(places, min(len(places), 3))
    made = [_put(value, at, wrong) for at, found in chosen for wrong in _wrong_forms(found)]
    return random.sample(made, min(len(made), 3))


def _places(value: Any, at: tuple[Any, ...]) -> Any:
    yield at, value
    steps = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()  # fmt: skip
    for step, item in steps:
        yield from _places(item, (*at, step))


def _wrong_forms(found: Any) -> list[Any]:
    if isinstance(found, bool):
        return [str(found).lower(), int(found)]
    if isinstance(found, int):
        return [str(found), float(found), f"0{found}", found == 1, [found]]
    if isinstance(found, float):
        return [str(found), None]
    if isinstance(found, str):
        return [5, found.upper(), None, {"a": found}]
    if isinstance(found, dict):
        return [{**found, "stray": 1}, dict(list(found.items())[1:]), []]
    return [{}, "x"] if isinstance(found, list) else [0]


def _put(value: Any, at: tuple[Any, ...], new: Any) -> Any:
    if not at:
        return new
    step, *rest = at
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[step] = _put(value[step], tuple(rest), new)
    return copy


def modes_in(drawn: Any) -> set[str]:
    """Return the modes of the validators that a drawn type holds."""
    if isinstance(drawn, list):
        return set().union(*map(modes_in, drawn))
    if not isinstance(drawn, dict):
        return set()
    own = {drawn["mode"]} if drawn.get("kind") == "code" else set()
    own |= {"omit"} if drawn.get("omits") else set()
    own |= {f"whole {mode}" for mode in drawn.get("whole", ())}
    return own.union(
        *(modes_in(value) for value in drawn.values() if isinstance(value, (dict, list)))
    )


def by_pydantic(annotation: Any) -> SchemaValidator:
    """Return pydantic's own validator of a type.

    It is compiled anew: where pydantic reuses the validator of a nested model, an after validator of the whole model runs
    twice (2.14.4).
    """
    untyped: Any = SchemaValidator
    return untyped(TypeAdapter(annotation).core_schema, _use_prebuilt=False)  # type: ignore[no-any-return]
