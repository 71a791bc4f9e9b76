"""``distinguo index`` is killed at random: what is committed is whole, and the next run goes on from it."""

import os
import random
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from distinguo.backends.index.index import Index
from distinguo.backends.index.rows import content_of
from distinguo.backends.index.truth import FILE, Truth
from distinguo.records import Passage
from doubles.house import CONFIG, ENCODER
from doubles.openai_server import serving

KILLS = 6
SEED = 11
FILES = 90


def write(corpus: Path, version: int) -> None:
    """Some files stay as they are, some change, come or go; some are twins of others, and no longer."""
    rng = random.Random(SEED)
    corpus.mkdir(exist_ok=True)
    for n in range(FILES):
        text = " ".join(
            f"Word{int(rng.random() ** 2 * 500)} says{n} this." for _ in range(rng.randint(2, 40))
        )
        path = corpus / f"{n:02}.txt"
        match n % 9:
            case 1 | 6 | 7:
                path.write_text(f"Version{version}. {text} {n * version}.", encoding="utf-8")
            case 2 if version == 1:
                path.unlink()
            case 3 if version == 0:
                continue
            case 4:
                twin = corpus / f"{n - 4 + version:02}.txt"  # of one that stays, then of one that changed
                path.write_text(twin.read_text(encoding="utf-8").upper(), encoding="utf-8")
            case 5 if version == 0:
                (corpus / f"twin{n:02}.txt").write_text(text, encoding="utf-8")
                path.write_text(text, encoding="utf-8")
            case 5:
                path.write_text(f"{text} No longer a twin.", encoding="utf-8")
            case _:
                path.write_text(text, encoding="utf-8")


class Killer:
    """Kills a process a random moment after it asked for vectors the nth time."""

    def __init__(self, rng: random.Random) -> None:
        self.rng, self.asked = rng, list[str]()
        self.victim: subprocess.Popen[bytes] | None = None
        self.left, self.longest = 0, 0.0

    def embed(self, text: str) -> list[float]:
        self.asked.append(text)
        self.left -= 1
        if self.victim and self.left == 0:
            threading.Timer(self.rng.uniform(0.0, self.longest), self.victim.kill).start()
        return [float(x) for x in ENCODER.encode([text], "passage")[0]]


@contextmanager
def site(folder: Path) -> Iterator[tuple[Killer, Path]]:
    """A double of an embedding server, and a configuration that names it."""
    killer = Killer(random.Random(SEED))
    with serving(embed=killer.embed) as server:
        config = folder / "distinguo.toml"
        settings = CONFIG.format(url=server.url, dimension=ENCODER.dimension)
        config.write_text(f"{settings}chunk_tokens = 8\nchunk_overlap = 0\n", encoding="utf-8")
        yield killer, config


def index(home: Path, config: Path, *arguments: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "distinguo", "index", *arguments, "--prune", "--config", str(config)]
    environment = {**os.environ, "DISTINGUO_HOME": str(home)}
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def finished(child: subprocess.Popen[bytes]) -> int:
    with child:
        said = child.communicate()[0].decode()
    assert child.returncode in (0, -signal.SIGKILL), said
    return child.returncode


def contents(home: Path) -> tuple[dict[str, bytes], dict[Passage, bytes]]:
    """Documents with their hashes, passages with their vectors; all of them found sound."""
    folder = home / "indexes" / "default"
    with closing(Truth.open(folder / FILE)) as truth:
        ids = [row.passage.id for row in truth.rows(truth.numbers())]
        encoder = truth.fingerprint.encoder
    with Index.open(folder, encoder=encoder) as there:
        assert there.check() == ()
        vectors = [vector.tobytes() for vector in there.vectors(ids)]
        return there.hashes(), dict(zip(there.passages(ids), vectors, strict=True))


def kept(home: Path) -> set[str]:
    """The keys of all vectors that are committed."""
    path = home / "indexes" / "default" / FILE
    if not path.exists():
        return set()
    with closing(Truth.open(path)) as truth:
        return {content for (content,) in truth._ask("SELECT content FROM vectors")}


def test_kills_lose_nothing_committed_embed_nothing_twice_and_change_no_outcome(tmp_path: Path) -> None:
    corpus, killed, unbroken = tmp_path / "corpus", tmp_path / "killed", tmp_path / "unbroken"
    with site(tmp_path) as (killer, config):
        for version in (0, 1):
            write(corpus, version)
            assert finished(index(unbroken, config, str(corpus))) == 0
            kills = code = 0
            for attempt in range(KILLS + 1):
                before = kept(killed)
                killer.asked.clear()
                killer.left = killer.rng.randint(1, 60) if attempt < KILLS else -1
                killer.longest = 0.5 if attempt % 2 else 0.02  # late ones meet the engine and the clearing up
                killer.victim = index(killed, config, *([] if version else [str(corpus)]))
                code = finished(killer.victim)
                kills += code != 0
                asked = [content_of(Passage("", text)) for text in killer.asked]
                assert len(set(asked)) == len(asked)
                assert not before & set(asked)
                if (killed / "indexes" / "default" / FILE).exists():
                    contents(killed)
                if code == 0:
                    break
            assert code == 0
            assert kills >= 1, "the runs are too short to be killed"
            assert contents(killed) == contents(unbroken)
            killer.victim = None
