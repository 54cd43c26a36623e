"""Servers that tests of tables can reach: PostgreSQL in a temporary directory, Spark in local mode."""

import os
import shutil
import socket
import subprocess
import tempfile
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def postgres_url():
    """A PostgreSQL server of our own; skipped, visibly, where none can be started."""
    pytest.importorskip("psycopg")
    if not (shutil.which("pg_ctl") and shutil.which("initdb")):
        pytest.skip("no PostgreSQL server is installed")
    as_root = os.geteuid() == 0  # the server refuses to run as root
    if as_root and subprocess.run(["id", "postgres"], capture_output=True).returncode:
        pytest.skip("running as root without a user 'postgres' to run the server")

    def run(command):
        words = ["su", "postgres", "-s", "/bin/sh", "-c", command] if as_root else ["sh", "-c", command]
        return subprocess.run(words, capture_output=True, text=True, timeout=60, cwd="/")

    home = Path(tempfile.mkdtemp(prefix="fastmwem-pg-"))
    if as_root:
        shutil.chown(home, "postgres")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    made = run(f"initdb -D {home}/data -A trust -U postgres -E UTF8 --no-locale")
    options = f"-p {port} -k {home} -c listen_addresses=127.0.0.1 -c fsync=off"
    started = run(f"pg_ctl -D {home}/data -w -l {home}/log -o '{options}' start")
    if made.returncode or started.returncode:
        shutil.rmtree(home, ignore_errors=True)
        pytest.skip("PostgreSQL does not start here")
    yield f"postgresql://postgres@127.0.0.1:{port}/postgres"
    run(f"pg_ctl -D {home}/data -m immediate stop")
    shutil.rmtree(home, ignore_errors=True)


@pytest.fixture(scope="session")
def spark():
    """Skipped, visibly, without Java or PySpark."""
    pytest.importorskip("pyspark")
    if not shutil.which("java"):
        pytest.skip("no Java is installed")
    return "spark"
