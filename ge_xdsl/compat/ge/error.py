"""`ge.error`: the exception class of the session and offline-compile doors."""

from __future__ import annotations

from typing import NoReturn

_last_error = ""


class GeError(RuntimeError):
    """A failed call of the engine, with the parts of its message as attributes."""

    def __init__(
        self,
        message: str,
        error_message: str | None = None,
        api_name: str | None = None,
        context: dict[str, object] | None = None,
    ) -> None:
        super().__init__(message)
        self.error_message = error_message
        self.api_name = api_name
        self.context = context


def note_error(text: str) -> None:
    """Keep the text of the last failure for `get_ge_error_msg`."""
    global _last_error
    _last_error = text


def get_ge_error_msg() -> str:
    """The text of the last failure, '' when there was none; reading it clears it."""
    global _last_error
    text, _last_error = _last_error, ""
    return text


def raise_ge_error(api_name: str, status: int | None = None, **context: object) -> NoReturn:
    """Raise the GeError of a failed call: `<Api> failed; k=v, ...; <text of the failure>`."""
    facts: dict[str, object] = {} if status is None else {"status": status}
    facts.update(context)
    detail = get_ge_error_msg()
    listed = ", ".join(f"{key}={value}" for key, value in facts.items())
    parts = [f"{api_name} failed", listed, detail]
    raise GeError("; ".join(part for part in parts if part), detail, api_name, facts)
