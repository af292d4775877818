"""`ge.allocator`: device memory that a user hands out. Without a device nothing asks for it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass


@dataclass
class MemBlock:
    """A piece of device memory: its address and its size in bytes."""

    addr: int
    size: int


class Allocator(ABC):
    """Hands out device memory and takes it back."""

    @abstractmethod
    def malloc(self, size: int) -> MemBlock:
        """A new block of at least `size` bytes."""

    @abstractmethod
    def free(self, block: MemBlock) -> None:
        """Take a block back."""
