"""PostgreSQL of the distribution, started by the test that needs it."""

import contextlib
import os
import shutil
import subprocess
import uuid
from pathlib import Path

import pytest


def binaries():
    """Where the distribution keeps PostgreSQL's programs."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    given = shutil.which("initdb")
    return found[-1].parent if found else None if given is None else Path(given).parent


@pytest.fixture(scope="session")
def postgres():
    """A server of our own, which listens at a socket in a folder."""
    if binaries() is None:
        assert not os.environ.get("TOOLSHAPE_ALL_INSTALLED"), "PostgreSQL must be installed here"
        pytest.skip("PostgreSQL is not installed")
    pytest.importorskip("psycopg")
    with running_server() as url:
        yield url


@contextlib.contextmanager
def running_server():
    """Start a server, and yield the address of its database; the server is gone afterwards."""
    where = binaries()
    assert where is not None, "PostgreSQL is not installed"
    folder = Path(f"/tmp/toolshape-{uuid.uuid4().hex[:8]}")
    folder.mkdir(mode=0o755)
    as_user = {}
    if os.geteuid() == 0:  # it refuses to be run by root
        shutil.chown(folder, "postgres", "postgres")
        as_user = {"user": "postgres", "group": "postgres", "extra_groups": []}
    data = folder / "data"

    def run(*command):
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, cwd=folder, **as_user)

    run(where / "initdb", "-D", data, "-A", "trust", "-U", "postgres", "--no-sync")
    options = f"-c listen_addresses='' -c unix_socket_directories={folder} -c max_connections=100"
    run(where / "pg_ctl", "-D", data, "-w", "-o", options, "-l", folder / "log", "start")
    try:
        yield f"postgresql+psycopg://postgres@/postgres?host={folder}"
    finally:
        run(where / "pg_ctl", "-D", data, "-m", "immediate", "stop")
        shutil.rmtree(folder)
