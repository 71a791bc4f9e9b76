"""The child process behind the embedded models, with a scripted engine in it: no model is loaded."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from distinguo.backends.llm.child import DEATHS, ChildLLM
from distinguo.errors import BackendError
from distinguo.records import Completion, Message, Prompt, Usage

ENGINE = Path(__file__).parents[1] / "doubles" / "scripted_child.py"


@pytest.fixture
def flag(tmp_path: Path) -> Path:
    return tmp_path / "flag"


@pytest.fixture
async def llm(flag: Path) -> AsyncIterator[ChildLLM]:
    child = ChildLLM("double", (sys.executable, str(ENGINE), str(flag)))
    yield child
    await child.aclose()


def asking(text: str) -> Prompt:
    return Prompt("unit", (Message("user", text),))


async def told(llm: ChildLLM, text: str) -> str:
    return (await llm.complete(asking(text))).text


async def until(is_true: Callable[[], bool]) -> None:
    async with asyncio.timeout(20):
        while not is_true():
            await asyncio.sleep(0.005)


def lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


async def test_nothing_is_started_before_the_first_question(llm: ChildLLM) -> None:
    assert llm.pid is None
    await told(llm, "say a")
    assert llm.pid is not None


async def test_a_reply_comes_back_whole(llm: ChildLLM) -> None:
    completion = await llm.complete(asking("say naïve, 国際\nand more"))
    assert completion == Completion("naïve, 国際\nand more", usage=Usage(1, 1), first_token=(("Yes", -0.5),))


async def test_many_questions_in_flight_each_get_their_own_reply(llm: ChildLLM) -> None:
    texts = [f"say {number}" for number in range(64)]
    assert await asyncio.gather(*(told(llm, text) for text in texts)) == [str(number) for number in range(64)]


async def test_a_long_line_is_no_hindrance(llm: ChildLLM) -> None:
    assert await told(llm, "say " + "x" * 1_000_000) == "x" * 1_000_000


async def test_prints_of_libraries_do_not_disturb_the_replies(llm: ChildLLM) -> None:
    assert await told(llm, "noise") == "quiet"
    assert await told(llm, "say a") == "a"


async def test_thinking_is_no_part_of_the_reply_and_its_first_token_tells_nothing(llm: ChildLLM) -> None:
    completion = await llm.complete(asking("think"))
    assert (completion.text, completion.thinking, completion.first_token) == ("so", "hm", ())


async def test_a_refusal_is_an_error_of_that_question_alone(llm: ChildLLM) -> None:
    refused, other = await asyncio.gather(told(llm, "refuse"), told(llm, "say a"), return_exceptions=True)
    assert isinstance(refused, BackendError)
    assert "'double'" in str(refused)
    assert "no such thing" in str(refused)
    assert not refused.retryable
    assert other == "a"


async def test_a_cancelled_question_is_dropped_in_the_child(llm: ChildLLM) -> None:
    await told(llm, "say a")
    waiting = asyncio.create_task(told(llm, "wait"))
    await told(llm, "say b")
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert await told(llm, "dropped") == "1"


async def test_a_killed_child_is_started_again_and_its_questions_are_asked_again(
    llm: ChildLLM, flag: Path
) -> None:
    await told(llm, "say a")
    first = llm.pid
    assert first is not None
    waiting = [asyncio.create_task(told(llm, "wait")) for _ in range(4)]
    await told(llm, "say b")
    os.kill(first, 9)
    flag.touch()
    assert await asyncio.gather(*waiting) == ["waited"] * 4
    assert llm.pid != first


async def test_a_child_that_dies_with_nothing_to_do_is_started_for_the_next_question(llm: ChildLLM) -> None:
    await told(llm, "say a")
    first = llm.pid
    assert first is not None
    os.kill(first, 9)
    await until(lambda: llm.pid is None)
    assert await told(llm, "say b") == "b"


async def test_questions_beside_one_that_kills_once_are_answered(llm: ChildLLM) -> None:
    texts = ["die once", "say a", "say b"]
    assert await asyncio.gather(*(told(llm, text) for text in texts)) == ["alive again", "a", "b"]


async def test_a_question_that_always_kills_fails_and_the_model_lives_on(llm: ChildLLM) -> None:
    with pytest.raises(BackendError, match=f"SIGKILL, {DEATHS} times with this question"):
        await told(llm, "die")
    assert await told(llm, "say a") == "a"


async def test_the_error_tells_the_exit_code_and_the_last_words(llm: ChildLLM) -> None:
    with pytest.raises(BackendError, match=r"(?s)exit code 1, .*the last word"):
        await told(llm, "exit")


async def test_a_model_that_cannot_be_loaded_is_an_error_that_says_why() -> None:
    llm = ChildLLM("double", (sys.executable, str(ENGINE), "broken"))
    with pytest.raises(BackendError, match="cannot be loaded: OSError: the file is no model"):
        await told(llm, "say a")
    await llm.aclose()


async def test_a_command_that_does_not_exist_is_a_backend_error() -> None:
    llm = ChildLLM("double", ("/no/such/program",))
    with pytest.raises(BackendError, match="'double'"):
        await told(llm, "say a")
    await llm.aclose()


async def test_a_child_that_does_not_speak_the_language_is_a_backend_error() -> None:
    llm = ChildLLM("double", (sys.executable, "-c", "print('hello', flush=True); input()"))
    with pytest.raises(BackendError, match="'double'"):
        await told(llm, "say a")
    await llm.aclose()


async def test_closing_ends_the_child_and_is_an_error_for_questions_in_flight(llm: ChildLLM) -> None:
    await told(llm, "say a")
    pid = llm.pid
    assert pid is not None
    waiting = asyncio.create_task(told(llm, "wait"))
    await told(llm, "say b")
    await llm.aclose()
    assert not lives(pid)
    with pytest.raises(BackendError, match="closed"):
        await waiting
    with pytest.raises(BackendError, match="closed"):
        await told(llm, "say c")
    await llm.aclose()


async def test_closing_what_was_never_started_is_fine(llm: ChildLLM) -> None:
    await llm.aclose()


def test_no_orphan_remains_when_the_loop_ends_without_closing(flag: Path) -> None:
    async def forget() -> int:
        llm = ChildLLM("double", (sys.executable, str(ENGINE), str(flag)))
        await told(llm, "say a")
        assert llm.pid is not None
        return llm.pid

    assert not lives(asyncio.run(forget()))


async def test_a_child_whose_parent_is_killed_ends_by_itself(flag: Path) -> None:
    script = (
        "import asyncio, os, sys\n"
        "from distinguo.backends.llm.child import ChildLLM\n"
        "from distinguo.records import Message, Prompt\n"
        "async def main():\n"
        "    llm = ChildLLM('double', (sys.executable, *sys.argv[1:]))\n"
        "    await llm.complete(Prompt('unit', (Message('user', 'say a'),)))\n"
        "    print(llm.pid, flush=True)\n"
        "    os.kill(os.getpid(), 9)\n"
        "asyncio.run(main())\n"
    )
    parent = await asyncio.create_subprocess_exec(
        sys.executable, "-c", script, str(ENGINE), str(flag), stdout=asyncio.subprocess.PIPE
    )
    said, _ = await parent.communicate()
    await until(lambda: not lives(int(said)))
