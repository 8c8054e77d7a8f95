"""Connections that wait for their handshake: addresses have turns, and no address has more than its share."""

import socket

from muster.daemon.web.connections import IN_ALL, OF_ONE, Turns


class Connection(socket.socket):
    """A socket that is never opened."""

    def __init__(self, name: str) -> None:
        self.name, self.open = name, True

    def close(self) -> None:
        self.open = False


async def test_an_address_with_many_does_not_put_another_one_off() -> None:
    turns = Turns(lambda _: None)
    for number in range(5):
        turns.add("a", Connection(f"a{number}"))
    turns.add("b", Connection("b0"))
    assert [(await turns.next()).name for _ in range(len(turns))] == ["a0", "b0", "a1", "a2", "a3", "a4"]  # type: ignore[attr-defined]


async def test_a_connection_beyond_the_share_of_its_address_is_closed() -> None:
    refused: list[str] = []
    turns = Turns(refused.append)
    for number in range(OF_ONE):
        turns.add("a", Connection(f"a{number}"))
    turns.add("a", late := Connection("late"))
    assert (late.open, refused, len(turns)) == (False, ["a"], OF_ONE)


async def test_where_all_is_full_the_address_with_most_gives_its_newest_one_up() -> None:
    refused: list[str] = []
    turns = Turns(refused.append)
    for number in range(IN_ALL):
        turns.add(str(number % (IN_ALL // OF_ONE + 1)) if number >= OF_ONE else "most", Connection("x"))
    turns.add("new", new := Connection("new"))
    assert (new.open, refused, len(turns)) == (True, ["most"], IN_ALL)
