"""A child process with an engine that does what its questions say: run as a script."""

import os
import signal
import sys
import time
from collections.abc import Iterator, Set
from pathlib import Path

from distinguo.backends.llm.serving import Ask, RefusedError, serve
from distinguo.records import Completion, Usage


class ScriptedEngine:
    """Replies to the last message.

    ``say X`` says X; ``noise`` writes to standard output; ``refuse`` refuses; ``think`` thinks first;
    ``wait`` waits for the file named on the command line; ``die`` kills the process, ``die once`` only while
    that file is missing, and makes it; ``exit`` ends with code 1 and a last word; ``dropped`` counts what was
    dropped, once anything was.
    """

    def __init__(self, flag: Path) -> None:
        self.flag = flag
        self.asks: list[Ask] = []
        self.gone: list[int] = []

    @property
    def is_busy(self) -> bool:
        return bool(self.asks)

    def begin(self, ask: Ask) -> None:
        if ask.messages[-1].content == "refuse":
            raise RefusedError("no such thing")
        self.asks.append(ask)

    def step(self, dropped: Set[int]) -> Iterator[tuple[int, Completion | RefusedError]]:
        self.gone += [ask.id for ask in self.asks if ask.id in dropped]
        self.asks = [ask for ask in self.asks if ask.id not in dropped]
        for ask in list(self.asks):
            text = self.said(ask.messages[-1].content)
            if text is None:
                time.sleep(0.005)  # a pause of the engine's own; no test waits for it
                continue
            self.asks.remove(ask)
            yield ask.id, Completion(text, usage=Usage(len(ask.messages), 1), first_token=(("Yes", -0.5),))

    def said(self, text: str) -> str | None:
        match text:
            case "noise":
                os.write(1, b'{"id": 1, "reply": "from a library"}\n')
                sys.stdout.write("more noise\n")
                sys.stdout.flush()
                return "quiet"
            case "think":
                return "<think>hm</think>so"
            case "wait":
                return "waited" if self.flag.exists() else None
            case "die":
                os.kill(os.getpid(), signal.SIGKILL)
            case "die once":
                if self.flag.exists():
                    return "alive again"
                self.flag.touch()
                os.kill(os.getpid(), signal.SIGKILL)
            case "exit":
                sys.exit("the last word")
            case "dropped":
                return str(len(self.gone)) if self.gone else None
        return text.removeprefix("say ")


def load() -> ScriptedEngine:
    if sys.argv[1] == "broken":
        raise OSError("the file is no model")
    return ScriptedEngine(Path(sys.argv[1]))


if __name__ == "__main__":
    serve(load)
