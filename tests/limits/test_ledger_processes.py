"""Processes that are killed and stopped while they share a ledger, in SQLite and in PostgreSQL: no effect comes twice."""

import json
import os
import random
import signal
import time
import uuid
from pathlib import Path

import pytest
from databases import postgres  # noqa: F401 - a fixture
from ledger_workers import POINTS, STAGES, Fate, started, talk

from toolshape import UsageError
from toolshape.ledger import Ledger

AT_ONCE = 4 * len(POINTS)
TIMES = 8 if os.environ.get("TOOLSHAPE_EVERY") else 1
VALUES = ["paid 0", "mailed 1", "paid 2", "mailed 3"]


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request, tmp_path):
    return (
        f"sqlite:///{tmp_path / 'calls.db'}"
        if request.param == "sqlite"
        else request.getfixturevalue("postgres")
    )


def effects(path):
    lines = path.read_text().split("\n") if path.exists() else []
    return [[lines.count(f"{what} {n}") for n in range(4)] for what in ("begin", "end")]


def finished(process, path):
    process.join(60)
    assert process.exitcode == 0
    return json.loads(path.read_text())


def expected(point):
    """How the call at which a process was killed is answered after the restart, and how often its effect came."""
    return {
        "before claim": ("value", 1, 1),
        "after claim": ("unknown_outcome", 0, 0),
        "before effect": ("unknown_outcome", 0, 0),
        "during effect": ("unknown_outcome", 1, 0),
        "after effect": ("unknown_outcome", 1, 1),
        "before finish": ("unknown_outcome", 1, 1),
        "after finish": ("value", 1, 1),
    }[point]


@pytest.mark.parametrize("part", range(TIMES))
def test_killed_at_any_point_no_effect_comes_twice_and_none_is_lost_silently(url, tmp_path, part):
    """Each call is answered once after the restart: by what came of it, by running it, or by saying that nobody knows."""
    chance = random.Random(part)
    for turn in range(AT_ONCE):
        point, how = POINTS[turn % len(POINTS)], ("run", "arun")[turn // len(POINTS) % 2]
        number = chance.randrange(4)
        scope, path, answers = (
            uuid.uuid4().hex,
            tmp_path / f"effects-{turn}",
            tmp_path / f"answers-{turn}",
        )
        process = started(url, str(path), scope, how, Fate(point, number), str(answers))
        process.join(60)
        assert process.exitcode == -signal.SIGKILL
        assert not answers.exists()
        found, _ = finished(started(url, str(path), scope, how, Fate(), str(answers)), answers)
        begins, ends = effects(path)
        code, began, ended = expected(point)
        case = (turn, point, how, number, found, begins)
        assert len(found) == 4, case
        assert max(begins) <= 1, case
        assert found[number] == (VALUES[number] if code == "value" else code), case
        assert (begins[number], ends[number]) == (began, ended), case
        for other in set(range(4)) - {number}:
            # Others that ran at the same time may have been cut off by it.
            assert (found[other], begins[other]) == (VALUES[other], 1) or found[
                other
            ] == "unknown_outcome", case


@pytest.mark.parametrize("part", range(TIMES))
def test_killed_at_any_moment(url, tmp_path, part):
    """By somebody else, at a time that nobody chose."""
    chance = random.Random(-part)
    for turn in range(AT_ONCE // 4):
        scope, path, answers = (
            uuid.uuid4().hex,
            tmp_path / f"effects-{turn}",
            tmp_path / f"answers-{turn}",
        )
        process = started(
            url, str(path), scope, chance.choice(["run", "arun"]), Fate(), str(answers)
        )
        time.sleep(chance.random() * 0.12)
        process.kill()  # which does nothing to one that has ended
        process.join(60)
        answers.unlink(missing_ok=True)
        found, _ = finished(started(url, str(path), scope, "run", Fate(), str(answers)), answers)
        begins, _ = effects(path)
        assert max(begins) <= 1
        for n in range(4):
            assert found[n] == "unknown_outcome" or (found[n], begins[n]) == (VALUES[n], 1)


@pytest.mark.parametrize("part", range(TIMES * 2))
@pytest.mark.parametrize("how", ["here run", "here arun", "token run"])
def test_a_conversation_that_is_killed_at_any_step_answers_every_call_truthfully(
    url, tmp_path, how, part
):
    """Killed once or twice at a step that is drawn; what is restored under the ledger repeats nothing and forgets nothing."""
    chance = random.Random(f"{how} {part}")
    drawn = [
        *((point, number) for point in POINTS for number in range(3)),
        *((stage, at) for stage in STAGES for at in range(3)),
    ]
    for turn in range(len(drawn) // 2 if os.environ.get("TOOLSHAPE_EVERY") else 8):
        folder = tmp_path / f"turn-{turn}"
        folder.mkdir()
        path, answers = folder / "effects", folder / "answers"
        fates = [Fate(*chance.choice(drawn)) for _ in range(chance.choice([1, 1, 2]))]
        for fate in [*fates, Fate()]:
            process = started(url, str(path), str(folder), how, fate, str(answers), target=talk)
            process.join(60)
            assert process.exitcode in (0, -signal.SIGKILL), fate.point
        said = {call: (text, code) for call, text, code in json.loads(answers.read_text())}
        begins, ends = effects(path)
        case = (turn, [(fate.point, fate.number) for fate in fates], said, begins, ends)
        assert sorted(said) == ["call_0", "call_1", "call_2"], case
        assert max(begins) <= 1, case
        for number, value in enumerate(("paid 0", "refunded 1", "mailed 2")):
            text, code = said[f"call_{number}"]
            assert (text, code, begins[number]) == (value, None, 1) or code == "unknown_outcome", (
                case
            )


@pytest.mark.parametrize("ways", [("run", "run"), ("run", "arun"), ("arun", "arun")])
def test_two_workers_with_one_response_run_each_call_once(url, tmp_path, ways):
    for turn in range(5):
        scope, path = uuid.uuid4().hex, tmp_path / f"effects-{turn}"
        answers = [tmp_path / f"answers-{turn}-{n}" for n in range(2)]
        both = [
            started(url, str(path), scope, how, Fate(), str(way))
            for how, way in zip(ways, answers, strict=True)
        ]
        found = [finished(*item) for item in zip(both, answers, strict=True)]
        assert effects(path) == [[1] * 4] * 2
        assert [values for values, _ in found] == [VALUES] * 2
        assert [sorted(pair) for pair in zip(found[0][1], found[1][1], strict=True)] == [
            [False, True]
        ] * 4


@pytest.mark.parametrize("point", ["after claim", "before effect", "after effect", "before finish"])
@pytest.mark.parametrize("how", ["run", "arun"])
def test_one_that_is_stopped_beyond_its_lease_runs_nothing_twice(url, tmp_path, point, how):
    """The other says that nobody knows; once the first goes on, what it did is known to all."""
    scope, path = uuid.uuid4().hex, tmp_path / "effects"
    answers = [tmp_path / f"answers-{n}" for n in range(3)]
    first = started(url, str(path), scope, how, Fate(point, 2, signal.SIGSTOP), str(answers[0]))
    until = time.monotonic() + 30
    while Path(f"/proc/{first.pid}/stat").read_text().rpartition(")")[2].split()[0] != "T":
        assert time.monotonic() < until
        time.sleep(0.01)
    found, _ = finished(started(url, str(path), scope, how, Fate(), str(answers[1])), answers[1])
    assert found[2] == "unknown_outcome"
    os.kill(first.pid, signal.SIGCONT)
    mine, _ = finished(first, answers[0])
    assert mine[2] == VALUES[2]
    after, replayed = finished(
        started(url, str(path), scope, how, Fate(), str(answers[2])), answers[2]
    )
    assert max(effects(path)[0]) == 1
    assert (after[2], replayed[2]) == (VALUES[2], True)


def test_a_server_that_is_not_there_is_told_at_once(postgres):  # noqa: F811 - the fixture
    """And nothing of the password is said."""
    secret = postgres.replace("postgres@", "postgres:horse@")
    with Ledger(secret) as ledger:
        assert "horse" not in repr(ledger)
    with pytest.raises(UsageError, match="cannot be opened") as raised:
        Ledger(secret.replace("/tmp/", "/nowhere/"))
    assert "horse" not in str(raised.value)
