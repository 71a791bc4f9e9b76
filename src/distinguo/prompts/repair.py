"""Ask a model to put its own unreadable reply into the form that was wanted."""

from __future__ import annotations

from distinguo.records import Message, Prompt


def repair(prompt: Prompt, reply: str, problem: str, *, form: str = "the JSON object alone") -> Prompt:
    """The conversation so far, the reply, what was wrong with it, and the `form` that is wanted."""
    complaint = f"That reply could not be read: {problem}. Reply again with {form}."
    return Prompt(
        f"{prompt.name}_repair",
        (*prompt.messages, Message("assistant", reply), Message("user", complaint)),
    )
