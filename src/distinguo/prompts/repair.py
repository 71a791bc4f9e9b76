"""Ask a model to put its own unreadable reply into the form that was wanted."""

from __future__ import annotations

from distinguo.records import Message, Prompt


def repair(prompt: Prompt, reply: str, problem: str) -> Prompt:
    """The conversation so far, the reply, and what was wrong with it."""
    complaint = f"That reply could not be read: {problem}. Reply again with the JSON object alone."
    return Prompt(
        f"{prompt.name}_repair",
        (*prompt.messages, Message("assistant", reply), Message("user", complaint)),
    )
