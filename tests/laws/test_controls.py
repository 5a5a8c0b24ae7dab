"""The laws of controls: effects in order, one answer each, and what was paused runs as it would have run."""

import asyncio
import json
import os
import random
import threading
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from histories import DEFAULTS
from hypothesis import given, settings, strategies as st
from responses import outcomes, response
from zoo import CASES

from toolshape import Deny, Registry, TokenError, UsageError, tool
from toolshape._records.identity import canonical_json
from toolshape._tools.options import parse_options
from toolshape._tools.tool import make_tool

FEW = bool(os.environ.get("TOOLSHAPE_EXAMPLES"))
LAW = settings(max_examples=20 if FEW else 100, database=None, deadline=None, derandomize=True)
KEY = b"a key of thirty-two bytes, secret"
LIMIT = 8


class Watched:
    """Tools of every effect, sync and async, that note when they begin and end."""

    def __init__(self):
        self.events, self.lock = [], threading.Lock()
        effects = {"read": ["read"], "write": ["write"], "destroy": ["destructive"], "plain": ()}
        made = [
            make(kind, effect)
            for kind, effect in effects.items()
            for make in (self.here, self.loop)
        ]
        self.tools = Registry(made)
        self.names = [item.name for item in made]

    def note(self, what, n):
        with self.lock:
            self.events.append((what, n))

    def here(self, kind, effects):
        @tool(name=f"{kind}_here", effects=effects)
        def made(n: int) -> int:
            """Do."""
            self.note("begin", n)
            self.note("end", n)
            return n

        return made

    def loop(self, kind, effects):
        @tool(name=f"{kind}_loop", effects=effects)
        async def made(n: int) -> int:
            """Do."""
            self.note("begin", n)
            await asyncio.sleep(0)
            self.note("end", n)
            return n

        return made

    def check(self, names, ran, most=None):
        """Those that write ran alone, after what ran before them in call order; never more than so many ran at once."""
        running, begun = set(), []
        for what, n in self.events:
            if what == "begin":
                running.add(n)
                begun.append(n)
                writes = names[n].startswith(("write", "destroy"))
                assert not writes or running == {n}
                assert all(names[other].startswith(("read", "plain")) for other in running - {n})
            else:
                running.remove(n)
            assert most is None or len(running) <= most
        assert sorted(begun) == sorted(ran)
        place = {n: position for position, n in enumerate(begun)}
        last = -1
        for n in sorted(ran):
            if names[n].startswith(("write", "destroy")):
                assert all(place[other] < place[n] for other in ran if other < n)
                assert all(place[other] > place[n] for other in ran if other > n)
                last = n
        return last


KINDS = [
    f"{kind}_{way}" for kind in ("read", "write", "destroy", "plain") for way in ("here", "loop")
]


@LAW
@given(
    st.lists(st.sampled_from(KINDS), max_size=12),
    st.sampled_from(["run", "arun"]),
    st.sampled_from([None, 1, 2, 8]),
    st.booleans(),
)
def test_effects_keep_their_order(names, how, limit, is_hooked):
    watched = Watched()

    class Hook:
        def __call__(self, _, proceed):
            return proceed()

        async def acall(self, _, proceed):
            return await proceed()

    if is_hooked:
        watched.tools.around(Hook())
    body = response(*[(name, {"n": n}) for n, name in enumerate(names)])
    if how == "run":
        results = watched.tools.dispatch(body, provider="openai", limit=limit)
    else:
        results = asyncio.run(watched.tools.adispatch(body, provider="openai", limit=limit))
    assert outcomes(results) == list(range(len(names)))
    watched.check(names, range(len(names)), limit)


def test_ten_thousand_calls():
    """Of mixed effects and with ``limit=8``: never more than 8, effects in order, results in order."""
    watched, chance = Watched(), random.Random(10)
    names = [
        chance.choice(
            ["read_loop"] * 20
            + ["read_here", "plain_loop", "plain_here", "write_loop", "write_here", "destroy_loop"]
        )
        for _ in range(10_000)
    ]
    body = response(*[(name, {"n": n}) for n, name in enumerate(names)])
    results = asyncio.run(watched.tools.adispatch(body, provider="openai", limit=LIMIT))
    assert outcomes(results) == list(range(10_000))
    assert [message["tool_call_id"] for message in results.messages] == [
        f"call_{n}" for n in range(10_000)
    ]
    _check_large(watched, names)


def _check_large(watched, names):
    """The same as ``check``, in one pass."""
    running, most, done = set(), 0, 0
    ended = [False] * len(names)
    for what, n in watched.events:
        if what == "begin":
            assert not any(names[other].startswith(("write", "destroy")) for other in running)
            if names[n].startswith(("write", "destroy")):
                assert not running
                assert all(ended[done:n])
                assert not any(ended[n:])
                done = n
            running.add(n)
            most = max(most, len(running))
        else:
            running.remove(n)
            ended[n] = True
    assert all(ended)
    assert 2 <= most <= LIMIT


@LAW
@given(
    st.lists(st.sampled_from(KINDS), min_size=1, max_size=8),
    st.integers(0, 30),
    st.sampled_from([None, 1, 3]),
)
def test_cancelled_at_any_point_each_call_has_one_answer(names, steps, limit):
    """What had not begun can be run afterwards, and nothing runs twice."""
    watched = Watched()

    async def main():
        plan = watched.tools.plan(
            response(*[(name, {"n": n}) for n, name in enumerate(names)]), provider="openai"
        )
        task = asyncio.ensure_future(plan.arun(limit=limit))
        for _ in range(steps):
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait({task})
        first = outcomes(plan.results)
        assert len(first) == len(plan.results.messages) == len(names)
        assert all(item in (n, "cancelled", "not_run") for n, item in enumerate(first))
        await plan.arun(limit=limit)
        second = outcomes(plan.results)
        assert second == [n if item == "not_run" else item for n, item in enumerate(first)]

    asyncio.run(main())
    begins = [n for what, n in watched.events if what == "begin"]
    assert len(begins) == len(set(begins))


@LAW
@given(
    st.lists(
        st.tuples(st.sampled_from(KINDS), st.sampled_from(["approve", "deny", "edit", "wait"])),
        max_size=8,
    ),
    st.booleans(),
)
def test_what_runs_is_what_was_approved(calls, is_paused):
    """Whatever is decided of the others, here or after a pause."""
    watched = Watched()
    asking = Registry(
        [make_tool(tool, parse_options({"approve": True}), None) for tool in watched.tools]
    )
    bound = asking.bind("openai")
    plan = bound.plan(response(*[(name, {"n": n}) for n, (name, _) in enumerate(calls)]))
    decisions = {}
    for n, (_, decision) in enumerate(calls):
        if decision == "edit":
            plan.edit(f"call_{n}", {"n": n + 100})
        if decision != "wait":
            decisions[f"call_{n}"] = decision != "deny" or Deny("no")
    if is_paused and calls:
        token = plan.pause(KEY, audience="a", expires=timedelta(minutes=1))
        results = asking.resume(token, KEY, decisions, audience="a")
    else:
        for call_id, decision in decisions.items():
            plan.approve(call_id) if decision is True else plan.deny(call_id, decision.text)
        results = plan.run()
    said = {"deny": "denied", "wait": "pending"}
    assert outcomes(results) == [
        said.get(what, n + 100 * (what == "edit")) for n, (_, what) in enumerate(calls)
    ]
    assert sorted(n for what, n in watched.events if what == "begin") == sorted(
        outcome for outcome in outcomes(results) if isinstance(outcome, int)
    )


SECRET = "a token never contains"


@pytest.mark.parametrize("provider", DEFAULTS)
def test_what_was_paused_runs_as_it_would_have_run(provider):
    """Every function of the zoo, at every provider, lenient and strict, in the words of that provider's wire."""
    seen, not_held = 0, set()
    for name, case in CASES.items():
        made = make_tool(case.function, parse_options({"approve": True}), None)
        for strict in (False, "auto"):
            tools = Registry([made], strict=strict)
            bound = tools.bind(provider)
            spoken = bound.calls_as_messages([(made.name, case.arguments)])
            spoken = spoken if len(spoken) > 1 or bound.provider.histories.is_items else spoken[0]
            plan = bound.plan(spoken)
            if not plan.pending:  # what the zoo has of it is taken after a coercion alone
                continue
            plan.approve(plan.pending)
            [direct] = plan.run()
            plan = bound.plan(spoken)
            try:
                token = plan.pause(KEY, audience="a", expires=timedelta(minutes=1))
            except UsageError as error:
                if SECRET not in str(error):
                    not_held.add(name)
                continue
            [result] = Registry([made], strict=strict).resume(
                token, KEY, {plan.calls[0].id: True}, audience="a"
            )
            assert (result.ok, json.dumps(result.arguments)) == (
                direct.ok,
                json.dumps(direct.arguments),
            ), (
                name,
                strict,
            )
            assert result.text == direct.text or not result.ok, (name, strict)
            seen += 1
    assert seen > 100
    assert not not_held


@tool(name="pay", approve=True)
def pays(amount: Decimal, to: str = "bob") -> str:
    """Pay."""
    raise AssertionError("nothing that was altered runs")


PAYING = Registry([pays])


def paying(amount, to):
    plan = PAYING.bind("openai").plan(
        response(("pay", {"amount": amount, "to": to}), ("nope", {}), ("pay", {"amount": 7}))
    )
    return plan.pause(KEY, audience="ann", expires=timedelta(hours=1))


OTHER = paying("9999.00", "mallory")


def altered(token, chance):
    """A token with something in it changed: a character, a member, a value, or a part of another's."""
    how = chance.randrange(6)
    at = chance.randrange(len(token))
    if how == 0:
        return token[:at] + chance.choice('0a"{ ,\u00e9') + token[at + 1 :]
    if how == 1:
        return token[:at] + token[at + 1 :]
    if how == 2:
        return token[:at] + chance.choice('1b"} ') + token[at:]
    content = json.loads(token)
    holder: Any = content
    for _ in range(chance.randrange(4)):
        inner = [
            item
            for item in (holder.values() if isinstance(holder, dict) else holder)
            if isinstance(item, (dict, list)) and item
        ]
        holder = chance.choice(inner) if inner else holder
    key = chance.choice(list(holder) if isinstance(holder, dict) else range(len(holder)))
    if how == 3:
        del holder[key]
    elif how == 4:
        holder[key] = chance.choice(
            [None, True, 0, -1, 10**12, "", "ann", "pending", "approved", [], {}, 1.5]
        )
    else:
        other = json.loads(OTHER)
        other = other.get(key, "x") if isinstance(holder, dict) else holder[::-1]
        holder[key] = other
    return canonical_json(content)


def test_no_altered_token_is_accepted():
    """10,000 of them, parts swapped with those of another valid token among them."""
    token, chance = paying("5.10", "bob"), random.Random(20)
    rules = set()
    for _ in range(10_000):
        changed = altered(token, chance)
        if changed in (token, OTHER):
            continue
        with pytest.raises(TokenError) as caught:
            PAYING.resume(
                changed, KEY, {"call_0": True}, audience=chance.choice(["ann", "mallory"])
            )
        rules.add(caught.value.rule)
    assert rules == {"malformed", "signature"}
    assert len(PAYING.resume(token, KEY, audience="ann")) == 3
