"""The public face is what its list says: a change of a name or of a signature is a change of tests/unit/public_face.txt."""

from pathlib import Path

from public_face import lines

LIST = Path(__file__).with_name("public_face.txt")


def test_the_public_face_is_what_its_list_says():
    """``python tests/public_face.py > tests/unit/public_face.txt`` writes it, once a change is meant."""
    assert list(lines()) == LIST.read_text(encoding="utf-8").splitlines()
