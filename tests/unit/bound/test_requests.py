"""Requests for a set of tools: choices in each provider's form, limits, the budget of strict tools, extra keys."""

import dataclasses
import itertools
import json

import pytest
from pydantic import BaseModel, Field, create_model
from rows import ROWS

from toolshape import DefinitionError, ExportError, Registry, UsageError, tool
from toolshape._families import get
from toolshape._families.names import available
from toolshape._families.wire.provider import Budget, NameRule
from toolshape._tools.strict_budget import Candidate, find_relaxed

A, B, C = (tool(name=name)(lambda x: x) for name in "abc")
THREE = Registry([A, B, C])


def said(provider, **asked):
    """The request without its tools, and the names of these."""
    request = THREE.request(
        provider, strict=False if get(provider).schema.strict is not None else None, **asked
    )
    inner = request.pop("config", None) or request.pop("toolConfig", None) or request
    tools = json.dumps(inner.pop("tools", []))
    return inner, "".join(name for name in "abc" if f'"name": "{name}"' in tools)


def named(name):
    return {"type": "function", "function": {"name": name}}


# What each provider calls: auto, none, required, one tool, some tools. None: it cannot be said.
OPENAI = ("auto", "none", "required", named("b"))
ALLOWED = {
    "type": "allowed_tools",
    "allowed_tools": {"mode": "required", "tools": [named("a"), named("c")]},
}
GEMINI = [{"functionCallingConfig": {"mode": mode}} for mode in ("AUTO", "NONE", "ANY")]
CHOICES = {
    **dict.fromkeys(
        ("openai", "azure"), [({"tool_choice": word}, "abc") for word in (*OPENAI, ALLOWED)]
    ),
    **dict.fromkeys(
        (
            "mistral",
            "deepseek",
            "groq",
            "xai",
            "openrouter",
            "together",
            "fireworks",
            "cerebras",
            "vllm",
            "llama-cpp",
        ),
        [*(({"tool_choice": word}, "abc") for word in OPENAI), ({"tool_choice": "required"}, "ac")],
    ),
    "openai-responses": [
        ({"tool_choice": "auto"}, "abc"),
        ({"tool_choice": "none"}, "abc"),
        ({"tool_choice": "required"}, "abc"),
        ({"tool_choice": {"type": "function", "name": "b"}}, "abc"),
        (
            {
                "tool_choice": {
                    "type": "allowed_tools",
                    "mode": "required",
                    "tools": [{"type": "function", "name": "a"}, {"type": "function", "name": "c"}],
                }
            },
            "abc",
        ),
    ],
    "anthropic": [
        ({"tool_choice": {"type": "auto"}}, "abc"),
        ({"tool_choice": {"type": "none"}}, "abc"),
        ({"tool_choice": {"type": "any"}}, "abc"),
        ({"tool_choice": {"type": "tool", "name": "b"}}, "abc"),
        ({"tool_choice": {"type": "any"}}, "ac"),
    ],
    **dict.fromkeys(
        ("gemini", "gemini-openapi", "vertex"),
        [
            *(({"toolConfig": word}, "abc") for word in GEMINI),
            (
                {
                    "toolConfig": {
                        "functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["b"]}
                    }
                },
                "abc",
            ),
            (
                {
                    "toolConfig": {
                        "functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["a", "c"]}
                    }
                },
                "abc",
            ),
        ],
    ),
    "gemini-interactions": [
        ({"generation_config": {"tool_choice": "auto"}}, "abc"),
        ({"generation_config": {"tool_choice": "none"}}, "abc"),
        ({"generation_config": {"tool_choice": "any"}}, "abc"),
        (
            {
                "generation_config": {
                    "tool_choice": {"allowed_tools": {"mode": "any", "tools": ["b"]}}
                }
            },
            "abc",
        ),
        (
            {
                "generation_config": {
                    "tool_choice": {"allowed_tools": {"mode": "any", "tools": ["a", "c"]}}
                }
            },
            "abc",
        ),
    ],
    "bedrock": [
        ({"toolChoice": {"auto": {}}}, "abc"),
        None,
        ({"toolChoice": {"any": {}}}, "abc"),
        ({"toolChoice": {"tool": {"name": "b"}}}, "abc"),
        ({"toolChoice": {"any": {}}}, "ac"),
    ],
    "cohere": [
        ({}, "abc"),
        ({"tool_choice": "NONE"}, "abc"),
        ({"tool_choice": "REQUIRED"}, "abc"),
        ({"tool_choice": "REQUIRED"}, "b"),
        ({"tool_choice": "REQUIRED"}, "ac"),
    ],
    "lm-studio": [
        *(({"tool_choice": word}, "abc") for word in ("auto", "none", "required")),
        ({"tool_choice": "required"}, "b"),
        ({"tool_choice": "required"}, "ac"),
    ],
    "ollama": [({}, "abc"), ({}, ""), None, None, None],
    "huggingface": [({}, "abc"), ({}, ""), None, None, None],
    "mcp": [({}, "abc"), None, None, None, None],
    "gemini-live": [({}, "abc"), None, None, None, None],
    "openai-realtime": [
        *(
            ({"type": "realtime", "tool_choice": word}, "abc")
            for word in ("auto", "none", "required")
        ),
        ({"type": "realtime", "tool_choice": {"type": "function", "name": "b"}}, "abc"),
        ({"type": "realtime", "tool_choice": "required"}, "ac"),
    ],
    "json-schema": [({}, "abc"), None, None, None, None],
    "xai:grpc": [
        ({"tool_choice": {"mode": "TOOL_MODE_AUTO"}}, "abc"),
        ({"tool_choice": {"mode": "TOOL_MODE_NONE"}}, "abc"),
        ({"tool_choice": {"mode": "TOOL_MODE_REQUIRED"}}, "abc"),
        ({"tool_choice": {"function_name": "b"}}, "abc"),
        ({"tool_choice": {"mode": "TOOL_MODE_REQUIRED"}}, "ac"),
    ],
}


def choices_of(provider):
    """The words of a provider; of a vendor that has none here, those of another whose requests are written alike."""
    keywords = get(provider).request.keywords
    return CHOICES.get(provider) or next(
        words for name, words in CHOICES.items() if get(name).request.keywords is keywords
    )


ASKED = ("auto", "none", "required", "b", ["c", "a"])


@pytest.mark.parametrize("provider", [row.provider for row in ROWS])
def test_every_choice_in_its_words(provider):
    """Or an error that says what to do."""
    for asked, expected in zip(ASKED, choices_of(provider), strict=True):
        if expected is not None:
            assert said(provider, choice=asked) == expected
            continue
        with pytest.raises(ExportError) as raised:
            said(provider, choice=asked)
        [problem] = raised.value.problems
        assert (raised.value.provider, problem.path, problem.rule) == (provider, "choice", "choice")
        assert ":" in problem.message


# The switch for parallel calls; None where there is none and False is an error.
PARALLEL = {
    **dict.fromkeys(
        ("gemini", "gemini-openapi", "vertex", "gemini-interactions", "bedrock", "cohere", "ollama")
    ),
    **dict.fromkeys(("huggingface", "mcp", "json-schema", "gemini-live")),
    "openai-realtime": {"type": "realtime", "parallel_tool_calls": False},
    "anthropic": {"tool_choice": {"type": "auto", "disable_parallel_tool_use": True}},
}


@pytest.mark.parametrize("provider", [row.provider for row in ROWS])
def test_parallel(provider):
    """Each in its words."""
    expected = PARALLEL.get(provider, {"parallel_tool_calls": False})
    if expected is not None:
        assert said(provider, parallel=False)[0] == expected
        return
    with pytest.raises(ExportError, match=r"parallel|choice"):
        said(provider, parallel=False)
    assert said(provider, parallel=True)[1] == "abc"


def test_models_that_cannot_be_forced():
    """Where the model is named, what it refuses is refused here."""
    for provider, model, choice in (
        ("anthropic", "claude-opus-5-5", "required"),
        ("anthropic", "claude-sonnet-5-5", "required"),
        ("anthropic", "claude-fable-5-1", "a"),
        ("anthropic", "claude-fable-5.2", "a"),
        ("anthropic", "claude-mythos-5-2", "a"),
        ("anthropic", "claude-mythos-preview", "a"),
        ("bedrock", "us.anthropic.claude-opus-5-5-v1:0", ["a", "b"]),
        ("bedrock", "mistral.mistral-large", "a"),
    ):
        with pytest.raises(ExportError, match="cannot be"):
            THREE.request(provider, choice=choice, model=model)
        assert THREE.request(provider, choice="auto", model=model)
    for model in (
        "claude-sonnet-4-6",
        "claude-opus-5",
        "claude-fable-5",
        "claude-mythos-5-20260609",
        "claude-haiku-5-5",
    ):
        assert THREE.request("anthropic", choice="required", model=model)
    assert THREE.request("bedrock", choice="required", model="mistral.mistral-large")


def test_a_choice_of_what_is_not_there():
    """Unknown names, none at all, and a tool that is called like a mode."""
    for asked in ("d", ["a", "d"]):
        with pytest.raises(ExportError, match="there is no tool 'd'"):
            THREE.request("openai", choice=asked)
    with pytest.raises(ExportError, match="has no names"):
        THREE.request("openai", choice=[])
    with pytest.raises(ExportError, match="a mode, a name or a list of names"):
        THREE.request("openai", choice=5)
    assert THREE.request("cohere", choice=(name for name in "a"))["tool_choice"] == "REQUIRED"
    with pytest.raises(ExportError, match=r"has no names|no tool"):
        Registry().request("openai", choice="a")
    with pytest.raises(UsageError, match="strict must be True, False"):
        THREE.export("openai", strict=1)
    auto = Registry([tool(name="auto")(lambda x: x)])
    assert auto.request("openai", choice="auto")["tool_choice"] == "auto"
    assert auto.request("openai", choice=["auto"])["tool_choice"] == named("auto")


def test_strict_switches_of_the_request():
    """Where strict is a word of the request, it is said once some tool is."""

    @tool
    def f(x: int) -> None: ...

    registry = Registry([f])
    assert registry.request("cohere", strict=True)["strict_tools"] is True
    assert "strict_tools" not in registry.request("cohere", strict=False)
    assert registry.request("gemini-interactions", strict=True)["generation_config"] == {
        "tool_choice": "validated"
    }
    assert registry.request("azure", strict=True)["parallel_tool_calls"] is False
    with pytest.raises(ExportError, match="parallel strict calls"):
        registry.request("azure", strict=True, parallel=True)


def test_more_tools_than_a_request_holds():
    """They are bound, and called; but not sent. The error names them, and not their index."""
    registry = Registry(tool(name=f"t{number}")(lambda x: x) for number in range(130))
    with pytest.raises(
        ExportError, match=r"130 tools, but a request may hold at most 128: .* without t128, t129"
    ):
        registry.export("openai")
    with pytest.raises(ExportError, match="at most 128"):
        registry.request("openai")
    [result] = registry.dispatch({"choices": [{"message": {"tool_calls": [call("t129")]}}]})
    assert result.value == 1
    assert (
        len(registry.subset(names=[f"t{number}" for number in range(128)]).export("openai")) == 128
    )
    assert len(registry.export("anthropic", strict=False)) == 130
    assert len(registry.request("groq", choice=["t1", "t129"])["tools"]) == 2  # only these are sent
    with pytest.raises(ExportError, match="at most 128"):
        registry.request("openai", choice=["t1", "t129"])  # all are


def call(name):
    return {"id": "c", "type": "function", "function": {"name": name, "arguments": '{"x": 1}'}}


def test_descriptions_that_are_too_long_go_on_at_a_parameter():
    """Nothing is cut: what is over the limit is said at the first parameter, and the report says so."""
    sentences = " ".join(f"This is sentence {number}." for number in range(80))

    @tool(description=sentences)
    def f(x: int, y: int = 1) -> None:
        """F.

        Args:
            x: The first.
        """

    assert len(sentences) > 1024
    function = f.export("azure", strict=False)["function"]
    told = function["parameters"]["properties"]["x"]["description"]
    head = function["description"].removesuffix(" (More at x.)")
    assert len(function["description"]) <= 1024
    assert told.startswith("The first. (On the tool itself: This is sentence ")
    assert (
        " ".join([head, told.removeprefix("The first. (On the tool itself: ").removesuffix(")")])
        == sentences
    )
    report = Registry([f]).bind("azure", strict=False).report()
    assert [(entry.rule, entry.kind) for entry in report] == [("description", "moved")]
    assert f.export("openai")["function"]["description"] == sentences
    with pytest.raises(ExportError, match="no parameter can hold the rest"):
        tool(name="g", description=sentences)(lambda: 1).export("azure")


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        (
            {"x": {"type": "string", "enum": [f"{number}" for number in range(1001)]}},
            "1001 choices",
        ),
        (
            {"x": {"type": "string", "enum": [f"{number:0100}" for number in range(251)]}},
            "25100 characters in 251",
        ),
        ({"x" * 120_001: {"type": "string"}}, "120001 characters"),
    ],
)
def test_schemas_that_are_too_large(schema, said):
    """Counted as the provider counts; "auto" stays lenient."""
    from toolshape import Tool

    made = Tool.from_definition(
        {
            "name": "f",
            "parameters": {"type": "object", "properties": schema, "additionalProperties": False},
        }
    )
    with pytest.raises(ExportError, match=said):
        made.export("openai", strict=True)
    assert "strict" not in made.export("openai")["function"]


def test_nesting_that_is_too_deep():
    """Ten levels, and no more."""
    from toolshape import Tool

    def nested(levels):
        schema = {"type": "string"}
        for _ in range(levels):
            schema = {
                "type": "object",
                "properties": {"x": schema},
                "required": ["x"],
                "additionalProperties": False,
            }
        return Tool.from_definition({"name": "f", "parameters": schema})

    assert nested(10).export("openai", strict=True)
    with pytest.raises(ExportError, match="11 levels of nesting, at most 10"):
        nested(11).export("openai", strict=True)

    class Inner(BaseModel):
        x: int

    class Middle(BaseModel):
        x: Inner

    class Outer(BaseModel):
        x: Middle
        dotted: int = Field(alias="a.b.c.d.e.f.g.h.i.j.k.l")

    @tool
    def by_reference(x: Outer) -> None: ...

    assert by_reference.export("azure", strict=True)  # four levels, through definitions
    levels = create_model("Level0", x=(int, ...))
    for number in range(1, 12):
        levels = create_model(f"Level{number}", x=(levels, ...))

    def deep(x: levels) -> None: ...

    with pytest.raises(ExportError, match="13 levels of nesting"):
        tool(deep).export("openai", strict=True)


def optional(name, count, **options):
    """A tool with so many optional parameters."""
    from toolshape import Tool

    properties = {f"p{number}": {"type": "string"} for number in range(count)}
    schema = {"type": "object", "properties": properties, "additionalProperties": False}
    return Tool.from_definition({"name": name, "parameters": schema}, **options)


def strict_names(registry, provider="anthropic", **bound):
    return [entry["name"] for entry in registry.export(provider, **bound) if entry.get("strict")]


def test_the_budget_is_the_sets():
    """Twenty strict tools, 24 optional parameters: destructive ones first, then the cheapest, the rest said."""
    plain = [optional(f"t{number}", 0) for number in range(25)]
    assert strict_names(Registry(plain)) == [f"t{number}" for number in range(20)]
    destructive = [*plain, optional("wipe", 3, effects=["destructive"])]
    assert strict_names(Registry(destructive)) == [f"t{number}" for number in range(19)] + ["wipe"]
    costly = Registry([optional("dear", 20), *(optional(f"t{number}", 5) for number in range(4))])
    assert strict_names(costly) == ["t0", "t1", "t2", "t3"]
    entries = [entry for entry in costly.bind("anthropic").report() if entry.rule == "strict"]
    assert [(entry.tool, entry.severity) for entry in entries] == [("dear", "not_enforced")]
    with pytest.raises(ExportError, match=r"relax dear$") as raised:
        costly.export("anthropic", strict=True)
    assert "2026" in raised.value.problems[0].evidence
    kept = Registry(
        [optional("dear", 20, strict=True), *(optional(f"t{number}", 5) for number in range(4))]
    )
    assert strict_names(kept) == ["dear"]


def test_a_tool_that_is_added_changes_few_others():
    """One more tool takes the place of the dearest of its kind, at most."""
    tools = [optional(f"t{number}", number % 6) for number in range(24)]
    before = set(strict_names(Registry(tools)))
    assert set(strict_names(Registry(tools))) == before
    for cost in range(6):
        after = set(strict_names(Registry([*tools, optional("new", cost)])))
        assert len(before - after) <= 2
    assert (
        set(strict_names(Registry(reversed(tools)))) ^ before <= {"t2", "t8", "t14", "t20"} | before
    )


@pytest.mark.slow
def test_the_budget_wastes_nothing():
    """By trying all sets: what is relaxed does not fit beside what is kept."""
    budget = Budget(tools=3, optional=6, unions=2, evidence="made up")
    provider = get("anthropic")
    for costs in itertools.product(range(4), repeat=4):
        shown = [optional(f"t{index}", cost).input_schema for index, cost in enumerate(costs)]
        candidates = [
            Candidate(f"t{index}", schema, True, False, False) for index, schema in enumerate(shown)
        ]
        out = find_relaxed(provider, budget, candidates)
        kept = [cost for index, cost in enumerate(costs) if f"t{index}" not in out]
        assert len(kept) <= 3
        assert sum(kept) <= 6
        for index, cost in enumerate(costs):
            assert f"t{index}" not in out or len(kept) == 3 or sum(kept) + cost > 6
        fits = [
            len(chosen)
            for size in range(4)
            for chosen in itertools.combinations(costs, size)
            if sum(chosen) <= 6
        ]
        assert len(kept) == max(fits)


@pytest.mark.parametrize("provider", ["cohere", "deepseek"])
def test_strictness_that_is_shared(provider):
    """All tools or none; one that cannot be strict is named."""
    strict, lenient = optional("s", 0), optional("l", 0, strict=False)
    flag = "strict_tools" if provider == "cohere" else '"strict": true'
    assert flag in json.dumps(Registry([strict]).request(provider, strict=True))
    assert flag not in json.dumps(Registry([strict, lenient]).request(provider))
    with pytest.raises(
        ExportError, match=r"or none of them \(must be strict: s; not strict: l\): set strict=False"
    ):
        Registry([strict, lenient]).export(provider, strict=True)
    report = Registry([strict]).bind("deepseek", strict=True).report()
    assert any("api.deepseek.com/beta" in entry.note for entry in report)


def test_effects_are_hints():
    """The hints for MCP clients; an effect that is not given sets none."""

    def hints(*effects):
        return tool(name="f", effects=effects)(lambda: 1).export("mcp").get("annotations")

    assert hints() is None
    assert hints("read") == {"readOnlyHint": True}
    assert hints("write", "idempotent") == {
        "readOnlyHint": False,
        "destructiveHint": False,
        "idempotentHint": True,
    }
    assert hints("destructive", "closed_world") == {
        "readOnlyHint": False,
        "destructiveHint": True,
        "openWorldHint": False,
    }


def test_examples_are_shown_in_the_form_of_the_schema():
    """Rewritten by ``out``; where there is no place for them the report says so."""
    examples = [{"items": {"a": 1}}]

    @tool(examples=examples, strict=True)
    def f(items: dict[str, int], note: str | None = None) -> None: ...

    pairs = [{"items": [{"key": "a", "value": 1}]}]
    assert f.export("anthropic")["input_examples"] == pairs
    assert f.export("anthropic", strict=False)["input_examples"] == examples
    assert f.export("mcp", strict=False)["inputSchema"]["examples"] == examples
    assert "examples" not in json.dumps(f.export("openai"))
    assert [e.rule for e in Registry([f]).bind("openai").report() if e.kind == "dropped"] == [
        "examples"
    ]
    keyed = tool(strict=True, providers={"anthropic": {"input_examples": examples}})(f.function)
    assert keyed.export("anthropic")["input_examples"] == pairs
    with pytest.raises(DefinitionError, match=r"examples\[0\]\.items: expected object"):
        tool(examples=[{"items": 1}])(f.function)


def test_a_tool_that_is_refused_hides_nothing_of_the_set():
    """Both are reported: the description of one tool, and that the tools are too many."""
    from toolshape._bound.compatibility import check

    tools = [tool(name=f"t{number}")(lambda x: x) for number in range(130)]
    long = tool(name="long", description="x" * 2000)(lambda: 1)
    found = check(Registry([*tools, long]), "azure")
    assert [(item.tool, item.rule) for item in found] == [
        ("long", "description"),
        ("", "most_tools"),
    ]


def test_own_keys_go_along():
    """By provider and by option; what the function says cannot be said otherwise."""

    @tool(
        providers={
            "anthropic": {"cache_control": {"type": "ephemeral"}, "defer_loading": True},
            "anthropic:described": {"eager_input_streaming": True},
            "openai": {"function": {"description": "For OpenAI."}},
            "bedrock": {"cachePoint": {"type": "default"}},
            "mcp": {"icons": [{"src": "i"}], "_meta": {"a": 1}, "annotations": {"title": "F"}},
        },
        effects=["read"],
    )
    def f(x: int) -> None:
        """F."""

    assert f.export("anthropic")["defer_loading"] is True
    assert "eager_input_streaming" not in f.export("anthropic")
    assert f.export("anthropic:described")["eager_input_streaming"] is True
    assert f.export("openai")["function"]["description"] == "For OpenAI."
    assert [list(item) for item in Registry([f, A]).export("bedrock")] == [
        ["toolSpec"],
        ["cachePoint"],
        ["toolSpec"],
    ]
    mcp = f.export("mcp")
    assert (mcp["icons"], mcp["_meta"]) == ([{"src": "i"}], {"a": 1})
    assert mcp["annotations"] == {"readOnlyHint": True, "title": "F"}
    older = Registry([f]).bind("mcp:2025-06-18")
    assert "icons" not in older.export()[0]
    assert [(entry.rule, entry.kind) for entry in older.report() if entry.rule == "icons"] == [
        ("icons", "dropped")
    ]
    f.export("mcp")["_meta"]["a"] = 2
    assert f.export("mcp")["_meta"] == {"a": 1}
    for keys in ({"name": "g"}, {"input_schema": {"type": "object"}}):
        with pytest.raises(ExportError, match="generated from the function"):
            tool(providers={"anthropic": keys})(f.function).export("anthropic")
    with pytest.raises(ExportError, match="sets strict"):
        tool(strict=False, providers={"anthropic": {"strict": True}})(f.function).export(
            "anthropic"
        )


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            {"effects": ["destructiv"]},
            'unknown effect .destructiv.; the effects are .* .did you mean "destructive"',
        ),
        ({"effects": ["read", "write"]}, "leave one out"),
        ({"providers": {"antropic": {}}}, 'no provider .antropic. .did you mean "anthropic"'),
        ({"effects": ["open_world", "closed_world"]}, "leave one out"),
        ({"effects": None}, "must be a list of strings"),
        ({"tags": 5}, "must be a list of strings"),
        ({"examples": {"x": 1}}, "must be a list of JSON objects"),
        ({"examples": [{"x": object()}]}, "must be a list of JSON objects"),
        ({"providers": {"anthropic": None}}, "must map provider names to objects"),
        (
            {"providers": {"anthropic": {"input_examples": [{"bad": 1}]}}},
            "input_examples.0..bad: unknown field",
        ),
        ({"strict": "yes"}, "True, False"),
        ({"title": 5}, "must be a string"),
    ],
)
def test_options_that_cannot_be_meant(options, said):
    """Refused at decoration."""
    with pytest.raises(DefinitionError, match=said):
        tool(name="f", **options)(lambda: 1)


def test_every_provider_says_what_people_ask():
    """For the table in the documentation."""
    for name in available():
        provider = get(name)
        assert all(
            (
                provider.facts.arguments,
                provider.facts.malformed,
                provider.facts.declined,
                provider.facts.strict,
            )
        )
        assert (provider.schema.strict is None) is provider.facts.strict.startswith("none"), name
        for cited in (*provider.schema.refuses, *provider.schema.refuses_strict):
            assert cited.evidence


@pytest.mark.parametrize(
    "pattern", ["[a-z]+", "[a-z_]+", "[A-Z]+", "[0-9]+", "[a-zA-Z][a-zA-Z0-9_]*"]
)
def test_a_derived_name_keeps_the_rule_of_the_provider(pattern):
    """Whatever the rule is; where no derived name keeps it, that is an error."""
    rule = NameRule(pattern=pattern, longest=12, evidence="their handbook, 2026-01")
    vendor = dataclasses.replace(get("openai"), name="vendor", names=rule)
    names = [
        Registry([tool(name=name)(lambda a: a)]).export(vendor)[0]["function"]["name"]
        for name in ("find order", "é.1")
    ]
    assert all(map(rule.admits, names))
    assert len(set(names)) == 2
    never = dataclasses.replace(vendor, names=rule._replace(pattern="x"))
    with pytest.raises(ExportError, match="nor is any name derived from it: pass name="):
        Registry([tool(name="a b")(lambda a: a)]).export(never)
