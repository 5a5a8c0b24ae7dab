"""The lane of attacks: what it reads of a script's lines, and that its list is well formed."""

from attacks import LEAVES, LIST, RENAMED, STATE, listed

PRINTED = """\
loading the model ...
c01 HOLDS
d17 ERROR    0.3s contract: a lock file with d18 HOLDS in its words
s22 SKIP PostgreSQL (set PG_URL to run)
n05 BROKEN: an empty text :: raised KeyError: 'x'
d02  HOLDS   a name with two blanks
      detail of the case before: HOLDS
3 cases, 1 hold
"""


def test_the_first_two_words_of_a_line_are_a_case_and_its_state():
    assert dict(STATE.findall(PRINTED)) == {
        "c01": "HOLDS", "d17": "ERROR", "s22": "SKIP", "n05": "BROKEN", "d02": "HOLDS",
    }  # fmt: skip


def test_the_list_names_scripts_and_cases():
    """Nothing leaves it without a reason in its row."""
    must, left = listed()
    assert len(must) >= 146
    for row in must | left:
        script, case = row.split(" ")
        assert script.startswith("attack"), row
        assert STATE.match(f"{case} HOLDS"), row
    for line in LIST.read_text(encoding="utf-8").splitlines():
        if LEAVES.strip() in line and not line.startswith("#"):
            assert line.partition(LEAVES)[2].strip(), line


def test_a_script_with_names_of_before_is_run_with_the_present_ones():
    text = (
        "from toolshape.trace import record, replay\nR.around(record(path)); contract_of(tools)\n"
    )
    for old, new in RENAMED:
        text = old.sub(new, text)
    assert "record_to as record, replay" in text
    assert "R.observe(record(path)); make_contract(tools)" in text
