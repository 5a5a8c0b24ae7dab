"""What a real engine keeps is what the table says, and what the rules of its providers send."""

import json
import urllib.request

import httpx
import pytest
from keywords import KEPT, PAGE, page

from toolshape import Registry
from toolshape._bound.compatibility import check
from toolshape._cli.rulebook.endpoint import make_ask
from toolshape._cli.rulebook.keywords import CASES, measure

TABLE = json.loads(KEPT.read_text())
KEYWORDS = TABLE["llama.cpp"]["keywords"]


def test_the_page_is_of_the_table():
    assert PAGE.read_text().startswith(page(TABLE))
    assert KEYWORDS.keys() == CASES.keys()


@pytest.mark.parametrize("name", CASES)
def test_what_the_engine_refuses_is_not_sent(name):
    """The server would refuse the whole request; a definition that is sent as it is says so before."""
    definition = {"name": "f", "description": "F.", "parameters": CASES[name]}
    tools = Registry()
    tools.add_definitions([definition])
    [entry] = tools.export("llama-cpp")
    sent = json.dumps(entry["function"]["parameters"])
    is_same = json.dumps(CASES[name]) == sent
    if KEYWORDS[name]["accepted"] is False:
        assert not is_same, sent
    assert not check(tools, "llama-cpp")


def test_the_server_does_what_the_table_says(serve, drawn):
    """Each keyword of the sample, with every seed; what is not known does not contradict."""
    url, names = serve("plain"), list(CASES)
    with httpx.Client() as client:
        ask = make_ask(f"{url}/v1", "", client, 120)
        for at in drawn(len(names), 6):
            found, kept = measure(names[at], "m", ask), KEYWORDS[names[at]]
            print(found)
            assert found.accepted == kept["accepted"], names[at]
            if kept["kept"]:  # four answers may fit by chance what is not kept
                assert found.kept is not False, names[at]


def test_what_is_sent_is_accepted(serve, drawn):
    """The entry of each definition, at the real server."""
    url, names = serve("hermes"), list(CASES)
    for at in drawn(len(names), 6):
        tools = Registry()
        tools.add_definitions([{"name": "f", "description": "F.", "parameters": CASES[names[at]]}])
        for choice in ("auto", "required"):
            body = {"model": "m", "messages": [{"role": "user", "content": "Go."}], "max_tokens": 4, "tools": tools.export("llama-cpp"), "tool_choice": choice}  # fmt: skip
            request = urllib.request.Request(
                f"{url}/v1/chat/completions",
                json.dumps(body).encode(),
                {"content-type": "application/json"},
            )
            with urllib.request.urlopen(request, timeout=120) as answer:
                assert answer.status == 200, names[at]
